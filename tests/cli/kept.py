"""Studies in a store, made draw by draw as workers do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kabc.storage.contract import Draw, NewTicket, Storage, StudyRecord
from kabc.storage.opening import open_storage
from kabc.study.documents import facts_document
from kabc.study.facts import ArmFacts, Facts
from kabc.study.spec import Spec

ARMS = ("a", "b", "c")
STARTED = 1_700_000_000.25  # when draws began, by the clock of the workers


def asked(arms: Sequence[str] = ARMS) -> dict[str, Any]:
    """A question about these arms."""
    return Spec(tuple(arms), "anytime", 7, n_clusters=2, delta=0.05).to_json()


def known(n_arms: int, columns: Sequence[str] = ("ms",)) -> dict[str, Any]:
    """What is known of so many arms."""
    return facts_document(Facts((ArmFacts(),) * n_arms, columns=tuple(columns), price=0.5))


def made(
    storage: Storage,
    name: str = "nightly",
    *,
    rounds: int = 2,
    count: int = 3,
    arms: Sequence[str] = ARMS,
    limits: Mapping[str, Any] | None = None,
) -> StudyRecord:
    """A study whose rounds are done; sample i of arm a is 100 a + i."""
    study = storage.create_study(name, asked(arms), limits or {})
    storage.set_facts(study.id, known(len(arms)))
    storage.register_worker(study.id, "w-1", {"host": "here"})
    for number in range(1, rounds + 1):
        draw_round(storage, study.id, number, count, len(arms))
    return storage.load_study(name)


def draw_round(storage: Storage, study: int, number: int, count: int, n_arms: int = len(ARMS)) -> None:
    """Open a round and hand in its draws."""
    start = (number - 1) * count
    storage.open_round(study, number, [NewTicket(arm, 0, start, count) for arm in range(n_arms)])
    leased = storage.exchange(study, "w-1", want=n_arms).leased
    draws = [
        Draw(
            ticket=one.id,
            lease=one.lease,
            worker="w-1",
            rows=100.0 * one.arm + np.arange(one.start, one.start + one.count),
            started=STARTED,
            ended=STARTED + 1,
            n_paid=2 * one.count if one.arm == 0 else 0,
        )
        for one in leased
    ]
    assert set(storage.exchange(study, "w-1", draws).outcomes) == {"done"}


def store(folder: Path) -> Storage:
    """A store in a file."""
    return open_storage(str(folder / "kabc.db"))
