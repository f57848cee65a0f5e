"""From statistics to "told apart"."""
