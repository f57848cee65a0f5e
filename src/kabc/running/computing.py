"""What a strategy computes in parts, on the engine that draws.

Computing is no draw. A part that is lost with its worker, or that cannot be sent, is computed here, and nothing is
counted. So where a part is computed changes neither the answer nor what the run costs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from kabc.running.engines.base import Engine
from kabc.running.sources import Sources
from kabc.strategies.base import ComputesInParts, Strategy

_POLL_SECONDS = 0.5
_PATIENCE = 60.0  # seconds without an answer, after which the rest is computed here
_SLOTS = 4  # where nobody knows how many there are


def computing(strategy: Strategy, sources: Sources | None) -> AbstractContextManager[None]:
    """Lend the engine to the strategy for a round, if it has a use for it."""
    engine = None if sources is None else sources.workers.engine
    if sources is None or engine is None or engine.shares_memory or not isinstance(strategy, ComputesInParts):
        return nullcontext()
    return _lent(engine, strategy, sources)


@contextmanager
def _lent(engine: Engine, strategy: ComputesInParts, sources: Sources) -> Iterator[None]:
    lent = Computing(engine)
    strategy.compute = lent
    try:
        yield
    finally:
        strategy.compute = None
        if lent.broken:  # by us: draws must not find it so
            sources.workers = sources.workers.rebuilt() or sources.workers


class Computing:
    """Computes parts on an engine, as `kabc.strategies.base.Compute` says."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.broken = False  # whether the engine is of no more use
        self._tired = False  # of waiting

    def __call__(
        self, function: Callable[[Any, Any], Any], common: Any, parts: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Each part with function(common, part), in their order. The first ones are sent at once."""
        waiting, sent = iter(parts), deque[tuple[Any, Future[Any] | None]]()
        compute: Callable[[Any], Future[Any]] | None = None

        def send() -> None:
            nonlocal compute
            while not sent or len(sent) < 2 * (self._engine.slots or _SLOTS):
                part = next(waiting, None)
                if part is None:
                    return
                compute = compute or self._engine.compute(function, common)
                sent.append((part, self._future(compute, part)))

        def answers() -> Iterator[tuple[Any, Any]]:
            while sent:
                part, future = sent.popleft()
                send()
                found = self._answer(future)
                yield part, function(common, part) if found is None else found

        send()
        return answers()

    def _future(self, compute: Callable[[Any], Future[Any]], part: Any) -> Future[Any] | None:
        """The future of a part; None if it is not sent."""
        if self.broken or self._tired:
            return None
        try:
            return compute(part)
        except Exception as error:  # an engine that is closed, or gone, may raise anything
            self._note(error)
            return None

    def _answer(self, future: Future[Any] | None) -> Any:
        """What came of a part; None if it is to be computed here."""
        if future is None:
            return None
        waited = 0.0
        while not (self._tired or self._engine.deserted or wait([future], _POLL_SECONDS).done):
            waited += _POLL_SECONDS
            self._tired = waited >= _PATIENCE
        if not future.done():
            future.cancel()
            return None
        try:
            return future.result()
        except Exception as error:  # if it is an error of the function, it is raised again here
            self._note(error)
            return None

    def _note(self, error: Exception) -> None:
        if isinstance(error, BrokenExecutor):
            self.broken |= self._engine.falls_as_one
        else:
            self._tired = True  # what cannot be sent once cannot be sent again
