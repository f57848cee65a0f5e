"""The loop that every run shares: ask, draw, tell, until something ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar

from numpy.typing import ArrayLike

from kabc.strategies.base import Request, Strategy

Drawn = Mapping[int, ArrayLike]  # arm -> samples (count, d)
Reason = TypeVar("Reason")


@dataclass
class Loop(Generic[Reason]):
    """The rounds of one strategy; iterate to run them. Each step is one whole round, counted from 1.

    The caller decides what happens between rounds (budgets, clocks, listeners), and may leave at any time.

    Parameters
    ----------
    strategy : Strategy
        Asks and is told. It may have rounds behind it.
    draw : callable, optional
        Gives the samples of a request. Without it, only `asks` can be used.
    forbids : callable, optional
        A reason not to draw a request, or None. A reason ends the loop, and is kept in `reason`.
    does_without : callable, optional
        Has the strategy set aside arms that cannot give what is asked for; True if it did. Then it is asked again.
    """

    strategy: Strategy
    draw: Callable[[Request], Drawn] | None = None
    forbids: Callable[[Request], Reason | None] | None = None
    does_without: Callable[[Request], bool] | None = None
    reason: Reason | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[int]:
        assert self.draw is not None
        for number, request in enumerate(self.asks(), 1):
            self.strategy.tell(self.draw(request))
            yield number

    def asks(self) -> Iterator[Request]:
        """What to draw next, as long as there is something. Tell the strategy before the next one is taken."""
        while not self.strategy.stopped:
            request = self.strategy.ask()
            if self.does_without is not None and self.does_without(request):
                continue
            self.reason = None if self.forbids is None else self.forbids(request)
            if self.reason is not None:
                return
            yield request


def blas_threads(strategy: Strategy) -> AbstractContextManager[object]:
    """One BLAS thread for strategies that ask for it (`one_blas_thread`); for others as many as usual.

    Strategies that bet decompose small matrices in each round. More threads only wait for each other there: a run takes
    ten times as long on a busy machine.
    """
    if not getattr(strategy, "one_blas_thread", False):  # strategies of others may not have the attribute
        return nullcontext()
    return one_blas_thread()


def one_blas_thread() -> AbstractContextManager[object]:
    """One BLAS thread in this process."""
    limits: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limits


@cache
def _libraries() -> Any:
    """The BLAS libraries of this process. To find them takes milliseconds, so it is done once."""
    import scipy.linalg  # noqa: F401 - has a library of its own, which must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
