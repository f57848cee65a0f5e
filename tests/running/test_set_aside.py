"""Arms that run dry are set aside; the others go on to their certified answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import kabc
from kabc.report.html import report_html
from kabc.running.snapshots import Snapshot
from kabc.running.sources import ArmLike
from tests.running.examples import KERNEL, normal

Pools = dict[str, NDArray[np.float64]]


class Rows:
    """A source with a certain number of samples, possibly none."""

    def __init__(self, n: int, mean: float) -> None:
        self.remaining, self._mean = n, mean

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        self.remaining -= n
        return rng.normal(self._mean, 1.0, n)


def pools(**sizes: int) -> Pools:
    """Arms a and b are alike, and all others are like c."""
    rng = np.random.default_rng(0)
    return {name: rng.normal(0.0 if name in "ab" else 3.0, 1.0, size) for name, size in sizes.items()}


def with_tiny() -> Pools:
    return pools(a=500, b=500, c=500, d=500, tiny=3)


@pytest.fixture(scope="module")
def aside() -> kabc.Result:
    return kabc.cluster(with_tiny(), 2, seed=1, progress=False)


# ---------------------------------------------------------------- the answer


def test_one_tiny_pool_does_not_end_the_run(aside: kabc.Result) -> None:
    alone = kabc.cluster(pools(a=500, b=500, c=500, d=500), 2, seed=1, progress=False)
    assert aside.status == "decided"
    assert aside.groups == alone.groups == (("a", "b"), ("c", "d"))
    assert aside.labels == (0, 0, 1, 1, -1)
    assert aside.set_aside == {"tiny": "all 3 rows were read before the group was clear"}
    assert aside.n_samples <= 1.5 * alone.n_samples + 3
    assert aside.samples_per_arm["tiny"] == 3


def test_the_condition_is_about_the_arms_that_were_measured(aside: kabc.Result) -> None:
    assert aside.conditional_on == "there are exactly 2 groups among the arms that were measured"
    assert aside.conditional_on in str(aside).splitlines()[0]


@pytest.mark.parametrize("n", [0, 1])
def test_arms_with_too_few_rows_for_the_first_round_are_left_out_of_everything(n: int) -> None:
    """The run is the one that it would be without them, up to the names of the draws."""
    arms: dict[str, ArmLike] = {"a": normal(0), "b": normal(0), "c": normal(3), "d": normal(3), "few": Rows(n, 0)}
    found = kabc.cluster(arms, 2, seed=1, progress=False)
    del arms["few"]
    alone = kabc.cluster(arms, 2, seed=1, progress=False)
    assert found.labels == (*alone.labels, -1)
    assert found.n_samples == pytest.approx(alone.n_samples, rel=0.5)
    assert found.guarantee.rule[4:-1] == alone.guarantee.rule[4:]  # the same thresholds
    assert found.set_aside == {"few": "no rows" if n == 0 else "no sample was drawn"}


def test_an_exhausted_arm_that_the_evidence_places_keeps_its_place() -> None:
    """It is the only arm of its group: without it there would be no third group to find."""
    far: dict[str, ArmLike] = {"a": normal(0), "b": normal(0), "c": normal(0.6), "d": normal(0.6)}
    far["far"] = Rows(15, 60.0)
    found = kabc.cluster(far, 3, seed=1, progress=False)
    assert found.status == "decided"
    assert found.samples_per_arm["far"] <= 15 < 30 < min(found.samples_per_arm[name] for name in "abcd")
    assert found.groups == (("a", "b"), ("c", "d"), ("far",))
    assert not found.set_aside
    assert found.conditional_on == "there are exactly 3 groups"


def test_a_run_that_lacks_a_whole_group_ends_exhausted() -> None:
    found = kabc.cluster(pools(a=60, b=60, c=2), 2, seed=1, progress=False)
    assert found.status == "exhausted"
    assert found.certified is False


def test_a_run_without_end_that_lacks_a_whole_group_ends_exhausted() -> None:
    arms: dict[str, ArmLike] = {"a": normal(0), "b": normal(0), "c": Rows(4, 50.0)}
    found = kabc.cluster(arms, 2, seed=1, progress=False, max_samples=100_000)
    assert found.status == "exhausted"


def test_too_few_arms_for_k_end_the_run_before_anything_is_drawn() -> None:
    found = kabc.cluster({"a": normal(0), "b": Rows(0, 0), "c": Rows(1, 9)}, 2, seed=1, progress=False)
    assert found.status == "exhausted"
    assert found.n_samples == 0
    assert found.labels == (-1, -1, -1)
    assert found.groups == ()
    report_html(found)


def test_without_k_the_others_go_on_too() -> None:
    found = kabc.cluster(with_tiny(), None, seed=1, progress=False, max_samples=400)
    assert found.status == "budget"
    assert found.samples_per_arm["tiny"] == 3
    assert found.samples_per_arm["a"] > 50


def test_a_strategy_that_cannot_do_without_an_arm_ends_and_guesses_no_group_without_samples() -> None:
    arms: dict[str, ArmLike] = {"a": normal(0), "b": normal(9), "none": Rows(0, 0)}
    found = kabc.cluster(arms, 2, strategy="kabc", kernel=KERNEL, seed=1, progress=False)
    assert found.status == "exhausted"
    assert found.labels == (-1, -1, -1)
    assert found.set_aside == {"a": "no sample was drawn", "b": "no sample was drawn", "none": "no rows"}


# ---------------------------------------------------------------- the same answer, however


def test_workers_do_not_change_the_answer(aside: kabc.Result) -> None:
    found = kabc.cluster(with_tiny(), 2, seed=1, progress=False, workers=8)
    assert found.labels == aside.labels
    assert found.evidence == aside.evidence
    assert found.set_aside == aside.set_aside


def test_it_is_saved_and_loaded(aside: kabc.Result, tmp_path: Path) -> None:
    aside.save(tmp_path / "aside.json")
    assert kabc.load_result(tmp_path / "aside.json") == aside
    facts: dict[str, Any] = aside.to_dict()
    assert facts["labels"] == {"a": 1, "b": 1, "c": 2, "d": 2, "tiny": None}
    assert facts["set_aside"] == aside.set_aside
    assert [group["arms"] for group in facts["groups"]] == [["a", "b"], ["c", "d"]]


def test_a_run_that_is_stopped_by_its_budget_has_set_arms_aside_too() -> None:
    found = kabc.cluster(with_tiny(), 2, seed=1, progress=False, max_samples=23)
    assert found.status == "budget"
    assert found.labels[-1] == -1
    assert found.set_aside.keys() == {"tiny"}


# ---------------------------------------------------------------- what people see


def test_texts_name_the_arms_and_the_reason(aside: kabc.Result) -> None:
    line = "not measured: 1 arm (all 3 rows were read before the group was clear): tiny"
    assert f"  {line}" in str(aside).splitlines()
    assert f"  - {line}" in aside.certificate().splitlines()


def test_many_arms_are_not_all_named() -> None:
    arms: dict[str, ArmLike] = {f"h{i}": Rows(0, 0) for i in range(30)}
    found = kabc.cluster({"a": normal(0), "b": normal(9)} | arms, 2, seed=1, progress=False)
    assert "  not measured: 30 arms (no rows): h0, h1, h2, h3, h4 and 25 more" in str(found).splitlines()


def test_the_report_lists_them_and_keeps_its_pictures(aside: kabc.Result) -> None:
    page = report_html(aside)
    assert "<h2>Not measured: 1 arm</h2>" in page
    assert "all 3 rows were read before the group was clear" in page
    assert "4 arms in 2 groups" in page
    for picture in ("Evidence of every pair", "Told apart or not", "Map of the arms", "Evidence over samples"):
        assert f"<h3>{picture}</h3>" in page
    assert "cannot be drawn" not in page


def test_the_report_of_many_arms_does_not_need_samples_of_those_set_aside() -> None:
    arms: dict[str, ArmLike] = {f"h{i}": Rows(0, 0) if i % 3 == 0 else normal(5.0 * (i % 2)) for i in range(60)}
    found = kabc.cluster(arms, 2, seed=1, progress=False)
    page = report_html(found)
    assert "<h2>Not measured: 20 arms</h2>" in page
    assert "cannot be drawn" not in page


def test_a_listener_sees_arms_set_aside_in_no_group_and_not_as_open() -> None:
    open_arms: list[tuple[int, int | None]] = []

    def listen(now: Snapshot) -> None:
        open_arms.append((now.labels[-1], now.n_open))
        assert now.forecast is None or now.forecast > 0

    kabc.cluster(with_tiny(), 2, seed=1, progress=False, on_round=listen)
    assert open_arms[-1] == (-1, 0)


def test_compare_says_that_an_arm_was_not_measured(aside: kabc.Result) -> None:
    whole = kabc.cluster(pools(a=500, b=500, c=500, d=500, tiny=500), 2, seed=1, progress=False)
    found = kabc.compare(whole, aside)
    assert found.same
    assert found.not_measured == ("tiny",)
    assert found.n_common == 4
    assert "not measured: tiny" in str(found).splitlines()


# ---------------------------------------------------------------- a fleet with uneven pools


def fleet(seed: int, n_arms: int = 120) -> tuple[Pools, NDArray[np.intp]]:
    """Three groups of hosts; a fifth of the hosts have 1 to 5 rows, the others 20 to 400."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_arms)
    sizes = np.where(rng.random(n_arms) < 0.2, rng.integers(1, 6, n_arms), rng.integers(20, 400, n_arms))
    return {f"h{i:03d}": rng.normal(3.0 * g, 1.0, n) for i, (g, n) in enumerate(zip(truth, sizes, strict=True))}, truth


def test_hosts_with_uneven_pools_are_decided_and_every_measured_host_is_right() -> None:
    arms, truth = fleet(0, 300)
    found = kabc.cluster(arms, 3, seed=1, progress=False)
    assert found.status == "decided"
    placed = np.array(found.labels) >= 0
    mine, theirs = (kabc.Partition.of(x[placed].tolist()) for x in (np.array(found.labels), truth))
    assert mine.matches(theirs)
    assert placed.sum() >= 0.75 * len(truth)
    assert not set(found.set_aside) & {name for group in found.groups for name in group}


def test_no_row_is_read_twice_and_none_beyond_the_pool() -> None:
    arms, _ = fleet(1)
    found = kabc.cluster(arms, 3, seed=1, progress=False)
    assert all(found.samples_per_arm[name] <= len(rows) for name, rows in arms.items())
