"""`kabc plan --tolerance`: what sameness costs, as a table over tolerances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from kabc.arms.base import NamedArms
from kabc.cli.pilots import Samples
from kabc.cli.times import clock
from kabc.config.models import Config
from kabc.core.errors import KabcError
from kabc.core.samples import as_points
from kabc.core.words import shown
from kabc.planning.cost import Cost
from kabc.planning.tolerances import ASK, TolerancePlan, TolerancePrice, tolerance_plan
from kabc.running.tolerances import kinds_of


def tolerances_of(pilot: Samples, arms: NamedArms, config: Config) -> TolerancePlan | None:
    """The prices of the tolerance that was asked for; without one, of round ones, or None where they cannot be told."""
    try:
        rows = [as_points(one) for one in pilot.values()]
        return tolerance_plan(
            rows,
            config.delta,
            Cost(),
            tolerance=config.tolerance,
            columns=arms.columns if len(arms.columns) == rows[0].shape[1] else (),
            **kinds_of(arms.columns, arms.types)._asdict(),
        )
    except KabcError:
        if config.tolerance is None:
            return None
        raise


def tolerance_facts(within: TolerancePlan | None, cost: Cost) -> dict[str, Any]:
    """For JSON."""
    if within is None:
        return {}
    rows = [
        asdict(one) | {"money": cost.money(one.samples), "seconds": cost.duration(one.samples)} for one in within.prices
    ]
    return {
        "tolerance": None if within.asked is None else within.asked.tolerance,
        "groups_in_pilot": within.n_groups,
        "tolerances": rows,
    }


def print_tolerances(within: TolerancePlan, cost: Cost, source: str, *, asked: bool) -> None:
    """The table, below what it rests on."""
    if asked:
        each, two = "each arm within the tolerance of its group", "any two arms of a group within the tolerance"
        what = two if within.quantiles else each
        print(shown(f"{what}, delta = {within.delta:g}; {source}"))
        print(f"samples: {within.source}")
    else:
        print(f"{ASK}; samples: {within.source}")
    columns: dict[str, Callable[[TolerancePrice], str]] = {
        "of each arm": lambda one: f"{one.samples_of_arm:,}",
        "samples": lambda one: f"{one.samples:,}",
    }
    if cost.price is not None:
        columns["money"] = lambda one: f"{cost.money(one.samples):,.6g}"
    if cost.seconds is not None:
        columns["time"] = lambda one: clock(cost.duration(one.samples) or 0.0)
    width = max(len("tolerance"), *(len(shown(one.tolerance)) for one in within.prices)) + 1
    print(f"{'tolerance':<{width}}" + "".join(f"{title:>14}" for title in columns))
    for one in within.prices:
        print(f"{shown(one.tolerance):<{width}}" + "".join(f"{show(one):>14}" for show in columns.values()))
