"""`kabc.plan`: what a run will cost, by the schedule of its strategy or by simulated runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.errors import SettingsError
from kabc.core.kernels import Gaussian, Kernel
from kabc.core.samples import as_points
from kabc.core.scores.maps import Fourier, Ranks, Scaled
from kabc.core.settings import positive_number
from kabc.core.tolerances import Tolerance
from kabc.core.words import counted
from kabc.planning.cost import Cost
from kabc.planning.estimates import groups_of_rows, guessed_groups, quick
from kabc.planning.rehearsal import SimulatedArms, SimulatedPlan, rehearse, rehearse_on
from kabc.planning.schedule import Plan, scheduled
from kabc.planning.tolerances import TolerancePlan, asked_plan, proposed_plan
from kabc.running.progress import Progress, Ticker
from kabc.strategies import KABC, Strategy, make_strategy, needs_kernel

Pilot = Mapping[Any, ArrayLike] | Sequence[ArrayLike]
ToleranceLike = str | float | Mapping[str, Any] | Tolerance | Callable[[NDArray[Any]], Any]

# Simulated runs of anytime take about as many samples with two of its experts and without the check of K, which draws
# little, but they compute a quarter as long (benchmarks/plan.py).
_QUICK: dict[str, dict[str, Any]] = {"anytime": {"check_k": False, "maps": (Ranks(), Fourier(Scaled(), 1.0))}}


@overload
def plan(
    n_arms: int | None = ...,
    n_clusters: int | None = ...,
    delta: float = ...,
    *,
    gap: float | None = ...,
    embedded_gap: None = ...,
    variances: None = ...,
    pilot: Pilot | None = ...,
    kernel: None = ...,
    strategy: Literal["anytime"] | None = ...,
    strategy_options: Mapping[str, Any] | None = ...,
    price: float = ...,
    seconds_per_sample: float = ...,
    progress: Progress = ...,
    tolerance: None = ...,
) -> SimulatedPlan: ...


@overload
def plan(
    n_arms: int | None = ...,
    n_clusters: int | None = ...,
    delta: float = ...,
    *,
    gap: float | None = ...,
    embedded_gap: float | None = ...,
    variances: ArrayLike | None = ...,
    pilot: Pilot | None = ...,
    kernel: Kernel | None = ...,
    strategy: str | None = ...,
    strategy_options: Mapping[str, Any] | None = ...,
    price: float = ...,
    seconds_per_sample: float = ...,
    progress: Progress = ...,
    tolerance: None = ...,
) -> Plan: ...


@overload
def plan(
    n_arms: int | None = ...,
    n_clusters: None = ...,
    delta: float = ...,
    *,
    pilot: Pilot | None = ...,
    price: float = ...,
    seconds_per_sample: float = ...,
    progress: Progress = ...,
    tolerance: ToleranceLike,
) -> TolerancePlan: ...


def plan(
    n_arms: int | None = None,
    n_clusters: int | None = None,
    delta: float = 0.05,
    *,
    gap: float | None = None,
    embedded_gap: float | None = None,
    variances: ArrayLike | None = None,
    pilot: Pilot | None = None,
    kernel: Kernel | None = None,
    strategy: str | None = None,
    strategy_options: Mapping[str, Any] | None = None,
    price: float = 0.0,
    seconds_per_sample: float = 0.0,
    progress: Progress = None,
    tolerance: ToleranceLike | None = None,
) -> Plan | SimulatedPlan | TolerancePlan:
    """What `kabc.cluster` will cost on arms with this gap, or on arms like those of a pilot.

    Parameters
    ----------
    n_arms : int, optional
        N. It may be left out if there is a pilot.
    n_clusters : int, optional
        K, the number of groups. It may be left out if there is a pilot: then the plan says when all arms that differ in
        the pilot are told apart.
    delta : float, default 0.05
        Largest probability of a wrong certified answer.
    gap : float, optional
        Distance of the means of neighbouring groups, in standard deviations, for every strategy. Arms are assumed to be
        normal.
    embedded_gap : float, optional
        Instead, for strategies with a kernel: smallest distance of the mean embeddings of different groups.
    variances : float or array of float, optional
        With `embedded_gap`: RKHS variance of the arms, one number or one for each arm; the largest counts. Default: the
        kernel's supremum, which no variance exceeds.
    pilot : mapping or sequence of arrays, optional
        Samples of each arm, instead of a gap. Groups are guessed from it. A pilot that is too small to show them is
        refused, because a plan from noise is far too low.
    kernel : Kernel, optional
        Its bounds enter the plan. Default: Gaussian, with the median heuristic if there is a pilot.
    strategy : str, optional
        As for `kabc.cluster`: "anytime"; if a kernel or `embedded_gap` is given, "kabc". For "anytime" no bound is
        proved: the plan is a guess from a simulated run.
    strategy_options : mapping, optional
        As for `kabc.cluster`.
    price : float, default 0
        Of one sample. If it is given, the plan is also printed in money.
    seconds_per_sample : float, default 0
        If it is given, the plan is also printed in time.
    progress : bool or callable, optional
        As for `kabc.cluster`. Only a simulated run takes long, but not as long as the run itself computes.
    tolerance : str, number, mapping, function or KernelDistance, optional
        As for `kabc.cluster`, instead of a number of groups, with a pilot: what it costs to prove which arms are the
        same within this tolerance, and within half, twice and five times as much.

    Returns
    -------
    Plan, SimulatedPlan or TolerancePlan
        For "anytime" a `SimulatedPlan`, with a tolerance a `TolerancePlan`. Print it for a table.

    Examples
    --------
    >>> import kabc
    >>> guess = kabc.plan(2, 2, 0.2, gap=5.0, progress=False)
    >>> guess.expected_samples
    12
    >>> plan = kabc.plan(12, 3, 0.05, gap=1.0, strategy="kabc-tight")
    >>> plan.expected_samples < plan.sure_samples
    True
    """
    if sum(given is not None for given in (gap, embedded_gap, pilot)) != 1:
        raise SettingsError("pass exactly one of gap=, embedded_gap= and pilot=")
    if variances is not None and embedded_gap is None:
        raise SettingsError("variances= belongs to embedded_gap=; leave it out with gap= and pilot=")
    if tolerance is not None and strategy not in (None, "tolerance"):
        raise SettingsError(f"strategy {strategy!r} takes no tolerance; leave one of them out")
    if strategy is None:
        strategy = "anytime" if kernel is None and embedded_gap is None else "kabc"
    cost = Cost(_not_negative("price", price), _not_negative("seconds_per_sample", seconds_per_sample))
    rows = [] if pilot is None else _pilot_rows(pilot, kernel)
    if rows and n_arms not in (None, len(rows)):
        raise SettingsError(f"the pilot has {len(rows)} arms, n_arms is {n_arms}")
    n_arms = len(rows) if rows else n_arms
    if tolerance is not None:
        others = {"n_clusters": n_clusters, "kernel": kernel, "strategy_options": strategy_options}
        return asked_plan(rows, delta, cost, tolerance, others)
    if n_clusters is None and not rows:
        raise SettingsError("an assumed gap needs the number of groups; pass n_clusters=, or a pilot")
    if not needs_kernel(strategy):
        if kernel is not None or embedded_gap is not None:
            raise SettingsError(f"strategy {strategy!r} has no kernel; leave kernel= out, and pass gap= or pilot=")
        options = _QUICK.get(strategy, {}) | dict(strategy_options or {})
        make = partial(make_strategy, strategy, n_arms, n_clusters, delta, None, options)
        within = proposed_plan(rows, delta, cost) if n_clusters is None else None
        return replace(_simulated(strategy, make, gap, rows, Ticker.of(progress)), cost=cost, within=within)
    if kernel is None:
        kernel = Gaussian.from_pilot(np.concatenate(rows)) if rows else Gaussian(bandwidth=1.0)
    planned = _strategy(strategy, n_arms, n_clusters, delta, kernel, strategy_options)
    distance, variance = _assumed(gap, embedded_gap, variances, kernel, rows, planned)
    largest = math.sqrt(2 * (kernel.supremum - kernel.infimum))
    if distance > largest:
        raise SettingsError(
            f"embedded_gap {distance:.4g} is too large: two embeddings of this kernel differ by at most {largest:.4g}"
        )
    return replace(scheduled(planned, distance, variance, estimated=bool(rows)), cost=cost)


def _assumed(
    gap: float | None,
    embedded_gap: float | None,
    variances: ArrayLike | None,
    kernel: Kernel,
    rows: list[NDArray[Any]],
    planned: KABC,
) -> tuple[float, float]:
    """Distance of the mean embeddings of the closest groups, and the variance."""
    if rows:
        guessed = guessed_groups(quick(kernel, rows), rows, planned.n_clusters)
        return guessed.gap, guessed.variance
    if gap is not None:
        return embedded(positive_number("gap", gap), kernel)
    return positive_number("embedded_gap", embedded_gap), _largest_variance(variances, kernel)


def embedded(gap: float, kernel: Kernel) -> tuple[float, float]:
    """Distance of the mean embeddings of N(0, 1) and N(gap, 1), and their variance, under a Gaussian kernel.

    Examples
    --------
    >>> from kabc.core.kernels import Gaussian
    >>> [round(value, 3) for value in embedded(2.0, Gaussian(bandwidth=1.0))]
    [0.75, 0.423]
    """
    if not isinstance(kernel, Gaussian):
        raise SettingsError(
            f"gap= is known for Gaussian kernels only, got {kernel!r}; pass embedded_gap= and variances="
        )
    width = kernel.bandwidth**2 + 2  # X - X' ~ N(0, 2)
    same = kernel.bandwidth / math.sqrt(width)  # E g(X, X')
    return math.sqrt(2 * same * -math.expm1(-(gap**2) / (2 * width))), 1 - same


def _pilot_rows(pilot: Pilot, kernel: Kernel | None) -> list[NDArray[Any]]:
    given = list(pilot.values()) if isinstance(pilot, Mapping) else list(pilot)
    return [as_points(rows) if kernel is None else kernel.coerce(rows) for rows in given]


def _strategy(
    name: str,
    n_arms: int | None,
    n_clusters: int | None,
    delta: float,
    kernel: Kernel,
    options: Mapping[str, Any] | None,
) -> KABC:
    if n_clusters is None:
        raise SettingsError(f"a plan for strategy {name!r} needs the number of groups; pass n_clusters=")
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
    facts = (name, strategy.n_arms, strategy.n_clusters, strategy.delta)
    if rows:
        try:
            guessed = groups_of_rows(rows, strategy.n_clusters)
        except SettingsError:  # its kernel is no expert for every difference; the strategy may see them all
            alone = None if strategy.n_clusters is None else rehearse_on(make, rows, show)
            if alone is None:
                raise
            return SimulatedPlan(*facts, "which takes the pilot's samples", alone, given_up=False)
        instance = SimulatedArms.of_rows(rows, guessed.labels, blur=1 - guessed.gap / guessed.seen)
        groups = counted(guessed.n_groups, "guessed group")
        source = f"which takes the pilot's samples, then draws from them, pooled by {groups}"
    else:
        assert strategy.n_clusters is not None
        instance = SimulatedArms.of_normals(positive_number("gap", gap), strategy.n_arms, strategy.n_clusters)
        source = f"of normal arms, means of neighbouring groups {gap:g} {plural_of_gap(gap)} apart"
    samples, given_up = rehearse(make, instance, show)
    return SimulatedPlan(*facts, source, samples, given_up)


def plural_of_gap(gap: float | None) -> str:
    """The unit of a gap: "standard deviation" after 1, else its plural."""
    return "standard deviation" if gap == 1 else "standard deviations"


def _not_negative(name: str, value: float) -> float:
    if not 0 <= value < math.inf:
        raise SettingsError(f"{name} must be a finite number of at least 0, got {value!r}")
    return value
