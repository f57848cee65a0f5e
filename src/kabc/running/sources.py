"""The arms of a run with their names, what was drawn of them, and where draws run."""

from __future__ import annotations

import pickle
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.base import Arm, NamedArms, as_arm
from kabc.arms.tallies import Failures, failures_of
from kabc.core.errors import ArmError, SampleError, SettingsError
from kabc.core.samples import describe
from kabc.core.words import counted
from kabc.running.away import Away
from kabc.running.draws import Drawing, one_at_a_time, rng_of
from kabc.running.progress import Ticker
from kabc.running.record import Kept
from kabc.running.strings import Strings, text_rows
from kabc.running.watch import Watch
from kabc.running.workers import OnWorkerLoss, Workers, waits
from kabc.strategies.base import Request

ArmLike = Callable[[int, np.random.Generator], ArrayLike] | Callable[..., Awaitable[Any]] | ArrayLike | Arm
Arms = Mapping[Any, ArmLike] | Sequence[ArmLike]


class Sources:
    """Arms with their names, and how many samples of each were drawn."""

    def __init__(self, arms: Arms, names: Sequence[Hashable] | None, seed: int) -> None:
        named = named_arms(arms, names)
        if len(named) < 2:
            raise ArmError(f"there must be at least 2 arms to compare, got {len(named)}")
        # random numbers: keys (arm,) shuffle the pools, keys (arm, round) are for draws; no key is used twice
        self.arms = [as_arm(name, source, rng_of(seed, i)) for i, (name, source) in enumerate(named)]
        self.names = tuple(name for name, _ in named)
        self.paired = [bool(getattr(arm, "paired", False)) for arm in self.arms]  # samples of a match share something
        about = arms if isinstance(arms, NamedArms) else NamedArms({})
        self.notes, self.columns, self.price, self.levels = about.notes, about.columns, about.price, about.levels
        self.source = about.source
        self.seed = seed
        self.block = 1  # consecutive samples of an arm that form one
        self.drawn = [0] * len(self.arms)
        self.lost = [0] * len(self.arms)  # samples of draws that gave nothing, of arms that do not count their calls
        self.n_redrawn = self.n_encoded = 0  # draws that died with their worker
        self._paid_before = [getattr(arm, "n_paid", 0) for arm in self.arms]
        self._failed_before = [failures_of(arm) for arm in self.arms]
        self.kept = Kept(len(self.arms))
        self.watch: Watch | None = None  # hears every sample, where there is one
        self.strings: Strings | None = None  # makes texts numbers, where the strategy needs that
        self.workers = Workers(None, 1, owned=False)
        self._may_leave: dict[int, bool] = {}

    def __len__(self) -> int:
        return len(self.arms)

    def cut(self, block: int) -> None:
        """From now on, this many consecutive samples form one: pools give whole blocks, in random order."""
        self.block = block
        if block > 1:
            self.arms = [arm.in_blocks(block) if hasattr(arm, "in_blocks") else arm for arm in self.arms]

    @property
    def n_samples(self) -> int:
        """All samples drawn so far."""
        return sum(self.drawn)

    @property
    def n_lost(self) -> int:
        """Draws that were paid for without a sample to show: new tries, refused calls, warm-ups, lost draws."""
        counts = zip(self.arms, self._paid_before, self.drawn, self.lost, strict=True)
        return sum(
            max(arm.n_paid - before - drawn, 0) if hasattr(arm, "n_paid") else lost
            for arm, before, drawn, lost in counts
        )

    @property
    def spent(self) -> float:
        """The bill so far."""
        return self.price * (self.n_samples + self.n_lost)

    @property
    def failures(self) -> dict[Hashable, Failures]:
        """What failed in this run, of arms that count it."""
        counts = zip(self.names, self.arms, self._failed_before, strict=True)
        found = {name: failures_of(arm).since(before) for name, arm, before in counts}
        return {name: one for name, one in found.items() if one.count}

    @property
    def losses(self) -> list[str]:
        """What to know about draws that died with their worker."""
        said = []
        if self.n_redrawn:
            verb = "was" if self.n_redrawn == 1 else "were"
            said.append(
                f"{counted(self.n_redrawn, 'draw')} {verb} lost with a worker and drawn again; values that kill a "
                "worker may be missing now"
            )
        if self.n_encoded:
            verb = "was" if self.n_encoded == 1 else "were"
            said.append(f"{counted(self.n_encoded, 'draw')} {verb} lost with a worker and encoded as failed samples")
        return said

    def can_give(self, request: Request) -> bool:
        """Whether no pool is too small."""
        return not self.too_small(request)

    def too_small(self, request: Request) -> list[int]:
        """Arms that cannot give what is asked for."""
        limits = ((arm, self.arms[arm].remaining, count) for arm, count in request.items())
        return [arm for arm, remaining, count in limits if remaining is not None and remaining < count]

    @property
    def pools(self) -> dict[Hashable, int]:
        """Samples left of the arms that can run out."""
        left = {name: arm.remaining for name, arm in zip(self.names, self.arms, strict=True)}
        return {name: count for name, count in left.items() if count is not None}

    def need(self, request: Request) -> None:
        """Refuse a pilot that a pool cannot give."""
        for arm, count in request.items():
            remaining = self.arms[arm].remaining
            if remaining is not None and remaining < count:
                raise ArmError(
                    f"it has {counted(remaining, 'sample')}, fewer than the {count} of the pilot; "
                    "lower pilot=, or pass a kernel with a fixed bandwidth"
                ).of_arm(self.names[arm])

    def draw(self, request: Request, round_number: int, show: Ticker) -> dict[int, ArrayLike]:
        """The samples of a round. What was drawn is counted even if the round is not finished."""
        drawing = Drawing(self, request, round_number, show)
        if self.workers.executor is None:
            drawing.here()
        else:
            Away(self, drawing).run()
        return drawing.samples()

    # ------------------------------------------------------------ what was drawn

    def received(self, arm: int, rows: ArrayLike) -> ArrayLike:
        """Count new samples of an arm, keep them, and show them to those who watch. Texts come back as numbers.

        Texts of the first round wait until it is whole: all of them decide how they become numbers.
        """
        self.drawn[arm] += len(rows)  # type: ignore[arg-type]
        if self.strings is not None and not self.strings.decided and text_rows(rows) is not None:
            return rows
        rows = self._numbers(arm, rows)
        self._hear(arm, rows)
        return rows

    def as_numbers(self, samples: dict[int, ArrayLike]) -> dict[int, ArrayLike]:
        """The samples of a whole round, with numbers for texts."""
        if self.strings is None or self.strings.decided:
            return samples
        self.strings.decide(list(samples.values()))
        if self.strings.encoder is None:
            return samples
        self.notes = (*self.notes, *self.strings.notes)
        self.columns, self.levels = self.strings.encoder.names, self.strings.encoder.levels
        encoded = {arm: self._numbers(arm, rows) for arm, rows in samples.items()}
        for arm, rows in encoded.items():
            self.kept.add(arm, rows)  # not the watch: what it hears must not have chosen its form
        return encoded

    def _numbers(self, arm: int, rows: ArrayLike) -> ArrayLike:
        try:
            return rows if self.strings is None else self.strings.numbers(rows)
        except SampleError as error:
            raise error.of_arm(self.names[arm]) from None

    def _hear(self, arm: int, rows: ArrayLike) -> None:
        self.kept.add(arm, rows)
        if self.watch is not None:
            self.watch.hear(arm, rows)

    def may_leave(self, arm: int) -> bool:
        """Whether an arm is drawn on the executor. In another process: it keeps nothing here, and it can be sent."""
        if self.workers.shares_memory:
            return waits(self.arms[arm]) or not self.workers.only_waiting
        if arm not in self._may_leave:
            one = self.arms[arm]
            keeps = one.remaining is not None or one_at_a_time(one) or hasattr(one, "close")
            self._may_leave[arm] = not keeps and _picklable(one)
        return self._may_leave[arm]

    def check_workers(self) -> None:
        """Refuse before the first sample what cannot be done when a worker dies."""
        on_loss = self.workers.on_loss
        if on_loss not in get_args(OnWorkerLoss):
            raise SettingsError(f"on_worker_loss must be 'redraw', 'encode' or 'raise', got {on_loss!r}")
        if on_loss != "encode" or self.workers.shares_memory:
            return
        for number, (name, arm) in enumerate(zip(self.names, self.arms, strict=True)):
            if self.may_leave(number) and not callable(getattr(arm, "failed", None)):
                raise SettingsError(
                    "on_worker_loss='encode' needs an arm with a value for failures, a method failed(n), and this one "
                    "has none; use 'redraw' or 'raise'"
                ).of_arm(name)

    def close(self) -> list[str]:
        """End what arms hold open, and our workers. Returns what went wrong: the answer does not depend on it."""
        self.workers.close()
        wrong = []
        for name, arm in zip(self.names, self.arms, strict=True):
            close = getattr(arm, "close", None)
            try:
                if callable(close):
                    close()
            except Exception as error:
                wrong.append(f"arm {name!r} could not be closed: {type(error).__name__}: {error}")
        return wrong


