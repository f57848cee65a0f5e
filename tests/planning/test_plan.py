"""kabc.plan: what a run will cost, and that runs cost what it says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import SettingsError
from kabc.planning.estimates import quick
from kabc.planning.plan import embedded


def test_the_theorem_is_restated_with_its_constants() -> None:
    seen = kabc.plan(12, 3, 0.05, embedded_gap=0.3, variances=[0.5, 0.6, 0.4])
    s2 = min(0.09 / 0.6, 0.6)
    k_star = math.ceil(math.log2(128 / s2))
    assert seen.squared_separation == pytest.approx(s2)
    assert seen.k_star == k_star == seen.sure_round
    assert seen.theorem_bound == pytest.approx(8 * 12 * 128 / s2 * math.log(32 * 132 * k_star**2 / 0.05))


def test_the_schedule_is_the_one_that_the_strategy_follows() -> None:
    seen = kabc.plan(4, 2, 0.1, embedded_gap=0.5)
    strategy = kabc.KABC(4, 2, 0.1, kabc.Gaussian(1.0))
    total = 0
    for row in seen.rounds:
        total += 4 * strategy.schedule.n(row.number)
        assert (row.n, row.n_samples) == (strategy.schedule.n(row.number), total)
    assert seen.sure_samples == total <= seen.theorem_bound
    assert seen.expected_samples < seen.sure_samples


def test_the_expected_round_is_the_first_with_its_threshold_under_the_gap() -> None:
    seen = kabc.plan(4, 2, 0.1, embedded_gap=0.5, variances=0.3)
    under = [row.number for row in seen.rounds if row.threshold < 0.5]
    assert seen.expected_round == under[0]


def test_runs_stop_in_the_expected_round() -> None:
    """Two point masses under a Gaussian kernel: gap^2 = 2 - 2 exp(-x^2/2) exactly, variance 0."""
    x = 1.2
    gap = math.sqrt(2 - 2 * math.exp(-x * x / 2))
    for strategy in ("kabc", "kabc-tight"):
        seen = kabc.plan(4, 2, 0.1, embedded_gap=gap, variances=0.0, strategy=strategy)
        arms = [lambda n, rng, v=value: np.full(n, v) for value in (0.0, 0.0, x, x)]
        result = kabc.cluster(arms, 2, 0.1, kernel=kabc.Gaussian(1.0), strategy=strategy, seed=0)
        assert result.rounds[-1].number == seen.expected_round
        assert result.n_samples == seen.expected_samples


@pytest.mark.parametrize("strategy", ["kabc", "kabc-tight"])
def test_a_pilot_estimates_gap_and_variance(strategy: str) -> None:
    rng = np.random.default_rng(0)
    pilot = {name: rng.normal(mean, 1.0, 400) for name, mean in [("a", 0.0), ("b", 0.0), ("c", 2.0)]}
    kernel = kabc.Gaussian(1.0)
    seen = kabc.plan(n_clusters=2, pilot=pilot, kernel=kernel, strategy=strategy)
    within, across = 1 / math.sqrt(3), math.exp(-4 / 6) / math.sqrt(3)  # E g of normals with unit variances
    assert seen.estimated
    assert seen.n_arms == 3
    assert seen.gap == pytest.approx(math.sqrt(2 * (within - across)), rel=0.15)
    assert seen.variance == pytest.approx(1 - within, rel=0.1)


def test_many_rows_are_measured_by_features_and_say_about_the_same() -> None:
    rng = np.random.default_rng(0)
    pilot = [rng.normal(1.5 * (arm % 2), 1.0, 500) for arm in range(6)]
    kernel = kabc.Gaussian(1.0)
    exact, _ = embedded(1.5, kernel)
    seen = kabc.plan(n_clusters=2, pilot=pilot, kernel=kernel, strategy="kabc-tight")
    assert seen.gap == pytest.approx(exact, rel=0.15)
    assert isinstance(quick(kernel, [np.zeros((500, 1))] * 6), kabc.RandomFeatures)
    assert quick(kernel, [np.zeros((300, 1))] * 6) is kernel


def test_tight_settings_cost_less() -> None:
    published = kabc.plan(12, 3, embedded_gap=0.3, variances=0.5)
    tight = kabc.plan(12, 3, embedded_gap=0.3, variances=0.5, strategy="kabc-tight")
    assert tight.expected_samples < published.expected_samples / 2


def test_without_variances_the_plan_is_for_the_worst() -> None:
    assert kabc.plan(5, 2, embedded_gap=0.4).variance == 1.0
    assert (
        kabc.plan(5, 2, embedded_gap=0.4).expected_samples
        >= kabc.plan(5, 2, embedded_gap=0.4, variances=0.5).expected_samples
    )


def test_the_table_shows_every_round_and_both_stops() -> None:
    seen = kabc.plan(4, 2, 0.1, embedded_gap=0.5, variances=0.3)
    text = str(seen)
    assert text.count("\n") == len(seen.rounds) + 4
    assert "expected to stop" in text
    assert "sure to stop" in text
    assert f"{math.ceil(seen.theorem_bound):,}" in text


def test_a_plan_is_printed_in_money_and_time_where_these_are_known() -> None:
    seen = kabc.plan(4, 2, 0.1, embedded_gap=0.5, variances=0.3, price=0.01, seconds_per_sample=2.0)
    assert f"price: {seen.expected_samples / 100:,.6g} (expected)" in str(seen)
    assert f"time: {seen.expected_samples * 2:,.6g} s (expected)" in str(seen)


# ---------------------------------------------------------------- strategies without a schedule


def test_the_anytime_strategy_is_planned_from_an_assumed_gap_by_simulated_runs() -> None:
    seen = kabc.plan(3, 2, 0.2, gap=3.0, price=0.5, progress=False)
    arms = [lambda n, rng, m=mean: rng.normal(m, 1, n) for mean in (0.0, 3.0, 0.0)]
    taken = [kabc.cluster(arms, 2, 0.2, seed=seed).n_samples for seed in range(5)]
    assert np.median(taken) / 2 < seen.expected_samples < np.median(taken) * 2
    assert seen.sure_samples is None
    assert not seen.given_up
    text = str(seen)
    assert "3 standard deviations apart: a guess, no bound is proved" in text
    assert f"{seen.expected_samples:,}" in text
    assert f"{seen.expected_samples / 2:,.6g} (expected)" in text


def test_the_anytime_strategy_is_planned_from_a_pilot() -> None:
    rng = np.random.default_rng(0)
    pilot = {name: rng.normal(mean, 1, 40) for name, mean in (("a", 0.0), ("b", 0.0), ("c", 3.0))}
    seen = kabc.plan(n_clusters=2, delta=0.2, pilot=pilot, strategy="anytime", progress=False)
    again = kabc.plan(n_clusters=2, delta=0.2, pilot=pilot, strategy="anytime", progress=False)
    assert seen == again  # seeded
    arms = [lambda n, rng, m=mean: rng.normal(m, 1, n) for mean in (0.0, 0.0, 3.0)]
    taken = [kabc.cluster(arms, 2, 0.2, seed=seed).n_samples for seed in range(5)]
    assert np.median(taken) / 2 < seen.expected_samples < np.median(taken) * 2
    assert "pilot" in str(seen)


def test_the_default_strategy_is_that_of_cluster() -> None:
    assert kabc.plan(2, 2, 0.2, gap=6.0, progress=False).strategy == "anytime"
    assert isinstance(
        kabc.plan(2, 2, gap=1.0, kernel=kabc.Gaussian(1.0)), kabc.Plan
    )  # as in cluster: a kernel, so "kabc"
    assert isinstance(kabc.plan(2, 2, embedded_gap=0.5), kabc.Plan)


def test_gaps_have_the_same_unit_for_all_strategies() -> None:
    """Standard deviations: distances of normals under the kernel, in closed form and from samples."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(0, 1, (2000, 1)), rng.normal(1.5, 1, (2000, 1))
    for bandwidth in (0.5, 1.0, 3.0):
        kernel = kabc.Gaussian(bandwidth)
        seen = kabc.plan(4, 2, gap=1.5, kernel=kernel, strategy="kabc-tight")
        squared = kernel(x, x).mean() + kernel(y, y).mean() - 2 * kernel(x, y).mean()
        assert seen.gap == pytest.approx(math.sqrt(squared), abs=0.03)
        assert seen.variance == pytest.approx(1 - kernel(x, x).mean(), abs=0.03)


