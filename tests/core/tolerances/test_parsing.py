"""What people may say, what it means, and what is refused with the cure."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.core.tolerances import KernelDistance, QuantileTolerance, Tolerance, of_dict, parse
from kabc.core.tolerances.tolerance import ByExample, ByFunction
from kabc.core.tolerances.units import OUTLIERS, PERCENT, SD, SHIFT, Unit

ONE = ["latency"]
TWO = ["latency", "size"]


def slower(pool: Any) -> Any:
    return pool * 1.1


class Slower:
    def __call__(self, pool: Any) -> Any:
        return pool * 1.1


@pytest.mark.parametrize(
    ("said", "unit", "size"),
    [
        ("2%", PERCENT, 2.0),
        ("2 %", PERCENT, 2.0),
        (" 2.5  percent ", PERCENT, 2.5),
        ("1 per cent", PERCENT, 1.0),
        ("1e-1%", PERCENT, 0.1),
        ("0.2 sd", SD, 0.2),
        (".2SD", SD, 0.2),
        ("1 standard deviation", SD, 1.0),
        ("5", SHIFT, 5.0),
        (5, SHIFT, 5.0),
        (np.float32(0.5), SHIFT, 0.5),
        ("1% outliers", OUTLIERS, 1.0),
        ("1 percent outliers", OUTLIERS, 1.0),
        ("1 % outlier", OUTLIERS, 1.0),
    ],
)
def test_one_change_of_one_column(said: object, unit: Unit, size: float) -> None:
    found = parse(said, ONE)
    assert isinstance(found, ByExample)
    assert (found.parts[0].unit, found.parts[0].size, found.parts[0].places) == (unit, size, (0,))


@pytest.mark.parametrize(
    ("said", "columns", "words"),
    [
        ("2%", ONE, "2 %"),
        ("0.2 sd", TWO, "0.2 standard deviations"),
        ("1 sd", TWO, "1 standard deviation"),
        (5, ONE, "5 (in the unit of latency)"),
        ("1% outliers", ONE, "1 % outliers"),
        ({"latency": "2%", "size": 100}, TWO, "latency by 2 %, size by 100"),
        ({"p50": "2%", "p99": 10}, ONE, "p50 by 2 %, p99 by 10 (in the unit of latency)"),
        (slower, ONE, "the change made by slower"),
        (Slower(), ONE, "the change made by Slower"),
        (kabc.KernelDistance(0.1), ONE, "kernel distance 0.1"),
        (5, ["a\nb"], "5 (in the unit of a\\nb)"),
    ],
)
def test_words(said: object, columns: list[str], words: str) -> None:
    assert parse(said, columns).words == words


def test_what_was_parsed_stays_as_it_is() -> None:
    for said in ("2%", {"p50": "2%"}, KernelDistance(0.1)):
        once = parse(said, ONE)
        assert parse(once, ONE) is once


def test_a_mapping_names_columns_or_quantiles() -> None:
    columns = parse({"size": "2%"}, TWO)
    assert isinstance(columns, ByExample)
    assert columns.parts[0].places == (1,)
    quantiles = parse({"median": "2%", "p99.9": 7}, ONE)
    assert isinstance(quantiles, QuantileTolerance)
    assert list(quantiles.probabilities) == pytest.approx([0.5, 0.999])
    assert quantiles.limits.tolist() == [0.02, 7.0]
    assert quantiles.ratios.tolist() == [True, False]
    # a column of that name is a column
    assert isinstance(parse({"p50": "2%"}, ["p50", "p99"]), ByExample)


def test_a_mapping_may_be_written_as_a_text() -> None:
    assert parse("latency=2%, size = 100", TWO) == parse({"latency": "2%", "size": 100}, TWO)
    assert parse("p50=2%,p99=10%", ONE) == parse({"p50": "2%", "p99": "10%"}, ONE)
    assert parse("a=b=2%", ["a=b"]) == parse({"a=b": "2%"}, ["a=b"])


REFUSED: list[tuple[object, list[str], str]] = [
    ("2", [*TWO, "a", "b", "c"], r"'2' has no unit, and the samples have 5 columns; .*\{'latency': 2, 'size': 2\}"),
    (2, TWO, r"2 has no unit.*such as '2%' or '0.2 sd'"),
    ("-2%", ONE, r"'-2%' has a sign; .*'2%'"),
    ("+2%", ONE, r"'\+2%' has a sign"),
    (-2, ONE, "-2 has a sign"),
    ("0%", ONE, "'0%' is 0, and no number of samples"),
    (0.0, ONE, "0.0 is 0"),
    (math.nan, ONE, "nan is not a finite number"),
    ("inf sd", ONE, "not a finite number"),
    (10**400, ONE, "not a finite number"),
    ("1e999%", ONE, "not a finite number"),
    ("5 ms", ONE, "unit 'ms', which is not known; .*write 5"),
    ("0,2 sd", ONE, "has a comma; .*'0.2sd'"),
    ("two", ONE, "does not begin with a number"),
    ("", ONE, "does not begin with a number"),
    ("1.2.3%", ONE, "'1.2.3' is none"),
    ("200000%", ONE, "too large; at most 100000 %"),
    ("60% outliers", ONE, "too large; at most 50 % outliers"),
    ("0.001% outliers", ONE, r"too small to be seen by a kernel; .*0.01 % outliers.*\{'p99.9': '10%'\}"),
    ("20000 sd", ONE, "too large"),
    ({}, ONE, "names no column and no quantile"),
    ({"latancy": "2%"}, TWO, "there is no column 'latancy'; did you mean 'latency'"),
    ({"latency": None}, TWO, "tolerance of column 'latency', None, is not understood"),
    ({"latency": "0%"}, TWO, "tolerance of column 'latency', '0%', is 0"),
    ({"p50": "2%", "size": 3}, TWO, "no column 'p50' .columns and quantiles cannot stand in one"),
    ("latency=2%, 5", TWO, "'5' must name a column or quantile, once, .*'p50=2%, p99=10%'"),
    ("latency=2%, latency=3%", TWO, "'latency=3%' must name a column or quantile, once"),
    ("latency=", TWO, "does not begin with a number"),
    ("=2%", TWO, "'=2%' must name a column"),
    ({"p50": "2%"}, TWO, "quantiles are those of one column, the samples have 2 columns; choose one"),
    ({"p999": "2%"}, ONE, "between p0 and p100, got 'p999'; did you mean 'p99.9'"),
    ({"p0": 1}, ONE, "between p0 and p100"),
    ({"p100": 1}, ONE, "between p0 and p100"),
    ({"p50": 1, "median": 2}, ONE, "stands there twice"),
    ({"p50": "1 sd"}, ONE, "must be in per cent or in the unit of the column"),
    ({"p50": "1% outliers"}, ONE, "must be in per cent or in the unit of the column"),
    (True, ONE, r"True is not understood; say '2%', .*'0.1 kernel distance'"),
    (None, ONE, "not understood"),
    ([2], ONE, "not understood"),
    (kabc.KernelDistance, ONE, "not understood"),
]


@pytest.mark.parametrize(("said", "columns", "message"), REFUSED, ids=lambda value: str(value)[:30])
def test_nonsense_is_refused_with_the_cure(said: object, columns: list[str], message: str) -> None:
    with pytest.raises(kabc.SettingsError, match=message):
        parse(said, columns)


@pytest.mark.parametrize(
    ("eps", "message"),
    [(0, "greater than 0"), (-1, "greater than 0"), (math.nan, "finite"), (2.1, "at most 2"), (1e-9, "at least 1e-06")],
)
def test_a_kernel_distance_is_positive_and_at_most_the_diameter(eps: float, message: str) -> None:
    with pytest.raises(kabc.SettingsError, match=message):
        kabc.KernelDistance(eps)
    assert kabc.KernelDistance(2).eps == 2.0


def test_categories_have_no_size() -> None:
    with pytest.raises(kabc.SettingsError, match="country holds categories"):
        parse("2%", ["country"], categories=["country"])
    with pytest.raises(kabc.SettingsError, match="country holds categories"):
        parse({"country": "2%"}, ["country", "latency"], categories=["country"])
    with pytest.raises(kabc.SettingsError, match=r"country holds categories.*'1% outliers'"):
        parse({"p50": "2%"}, ["country"], categories=["country"])
    with pytest.raises(kabc.SettingsError, match="note holds texts"):
        parse("2%", ["note[0]", "note[1]"], texts=["note[0]", "note[1]"])
    mixed = parse("2%", ["country", "latency"], categories=["country"])
    assert isinstance(mixed, ByExample)
    assert mixed.parts[0].names == ("latency",)


def test_outliers_of_a_category_are_categories_that_were_never_seen() -> None:
    alone = parse("5% outliers", ["country"], categories=["country"])
    named = parse({"country": "5% outliers"}, ["country", "latency"], categories=["country"])
    for found, pool in ((alone, np.array([[3.0]] * 4)), (named, np.array([[3.0, 1.0]] * 4))):
        assert isinstance(found, ByExample)
        up, down = found.moved(pool)
        assert (up.share, up.rows[0, 0], down.rows[0, 0]) == (0.05, 4.0, 2.0)  # also where all are the same
        assert np.array_equal(up.rows[:, 1:], pool[:, 1:])
    both = parse("5% outliers", ["country", "latency"], categories=["country"])
    assert isinstance(both, ByExample) and both.parts[0].names == ("latency",)
    texts = parse("5% outliers", ["note[0]", "note[1]"], texts=["note[0]", "note[1]"])
    assert isinstance(texts, ByExample) and texts.parts[0].places == (0, 1)


def test_a_kernel_distance_can_be_said_as_a_text() -> None:
    assert parse("0.1 kernel distance", ["latency"]) == kabc.KernelDistance(0.1)
    assert parse(" 0.1  Kernel Distance ", ["a", "b"], categories=["a", "b"]) == kabc.KernelDistance(0.1)
    with pytest.raises(kabc.SettingsError, match="has no unit"):
        parse("2% kernel distance", ["latency"])
    with pytest.raises(kabc.SettingsError, match="is 0"):
        parse("0 kernel distance", ["latency"])
    with pytest.raises(kabc.SettingsError, match="does not begin with a number"):
        parse("kernel distance", ["latency"])


def test_indicators_of_missing_values_are_no_numbers() -> None:
    found = parse(5, ["latency", "latency missing"])
    assert isinstance(found, ByExample)
    assert found.parts[0].places == (0,)


SAID = ["2%", "0.07 sd", "1.1% outliers", 5, {"latency": "7%"}, {"p50": "7%", "p99.9": 0.1}, KernelDistance(0.1)]


@pytest.mark.parametrize("said", SAID, ids=str)
def test_a_tolerance_survives_a_file(said: object) -> None:
    once = parse(said, ONE)
    assert of_dict(json.loads(json.dumps(once.to_dict())), ONE) == once


@pytest.mark.parametrize("said", SAID, ids=str)
def test_a_tolerance_survives_a_pickle(said: object) -> None:
    once = parse(said, ONE)
    assert pickle.loads(pickle.dumps(once)) == once


def test_of_a_function_only_the_name_survives() -> None:
    again = of_dict(json.loads(json.dumps(parse(slower, ONE).to_dict())), ONE)
    assert again.words == "the change made by slower"
    assert isinstance(again, ByFunction)
    with pytest.raises(kabc.SettingsError, match="'slower' is known by its name only; pass the function again"):
        again.changes(np.ones((3, 1)))


@pytest.mark.parametrize(
    "document", [{}, {"kind": "change"}, {"kind": "other", "value": 1}, {"kind": "kernel", "value": "x"}]
)
def test_a_file_that_holds_no_tolerance_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(kabc.SettingsError):
        of_dict(document, ONE)


def test_a_tolerance_by_a_change_is_a_tolerance_and_quantiles_are_another_kind() -> None:
    assert isinstance(parse("2%", ONE), Tolerance)
    assert not isinstance(parse({"p50": "2%"}, ONE), Tolerance)
