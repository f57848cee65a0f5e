"""The loop: ask, draw, tell."""
