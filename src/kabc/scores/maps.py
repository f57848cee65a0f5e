"""The address of `kabc.core.scores.maps` in version 0.1.0, kept for programs that use it."""

from kabc.core.scores.maps import Custom, FeatureMap, default_maps

__all__ = ["Custom", "FeatureMap", "default_maps"]
