"""The strategy interface, and the one place where a tell is validated.

A strategy is the paper's triple: selection rule (`ask`), stopping time (`stopped`), recommendation rule (`recommend`).
It is a small state machine, a pure function of its settings and the samples told so far: it draws nothing, reads no
clock and does no I/O. Arms are numbered 0..N-1; names live in `kabc.running.cluster` and above.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings import FeatureSums
from kabc.core.errors import KabcError, ProtocolError, SampleError, SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import FiniteKernel, Kernel
from kabc.core.partitions import Partition
from kabc.core.samples import as_points, expect_columns, expect_count
from kabc.core.settings import arms_number, error_probability
from kabc.strategies.answers import Guarantee, Round, Status

Request = dict[int, int]

_FARTHEST = 1e100  # standard deviations: squares of sums of these are still numbers


class Strategy(Protocol):
    """What `kabc.running.cluster` drives: ask, then tell what was asked for, until stopped. Looking changes nothing.

    One that always stops, also without K and without a budget, says so: `stops_by_itself = True`.
    """

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
    def rounds(self) -> Sequence[Round]:
        """What each round saw, up to now; read after every round, so it must not cost a copy of all of them."""

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


@runtime_checkable
class SetsAside(Protocol):
    """What a strategy may offer in addition: it goes on without arms that cannot be drawn any more.

    Without it a run ends when a pool cannot give what is asked for. Which arms are set aside depends on the sizes of
    pools and on earlier requests, never on samples that were not told.
    """

    @property
    def arms_set_aside(self) -> frozenset[int]:
        """Arms that it goes on without."""

    def set_aside(self, arms: Iterable[int]) -> None:
        """Ask for these arms no more. The request before is void; `ask` gives another one, or nothing: stopped."""


@runtime_checkable
class TakesSums(Protocol):
    """What a strategy may offer in addition: sums of features are all that it needs of the samples of a round.

    So samples can be summed where they are, and need not be sent.
    """

    @property
    def sums_of(self) -> FiniteKernel | None:
        """The kernel whose features are summed; None: it needs the samples."""

    def tell_sums(self, sums: FeatureSums) -> None:
        """The whole round at once, as `tell`. Validates before it changes anything."""


# (function, what is common, parts) -> each part with function(common, part), in their order
Compute = Callable[[Callable[[Any, Any], Any], Any, Iterable[Any]], Iterator[tuple[Any, Any]]]


def computed_here(function: Callable[[Any, Any], Any], common: Any, parts: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Each part with function(common, part), one after the other."""
    return ((part, function(common, part)) for part in parts)


@runtime_checkable
class ComputesInParts(Protocol):
    """What a strategy may offer in addition: some of what `tell` computes may be computed elsewhere, part by part.

    The function, what is common to the parts, the parts and what comes of them are values that can be sent. It is the
    same wherever it is computed.
    """

    compute: Compute | None  # None: here


class Rounds(Sequence[Round]):
    """The first n rounds of a list that only grows at its end: a tuple to look at, made without copying it."""

    def __init__(self, growing: list[Round], n: int) -> None:
        self._growing, self._n = growing, n

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> Round: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Round, ...]: ...
    def __getitem__(self, index: int | slice) -> Round | tuple[Round, ...]:
        where = range(self._n)[index]  # counts from the end, cuts and refuses as a tuple does
        return self._growing[where] if isinstance(where, int) else tuple(self._growing[i] for i in where)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class Stepwise(ABC):
    """The books that strategies here keep alike: what was asked for, samples, rounds, status.

    A strategy that computes with small matrices sets `one_blas_thread`: it is then run with one thread of BLAS, because
    more of them would wait for each other.

    A strategy that can be told any whole blocks, not only those it would ask for, sets `takes_any_request`: its proof
    asks only that a request does not depend on samples that were not told.

    A strategy that tests blocks sets `block`: this many consecutive samples are one. It asks for whole blocks, and
    counts samples all the same.
    """

    one_blas_thread: bool = False
    takes_any_request: bool = False
    block: int = 1

    def __init__(self, n_arms: int, delta: float) -> None:
        self.n_arms = arms_number(n_arms)
        self.delta = error_probability(delta)
        self._asked: Request | None = None
        self._n_samples = 0
        self._rounds: list[Round] = []
        self._status: Status | None = None

    @property
    def stopped(self) -> bool:
        return self._status is not None

    @property
    def status(self) -> Status | None:
        return self._status

    @property
    def n_samples(self) -> int:
        return self._n_samples

    @property
    def rounds(self) -> Rounds:
        return Rounds(self._rounds, len(self._rounds))

    def ask(self) -> Request:
        self._asked = {} if self.stopped else {arm: n * self.block for arm, n in self._request().items()}
        return dict(self._asked)

    def ask_instead(self, request: Request) -> None:
        """Ask for something else than `ask` did: what a log says was asked for. It is what must be told next."""
        if not self.takes_any_request or self._asked is None or any(n % self.block for n in request.values()):
            raise ProtocolError(
                f"{type(self).__name__} asks for {_short(self._asked or {})}, and was asked to take {_short(request)} "
                "instead; it takes only what it asks for"
            )
        self._asked = dict(sorted(request.items()))

    @abstractmethod
    def _request(self) -> Request:
        """What to draw next, in blocks, as long as it has not stopped."""

    def _take(self, rows: Sequence[NDArray[Any]]) -> None:
        """Book the samples of a tell that was found right: the request is answered."""
        self._book(sum(map(len, rows)))

    def _book(self, n_samples: int) -> None:
        self._asked = None
        self._n_samples += n_samples

    def _close_round(self, n: int, n_groups: int) -> None:
        """Book a round with all of delta, n blocks of an arm behind it."""
        self._rounds.append(Round(len(self._rounds) + 1, self.delta, n * self.block, self._n_samples, n_groups))


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
    request = _asked_for(request)
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