def _picklable(arm: Arm) -> bool:
    try:
        pickle.dumps(arm)
    except Exception:  # an object that cannot be sent may raise anything
        return False
    return True


def named_arms(arms: Arms, names: Sequence[Hashable] | None) -> list[tuple[Hashable, ArmLike]]:
    """The arms with their names; refused where they are not arms, or two have one name."""
    if isinstance(arms, Mapping):
        if names is not None:
            raise ArmError("names are given twice: by the mapping of arms and by names=; leave names= out")
        return _writable(list(arms.items()))
    if isinstance(arms, str | bytes) or not isinstance(arms, Sequence | np.ndarray):
        raise ArmError(f"arms must be a mapping name -> arm or a sequence of arms, got {type(arms).__name__}")
    if names is not None and (isinstance(names, str) or not isinstance(names, Sequence | np.ndarray)):
        raise ArmError(f"names must be a list with a name for each arm, got {describe(names)}")
    given: Sequence[Hashable] = range(len(arms)) if names is None else names
    if len(given) != len(arms):
        raise ArmError(f"{len(arms)} arms have {len(given)} names; give one name to each")
    seen: set[Hashable] = set()
    for name in given:
        if not isinstance(name, Hashable):
            raise ArmError(f"arm name {name!r} cannot be a name because it is not hashable; use a string or a tuple")
        if name in seen:
            raise ArmError(f"arm name {name!r} is given twice; names must differ")
        seen.add(name)
    return _writable(list(zip(given, arms, strict=True)))


def _writable(named: list[tuple[Hashable, ArmLike]]) -> list[tuple[Hashable, ArmLike]]:
    """Refuse a name that cannot be written down, before its samples are paid for."""
    for number, (name, _) in enumerate(named):
        try:
            str(name), repr(name)
        except Exception as error:  # a whole number of 5,000 digits, or an object whose own code fails
            raise ArmError(
                f"the name of arm {number}, of type {type(name).__name__}, cannot be written as text "
                f"({type(error).__name__}: {error}); use a short text"
            ) from error
    return named
