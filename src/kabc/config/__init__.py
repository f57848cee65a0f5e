"""Settings of a run as one TOML file or options; shared by all doors."""
