"""Answers within a tolerance: what changed between two of them, their frame, and what notebooks show."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import Result
from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME, Verdicts
from kabc.results.values import Assumption
from kabc.strategies.answers import Guarantee
from tests.results.examples import answer

INF = np.inf


def said(groups: str, decided: bool = True, tolerance: str = "2 %", near: float = 3.0, far: float = 0.0) -> Result:
    """Pairs of a group are the same, within `near` %; others differ, by `far` % or more."""
    result = answer(groups, decided)
    together = np.equal.outer(result.labels, result.labels)
    above, below = np.where(together, near, INF), np.where(together, 0.0, far)
    np.fill_diagonal(above, 0.0)
    verdicts = np.where(together, SAME, DIFFERENT)
    why = Guarantee(f"Tolerance KABC(delta = 0.05, tolerance = {tolerance})", "claim", (), ())
    found = Verdicts(tolerance, "%", 0.2, (), verdicts, above, below, 0.1 * above, 0.1 * below)
    return dataclasses.replace(result, tolerance=found, guarantee=why)


# ------------------------------------------------------------ compare


def test_a_pair_that_was_the_same_and_is_different_is_reported() -> None:
    found = kabc.compare(said("abc|d"), said("ab|c|d"))
    assert "2 pairs were the same within 2 % before, and are different now: a and c, b and c" in str(found)
    (change,) = found.verdicts
    assert (change.before, change.now, change.n_pairs, change.n_certified) == (SAME, DIFFERENT, 2, 0)
    back = kabc.compare(said("ab|c|d"), said("abc|d"))
    assert "2 pairs were different before, and are the same within 2 % now: a and c, b and c" in str(back)
    one = kabc.compare(said("ab|c"), said("a|b|c"))
    assert "1 pair was the same within 2 % before, and is different now: a and b" in str(one)


def test_a_small_difference_may_be_both_so_that_nothing_is_certified() -> None:
    """Before within 3 % of each other, now at least 1 % apart: nothing need have changed."""
    found = kabc.compare(said("abc|d"), said("ab|c|d", far=1.0))
    assert [change.certified for change in found.changes] == [False]
    assert not found.alarm
    assert "a difference below the tolerance may be shown at one time and not at the other" in str(found)


def test_margins_that_exclude_each_other_are_a_certified_change() -> None:
    found = kabc.compare(said("abc|d"), said("ab|c|d", far=3.5))
    assert found.alarm and [(change.arm, change.certified) for change in found.changes] == [("c", True)]
    assert "2 pairs were the same within 2 % before, and are different now, 2 certified" in str(found)
    assert "at most 10 %, for both answers together, if the kernels of both runs see the tolerance alike" in str(found)
    assert "may be shown at one time" not in str(found)
    back = kabc.compare(said("ab|c|d", far=3.5), said("abc|d"))
    assert back.alarm and back.changes[0].certified


def test_the_same_answers_have_no_changed_verdicts() -> None:
    found = kabc.compare(said("abc|d"), said("abc|d"))
    assert found.same and not found.verdicts and not found.mismatches


def test_pairs_that_were_open_are_no_change() -> None:
    old = said("abc|d", decided=False)
    assert old.tolerance is not None
    undecided = dataclasses.replace(
        old,
        tolerance=dataclasses.replace(old.tolerance, verdicts=np.full((4, 4), OPEN), same_within=np.full((4, 4), INF)),
    )
    assert kabc.compare(undecided, said("ab|c|d", far=9.0)).verdicts == ()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (said("abc|d"), said("ab|c|d", tolerance="5 %", far=9), "the answers have different tolerances, 2 % and 5 %"),
        (said("abc|d"), answer("ab|c|d"), "one answer has a tolerance, 2 %, the other has none"),
        (answer("abc|d"), said("ab|c|d", far=9.0), "one answer has a tolerance, 2 %, the other has none"),
    ],
)
def test_other_tolerances_are_other_questions(old: Result, new: Result, reason: str) -> None:
    found = kabc.compare(old, new)
    assert f"{reason}: changes are a guess" in str(found)
    assert not found.alarm and not found.verdicts
    assert [change.certified for change in found.changes] == [False]


@pytest.mark.parametrize("tolerance", ["2 %", "5 (in the unit of ms)", "ms by 2 %, size by 100"])
def test_the_same_tolerance_of_the_same_strategy_is_the_same_question(tolerance: str) -> None:
    assert kabc.compare(said("ab|c", tolerance=tolerance), said("ab|c", tolerance=tolerance)).mismatches == ()
    other = kabc.compare(said("ab|c", tolerance=tolerance), said("ab|c", tolerance="9 %"))
    assert len(other.mismatches) == 1  # the tolerance, and not the strategy as well


def test_a_doubtful_answer_changes_no_verdict() -> None:
    doubt = (Assumption("a", "samples depend on each other", 99.0),)
    doubtful = dataclasses.replace(said("ab|c|d", far=9.0), status="doubtful", assumptions=doubt)
    found = kabc.compare(said("abc|d"), doubtful)
    assert not found.verdicts and not found.alarm


def test_many_changed_pairs_are_cut_and_counted() -> None:
    names = "abcdefghijklmnopqrstuvwxyz"
    found = kabc.compare(said(names), said("|".join(names), far=9.0))
    (change,) = found.verdicts
    assert change.n_pairs == 26 * 25 // 2 and len(change.pairs) == 200
    assert "325 pairs were the same" in str(found) and len(str(found).splitlines()) < 30
    assert "125 more pairs left out" in found.text(everyone=True)
    assert found.to_dict()["verdicts"][0]["n_certified"] == 325


def test_real_runs_before_and_after_a_change() -> None:
    def arms(odd: float) -> dict[str, Any]:
        means = {"a": 1.0, "b": 1.0, "c": 1.2, "d": odd}
        return {name: lambda n, rng, m=m: m * (1 + 0.04 * rng.standard_normal(n)) for name, m in means.items()}

    before = kabc.cluster(arms(1.0), tolerance="3%", seed=0, progress=False)
    again = kabc.cluster(arms(1.0), tolerance="3%", seed=1, progress=False)
    after = kabc.cluster(arms(1.2), tolerance="3%", seed=2, progress=False)
    assert kabc.compare(before, again).same and not kabc.compare(before, again).mismatches
    changed = kabc.compare(before, after)
    assert [change.arm for change in changed.changes] == ["d"]
    assert any({"a", "d"} == set(pair) for pair in changed.verdicts[0].pairs)


# ------------------------------------------------------------ frames and notebooks


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_frame_has_the_margins_of_each_arm(backend: str) -> None:
    result = said("ab|c", near=2.4, far=1.5)
    assert result.tolerance is not None
    result = dataclasses.replace(result, tolerance=dataclasses.replace(result.tolerance, between=(2,)))
    frame = result.to_frame(backend)
    assert frame["same_within"].to_list()[:2] == [2.4, 2.4]
    assert frame["same_within"][2] is None or np.isnan(frame["same_within"][2])
    assert frame["apart_at_least"].to_list() == [1.5, 1.5, 1.5]
    assert frame["between"].to_list() == [False, False, True]
    assert "same_within" not in answer("ab|c").to_frame(backend).columns


def test_a_frame_says_nothing_of_margins_that_are_void() -> None:
    doubt = (Assumption("a", "samples depend on each other", 99.0),)
    result = dataclasses.replace(said("ab|c"), status="doubtful", assumptions=doubt)
    assert "same_within" not in result.to_frame("polars").columns
    assert "proven" not in result._repr_html_()


def test_a_notebook_shows_margins_and_arms_between() -> None:
    result = said("ab|c", near=2.41, far=1.56)
    assert result.tolerance is not None
    found = dataclasses.replace(result.tolerance, between=(2,), equivalents=("ms: a shift by 3",))
    page = dataclasses.replace(result, tolerance=found)._repr_html_()
    assert "proven: any two within 2.5 %; at least 1.5 % from any other arm" in page
    assert "between groups: c" in page
    assert "tolerance: 2 %, as much as ms: a shift by 3" in page
