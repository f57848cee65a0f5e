"""ACB, ACB-dagger, ACB*: their course against the pseudocode, their answers."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import kabc
from kabc import SampleError, SettingsError
from kabc.strategies.peers.acb import ACB, ACBDagger, ACBStar
from kabc.strategies.peers.acb.quantiles import chi_quantile
from kabc.strategies.peers.acb.rules import Calibrated, Proven
from tests.strategies.peers.acb.examples import GAP, LABELS, MAKERS, MEANS, TRUTH, Active, Array, run


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
    assert (strategy.n_samples, strategy.representatives) == (total, tuple(found))


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
        assert strategy.recommend().n_groups == max(1, len(strategy.representatives))
        seen.append(strategy.recommend().n_groups)
    assert set(seen) == {1, 2, 3}


def test_searches_of_acb_star_run_through_all_levels() -> None:
    strategy = ACBStar(12, 2, 0.1, hanson_wright=1.0)
    searches = [strategy.nth_search(n, 4) for n in range(6)]  # (l, p) = (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)
    first = math.sqrt(math.log(2) + 2 + math.log(math.log(720)))
    assert [s.gap for s in searches] == pytest.approx([first / 2 ** (p / 2) for p in (0, 0, 1, 0, 1, 2)])
    assert [s.delta for s in searches] == pytest.approx([0.1 / 6 / (level + 1) ** 3 for level in (0, 1, 1, 2, 2, 2)])
    shares = [1 / 2, 1 / 4, 1 / 2, 1 / 8, 1 / 4, 1 / 2]
    expected = [math.ceil(8 / share * math.log(16 / s.delta)) for share, s in zip(shares, searches, strict=True)]
    assert [s.most_candidates for s in searches] == expected


def test_proven_acb_classifies_with_half_of_delta() -> None:
    strategy = MAKERS["proven"](10, 3, 0.1)
    while not strategy.stopped:
        strategy.tell({arm: np.tile(MEANS[arm], (n, 1)) for arm, n in strategy.ask().items()})
    i, j = Proven(1.0).shares(10, 3, 5, 0.1 / 2, GAP)
    assert sorted(strategy.evidence().counts.tolist()) == [2 * i] * 7 + [2 * j] * 3


def test_acb_star_classifies_with_a_third_of_delta_and_the_measured_gap_over_the_root_of_two() -> None:
    strategy = ACBStar(10, 3, 0.1, hanson_wright=1.0)
    while not strategy.stopped:  # samples without noise: what is measured is the truth, 6 sqrt(2)
        strategy.tell({arm: np.tile(MEANS[arm], (n, 1)) for arm, n in strategy.ask().items()})
    i, j = Proven(1.0).shares(10, 3, 5, 0.1 / 3, 6.0)
    assert sorted(strategy.evidence().counts.tolist()) == [2 * i] * 7 + [2 * j] * 3


def test_every_search_of_acb_has_half_the_error_probability_of_the_one_before() -> None:
    strategy, asked = ACB(10, 2, 0.1, min_gap=2.0, min_share=0.4), []
    # equal arms without noise: every candidate is turned away at its first stage, so searches end without an answer
    rule = Calibrated("corrected")
    searches = [rule.search(10, 2, 5, 0.1 / 2**number, 2.0, 0.4) for number in (1, 2, 3)]
    expected = [n for s in searches for n in (s.n_max, *[s.stages[0]] * math.ceil(s.most_candidates))]
    for _ in range(1 + len(expected)):
        request = strategy.ask()
        asked.append(sum(request.values()))
        strategy.tell({arm: np.zeros((n, 5)) for arm, n in request.items()})
    assert [asked[0] + asked[1], *asked[2:]] == expected  # the very first sample tells the number of columns


def test_searches_of_acb_dagger_halve_the_gap() -> None:
    strategy = ACBDagger(10, 3, 0.1, constants="published")
    searches = [strategy.nth_search(n, 50) for n in range(4)]
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


def test_evidence_shows_distances_from_the_representatives() -> None:
    strategy = run(ACB(10, 3, 0.1, min_gap=0.1 * GAP, sigma=0.1))
    seen = strategy.evidence()
    known = np.zeros((10, 10), dtype=bool)
    found = list(strategy.representatives)
    known[found] = known[:, found] = True
    assert (np.isnan(seen.distances) == ~known).all()
    apart = LABELS[:, None] != LABELS[None, :]
    assert seen.distances[known & apart] == pytest.approx(6 * math.sqrt(2) * 0.1, rel=0.5)
    assert (seen.told_in_round == len(strategy.rounds) * apart).all()
    assert seen.counts.sum() < strategy.n_samples == strategy.rounds[-1].n_samples


def test_what_is_proven_and_what_is_calibrated_is_said() -> None:
    calibrated, proven = MAKERS["corrected"](10, 3, 0.1).guarantee(), MAKERS["proven"](10, 3, 0.1).guarantee()
    assert calibrated.claim.startswith("Nothing is proven: ") and "10 % of runs" in calibrated.claim
    assert "Gaussian" in calibrated.assumptions[0]
    assert "at least 8 apart" in calibrated.assumptions[-1]
    assert "If there are exactly 3 groups, a decided grouping is wrong with probability at most 10 %." in proven.claim
    assert "sub-Gaussian" in proven.assumptions[0]
    assert "c_HW = 1" in proven.assumptions[-1]
    assert "c_HW = 1" in MAKERS["star"](10, 3, 0.1).guarantee().assumptions[-1]
    assert "Nothing is proven" in MAKERS["dagger"](10, 3, 0.1).guarantee().claim


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
