"""What it will cost, before paying: the theorem's bound and the round-by-round schedule of a KABC strategy; for the
anytime strategy, which has no schedule, simulated runs (kabc.planning.rehearsal).

| symbol    | here                   | meaning                                                                    |
|-----------|------------------------|----------------------------------------------------------------------------|
| s_*^2     | `squared_separation`   | min over cross pairs of gap^2 / (V_i v V_j) and 2 gap / sqrt(g-bar)        |
| k_*       | `k_star`               | ceil(log2(128 / s_*^2)) v 1, the round by which the theorem stops          |
| tau       | `theorem_bound`        | 8 N (128/s_*^2 v 1) log(32 (N^2 - N) k_*^2 / delta), eq. bound_budget      |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.embeddings import embed
from kabc.core.errors import SettingsError
from kabc.core.evidence.thresholds import pair_thresholds, squared_separation
from kabc.core.kernels import Gaussian, Kernel
from kabc.core.partitions import single_linkage
from kabc.core.samples import as_points
from kabc.core.settings import positive_number
from kabc.planning.rehearsal import Cost, SimulatedArms, SimulatedPlan, rehearse
from kabc.running.progress import ShowLine, Ticker
from kabc.strategies import KABC, Strategy, make_strategy, needs_kernel

_MOST_ROUNDS = 400  # a schedule that is not through by then has a budget beyond any purse


@dataclass(frozen=True, slots=True)
class PlannedRound:
    """One row of the schedule: what round k draws and tests, and what its threshold would be."""

    number: int
    delta: float
    n: int
    n_samples: int
    threshold: float


@dataclass(frozen=True)
class Plan:
    """What a strategy will cost. Print it for a table.

    `expected_round` is the first round whose threshold, at these variances, lies under the gap: about where it stops.
    `sure_round` is the first by which the proof says that it stops, with probability 1 - delta. `theorem_bound` is the
    paper's bound on the budget of the published settings.
    """

    n_arms: int
    n_clusters: int
    delta: float
    gap: float
    variance: float
    squared_separation: float
    k_star: int
    theorem_bound: float
    rounds: tuple[PlannedRound, ...]
    expected_round: int
    sure_round: int
    estimated: bool
    cost: Cost = field(default_factory=Cost)

    @property
    def expected_samples(self) -> int:
        """All samples up to the expected stopping round."""
        return self._samples_at(self.expected_round)

    @property
    def sure_samples(self) -> int:
        """All samples up to the round that the proof promises."""
        return self._samples_at(self.sure_round)

    def _samples_at(self, number: int) -> int:
        return next(row.n_samples for row in self.rounds if row.number == number)

    def __str__(self) -> str:
        source = "estimated from a pilot: a guess" if self.estimated else "as given"
        bound = f"{math.ceil(self.theorem_bound):,} samples (k_* = {self.k_star})"
        return "\n".join(
            [
                f"{self.n_arms} arms, {self.n_clusters} groups, delta = {self.delta:g}",
                f"gap {self.gap:.4g}, variance {self.variance:.4g} ({source}); s_*^2 = {self.squared_separation:.4g}",
                f"{'round':>5} {'delta_k':>10} {'n per arm':>12} {'samples in all':>15} {'threshold':>10}",
                *(self._row(row) for row in self.rounds),
                f"theorem's bound on the budget of the published settings: {bound}",
                *self.cost.lines({"expected": self.expected_samples, "sure": self.sure_samples}),
            ]
        )

    def _row(self, row: PlannedRound) -> str:
        expected = "  <- expected to stop (threshold under the gap)" if row.number == self.expected_round else ""
        sure = "  <- sure to stop (proof)" if row.number == self.sure_round else ""
        figures = f"{row.number:>5} {row.delta:>10.3g} {row.n:>12,} {row.n_samples:>15,} {row.threshold:>10.4f}"
        return figures + expected + sure


@overload
def plan(  # type: ignore[overload-overlap]
    n_arms: int | None = ...,
    n_clusters: int = ...,
    delta: float = ...,
    *,
    gap: float | None = ...,
    variances: ArrayLike | None = ...,
    pilot: Mapping[Any, ArrayLike] | Sequence[ArrayLike] | None = ...,
    kernel: Kernel | None = ...,
    strategy: Literal["anytime"],
    strategy_options: Mapping[str, Any] | None = ...,
    price: float = ...,
    seconds_per_sample: float = ...,
    progress: bool | ShowLine = ...,
) -> SimulatedPlan: ...


@overload
def plan(
    n_arms: int | None = ...,
    n_clusters: int = ...,
    delta: float = ...,
    *,
    gap: float | None = ...,
    variances: ArrayLike | None = ...,
    pilot: Mapping[Any, ArrayLike] | Sequence[ArrayLike] | None = ...,
    kernel: Kernel | None = ...,
    strategy: str = ...,
    strategy_options: Mapping[str, Any] | None = ...,
    price: float = ...,
    seconds_per_sample: float = ...,
    progress: bool | ShowLine = ...,
) -> Plan: ...


def plan(
    n_arms: int | None = None,
    n_clusters: int = 2,
    delta: float = 0.05,
    *,
    gap: float | None = None,
    variances: ArrayLike | None = None,
    pilot: Mapping[Any, ArrayLike] | Sequence[ArrayLike] | None = None,
    kernel: Kernel | None = None,
    strategy: str = "kabc",
    strategy_options: Mapping[str, Any] | None = None,
    price: float = 0.0,
    seconds_per_sample: float = 0.0,
    progress: bool | ShowLine = True,
) -> Plan | SimulatedPlan:
    """What `kabc.cluster` will cost on an instance with this gap, or on one like the pilot.

    Parameters
    ----------
    n_arms, n_clusters, delta, strategy, strategy_options : as for `kabc.cluster`; n_arms may be left to the pilot. For
        "anytime" no bound is proved: the plan is a guess, from a few simulated runs.
    gap : smallest distance of mean embeddings of different groups; for "anytime", distance of the means of neighbouring
        groups in standard deviations.
    variances : RKHS variance of the arms (one number, or one for each); the largest counts. Default: the kernel's
        supremum, which no variance exceeds.
    pilot : instead of both, samples of each arm to estimate them from, or to draw from. The estimate is a guess.
    kernel : its bounds enter the plan. Default: Gaussian, with the median heuristic where there is a pilot.
    price, seconds_per_sample : of one sample; the plan is then printed in money and time as well.
    progress : as for `kabc.cluster`; only simulated runs take long.
    """
    if (gap is None) == (pilot is None):
        raise SettingsError("pass either gap= (and variances=) or pilot=, not both and not neither")
    cost = Cost(_not_negative("price", price), _not_negative("seconds_per_sample", seconds_per_sample))
    rows = [] if pilot is None else _pilot_rows(pilot, kernel)
    if n_arms is None and rows:
        n_arms = len(rows)
    if not needs_kernel(strategy):
        if kernel is not None or variances is not None:
            raise SettingsError(
                f"strategy {strategy!r} has no kernel, so that kernel= and variances= mean nothing to it"
            )
        make = partial(make_strategy, strategy, n_arms, n_clusters, delta, None, strategy_options)
        return replace(_simulated(strategy, make, gap, rows, Ticker(progress)), cost=cost)
    if kernel is None:
        kernel = Gaussian.from_pilot(np.concatenate(rows)) if rows else Gaussian(bandwidth=1.0)
    planned = _strategy(strategy, n_arms, n_clusters, delta, kernel, strategy_options)
    if rows:
        gap, variance = _estimate(planned, rows)
    else:
        gap, variance = positive_number("gap", gap), _largest_variance(variances, kernel)
    largest = math.sqrt(2 * (kernel.supremum - kernel.infimum))
    if gap > largest:
        raise SettingsError(f"gap {gap:.4g} is more than any two embeddings of this kernel can differ, {largest:.4g}")
    return replace(_planned(planned, gap, variance, estimated=bool(rows)), cost=cost)


def _pilot_rows(pilot: Mapping[Any, ArrayLike] | Sequence[ArrayLike], kernel: Kernel | None) -> list[NDArray[Any]]:
    given = list(pilot.values()) if isinstance(pilot, Mapping) else list(pilot)
    return [as_points(rows) if kernel is None else kernel.coerce(rows) for rows in given]


def _strategy(
    name: str, n_arms: int | None, n_clusters: int, delta: float, kernel: Kernel, options: Mapping[str, Any] | None
) -> KABC:
    made = make_strategy(name, n_arms, n_clusters, delta, kernel, options)
    if not isinstance(made, KABC):
        raise SettingsError(f"strategy {name!r} has no schedule to plan with; use 'kabc' or 'kabc-tight'")
    return made


def _largest_variance(variances: ArrayLike | None, kernel: Kernel) -> float:
    if variances is None:
        return kernel.supremum
    values = np.asarray(variances, dtype=np.float64)
    if not values.size or not np.isfinite(values).all() or (values < 0).any():
        raise SettingsError(f"variances must be finite numbers of at least 0, got {variances!r}")
    return float(values.max())


def _simulated(
    name: str, make: Callable[[], Strategy], gap: float | None, rows: list[NDArray[Any]], show: Ticker
) -> SimulatedPlan:
    strategy = make()
    assert strategy.n_clusters is not None
    if rows:
        kernel = Gaussian.from_pilot(np.concatenate(rows))
        guessed = _guessed(kernel, rows, strategy.n_arms, strategy.n_clusters)
        instance = SimulatedArms.of_rows(rows, guessed.labels)
        source = "which draw from the pilot's samples, pooled by guessed group"
    else:
        instance = SimulatedArms.of_normals(positive_number("gap", gap), strategy.n_arms, strategy.n_clusters)
        unit = "standard deviation" if gap == 1 else "standard deviations"
        source = f"of normal arms, means of neighbouring groups {gap:g} {unit} apart"
    samples, given_up = rehearse(make, instance, show)
    return SimulatedPlan(name, strategy.n_arms, strategy.n_clusters, strategy.delta, source, samples, given_up)


@dataclass(frozen=True)
class _Guessed:
    """Groups of the pilot by single linkage, with the bias of the squared distances removed."""

    labels: NDArray[np.intp]  # (N,)
    squared: NDArray[np.float64]  # (N, N)
    variances: NDArray[np.float64]  # (N,)


def _guessed(kernel: Kernel, rows: list[NDArray[Any]], n_arms: int, n_clusters: int) -> _Guessed:
    if len(rows) != n_arms:
        raise SettingsError(f"the pilot has {len(rows)} arms, n_arms is {n_arms}")
    embedding = embed(kernel, n_arms).extended(rows)
    variances = embedding.variances()
    bias = variances / embedding.counts  # E ||mu_hat - mu||^2
    squared = embedding.squared_distances() - bias[:, None] - bias[None, :]
    labels = np.asarray(single_linkage(np.maximum(squared, 0), n_clusters).labels, dtype=np.intp)
    return _Guessed(labels, squared, variances)


def _estimate(strategy: KABC, rows: list[NDArray[Any]]) -> tuple[float, float]:
    """Gap between the closest of K groups, and the largest variance."""
    guessed = _guessed(strategy.kernel, rows, strategy.n_arms, strategy.n_clusters)
    across: NDArray[np.bool_] = guessed.labels[:, None] != guessed.labels[None, :]
    if not across.any():
        raise SettingsError("with one group there is no gap to plan for; KABC stops in its first round")
    smallest = float(guessed.squared[across].min())
    if smallest <= 0:
        raise SettingsError(
            f"{min(map(len, rows))} samples per arm show no gap between {strategy.n_clusters} groups; "
            "take a larger pilot, or pass gap= and variances="
        )
    return math.sqrt(smallest), float(guessed.variances.max())


def _not_negative(name: str, value: float) -> float:
    if not 0 <= value < math.inf:
        raise SettingsError(f"{name} must be a finite number of at least 0, got {value!r}")
    return value


def _planned(strategy: KABC, gap: float, variance: float, estimated: bool) -> Plan:
    s2 = squared_separation(gap, variance, strategy.kernel)
    n_arms, delta, schedule = strategy.n_arms, strategy.delta, strategy.schedule
    k_star = max(1, math.ceil(math.log2(128 / s2)))  # eq. k_*
    bound = 8 * n_arms * max(128 / s2, 1) * math.log(32 * (n_arms**2 - n_arms) * k_star**2 / delta)  # eq. bound_budget
    rows: list[PlannedRound] = []
    expected: int | None = None
    discarded = 0
    for k in range(schedule.first, schedule.first + _MOST_ROUNDS):
        n, delta_k = schedule.n(k), schedule.delta(k)
        radii = schedule.threshold.radii(n, np.full(n_arms, variance), strategy.kernel, delta_k)
        height = float(pair_thresholds(radii)[0, 1])
        rows.append(PlannedRound(k, delta_k, n, n_arms * (n + discarded), height))
        discarded += 0 if strategy.keep_samples else n
        if expected is None and height < gap:
            expected = k
        if schedule.threshold.sure(n, gap, variance, n_arms, strategy.kernel, delta_k):
            return Plan(
                n_arms,
                strategy.n_clusters,
                delta,
                gap,
                variance,
                s2,
                k_star,
                bound,
                tuple(rows),
                k if expected is None else expected,
                k,
                estimated,
            )
    raise SettingsError(
        f"no end within {_MOST_ROUNDS} rounds for a gap of {gap:.3g}; raise growth, or ask for a larger gap"
    )
