"""Which worker may do the step of a study, where some lack arms with an order of their own: tables and arrays.

The step looks at the order of rows before the first round: to watch it, and for block="auto". So a worker that has all
of these arms comes first. If there is none, the others go on without the look, and the certificate says so.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from kabc.core.errors import SettingsError
from kabc.core.words import in_short
from kabc.running.heartbeat import Heartbeat
from kabc.running.identity import is_gone
from kabc.running.settings import AUTO
from kabc.running.sources import Sources
from kabc.storage.contract import Storage, WorkerRecord
from kabc.study.facts import Facts
from kabc.study.ledger import Ledger


@dataclass
class StepRight:
    """Whether this process may do the step. `block` is that of the study's question."""

    ledger: Ledger
    names: Sequence[Hashable]
    facts: Facts
    sources: Sources
    heart: Heartbeat
    block: int | str | None
    _ordered: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._ordered = [arm for arm, about in enumerate(self.facts.arms) if about.in_order]

    def __call__(self) -> bool:
        """True: it may. Refused where nobody can find the length of the blocks: all would wait for ever."""
        if set(self._ordered) <= set(self.sources.here):
            return True
        if self._others_have_all():
            return False
        if self.block == AUTO and self.ledger.noted("block") is None:
            raise SettingsError(
                "block='auto' looks at the rows of all tables, so one worker must have all of these arms: "
                f"{in_short([str(self.names[arm]) for arm in self._ordered])}; start such a worker first, or make a "
                "study with block= a number"
            )
        return True

    def _others_have_all(self) -> bool:
        """Whether another worker that lives has all arms with an order of their own."""
        wanted = {str(self.names[arm]) for arm in self._ordered}
        workers = living(self.ledger.storage, self.ledger.study.id, self.heart.seconds)
        return any(wanted <= set(map(str, worker.facts.get("arms", ()))) for worker in workers)


def living(storage: Storage, study: int, seconds: float) -> list[WorkerRecord]:
    """The workers that gave a sign of life within two leases, and whose process is not known to have ended."""
    since = storage.now() - 2 * seconds
    return [one for one in storage.workers(study) if one.last_seen >= since and not is_gone(one.facts)]
