"""The question of a study: it comes back from JSON as it was, another one is refused, and nothing executes on load."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import kabc
from kabc import SettingsError
from kabc.storage.errors import StorageError
from kabc.study.documents import facts_document, facts_of_document
from kabc.study.facts import ArmFacts, Facts
from kabc.study.spec import Spec

SPEC = Spec(
    names=("a", 1, (2, "x"), None),
    strategy="kabc",
    seed=5,
    options={"keep_samples": True},
    n_clusters=3,
    delta=0.1,
    kernel=kabc.Gaussian(2.0) + kabc.Laplace(1.0, "l2") * kabc.Hamming(4),
    pilot=30,
    types={"value": "text"},
    on_worker_loss="raise",
    kabc="0.2",
)


def kept(spec: Spec) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(spec.to_json(), allow_nan=False))
    return document


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"tolerance": "2%", "kernel": None, "strategy": "tolerance"},
        {"tolerance": {"p50": "2%", "p99": 0.5}},
        {"tolerance": 5},
        {"tolerance": kabc.KernelDistance(0.1)},
        {"block": "auto", "kernel": kabc.Matern(1.0, 2.5)},
        {"block": 4, "kernel": kabc.Linear(3.0), "watch": False, "min_separation": 0.25},
        {"kernel": kabc.RationalQuadratic(1.0, 2.0)},
        {"kernel": kabc.InverseMultiquadric(1.0)},
    ],
)
def test_it_comes_back_as_it_was(change: dict[str, Any]) -> None:
    spec = replace(SPEC, **change)
    found = Spec.of_json(kept(spec), "nightly")
    assert found == spec
    assert found.fingerprint == spec.fingerprint
    found.expect_same(spec, "nightly")


def test_the_version_of_kabc_is_no_part_of_the_question() -> None:
    other = replace(SPEC, kabc="9.9")
    assert other.fingerprint == SPEC.fingerprint
    SPEC.expect_same(other, "nightly")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 4}, r"study 'nightly' asks for n_clusters=3, this call for n_clusters=4; use another study"),
        ({"seed": 6}, "seed=5, this call for seed=6"),
        ({"kernel": kabc.Gaussian(3.0)}, r"kernel=Gaussian\(bandwidth=2.0\) .*this call for kernel=Gaussian"),
        ({"tolerance": "2%"}, "tolerance=None, this call for tolerance='2%'"),
        ({"options": {}}, "options="),
        ({"names": ("a", 1, (2, "x"))}, "study 'nightly' has an arm None, which this call lacks"),
        ({"names": ("a", 1, (2, "x"), None, "new")}, "study 'nightly' has no arm 'new'"),
        ({"names": (1, "a", (2, "x"), None)}, "in another order"),
    ],
)
def test_another_question_is_refused_with_both_values(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        SPEC.expect_same(replace(SPEC, **change), "nightly")
    assert replace(SPEC, **change).fingerprint != SPEC.fingerprint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": kabc.Function(lambda x, y: 1.0)}, "kernel .* cannot be stored in a study.*kabc.Gaussian"),
        ({"tolerance": lambda pool: pool}, "tolerance that is a function cannot be stored.*'2%'"),
        ({"options": {"rule": object()}}, "option 'rule' .*cannot be stored"),
        ({"names": ("a", frozenset("b"))}, "arm name .*cannot be stored.*use a text"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_the_cure(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        replace(SPEC, **change).to_json()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", {"kind": "os.system", "command": "rm"}),
        ("kernel", {"kind": "Gaussian", "bandwidth": {"a": 1}}),
        ("kernel", {"kind": "Gaussian", "bandwidth": -1.0}),
        ("kernel", {"kind": "Sum", "parts": "abc"}),
        ("kernel", {"kind": "Gaussian", "other": 1.0}),
        ("seed", "5"),
        ("names", "abc"),
        ("names", ["a", "a"]),
        ("names", [{"no": "name"}]),
        ("tolerance", {"kind": "said", "value": ["x"]}),
        ("tolerance", {"kind": "said"}),
        ("on_worker_loss", "again"),
        ("surprise", 1),
    ],
)
def test_a_hostile_spec_ends_in_one_line(name: str, value: Any) -> None:
    document = kept(SPEC)
    document["question"][name] = value
    with pytest.raises((StorageError, SettingsError)) as caught:
        Spec.of_json(document, "nightly")
    assert "nightly" in str(caught.value) and "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("document", [{}, {"format": "x"}, {"format": "kabc study"}, [], None])
def test_what_is_no_spec_is_refused(document: Any) -> None:
    with pytest.raises(StorageError, match="study 'nightly'"):
        Spec.of_json(document, "nightly")


def test_a_spec_of_a_later_version_is_refused_by_name() -> None:
    with pytest.raises(StorageError, match="version 2 of the spec, this kabc reads 1; update kabc"):
        Spec.of_json(kept(SPEC) | {"version": 2}, "nightly")


# ---------------------------------------------------------------- facts of arms

FACTS = Facts(
    (
        ArmFacts(500, in_order=True, in_blocks=True, fingerprint="x"),
        ArmFacts(one_at_a_time=True),
        ArmFacts(paired=True),
    ),
    notes=("a note",),
    columns=("seconds",),
    price=0.5,
    types={"seconds": "number"},
    source="log.csv",
)


def test_facts_come_back_as_they_were() -> None:
    document = json.loads(json.dumps(facts_document(FACTS)))
    assert facts_of_document(document, 3, "nightly") == FACTS


@pytest.mark.parametrize(
    ("arm", "change", "message"),
    [
        (0, {"size": 480}, "arm 'a': it had 500 rows when the study began, here it has 480 rows"),
        (0, {"size": None}, "arm 'a': it had 500 rows when the study began, here it has no end"),
        (0, {"fingerprint": "y"}, "arm 'a': its rows are not those"),
        (1, {"one_at_a_time": False}, "arm 'b': it was drawn one sample at a time"),
        (2, {"paired": False}, "arm 'c': it shared its inputs"),
    ],
)
def test_other_arms_are_refused_by_name(arm: int, change: dict[str, Any], message: str) -> None:
    arms = list(FACTS.arms)
    arms[arm] = replace(arms[arm], **change)
    with pytest.raises(kabc.ArmError, match=message):
        FACTS.expect_same(replace(FACTS, arms=tuple(arms)), "abc")


@pytest.mark.parametrize("change", [{"arms": []}, {"arms": [{"size": "x"}] * 3}, {"price": "1"}, {"more": 1}])
def test_hostile_facts_end_in_one_line(change: dict[str, Any]) -> None:
    with pytest.raises(StorageError, match="facts of study 'nightly' are damaged") as caught:
        facts_of_document(facts_document(FACTS) | change, 3, "nightly")
    assert "\n" not in str(caught.value)
