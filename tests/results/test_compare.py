"""What changed between two results: arms that moved, and whether that is certified."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kabc
from kabc import Result, SettingsError
from kabc.results.words import STATUS_WORDS
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
    with pytest.raises(SettingsError, match="no arm in common: a, b before, x, y now"):
        kabc.compare(answer("a|b"), answer("x|y"))
