"""Runs: settings, drawing, the loop (ask, draw, tell), who listens, and the answer."""
