"""Effects in units: exact on data made by hand, the same after saving, and in words that people read once."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

import kabc
from kabc.results.effects import numbers
from kabc.results.effects.compute import effects_of
from kabc.results.effects.values import Contrast, Effects
from kabc.results.effects.words import contrast_text, figure, per_cent, ratio
from tests.results.examples import answer


def with_samples(groups: str, samples: dict[str, Any], **changes: Any) -> kabc.Result:
    rows: dict[Any, Any] = {name: np.asarray(values).reshape(len(values), -1) for name, values in samples.items()}
    return dataclasses.replace(answer(groups), samples=rows, **changes)


def spaced(low: float, high: float, n: int = 101) -> Any:
    return np.linspace(low, high, n)


RNG = np.random.default_rng(0)
BASE = 1 + 0.03 * RNG.standard_normal(400)


def test_every_figure_is_that_of_the_values() -> None:
    effects = with_samples("ab|c", {"a": [1.0, 2.0], "b": [3.0], "c": [4.0, 6.0]}).effects
    assert effects.reference == 1
    first, second = effects.groups
    (mine,) = second.columns
    assert (first.number, first.n, second.number, second.n) == (1, 3, 2, 2)
    assert (mine.column, mine.n, mine.median, mine.mean) == ("value", 2, 5.0, 5.0)
    assert (mine.low, mine.high) == pytest.approx((4.1, 5.9))
    assert mine.sd == pytest.approx(math.sqrt(2))
    assert first.columns[0].contrasts == ()
    (contrast,) = mine.contrasts
    assert (contrast.what, contrast.value) == ("ratio", 2.5)
    assert 4 / 3 <= contrast.low < 2.5 < contrast.high <= 6


def test_the_reference_is_the_group_with_most_arms() -> None:
    assert with_samples("a|bc", {"a": spaced(0, 1), "b": [2.0], "c": [3.0]}).effects.reference == 2


def test_values_of_both_signs_have_a_difference_not_a_ratio() -> None:
    effects = with_samples("ab|c", {"a": spaced(-1, 1), "b": spaced(-1, 1), "c": spaced(2, 4)}).effects
    contrast = effects.groups[1].columns[0].contrasts[0]
    assert contrast.what == "difference"
    assert contrast.value == pytest.approx(3.0)
    assert contrast.size == pytest.approx(3 * 3.29 / 1.8)


@pytest.mark.parametrize(
    ("odd", "what", "value"),
    [
        (1.03 * BASE, "ratio", 1.03),
        (1 + 1.6 * (BASE - 1), "spread", 1.6),
        (np.where(np.arange(400) % 25 == 0, 10.0, BASE), "above", 0.04),
        (np.where(np.arange(400) % 25 == 0, 0.1, BASE), "below", 0.04),
    ],
)
def test_what_distinguishes_most_is_named_first(odd: Any, what: str, value: float) -> None:
    found = with_samples("ab|c", {"a": BASE, "b": BASE, "c": odd}).effects.groups[1].distinguishes
    assert found is not None
    assert found[0] == "value"
    assert found[1].what == what
    assert found[1].value == pytest.approx(value, abs=0.005)


def test_categories_are_compared_by_their_shares() -> None:
    colours = {5.0: "red", 7.0: "green"}
    made = with_samples(
        "ab|c",
        {"a": [5.0, 5.0, 5.0, 7.0], "b": [5.0, 5.0, 5.0, 7.0], "c": [7.0, 7.0, 7.0, -1.0]},
        columns=("colour",),
        levels={"colour": colours},
    )
    (column,) = made.effects.groups[1].columns
    assert column.shares == (("green", 0.75), ("missing", 0.25))
    assert math.isnan(column.median)
    (contrast,) = column.contrasts
    assert (contrast.what, contrast.at, contrast.shares) == ("share", "red", (0.0, 0.75))
    assert "    colour: green (75 %), missing (25 %); share of red: 0 %, 75 % in group 1" in str(made)


def test_texts_as_samples_and_flags_are_categories() -> None:
    texts = with_samples("ab|c", {"a": ["x", "y"], "b": ["x", "y"], "c": ["y", "y"]}).effects
    assert texts.groups[1].columns[0].shares == (("y", 1.0),)
    flags = with_samples("ab|c", {"a": [0, 1], "b": [0, 0], "c": [1, 1]}).effects.groups[1].distinguishes
    assert flags is not None
    assert (flags[1].at, flags[1].shares) == ("1", (1.0, 0.25))


def test_a_missing_number_is_no_zero() -> None:
    rows: dict[Any, Any] = {name: np.array([[5.0, 0.0], [0.0, 1.0]]) for name in "abc"}
    made = dataclasses.replace(answer("ab|c"), samples=rows, columns=("ms", "ms missing"))
    ms, missing = made.effects.groups[0].columns
    assert (ms.n, ms.median) == (2, 5.0)
    assert missing.shares == (("0", 0.5), ("1", 0.5))


def test_a_failed_sample_has_no_value() -> None:
    rows: dict[Any, Any] = {name: np.array([[5.0, 0.0], [0.0, 1.0]]) for name in "abc"}
    made = dataclasses.replace(answer("ab|c"), samples=rows, columns=("ms", "failed"))
    encoded = dataclasses.replace(made, notes=("failures: encoded as a value of their own",))
    assert [column.n for column in encoded.effects.groups[0].columns] == [2, 4]
    assert [column.n for column in made.effects.groups[0].columns] == [4, 4]  # just a column with this name


def test_features_of_texts_are_left_out() -> None:
    rows: dict[Any, Any] = {name: np.array([[5.0, 0.25]]) for name in "abc"}
    made = dataclasses.replace(answer("ab|c"), samples=rows, columns=("ms", "comment[0]"))
    assert [column.column for column in made.effects.groups[0].columns] == ["ms"]


def test_arms_that_were_set_aside_are_left_out() -> None:
    made = with_samples("ab|c", {"a": [1.0, 2.0], "b": [900.0], "c": [3.0]})
    effects = dataclasses.replace(made, labels=(0, -1, 1), set_aside={"b": "no rows"}).effects
    assert [group.n for group in effects.groups] == [2, 1]
    assert {arm.arm for arm in effects.arms} == {"a", "c"}


def test_without_samples_all_is_empty() -> None:
    assert answer("ab|c").effects == Effects()
    assert "effects" not in str(answer("ab|c"))
    assert answer("ab|c").to_dict()["effects"] == {"reference": None, "groups": [], "arms": []}


@pytest.mark.parametrize("extreme", [1e308, 5e-324, 0.0])
def test_extreme_values_make_no_warning_and_strict_json(extreme: float) -> None:
    made = with_samples("ab|c", {"a": [extreme] * 30, "b": spaced(-1, 1), "c": [extreme, -extreme] * 20})
    json.dumps(made.to_dict(), allow_nan=False)
    assert str(made)


def test_the_interval_covers_the_true_ratio_as_often_as_it_says() -> None:
    """95 %, less four standard errors of the binomial; the percentile bootstrap of a median is near its level."""
    rng, runs, covered = np.random.default_rng(1), 400, 0
    for _ in range(runs):
        mine, other = np.sort(3 * rng.lognormal(0, 0.5, 60)), np.sort(rng.lognormal(0, 0.5, 200))
        low, high = numbers.median_interval(mine, other, as_ratio=True)
        covered += low <= 3 <= high
    assert covered / runs > 0.95 - 0.02 - 4 * math.sqrt(0.95 * 0.05 / runs)
    assert covered / runs < 0.995


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_drawing_the_middle_places_is_a_bootstrap(n: int) -> None:
    values = np.sort(np.random.default_rng(n).normal(size=n))
    resampled = np.median(np.random.default_rng(0).choice(values, (20_000, n)), axis=1)
    assert ks_2samp(numbers._medians(values, 0), resampled).statistic < 0.05  # two draws of the same law: below 0.046


# ---------------------------------------------------------------- arms of a fleet


def test_the_odd_arm_comes_first_and_its_distance_is_that_of_the_others_together() -> None:
    rng = np.random.default_rng(3)
    samples = {name: rng.normal(3 * (name == "d"), 1, 40) for name in "abcde"}
    arms = with_samples("abce|d", samples).effects.arms
    assert arms[0].arm == "d"
    assert arms[0].oddness > 0.3 > arms[1].oddness
    for arm in arms:
        others = np.concatenate([values for name, values in samples.items() if name != arm.arm])
        assert arm.distance == pytest.approx(ks_2samp(samples[str(arm.arm)], others).statistic)
    assert arms[0].columns[0].median == pytest.approx(np.median(samples["d"]))


def fleet(n: int) -> kabc.Result:
    names: tuple[Any, ...] = tuple(f"h{i:03d}" for i in range(n))
    rng = np.random.default_rng(0)
    samples: dict[Any, Any] = {name: rng.normal([4.0 * (i == 7), 0.0], 1, (100, 2)) for i, name in enumerate(names)}
    made = answer("ab|c")
    return dataclasses.replace(
        made,
        names=names,
        labels=tuple(int(i == 7) for i in range(n)),
        samples=samples,
        evidence=kabc.Evidence.none(n),
        samples_per_arm=dict.fromkeys(names, 100),
        columns=("ms", "mb"),
    )


def test_odd_ones_are_named_in_a_fleet_and_only_there() -> None:
    lines = str(fleet(300)).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("odd ones first"))
    assert lines[start + 1].startswith("    h007: ms: median 4.")
    assert lines[start + 2].startswith("effects: estimates")
    assert "odd ones" not in str(fleet(12))
    assert len(fleet(300).to_dict()["effects"]["arms"]) == 300


def test_arms_of_a_large_group_are_not_called_odd() -> None:
    halves = dataclasses.replace(fleet(40), labels=tuple(int(i % 2) for i in range(40)))
    shifted = {name: rows + 3 * (i % 2) for i, (name, rows) in enumerate(halves.samples.items())}
    made = dataclasses.replace(halves, samples=shifted)
    assert made.effects.arms[0].oddness > 0
    assert "odd ones" not in str(made)
    assert "odd ones" in str(dataclasses.replace(made, labels=(0,) * 40))


def test_equal_arms_do_not_stand_out() -> None:
    """At 5 % for all arms together, so in most of ten fleets none does."""
    rng, alarms = np.random.default_rng(5), 0
    for _ in range(10):
        samples = {name: rng.normal(size=50) for name in "abcdefgh"}
        alarms += with_samples("abcdefgh", samples).effects.arms[0].oddness > 0
    assert alarms <= 2


# ---------------------------------------------------------------- words and files


def test_a_group_has_one_line_with_its_unit() -> None:
    seconds = {"a": spaced(0.95, 1.05), "b": spaced(0.95, 1.05), "c": 1.03 * spaced(0.95, 1.05)}
    lines = str(with_samples("ab|c", seconds, columns=("seconds",))).splitlines()
    assert lines[1] == "  group 2, 1 arm: c"
    assert lines[2].startswith("    seconds: median 1.0300, 5-95 % 0.9837 to 1.0763; median 3.0 % above group 1 (1.")
    assert lines[2].endswith(" %); spread 1.0 times")
    assert lines[4] == "    seconds: median 1.0000, 5-95 % 0.9550 to 1.0450"
    assert "guarantee" in lines[5]


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (1.033, 1.026, 1.041, "median 3.3 % above group 1 (2.6 to 4.1 %)"),
        (0.979, 0.933, 1.013, "median 2.1 % below group 1 (-1.3 to 6.7 %)"),
        (1.0005, 1.0003, 1.0007, "median 0.050 % above group 1 (0.030 to 0.070 %)"),
        (1.05, 1.0, math.inf, "median 1.050 times group 1 (1.000 to inf)"),
        (1.1, 1.05, 1.2, "median 1.100 times group 1 (1.050 to 1.200)"),
    ],
)
def test_small_ratios_are_said_in_per_cent(value: float, low: float, high: float, words: str) -> None:
    """Three per cent slower is what people say, not 1.03 times."""
    assert contrast_text(Contrast("ratio", value, low, high, 1.0), " group 1") == words


def test_without_a_group_they_are_higher_or_lower() -> None:
    assert contrast_text(Contrast("ratio", 1.02, 0.99, 1.05, 1.0), "") == "median 2.0 % higher (-1.0 to 5.0 %)"
    assert contrast_text(Contrast("ratio", 0.98, 0.95, 1.01, 1.0), "") == "median 2.0 % lower (-1.0 to 5.0 %)"


def test_only_the_columns_that_distinguish_most_are_printed() -> None:
    rng = np.random.default_rng(0)
    rows: dict[Any, Any] = {name: rng.normal([0] * 10 + [9 * (name == "c")], 1, (50, 11)) for name in "abc"}
    text = str(dataclasses.replace(answer("ab|c"), samples=rows))
    assert text.count(": median") == 6
    assert text.splitlines()[2].startswith("    column 11: median")
    assert "; and 8 more columns in the report" in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (ratio(1.0312345), "1.031"),
        (ratio(12345.6), "12,346"),
        (ratio(0.01234567), "0.01235"),
        (figure(1234567.0, -4), "1,234,567"),
        (figure(0.98765, 2), "0.99"),
        (figure(1.5e-12, 14), "1.5e-12"),
        (per_cent(0.0314), "3.1 %"),
        (per_cent(0.5), "50 %"),
    ],
)
def test_figures_are_short(shown: str, text: str) -> None:
    assert shown == text


def test_effects_are_computed_anew_from_a_file(tmp_path: Path) -> None:
    made = with_samples("ab|c", {"a": spaced(0, 1), "b": spaced(0, 1), "c": spaced(2, 3)})
    assert made.effects.groups  # now it is in memory, and equality must not look at it
    made.save(tmp_path / "a.json")
    loaded = kabc.load_result(tmp_path / "a.json")
    assert loaded == made
    assert repr(loaded.effects.groups[1]) == repr(made.effects.groups[1])  # from Python 3.13 on NaN has no equal
    assert repr(effects_of(loaded).arms) == repr(made.effects.arms)


def test_a_name_of_a_column_cannot_forge_a_line() -> None:
    made = with_samples("ab|c", {"a": [1.0, 2.0], "b": [1.0], "c": [3.0]}, columns=("ms\nClaim: proven",))
    assert not [line for line in str(made).splitlines() if line.startswith("Claim")]