def test_without_a_number_of_groups_it_plans_until_what_differs_is_told_apart() -> None:
    rng = np.random.default_rng(0)
    pilot = [rng.normal(mean, 1, 30) for mean in (0.0, 0.0, 6.0)]
    seen = kabc.plan(pilot=pilot, delta=0.2, progress=False)
    assert seen.n_clusters is None
    assert not seen.given_up
    assert "number of groups not known: until all different arms are told apart" in str(seen)
    assert "pooled by 2 guessed groups" in str(seen)
    arms = [lambda n, rng, m=mean: rng.normal(m, 1, n) for mean in (0.0, 0.0, 6.0)]
    told = kabc.cluster(arms, delta=0.2, seed=0, max_samples=3 * seen.expected_samples).evidence.told_apart
    assert told.tolist() == [[False, False, True], [False, False, True], [True, True, False]]


@pytest.mark.parametrize("strategy", ["anytime", "kabc-tight"])
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_a_pilot_that_cannot_show_the_groups_is_no_plan(strategy: str, n_clusters: int) -> None:
    """Rows of equal arms differ by their noise. Simulated runs would tell that noise apart, and stop far too soon."""
    rng = np.random.default_rng(0)
    pilot = [rng.normal(0, 1, 30) for _ in range(8)]
    with pytest.raises(SettingsError, match=rf"30 samples of each arm do not show {n_clusters} groups.*cannot be told"):
        kabc.plan(n_clusters=n_clusters, pilot=pilot, strategy=strategy, progress=False)


