"""`kabc plan`: the cost of a run in samples, money and time, for several strategies side by side."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from kabc.arms.base import NamedArms
from kabc.cli import exits
from kabc.cli.live import LivePanel
from kabc.cli.pilots import Samples, expect_pilot_file, save_pilot
from kabc.cli.prices import print_tolerances, tolerance_facts, tolerances_of
from kabc.cli.times import clock
from kabc.config.models import Config
from kabc.config.sources import input_files, open_arms, opening
from kabc.core.errors import SettingsError
from kabc.core.words import counted, plural, shown
from kabc.planning.cost import Cost
from kabc.planning.plan import plan, plural_of_gap
from kabc.planning.schedule import Plan
from kabc.planning.tolerances import TolerancePlan
from kabc.running.inputs import suitable_kernel

_MOST_ROWS = 200  # default pilot rows of a finite arm,
_ALL_ROWS = 20_000  # and of all arms together: reading more would take longer than the run
_LIVE_ROWS = 20  # default pilot rows of an arm whose samples may cost money
_SIMULATED = "anytime"
_BY_KERNEL = ("kabc-tight", "kabc")

Plans = dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class Assumed:
    """An assumption instead of a pilot: group means are this many standard deviations apart."""

    gap: float | None
    n_arms: int | None


@dataclass(frozen=True)
class Row:
    """The plan of one strategy: the estimated samples, and a proven upper limit if the gap is right.

    `price_of_adaptivity`, of the published rule: both as multiples of the samples of CLUSTER with s_* known.
    """

    strategy: str
    samples: int | None
    sure_samples: int | None
    money: float | None
    seconds: float | None
    remark: str
    price_of_adaptivity: dict[str, float | None] | None = None


def plan_it(
    config: Config, assumed: Assumed, cost: Cost, *, as_json: bool, quiet: bool | None, save: str | None
) -> int:
    """Make a plan for each strategy and print the plans side by side; of a tolerance, or without K, its prices too."""
    seed = secrets.randbits(32) if config.seed is None else config.seed
    within: TolerancePlan | None = None
    with LivePanel(quiet=quiet) as panel:
        if assumed.gap is None:
            source, plans, within = _from_pilot(config, seed, panel, save)
        elif save is not None:
            raise SettingsError("--save-pilot needs a pilot; leave --gap out")
        elif config.tolerance is not None:
            raise SettingsError("what a tolerance costs is estimated from a pilot; leave --gap out")
        else:
            source, plans = _from_gap(config, assumed, panel)
        rows = [_row(name, make, cost) for name, make in plans.items()]
    if within is None and all(row.samples is None for row in rows):
        raise SettingsError(rows[0].remark)
    if as_json:
        facts = {"basis": source, "clusters": config.clusters, "delta": config.delta, "seed": seed}
        exits.print_json(facts | {"plans": [asdict(row) for row in rows]} | tolerance_facts(within, cost))
        return exits.DECIDED
    if rows:
        _print(source, rows, config)
    if within is not None:
        print_tolerances(within, cost, source, asked=config.tolerance is not None)
    return exits.DECIDED


def _from_gap(config: Config, assumed: Assumed, panel: LivePanel) -> tuple[str, Plans]:
    """Plans for normal arms in one dimension. Neighbouring group means are `gap` standard deviations apart."""
    assert assumed.gap is not None
    if not 0 < assumed.gap < math.inf:
        raise SettingsError(f"--gap must be a finite number above 0, got {assumed.gap:g}")
    if config.clusters is None:
        raise SettingsError("--gap needs the number of groups; give --clusters")
    if assumed.n_arms is None:
        raise SettingsError("--gap needs --arms, the number of arms")
    shared: dict[str, Any] = {"n_arms": assumed.n_arms, "n_clusters": config.clusters, "delta": config.delta}
    shared |= {"gap": assumed.gap, "progress": panel}
    plans: Plans = {name: partial(plan, **shared, strategy=name) for name in (_SIMULATED, *_BY_KERNEL)}
    arms = counted(assumed.n_arms, "arm")
    return f"{arms}, means of the groups {assumed.gap:g} {plural_of_gap(assumed.gap)} apart (assumed)", plans


def _from_pilot(
    config: Config, seed: int, panel: LivePanel, save: str | None
) -> tuple[str, Plans, TolerancePlan | None]:
    if save is not None:  # before a sample is paid for
        expect_pilot_file(save, input_files(config))
    with panel.during(opening(config)):
        arms = open_arms(config, seed, with_kernel=False)
    pilot = _drawn(arms, config, seed, panel)
    if save is not None:
        save_pilot(save, pilot, arms)
    least, most = min(map(len, pilot.values())), max(map(len, pilot.values()))
    counts = f"{least}" if least == most else f"{least} to {most}"
    source = f"a pilot of {counts} {plural(most, 'sample')} of each of {counted(len(pilot), 'arm')}"
    within = tolerances_of(pilot, arms, config) if config.clusters is None or config.tolerance is not None else None
    if config.clusters is None and config.tolerance is not None:
        return source, {}, within
    shared: dict[str, Any] = {"n_clusters": config.clusters, "delta": config.delta, "progress": panel}
    plans: Plans = {_SIMULATED: partial(plan, **shared, pilot=pilot, strategy=_SIMULATED)}
    by_kernel, kernel = pilot, None
    if config.clusters is not None and (
        config.table or config.sql
    ):  # rows are free: text is read once more, as kernels want it
        again = open_arms(config, seed, with_kernel=True)
        by_kernel, kernel = _drawn(again, config, seed, panel), suitable_kernel(again)
    if config.clusters is not None:  # the published rule needs K
        plans |= {name: partial(plan, **shared, pilot=by_kernel, kernel=kernel, strategy=name) for name in _BY_KERNEL}
    return source, plans, within


def _drawn(arms: NamedArms, config: Config, seed: int, panel: LivePanel) -> Samples:
    """The first samples of each arm."""
    pilot: Samples = {}
    rows = max(_LIVE_ROWS, min(_MOST_ROWS, _ALL_ROWS // len(arms)))
    for number, (name, arm) in enumerate(arms.items()):
        left = arm.remaining
        wanted = config.pilot or (_LIVE_ROWS if left is None else rows)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        with panel.during(f"pilot: arm {number + 1} of {len(arms)}"):
            pilot[name] = np.asarray(arm.draw(wanted if left is None else min(wanted, left), rng))
    return pilot


def _row(name: str, make: Callable[[], Any], cost: Cost) -> Row:
    """The row of a plan, or of the reason why there is none."""
    try:
        made = make()
    except SettingsError as error:
        return Row(name, None, None, None, None, exits.for_the_shell(str(error)))
    samples = made.expected_samples
    spent = (samples, made.sure_samples, cost.money(samples), cost.duration(samples))
    if isinstance(made, Plan):
        if made.known_samples is None:
            return Row(name, *spent, "")
        known = {"known_samples": made.known_samples, "at_most": made.price_at_most, "expected": made.price_expected}
        return Row(name, *spent, made.price_line, known)
    remark = "the simulated run was given up undecided; it needs more samples" if made.given_up else ""
    return Row(name, *spent, remark)


def _print(source: str, rows: list[Row], config: Config) -> None:
    if config.clusters is None:
        groups = "number of groups not known: until all arms that differ in the pilot are told apart"
    else:
        groups = counted(config.clusters, "group")
    print(f"{groups}, delta = {config.delta:g}; {source}")
    print("samples: an estimate of where it stops; surely: a proven upper limit, if the gap is right")
    columns: dict[str, Callable[[Row], str]] = {
        "samples": lambda row: _count(row.samples),
        "surely": lambda row: _count(row.sure_samples),
    }
    if any(row.money is not None for row in rows):
        columns["money"] = lambda row: "-" if row.money is None else f"{row.money:,.6g}"
    if any(row.seconds is not None for row in rows):
        columns["time"] = lambda row: "-" if row.seconds is None else clock(row.seconds)
    print(f"{'strategy':<12}" + "".join(f"{title:>14}" for title in columns))
    for row in rows:
        print(f"{row.strategy:<12}" + "".join(f"{show(row):>14}" for show in columns.values()))
        if row.remark:
            print(shown(f"  {row.strategy}: {row.remark}"))


def _count(samples: int | None) -> str:
    return "-" if samples is None else f"{samples:,}"
