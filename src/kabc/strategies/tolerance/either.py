"""A tolerance and a number of groups: whichever answer is certified first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.verdicts import Verdicts
from kabc.core.kernels import Kernel
from kabc.core.partitions import Partition
from kabc.core.scores.maps import FeatureMap
from kabc.strategies.answers import Guarantee, Status
from kabc.strategies.anytime.strategy import AnytimeKABC
from kabc.strategies.base import Request, Stepwise, checked_samples
from kabc.strategies.gate import Gate, QuantileGate
from kabc.strategies.tolerance.quantiles import QuantileKABC
from kabc.strategies.tolerance.reading import is_about_quantiles
from kabc.strategies.tolerance.strategy import ToleranceKABC

Within = ToleranceKABC | QuantileKABC

EXACT = 0.5  # part of delta for the answer that takes the number of groups for granted


def tolerance_strategy(
    n_arms: int,
    n_clusters: int | None,
    delta: float,
    *,
    tolerance: object = "0.5 sd",
    columns: Sequence[str] = (),
    kernel: Kernel | None = None,
    maps: Sequence[FeatureMap] | None = None,
    seed: int = 0,
    block: int = 1,
    check_k: bool = True,
    gate: bool = False,
    linger: float = 1.0,
    categories: Sequence[str] = (),
) -> Within | Either | Gate | QuantileGate:
    """Tolerance KABC, or Quantile KABC; with a number of groups beside Anytime KABC, on the same samples.

    With `gate`, the two arms of `kabc.check`; `linger` is for those that are live.
    """
    options: dict[str, Any] = {"columns": columns, "kernel": kernel, "maps": maps, "seed": seed, "block": block}
    options["categories"] = categories
    if gate:
        if is_about_quantiles(tolerance, columns):
            return QuantileGate(n_arms, n_clusters, delta, tolerance=tolerance, columns=columns, block=block)
        return Gate(n_arms, n_clusters, delta, tolerance=tolerance, linger=linger, **options)
    if n_clusters is None:
        return _within(n_arms, delta, tolerance, options)
    return Either(n_arms, n_clusters, delta, tolerance=tolerance, check_k=check_k, **options)


def _within(n_arms: int, delta: float, tolerance: object, options: Mapping[str, Any]) -> Within:
    """The strategy for this kind of tolerance."""
    if not is_about_quantiles(tolerance, options.get("columns", ())):
        return ToleranceKABC(n_arms, None, delta, tolerance=tolerance, **options)
    known = {name: options[name] for name in ("columns", "block") if name in options}
    for name, value in options.items():
        if name not in (*known, "seed", "categories") and value is not None:
            raise SettingsError(f"a tolerance of quantiles needs no {name}, got {value!r}; leave it out")
    return QuantileKABC(n_arms, None, delta, tolerance=tolerance, **known)


class Either(Stepwise):
    """Anytime KABC with K groups and Tolerance KABC (or Quantile KABC), each with half of delta, on the same samples.

    An arm is drawn as often as the one that asks for more wants it; the other gets the first of these samples.
    """

    one_blas_thread = True
    stops_by_itself = True
    kernel: Kernel | None = None

    def __init__(
        self, n_arms: int, n_clusters: int, delta: float, *, tolerance: object, check_k: bool = True, **options: Any
    ) -> None:
        super().__init__(n_arms, delta)
        self.n_clusters = n_clusters
        self.block = options.get("block", 1)
        common = {name: options[name] for name in ("maps", "seed", "block") if name in options}
        self.exact = AnytimeKABC(n_arms, n_clusters, EXACT * self.delta, check_k=check_k, **common)
        self.within = _within(n_arms, (1 - EXACT) * self.delta, tolerance, options)
        self._parts: tuple[AnytimeKABC, Within] = (self.exact, self.within)

    @property
    def _ended(self) -> AnytimeKABC | Within:
        """The one whose answer stands."""
        return self.exact if self.exact.status == "decided" else self.within

    @property
    def n_groups_at_least(self) -> int:
        return max(one.n_groups_at_least for one in self._parts)

    @property
    def k_doubt(self) -> float | None:
        """Evidence that a group is two, to 1."""
        return self.exact.k_doubt

    def ask(self) -> Request:
        wanted: Request = {}
        for one in () if self.stopped else self._parts:
            for arm, n in one.ask().items():
                wanted[arm] = max(n, wanted.get(arm, 0))
        self._asked = dict(sorted(wanted.items()))
        return dict(self._asked)

    def _request(self) -> Request:
        raise AssertionError("ask is its own")

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, None, self.within.columns)
        assert self._asked is not None
        given = dict(zip(self._asked, rows, strict=True))
        # The tolerance comes first: it refuses what it cannot measure before anything is changed.
        for one in (self.within, self.exact):
            request = one.ask()
            if request:
                one.tell({arm: given[arm][:n] for arm, n in request.items()})
        self._take(rows)
        self._status = self._how()
        n = max(int(one.rounds[-1].n) for one in self._parts if one.rounds)
        self._close_round(n // self.block, self.n_groups_at_least)

    def _how(self) -> Status | None:
        if "decided" in (self.exact.status, self.within.status):
            return "decided"
        if self.within.status == "stalled" and not self.exact.stopped:
            return None
        return self.within.status  # without an exact answer the tolerance goes on

    @property
    def arms_set_aside(self) -> frozenset[int]:
        """Arms that it goes on without."""
        return self.within.arms_set_aside | self.exact.arms_set_aside

    def set_aside(self, arms: Iterable[int]) -> None:
        """Go on without arms that cannot be drawn any more."""
        given = list(arms)
        self._asked = None
        for one in self._parts:
            if not one.stopped:
                one.set_aside(given)
        self._status = self._how()

    @property
    def forecast(self) -> Array | None:  # (N,)
        """About how many more samples of each arm it takes: by the one that will be done first, as far as is known.

        An exact answer that cannot be foreseen may come soon. So the tolerance alone counts from half of its way on.
        """
        if self.stopped and self._status != "exhausted":
            return None
        exact, within = self.exact.forecast, self.within.forecast
        if exact is not None and within is not None:
            return min(exact, within, key=lambda more: float(more.sum()))
        if exact is None and within is not None and within.sum() > self.n_samples and not self.exact.stopped:
            return None
        return within if exact is None else exact

    def recommend(self) -> Partition:
        return self._ended.recommend()

    def evidence(self) -> Evidence:
        found = self.within.evidence()
        if self._ended is not self.exact:
            return found
        told = self.exact.evidence().told_in_round[:, found.compared]
        new = (told > 0) & (found.told == 0)  # what the answer tells apart beyond the pairs of the tolerance
        found.told[new] = told[new]
        found.values[new] = np.maximum(found.values[new], found.limits[new])
        return found

    def verdicts(self) -> Verdicts | None:
        """What is proven of each pair within the tolerance."""
        return self.within.verdicts()

    def guarantee(self) -> Guarantee:
        return self._ended.guarantee()
