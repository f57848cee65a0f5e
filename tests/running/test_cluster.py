"""kabc.cluster: from arms to an answer, and what it says when there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import kabc
from tests.running.examples import KERNEL, counting, normal, three_groups


@pytest.mark.parametrize("strategy", ["anytime", "kabc", "kabc-tight"])
def test_ten_lines_give_the_groups_by_name(strategy: str) -> None:
    result = kabc.cluster(three_groups(), n_clusters=3, delta=0.05, seed=0, strategy=strategy)
    assert result.groups == (("a", "c"), ("b", "e"), ("d",))
    assert result.labels == (0, 1, 0, 2, 1)
    assert result.status == "decided"
    assert result.certified
    assert result.n_groups_at_least == 3
    assert result.evidence.n_told_apart <= 8


def test_every_sample_is_counted_pilot_and_discarded_rounds_too() -> None:
    log: list[int] = []
    arms = {name: counting(draw, log) for name, draw in three_groups().items()}
    result = kabc.cluster(arms, n_clusters=3, seed=1, pilot=25, strategy="kabc")
    assert result.n_samples == sum(log) == sum(result.samples_per_arm.values())
    assert result.n_pilot == 125
    assert result.n_samples - 125 == result.rounds[-1].n_samples
    assert set(result.samples_per_arm) == {"a", "b", "c", "d", "e"}


def test_a_given_kernel_needs_no_pilot() -> None:
    result = kabc.cluster(three_groups(), n_clusters=3, seed=1, kernel=KERNEL)
    assert result.n_pilot == 0
    assert result.n_samples == result.rounds[-1].n_samples


def test_a_kernel_may_be_chosen_on_the_pilot_and_the_pilot_is_not_tested() -> None:
    seen: list[NDArray[Any]] = []

    def choose(pilot: NDArray[Any]) -> kabc.Kernel:
        seen.append(pilot)
        return kabc.Gaussian.from_pilot(pilot, scale=0.5)

    tested: list[float] = []

    def draw(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        values = rng.normal(size=n)
        tested.extend(values)
        return values

    result = kabc.cluster([draw, normal(9)], n_clusters=2, seed=3, kernel=choose, pilot=10)
    assert len(seen) == 1
    assert seen[0].shape == (20, 1)
    assert len(set(tested)) == len(tested)  # no sample came twice, so none of the pilot was drawn again
    assert result.status == "decided"


def test_the_same_seed_gives_the_same_answer_and_another_seed_other_samples() -> None:
    first, again, other = (kabc.cluster(three_groups(), n_clusters=3, seed=seed, strategy="kabc") for seed in (7, 7, 8))
    assert np.array_equal(first.evidence.distances, again.evidence.distances)
    assert first.kernel == again.kernel
    assert not np.array_equal(first.evidence.distances, other.evidence.distances)


def test_the_same_seed_gives_the_same_bets() -> None:
    first, again, other = (kabc.cluster(three_groups(), n_clusters=3, seed=seed) for seed in (7, 7, 8))
    assert np.array_equal(first.evidence.log_evidence, again.evidence.log_evidence)
    assert not np.array_equal(first.evidence.log_evidence, other.evidence.log_evidence)


@pytest.mark.fresh_seed
def test_a_run_without_a_seed_records_one_that_repeats_it() -> None:
    first = kabc.cluster(three_groups(), n_clusters=3, strategy="kabc")
    again = kabc.cluster(three_groups(), n_clusters=3, strategy="kabc", seed=first.seed)
    assert np.array_equal(first.evidence.distances, again.evidence.distances)


def test_arms_that_share_a_function_get_independent_samples() -> None:
    seen: dict[int, NDArray[np.float64]] = {}

    def draw(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        values = rng.normal(size=n)
        seen[len(seen)] = values
        return values

    kabc.cluster([draw, draw], n_clusters=2, seed=0, kernel=KERNEL, max_samples=50)
    assert not np.array_equal(seen[0], seen[1])


def test_the_answer_does_not_depend_on_the_order_in_which_arms_are_drawn() -> None:
    """An arm's samples depend on (seed, arm, round) alone, so drawing more of another arm changes nothing."""
    calls: list[list[NDArray[np.float64]]] = []
    for extra in (0, 5):
        drawn: list[NDArray[np.float64]] = []

        def draw(n: int, rng: np.random.Generator, into: list[NDArray[np.float64]] = drawn) -> NDArray[np.float64]:
            into.append(rng.normal(size=n))
            return into[-1]

        def greedy(n: int, rng: np.random.Generator, extra: int = extra) -> NDArray[np.float64]:
            rng.normal(size=extra)
            return rng.normal(9, 1, n)

        kabc.cluster([draw, greedy], n_clusters=2, seed=4, kernel=KERNEL)
        calls.append(drawn)
    assert all(np.array_equal(x, y) for x, y in zip(*calls, strict=True))


def test_pools_are_used_in_random_order_without_replacement() -> None:
    pool = np.random.default_rng(0).permutation(np.arange(5000.0))
    result = kabc.cluster([pool, pool + 20_000], n_clusters=2, seed=0, kernel=kabc.Gaussian(3000.0))
    assert result.status == "decided"
    assert result.n_samples < 10_000


def test_a_dry_pool_ends_as_exhausted_with_the_components_as_a_guess() -> None:
    rng = np.random.default_rng(0)
    pools = {"x": rng.normal(0, 1, 400), "y": rng.normal(0.3, 1, 4000), "z": rng.normal(20, 1, 4000)}
    result = kabc.cluster(pools, n_clusters=3, seed=0, kernel=KERNEL, delta=0.5)
    assert result.status == "exhausted"
    assert not result.certified
    assert result.labels == (0, 0, 0)  # one component: nothing is told apart yet
    assert not result.evidence.told_apart.any()
    assert result.samples_per_arm["x"] <= 400
    assert "guess" in str(result)


