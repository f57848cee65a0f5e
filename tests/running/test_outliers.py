"""kabc.outliers: odd ones first, few of them false, and nothing said that is not known."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import polars
import pytest
from numpy.typing import NDArray

import kabc
from kabc import ArmError, KabcError, OutliersResult, SettingsError

Array = NDArray[np.float64]


def hosts(n: int, rows: int, odd: dict[int, float], seed: int = 0) -> dict[str, Array]:
    """Latencies around 100 with a spread of 5; odd ones are so many times as large."""
    rng = np.random.default_rng(seed)
    return {f"h{i}": rng.normal(100.0, 5.0, rows) * odd.get(i, 1.0) for i in range(n)}


def live(mean: float) -> Callable[[int, np.random.Generator], Array]:
    return lambda n, rng: rng.normal(mean, 1.0, n)


def found(arms: Any, **settings: Any) -> OutliersResult:
    return kabc.outliers(arms, **{"tolerance": "2%", "seed": 0, "progress": False, **settings})


def test_odd_ones_are_found_and_come_first() -> None:
    result = found(hosts(40, 200, {3: 1.05, 17: 0.94}))
    assert result.status == "odd"
    assert set(result.odd_names) == {"h3", "h17"}
    assert {result.names[arm] for arm in result.ranking[:2]} == {"h3", "h17"}
    assert result.n_samples == 40 * 200
    assert result.units is not None
    margins = result.units.in_units(result.at_least[result.odd])
    assert ((margins >= 2) & (margins < 6.5)).all()
    first, *others = str(result).split("\n")
    assert first.startswith("2 of 40 arms are odd, farther than 2 % from the rest; among the arms")
    assert "at most 5 % are expected to be false" in first
    assert any("below the rest" in line for line in others) and any("above the rest" in line for line in others)


def test_arms_within_the_tolerance_are_not_odd() -> None:
    arms = hosts(20, 400, {5: 1.015})
    assert found(arms, tolerance="3%").status == "none"
    assert found(arms, tolerance=None).odd_names == ("h5",)  # but they do differ


def test_equal_arms_are_none_or_not_known() -> None:
    assert found(hosts(10, 500, {})).status == "none"
    few = found(hosts(10, 12, {}))
    assert few.status == "open"
    assert few.n_enough is not None and few.n_enough > 12
    assert str(few).startswith("not known: none of 10 arms is shown to be odd, but there are too few samples")


def test_the_same_seed_gives_the_same_answer() -> None:
    arms = {f"h{i}": live(10.5 if i == 2 else 10.0) for i in range(6)}
    one, two = (found(arms, tolerance="0.1 sd", max_samples=600, workers=workers) for workers in (None, 3))
    assert np.array_equal(one.log_e_values, two.log_e_values)
    assert one.n_samples <= 600


def test_arms_without_an_end_are_left_when_enough_is_known() -> None:
    arms = {f"h{i}": live(12.0 if i == 2 else 10.0) for i in range(12)}
    result = found(arms, tolerance="0.6 sd")
    assert result.odd_names == ("h2",)
    assert result.n_enough is not None
    assert result.n_enough <= result.samples_per_arm["h0"] < 3 * result.n_enough
    with pytest.raises(SettingsError, match="without a tolerance nothing says when to stop; pass tolerance="):
        found(arms, tolerance=None)
    assert found(arms, tolerance=None, max_samples=1200).odd_names == ("h2",)


def test_arms_with_few_rows_are_compared_but_are_not_the_rest() -> None:
    arms = hosts(20, 300, {3: 1.06, 7: 1.2})
    arms["h7"], arms["h8"], arms["h9"] = arms["h7"][:60], arms["h8"][:40], arms["h9"][:3]
    result = found(arms)
    assert set(result.odd_names) == {"h3", "h7"}
    assert result.samples_per_arm["h8"] == 40
    assert dict(result.not_measured) == {"h9": "fewer than 8 samples (blocks)"}
    assert result.n_tested == 19
    assert result.labels[9] == -1
    assert "not measured: 1 arm (fewer than 8 samples (blocks)): h9" in str(result)


def test_an_arm_with_many_rows_gives_as_many_as_the_others() -> None:
    arms = hosts(9, 120, {})
    arms["h4"] = np.random.default_rng(9).normal(100.0, 5.0, 5000)
    assert found(arms).samples_per_arm["h4"] == 120


def test_two_arms_have_no_rest() -> None:
    with pytest.raises(ArmError, match="at least 3 arms, got 2: of two arms, none is the rest"):
        found(hosts(2, 100, {}))
    assert found(hosts(3, 300, {})).status in ("none", "open")


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"fdr": 0}, "fdr=0 is not between 0 and 1"),
        ({"fdr": "5%"}, "fdr='5%' is not between 0 and 1"),
        ({"tolerance": "-2%"}, "tolerance"),
        ({"tolerance": {"p50": "2%"}}, "quantiles"),
        ({"max_samples": 30}, "max_samples=30 is too small for 10 arms"),
        ({"max_samples": 0}, "max_samples"),
        ({"block": "long"}, "block"),
        ({"workers": 0}, "workers"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, Any], wrong: str) -> None:
    with pytest.raises(KabcError, match=wrong):
        found(hosts(10, 50, {}), **settings)


def test_tiny_pools_are_refused() -> None:
    with pytest.raises(ArmError, match="most arms have 3 samples, it takes at least 4 of each"):
        found(hosts(10, 3, {}))


def test_samples_that_depend_on_each_other_take_the_promise_away() -> None:
    rng = np.random.default_rng(0)
    arms = {f"h{i}": 100 + np.cumsum(rng.normal(size=300)) for i in range(6)}
    result = found(arms)
    assert result.status == "doubtful"
    assert str(result).startswith("Doubtful: an assumption does not hold, so nothing is promised")
    assert "block='auto'" in str(result)
    assert found(arms, watch=False).status != "doubtful"


def test_blocks_count_as_one() -> None:
    rng = np.random.default_rng(0)
    arms = {f"h{i}": np.repeat(rng.normal(100 if i else 110, 2.0, 150), 4) for i in range(8)}
    result = found(arms, block=4, tolerance="2%")
    assert (result.block, result.odd_names) == (4, ("h0",))
    assert result.n_samples == 8 * 600
    assert found(arms, block="auto").block >= 4


def test_tables_and_categories() -> None:
    rng = np.random.default_rng(0)
    names = np.repeat([f"h{i}" for i in range(10)], 150)
    status = np.where(rng.random(1500) < np.where(names == "h4", 0.5, 0.05), "error", "ok")
    frame = polars.DataFrame({"host": names, "status": status})
    result = found(frame, arm="host", tolerance=None)
    assert result.odd_names == ("h4",)
    assert "status: error (5" in str(result)
    with pytest.raises(SettingsError, match="tolerance"):
        found(frame, arm="host", tolerance="2%")


def test_what_was_paid_for_is_not_lost_when_an_arm_fails() -> None:
    calls = 0

    def failing(n: int, rng: np.random.Generator) -> Array:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise OSError("the host is gone")
        return rng.normal(10.0, 1.0, n)

    arms = {"a": live(10), "b": live(10), "c": failing, "d": live(10)}
    with pytest.raises(ArmError, match="the host is gone") as caught:
        found(arms, tolerance="0.2 sd")
    so_far = caught.value.result
    assert isinstance(so_far, OutliersResult)
    assert so_far.n_samples > 0
    assert "ended by an error" in str(so_far)


def test_an_interrupt_ends_the_run_with_what_is_known() -> None:
    calls = 0

    def interrupted(n: int, rng: np.random.Generator) -> Array:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise KeyboardInterrupt
        return rng.normal(10.0, 1.0, n)

    result = found({"a": live(10), "b": live(10), "c": interrupted}, tolerance="0.2 sd")
    assert result.status == "open"
    assert "interrupted" in str(result)


def test_the_document_is_strict_json_and_names_everyone() -> None:
    result = found({**hosts(12, 150, {1: 1.5}), ("tuple", 1): hosts(1, 150, {})["h0"]})
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert document["odd"] == ["h1"]
    assert document["arms"][0]["name"] == "h1"
    assert len(document["arms"]) == 13
    assert document["arms"][0]["at_least"] >= 2
    assert document["arms"][1]["at_least"] is None
    assert "at most 5 % are expected to be false" in document["promise"]


@pytest.mark.parametrize(("n", "n_odd"), [(3, 1), (10, 2), (60, 20)])
def test_arms_that_are_far_off_do_not_make_the_others_odd(n: int, n_odd: int) -> None:
    result = found(hosts(n, 200, dict.fromkeys(range(n_odd), 1.5)))
    assert set(result.odd_names) == {f"h{i}" for i in range(n_odd)}
    assert not result.rest[:n_odd].any()
    assert "the rest: the average of all others but " in str(result)


def test_a_fleet_of_two_halves_is_named_as_such() -> None:
    result = found(hosts(40, 300, dict.fromkeys(range(19), 1.06)))
    assert result.odd.sum() > 10
    assert "odd arms of the" in str(result) and "use kabc.cluster with a tolerance" in str(result)


def test_many_odd_arms_are_counted_and_named_in_short() -> None:
    text = str(found(hosts(60, 120, dict.fromkeys(range(15), 1.5))))
    assert text.startswith("15 of 60 arms are odd")
    assert "  and 5 more: h" in text
