"""The interface of an engine, and what it is made of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from kabc.arms.base import Arm
from kabc.core.errors import SettingsError
from kabc.core.samples import describe
from kabc.running.engines.chunks import Answers, Job
from kabc.running.engines.pools import PoolEngine

if TYPE_CHECKING:
    from kabc.arms.parts import Parts


class DaskClient(Protocol):
    """A `dask.distributed.Client`."""

    def scatter(self, data: Any) -> Any:
        """Send data to the workers."""


ExecutorLike = Executor | DaskClient | ModuleType  # the module is ray


class WorkerLostError(BrokenExecutor):
    """The worker of a chunk died. Other chunks are not touched."""


class Engine(Protocol):
    """Where chunks of draws run, and parts of what a strategy computes."""

    @property
    def shares_memory(self) -> bool:
        """Whether arms stay where they are: draws run in threads of this process."""

    @property
    def falls_as_one(self) -> bool:
        """Whether all draws under way are lost when one worker dies."""

    @property
    def slots(self) -> int | None:
        """How many draws it makes at the same time, as of now; None: nobody knows."""

    @property
    def deserted(self) -> bool:
        """Whether nobody is there who could draw now: what is under way waits for new workers."""

    def dumps(self, arm: Arm) -> bytes:
        """The arm, to be sent. Raises whatever it likes where it cannot be."""

    def send(self, arms: Mapping[int, bytes] | Sequence[Arm], jobs: Sequence[Job]) -> Future[Answers]:
        """Draw these, one after the other. `arms` by number: all there are, and the same object each time.

        Where it shares memory these are the arms themselves, else what `dumps` made of them. A lost worker is a
        `BrokenExecutor`, raised here or by the future. A future that has not begun can be cancelled; one that cannot be
        cancelled will have an answer.
        """

    def compute(self, function: Callable[[Any, Any], Any], common: Any) -> Callable[[Any], Future[Any]]:
        """Where function(common, part) is computed, for each part that is sent. What is common goes there once.

        A lost worker is a `BrokenExecutor`, as of draws. Parts may be computed more than once.
        """

    def parts_of(self, source: Any, columns: Sequence[str] | None) -> tuple[Any, Parts] | None:
        """A look at a table, and its parts on the workers; None if it is read here. `columns`: needed, None: all."""

    def renewed(self) -> Engine | None:
        """What to go on with after a worker was lost; None if there is nothing left."""

    def close(self) -> None:
        """Let go of what this run has there. What the user has made stays as it is."""


def engine_of(given: object) -> Engine | None:
    """The engine for what was passed as executor=; None: draws run here. Only the library of that object is loaded."""
    if given is None:
        return None
    if isinstance(given, _known("distributed", "Client")):
        from kabc.running.engines.dask import DaskEngine

        return DaskEngine(given)
    if isinstance(given, _known("distributed.cfexecutor", "ClientExecutor")):
        raise SettingsError("executor is made of a client of Dask, and hides its workers; pass the client itself")
    if isinstance(given, Executor):
        return PoolEngine(given)
    if isinstance(given, ModuleType) and given.__name__ == "ray":
        from kabc.running.engines.ray import RayEngine

        return RayEngine(given)
    raise SettingsError(
        f"executor must be a concurrent.futures.Executor, a dask.distributed.Client or the module ray, got "
        f"{describe(given)}"
    )


def _known(module: str, name: str) -> tuple[type, ...]:
    """A class, if its module is loaded: where it is not, nothing can be of this class."""
    found = getattr(sys.modules.get(module), name, None)
    return () if found is None else (found,)