def test_differences_that_only_the_strategy_sees_are_planned_if_the_pilot_decides_the_run() -> None:
    """Builds: one takes ten times as long in a few of its runs, which hardly moves its mean embedding."""
    rng = np.random.default_rng(0)
    pilot = [rng.normal(1.0, 0.04, 600) for _ in range(4)]
    pilot[3] *= np.where(rng.random(600) < 0.05, 10.0, 1.0)
    seen = kabc.plan(n_clusters=2, pilot=pilot, progress=False)
    assert 200 < seen.expected_samples < 2_400
    assert (
        str(seen).splitlines()[1] == "one simulated run, which takes the pilot's samples: a guess, no bound is proved"
    )
    with pytest.raises(SettingsError, match="do not show 2 groups"):
        kabc.plan(n_clusters=2, pilot=[rows[:100] for rows in pilot], progress=False)


def test_a_plan_from_a_pilot_is_about_what_runs_take() -> None:
    """The closer the groups, the more the noise of the pilot's rows flatters them."""
    rng = np.random.default_rng(3)
    pilot = [rng.normal(mean, 1, 60) for mean in (0.0, 0.0, 1.2, 1.2)]
    seen = kabc.plan(n_clusters=2, delta=0.2, pilot=pilot, progress=False)
    arms = [lambda n, rng, m=mean: rng.normal(m, 1, n) for mean in (0.0, 0.0, 1.2, 1.2)]
    taken = [kabc.cluster(arms, 2, 0.2, seed=seed).n_samples for seed in range(3)]
    assert min(taken) / 2 < seen.expected_samples < max(taken) * 2


