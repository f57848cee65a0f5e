"""ACB, ACB-dagger, ACB*: their numbers against the formulas, their course against the pseudocode, their answers."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import kabc
from kabc import Partition, SampleError, SettingsError
from kabc.strategies.peers import acb
from kabc.strategies.peers.acb import (
    ACB,
    ACBDagger,
    ACBStar,
    Calibrated,
    Proven,
    Search,
    chi_quantile,
    product_quantile,
)

Array = NDArray[np.float64]
Active = ACB | ACBDagger | ACBStar
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 0, 1, 2])
TRUTH = Partition.of(LABELS.tolist())
MEANS = 6 * np.eye(3, 5)[LABELS]  # gaps of 6 sqrt(2) = 8.5
GAP = 8.0
MAKERS: dict[str, Callable[..., Active]] = {
    "published": lambda *a, **k: ACB(*a, min_gap=GAP * k.get("sigma", 1.0), constants="published", **k),
    "corrected": lambda *a, **k: ACB(*a, min_gap=GAP * k.get("sigma", 1.0), **k),
    "kept": lambda *a, **k: ACB(*a, min_gap=GAP * k.get("sigma", 1.0), keep_samples=True, **k),
    "proven": lambda *a, **k: ACB(
        *a, min_gap=GAP * k.get("sigma", 1.0), constants="proven", hanson_wright=1.0, min_share=0.3, **k
    ),
    "dagger": ACBDagger,
    "dagger, published": lambda *a, **k: ACBDagger(*a, constants="published", keep_samples=True, **k),
    "star": lambda *a, **k: ACBStar(*a, hanson_wright=1.0, **k),
}


def run(strategy: Active, means: Array = MEANS, seed: int = 0, most: int = 10**7) -> Active:
    """Each arm has a stream of its own, so that it does not matter how a request is cut into rounds."""
    streams = [np.random.default_rng([seed, arm]) for arm in range(len(means))]
    while not strategy.stopped and strategy.n_samples < most:
        strategy.tell(
            {
                arm: strategy.sigma * (means[arm] + streams[arm].normal(size=(n, means.shape[1])))
                for arm, n in strategy.ask().items()
            }
        )
    return strategy


# ---------------------------------------------------------------- numbers of samples


@pytest.mark.parametrize("tail", [0.3, 0.01, 1e-5, 1e-12])
def test_in_two_columns_the_product_of_gaussians_is_laplace(tail: float) -> None:
    assert product_quantile(tail, 2) == pytest.approx(-math.log(2 * tail), rel=1e-8)


@pytest.mark.parametrize("d", [1, 3, 1000])
def test_the_quantile_of_products_is_that_of_simulated_ones(d: int) -> None:
    rng = np.random.default_rng(0)
    radii = np.sqrt(rng.chisquare(d, size=200_000))
    share = float((radii * rng.normal(size=200_000) > product_quantile(0.01, d)).mean())
    assert share == pytest.approx(0.01, abs=4 * math.sqrt(0.01 / 200_000))


def test_no_quantile_is_asked_for_beyond_one_half() -> None:
    assert product_quantile(0.7, 3) == 0.0


def test_numbers_of_samples_in_the_papers_setting() -> None:
    rule = Calibrated("published")
    search = rule.search(200, 10, 1000, 0.1, 1.0, 0.1)
    x = chi_quantile(0.01, 1000)
    assert search.n_max == math.ceil(4 * (x - 1000)) == 428
    assert search.stages == (186, 372, 744)  # ceil(10/23.03 * 428), doubled up to n_max or above
    assert search.most_candidates == search.most_samples == math.inf
    i, j = rule.shares(200, 10, 1000, 0.1, 1.0)
    assert i == pytest.approx(4 * math.sqrt(2 * 10 / 200) * math.sqrt(1000) * 4.2, rel=0.01)
    assert j == pytest.approx(20 * i, rel=0.01)
    assert rule.classification_budget(200, 10, 1000, 0.1, 1.0) == 190 * i + 10 * j


@given(
    n_groups=st.integers(2, 20),
    d=st.integers(1, 2000),
    delta=st.floats(1e-9, 1.0),
    gap=st.floats(0.01, 100.0),
    part=st.floats(0.05, 1.0),
    name=st.sampled_from(["published", "corrected"]),
)
@settings(deadline=None)
def test_the_last_stage_of_a_search_is_as_sharp_as_a_representative(
    n_groups: int, d: int, delta: float, gap: float, part: float, name: Any
) -> None:
    search = Calibrated(name).search(40, n_groups, d, delta, gap, part / n_groups)
    assert 1 <= search.stages[0] <= search.n_max <= search.stages[-1]
    assert len(search.stages) == 1 or search.stages[-2] < search.n_max
    assert all(b == 2 * a for a, b in zip(search.stages[:-1], search.stages[1:], strict=True))
    assert min(Calibrated(name).shares(40, n_groups, d, delta, gap)) >= 1


def test_all_tests_of_a_corrected_search_are_false_with_delta_together() -> None:
    """An arm of a group that is represented is held against its representative, by the numbers of the search."""
    delta, d, gap = 0.2, 3, 1.0
    search = Calibrated("corrected").search(40, 4, d, delta, gap, 0.1)
    most = search.most_candidates
    assert most == math.ceil(4 * math.log(4 / delta) / 0.1)
    spread = 1 / search.n_max + 1 / search.stages[-1]
    threshold = (gap**2 / 2 + d * spread) / spread  # of chi^2_d
    assert chi_quantile(delta / most, d) <= threshold


def errors_of_classification(rule: Calibrated, delta: float, runs: int) -> float:
    """Share of runs in which 12 arms are not all put to the right one of 4 centres, at distances 1 in R^3."""
    rng = np.random.default_rng(0)
    i, j = rule.shares(16, 4, 3, delta, 1.0)
    centres = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / math.sqrt(8)
    labels = np.repeat(np.arange(4), 3)
    arms = centres[labels] + rng.normal(size=(runs, 12, 3)) / math.sqrt(i)
    found = centres + rng.normal(size=(runs, 4, 3)) / math.sqrt(j)
    nearest = ((arms[:, :, None] - found[:, None]) ** 2).sum(axis=-1).argmin(axis=-1)
    return float((nearest != labels).any(axis=1).mean())


def test_with_few_columns_the_printed_number_errs_and_the_corrected_one_does_not() -> None:
    delta, runs = 0.0005, 10_000
    chance = 4 * math.sqrt(delta / runs)
    assert errors_of_classification(Calibrated("published"), delta, runs) > delta + chance
    assert errors_of_classification(Calibrated("corrected"), delta, runs) <= delta + chance


def test_proven_numbers_are_those_of_the_theorem() -> None:
    n, k, d, delta, gap, share, c = 50, 5, 100, 0.05, 2.0, 0.1, 30.0
    rule = Proven(c)
    search = rule.search(n, k, d, delta, gap, share)
    u = math.ceil(8 / share * math.log(8 * k / delta))
    r = math.ceil(math.log2(math.log(4 * u / delta)))
    c_1, c_2 = max(1024, 8 * c), max(16 * math.sqrt(c / 2), 32 * math.sqrt(2))
    sizes = [
        math.ceil(max(c_1 * (2**s + math.log(12 * k)), c_2 * math.sqrt(d * (2**s + math.log(6)))) / gap**2)
        for s in range(1, r + 1)
    ]
    t = 2 * k * (search.n_max + sum(sizes[1:])) + 2 * u * sizes[0]
    t += 2 * u * sum(size / 2 ** (s - 4) for s, size in enumerate(sizes[1:], 2))
    assert search.stages == tuple(sizes)
    assert search.n_max == max(sizes[-1], math.ceil(32 * math.sqrt(2 * d * math.log(2 * k)) / gap**2))
    assert search.most_candidates == u and search.most_samples == pytest.approx(t)
    log_term = math.log(6 * n * k / delta)
    c_4, c_5 = max(64, 4 * math.sqrt(2) * c), 8 * math.sqrt(c)
    assert rule.shares(n, k, d, delta, gap) == (
        math.ceil(max(c_4 * log_term, c_5 * math.sqrt(d * k / n * log_term)) / gap**2),
        math.ceil(max(c_4 * log_term, c_5 * math.sqrt(d * n / k * log_term)) / gap**2),
    )
    assert rule.classification_budget(n, k, d, delta, gap) == 2 * (45 * rule.shares(n, k, d, delta, gap)[0]) + 2 * (
        5 * rule.shares(n, k, d, delta, gap)[1]
    )
    wide = math.log(3 * k**2 / delta)
    assert rule.measure(k, d, delta, gap) == math.ceil(max(2048, 64 * c) * (wide + math.sqrt(d * wide)) / gap**2)


# ---------------------------------------------------------------- samples


@pytest.mark.parametrize("halves", [1, 2])
def test_distances_of_means_are_right_on_average(halves: int) -> None:
    rng = np.random.default_rng(0)
    shift = np.array([1.0, 0.0, 0.0])
    found = []
    for _ in range(2000):
        collection = acb._Collection({0: 3, 1: 5}, halves, 3)
        collection.add(0, rng.normal(size=(halves * 3, 3)))
        collection.add(1, shift + rng.normal(size=(halves * 5, 3)))
        assert collection.complete
        found.append(collection.mean(0).squared_distance(collection.mean(1)))
    assert np.mean(found) == pytest.approx(1.0, abs=4 * float(np.std(found)) / math.sqrt(len(found)))


@given(cuts=st.lists(st.integers(1, 5), min_size=1, max_size=8), halves=st.sampled_from([1, 2]))
def test_means_do_not_depend_on_how_samples_come(cuts: list[int], halves: int) -> None:
    n = sum(cuts) * halves
    points = np.random.default_rng(n).normal(size=(n, 2))
    whole, cut = (acb._Collection({0: sum(cuts)}, halves, 2) for _ in range(2))
    whole.add(0, points)
    for piece in np.split(points, np.cumsum(cuts)):
        cut.add(0, piece)
    assert cut.complete
    assert cut.mean(0).halves == pytest.approx(whole.mean(0).halves)
    assert whole.mean(0).halves == pytest.approx(np.array([points[h::halves].mean(axis=0) for h in range(halves)]))


@pytest.mark.parametrize("maker", ["corrected", "proven", "dagger"])
def test_a_round_asks_for_no_more_than_memory_holds(maker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(MAKERS[maker](10, 3, 0.1))
    monkeypatch.setattr(acb, "_MOST_VALUES", 5 * 20)
    cut = run(MAKERS[maker](10, 3, 0.1))
    steps = np.diff([0, *(r.n_samples for r in cut.rounds)])
    assert steps.max() == 20 < np.diff([r.n_samples for r in plain.rounds]).max()
    assert cut.n_samples == plain.n_samples
    assert cut.evidence().distances == pytest.approx(plain.evidence().distances, nan_ok=True)


# ---------------------------------------------------------------- algorithms


def literal_acb(means: Array, k: int, delta: float, gap: float, share: float, seed: int) -> tuple[int, list[int]]:
    """The pseudocode of Appendix A, one line after the other: samples in all, and the representatives."""
    n_arms, d = means.shape
    streams = [np.random.default_rng([seed, arm]) for arm in range(n_arms)]
    picks, total = np.random.default_rng(0), 0

    def mean(arm: int, n: int) -> Array:
        nonlocal total
        total += n
        found: Array = means[arm] + streams[arm].normal(size=(n, d)).mean(axis=0)
        return found

    n_max = math.ceil(4 / gap**2 * (chi_quantile(delta / k, d) - d))
    n_0 = math.ceil(k / (math.log(1 / delta) / share) * n_max)
    stages = [n_0]
    while stages[-1] < n_max:
        stages.append(2 * stages[-1])
    found = [int(picks.integers(n_arms))]
    centres = [mean(found[0], n_max)]
    while len(found) < k:
        arm = int(picks.integers(n_arms))
        for n in stages:
            m = mean(arm, n)
            if min(((m - c) ** 2).sum() for c in centres) - d * (1 / n + 1 / n_max) <= gap**2 / 2:
                break
        else:
            found.append(arm)
            centres.append(mean(arm, n_max))
    i, j = Calibrated("published").shares(n_arms, k, d, delta, gap)
    return total + (n_arms - k) * i + k * j, found


@pytest.mark.parametrize("seed", range(5))
def test_the_search_goes_as_the_pseudocode_says(seed: int) -> None:
    means = MEANS / 6 * math.sqrt(0.5)  # gaps of 1: candidates are turned away at every stage
    strategy = ACB(10, 3, 0.1, min_gap=1.0, min_share=0.2, constants="published")
    total, found = literal_acb(means, 3, 0.1, 1.0, 0.2, seed)
    run(strategy, means, seed)
    assert (strategy.n_samples, strategy._found) == (total, found)


def test_kept_samples_make_stages_cheaper() -> None:
    means = MEANS / 6 * math.sqrt(0.5)
    totals = [
        [
            run(ACB(10, 3, 0.1, min_gap=1.0, min_share=0.2, keep_samples=keep), means, seed).n_samples
            for seed in range(10)
        ]
        for keep in (False, True)
    ]
    assert np.mean(totals[1]) < np.mean(totals[0])


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("seed", range(2))
def test_the_partition_is_found(maker: str, seed: int) -> None:
    strategy = run(MAKERS[maker](10, 3, 0.05, sigma=2.0, seed=seed), seed=seed)
    assert strategy.status == "decided"
    assert strategy.recommend().matches(TRUTH)
    proven = maker in ("proven", "star")
    assert strategy.recommend().certified == proven
    assert strategy.n_groups_at_least == (3 if proven else 1)


def test_before_the_end_the_guess_has_as_many_groups_as_there_are_representatives() -> None:
    strategy, seen = MAKERS["corrected"](10, 3, 0.1), []
    streams = [np.random.default_rng([0, arm]) for arm in range(10)]
    while not strategy.stopped:
        strategy.tell({arm: MEANS[arm] + streams[arm].normal(size=(n, 5)) for arm, n in strategy.ask().items()})
        assert strategy.recommend().n_groups == max(1, len(strategy._found))
        seen.append(strategy.recommend().n_groups)
    assert set(seen) == {1, 2, 3}


def test_searches_of_acb_star_run_through_all_levels() -> None:
    strategy = ACBStar(12, 2, 0.1, hanson_wright=1.0)
    searches: list[Search] = []
    for strategy._attempt in range(6):  # (l, p) = (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)
        searches.append(strategy._next_search(4))
    first = math.sqrt(math.log(2) + 2 + math.log(math.log(720)))
    assert [s.gap for s in searches] == pytest.approx([first / 2 ** (p / 2) for p in (0, 0, 1, 0, 1, 2)])
    assert [s.delta for s in searches] == pytest.approx([0.1 / 6 / (level + 1) ** 3 for level in (0, 1, 1, 2, 2, 2)])
    shares = [1 / 2, 1 / 4, 1 / 2, 1 / 8, 1 / 4, 1 / 2]
    expected = [math.ceil(8 / share * math.log(16 / s.delta)) for share, s in zip(shares, searches, strict=True)]
    assert [s.most_candidates for s in searches] == expected


def test_searches_of_acb_dagger_halve_the_gap() -> None:
    strategy = ACBDagger(10, 3, 0.1, constants="published")
    searches = []
    for strategy._attempt in range(4):
        searches.append(strategy._next_search(50))
    first = math.sqrt(4 * (chi_quantile(0.1 / 18, 50) - 50))
    assert [s.gap for s in searches] == pytest.approx([first / 2**k for k in range(4)])
    assert [s.delta for s in searches] == pytest.approx([0.1 / 6 / (k + 1) ** 2 for k in range(4)])
    assert searches[0].n_max == 1
    for s in searches:
        assert s.most_samples == Calibrated("published").classification_budget(10, 3, 50, s.delta, s.gap)


@pytest.mark.parametrize("maker", ["corrected", "kept", "proven", "dagger", "dagger, published", "star"])
def test_where_all_means_are_equal_it_does_not_stop(maker: str) -> None:
    """The published ACB does, in about a third of such runs: its search has no end but K representatives."""
    stops = 0
    for seed in range(3):
        strategy = run(MAKERS[maker](10, 3, 0.1, seed=seed, sigma=2.0), np.zeros((10, 2)), seed, most=3_000)
        stops += strategy.stopped
    assert stops == 0


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("n_clusters", "labels"), [(1, (0, 0, 0)), (3, (0, 1, 2))])
def test_where_there_is_but_one_partition_one_sample_is_enough(
    maker: str, n_clusters: int, labels: tuple[int, ...]
) -> None:
    strategy = run(MAKERS[maker](3, n_clusters, 0.1), np.zeros((3, 2)))
    assert strategy.n_samples == 1
    assert strategy.recommend().labels == labels


@pytest.mark.parametrize("maker", ["corrected", "proven", "dagger"])
def test_only_the_ratio_to_sigma_matters(maker: str) -> None:
    plain, scaled = (run(MAKERS[maker](10, 3, 0.1, sigma=sigma)) for sigma in (1.0, 8.0))
    assert scaled.rounds == plain.rounds


@pytest.mark.parametrize("maker", ["corrected", "dagger"])
def test_any_delta_has_a_search(maker: str) -> None:
    for delta in (1.0, 1e-12):
        assert run(MAKERS[maker](10, 3, delta), 20 * MEANS).stopped


# ---------------------------------------------------------------- ask and tell, and what people see


def test_evidence_shows_distances_from_the_representatives() -> None:
    strategy = run(ACB(10, 3, 0.1, min_gap=0.1 * GAP, sigma=0.1))
    seen = strategy.evidence()
    known = np.zeros((10, 10), dtype=bool)
    known[strategy._found] = known[:, strategy._found] = True
    assert (np.isnan(seen.distances) == ~known).all()
    apart = LABELS[:, None] != LABELS[None, :]
    assert seen.distances[known & apart] == pytest.approx(6 * math.sqrt(2) * 0.1, rel=0.5)
    assert (seen.told_in_round == len(strategy.rounds) * apart).all()
    assert seen.counts.sum() < strategy.n_samples == strategy.rounds[-1].n_samples


def test_what_is_proven_and_what_is_calibrated_is_said() -> None:
    calibrated, proven = MAKERS["corrected"](10, 3, 0.1).guarantee(), MAKERS["proven"](10, 3, 0.1).guarantee()
    assert "nothing is proven" in calibrated.claim
    assert "Gaussian" in calibrated.assumptions[0]
    assert "at least 8 apart" in calibrated.assumptions[-1]
    assert "probability at least 0.9" in proven.claim
    assert "sub-Gaussian" in proven.assumptions[0]
    assert "c_HW = 1" in proven.assumptions[-1]
    assert "c_HW = 1" in MAKERS["star"](10, 3, 0.1).guarantee().assumptions[-1]
    assert "nothing is proven" in MAKERS["dagger"](10, 3, 0.1).guarantee().claim


def test_a_sample_too_far_for_squares_is_refused_and_changes_nothing() -> None:
    strategy = ACB(10, 3, 0.1, min_gap=0.1, sigma=2.0)
    strategy.tell({arm: MEANS[arm][None] for arm in strategy.ask()})
    far = {arm: np.full((n, 5), -1e120) for arm, n in strategy.ask().items()}
    before = pickle.dumps(strategy)
    with pytest.raises(SampleError, match=r"5e[+]119 standard deviations"):
        strategy.tell(far)
    assert pickle.dumps(strategy) == before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ACB(10, 3, 0.1), "ACB needs min_gap.*use 'acb-dagger' or 'acb-star'"),
        (lambda: ACB(10, 3, 0.1, min_gap=0.0), "min_gap must be a finite number greater than 0, got 0.0"),
        (lambda: ACB(10, 3, 0.1, min_gap=1e-200), "min_gap / sigma must be a finite number greater than 1e-100"),
        (
            lambda: ACB(10, 3, 0.1, min_gap=1.0, min_share=0.5),
            r"min_share must be at most 1/n_clusters = 0.3333, got 0.5",
        ),
        (lambda: ACB(10, 3, 0.1, min_gap=1.0, constants="tight"), "constants must be one of.*got 'tight'"),  # type: ignore[arg-type]
        (lambda: ACB(10, 3, 0.1, min_gap=1.0, constants="proven"), "hanson_wright=None: a value is needed"),
        (lambda: ACB(10, 3, 0.1, min_gap=1.0, hanson_wright=1.0), "'corrected' with hanson_wright=1.0"),
        (
            lambda: ACB(10, 3, 0.1, min_gap=1.0, constants="proven", hanson_wright=1.0, keep_samples=True),
            "keep_samples is not covered by the proof",
        ),
        (lambda: ACBDagger(10, 3, 0.1, constants="proven"), "'published', 'corrected', got 'proven'"),  # type: ignore[arg-type]
        (lambda: ACBStar(10, 3, 0.1), "ACB[*] needs hanson_wright"),
        (lambda: ACBStar(10, 3, 0.1, hanson_wright=-1.0), "hanson_wright must be a finite number greater than 0"),
        (lambda: ACBDagger(10, 3, 0.1, seed=-1), "seed must be a whole number at least 0"),
        (lambda: ACBDagger(10, None, 0.1), "n_clusters must be a whole number from 1 to 10, got None"),  # type: ignore[arg-type]
    ],
)
def test_bad_settings_are_refused(make: Callable[[], Active], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make()


def test_it_runs_in_the_loop() -> None:
    arms = {name: (lambda n, rng, m=mean: rng.normal(m, 1.0, n)) for name, mean in zip("abc", (0, 0, 6), strict=True)}
    result = kabc.cluster(arms, strategy=ACB(3, 2, 0.05, min_gap=5.0), seed=0, progress=False)
    assert result.groups == (("a", "b"), ("c",))
    assert "ACB(delta = 0.05, K = 2" in result.certificate()
