"""What came in: how many samples of each arm, the first of them, texts as numbers. It knows facts of arms, no arms."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.errors import ArmError, SampleError
from kabc.core.samples import as_points, as_rows, kinds_of
from kabc.core.words import counted
from kabc.running.anchors import Anchored
from kabc.running.record import Kept
from kabc.running.reuse import Reuse
from kabc.running.strings import Strings, text_rows
from kabc.running.watch import Watch
from kabc.strategies.base import Request
from kabc.study.facts import Facts

Pieces = Mapping[int, Sequence[ArrayLike]]  # arm -> what its draws of a round gave, in their order


_STATE = ("drawn", "_kept", "strings", "_watch", "notes", "columns", "block", "_sizes", "_width")
_MOST_UNHEARD = 4096  # samples


class Intake:
    """The samples of a run as they come, round by round.

    Parameters
    ----------
    names : tuple of hashable
        Of the arms.
    facts : Facts
        What is known of the arms.
    seed : int
        Of the run.
    strings : Strings, optional
        Makes texts numbers, where the strategy needs that.
    watch : Watch, optional
        Hears every sample.
    reuse : Reuse, optional
        Recorded samples, which are read first.
    """

    def __init__(
        self,
        names: tuple[Hashable, ...],
        facts: Facts,
        seed: int,
        strings: Strings | None = None,
        watch: Watch | None = None,
        reuse: Reuse | None = None,
    ) -> None:
        self.names, self.facts, self.seed = names, facts, seed
        self.notes, self.columns, self.price, self.levels = facts.notes, facts.columns, facts.price, facts.levels
        self.strings, self.reuse = strings, reuse
        self.block = 1  # consecutive samples of an arm that form one
        self.drawn = [0] * len(names)
        self._kept, self._watch = Kept(len(names)), watch
        self._unheard: list[dict[int, ArrayLike]] = []  # rounds that these two have not heard of yet
        self._n_unheard = 0  # samples of these rounds
        self.changed: Anchored | None = None  # what new samples say of recorded ones, in the end
        # refuses what is no sample; None: texts are samples too
        self.coerce: Callable[[ArrayLike], object] | None = as_points if strings is None else None
        self._width = None if reuse is None else reuse.width  # columns of a sample as arms return it
        self._sizes = [arm.size for arm in facts.arms]
        self._endless = reuse is None and all(size is None for size in self._sizes)  # no arm can run out

    def state(self) -> dict[str, Any]:
        """All that came in, as far as it matters for what comes next."""
        self._catch_up()
        return {name: getattr(self, name) for name in _STATE}

    def take_up(self, state: Mapping[str, Any]) -> None:
        """Go on after a state."""
        for name in _STATE:
            setattr(self, name, state[name])
        if self.strings is not None and self.strings.encoder is not None:
            self.levels = self.strings.encoder.levels

    def __len__(self) -> int:
        return len(self.names)

    @property
    def kept(self) -> Kept:
        """The first samples of each arm."""
        self._catch_up()
        return self._kept

    @property
    def watch(self) -> Watch | None:
        """Hears every sample; None: nobody does."""
        self._catch_up()
        return self._watch

    @property
    def n_samples(self) -> int:
        """All samples so far."""
        return sum(self.drawn)

    @property
    def new(self) -> list[int]:
        """Samples of each arm that were drawn for this run, recorded ones left out."""
        return self.drawn if self.reuse is None else self.reuse.drawn

    @property
    def n_recorded(self) -> int:
        """Samples of an earlier study that were read."""
        return 0 if self.reuse is None else self.reuse.n_recorded

    def rest(self, request: Request) -> Request:
        """What is to be drawn of a request, where no record has it."""
        return request if self.reuse is None else self.reuse.rest(request)

    # ------------------------------------------------------------ what is left

    def cut(self, block: int, left: Sequence[int | None] | None = None) -> None:
        """From now on this many consecutive samples form one. `left`: of each arm, where live arms can say it."""
        self.block = block
        if block == 1:
            return
        for arm, about in enumerate(self.facts.arms):
            rest = self.left(arm) if left is None else left[arm]
            self._endless &= rest is None
            if rest is not None and about.in_blocks:
                whole = rest // block * block if left is None else rest
                self._sizes[arm] = self.drawn[arm] + whole

    def left(self, arm: int) -> int | None:
        """How many more samples an arm can give. None: any number."""
        size = self._sizes[arm]
        if self.is_recorded(arm) and self.reuse is not None and not self.reuse.open:
            size = 0
        return None if size is None else size - self.drawn[arm]

    def ends_the_run(self, arm: int) -> bool:
        """Whether a run must not go on without the arm once it has no more samples.

        It has only those of an earlier study, and how many these are depends on what they are.
        """
        return self.is_recorded(arm) and (self.reuse is None or self.reuse.open)

    def is_recorded(self, arm: int) -> bool:
        """Whether it has only samples of an earlier study."""
        return self.facts.arms[arm].recorded

    def too_small(self, request: Request) -> list[int]:
        """Arms that cannot give what is asked for."""
        if self._endless:
            return []
        return [arm for arm, count in request.items() if (left := self.left(arm)) is not None and left < count]

    @property
    def pools(self) -> dict[Hashable, int]:
        """Samples left of the arms that can run out."""
        left = {name: self.left(arm) for arm, name in enumerate(self.names) if not self.is_recorded(arm)}
        return {name: count for name, count in left.items() if count is not None}

    def need(self, request: Request) -> None:
        """Refuse a pilot that a pool cannot give."""
        for arm in self.too_small(request):
            raise ArmError(
                f"it has {counted(self.left(arm) or 0, 'sample')}, fewer than the {request[arm]} of the pilot; "
                "lower pilot=, or pass a kernel with a fixed bandwidth"
            ).of_arm(self.names[arm])

    # ------------------------------------------------------------ what comes

    def expect(self, rows: NDArray[Any]) -> None:  # (n,) or (n, d)
        """Refuse samples that no strategy could be told. The store looks again, and knows those of other processes."""
        if self.coerce is not None:
            self.coerce(rows)
        kinds_of(rows)
        self.expect_width(rows, only_look=True)

    def expect_width(self, rows: ArrayLike, *, only_look: bool = False) -> None:
        """Refuse other columns than before; the first ones say how many there are."""
        shape = np.shape(rows)
        width = 1 if len(shape) == 1 else shape[1]
        if self._width is None:
            self._width = None if only_look else width
        elif width != self._width:
            raise SampleError(
                f"samples have {counted(width, 'column')}, and those before had {self._width}; all arms and rounds "
                "need the same columns"
            )

    def take(self, pieces: Pieces) -> dict[int, ArrayLike]:
        """The samples of a whole round: counted, kept, shown to those who watch. Texts become numbers.

        Texts of the first round decide how they become numbers. The watch does not hear them: what it hears must not
        have chosen its form.
        """
        rows = self._counted(pieces)
        if self._width is None and rows:
            self.expect_width(next(iter(rows.values())))
        strings = self.strings
        decided = strings is None or strings.decided
        if strings is not None and not decided:
            strings.decide(list(rows.values()))
        if strings is None or strings.encoder is None:
            self._hear_later(rows)
            return rows
        if decided:
            return {arm: self._heard(arm, self._numbers(arm, one)) for arm, one in rows.items()}
        self.notes = (*self.notes, *strings.notes)
        self.columns, self.levels = strings.encoder.names, strings.encoder.levels
        encoded = {arm: self._numbers(arm, one) for arm, one in rows.items()}
        for arm, one in encoded.items():
            self.kept.add(arm, one)
        return encoded

    def count(self, request: Request) -> None:
        """Samples of a round that were summed where they are: they are counted, and never come here."""
        for arm, count in request.items():
            self.drawn[arm] += count

    def take_part(self, pieces: Pieces) -> None:
        """The samples of a round that will not be finished: no strategy hears of them."""
        for arm, one in self._counted(pieces).items():
            if self.strings is None or self.strings.decided:
                self._heard(arm, self._numbers(arm, one))
            elif text_rows(one) is None:
                self._heard(arm, one)

    def count_unread(self) -> None:
        """Count what was drawn to check a record, and never told. Once, at the end."""
        for arm in range(len(self) if self.reuse is not None else 0):
            assert self.reuse is not None
            self.drawn[arm] += self.reuse.unread(arm)

    def _counted(self, pieces: Pieces) -> dict[int, ArrayLike]:
        for arm, parts in pieces.items():
            self.drawn[arm] += sum(map(len, parts))  # type: ignore[arg-type]
        return {arm: parts[0] if len(parts) == 1 else self._joined(arm, parts) for arm, parts in pieces.items()}

    def _joined(self, arm: int, parts: Sequence[ArrayLike]) -> ArrayLike:
        try:
            return np.concatenate([as_rows(part) for part in parts])
        except ValueError as error:
            raise SampleError(f"its samples do not fit together: {error}").of_arm(self.names[arm]) from error

    def _numbers(self, arm: int, rows: ArrayLike) -> ArrayLike:
        try:
            return rows if self.strings is None else self.strings.numbers(rows)
        except SampleError as error:
            raise error.of_arm(self.names[arm]) from None

    def _heard(self, arm: int, rows: ArrayLike) -> ArrayLike:
        self._catch_up()
        self._kept.add(arm, rows)
        if self._watch is not None:
            self._watch.hear(arm, rows)
        return rows

    def _hear_later(self, rows: dict[int, ArrayLike]) -> None:
        """What is kept and watched is looked at in the end: many rounds at once take less time. They are copied now."""
        n_samples = sum(map(len, rows.values()))  # type: ignore[arg-type]
        if self._n_unheard + n_samples > _MOST_UNHEARD:
            for arm, one in rows.items():
                self._heard(arm, one)
            return
        self._unheard.append({arm: np.array(one) for arm, one in rows.items()})
        self._n_unheard += n_samples

    def close(self) -> None:
        """No more rounds come: those that were not heard of yet are heard of as one, where their samples are alike."""
        parts: dict[int, list[Any]] = {}
        for rows in self._unheard:
            for arm, one in rows.items():
                parts.setdefault(arm, []).append(one)
        if len({(one.dtype, one.shape[1:]) for some in parts.values() for one in some}) == 1:
            self._unheard = [{arm: np.concatenate(some) for arm, some in parts.items()}]
        self._catch_up()

    def _catch_up(self) -> None:
        """Hear of the rounds that were not heard of yet."""
        if self._unheard:
            rounds, self._unheard, self._n_unheard = self._unheard, [], 0
            for rows in rounds:
                for arm, one in rows.items():
                    self._heard(arm, one)
