"""Settings from files and options, and the arms that they name."""
