"""Workers that have a part of the arms: what they know together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kabc.arms.base import NamedArms
from kabc.arms.callables import PairedArm
from kabc.core.errors import ArmError, SettingsError
from kabc.running.gathering import gathered_facts, part_document, part_of_arms
from kabc.storage.memory import MemoryStorage
from kabc.study.facts import Facts
from kabc.study.tickets import rng_of

NAMES = ("a", "b", "c")
RNG = np.random.default_rng(0)


def endless(n: int, rng: np.random.Generator) -> Any:
    return rng.normal(0.0, 1.0, n)


class OneByOne(PairedArm):
    one_at_a_time = True


def part(arms: Any) -> Any:
    return part_of_arms(arms, NAMES, 3, "nightly")


class Study:
    def __init__(self) -> None:
        self.storage = MemoryStorage()
        self.id = self.storage.create_study("nightly", {}, {}).id

    def joined(self, name: str, arms: Any) -> tuple[Facts | None, list[Any]]:
        """A worker comes with its arms; what is known then."""
        sources = part(arms)
        served = sources.served if sources.served is not None else range(3)
        self.storage.register_worker(self.id, name, part_document(sources.facts, served))
        study = self.storage.load_study("nightly")
        return gathered_facts(self.storage, study, NAMES, sources.facts, served)


def test_arms_have_the_places_and_the_shuffle_that_they_have_in_the_study() -> None:
    pool = np.arange(50.0)
    sources = part({"c": pool, "a": endless})
    assert sources.names == NAMES
    assert sources.served == {0, 2}
    assert np.array_equal(sources.arms[2].draw(50, RNG), pool[rng_of(3, 2).permutation(50)])
    with pytest.raises(ArmError, match="not among the arms of this worker"):
        sources.arms[1].draw(1, RNG)
    assert part(dict.fromkeys(NAMES, endless)).served is None


def test_arms_that_the_study_does_not_have_are_refused() -> None:
    with pytest.raises(SettingsError, match="study 'nightly' has no arm 'x'; it has a, b, c"):
        part({"a": endless, "x": endless})
    with pytest.raises(ArmError, match="there is no arm to draw from"):
        part({})


def test_workers_that_have_all_arms_together_know_all_of_them() -> None:
    study = Study()
    assert study.joined("left", {"a": endless, "b": np.arange(7.0)}) == (None, ["c"])
    facts, unknown = study.joined("right", {"c": np.arange(9.0)})
    assert facts is not None
    assert unknown == []
    assert [arm.size for arm in facts.arms] == [None, 7, 9]
    assert study.joined("late", {"b": np.arange(7.0)}) == (facts, [])


def test_an_arm_that_is_another_one_here_is_refused_by_name() -> None:
    study = Study()
    study.joined("first", dict.fromkeys(NAMES, endless) | {"b": np.arange(7.0)})
    with pytest.raises(ArmError, match="arm 'b': it had 7 rows when the study began, here it has 8 rows"):
        study.joined("second", {"b": np.arange(8.0)})
    study.joined("third", {"a": endless})


def test_other_columns_are_refused() -> None:
    study = Study()
    arms: Any = dict.fromkeys(NAMES, endless)
    study.joined("first", NamedArms(arms, columns=["seconds"]))
    with pytest.raises(SettingsError, match=r"columns \['seconds'\] when the study began"):
        study.joined("second", NamedArms({"a": arms["a"]}, columns=["bytes"]))


def test_arms_that_share_their_inputs_are_drawn_in_the_same_pieces_whoever_has_them() -> None:
    def draw(n: int, rng: np.random.Generator, shared: np.random.Generator) -> Any:
        return shared.normal(0.0, 1.0, n)

    study = Study()
    study.joined("left", {"a": OneByOne(draw)})
    facts, _ = study.joined("right", {"b": PairedArm(draw), "c": endless})
    assert facts is not None
    assert [arm.one_at_a_time for arm in facts.arms] == [True, True, False]


@pytest.mark.parametrize("about", [None, [], {"arms": []}, {"arms": {"1": "no", "9": {}}}])
def test_what_others_wrote_into_a_store_is_not_trusted(about: Any) -> None:
    study = Study()
    study.storage.register_worker(study.id, "hostile", {"about": about})
    facts, unknown = study.joined("left", {"a": endless, "c": endless})
    assert (facts, unknown) == (None, ["b"])