def checked_sums(sums: FeatureSums, request: Request | None, kernel: Kernel, columns: int | None) -> FeatureSums:
    """The told sums: of this kernel, and of exactly what was asked for. An error changes nothing."""
    request = _asked_for(request)
    if not isinstance(sums, FeatureSums) or not (sums.kernel is kernel or sums.kernel == kernel):
        raise ProtocolError(f"tell_sums takes FeatureSums of {kernel!r}, got {sums!r}")
    if sums.n_arms <= max(request):
        raise ProtocolError(f"sums of {sums.n_arms} arms were told, and arm {max(request)} was asked for")
    asked = np.array([request.get(arm, 0) for arm in range(sums.n_arms)])
    for arm in np.flatnonzero(asked != sums.counts).tolist():
        raise SampleError(f"asked for {asked[arm]} samples, got the sums of {sums.counts[arm]}").of_arm(arm)
    if columns is not None and sums.columns != columns:
        raise SampleError(
            f"sums are of samples with {sums.columns} columns, those before have {columns}; "
            "all arms and rounds need the same columns"
        )
    return sums


def _asked_for(request: Request | None) -> Request:
    if request is None:
        raise ProtocolError("tell came without ask; call ask(), draw what it asks for, then tell it once")
    if not request:
        raise ProtocolError("the strategy has stopped and asks for nothing; read recommend(), or start a new one")
    return request


def in_blocks(rows: Sequence[Array], length: int) -> list[Array]:  # arrays (count_i, d) -> (count_i / L, L d)
    """Each block of consecutive samples as one."""
    return [points.reshape(len(points) // length, -1) for points in rows]


def _short(request: Request) -> str:
    text = ", ".join(f"{arm}: {count}" for arm, count in list(request.items())[:4])
    return "{" + text + (", ...}" if len(request) > 4 else "}")


def arms_given(arms: Iterable[int], n_arms: int) -> list[int]:
    """The numbers of arms that are to be set aside, in order."""
    given = sorted(set(arms))
    unknown = [arm for arm in given if not 0 <= arm < n_arms]
    if unknown:
        raise SettingsError(f"arm {unknown[0]!r} cannot be set aside; arms are numbered 0 to {n_arms - 1}")
    return given


def all_arms(n_arms: int, count: int) -> Request:
    """The same number of samples of every arm."""
    return dict.fromkeys(range(n_arms), count)


def in_units(rows: Sequence[Array], sigma: float) -> list[Array]:  # arrays (count_i, d)
    """Samples in units of sigma; those whose squares would be no numbers are refused."""
    with np.errstate(over="ignore"):  # what overflows is refused
        points = [row / sigma for row in rows]
    farthest = max(float(np.abs(row).max()) for row in points)
    if farthest > _FARTHEST:
        raise SampleError(
            f"a sample is {farthest:.3g} standard deviations from 0, too far for squares to be numbers; "
            "subtract a fixed location, or check sigma"
        )
    return points


def evidence_of_means(
    told_in_round: NDArray[np.int64], counts: NDArray[np.int64], distances: Array
) -> Evidence:  # (N, N), (N,), (N, N)
    """Evidence of a strategy that compares means: distances, without thresholds for each pair."""
    return Evidence.of_distances(told_in_round, counts, distances)
