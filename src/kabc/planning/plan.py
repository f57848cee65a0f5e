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
from kabc.core.settings import positive_number
from kabc.planning.cost import Cost
from kabc.planning.estimates import estimated_gap, guessed_groups
from kabc.planning.rehearsal import SimulatedArms, SimulatedPlan, rehearse
from kabc.planning.schedule import Plan, scheduled
from kabc.running.progress import ShowLine, Ticker
from kabc.strategies import KABC, Strategy, make_strategy, needs_kernel


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
    """What `kabc.cluster` will cost on arms with this gap, or on arms like those of a pilot.

    Parameters
    ----------
    n_arms : int, optional
        N. It may be left out if there is a pilot.
    n_clusters : int, default 2
        K, the number of groups.
    delta : float, default 0.05
        Largest probability of a wrong certified answer.
    gap : float, optional
        Smallest distance of the mean embeddings of different groups. For "anytime": distance of the means of
        neighbouring groups, in standard deviations.
    variances : float or array of float, optional
        RKHS variance of the arms: one number, or one for each arm; the largest counts. Default: the kernel's supremum,
        which no variance exceeds.
    pilot : mapping or sequence of arrays, optional
        Samples of each arm, instead of `gap` and `variances`: these are estimated from it. For "anytime" the simulated
        arms draw from it. Either way the plan is a guess.
    kernel : Kernel, optional
        Its bounds enter the plan. Default: Gaussian, with the median heuristic if there is a pilot.
    strategy : str, default "kabc"
        As for `kabc.cluster`. For "anytime" no bound is proved: the plan is a guess from a few simulated runs.
    strategy_options : mapping, optional
        As for `kabc.cluster`.
    price : float, default 0
        Of one sample. If it is given, the plan is also printed in money.
    seconds_per_sample : float, default 0
        If it is given, the plan is also printed in time.
    progress : bool or callable, default True
        As for `kabc.cluster`. Only simulated runs take long.

    Returns
    -------
    Plan or SimulatedPlan
        For "anytime" a `SimulatedPlan`. Print it for a table.

    Examples
    --------
    >>> import kabc
    >>> plan = kabc.plan(12, 3, 0.05, gap=0.5, variances=0.4, strategy="kabc-tight")
    >>> plan.expected_samples < plan.sure_samples
    True
    >>> guess = kabc.plan(2, 2, 0.2, gap=5.0, strategy="anytime", progress=False)
    >>> guess.samples
    (10, 10, 12, 10, 10)
    """
    if (gap is None) == (pilot is None):
        raise SettingsError("pass either gap= (and variances=) or pilot=; exactly one of gap and pilot is needed")
    cost = Cost(_not_negative("price", price), _not_negative("seconds_per_sample", seconds_per_sample))
    rows = [] if pilot is None else _pilot_rows(pilot, kernel)
    if n_arms is None and rows:
        n_arms = len(rows)
    if not needs_kernel(strategy):
        if kernel is not None or variances is not None:
            raise SettingsError(f"strategy {strategy!r} has no kernel; leave kernel= and variances= out")
        make = partial(make_strategy, strategy, n_arms, n_clusters, delta, None, strategy_options)
        return replace(_simulated(strategy, make, gap, rows, Ticker(progress)), cost=cost)
    if kernel is None:
        kernel = Gaussian.from_pilot(np.concatenate(rows)) if rows else Gaussian(bandwidth=1.0)
    planned = _strategy(strategy, n_arms, n_clusters, delta, kernel, strategy_options)
    if rows:
        gap, variance = estimated_gap(planned, rows)
    else:
        gap, variance = positive_number("gap", gap), _largest_variance(variances, kernel)
    largest = math.sqrt(2 * (kernel.supremum - kernel.infimum))
    if gap > largest:
        raise SettingsError(
            f"gap {gap:.4g} is too large: two embeddings of this kernel differ by at most {largest:.4g}"
        )
    return replace(scheduled(planned, gap, variance, estimated=bool(rows)), cost=cost)


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
        guessed = guessed_groups(kernel, rows, strategy.n_arms, strategy.n_clusters)
        instance = SimulatedArms.of_rows(rows, guessed.labels)
        source = "which draw from the pilot's samples, pooled by guessed group"
    else:
        instance = SimulatedArms.of_normals(positive_number("gap", gap), strategy.n_arms, strategy.n_clusters)
        unit = "standard deviation" if gap == 1 else "standard deviations"
        source = f"of normal arms, means of neighbouring groups {gap:g} {unit} apart"
    samples, given_up = rehearse(make, instance, show)
    return SimulatedPlan(name, strategy.n_arms, strategy.n_clusters, strategy.delta, source, samples, given_up)


def _not_negative(name: str, value: float) -> float:
    if not 0 <= value < math.inf:
        raise SettingsError(f"{name} must be a finite number of at least 0, got {value!r}")
    return value
