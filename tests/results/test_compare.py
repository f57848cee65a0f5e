"""What changed between two results: arms that moved, and whether that is certified."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kabc
from kabc import Result, SettingsError
from kabc.results.moved import have_moved
from kabc.results.words import STATUS_WORDS
from kabc.strategies.answers import Guarantee
from tests.results.examples import answer


def test_the_same_groups_in_another_order_have_not_changed() -> None:
    found = kabc.compare(answer("ab|cd"), answer("cd|ab"))
    assert found.same
    assert found.adjusted_rand == 1.0
    assert found.groups == ((("a", "b"), ("a", "b")), (("c", "d"), ("c", "d")))
    assert "no arm changed" in str(found)


def test_an_arm_that_moved_is_found_with_its_old_and_new_company() -> None:
    found = kabc.compare(answer("abc|def"), answer("ab|cdef"))
    assert [(one.arm, one.before, one.now, one.certified) for one in found.changes] == [
        ("c", ("a", "b"), ("d", "e", "f"), True)
    ]
    assert found.adjusted_rand < 1
    assert "c (certified): before with a, b, now with d, e, f" in str(found)
    assert "at most 10 %" in str(found)


def test_new_and_lost_arms_are_no_changes() -> None:
    found = kabc.compare(answer("abx|cd"), answer("ab|cdyz"))
    assert found.same
    assert (found.added, found.removed) == (("y", "z"), ("x",))
    assert "added: y, z" in str(found)


@pytest.mark.parametrize(
    ("old", "new", "certified"),
    [
        (answer("abc|de", decided=False), answer("ab|cde", decided=False), False),
        (answer("abc|de"), answer("ab|cde", decided=False), False),
        (answer("abc|de"), answer("ab|cde", decided=False, told="ac"), True),
        (answer("abc|de", decided=False, told="cd"), answer("ab|cde"), True),
        (answer("abc|de", decided=False, told="ad"), answer("ab|cde"), False),
    ],
)
def test_a_change_is_certified_when_one_answer_proves_same_and_the_other_not(
    old: Result, new: Result, certified: bool
) -> None:
    (change,) = kabc.compare(old, new).changes
    assert change.arm == "c"
    assert change.certified is certified


labelled = st.lists(st.integers(0, 3), min_size=2, max_size=9)


@given(labelled, st.data())
def test_the_fewest_arms_change(labels: list[int], data: st.DataObject) -> None:
    """No other matching of the groups leaves more arms where they were; and the way back is as long."""
    from itertools import permutations

    again = data.draw(st.lists(st.integers(0, 3), min_size=len(labels), max_size=len(labels)))
    old, new = (_of_labels(one) for one in (labels, again))
    found = kabc.compare(old, new)
    most = max(
        sum(match[x] == y for x, y in zip(old.labels, new.labels, strict=True)) for match in permutations(range(4))
    )
    assert len(found.changes) == len(labels) - most == len(kabc.compare(new, old).changes)
    assert found.same == (old.labels == new.labels)
    assert math.isclose(found.adjusted_rand, kabc.compare(new, old).adjusted_rand)


def _of_labels(labels: list[int]) -> Result:
    names = "abcdefghi"[: len(labels)]
    groups = [[name for name, label in zip(names, labels, strict=True) if label == group] for group in range(4)]
    return answer("|".join("".join(group) for group in groups if group))


def test_a_comparison_is_json_and_names_both_ends() -> None:
    found = kabc.compare(answer("ab|c"), answer("a|bc", decided=False))
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert facts["same"] is False
    assert facts["changes"][0]["arm"] in "ab"
    assert STATUS_WORDS["budget"] in str(found)


def test_results_without_a_common_arm_are_refused() -> None:
    with pytest.raises(SettingsError, match="no measured arm in common: a, b before, x, y now"):
        kabc.compare(answer("a|b"), answer("x|y"))


def test_arms_set_aside_have_not_changed() -> None:
    aside = dataclasses.replace(answer("ab|c"), labels=(0, -1, 1), set_aside={"b": "no rows"})
    found = kabc.compare(answer("ab|c"), aside)
    assert found.same
    assert found.not_measured == ("b",)
    assert "not measured: b" in str(found)


# ---------------------------------------------------------------- answers to different questions


def asked(result: Result, **changes: Any) -> Result:
    return dataclasses.replace(result, **changes)


def by(strategy: str) -> Guarantee:
    return Guarantee(strategy, "claim", (), ())


@pytest.mark.parametrize(
    ("before", "now", "why"),
    [
        ({"n_clusters": 4}, {"n_clusters": 3}, "the answers assume different numbers of groups, 4 and 3"),
        ({"n_clusters": 4}, {}, "one answer assumes 4 groups, the other assumes no number"),
        (
            {"guarantee": by("Anytime KABC(delta = 0.05, K = 2)")},
            {"guarantee": by("KABC(delta = 0.05, K = 2)")},
            "the answers come from different strategies, Anytime KABC and KABC",
        ),
        (
            {"guarantee": by("CLUSTER(n = 80, delta = 0.05)")},
            {"guarantee": by("CLUSTER(n = 9, delta = 0.05)")},
            "the answers come from different strategies, CLUSTER(n = 80) and CLUSTER(n = 9)",
        ),
        (
            {"kernel": "Gaussian(bandwidth=1.0)"},
            {"kernel": "Linear(radius=1.0)"},
            "the answers use different kernels, Gaussian and Linear",
        ),
        ({"columns": ("wall seconds",)}, {}, "only one answer names its columns"),
    ],
)
def test_answers_to_different_questions_certify_no_change(before: Any, now: Any, why: str) -> None:
    assert kabc.compare(answer("abc|de"), answer("ab|cde")).changes[0].certified
    found = kabc.compare(asked(answer("abc|de"), **before), asked(answer("ab|cde"), **now))
    assert found.mismatches == (why,)
    assert not any(change.certified for change in found.changes)
    assert not found.alarm
    assert str(found).startswith(f"{why}: changes are a guess\n")


def test_another_delta_or_bandwidth_is_the_same_question() -> None:
    old = asked(
        answer("abc|de"), delta=0.01, kernel="Gaussian(bandwidth=1.0)", guarantee=by("KABC(delta = 0.01, K = 2)")
    )
    new = asked(answer("ab|cde"), kernel="Gaussian(bandwidth=1.2)", guarantee=by("KABC(delta = 0.05, K = 2)"))
    assert kabc.compare(old, new).mismatches == ()


def test_answers_about_different_columns_are_refused() -> None:
    old, new = (asked(answer("ab|c"), columns=columns) for columns in (("ms", "wall"), ("ms", "cpu seconds")))
    with pytest.raises(SettingsError, match="different columns: 'wall seconds' before, 'cpu seconds' now"):
        kabc.compare(old, new)
    former, today = (asked(answer("ab|c"), columns=columns) for columns in (("wall",), ("wall seconds",)))
    assert kabc.compare(former, today).same  # 0.1.0 had no unit in the name
    wide, narrow = (asked(answer("a|b"), samples={"a": np.ones((2, d)), "b": np.ones((2, d))}) for d in (3, 1))
    with pytest.raises(SettingsError, match="a sample had 3 columns before and has 1 now"):
        kabc.compare(wide, narrow)


@pytest.mark.parametrize("status", ["doubtful", "stopped"])
def test_nothing_is_proven_by_an_answer_that_proves_nothing(status: Any) -> None:
    old = asked(answer("abc|de", told="cd ce"), status=status)
    (change,) = kabc.compare(old, answer("ab|cde")).changes
    assert not change.certified


def test_a_certified_change_names_its_condition() -> None:
    old, new = (asked(answer(groups), n_clusters=2) for groups in ("abc|de", "ab|cde"))
    assert "for both answers together, if there are exactly 2 groups" in str(kabc.compare(old, new))


def builds(k: int) -> Result:
    """b10 is 3 % slower, b11 has a larger spread; with K = 2, b11 is put with the others."""

    def times(middle: float, sd: float) -> Any:
        return lambda n, rng: middle * np.exp(rng.normal(0, sd, n))

    arms = {f"b{i:02d}": times(1, 0.01) for i in range(1, 6)} | {"b10": times(1.1, 0.01), "b11": times(1, 0.03)}
    return kabc.cluster(arms, k, seed=0, max_samples=3000)


def test_another_number_of_groups_is_no_change_of_the_builds() -> None:
    found = kabc.compare(builds(3), builds(2))
    assert not found.alarm
    assert "different numbers of groups, 3 and 2: changes are a guess" in str(found).splitlines()[0]


# ---------------------------------------------------------------- values that moved


def measured(groups: str, factor: float = 1.0, seed: int = 0, n: int = 60, shift: float = 0.0) -> Result:
    rng = np.random.default_rng(seed)
    made = answer(groups)
    rows = {
        name: factor * (1 + label) * np.exp(0.1 * rng.standard_normal((n, 1))) + shift
        for name, label in zip(made.names, made.labels, strict=True)
    }
    return dataclasses.replace(made, samples=rows, columns=("seconds",))


def test_all_builds_three_times_slower() -> None:
    found = kabc.compare(measured("ab|cd"), measured("ab|cd", 3.0, seed=1))
    assert found.same
    assert found.alarm
    assert [(one.arms, one.proven) for one in found.moved] == [(("a", "b"),) * 2, (("c", "d"),) * 2]
    for one in found.moved:
        assert one.contrast.low < 3 < one.contrast.high
    assert re.search(
        r"^both groups moved: seconds median (2.9|3.0)\d+ times \(2.\d+ to 3.\d+\);", str(found), re.MULTILINE
    )
    assert "; 4 of 4 arms by the test" in str(found)
    assert "moved values: a test at level 5 % for all arms and columns together, if samples are independent" in str(
        found
    )
    json.dumps(found.to_dict(), allow_nan=False)


def test_one_group_that_moved_is_named_with_its_arms() -> None:
    old, new = measured("ab|cd"), measured("ab|cd", seed=1)
    slower = dataclasses.replace(new, samples=new.samples | {name: 1.5 * new.samples[name] for name in "cd"})
    (moved,) = kabc.compare(old, slower).moved
    assert moved.arms == moved.proven == ("c", "d")
    assert re.match(r"group of c, d moved: seconds median 1.(4|5)\d+ times \(", str(moved))


def test_a_difference_where_values_have_both_signs() -> None:
    found = kabc.compare(measured("ab|cd", shift=-1.5), measured("ab|cd", seed=1, shift=-0.5))
    assert {one.contrast.what for one in found.moved} == {"difference"}
    assert re.search(r"both groups moved: seconds median \+(0.9|1.0)\d+ \(\+0.\d+ to \+1.\d+\)", str(found))


def test_what_moved_without_its_median_is_found_by_the_test() -> None:
    old, new = measured("ab|cd", n=400), measured("ab|cd", seed=1, n=400)
    wide = {name: rows.mean() * (rows / rows.mean()) ** 4 for name, rows in new.samples.items()}
    found = kabc.compare(old, dataclasses.replace(new, samples=wide))
    assert found.alarm
    assert "spread" in {one.contrast.what for one in found.moved}


def test_few_samples_are_only_an_estimate() -> None:
    found = kabc.compare(measured("ab|cd", n=4), measured("ab|cd", 3.0, seed=1, n=4))
    assert found.moved
    assert not found.alarm
    assert "; an estimate" in str(found)


def test_doubtful_samples_prove_no_move() -> None:
    doubtful = dataclasses.replace(measured("ab|cd", 3.0, seed=1), status="doubtful")
    found = kabc.compare(measured("ab|cd"), doubtful)
    assert found.moved
    assert not found.alarm


def test_categories_that_moved() -> None:
    def flags(share: float, seed: int) -> Result:
        rng = np.random.default_rng(seed)
        return dataclasses.replace(
            answer("ab|c"), samples={name: rng.binomial(1, share, (200, 1)) for name in "abc"}, columns=("failed",)
        )

    found = kabc.compare(flags(0.05, 0), flags(0.6, 1))
    assert [one.contrast.what for one in found.moved] == ["share", "share"]
    assert found.alarm
    assert "group of a, b moved: failed share of 1: 6" in str(found)
    assert kabc.compare(flags(0.0, 0), flags(0.6, 1)).alarm


@pytest.mark.parametrize("law", ["normal", "ties"])
def test_the_test_keeps_its_level_whenever_sampling_stops(law: str) -> None:
    """The worst time to look: as soon as it would alarm. At most level times runs, and four standard errors."""
    rng, level, runs, alarms = np.random.default_rng(0), 0.2, 300, 0
    for _ in range(runs):
        draws = rng.normal(size=(2, 60)) if law == "normal" else rng.integers(0, 3, (2, 60))
        alarms += any(have_moved(draws[0, :q], draws[1, :q], level) for q in range(1, 61))
    assert alarms <= level * runs + 4 * math.sqrt(level * (1 - level) * runs)


def test_the_test_is_exact_for_equal_sizes() -> None:
    """Twice the one-sided probability of Gnedenko and Koroljuk: 2 C(2q, q + k) / C(2q, q)."""
    q, k = 12, 9
    first, second = np.arange(q), np.arange(q) + k  # k values of the first are below all of the second
    p = 2 * math.comb(2 * q, q + k) / math.comb(2 * q, q)
    assert have_moved(first, second + 0.5 - 1, p * q * (q + 1) * 1.001)
    assert not have_moved(first, second + 0.5 - 1, p * q * (q + 1) * 0.999)
