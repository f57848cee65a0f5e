"""What an earlier study has recorded of each arm: all its samples, in the order in which they were drawn.

Only whole rounds are read: of a round that is still being drawn, quick draws are there and slow ones are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import SampleError
from kabc.core.samples import as_rows, two_dimensional
from kabc.storage.contract import Storage

Rows = NDArray[Any]  # (n, d)

_LATEST = 2**31 - 1  # no round has a higher number


def last_whole_round(storage: Storage, study: int) -> int:
    """The number of the last round of which all draws are there; -1 if there is none."""
    rounds = sorted({ticket.round for ticket, _ in storage.draws(study, 0, _LATEST)})
    # a round is opened when the one before is whole, so only the last one may be in parts
    if rounds and any(ticket.state != "done" for ticket in storage.tickets(study, rounds[-1])):
        rounds.pop()
    return rounds[-1] if rounds else -1


def drawn_rows(storage: Storage, study: int, first: int, last: int) -> dict[int, Rows]:
    """The samples of each arm that were drawn in rounds first to last, in their order."""
    pieces: dict[int, list[tuple[int, int, Rows]]] = {}
    for ticket, draw in storage.draws(study, first, last):
        pieces.setdefault(ticket.arm, []).append((ticket.round, ticket.piece, two_dimensional(as_rows(draw.rows))))
    in_order = {arm: sorted(parts, key=lambda one: one[:2]) for arm, parts in pieces.items()}
    return {arm: joined(arm, [rows for *_, rows in parts]) for arm, parts in in_order.items()}


def joined(arm: object, parts: list[Rows]) -> Rows:
    """Parts of one sequence of samples."""
    try:
        return np.concatenate(parts)
    except ValueError as error:
        raise SampleError(f"recorded samples do not fit together: {error}").of_arm(arm) from error
