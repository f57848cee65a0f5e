"""A mistake in the settings of a file or of the command line."""

from __future__ import annotations

from kabc.core.errors import SettingsError


class ConfigError(SettingsError):
    """A setting is wrong. The message spells keys and options as people write them: show it as it is."""
