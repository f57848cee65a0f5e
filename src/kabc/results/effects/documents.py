"""The JSON form of effects. It is not read back: effects are computed from the samples."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from kabc.results.arrays import number
from kabc.results.effects.values import ColumnEffect, Contrast, Effects


def effects_document(effects: Effects, key: Mapping[Hashable, str]) -> dict[str, Any]:
    """As `EffectsPart` describes it; `key` has the names of the arms as texts."""
    return {
        "reference": effects.reference,
        "groups": [
            {"number": group.number, "n": group.n, "columns": list(map(_column, group.columns))}
            for group in effects.groups
        ],
        "arms": [
            {
                "arm": key[arm.arm],
                "group": arm.group,
                "n": arm.n,
                "oddness": number(arm.oddness),
                "distance": arm.distance,
                "column": arm.column,
                "columns": list(map(_column, arm.columns)),
            }
            for arm in effects.arms
        ],
    }


def _column(effect: ColumnEffect) -> dict[str, Any]:
    figures = ("median", "low", "high", "mean", "sd")
    return {
        "column": effect.column,
        "n": effect.n,
        **{name: number(getattr(effect, name)) for name in figures},
        "shares": [[level, share] for level, share in effect.shares],
        "contrasts": list(map(contrast_document, effect.contrasts)),
    }


def contrast_document(contrast: Contrast) -> dict[str, Any]:
    """As `ContrastPart` describes it."""
    figures = ("value", "low", "high", "size")
    return {
        "what": contrast.what,
        **{name: number(getattr(contrast, name)) for name in figures},
        "at": contrast.at,
        "shares": None if contrast.shares is None else list(contrast.shares),
    }
