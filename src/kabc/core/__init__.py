"""Maths at the bottom: arrays in, decisions out. Knows no arm, no strategy, no file."""
