"""Strategies from other papers: every system that KABC cites, with the same interface."""
