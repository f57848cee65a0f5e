"""kabc.cluster: from arms to an answer, and what it says when there is none."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import kabc
from kabc import ArmError, KernelBoundsError, SampleError, SettingsError
from kabc.arms.base import NamedArms
from kabc.arms.callables import CallableArm
from kabc.core.scores.maps import Scaled
from kabc.strategies import BOC, needs_kernel, strategies
from kabc.strategies.answers import Round

Draw = Callable[[int, np.random.Generator], NDArray[np.float64]]
KERNEL = kabc.Gaussian(bandwidth=1.0)


def normal(mean: float, scale: float = 1.0) -> Draw:
    return lambda n, rng: rng.normal(mean, scale, n)


def three_groups() -> dict[str, Draw]:
    return {"a": normal(0), "b": normal(9), "c": normal(0), "d": normal(18), "e": normal(9)}


def counting(draw: Draw, log: list[int]) -> Draw:
    def drawn(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        log.append(n)
        return draw(n, rng)

    return drawn


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
    pool = np.arange(5000.0)
    result = kabc.cluster([pool, pool + 20_000], n_clusters=2, seed=0, kernel=kabc.Gaussian(3000.0))
    assert result.status == "decided"
    assert result.n_samples < 10_000


def test_a_dry_pool_ends_as_exhausted_with_a_guess_and_certified_pairs() -> None:
    rng = np.random.default_rng(0)
    pools = {"x": rng.normal(0, 1, 400), "y": rng.normal(0.3, 1, 4000), "z": rng.normal(20, 1, 4000)}
    result = kabc.cluster(pools, n_clusters=3, seed=0, kernel=KERNEL, delta=0.5)
    assert result.status == "exhausted"
    assert not result.certified
    assert max(result.labels) + 1 == 3
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


def test_a_strategy_object_is_driven_as_it_is() -> None:
    strategy = kabc.KABC(5, 3, 0.2, KERNEL, keep_samples=True)
    result = kabc.cluster(three_groups(), strategy=strategy, seed=0)
    assert result.groups == (("a", "c"), ("b", "e"), ("d",))
    assert result.delta == 0.2
    assert result.n_samples == strategy.n_samples


BESIDE: list[tuple[dict[str, Any], str]] = [
    ({"n_clusters": 2}, "n_clusters=2.*n_clusters=3"),
    ({"delta": 0.001}, "delta=0.001.*delta=0.2"),
    ({"kernel": kabc.Gaussian(bandwidth=2.0)}, r"kernel=Gaussian\(bandwidth=2.0.*kernel=Gaussian\(bandwidth=1.0"),
    ({"kernel": kabc.Gaussian.from_pilot}, "kernel="),
    ({"strategy_options": {"x": 1}}, r"strategy_options=\{'x': 1\}"),
    ({"min_separation": 0.5}, "min_separation=0.5"),
    ({"pilot": 20}, "pilot=20"),
]


@pytest.mark.parametrize(("beside", "words"), BESIDE)
def test_settings_that_a_strategy_object_would_not_follow_are_refused(beside: dict[str, Any], words: str) -> None:
    log: list[int] = []
    arms = [counting(normal(0), log)] * 5
    with pytest.raises(SettingsError, match=f"{words}.*(leave|make)"):
        kabc.cluster(arms, strategy=kabc.KABC(5, 3, 0.2, KERNEL), seed=0, max_samples=500, **beside)
    assert not log


def test_settings_that_a_strategy_object_has_may_be_repeated() -> None:
    strategy = kabc.KABC(5, 3, 0.2, KERNEL)
    same: dict[str, Any] = {"n_clusters": 3, "delta": 0.2, "kernel": kabc.Gaussian(bandwidth=1.0)}
    assert kabc.cluster(three_groups(), strategy=strategy, strategy_options={}, seed=0, **same).delta == 0.2
    with pytest.raises(SettingsError, match=r"kernel=Gaussian.*no kernel"):
        kabc.cluster(three_groups(), strategy=kabc.AnytimeKABC(5, 3, 0.2), kernel=KERNEL)
    with pytest.raises(SettingsError, match=r"n_clusters=3.*n_clusters=None"):
        kabc.cluster(three_groups(), 3, strategy=kabc.AnytimeKABC(5, None, 0.2), max_samples=50)


@pytest.mark.parametrize("name", strategies())
def test_one_group_is_refused_before_a_sample_is_drawn(name: str) -> None:
    log: list[int] = []
    with pytest.raises(SettingsError, match=r"n_clusters=1 leaves nothing to test.*leave n_clusters out.*max_samples"):
        kabc.cluster([counting(normal(0), log)] * 3, 1, strategy=name, max_samples=100, seed=0)
    assert not log


def test_a_strategy_object_for_one_group_is_refused_too() -> None:
    with pytest.raises(SettingsError, match="n_clusters=1 leaves nothing to test"):
        kabc.cluster([normal(0)] * 3, strategy=kabc.KABC(3, 1, 0.05, KERNEL), seed=0)


def test_without_k_options_reach_a_strategy_that_needs_no_kernel() -> None:
    options = {"seed": 3, "maps": (Scaled(),)}
    arms = three_groups()
    result = kabc.cluster(arms, strategy="anytime", strategy_options=options, max_samples=200, seed=0)
    direct = kabc.cluster(arms, strategy=kabc.AnytimeKABC(5, None, 0.05, **options), max_samples=200, seed=0)  # type: ignore[arg-type]
    assert "Anytime" in result.guarantee.strategy
    assert np.array_equal(result.evidence.log_evidence, direct.evidence.log_evidence, equal_nan=True)
    assert result.n_groups_at_least == 3


@pytest.mark.parametrize("name", sorted(name for name in strategies() if name != "anytime" and not needs_kernel(name)))
def test_without_k_a_strategy_that_needs_it_is_refused_before_a_sample_is_drawn(name: str) -> None:
    log: list[int] = []
    with pytest.raises(SettingsError, match="got None"):
        kabc.cluster([counting(normal(0), log)] * 3, strategy=name, max_samples=100, seed=0)
    assert not log


GOING_ON: dict[str, tuple[Callable[[], Any], int]] = {  # a strategy, and after how many samples it is stopped
    "anytime": (lambda: kabc.AnytimeKABC(5, 3, 0.05), 30),
    "anytime, K unknown": (lambda: kabc.AnytimeKABC(5, None, 0.05), 100),
    "kabc": (lambda: kabc.KABC(5, 3, 0.05, KERNEL), 300),
    "kabc, samples kept": (lambda: kabc.KABC(5, 3, 0.05, KERNEL, keep_samples=True), 300),
    "boc": (lambda: BOC(5, 3, 0.05), 8),
}


@pytest.mark.parametrize("name", GOING_ON)
def test_a_strategy_that_is_passed_in_again_goes_on_as_if_never_stopped(name: str) -> None:
    make, budget = GOING_ON[name]
    halved, whole = make(), make()
    first = kabc.cluster(three_groups(), strategy=halved, seed=3, max_samples=budget)
    assert first.status == "budget" and halved.n_samples > 0
    rest = kabc.cluster(three_groups(), strategy=halved, seed=3, max_samples=2_000)
    uninterrupted = kabc.cluster(three_groups(), strategy=whole, seed=3, max_samples=2_000 + first.n_samples)
    assert rest.rounds == uninterrupted.rounds and rest.status == uninterrupted.status
    assert rest.labels == uninterrupted.labels
    assert rest.evidence == uninterrupted.evidence
    assert first.n_samples + rest.n_samples == uninterrupted.n_samples  # each counts what it drew itself
    assert not {row for rows in first.samples.values() for row in rows[:, 0].tolist()} & {
        row for rows in rest.samples.values() for row in rows[:, 0].tolist()
    }


def test_the_rows_of_a_pool_are_not_told_twice_to_one_strategy() -> None:
    rng = np.random.default_rng(0)
    arms: list[Any] = [normal(0), rng.normal(size=500), normal(9)]
    strategy = kabc.AnytimeKABC(3, 2, 0.05)
    before = kabc.cluster(arms, strategy=strategy, seed=0, max_samples=6).n_samples
    told = strategy.rounds[:]
    with pytest.raises(SettingsError, match=f"told {before} samples.*drawn twice.*new strategy.*functions"):
        kabc.cluster(arms, strategy=strategy, seed=1)
    assert strategy.rounds[:] == told


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


# ---------------------------------------------------------------- what a result knows


def test_a_result_keeps_the_first_samples_of_each_arm_and_the_time_it_took() -> None:
    seen: list[float] = []

    def draw(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        values = rng.normal(size=n)
        seen.extend(values)
        return values

    result = kabc.cluster({"a": draw, "b": normal(9)}, 2, strategy="kabc", seed=0)
    assert np.array_equal(result.samples["a"][:, 0], seen[:500])
    assert result.samples["b"].shape == (min(500, result.samples_per_arm["b"]), 1)
    assert result.seconds > 0


@pytest.mark.parametrize("strategy", ["anytime", "kabc"])
def test_the_trace_ends_with_the_evidence(strategy: str) -> None:
    result = kabc.cluster(three_groups(), 3, seed=0, strategy=strategy)
    assert result.trace is not None
    assert result.trace.n_samples.tolist() == [one.n_samples for one in result.rounds]
    np.testing.assert_allclose(result.trace.strength[-1], result.evidence.strength, atol=1e-4)


def test_there_is_no_trace_of_many_arms() -> None:
    result = kabc.cluster([normal(0)] * 41, 2, seed=0, max_samples=300)
    assert result.trace is None


def test_an_undecided_result_estimates_what_is_missing() -> None:
    """Two arms nearly told apart need about as many samples as a longer run takes."""
    arms = {"a": normal(0), "b": normal(1.0), "far": normal(30)}
    whole = kabc.cluster(arms, 3, seed=2)
    part = kabc.cluster(arms, 3, seed=2, max_samples=whole.n_samples * 2 // 3)
    assert whole.needs is None
    assert part.needs is not None
    assert set(part.needs) == {"a", "b"}
    missing = whole.samples_per_arm["a"] - part.samples_per_arm["a"]
    assert missing / 6 < part.needs["a"] < missing * 6
    assert f"needs about {part.needs['a']:,} more samples of a, " in str(part)
    assert "estimate" in str(part)


@pytest.mark.parametrize("discards", [False, True])
def test_thresholds_are_extrapolated_by_the_square_root_of_the_samples(discards: bool) -> None:
    result = kabc.cluster([normal(0), normal(9)], 2, seed=0, kernel=KERNEL, max_samples=1)
    half = np.array([[0.0, 0.5], [0.5, 0.0]])
    seen = kabc.Evidence.of_distances(
        np.zeros((2, 2), dtype=np.int64), np.full(2, 100), half, np.ones((2, 2)), np.ones(2)
    )
    rounds = (Round(1, 0.05, 100, 300 if discards else 200, 1),)
    result = dataclasses.replace(result, evidence=seen, rounds=rounds, labels=(0, 1))
    assert result.needs == dict.fromkeys((0, 1), 400 if discards else 300)


def test_nothing_is_estimated_before_evidence_has_grown() -> None:
    assert kabc.cluster(three_groups(), 3, seed=0, max_samples=10).needs is None


def test_the_smallest_groups_are_printed_first() -> None:
    lines = str(kabc.cluster(three_groups(), 3, seed=0)).splitlines()
    assert [line.strip() for line in lines[1:4]] == [
        "group 3, 1 arm: d",
        "group 1, 2 arms: a, c",
        "group 2, 2 arms: b, e",
    ]
    assert lines[4].startswith("samples per arm: ")


def test_notes_columns_and_price_of_the_arms_reach_the_result() -> None:
    arms = NamedArms(
        {"a": CallableArm(normal(0)), "b": CallableArm(normal(9))}, ["failures: none"], ["latency"], price=0.5
    )
    result = kabc.cluster(arms, 2, seed=0)
    assert result.notes == ("failures: none",)
    assert result.columns == ("latency",)
    assert result.spent == result.n_samples / 2
    for text in (str(result), result.certificate()):
        assert "note: failures: none" in text
        assert f"spent: {result.spent:g}" in text


def test_drift_is_noted_and_steady_arms_are_not() -> None:
    drawn = 0

    def warming(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        nonlocal drawn
        drawn += n
        return rng.normal(drawn / 100, 1, n)

    result = kabc.cluster({"cold": normal(-9), "warming": warming}, 2, seed=0, kernel=KERNEL)
    assert len(result.notes) == 1
    assert "drift? arm warming, column 1" in result.notes[0]
    assert "heuristic" in result.notes[0]


# ---------------------------------------------------------------- bad input: named, with value and cure

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
    "k unknown": ({"n_clusters": None}, SettingsError, "min_separation.*max_samples"),
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