def test_rows_that_run_out_are_the_reason_even_if_the_budget_ends_there_too() -> None:
    """More budget would not help."""
    rows = np.random.default_rng(0).normal(size=(2, 40))
    for strategy, kernel in (("anytime", None), ("kabc", KERNEL)):
        result = kabc.cluster(list(rows), strategy=strategy, kernel=kernel, max_samples=80, seed=0)
        assert result.status == "exhausted"
        assert kabc.cluster(list(rows), strategy=strategy, kernel=kernel, max_samples=50, seed=0).status == "budget"


def test_the_budget_is_never_exceeded_and_nothing_is_drawn_beyond_it() -> None:
    log: list[int] = []
    arms = [counting(normal(0), log), counting(normal(0.1), log)]
    result = kabc.cluster(arms, n_clusters=2, seed=0, max_samples=3000, strategy="kabc")
    assert result.status == "budget"
    assert result.n_samples == sum(log) <= 3000
    assert not result.certified
    assert result.n_groups_at_least == 1


def test_a_budget_below_the_first_round_draws_nothing() -> None:
    result = kabc.cluster(three_groups(), n_clusters=3, seed=0, kernel=KERNEL, max_samples=10)
    assert result.status == "budget"
    assert result.n_samples == 0
    assert result.evidence.n_told_apart == 0


def test_unknown_k_with_a_separation_is_decided_and_k_an_output() -> None:
    result = kabc.cluster(three_groups(), min_separation=1.0, seed=0, kernel=KERNEL)
    assert result.status == "decided"
    assert result.n_clusters is None
    assert len(result.groups) == 3
    assert len(result.rounds) == 1


def test_unknown_k_with_a_budget_certifies_a_lower_bound_on_the_number_of_groups() -> None:
    result = kabc.cluster(three_groups(), max_samples=6000, seed=0, kernel=KERNEL)
    assert result.status == "budget"
    assert result.n_groups_at_least == 3
    assert result.n_samples == 6000


def test_a_contradicted_k_is_a_finding() -> None:
    arms = [normal(100.0 * arm) for arm in range(3)]  # all pairs equally far for the kernel: parted in one round
    result = kabc.cluster(arms, n_clusters=2, seed=0, strategy="kabc-tight", kernel=KERNEL)
    assert result.status == "contradicted"
    assert result.n_groups_at_least == 3
    assert "More than 2 groups: at least 3 are certified" in str(result)


def test_the_certificate_names_claim_assumptions_rule_and_figures() -> None:
    result = kabc.cluster(three_groups(), n_clusters=3, delta=0.05, seed=11, strategy="kabc")
    text = result.certificate()
    for words in (
        "If there are exactly 3 groups, this grouping is wrong with probability at most 5 %.",
        "independent and identically distributed",
        "32/3",
        "exactly K connected components",
        f"{result.n_samples:,} samples",
        "seed 11",
        "pilot",
        "8 of 10 pairs are told apart",
        "closest pair told apart",
    ):
        assert words in text


def test_names_may_be_given_beside_a_sequence() -> None:
    result = kabc.cluster([normal(0), normal(9)], n_clusters=2, names=["left", "right"], seed=0)
    assert result.groups == (("left",), ("right",))


def test_progress_goes_to_a_function_once_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.running.progress._QUIET_SECONDS", 0.0)
    lines: list[str] = []
    kabc.cluster(three_groups(), n_clusters=3, seed=0, strategy="kabc", progress=lines.append)
    assert lines
    assert "round" in lines[0]


def test_short_runs_print_nothing(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.running.progress._QUIET_SECONDS", 600.0)  # whatever else the machine is doing
    kabc.cluster([normal(0), normal(9)], n_clusters=2, seed=0)
    assert capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- tables


def machines(column: str = "speed") -> pl.DataFrame:
    rng = np.random.default_rng(0)
    means = {"m1": 0.0, "m2": 9.0, "m10": 0.0}
    return pl.DataFrame(
        {
            "machine": np.repeat(list(means), 400).tolist(),
            column: np.concatenate([rng.normal(mean, 1, 400) for mean in means.values()]),
        }
    )


def test_a_data_frame_and_a_file_are_tables_of_arms(tmp_path: Path) -> None:
    machines().write_csv(tmp_path / "machines.csv")
    for source in (machines(), str(tmp_path / "machines.csv"), tmp_path / "machines.csv"):
        result = kabc.cluster(source, 2, arm="machine", values="speed", seed=0)
        assert set(result.groups) == {("m1", "m10"), ("m2",)}
        assert result.columns == ("speed",)
        assert any("speed: number" in note for note in result.notes)


@pytest.mark.parametrize("strategy", ["anytime", "kabc-tight"])
def test_words_are_grouped_by_bets_and_by_the_hamming_kernel(strategy: str) -> None:
    rng = np.random.default_rng(0)
    words = pl.DataFrame(
        {
            "arm": ["a"] * 600 + ["b"] * 600 + ["c"] * 600,
            "colour": rng.choice(["red", "blue"], 1200).tolist() + rng.choice(["green", "pink"], 600).tolist(),
        }
    )
    result = kabc.cluster(words, 2, arm="arm", seed=0, strategy=strategy)
    assert result.groups == (("a", "b"), ("c",))
    assert ("Hamming" in result.kernel) == (strategy == "kabc-tight")
