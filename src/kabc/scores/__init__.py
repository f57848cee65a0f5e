"""The address of `kabc.core.scores.maps` in version 0.1.0, kept for programs that use it."""
