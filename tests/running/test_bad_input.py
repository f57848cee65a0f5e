"""Bad input is a named error with the value and the cure, before a sample is paid for."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import kabc
from kabc import ArmError, KernelBoundsError, SampleError, SettingsError
from tests.running.examples import KERNEL, counting, normal

GOOD: dict[str, Any] = {"arms": {"a": normal(0), "b": normal(9)}, "n_clusters": 2, "seed": 0}

BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "one arm": ({"arms": [normal(0)]}, ArmError, "at least 2 arms.*1"),
    "no arms": ({"arms": {}}, ArmError, "at least 2 arms.*0"),
    "a string": ({"arms": "ab"}, SettingsError, "'ab'"),
    "arm= without a table": ({"arm": "machine"}, SettingsError, "arm='machine' is for a table"),
    "missing= without a table": ({"missing": "drop"}, SettingsError, "missing='drop' is for a table"),
    "a table without arm=": ({"arms": pl.DataFrame({"x": [1.0, 2.0]})}, SettingsError, "arm"),
    "a number": ({"arms": 3}, ArmError, "mapping.*int"),
    "repeated name": ({"arms": [normal(0), normal(9)], "names": ["x", "x"]}, ArmError, "'x' is given twice"),
    "unhashable name": ({"arms": [normal(0), normal(9)], "names": [["x"], "y"]}, ArmError, r"\['x'\].*hashable"),
    "too few names": ({"arms": [normal(0), normal(9)], "names": ["x"]}, ArmError, "2 arms have 1 names"),
    "names twice": ({"names": ["x", "y"]}, ArmError, "given twice"),
    "a name of 5,000 digits": ({"arms": {10**5000: normal(0), 2: normal(9)}}, ArmError, "name of arm 0.*short text"),
    "masked pool": (
        {"arms": {"a": normal(0), "b": np.ma.masked_array([1.0, 2.0], [True, False])}},
        SampleError,
        "arm 'b': .*masked",
    ),
    "strategy is a number": ({"strategy": 3}, SettingsError, "strategy must be the name .*got 3"),
    "strategy is a class": ({"strategy": kabc.AnytimeKABC}, SettingsError, "strategy must be the name"),
    "delta too small": ({"delta": 5e-324}, SettingsError, "delta must be at least 1e-200, got 5e-324"),
    "delta too large": ({"delta": 10**400}, SettingsError, "delta must lie .*more than 100 digits"),
    "arm is text": ({"arms": {"a": normal(0), "b": "file.csv"}}, ArmError, "arm 'b': 'file.csv' is not an arm"),
    "arm is none": ({"arms": {"a": normal(0), "b": None}}, ArmError, "arm 'b': None is not an arm"),
    "empty pool": ({"arms": {"a": normal(0), "b": []}}, ArmError, r"arm 'b': .*a row for each sample.*\(0,\)"),
    "ragged pool": ({"arms": {"a": normal(0), "b": [[1], [1, 2]]}}, ArmError, "arm 'b': .*different lengths"),
    "too few rows": (
        {"arms": {"a": normal(0), "b": lambda n, rng: rng.normal(size=n - 1)}},
        ArmError,
        "arm 'b': .*asked",
    ),
    "too many rows": (
        {"arms": {"a": normal(0), "b": lambda n, rng: rng.normal(size=2 * n)}},
        ArmError,
        "arm 'b': .*asked",
    ),
    "a scalar": ({"arms": {"a": normal(0), "b": lambda n, rng: 3.0}}, ArmError, "arm 'b': returned 3.0"),
    "nan": (
        {"arms": {"a": normal(0), "b": lambda n, rng: np.full(n, np.nan)}, "kernel": KERNEL},
        SampleError,
        "arm 'b': .*nan",
    ),
    "nan in the pilot": (
        {"arms": {"a": normal(0), "b": lambda n, rng: np.full(n, np.nan)}},
        SampleError,
        "arm 'b': .*nan",
    ),
    "two widths": (
        {"arms": {"a": normal(0), "b": lambda n, rng: rng.normal(size=(n, 2))}, "kernel": KERNEL},
        SampleError,
        "arm 'b': .*2 column",
    ),
    "two widths in the pilot": (
        {"strategy": "kabc", "arms": {"a": normal(0), "b": lambda n, rng: rng.normal(size=(n, 2))}},
        SampleError,
        "arm 'b': .*2 column",
    ),
    "outside the radius": ({"kernel": kabc.Linear(radius=1.0)}, KernelBoundsError, "arm '[ab]': .*radius"),
    "k too small": ({"n_clusters": 0}, SettingsError, "n_clusters.*0"),
    "k too large": ({"n_clusters": 3}, SettingsError, "n_clusters.*from 2 to 2.*3"),
    "k unknown": ({"n_clusters": None, "strategy": "kabc"}, SettingsError, "min_separation.*max_samples"),
    "two ways to stop": ({"min_separation": 1.0}, SettingsError, "pass one of them"),
    "delta zero": ({"delta": 0.0}, SettingsError, "delta.*0"),
    "delta percent": ({"delta": 5}, SettingsError, "delta.*5"),
    "no such strategy": ({"strategy": "magic"}, SettingsError, "'magic'.*kabc-tight"),
    "no such option": ({"strategy_options": {"speed": 9}}, SettingsError, "speed"),
    "bad option": ({"strategy": "kabc", "strategy_options": {"growth": 0.5}}, SettingsError, "growth.*0.5"),
    "bad kernel": ({"kernel": "rbf"}, SettingsError, "kernel.*'rbf'"),
    "kernel maker": ({"kernel": lambda pilot: 3}, SettingsError, "returned 3"),
    "kernel for betting": ({"strategy": "anytime", "kernel": KERNEL}, SettingsError, "needs no kernel"),
    "bad seed": ({"seed": -1}, SettingsError, "seed.*-1"),
    "bad budget": ({"max_samples": 0}, SettingsError, "max_samples.*0"),
    "small budget": ({"strategy": "kabc", "max_samples": 39}, SettingsError, "pilot of 20.*max_samples=39"),
    "bad pilot": ({"strategy": "kabc", "pilot": 1}, SettingsError, "pilot.*1"),
    "small pool": ({"strategy": "kabc", "arms": {"a": normal(0), "b": [1.0, 2.0]}}, ArmError, "arm 'b': .*pilot"),
    "wrong strategy": ({"strategy": kabc.KABC(3, 2, 0.1, KERNEL)}, SettingsError, "3 arms, got 2"),
    "constant pilot": ({"strategy": "kabc", "arms": [np.ones(50), np.ones(50)]}, SettingsError, "bandwidth"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_named_error_with_value_and_cure(case: str) -> None:
    change, error, message = BAD[case]
    with pytest.raises(error, match=message):
        kabc.cluster(**(GOOD | change))


@pytest.mark.parametrize("case", ["k too large", "delta percent", "no such option", "bad kernel", "bad budget"])
def test_bad_settings_are_refused_before_a_sample_is_paid_for(case: str) -> None:
    log: list[int] = []
    arms = {"a": counting(normal(0), log), "b": counting(normal(9), log)}
    with pytest.raises(SettingsError):
        kabc.cluster(**(GOOD | {"arms": arms} | BAD[case][0]))
    assert log == []
