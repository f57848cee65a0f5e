"""What becomes of a draw whose worker died.

Drawing again is harmless only if the death had nothing to do with the value. Where slow or large draws kill their
worker, drawing again leaves these values out of the data, and nobody sees it. See docs/retries.md.
"""

from __future__ import annotations

from typing import Literal

from kabc.core.words import counted
from kabc.storage.contract import Ticket

OnWorkerLoss = Literal["redraw", "encode", "raise"]
Fate = Literal["draw", "encode", "fail"]

MOST_DEATHS = 2  # of the workers of an arm: one may be chance, two are a pattern


def fate(ticket: Ticket, deaths: int, on_loss: OnWorkerLoss | None) -> Fate:
    """What to do with a ticket that was leased just now.

    `deaths` are the workers that died with tickets of its arm. None, the default, draws again, but fails where there
    are two of them.
    """
    if not ticket.deaths or on_loss == "redraw":
        return "draw"
    if on_loss == "encode":
        return "encode"
    return "fail" if on_loss == "raise" or deaths >= MOST_DEATHS else "draw"


def loss_message(deaths: int) -> str:
    """Why a ticket failed, for people."""
    workers = "the worker that drew from it" if deaths == 1 else f"{counted(deaths, 'worker')} that drew from it"
    return (
        f"{workers} died: killed, or out of memory? To draw again could leave out values that kill a worker; see to "
        "the cause and run the study again, or make a new study with on_worker_loss='redraw' or 'encode', such as "
        "study.grow(name, on_worker_loss='redraw') (docs/retries.md)"
    )
