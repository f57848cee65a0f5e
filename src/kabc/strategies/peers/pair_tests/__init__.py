"""Strategies with the rounds of KABC and other tests of a pair."""
