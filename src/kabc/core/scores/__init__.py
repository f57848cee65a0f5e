"""Learned scores: which group a sample speaks for. Scores are computed from earlier samples only."""
