"""Learned scores: which sample speaks for which group. Anything computed here from the past may be bet on."""
