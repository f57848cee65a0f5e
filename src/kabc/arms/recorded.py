"""Arms with a past: samples that were drawn before, then new ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.arms.pools import PoolArm
from kabc.core.errors import ArmError
from kabc.core.samples import as_rows
from kabc.core.words import counted

# what an arm may have beside draw: the recorded arm has it where the live one does
_OPTIONAL = ("failed", "failures", "stop", "waiting", "close")


class RecordedArm:
    """Samples of an arm that were recorded, in the order in which they were drawn, then new ones of a live arm.

    Give all samples, in their order. They are read as if they were drawn now, which is valid because samples of an arm
    are independent and of one law, whoever reads them (docs/theory.md, section 28). It is not valid for samples that
    were chosen by their values.

    Without a live arm it ends with its samples. How many there are was decided by looking at them, when the run before
    found its answer; so a run that reaches their end stops, and never goes on without the arm (`recorded`).

    Parameters
    ----------
    rows : array
        (n,) or (n, d), one row for each sample.
    live : Arm, optional
        Gives the samples after these.
    start : int
        Samples of this arm that were read before.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.arms.callables import CallableArm
    >>> from kabc.arms.recorded import RecordedArm
    >>> arm = RecordedArm([1.0, 2.0, 3.0], CallableArm(lambda n, rng: np.full(n, 9.0)))
    >>> rng = np.random.default_rng(0)
    >>> arm.draw(2, rng), arm.draw(2, rng), arm.draw(1, rng)
    (array([1., 2.]), array([3., 9.]), array([9.]))
    """

    recorded = True

    def __init__(self, rows: ArrayLike, live: Any = None, start: int = 0) -> None:
        self._rows: NDArray[Any] = as_rows(rows)
        self._live = _able(live)
        self._place = start
        self._n_read = 0  # recorded samples that were read here

    def __getattr__(self, name: str) -> Any:
        live = self.__dict__.get("_live")
        if name in _OPTIONAL and live is not None:
            return getattr(live, name)
        if name == "n_paid" and hasattr(live, "n_paid"):
            return live.n_paid + self._n_read  # recorded samples came without a new call
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def one_at_a_time(self) -> bool:
        return bool(getattr(self._live, "one_at_a_time", False))

    @property
    def waits(self) -> bool:
        return bool(getattr(self._live, "waits", False))

    @property
    def remaining(self) -> int | None:
        return max(0, len(self._rows) - self._place) if self._live is None else None

    def seek(self, start: int) -> None:
        """Go on after this many samples."""
        self._place = start

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        """The next samples: recorded ones while there are any, then new ones."""
        old = self._rows[self._place : self._place + n]
        if len(old) < n and self._live is None:
            raise ArmError(f"it has {counted(len(old), 'recorded sample')} left, but {n:,} were asked for")
        rows: ArrayLike = old
        if len(old) < n:
            new = self._live.draw(n - len(old), rng)
            rows = _joined(old, new) if len(old) else new
        self._place += n
        self._n_read += len(old)
        return rows


def _able(live: Any) -> Any:
    """The live arm; refused if what it gives does not go on where a record ends."""
    if live is None:
        return None
    if getattr(live, "paired", False):
        raise ArmError("its samples share something with those of other arms, so recorded ones cannot be used again")
    if live.remaining is not None or isinstance(live, PoolArm):
        raise ArmError("it is a pool, whose rows can be read again for nothing: pass it as it is")
    return live


def _joined(old: NDArray[Any], new: ArrayLike) -> NDArray[Any]:  # (m,) or (m, d), and (k,) or (k, d)
    """Rows of a record and new ones, with the columns of the record."""
    rows = as_rows(new)
    if rows.ndim in (1, 2) and old.reshape(len(old), -1).shape[1] == rows.reshape(len(rows), -1).shape[1]:
        return np.concatenate([old, rows.reshape(len(rows), *old.shape[1:])])
    raise ArmError(f"recorded samples have shape {old.shape[1:]}, new ones have shape {rows.shape[1:]}")
