"""The three strategies: ACB, ACB-dagger, ACB*. Symbols and the common part are in algorithm.py."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, get_args

from kabc.core.errors import SettingsError
from kabc.core.settings import positive_number
from kabc.strategies.peers.acb.algorithm import ActiveClustering
from kabc.strategies.peers.acb.quantiles import chi_quantile
from kabc.strategies.peers.acb.rules import Calibrated, Calibration, Proven, Rule, Search

Constants = Literal["published", "corrected", "proven"]


class ACB(ActiveClustering):
    """Active Clustering with Bandit feedback: groups N arms by their means, given the smallest gap between groups.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    min_gap : Delta, a lower bound of the distance of two group means.
    min_share : theta, a lower bound of the share of arms in a group. None means 1/N. Smaller values cost more.
    constants : "published": Appendix A as printed and as the authors ran it. "corrected": the same without two faults
        (see `Calibrated`). "proven": those of the theorem, which need `hanson_wright`. The first two are calibrated on
        Gaussian noise, and nothing is proven about them.
    sigma : known standard deviation of every coordinate (proven: an upper bound of the noise in any direction).
    hanson_wright : c_HW, a constant with which the Hanson-Wright inequality holds; the paper gives none.
    keep_samples : whether a stage also uses the samples of earlier stages. As printed, it uses only fresh ones. Not
        allowed for "proven".
    seed : seed of the order in which arms are picked.

    With "published" constants it searches until K representatives are found. With other constants a search ends after U
    candidates or T_max samples. The theorem counts that as an error; here the next search begins, with half the error
    probability. Time and memory of a round are those of its samples, at most 32 MB. Total memory is O(N d).
    """

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        *,
        min_gap: float | None = None,
        min_share: float | None = None,
        constants: Constants = "corrected",
        sigma: float = 1.0,
        hanson_wright: float | None = None,
        keep_samples: bool = False,
        seed: int = 0,
    ) -> None:
        self.constants = _calibration(constants, get_args(Constants))
        if (hanson_wright is None) == (self.constants == "proven"):
            raise SettingsError(
                f"constants={self.constants!r} with hanson_wright={hanson_wright!r}: a value is needed for 'proven', "
                "and for nothing else; the paper leaves this constant open, so you must declare it"
            )
        if keep_samples and self.constants == "proven":
            raise SettingsError("keep_samples is not covered by the proof; leave it out, or use other constants")
        rule: Rule = (
            Calibrated("published" if self.constants == "published" else "corrected")
            if hanson_wright is None
            else Proven(hanson_wright)
        )
        super().__init__(n_arms, n_clusters, delta, rule, sigma, seed, keep_samples)
        if min_gap is None:
            raise SettingsError(
                "ACB needs min_gap, a lower bound of the distance of two group means, got None; "
                "use 'acb-dagger' or 'acb-star' if you know none"
            )
        self.min_gap = positive_number("min_gap", min_gap)
        self.min_share = _share(min_share, self.n_arms, self.n_clusters)
        self._gap = positive_number("min_gap / sigma", self.min_gap / self.sigma, above=1e-100)
        self._name = f"ACB(delta = {self.delta:g}, K = {self.n_clusters}, {self.constants} constants)"

    def nth_search(self, number: int, d: int) -> Search:
        published = self.constants == "published"  # does not split delta
        delta = self.delta / (1 if published else 2 ** (number + 1))  # ACB: SRI(delta/2, ...)
        return self._rule.search(self.n_arms, self.n_clusters, d, delta, self._gap, self.min_share)

    def _after_search(self, search: Search) -> None:
        self._classify(self.delta / (1 if self.constants == "published" else 2), self._gap)  # ACB: ADC(delta/2, ...)

    def _more_assumptions(self) -> tuple[str, ...]:
        gap = f"means of different groups are at least {self.min_gap:g} apart"
        if not isinstance(self._rule, Proven):
            return (gap,)
        return (gap, f"each group has at least {self.min_share:.3g} of the arms", _declared(self._rule))

    def _rules(self) -> tuple[str, ...]:
        return (f"Delta = {self.min_gap:g}, theta = {self.min_share:.3g}",)


class ACBDagger(ActiveClustering):
    """ACB for an unknown gap: each search looks for half the gap of the one before, until K representatives are found.

    Nothing is proven: it is calibrated on Gaussian noise (Appendix A). A search ends after as many samples as the
    classification would take. The classification uses the estimated gap of the representatives. If this gap is less
    than half the gap that the search looked for, the next search begins. The appendix does not say this.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    min_share, sigma, keep_samples, seed : see `ACB`.
    constants : "published" or "corrected", see `ACB`.
    """

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        *,
        min_share: float | None = None,
        constants: Calibration = "corrected",
        sigma: float = 1.0,
        keep_samples: bool = False,
        seed: int = 0,
    ) -> None:
        self.constants = _calibration(constants, get_args(Calibration))
        rule = Calibrated("published" if self.constants == "published" else "corrected")
        super().__init__(n_arms, n_clusters, delta, rule, sigma, seed, keep_samples)
        self.min_share = _share(min_share, self.n_arms, self.n_clusters)
        self._name = f"ACB-dagger(delta = {self.delta:g}, K = {self.n_clusters}, {self.constants} constants)"

    def nth_search(self, number: int, d: int) -> Search:
        delta_k = self.delta / (6 * (number + 1) ** 2)
        # n_max = 1 in the first search. The appendix does not say which delta its quantile has. delta_0 comes closer to
        # the printed budgets than delta.
        first = max(1.0, 4 * (chi_quantile(self.delta / (6 * self.n_clusters), d) - d))
        gap = math.sqrt(first) / 2**number  # Delta_k
        search = self._rule.search(self.n_arms, self.n_clusters, d, delta_k, gap, self.min_share)
        most = self._rule.classification_budget(self.n_arms, self.n_clusters, d, delta_k, gap)
        return replace(search, most_samples=most)

    def _after_search(self, search: Search) -> None:
        square = self._smallest_gap()
        if square <= search.gap**2 / 4:
            self._search_again()
        else:
            self._classify(self.delta / 3, math.sqrt(square))

    def _rules(self) -> tuple[str, ...]:
        return (
            "search k = 0, 1, ... looks for Delta_k = Delta_0/2^k with delta_k = delta/(6 (k + 1)^2)",
            "it is given up after as many samples as its classification would take",
            f"classification with delta/3 and the smallest distance of representatives; theta = {self.min_share:.3g}",
        )


class ACBStar(ActiveClustering):
    """ACB for an unknown gap and an unknown share, with the constants of the theorem.

    Correct for sub-Gaussian noise, if `hanson_wright` is valid. Its constants of 1024 and 2048 are too large for
    practical use. It is here for comparison.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    hanson_wright : c_HW, a constant with which the Hanson-Wright inequality holds; the paper gives none.
    sigma, seed : see `ACB`.
    """

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        *,
        hanson_wright: float | None = None,
        sigma: float = 1.0,
        seed: int = 0,
    ) -> None:
        if hanson_wright is None:
            raise SettingsError(
                "ACB* needs hanson_wright, got None; the paper leaves this constant open, so you must declare it; "
                "use 'acb-dagger' for a calibrated strategy without it"
            )
        self._constants = Proven(hanson_wright)
        super().__init__(n_arms, n_clusters, delta, self._constants, sigma, seed, False)
        self._name = f"ACB*(delta = {self.delta:g}, K = {self.n_clusters})"

    def nth_search(self, number: int, d: int) -> Search:
        level = (math.isqrt(8 * number + 1) - 1) // 2  # l = 0, 1, 2, ...: for p = 0..l
        p = number - level * (level + 1) // 2
        share = max(1 / (self.n_clusters * 2 ** (level - p)), 1 / self.n_arms)  # theta_{p, l}
        first = math.log(self.n_clusters) + math.sqrt(d) + math.log(math.log(6 * self.n_arms / self.delta))  # Delta_0^2
        gap = math.sqrt(first / 2**p)  # Delta_p: the proof halves the square
        delta = self.delta / (6 * (level + 1) ** 3)  # delta_l
        return self._rule.search(self.n_arms, self.n_clusters, d, delta, gap, share)

    def _after_search(self, search: Search) -> None:
        n = self._constants.measure(self.n_clusters, self._columns, self.delta, search.gap)
        self._collect("measure", dict.fromkeys(self._found, n), self._columns)

    def _measured(self) -> None:
        square = self._smallest_gap()
        if square <= 0:  # only if the search was wrong
            self._search_again()
        else:
            self._classify(self.delta / 3, math.sqrt(square / 2))

    def _more_assumptions(self) -> tuple[str, ...]:
        return (_declared(self._constants),)

    def _rules(self) -> tuple[str, ...]:
        return (
            "for l = 0, 1, ... and p = 0..l a search with theta = 1/(K 2^(l - p)) and Delta_p^2 = Delta_0^2/2^p",
            "it has delta/(6 (l + 1)^3), and is given up after U candidates or T_max samples",
            "classification with delta/3 and the smallest distance of representatives over sqrt(2)",
        )


def _calibration(name: object, allowed: tuple[str, ...]) -> str:
    if name not in allowed:
        raise SettingsError(f"constants must be one of {', '.join(map(repr, allowed))}, got {name!r}")
    return str(name)


def _share(value: float | None, n_arms: int, n_groups: int) -> float:
    """Theta. 1/N is always a valid lower bound. It cannot exceed 1/K, because K groups share the arms."""
    if value is None:
        return 1 / n_arms
    share = positive_number("min_share", value)
    if share > 1 / n_groups:
        raise SettingsError(
            f"min_share must be at most 1/n_clusters = {1 / n_groups:.4g}, got {share:g}; "
            "it is a lower bound of the share of arms in the smallest group"
        )
    return max(share, 1 / n_arms)


def _declared(rule: Proven) -> str:
    return f"the Hanson-Wright inequality holds with the declared constant, c_HW = {rule.hanson_wright:g}"
