"""KABC's rounds with other tests of a pair."""
