"""What sameness costs, as a table over tolerances: from a pilot, by the price of the strategy. An estimate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.errors import KabcError, SettingsError
from kabc.core.samples import expect_columns
from kabc.core.settings import arms_number, error_probability
from kabc.core.tolerances import QuantileTolerance, Tolerance, parse
from kabc.core.tolerances.ladders import multiples, round_ones
from kabc.core.words import counted
from kabc.planning.cost import Cost
from kabc.planning.estimates import groups_or_one
from kabc.strategies.tolerance import quantile_price
from kabc.strategies.tolerance.price import FEWEST_ROWS, samples_of_arms
from kabc.strategies.tolerance.reading import default_columns
from kabc.strategies.tolerance.ruler import code_places

ASK = "not knowing the number of groups, ask for a tolerance"


@dataclass(frozen=True, slots=True)
class TolerancePrice:
    """What one tolerance costs, about.

    Attributes
    ----------
    tolerance : str
        As people say it: "2 %".
    samples_of_arm : int
        Of the arm that takes the most.
    samples : int
        Of all arms.
    """

    tolerance: str
    samples_of_arm: int
    samples: int


@dataclass(frozen=True)
class TolerancePlan:
    """What it costs to prove which arms are the same within a tolerance. Print it for a table. An estimate, no bound.

    Attributes
    ----------
    prices : tuple of TolerancePrice
        From the smallest tolerance to the largest.
    asked : TolerancePrice or None
        The one that was asked for; None if there are only proposals.
    n_groups : int
        Groups that the pilot shows. Arms that it does not tell apart are taken to be the same.
    cost : Cost
        Of one sample.

    Examples
    --------
    >>> import kabc, numpy
    >>> rng = numpy.random.default_rng(0)
    >>> plan = kabc.plan(pilot=[rng.normal(100, 8, 40) for arm in range(6)], tolerance="2%")
    >>> [price.tolerance for price in plan.prices], plan.expected_samples == plan.asked.samples
    (['1 %', '2 %', '4 %', '10 %'], True)
    """

    n_arms: int
    delta: float
    n_groups: int
    prices: tuple[TolerancePrice, ...]
    asked: TolerancePrice | None
    cost: Cost = field(default_factory=Cost)
    quantiles: bool = False  # the tolerance is about quantiles: any two arms of a group are the same

    @property
    def expected_samples(self) -> int:
        """Samples of all arms for the tolerance that was asked for, or for the cheapest one."""
        return (self.asked or self.prices[-1]).samples

    @property
    def sure_samples(self) -> None:
        """Nothing is proved."""

    @property
    def estimated(self) -> bool:
        """It is always a guess."""
        return True

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.n_arms} arms, delta = {self.delta:g}, number of groups found; {self.source}",
                *self.table(),
                *(self.cost.lines({price.tolerance: price.samples for price in self.prices})),
            ]
        )

    @property
    def source(self) -> str:
        """What the estimate rests on, in words."""
        groups = "no group" if self.n_groups == 1 else counted(self.n_groups, "group")
        return f"an estimate: the pilot shows {groups}" + (" apart" if self.n_groups == 1 else "")

    def table(self) -> list[str]:
        """A line for each tolerance."""
        width = max(len("tolerance"), *(len(price.tolerance) for price in self.prices))
        head = f"{'tolerance':<{width}} {'of each arm':>12} {'samples in all':>15}"
        rows = [f"{one.tolerance:<{width}} {one.samples_of_arm:>12,} {one.samples:>15,}" for one in self.prices]
        return [head, *rows]


def asked_plan(
    rows: Sequence[Array], delta: float, cost: Cost, tolerance: object, others: Mapping[str, object]
) -> TolerancePlan:
    """The plan of a tolerance, which needs a pilot and nothing else. `others`: settings that must be None."""
    for name, value in others.items():
        if value is not None:
            raise SettingsError(f"a plan is for a tolerance or for {name}={value!r}; leave one of them out")
    if not rows:
        raise SettingsError("what a tolerance costs is estimated from a pilot; pass pilot=")
    return tolerance_plan(rows, delta, cost, tolerance=tolerance)


def proposed_plan(rows: Sequence[Array], delta: float, cost: Cost) -> TolerancePlan | None:
    """The prices of round tolerances, where they can be told."""
    try:
        return tolerance_plan(rows, delta, cost)
    except KabcError:
        return None


def tolerance_plan(
    rows: Sequence[Array],
    delta: float,
    cost: Cost,
    *,
    tolerance: object = None,
    columns: Sequence[str] = (),
    categories: Collection[str] = (),
    texts: Collection[str] = (),
) -> TolerancePlan:  # N arrays (n_i, d)
    """The prices of a tolerance and of multiples of it; without one, of round tolerances that suit the values."""
    arms_number(len(rows))
    error_probability(delta)
    for one in rows:
        expect_columns(one, rows[0].shape[1])
    fewest = min(map(len, rows))
    if fewest < FEWEST_ROWS:
        raise SettingsError(
            f"a pilot needs at least {FEWEST_ROWS} samples of each arm, the smallest arm has {fewest}; take more"
        )
    names = tuple(columns) or default_columns(rows[0].shape[1])
    asked = None if tolerance is None else parse(tolerance, names, categories, texts)
    if asked is None:
        several = [parse(one, names, categories, texts) for one in round_ones(np.concatenate(rows))]
    else:
        several = multiples(asked)
    labels, codes = groups_or_one(rows), code_places(names, categories)
    found = {one.words: _price(rows, one, labels, delta, codes, needed=one is asked) for one in several}
    prices = tuple(one for one in found.values() if one is not None)
    if not prices:
        raise SettingsError("the pilot shows no tolerance that could be proven; take a larger pilot")
    named = None if asked is None else found[asked.words]
    return TolerancePlan(
        len(rows), delta, int(labels.max()) + 1, prices, named, cost, isinstance(asked, QuantileTolerance)
    )


def _price(
    rows: Sequence[Array],
    tolerance: Tolerance | QuantileTolerance,
    labels: Index,
    delta: float,
    codes: Sequence[int],
    *,
    needed: bool,
) -> TolerancePrice | None:
    """The price; None for a proposal that cannot be measured on this pilot."""
    try:
        if isinstance(tolerance, QuantileTolerance):
            counts = quantile_price.samples_of_arms(rows, tolerance, labels, delta)
        else:
            counts = samples_of_arms(rows, tolerance, labels, delta, codes=codes)
    except KabcError:
        if needed:
            raise
        return None
    if not np.isfinite(counts).all():
        return None
    return TolerancePrice(tolerance.words, int(counts.max()), int(counts.sum()))
