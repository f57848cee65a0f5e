"""What a run will cost: the theorem's bound and the schedule of a KABC strategy, round by round.

The anytime strategy has no schedule; its runs are simulated (kabc.planning.rehearsal).

| symbol    | here                   | meaning                                                                    |
|-----------|------------------------|----------------------------------------------------------------------------|
| s_*^2     | `squared_separation`   | min over cross pairs of gap^2 / (V_i v V_j) and 2 gap / sqrt(g-bar)        |
| k_*       | `k_star`               | ceil(log2(128 / s_*^2)) v 1, the round by which the theorem stops          |
| tau       | `theorem_bound`        | 8 N (128/s_*^2 v 1) log(32 (N^2 - N) k_*^2 / delta), eq. bound_budget      |
| N n_*     | `known_samples`        | N ceil(128/s_*^2 log(8 (N^2 - N) / delta)), CLUSTER with s_* known         |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from kabc.core.errors import SettingsError
from kabc.core.evidence.thresholds import VarianceAware, pair_thresholds, squared_separation
from kabc.planning.cost import Cost
from kabc.strategies import KABC
from kabc.strategies.cluster import Cluster

MEASURED = (0.38, 0.72)  # the price of adaptivity, least and most of the runs of benchmarks/published.py --price
_MOST_ROUNDS = 400  # a longer schedule asks for more samples than anybody can draw


@dataclass(frozen=True, slots=True)
class PlannedRound:
    """One row of the schedule: what round k draws and tests, and its threshold."""

    number: int
    delta: float
    n: int
    n_samples: int
    threshold: float


@dataclass(frozen=True)
class Plan:
    """What a strategy will cost. Print it for a table.

    Attributes
    ----------
    expected_round : int
        The first round whose threshold, at these variances, lies under the gap: about where the run stops.
    sure_round : int
        The run stops in this round at the latest, with probability 1 - delta, by proof.
    theorem_bound : float
        The paper's bound on the number of samples, for the published settings.
    estimated : bool
        Gap and variance were estimated from a pilot: the plan is a guess.
    known_samples : int, optional
        All samples of CLUSTER if s_* were known (`Cluster.for_separation`); None but for the published rule.
    price_at_most, price_expected : float, optional
        The price of adaptivity: sure and expected samples of the published rule, as multiples of these.

    Examples
    --------
    >>> import kabc
    >>> plan = kabc.plan(n_arms=12, n_clusters=3, embedded_gap=0.3, variances=0.5)
    >>> plan.expected_round, plan.expected_samples, plan.estimated
    (7, 45396, False)
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
    known_samples: int | None = None

    @property
    def expected_samples(self) -> int:
        """All samples up to the expected stopping round."""
        return self._samples_at(self.expected_round)

    @property
    def sure_samples(self) -> int:
        """All samples up to the round that the proof promises."""
        return self._samples_at(self.sure_round)

    @property
    def price_at_most(self) -> float | None:
        """Sure samples, as a multiple of those of CLUSTER with s_* known."""
        return None if self.known_samples is None else self.sure_samples / self.known_samples

    @property
    def price_expected(self) -> float | None:
        """Expected samples, as a multiple of those of CLUSTER with s_* known."""
        return None if self.known_samples is None else self.expected_samples / self.known_samples

    @property
    def price_line(self) -> str:
        """The price of adaptivity in one line; empty but for the published rule."""
        if self.known_samples is None:
            return ""
        least, most = MEASURED
        return (
            f"price of adaptivity: at most {self.price_at_most:.3g} times the {self.known_samples:,} samples of "
            f"CLUSTER with s_* known (proof), {self.price_expected:.2g} expected; {least:g} to {most:g} measured on "
            "published instances"
        )

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
                *filter(None, [self.price_line]),
                *self.cost.lines({"expected": self.expected_samples, "sure": self.sure_samples}),
            ]
        )

    def _row(self, row: PlannedRound) -> str:
        expected = "  <- expected to stop (threshold under the gap)" if row.number == self.expected_round else ""
        sure = "  <- sure to stop (proof)" if row.number == self.sure_round else ""
        figures = f"{row.number:>5} {row.delta:>10.3g} {row.n:>12,} {row.n_samples:>15,} {row.threshold:>10.4f}"
        return figures + expected + sure


def scheduled(strategy: KABC, gap: float, variance: float, estimated: bool) -> Plan:
    """The plan of a KABC strategy for arms of this gap and variance."""
    s2 = squared_separation(gap, variance, strategy.kernel)
    n_arms, delta, schedule = strategy.n_arms, strategy.delta, strategy.schedule
    k_star = max(1, math.ceil(math.log2(128 / s2)))  # eq. k_*
    bound = 8 * n_arms * max(128 / s2, 1) * math.log(32 * (n_arms**2 - n_arms) * k_star**2 / delta)  # eq. bound_budget
    published = VarianceAware() == schedule.threshold and schedule.spending == "published" and schedule.growth == 2
    known = Cluster.for_separation(n_arms, math.sqrt(s2), delta, strategy.kernel).n
    rows: list[PlannedRound] = []
    expected: int | None = None
    discarded = 0
    for k in range(schedule.first, schedule.first + _MOST_ROUNDS):
        n, delta_k = schedule.n(k), schedule.delta(k)
        radii = schedule.threshold.radii(n, np.full(n_arms, variance), strategy.kernel, delta_k)
        height = float(pair_thresholds(radii[:, :2])[0, 1])
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
                known_samples=n_arms * known if published and not strategy.keep_samples else None,
            )
    raise SettingsError(
        f"no end within {_MOST_ROUNDS} rounds for a gap of {gap:.3g}; raise growth, or ask for a larger gap"
    )
