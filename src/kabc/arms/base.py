"""What an arm is: a source that can be drawn from, at a price."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.asynchronous import AsyncArm
from kabc.arms.callables import CallableArm
from kabc.arms.pools import PoolArm
from kabc.core.errors import ArmError
from kabc.core.samples import describe


@runtime_checkable
class Arm(Protocol):
    """A source of samples. `draw` must give n independent samples, one row each.

    It may also have: `close()`, called when a run ends; `one_at_a_time`, True if it is to be drawn sample by sample, in
    turn with others; `waits`, True if a draw is mostly waiting, so that others may be drawn at the same time; `n_paid`,
    how many calls it has made so far, so that those without a sample are on the bill too; `failed(n)`, n rows that
    stand for failed samples; `paired`, True if `draw` takes a third argument, a generator that is the same for all arms
    of a round, for what their samples share; `failures`, a `Failures`: how many of its tries failed so far; `waiting`,
    a line for people while it waits for something; `stop()`, called when the run ends while it is drawn in another
    thread; `seek(start)`, after which the next draw begins with sample number `start`, counted from 0, whatever was
    drawn before: an arm with an end needs it where several processes draw, or a study is resumed; `fingerprint`, a
    text that differs where another process would draw other rows; `table`, what draws samples of several arms at
    once without random numbers, or sums them where they are, and the number of the arm there.
    """

    @property
    def remaining(self) -> int | None:
        """How many more samples it can give. None: any number."""

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        """The next n samples, (n,) or (n, d). All randomness comes from rng."""


class NamedArms(dict[str, Arm]):
    """Arms by name, with what is known about their samples.

    `notes` are sentences that the result repeats. `warnings` are those of them that people should read before they
    draw. `columns` name the columns of a sample. `price` is for one sample.
    `types` say whether a column of a table is a number, category or text. `levels` say which category a number stands
    for. `source` says where they come from: a file, a query, programs, hosts; keys are hidden.
    """

    def __init__(
        self,
        arms: Mapping[str, Arm],
        notes: Sequence[str] = (),
        columns: Sequence[str] = (),
        price: float = 0.0,
        types: Mapping[str, str] | None = None,
        levels: Mapping[str, dict[float, str]] | None = None,
        warnings: Sequence[str] = (),
        source: str = "",
    ) -> None:
        super().__init__(arms)
        self.notes = tuple(notes)
        self.warnings = tuple(warnings)
        self.columns = tuple(columns)
        self.price = price
        self.types = dict(types or {})
        self.source = source
        self.levels = {} if levels is None else levels  # filled as samples are drawn


def go_to(arm: Arm, start: int, drawn: int) -> None:
    """Let the next draw begin with sample number `start`, counted from 0; so far `drawn` were drawn here.

    It matters for arms with an end alone, or those with a method `seek`: others give samples that are all alike.
    """
    seek = getattr(arm, "seek", None)
    if callable(seek):
        seek(start)
    elif arm.remaining is not None and start != drawn:
        raise ArmError(
            f"it cannot begin with its sample {start:,}: {drawn:,} were drawn here, and it has no method seek(start); "
            "write one, or let one process draw it"
        )


def as_arm(name: object, source: Callable[..., Any] | ArrayLike | Arm, rng: np.random.Generator | None) -> Arm:
    """An arm from a function draw(n, rng), a coroutine function or a pool. `rng` decides the order of a pool.

    None: the source is no pool.
    """
    if hasattr(source, "draw") and isinstance(source, Arm):  # the second question takes long, and most sources lack it
        return source
    if inspect.iscoroutinefunction(source) or inspect.iscoroutinefunction(getattr(source, "__call__", None)):  # noqa: B004
        try:
            return AsyncArm(source)  # type: ignore[arg-type]
        except ArmError as error:
            raise error.of_arm(name) from None
    if callable(source):
        return CallableArm(source)
    if isinstance(source, str | bytes | dict) or source is None:
        raise ArmError(
            f"{describe(source)} is not an arm; pass a function draw(n, rng), or an array with one row for each sample"
        ).of_arm(name)
    assert rng is not None
    return PoolArm(name, source, rng)
