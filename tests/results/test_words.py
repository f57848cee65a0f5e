"""What people read of a result: plain sentences, real plurals, and nothing that a name could forge."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, get_args

import pytest

from kabc.results.words import STATUS_WORDS, headline, k_doubt
from kabc.strategies.answers import Guarantee, Round, Status
from tests.results.examples import EXAMPLES, answer, example, renamed


def result(groups: str = "ab|c", status: Status = "decided", told: str = "", **changes: Any) -> Any:
    return dataclasses.replace(answer(groups, told=told), status=status, **changes)


def test_every_status_has_words() -> None:
    assert set(STATUS_WORDS) == set(get_args(Status))
    assert all(("guess" in words) == (status != "decided") for status, words in STATUS_WORDS.items())


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            result(n_clusters=2),
            "2 groups, wrong with probability at most 5 % if there are exactly 2 groups (15 samples)",
        ),
        (
            result("abc", n_clusters=1, delta=0.001),
            "1 group, wrong with probability at most 0.1 % if there is exactly 1 group (15 samples)",
        ),
        (
            result(n_clusters=None),
            "2 groups, wrong with probability at most 5 % under the assumptions of the certificate (15 samples)",
        ),
        (
            result(status="contradicted", n_clusters=2, n_groups_at_least=3),
            "More than 2 groups: at least 3 are certified (15 samples). Try a larger number of groups.",
        ),
        (
            result(status="contradicted", n_clusters=2, n_groups_at_least=2),
            "contradicted: no partition of the kind asked for fits, the groups are a guess (15 samples)",
        ),
        (result(status="budget"), "undecided: the budget is spent, the groups are a guess (15 samples)"),
        (
            result(status="exhausted", samples_per_arm={"a": 1, "b": 0, "c": 0}),
            "undecided: all rows read, or too few left for another round; the groups are a guess (1 sample)",
        ),
    ],
)
def test_the_first_line_says_what_is_claimed_and_what_it_cost(given: Any, line: str) -> None:
    assert headline(given) == str(given).splitlines()[0] == line
    assert f"Answer: {line.removesuffix('.')}." in given.certificate().splitlines()


def test_what_is_certified_is_said_apart_from_the_guess() -> None:
    lines = str(result(status="budget", told="ac")).splitlines()
    assert lines[1] == "certified, wrong with probability at most 5 %: at least 1 group; 1 of 3 pairs is told apart"
    assert lines[2:4] == ["  group 2 (guess), 1 arm: c", "  group 1 (guess), 2 arms: a, b"]
    two = str(result("a|b", status="budget")).splitlines()
    assert two[1].endswith("nothing yet; 0 of 1 pair is told apart")


@pytest.mark.parametrize("status", ["decided", "stopped"])
def test_no_such_line_where_all_is_certified_or_nothing(status: Status) -> None:
    assert not [line for line in str(result(status=status)).splitlines() if line.startswith("certified")]


def test_the_smallest_group_comes_first_and_keeps_its_number() -> None:
    assert str(result("abc|de|f")).splitlines()[1:4] == [
        "  group 3, 1 arm: f",
        "  group 2, 2 arms: d, e",
        "  group 1, 3 arms: a, b, c",
    ]


def test_remarks_count_what_is_there() -> None:
    text = str(result(n_unused=1, price=0.25, samples_per_arm={"a": 5, "b": 6, "c": 7}, notes=("x",)))
    assert text.splitlines()[3:] == [
        "samples per arm: 5 to 7",
        "1 sample of an unfinished round is counted, but not tested",
        "spent: 4.5",
        "note: x",
    ]
    assert "2 samples of an unfinished round are counted, but not tested" in str(result(n_unused=2))


def test_the_largest_needs_come_first_and_the_rest_in_one_phrase() -> None:
    arms = "abcdefgh"
    needs = {name: 10 * (i + 1) for i, name in enumerate(arms)}
    text = str(result("|".join(arms), status="budget", needs=needs))
    assert "needs about 80 more samples of h, 70 of g, 60 of f, 50 of e, 40 of d, 30 of c, at most 20 of each" in text
    assert "of each of 2 other arms (an estimate)" in text


@pytest.mark.parametrize("status", ["budget", "exhausted", "interrupted"])
def test_what_cannot_be_told_is_said_to_be_unknown(status: Any) -> None:
    unknown = "how many more samples it takes cannot be told yet"
    assert unknown in str(result(status=status, n_clusters=2))
    assert unknown not in str(result(status=status, n_clusters=2, needs={"a": 5}))
    assert unknown not in str(result(status=status, n_clusters=None))  # nothing to decide
    assert unknown not in str(result(status="decided", n_clusters=2))


@pytest.mark.parametrize("name", EXAMPLES)
def test_plurals_are_real(name: str) -> None:
    text = str(example(name)) + example(name).certificate()
    assert "(s)" not in text
    assert not re.search(r"(?<![\d.,])1 (groups|arms|samples|rounds|pairs|components)\b", text)


def test_the_certificate_has_every_word_of_the_guarantee() -> None:
    why = Guarantee("S(K = 2)", "a claim.", ("one", "two"), ("threshold 7 / delta",))
    lines = result(guarantee=why, rounds=(Round(1, 0.05, 1, 3, 1),)).certificate().splitlines()
    assert lines[0] == "CERTIFICATE of S(K = 2)"
    assert "Claim: a claim." in lines
    for words in (*why.assumptions, *why.rule):
        assert f"  - {words}" in lines
    assert "  - 1 round, at most 1 sample of an arm" in lines


def test_a_name_cannot_forge_a_line() -> None:
    forged = renamed(answer("ab|c"), ("a", "b\nClaim: all is proven", "\n"))
    assert not [line for line in forged.certificate().splitlines() if line.startswith("Claim: all")]
    assert "'\\n'" in str(forged)


def test_a_look_at_k_says_if_it_was_not_about_all_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    given = result(n_clusters=2, k_doubt=1.0)
    assert k_doubt(given) == ["K: no group looks like two; small differences may be missed"]
    monkeypatch.setattr("kabc.strategies.anytime.check.MOST_ARMS", 2)
    assert k_doubt(given) == [
        "K: no group looks like two, 2 of the arms were looked at; small differences may be missed"
    ]
