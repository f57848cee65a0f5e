"""The strategy interface, and the one place where a tell is validated.

A strategy is the paper's triple: selection rule (`ask`), stopping time (`stopped`), recommendation rule (`recommend`).
It is a small state machine, a pure function of its settings and the samples told so far: it draws nothing, reads no
clock and does no I/O. Arms are numbered 0..N-1; names live in `kabc.run` and above.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Protocol

from numpy.typing import ArrayLike, NDArray

from kabc.errors import KabcError, ProtocolError, SettingsError
from kabc.kernels import Kernel
from kabc.partitions import Partition
from kabc.result import Evidence, Guarantee, Round, Status
from kabc.samples import as_points, expect_columns, expect_count

Request = dict[int, int]


class Strategy(Protocol):
    """What `kabc.run` drives: ask, then tell what was asked for, until stopped. Looking changes nothing."""

    @property
    def n_arms(self) -> int:
        """N."""

    @property
    def n_clusters(self) -> int | None:
        """K, or None where it is not known beforehand."""

    @property
    def delta(self) -> float:
        """Largest probability of a wrong certified answer."""

    @property
    def kernel(self) -> Kernel | None:
        """The kernel whose mean embeddings define the groups; None where the distributions themselves do."""

    @property
    def stopped(self) -> bool:
        """Whether `ask` has nothing more to ask for."""

    @property
    def status(self) -> Status | None:
        """How it stopped, None before."""

    @property
    def n_samples(self) -> int:
        """All samples told, those of discarded rounds too."""

    @property
    def rounds(self) -> tuple[Round, ...]:
        """What each round saw."""

    @property
    def n_groups_at_least(self) -> int:
        """Certified lower bound on the number of groups."""

    def ask(self) -> Request:
        """How many more samples of which arms; empty when stopped. Asking twice gives the same request."""

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        """The whole round at once, arm -> array (count, d). Validates before it changes anything."""

    def recommend(self) -> Partition:
        """The partition, certified or a guess; it knows which."""

    def evidence(self) -> Evidence:
        """What speaks against each pair being the same."""

    def guarantee(self) -> Guarantee:
        """Claim, assumptions and rule, in words."""


def whole_number(name: str, value: object, least: int, most: int | None = None) -> int:
    """The setting as an int, or an error with its range."""
    whole = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if whole is None or whole < least or (most is not None and whole > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise SettingsError(f"{name} must be a whole number {bounds}, got {value!r}")
    return whole


def arms_number(value: object) -> int:
    """N >= 2."""
    return whole_number("n_arms", value, 2)


def error_probability(value: object) -> float:
    """Delta in (0, 1]: the paper allows 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) <= 1:
        raise SettingsError(f"delta must lie in (0, 1], got {value!r}; 0.05 means wrong in at most 5 of 100 uses")
    return float(value)


def positive_number(name: str, value: object, above: float = 0.0) -> float:
    """A finite number greater than `above`."""
    if not isinstance(value, Real) or isinstance(value, bool) or not above < float(value) < math.inf:
        raise SettingsError(f"{name} must be a finite number greater than {above:g}, got {value!r}")
    return float(value)


def kernel_given(value: object) -> Kernel:
    """A Kernel, not a name or a bare function."""
    if not isinstance(value, Kernel):
        raise SettingsError(
            f"kernel must be a kabc kernel, got {value!r}; e.g. kabc.Gaussian(bandwidth=1.0), or "
            "kabc.Function(f, supremum=1.0, infimum=0.0) for a function of your own"
        )
    return value


def checked_samples(
    samples: Mapping[int, ArrayLike], request: Request | None, kernel: Kernel | None, columns: int | None
) -> list[NDArray[Any]]:  # N arrays (count_i, d)
    """The told samples in arm order, as the kernel wants them; an error names the arm and changes nothing."""
    if request is None:
        raise ProtocolError("tell came without ask; call ask(), draw what it asks for, then tell it once")
    if not request:
        raise ProtocolError("the strategy has stopped and asks for nothing; read recommend(), or start a new one")
    if not isinstance(samples, Mapping):
        raise ProtocolError(f"tell takes a mapping arm -> array of samples, got {type(samples).__name__}")
    surplus = [arm for arm in samples if arm not in request]
    if surplus:
        raise ProtocolError(f"arm {surplus[0]!r} was not asked for; tell exactly the arms of ask(): {_short(request)}")
    missing = [arm for arm in request if arm not in samples]
    if missing:
        raise ProtocolError(f"samples of arm {missing[0]} are missing; a round is told whole: {_short(request)}")
    rows: list[NDArray[Any]] = []
    for arm, count in request.items():
        try:
            points = as_points(samples[arm]) if kernel is None else kernel.coerce(samples[arm])
            columns = points.shape[1] if columns is None else columns
            expect_columns(points, columns)
            expect_count(points, count)
        except KabcError as error:
            raise error.of_arm(arm) from None
        rows.append(points)
    return rows


def _short(request: Request) -> str:
    text = ", ".join(f"{arm}: {count}" for arm, count in list(request.items())[:4])
    return "{" + text + (", ...}" if len(request) > 4 else "}")


def all_arms(n_arms: int, count: int) -> Request:
    """The same number of samples of every arm."""
    return dict.fromkeys(range(n_arms), count)
