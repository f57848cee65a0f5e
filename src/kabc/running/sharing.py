"""Which part of a round is one worker's, where several draw for a study: as much as each of the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence

from kabc.running.stepping import living
from kabc.storage.contract import Storage


def share(
    storage: Storage,
    study: int,
    names: Sequence[Hashable],  # of all arms
    served: Collection[int] | None,  # arms of this worker; None: all
    seconds: float,  # of a lease
    most: int,
) -> int:
    """How many tickets a worker may hold: its part of what is left of the round, from 1 to `most`.

    A ticket that two workers can draw counts as half a one for each of them. As the round is drawn, the parts grow
    smaller, and what a slow worker has not taken goes to the others: none of them waits while a ticket is open.
    """
    workers = living(storage, study, seconds)
    if len(workers) < 2:
        return most
    if storage.summary(study).tickets.get("open", 0) >= most * len(workers):  # enough for all of them
        return most
    able = Counter(arm for worker in workers for arm in set(map(str, worker.facts.get("arms", ()))))
    left = storage.unfinished(study)
    mine = math.fsum(
        number / max(able[str(names[arm])], 1)
        for arms in left.values()
        for arm, number in arms.items()
        if served is None or arm in served
    )
    return max(1, min(most, math.ceil(mine - 1e-9)))
