"""Kernel distances come back in units that people use, and never say too much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kabc.core.tolerances import Equivalents, KernelDistance, Tolerance, equivalents, parse
from kabc.core.tolerances.translating import Curve
from tests.core.tolerances.examples import Waves, latencies

POOL = latencies(200)
PHI = Waves(POOL)
ONE = ["latency"]


def tolerance(said: object, *columns: str) -> Tolerance:
    found = parse(said, columns or ONE)
    assert isinstance(found, Tolerance)
    return found


def found(said: object) -> Equivalents:
    return equivalents(tolerance(said), POOL, PHI, ONE)


@pytest.mark.parametrize(("said", "own"), [("2%", 2.0), ("0.2 sd", 0.2), (1.5, 1.5), ("3% outliers", 3.0)])
def test_the_tolerance_is_itself_in_its_own_unit(said: object, own: float) -> None:
    back = found(said)
    assert float(back.in_units(back.eps)) == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("unit", ["%", " sd", "", "% outliers"])
@pytest.mark.parametrize("factor", [0.03, 0.4, 1.3, 3.0])
def test_a_margin_is_the_size_whose_change_makes_it(unit: str, factor: float) -> None:
    back = found(f"1{unit}")
    margin = factor * back.eps
    size = float(back.in_units(margin))
    assert tolerance(f"{size!r}{unit}").distance(POOL, PHI) == pytest.approx(margin, rel=0.01)


def test_margins_of_all_pairs_are_translated_at_once_and_keep_their_order() -> None:
    back = found("2%")
    margins = np.random.default_rng(0).uniform(0, 0.3, (30, 30))
    sizes = back.in_units(margins)
    assert sizes.shape == (30, 30)
    assert [float(back.in_units(one)) for one in margins[0]] == pytest.approx(sizes[0])
    order = np.argsort(margins, axis=None)
    assert (np.diff(sizes.ravel()[order]) >= 0).all()


def test_nothing_is_nothing_and_what_no_change_makes_is_infinite() -> None:
    back = found("2%")
    np.testing.assert_array_equal(back.in_units([0.0, math.nan, math.inf, 1.99]), [0.0, math.nan, math.inf, math.inf])
    # so small that it is below the table: proportional
    assert float(back.in_units(1e-9)) == pytest.approx(2e-9 / back.eps, rel=0.05)


def test_where_a_distance_falls_again_the_smallest_size_that_makes_it_counts() -> None:
    heights = {1.0: 0.1, 2.0: 0.4, 3.0: 0.2, 4.0: 0.5}
    curve = Curve.of(np.array(list(heights)), heights.__getitem__)
    margins = np.array([0.05, 0.1, 0.25, 0.4, 0.45, 0.5, 0.51])
    np.testing.assert_allclose(curve.size_of(margins), [0.5, 1.0, 1.5, 2.0, 3 + 0.25 / 0.3, 4.0, math.inf])


def test_several_columns_and_functions_are_said_in_multiples() -> None:
    pool = latencies(100, 2)
    two = equivalents(tolerance({"a": "2%", "b": 1}, "a", "b"), pool, Waves(pool), ["a", "b"])
    assert two.unit == "times the tolerance"
    assert float(two.in_units(two.eps)) == pytest.approx(1.0)
    assert float(two.in_units(2 * two.eps)) == pytest.approx(2.0, rel=0.1)
    back = equivalents(tolerance(lambda pool: pool * 1.02), POOL, PHI, ONE)
    assert back.within(2 * back.eps) == "2 times the tolerance"
    kernel = equivalents(KernelDistance(0.1), POOL, PHI, ONE)
    assert float(kernel.in_units(0.07)) == 0.07


def test_the_units_agree_with_each_other() -> None:
    """What each equivalent says makes the same distance again."""
    back = found("2%")
    (latency,) = back.columns
    assert latency.percent == pytest.approx(2.0, rel=0.01)
    assert latency.sd is not None and latency.shift is not None and latency.outliers is not None
    assert latency.shift == pytest.approx(latency.sd * POOL.std(ddof=1))
    for said in (f"{latency.sd!r} sd", latency.shift, f"{latency.outliers!r}% outliers"):
        assert tolerance(said).distance(POOL, PHI) == pytest.approx(back.eps, rel=0.01)


def test_each_column_has_its_own_equivalents() -> None:
    pool = latencies(100, 2) * np.array([1.0, 1000.0])
    back = equivalents(tolerance("0.2 sd", "a", "b"), pool, Waves(pool), ["a", "b"])
    assert [one.column for one in back.columns] == ["a", "b"]
    for one in back.columns:
        assert one.sd is not None
        assert 0.2 < one.sd < 1.0  # alone a column must change more than both together
    assert back.to_dict()["columns"][1]["shift"] == back.columns[1].shift


def test_wide_tables_are_shown_as_a_whole() -> None:
    pool = latencies(30, 20)
    names = [f"c{i}" for i in range(20)]
    back = equivalents(tolerance("0.2 sd", *names), pool, Waves(pool), names)
    (together,) = back.columns
    assert (together.column, together.shift) == ("all columns together", None)
    assert together.sd == pytest.approx(0.2, rel=0.02)


def test_what_no_change_of_a_column_makes_is_left_out() -> None:
    pool = np.concatenate([POOL, np.zeros((len(POOL), 1))], axis=1)
    phi = Waves(latencies(50, 2))
    back = equivalents(tolerance({"a": "0.2 sd"}, "a", "zero"), pool, phi, ["a", "zero"])
    zero = back.columns[1]
    assert (zero.percent, zero.sd, zero.shift, zero.outliers) == (None, None, None, None)
    assert zero.words == "zero: no change of this column alone is as large"
    assert equivalents(KernelDistance(1.9), POOL, PHI, ONE).columns[0].outliers is None


def test_words_never_say_more_than_the_margin() -> None:
    back = equivalents(KernelDistance(0.1), POOL, PHI, ONE)
    for margin in np.random.default_rng(1).uniform(1e-6, 1.0, 200):
        upper, lower = (float(words.split()[0]) for words in (back.within(margin), back.at_least(margin)))
        assert lower <= margin <= upper
        assert upper - lower <= 0.11 * margin
    assert back.within(0.1) == back.at_least(0.1) == "0.1 kernel distance"
    assert back.within(math.nan) == "not known"
    assert back.within(math.inf) == "more than can be said in this unit"
    assert found("2%").within(0.0) == "0 %"


def test_equivalents_read_as_a_line() -> None:
    assert found("2%").columns[0].words.startswith("latency: a shift by 0.")
    assert "or 2 %" in found("2%").columns[0].words
