"""The field: every system that KABC cites, behind the same interface."""