def test_a_plan_computes_no_longer_than_the_run_that_it_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """One simulated run that computes less in each round. No time is measured here: benchmarks/plan.py does."""
    made: list[kabc.AnytimeKABC] = []
    original = kabc.AnytimeKABC.__init__

    def watched(self: kabc.AnytimeKABC, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        made.append(self)

    monkeypatch.setattr(kabc.AnytimeKABC, "__init__", watched)
    seen = kabc.plan(6, 2, gap=1.0, progress=False)
    run = [one for one in made if one.n_samples]
    assert [one.n_samples for one in run] == [seen.expected_samples]
    assert run[0].k_doubt is None  # K was not checked
    assert "one simulated run, of normal arms" in str(seen)


def test_options_for_the_run_hold_for_its_plan_too() -> None:
    plain = kabc.plan(6, 2, gap=1.0, progress=False)
    all_experts = kabc.plan(6, 2, gap=1.0, progress=False, strategy_options={"maps": None})
    assert plain.expected_samples != all_experts.expected_samples


def test_simulated_runs_that_take_too_long_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.planning.rehearsal._MOST_SAMPLES", 8)
    seen = kabc.plan(2, 2, gap=0.01, strategy="anytime", progress=False)
    assert seen.given_up
    assert "the simulated run was given up undecided" in str(seen)


def test_a_simulated_plan_says_what_it_is_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.running.progress._QUIET_SECONDS", 0.0)
    lines: list[str] = []
    kabc.plan(2, 2, gap=5.0, strategy="anytime", progress=lines.append)
    assert "simulated run 1" in lines[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": None}, "exactly one of gap=, embedded_gap= and pilot="),
        ({"pilot": [[0.0, 1.0]] * 4}, "exactly one of gap"),
        ({"embedded_gap": 0.5}, "exactly one of gap"),
        ({"variances": 0.5}, "variances= belongs to embedded_gap="),
        ({"gap": 0, "strategy": "kabc"}, "gap.*0"),
        ({"gap": 0}, "gap.*0"),
        ({"gap": None, "embedded_gap": 0}, "embedded_gap.*0"),
        ({"n_clusters": None}, "needs the number of groups; pass n_clusters="),
        (
            {"gap": None, "pilot": [[0.0, 1.0]] * 4, "n_clusters": None, "strategy": "kabc"},
            "needs the number of groups",
        ),
        ({"kernel": kabc.RandomFeatures(kabc.Gaussian(1.0), n_features=16)}, "Gaussian kernels only.*embedded_gap="),
        ({"kernel": kabc.Gaussian(1.0), "strategy": "anytime"}, "'anytime' has no kernel"),
        ({"gap": None, "pilot": [[0.0, 1.0]] * 3, "strategy": "anytime"}, "pilot has 3 arms, n_arms is 4"),
        ({"price": -1.0}, "price.*-1"),
        ({"gap": None, "embedded_gap": 1.5}, r"embedded_gap 1\.5.*1\.414"),
        ({"gap": None, "embedded_gap": 0.5, "variances": [-1.0]}, "variances"),
        ({"gap": None, "embedded_gap": 0.5, "variances": []}, "variances"),
        ({"n_arms": None}, "n_arms"),
        ({"n_clusters": 9}, "n_clusters"),
        ({"strategy": "other"}, "'other'"),
        ({"gap": None, "pilot": [[0.0, 1.0], [5.0, 6.0]]}, "2 arms"),
        ({"gap": None, "pilot": [[0.0, 1.0, 2.0]] * 4}, "at least 4 samples of each arm, the smallest arm has 3"),
        ({"gap": None, "pilot": [[0.0, 1.0, 2.0, 3.0]] * 4}, "4 samples of each arm do not show 2 groups"),
    ],
)
def test_bad_plans_are_refused(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"n_arms": 4, "n_clusters": 2, "delta": 0.1, "gap": 0.5}
    with pytest.raises(SettingsError, match=message):
        kabc.plan(**(good | change))
