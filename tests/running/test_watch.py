"""Assumptions are watched: in every run, whatever the strategy, and nothing is certified where they fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import kabc
from kabc.arms.pools import PoolArm
from kabc.core.evidence import exchangeability
from kabc.core.streams import rngs_of
from kabc.report import report_html
from kabc.results.words import headline
from kabc.running import watch
from kabc.running.watch import Watch
from tests.core.evidence.test_exchangeability import Law, autoregressive
from tests.running.examples import KERNEL, normal


def iid(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.normal(size=n)


def drifting(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.normal(size=n) + np.arange(n) / 60


POOLS: dict[str, tuple[Law, Law]] = {  # of the first three arms, and of the last
    "AR 0.8": (autoregressive(0.8), autoregressive(0.8)),
    "AR 0.9": (autoregressive(0.9), autoregressive(0.9)),
    "AR 0.99": (autoregressive(0.99), autoregressive(0.99)),
    "ten samples replayed": (iid, lambda n, rng: np.tile(rng.normal(size=10), n // 10)),
    "one drifting arm": (iid, drifting),
    "each value five times": (iid, lambda n, rng: np.repeat(rng.normal(size=n // 5), 5)),
    "builds timed one after the other": (drifting, lambda n, rng: drifting(n, rng) + n / 60),
}


@pytest.mark.parametrize("name", POOLS)
def test_rows_with_an_order_are_never_certified(name: str) -> None:
    """Equal arms, K = 2: an answer would be wrong. 200 rows of each arm, however few of them a run reads."""
    law, last = POOLS[name]
    for seed in range(10):
        rngs = np.random.default_rng(seed).spawn(4)
        arms = [law(200, rng) for rng in rngs[:3]] + [last(200, rngs[3])]
        ear = Watch(4, seed)
        ear.look([PoolArm(i, rows, rngs[i]) for i, rows in enumerate(arms)])
        assert ear.assumptions(range(4))
    result = kabc.cluster(arms, 2, seed=0, max_samples=40, progress=False)
    assert result.status == "doubtful"
    assert not result.certified
    assert result.assumptions


@pytest.mark.parametrize("strategy", ["anytime", "kabc", "kabc-tight", "boc"])
def test_every_strategy_is_watched(strategy: str) -> None:
    rngs = np.random.default_rng(1).spawn(2)
    arms = {"steady": iid(300, rngs[0]), "moving": drifting(300, rngs[1]) + 9}
    result = kabc.cluster(arms, 2, strategy=strategy, seed=0, max_samples=100, progress=False)
    assert [one.arm for one in result.assumptions] == ["moving"]
    assert result.status in ("doubtful", "stopped")


def test_a_live_arm_is_heard_in_the_order_in_which_it_was_drawn() -> None:
    drawn = 0

    def warming(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        nonlocal drawn
        values = rng.normal(size=n) + (drawn + np.arange(n)) / 20
        drawn += n
        return values

    arms = {"cold": normal(-9), "warming": warming}
    result = kabc.cluster(arms, 2, seed=0, kernel=KERNEL, progress=False)
    assert result.status == "doubtful"
    (found,) = result.assumptions
    assert (found.arm, found.what) == ("warming", watch.DRIFT)
    assert found.evidence > 400
    # one worker more or less changes neither order nor evidence
    drawn = 0
    assert kabc.cluster(arms, 2, seed=0, kernel=KERNEL, workers=2, progress=False).assumptions == result.assumptions


def test_false_alarms_are_as_rare_as_promised() -> None:
    """Five arms of two columns; at most 1 % of runs may be called doubtful."""
    runs, alarms = 200, 0
    rng = np.random.default_rng(2)
    for seed in range(runs):
        ear = Watch(5, seed)
        for arm in range(5):
            ear.hear(arm, np.round(rng.normal(size=(int(rng.integers(10, 60)), 2)), 1))
        alarms += bool(ear.assumptions("abcde"))
    assert alarms <= binom.ppf(1 - 1e-4, runs, watch.ALARM)


def test_arms_that_move_together_are_one_sentence() -> None:
    rngs = np.random.default_rng(4).spawn(12)
    arms = {f"h{i}": drifting(300, rng) for i, rng in enumerate(rngs)}
    result = kabc.cluster(arms, 2, seed=0, max_samples=200, progress=False)
    assert result.assumptions[0].arm is None
    assert "in all 12 arms together later samples differ from earlier ones (machine load?)" in headline(result)
    (doubt,) = [line for line in str(result).splitlines() if line.startswith("doubt: ")]
    assert doubt.startswith("doubt: all arms together: later samples differ from earlier ones (machine load?), in h")
    assert doubt.endswith(" also alone (evidence over 1,000,000 : 1)")
    evidence = [one.evidence for one in result.assumptions[1:]]
    assert evidence == sorted(evidence, reverse=True)


def test_a_few_arms_are_named_and_the_column_too() -> None:
    rng = np.random.default_rng(4)
    ear = Watch(12, 0)
    for arm in range(12):
        columns = [rng.normal(size=200), drifting(200, rng) if arm < 5 else rng.normal(size=200)]
        ear.hear(arm, np.column_stack(columns))
    found = ear.assumptions(range(12), ("speed", "load"))
    assert {one.arm for one in found} == {0, 1, 2, 3, 4}
    assert {one.what for one in found} == {f"{watch.DRIFT} (column load)"}


def doubtful(**settings: Any) -> kabc.Result:
    rngs = np.random.default_rng(0).spawn(3)
    arms = {"a": iid(200, rngs[0]), "b": drifting(200, rngs[1]) + 9, "c": iid(200, rngs[2])}
    return kabc.cluster(arms, 2, seed=0, progress=False, **settings)


def test_python_and_json_carry_the_condition_that_does_not_hold() -> None:
    """Pairs told apart are evidence, and here they prove nothing: whoever reads them finds that beside them."""
    result = doubtful()
    assert result.evidence.n_told_apart
    assert result.conditional_on == "samples came in no particular order and there are exactly 2 groups"
    assert result.n_groups_at_least == 1
    document = result.to_dict()
    assert document["conditional_on"] == result.conditional_on
    assert (document["n_groups_at_least"], document["certified"]) == (1, False)
    assert doubtful(watch=False).n_groups_at_least == 2


def test_intervals_of_effects_say_that_they_are_too_narrow_where_samples_may_depend_on_each_other() -> None:
    caveat = "(too narrow if samples depend on each other)"
    for dependent in (doubtful(), doubtful(watch=False, block=4)):
        assert caveat in str(dependent)
        assert caveat in str(dependent.effects)
        assert caveat in report_html(dependent)
        assert caveat in dependent._repr_html_()
    assert caveat not in str(doubtful(watch=False)) + report_html(doubtful(watch=False))


def test_text_certificate_and_report_say_it_first(tmp_path: Path) -> None:
    result = doubtful()
    first = str(result).splitlines()[0]
    assert first.startswith(f"Doubtful: in b {watch.DRIFT} (evidence over 1,000,000 : 1), so nothing is certified (")
    assert f"would be certified if {result.conditional_on}: 2 of 3 pairs are told apart" in str(result)
    assert "certified, wrong" not in str(result)
    certificate = result.certificate()
    assert "Claim, void because an assumption does not hold: " in certificate
    assert watch.NOT_SEEN in certificate
    report = report_html(result)
    assert first.split(" (")[0] in report
    assert "which is certified" not in report
    assert "Certified, wrong" not in report
    assert result.needs is None
    result.save(tmp_path / "answer.json")
    assert kabc.load_result(tmp_path / "answer.json") == result


def test_doubtful_answers_certify_no_change() -> None:
    good = doubtful(watch=False)
    moved = kabc.cluster({"a": np.zeros(60), "b": np.zeros(60), "c": np.ones(60)}, 2, seed=0, progress=False)
    assert any(change.certified for change in kabc.compare(good, moved).changes)
    assert not any(change.certified for change in kabc.compare(doubtful(), doubtful(max_samples=20)).changes)


def test_the_watch_can_be_switched_off_and_then_says_so() -> None:
    result = doubtful(watch=False)
    assert result.status == "decided"
    assert result.assumptions == ()
    assert watch.OFF in result.certificate()
    assert watch.OFF not in doubtful().certificate()


def test_few_live_samples_are_said_to_show_little() -> None:
    result = kabc.cluster({"a": normal(0), "b": normal(99)}, 2, seed=0, progress=False)
    assert result.status == "decided"
    assert f"would show in {min(result.samples_per_arm.values())} samples of an arm" in result.certificate()
    assert "few samples" not in doubtful().certificate()


def test_looking_at_the_order_of_a_pool_draws_nothing() -> None:
    """The same samples with and without the watch."""
    on, off = doubtful(), doubtful(watch=False)
    assert on.samples_per_arm == off.samples_per_arm
    assert on.labels == off.labels
    assert on.evidence == off.evidence


def test_texts_are_watched() -> None:
    ear = Watch(1, 0)
    ear.hear(0, np.array([["red"], ["green"]] * 60))
    assert [one.what for one in ear.assumptions(["a"])] == [watch.DEPENDENT]


@pytest.mark.parametrize("rows", [[[1], [1, 2]], [], np.zeros((2, 2, 2)), 3.0])
def test_what_is_no_table_of_rows_is_not_heard(rows: Any) -> None:
    ear = Watch(1, 0)
    ear.hear(0, rows)
    assert ear.assumptions(["a"]) == ()


def test_rows_of_another_width_are_left_to_the_strategy_to_refuse() -> None:
    ear = Watch(1, 0)
    ear.hear(0, np.zeros((5, 2)))
    ear.hear(0, np.zeros((5, 3)))
    assert ear._rows()[0].shape == (5, 2)


def test_blocks_are_watched_by_their_means() -> None:
    """Rows of eight that depend on each other within a block, and not across blocks."""
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=(80, 1, 2)) + 0.1 * rng.normal(size=(80, 8, 2))
    ear = Watch(1, 0)
    ear.hear(0, blocks.reshape(640, 2))
    assert ear.assumptions(["a"])
    ear.look([], block=8)
    np.testing.assert_allclose(ear._rows()[0], blocks.mean(axis=1))
    assert ear.assumptions(["a"]) == ()


def test_long_runs_are_thinned_out_and_a_late_drift_is_still_seen() -> None:
    rng = np.random.default_rng(0)
    ear = Watch(1, 0)
    for part in range(300):
        ear.hear(0, rng.normal(size=100) + (part > 150))
    assert 1000 < len(ear._rows()[0]) < 5000
    assert [one.what for one in ear.assumptions(["a"])] == [watch.DRIFT]


def test_ten_values_drawn_again_and_again_are_doubted() -> None:
    """Drawn at random they are independent samples of ten values, which no order refutes: only a heuristic can see."""
    rng = np.random.default_rng(0)
    ten = rng.normal(size=10)
    ear = Watch(4, 0)
    ear.hear(0, rng.choice(ten, 400))
    ear.hear(1, rng.integers(0, 10, 400))  # counts
    ear.hear(2, rng.integers(0, 10, 400) / 10)  # one decimal
    ear.hear(3, rng.normal(size=400))
    (doubt,) = ear.assumptions(["ten", "counts", "decimals", "fine"])
    assert str(doubt) == "ten: values repeat bit for bit (390 of 400: a seed, a cache?) (a heuristic)"


def test_failures_categories_and_texts_are_no_numbers_that_repeat() -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.full(20, 0.12345), np.ones(20)])
    others = np.column_stack([rng.normal(size=20), np.zeros(20)])
    for columns, types, doubted in (  # a fourth arm was not drawn
        (("seconds", "other"), {}, True),
        (("seconds", "failed"), {}, False),
        (("seconds", "seconds missing"), {}, False),
        (("seconds", "other"), {"seconds": "category"}, False),
        (("seconds[0]", "seconds[1]"), {"seconds": "text"}, False),
    ):
        ear = Watch(4, 0)
        for arm, one in enumerate((rows, others, others + 1e-9)):
            ear.hear(arm, one)
        assert bool(ear.assumptions("abcd", columns, types)) is doubted
    ear = Watch(2, 0)
    ear.hear(0, ["same"] * 20)
    ear.hear(1, [f"text {i}" for i in range(20)])
    assert ear.assumptions("ab") == ()


def test_arms_that_share_their_inputs_may_give_one_value_for_one_input() -> None:
    rng = np.random.default_rng(0)
    scores, prompts = rng.normal(size=10), rng.integers(0, 10, 30)
    for paired in (False, True):
        ear = Watch(2, 0, paired=paired)
        ear.hear(0, scores[prompts])
        ear.hear(1, rng.normal(size=30))
        assert bool(ear.assumptions("ab")) is not paired


def test_small_pools_say_that_only_a_strong_dependence_would_show() -> None:
    pools = {"a": list(range(15)), "b": [value + 100 for value in range(60)]}
    result = kabc.cluster(pools, n_clusters=2, seed=0, progress=False)
    told = [line for line in result.guarantee.assumptions if line.startswith("few samples:")]
    assert told == ["few samples: only a strong dependence or drift would show in 15 samples of an arm"]
    plenty = kabc.cluster({"a": list(range(60)), "b": pools["b"]}, n_clusters=2, seed=0, progress=False)
    assert not [line for line in plenty.guarantee.assumptions if line.startswith("few samples:")]


def test_generators_of_many_arms_are_made_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made, usual = list[int](), rngs_of

    def counted(seed: int, keys: Any) -> Any:
        made.append(len(keys))
        return usual(seed, keys)

    def found() -> Any:
        seen, rng = Watch(40, 0), np.random.default_rng(0)
        for arm in range(40):
            seen.hear(arm, rng.normal(size=(50, 2)))
        return seen._evidence()

    expected = found()
    monkeypatch.setattr(watch, "rngs_of", counted)
    monkeypatch.setattr(exchangeability, "_AT_A_TIME", 3 * 50 * exchangeability._N_EXPERTS)
    doubts, _ = found()
    assert [one.log for one in doubts] == [one.log for one in expected[0]]
    assert sum(made) == 80
    assert max(made) == 3
