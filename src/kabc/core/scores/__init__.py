"""Learned scores. A score says which group a sample points to. It is computed from earlier samples only."""
