"""The answer so far in a few figures, for lists of studies: how many groups, and about how many samples more.

A list replays no study. So the process that does the step of a study writes these figures now and then, beside the
facts of its worker. Of a study that has ended, its answer has them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kabc.storage.contract import Json, Storage, StudyRecord, WorkerRecord
from kabc.storage.errors import StorageError

if TYPE_CHECKING:  # a look at a study loads no strategies
    from kabc.results.values import Result
    from kabc.strategies.base import Strategy

KEY = "so_far"  # in the facts of a worker
_FIRST = 1.0  # seconds until they are written first: short studies do without
_SECONDS = 5.0  # between two times
_SHARE = 0.05  # of the time that may go into it


def of_strategy(strategy: Strategy) -> dict[str, Any]:
    """What is known after a round."""
    from kabc.results.forecast import more_samples

    labels = strategy.recommend().labels
    more = more_samples(strategy)
    return {
        "n_samples": strategy.n_samples,
        "n_groups": len({label for label in labels if label >= 0}),
        "n_groups_at_least": strategy.n_groups_at_least,
        "certified": False,
        "forecast": None if more is None else int(more.sum()),
    }


def of_result(result: Result) -> dict[str, Any]:
    """The same of a result."""
    return {
        "n_samples": result.n_samples,
        "n_groups": len(result.groups),
        "n_groups_at_least": result.n_groups_at_least,
        "certified": result.certified,
        "forecast": sum((result.needs or {}).values()) or None,
    }


def of_answer(answer: Json) -> dict[str, Any]:
    """The same of an answer that is kept, which may hold anything."""
    groups, needs = answer.get("groups"), answer.get("needs")
    counts = [one for one in needs.values() if isinstance(one, int)] if isinstance(needs, dict) else []
    return {
        "n_samples": answer.get("n_samples"),
        "n_groups": len(groups) if isinstance(groups, list) else None,
        "n_groups_at_least": answer.get("n_groups_at_least"),
        "certified": answer.get("certified"),
        "forecast": sum(counts) or None,
    }


def known_so_far(study: StudyRecord, workers: Sequence[WorkerRecord]) -> Json | None:
    """What a store knows; None: nothing."""
    if study.state == "ended":
        return None if study.answer is None else of_answer(study.answer)
    said = [one.facts[KEY] for one in workers if isinstance(one.facts.get(KEY), dict)]
    return max(said, key=n_samples_of, default=None)


def n_samples_of(figures: Json) -> int:
    """How much is behind such figures."""
    found = figures.get("n_samples")
    return found if isinstance(found, int) else -1


class Teller:
    """Writes the figures of a study, from time to time, where the process is a worker of it."""

    def __init__(self, storage: Storage, study: int, worker: str) -> None:
        self._storage, self._study, self._worker = storage, study, worker
        self._due = time.monotonic() + _FIRST
        self.latest: dict[str, Any] | None = None

    def tell(self, strategy: Strategy | None) -> None:
        """A round was told."""
        started = time.monotonic()
        if strategy is None or started < self._due:
            return
        self.latest = of_strategy(strategy)
        with suppress(StorageError):  # nothing depends on it
            mine = next((one for one in self._storage.workers(self._study) if one.name == self._worker), None)
            if mine is not None:
                self._storage.register_worker(self._study, self._worker, {**mine.facts, KEY: self.latest})
        now = time.monotonic()
        self._due = now + max(_SECONDS, (now - started) / _SHARE)
