"""The arms of a run with their names, and where draws run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.base import Arm, NamedArms, as_arm
from kabc.arms.tallies import Failures, failures_of
from kabc.core.arrays import Array, Counts, Index
from kabc.core.embeddings import FeatureSums
from kabc.core.errors import ArmError, SettingsError
from kabc.core.kernels import FiniteKernel
from kabc.core.samples import describe
from kabc.core.streams import rngs_of
from kabc.running.engines.base import Engine
from kabc.running.workers import Workers, one_at_a_time, waits
from kabc.study.facts import ArmFacts, Facts
from kabc.study.policies import OnWorkerLoss

ArmLike = Callable[[int, np.random.Generator], ArrayLike] | Callable[..., Awaitable[Any]] | ArrayLike | Arm
Arms = Mapping[Any, ArmLike] | Sequence[ArmLike]


class Table(Protocol):
    """What all arms are rows of (`kabc.arms.scans.RowBuffer`)."""

    @property
    def can_sum(self) -> bool:
        """Whether rows can be summed where they are."""

    def draw(self, arms: Index, counts: Counts) -> Array:  # (A,), (A,) -> (rows, d)
        """The next samples of some arms, arm after arm. If something is wrong with one of them, nothing is drawn."""

    def expect(self, most: int) -> None:
        """No more rows of an arm than this are drawn."""

    def sums(self, kernel: FiniteKernel, wanted: Counts) -> FeatureSums:  # (N,)
        """The sums of the next rows of each arm, which count as drawn."""


class Sources:
    """Arms with their names, where they are drawn, and what was lost on the way."""

    def __init__(self, arms: Arms, names: Sequence[Hashable] | None, seed: int) -> None:
        named = named_arms(arms, names)
        if len(named) < 2:
            raise ArmError(f"there must be at least 2 arms to compare, got {len(named)}")
        # random numbers: keys (arm,) shuffle the pools; see kabc.study.tickets for the others
        pools = [i for i, (_, source) in enumerate(named) if not callable(source)]
        rngs = dict(zip(pools, rngs_of(seed, [(i,) for i in pools]), strict=True))
        self.arms = [as_arm(name, source, rngs.get(i)) for i, (name, source) in enumerate(named)]
        self.table = table_of(self.arms)
        self.names = tuple(name for name, _ in named)
        self._about = arms if isinstance(arms, NamedArms) else NamedArms({})
        self.facts = facts_of(self.arms, self._about)
        self.seed = seed
        self._block = 1
        self.served: frozenset[int] | None = None  # arms that can be drawn here; None: all of them
        self.lost = [0] * len(self.arms)  # samples of draws that gave nothing, of arms that do not count their calls
        self.deaths: Counter[int] = Counter()  # workers of the engine that died with draws of an arm
        self._paid_before = [getattr(arm, "n_paid", 0) for arm in self.arms]
        self._failed_before = [failures_of(arm) for arm in self.arms]
        self.workers = Workers()
        self._dumped: dict[int, bytes] | None = None

    def __len__(self) -> int:
        return len(self.arms)

    def facts_to_keep(self) -> Facts:
        """The facts that a study keeps, by which other processes see that they have the same arms."""
        return facts_of(self.arms, self._about, fingerprints=True)

    @property
    def paired(self) -> list[Hashable]:
        """Names of the arms whose samples share something with those of others."""
        return [name for name, about in zip(self.names, self.facts.arms, strict=True) if about.paired]

    @property
    def here(self) -> Collection[int]:
        """Numbers of the arms that can be drawn here."""
        return range(len(self.arms)) if self.served is None else self.served

    def cut(self, block: int) -> list[int | None]:
        """From now on pools give whole blocks of consecutive samples, in random order. Returns what is left of each.

        Doing it twice is as good as once.
        """
        if block > 1 and self._block != block:
            self._block = block
            self.arms = [arm.in_blocks(block) if hasattr(arm, "in_blocks") else arm for arm in self.arms]
            self.table = table_of(self.arms)
        return [arm.remaining for arm in self.arms]

    def n_lost(self, drawn: Sequence[int]) -> int:
        """Draws that were paid for without a sample to show: new tries, refused calls, warm-ups, lost draws.

        `drawn`: samples of each arm.
        """
        counts = zip(self.arms, self._paid_before, drawn, self.lost, strict=True)
        return sum(
            max(arm.n_paid - before - count, 0) if hasattr(arm, "n_paid") else lost
            for arm, before, count, lost in counts
        )

    @property
    def failures(self) -> dict[Hashable, Failures]:
        """What failed in this run, of arms that count it."""
        counts = zip(self.names, self.arms, self._failed_before, strict=True)
        return {
            name: now.since(before) for name, arm, before in counts if (now := failures_of(arm)).count != before.count
        }

    def may_leave(self, arm: int) -> bool:
        """Whether an arm is drawn on the engine. In another process: it keeps nothing here, and it can be sent."""
        if self.workers.shares_memory:
            return waits(self.arms[arm]) or not self.workers.only_waiting
        return arm in self.dumped

    @property
    def dumped(self) -> dict[int, bytes]:
        """The arms that may leave this process, by number, as they are sent. It is the same object each time."""
        if self._dumped is None:
            engine = self.workers.engine
            assert engine is not None
            found = {number: _dumped(engine, arm) for number, arm in enumerate(self.arms) if not _keeps(arm)}
            self._dumped = {number: one for number, one in found.items() if one is not None}
        return self._dumped

    def check_workers(self) -> None:
        """Refuse before the first sample what cannot be done when a worker dies."""
        on_loss = self.workers.on_loss
        if on_loss not in (None, *get_args(OnWorkerLoss)):
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


def table_of(arms: Sequence[Arm]) -> Table | None:
    """The table that all arms are of, with the numbers that they have here; None: there is none."""
    # a wrapper that hands on the attributes of an arm may change its samples: the class must have it
    found = [getattr(arm, "table", None) if hasattr(type(arm), "table") else None for arm in arms]
    table: Table | None = None if found[0] is None else found[0][0]
    return table if found == [(table, number) for number in range(len(found))] else None


def facts_of(arms: Sequence[Arm], about: NamedArms, *, fingerprints: bool = False) -> Facts:
    """What is known of arms before they are drawn; with `fingerprints` of their rows, which takes a look at all.

    Arms that share their inputs are drawn in the same pieces: if one of them is drawn one at a time, all are.
    """
    paired = [bool(getattr(arm, "paired", False)) for arm in arms]
    matched = any(one_at_a_time(arm) for arm, shares in zip(arms, paired, strict=True) if shares)
    known = tuple(
        ArmFacts(
            size=None if arm.remaining is None else int(arm.remaining),
            one_at_a_time=one_at_a_time(arm) or (shares and matched),
            paired=shares,
            in_order=callable(getattr(arm, "in_order", None)),
            in_blocks=hasattr(arm, "in_blocks"),
            fingerprint=str(getattr(arm, "fingerprint", "")) if fingerprints else "",
            recorded=bool(getattr(arm, "recorded", False)),
        )
        for arm, shares in zip(arms, paired, strict=True)
    )
    return Facts(known, about.notes, about.columns, about.price, about.types, about.levels, about.source)


def _keeps(arm: Arm) -> bool:
    """Whether an arm keeps something here: its place, a connection, its turn."""
    return arm.remaining is not None or one_at_a_time(arm) or hasattr(arm, "close") or hasattr(arm, "seek")


def _dumped(engine: Engine, arm: Arm) -> bytes | None:
    try:
        return engine.dumps(arm)
    except Exception:  # an object that cannot be sent may raise anything
        return None


def named_arms(arms: Arms, names: Sequence[Hashable] | None) -> list[tuple[Hashable, ArmLike]]:
    """The arms with their names; refused where they are not arms, or two have one name."""
    if isinstance(arms, Mapping):
        if names is not None:
            raise ArmError("names are given twice: by the mapping of arms and by names=; leave names= out")
        return _writable(list(arms.items()))
    if isinstance(arms, str | bytes) or not isinstance(arms, Sequence | np.ndarray):
        kind = type(arms).__name__
        cure = "; pass the data frame itself, with arm= the column that it is grouped by" if "GroupBy" in kind else ""
        raise ArmError(f"arms must be a mapping name -> arm or a sequence of arms, got {kind}{cure}")
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
