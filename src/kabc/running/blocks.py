"""How many consecutive samples form a block: as many as it takes for blocks to depend little on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.base import Arm
from kabc.core.arrays import Array
from kabc.core.dependence import memory_length
from kabc.core.errors import KabcError, SettingsError
from kabc.core.samples import as_points
from kabc.core.settings import whole_number
from kabc.core.words import counted, plural
from kabc.running.intake import Intake
from kabc.running.pilot import PILOT_ROUND
from kabc.running.settings import Settings
from kabc.running.steps import Script
from kabc.storage.contract import Json
from kabc.storage.errors import StorageError
from kabc.study.ledger import Ledger

BLOCK_OF_TIMES = 5.0  # length of a block over tau (docs/theory.md, section 20)
FEWEST_BLOCKS = 8  # of an arm: with fewer, bets have nothing to learn from
_QUANTILE = 0.95  # of the arms: one of a hundred hosts must not decide for all. Up to 20 arms: the largest
_ENOUGH_TIMES = 50  # rows of a pilot over tau: with fewer, tau may be underestimated by far
_LOOKED_AT, _MOST_LOOKED_AT = 2_000, 32_000  # rows of a pool, first and at most
_MOST_NUMBERS = 8_000_000  # rows x columns of all pools: 64 MB
_DRAWN, _MOST_DRAWN = 400, 6_400  # samples of a function, first and at most


@dataclass(frozen=True)
class BlockLength:
    """A length with what is said about it. `sizes`: samples of a live arm in each round of the pilot."""

    length: int
    notes: tuple[str, ...]
    sizes: tuple[int, ...]
    n_pilot: int  # samples that were drawn to find it

    @property
    def last_round(self) -> int:
        """The number of the last round of the pilot."""
        return PILOT_ROUND + max(0, len(self.sizes) - 1)


def settled_block(settings: Settings, intake: Intake, arms: Sequence[Arm], ledger: Ledger) -> Script[BlockLength]:
    """The length that the study goes by: the first one that was found, whatever later looks would find."""
    known = ledger.noted("block")
    if known is None:
        found = yield from block_length(settings, intake, arms)
        ledger.note("block", {"length": found.length, "notes": list(found.notes), "sizes": list(found.sizes)})
        return found
    length, notes, sizes = _of_note(known)
    live = [arm for arm, about in enumerate(intake.facts.arms) if not about.in_order]
    for number, size in enumerate(sizes):
        intake.take((yield PILOT_ROUND + number, dict.fromkeys(live, size)))
    return BlockLength(length, notes, sizes, sum(sizes) * len(live))


def _of_note(body: Json) -> tuple[int, tuple[str, ...], tuple[int, ...]]:
    """What a note says of the length; stores come from anywhere."""
    length, notes, sizes = body.get("length"), body.get("notes"), body.get("sizes")
    if not isinstance(sizes, list) or not isinstance(notes, list) or not all(type(n) is int and n > 0 for n in sizes):
        raise StorageError(f"the note on the length of blocks is damaged: {str(dict(body))[:100]}")
    return whole_number("block", length, 1), tuple(map(str, notes)), tuple(sizes)


def block_length(settings: Settings, intake: Intake, arms: Sequence[Arm]) -> Script[BlockLength]:
    """The length that suits the arms. Rows of pools are looked at; samples of other arms are drawn and counted."""
    pilot = _Pilot(settings, intake, arms)
    times = yield from pilot.times()
    tau = typical(times)
    length = 1 if tau <= 1 else math.ceil(BLOCK_OF_TIMES * tau)
    notes = [_note(length, tau, intake.names[int(np.argmax(times))])]
    if length > 1 and pilot.fewest < _ENOUGH_TIMES * tau:
        notes.append(
            f"block: the length rests on {counted(pilot.fewest, 'sample')} of an arm, only {pilot.fewest / tau:.0f} "
            "times as far as samples depend on each other; it may be too short"
        )
    return BlockLength(length, tuple(notes), tuple(pilot.sizes), pilot.n_drawn)


def _note(length: int, tau: float, arm: object) -> str:
    if length == 1:
        return "block: 1, as samples were not seen to depend on the ones before"
    return (
        f"block: {counted(length, 'consecutive sample')} form one, as samples depend on the ones before over about "
        f"{tau:.3g} samples (longest: arm {arm}); the length was chosen from the data, by a rule of thumb"
    )


class _Pilot:
    """Samples of each arm in the order in which they came, as many as their dependence asks for."""

    def __init__(self, settings: Settings, intake: Intake, arms: Sequence[Arm]) -> None:
        self._settings, self._intake, self._arms = settings, intake, arms
        facts = intake.facts.arms
        self._pools = [arm for arm, about in enumerate(facts) if about.in_order]
        self._live = [arm for arm, about in enumerate(facts) if not about.in_order]
        self._rows: list[list[Array]] = [[] for _ in facts]
        self._seen = 0  # rows of a pool that were looked at, at most
        self.sizes: list[int] = []  # samples of a live arm that were drawn, round by round

    @property
    def n_drawn(self) -> int:
        """Samples that were drawn."""
        return self._size * len(self._live)

    @property
    def _size(self) -> int:
        return sum(self.sizes)

    @property
    def fewest(self) -> int:
        """Rows of the arm that has the fewest."""
        return min(sum(map(len, rows)) for rows in self._rows)

    def times(self) -> Script[Array]:  # (N,)
        """How far samples of each arm depend on each other."""
        if self._pools:
            self._look(_LOOKED_AT)
        if self._live:
            yield from self._draw(_DRAWN if self._settings.pilot is None else self._settings.pilot_size)
        while True:
            found = np.array([memory_length(np.concatenate(rows)) for rows in self._rows])
            wanted = _ENOUGH_TIMES * typical(found)
            looked = self._look_further(wanted)
            if not (yield from self._draw_further(wanted)) | looked:
                return found

    def _look_further(self, wanted: float) -> bool:
        """Look at four times as many rows of each pool, where that helps and fits into memory."""
        lengths = [len(self._rows[arm][0]) for arm in self._pools]
        numbers = sum(self._rows[arm][0].size for arm in self._pools)
        if max(lengths, default=-1) < self._seen or self._seen >= min(wanted, _MOST_LOOKED_AT):
            return False
        if 4 * numbers > _MOST_NUMBERS:
            return False
        self._look(4 * self._seen)
        return True

    def _look(self, most: int) -> None:
        for arm in self._pools:
            pool: Any = self._arms[arm]
            self._rows[arm] = [self._points(arm, pool.in_order(most))]
        self._seen = most

    def _draw_further(self, wanted: float) -> Script[bool]:
        """Draw as many samples again of each live arm, where that helps and is not too expensive."""
        fixed = not self._live or self._settings.pilot is not None
        if fixed or self._size >= min(wanted, _MOST_DRAWN) or 4 * self.n_drawn > self._budget:
            return False
        yield from self._draw(self._size)
        return True

    def _draw(self, size: int) -> Script[None]:
        if 2 * (self.n_drawn + size * len(self._live)) > self._budget:
            raise SettingsError(
                f"block='auto' takes a pilot of {counted(size, 'sample')} of {counted(len(self._live), 'arm')} each, "
                f"more than half of max_samples={self._budget:,}; pass the length as block=, or a smaller pilot="
            )
        drawn = self._intake.take((yield PILOT_ROUND + len(self.sizes), dict.fromkeys(self._live, size)))
        self.sizes.append(size)
        for arm, rows in drawn.items():
            self._rows[arm].append(self._points(arm, rows))

    @property
    def _budget(self) -> float:
        return math.inf if self._settings.max_samples is None else self._settings.max_samples

    def _points(self, arm: int, rows: ArrayLike) -> Array:
        try:
            return as_points(rows)
        except KabcError as error:
            raise error.of_arm(self._intake.names[arm]) from None


def typical(times: Array) -> float:  # (N,)
    """The largest time; of many arms, one that few exceed."""
    return float(np.quantile(times, _QUANTILE, method="higher"))


def few_blocks(intake: Intake) -> tuple[str, ...]:
    """A note on pools with too few blocks to learn from; an error where fewer than two arms have enough."""
    if intake.block == 1:
        return ()
    few = {name: left // intake.block for name, left in intake.pools.items() if left < FEWEST_BLOCKS * intake.block}
    if not few:
        return ()
    name = min(few, key=lambda one: few[one])
    said = (
        f"{counted(len(few), 'arm')} of {len(intake)} {plural(len(few), 'has')} fewer than {FEWEST_BLOCKS} blocks of "
        f"{intake.block:,} consecutive rows (arm {name}: {few[name]})"
    )
    if len(intake) - len(few) < 2:
        raise SettingsError(f"{said}, too few to compare; give the arms more rows, or pass a smaller block=")
    return (f"block: {said}",)
