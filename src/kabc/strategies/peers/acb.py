"""ACB, ACB-dagger, ACB*: Thuot, Carpentier, Giraud and Verzelen, Active Clustering with Bandit Feedback, ALT 2025.

Peers of KABC for arms with Gaussian or sub-Gaussian noise of known size sigma, made for many columns: groups differ by
their means alone. First find one representative of each group (SRI), then hold every arm against these K (ADC).

| symbol            | here                 | meaning                                                                   |
|-------------------|----------------------|---------------------------------------------------------------------------|
| Delta_*, Delta    | `min_gap`            | smallest distance of two group means, and a lower bound of it             |
| theta_*, theta    | `min_share`          | smallest share of the arms in a group, and a lower bound of it            |
| S                 | `_found`, `_centres` | representatives found so far, and their means                             |
| n_s, s = s_0..r   | `Search.stages`      | samples by which a candidate is held against S, stage by stage            |
| n_max             | `Search.n_max`       | samples by which a representative is estimated                            |
| U, T_max          | `Search.most_...`    | candidates and samples after which a search is given up                   |
| I, J              | `Rule.shares`        | samples of an arm, and of a representative, for classification            |
| x                 | `chi_quantile`       | 1 - delta/K quantile of chi^2_d                                           |
| a, b              | `product_quantile`   | 1 - delta/(4 K (N - K)) quantile of <Z, Z'>, Z, Z' ~ N(0, I_d); of N(0, 1)|
| c_HW              | `hanson_wright`      | constant of the Hanson-Wright inequality, which the paper does not give   |
| D                 | `_smallest_gap`      | smallest distance of two representatives, estimated                       |

Everything is in units of sigma. Numbers of samples are those of one half where means come in halves.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.settings import positive_number, whole_number
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, checked_samples, evidence_of_means, in_units

Calibration = Literal["published", "corrected"]
Constants = Literal["published", "corrected", "proven"]
_Step = Literal["represent", "screen", "measure", "classify"]

_MOST_VALUES = 4_000_000  # numbers asked for in one round: 32 MB
_ROOM = 4  # candidates, in units of what it takes to pick every group
_NODES = 400  # of an integral over a smooth density a few standard deviations wide


# ---------------------------------------------------------------- how many samples: SRI and ADC


@dataclass(frozen=True, slots=True)
class Search:
    """One call of SRI: what it looks for, how many samples it takes, when it is given up."""

    delta: float
    gap: float
    stages: tuple[int, ...]
    n_max: int
    most_candidates: float = math.inf
    most_samples: float = math.inf


class Rule(ABC):
    """Where the numbers of samples come from."""

    halves: int

    @abstractmethod
    def search(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float, share: float) -> Search:
        """SRI(delta, Delta, theta)."""

    @abstractmethod
    def shares(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float) -> tuple[int, int]:
        """I and J of ADC(delta, Delta)."""

    def classification_budget(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float) -> int:
        """Samples that ADC(delta, Delta) takes."""
        i, j = self.shares(n_arms, n_groups, d, delta, gap)
        return self.halves * ((n_arms - n_groups) * i + n_groups * j)


class Calibrated(Rule):
    """Appendix A: quantiles of Gaussian noise, whole samples; what the authors ran.

    "corrected" mends two things. A mean must not be off by more than Delta/2 along the line of two centres, which takes
    16 b^2 samples where 16 b are printed: with few columns, where this term decides, the printed number errs more often
    than delta. And a printed search never ends before it has K representatives, true or not: here it ends after U
    candidates, and its tests, each false with probability delta/U instead of delta/K, are together false with delta.
    """

    halves = 1

    def __init__(self, calibration: Calibration) -> None:
        self.published = calibration == "published"

    def search(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float, share: float) -> Search:
        # the factor is room for candidates of new groups that are turned away by chance
        most = math.inf if self.published else math.ceil(_ROOM / share * math.log(n_groups / delta))
        tail = delta / (n_groups if self.published else most)
        n_max = _at_least_one(4 * (chi_quantile(tail, d) - d) / gap**2)
        few = share * n_groups / max(math.log(1 / delta), share * n_groups)  # K/U', U' = ln(1/delta)/theta; at most 1
        n_0 = math.ceil(few * n_max)
        r = math.ceil(math.log2(n_max / n_0))  # the last stage at n_max or above: with less it errs
        return Search(delta, gap, tuple(2**s * n_0 for s in range(r + 1)), n_max, most)

    def shares(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float) -> tuple[int, int]:
        from scipy.stats import norm

        tail = delta / (4 * n_groups * (n_arms - n_groups))
        line = 16 * float(norm.isf(tail)) ** (1 if self.published else 2)
        plane = 4 * math.sqrt(2) * product_quantile(tail, d)
        ratio = math.sqrt(n_groups / n_arms)
        return _at_least_one(max(line, plane * ratio) / gap**2), _at_least_one(max(line, plane / ratio) / gap**2)


class Proven(Rule):
    """The constants of the theorem, up to c_HW, which it leaves open; means come in independent halves."""

    halves = 2

    def __init__(self, hanson_wright: float) -> None:
        self.hanson_wright = c = positive_number("hanson_wright", hanson_wright)
        self.c_1, self.c_2, self.c_3 = max(32.0**2, 8 * c), max(16 * math.sqrt(c / 2), 32 * math.sqrt(2)), 32 * 2**0.5
        self.c_4, self.c_5 = max(64.0, 4 * math.sqrt(2) * c), 8 * math.sqrt(c)
        self.c_6 = max(2048.0, 64 * c, 92 * math.sqrt(c))

    def search(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float, share: float) -> Search:
        most = math.ceil(8 / share * math.log(8 * n_groups / delta))  # U
        r = math.ceil(math.log2(math.log(4 * most / delta)))
        sizes = {
            s: math.ceil(
                max(self.c_1 * (2**s + math.log(12 * n_groups)), self.c_2 * math.sqrt(d * (2**s + math.log(6))))
                / gap**2
            )
            for s in range(1, r + 1)
        }
        n_max = max(sizes[r], math.ceil(self.c_3 * math.sqrt(d * math.log(2 * n_groups)) / gap**2))
        first = min(r, next((s for s, n in sizes.items() if n >= 2), r))  # s_0
        later = {s: n for s, n in sizes.items() if s > first}
        most_samples = (  # T_max
            2 * n_groups * (n_max + sum(later.values()))
            + 2 * most * sizes[first]
            + 2 * most * math.fsum(n / 2 ** (s - 4) for s, n in later.items())
        )
        return Search(delta, gap, (sizes[first], *later.values()), n_max, most, most_samples)

    def shares(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float) -> tuple[int, int]:
        log_term = math.log(6 * n_arms * n_groups / delta)
        i = max(self.c_4 * log_term, self.c_5 * math.sqrt(d * n_groups / n_arms * log_term)) / gap**2
        j = max(self.c_4 * log_term, self.c_5 * math.sqrt(d * n_arms / n_groups * log_term)) / gap**2
        return _at_least_one(i), _at_least_one(j)

    def measure(self, n_groups: int, d: int, delta: float, gap: float) -> int:
        """n'_p: samples of each representative, to learn their smallest distance."""
        log_term = math.log(3 * n_groups**2 / delta)
        return math.ceil(self.c_6 * (log_term + math.sqrt(d * log_term)) / gap**2)


def _at_least_one(n: float) -> int:
    return max(1, math.ceil(n))


def chi_quantile(tail: float, d: int) -> float:
    """x with P(chi^2_d > x) = tail."""
    from scipy.stats import chi2

    return float(chi2.isf(tail, d))


@lru_cache(maxsize=1024)
def product_quantile(tail: float, d: int) -> float:
    """a with P(<Z, Z'> > a) = tail; 0 from one half on, where nothing is asked for.

    Given |Z| = z the product is N(0, z^2): an integral over the density of |Z|.
    """
    if tail >= 0.5:
        return 0.0
    from scipy.optimize import brentq
    from scipy.stats import chi, norm

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    low, high = float(chi.ppf(1e-9 * tail, d)), float(chi.isf(1e-9 * tail, d))
    z = low + (high - low) * (nodes + 1) / 2
    mass = weights * (high - low) / 2 * chi.pdf(z, d)

    def excess(x: float) -> float:
        return math.log(float(mass @ norm.sf(x / z))) - math.log(tail)

    # given |Z| <= high, which it is but for 1e-9 tail, the quantile is below that of high times a standard normal
    return float(brentq(excess, 0.0, high * float(norm.isf(tail / 2)), xtol=1e-12, rtol=1e-12))


# ---------------------------------------------------------------- samples, as far as they are needed


class _Collection:
    """Samples of some arms that belong together; only sums are kept, in equal halves where there are two."""

    def __init__(self, wanted: Mapping[int, int], halves: int, d: int) -> None:
        self.per_half = dict(wanted)
        self._left = {arm: halves * n for arm, n in wanted.items()}
        self._sums = {arm: np.zeros((halves, d)) for arm in wanted}
        self._most = max(1, _MOST_VALUES // d)

    def request(self) -> Request:
        """The next samples, of as many arms as fit into one round."""
        room, request = self._most, {}
        for arm, left in self._left.items():
            if left and room:
                request[arm] = min(left, room)
                room -= request[arm]
        return request

    def add(self, arm: int, points: Array) -> None:  # (n, d)
        """Samples take turns between the halves."""
        sums = self._sums[arm]
        for half in range(len(sums)):
            sums[half] += points[(half + self._left[arm]) % len(sums) :: len(sums)].sum(axis=0)
        self._left[arm] -= len(points)

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not any(self._left.values())

    def mean(self, arm: int) -> _Mean:
        """Means of the halves."""
        return _Mean(self._sums[arm] / self.per_half[arm], self.per_half[arm])


@dataclass(frozen=True, slots=True)
class _Mean:
    """Empirical mean of an arm, or of two halves of its samples."""

    halves: Array  # (1 or 2, d)
    n: int  # of each half

    def squared_distance(self, other: _Mean) -> float:
        """An unbiased estimate: the product of two independent differences, or one square less what noise adds."""
        difference = self.halves - other.halves
        bias = difference.shape[1] * (1 / self.n + 1 / other.n) if len(difference) == 1 else 0.0
        return float(difference[0] @ difference[-1]) - bias

    def with_more(self, more: _Mean) -> _Mean:
        """The mean of both sets of samples."""
        n = self.n + more.n
        return _Mean((self.n * self.halves + more.n * more.halves) / n, n)


# ---------------------------------------------------------------- algorithms


class _Active(Stepwise):
    """What ACB, ACB-dagger and ACB* share: searches until one finds K representatives, then the classification."""

    kernel = None
    one_blas_thread = True
    _name: str

    def __init__(
        self, n_arms: int, n_clusters: int, delta: float, rule: Rule, sigma: float, seed: int, keep_samples: bool
    ) -> None:
        super().__init__(n_arms, delta)
        self.n_clusters = whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.sigma = positive_number("sigma", sigma)
        self.seed = whole_number("seed", seed, 0)
        self.keep_samples = bool(keep_samples)
        self._rule = rule
        # --- state: what the next step needs, and what people look at
        self._rng = np.random.default_rng(self.seed)
        self._attempt = 0
        self._candidate = self._pick()
        self._found: list[int] = []
        self._centres: list[_Mean] = []
        self._tried = 0
        self._screens: list[_Mean] = []  # of the candidate, stage by stage
        self._search_ends = math.inf
        self._step: _Step = "represent"
        self._collection: _Collection | None = None  # None until the first sample tells the number of columns
        self._search: Search | None = None
        self._drawn = np.zeros(self.n_arms, dtype=np.int64)
        self._evidence = Evidence.none(self.n_arms)
        self._labels: NDArray[np.int64] = np.zeros(self.n_arms, dtype=np.int64)

    # ------------------------------------------------------------ what the three differ in

    @abstractmethod
    def _next_search(self, d: int) -> Search:
        """SRI number `_attempt`."""

    @abstractmethod
    def _after_search(self, search: Search) -> None:
        """K representatives are found."""

    @abstractmethod
    def _rules(self) -> tuple[str, ...]:
        """The rule in words, after what all three have in common."""

    def _more_assumptions(self) -> tuple[str, ...]:
        return ()

    # ------------------------------------------------------------ what to draw

    @property
    def n_groups_at_least(self) -> int:
        return self.n_clusters if self.recommend().certified else 1

    @property
    def proven(self) -> bool:
        """Whether the error probability is proven, up to the constant that was declared."""
        return isinstance(self._rule, Proven)

    def _request(self) -> Request:
        return {self._candidate: 1} if self._collection is None else self._collection.request()

    def _pick(self) -> int:
        """Any arm, with replacement."""
        return int(self._rng.integers(self.n_arms))

    def _collect(self, step: _Step, wanted: Mapping[int, int], d: int) -> None:
        self._step = step
        self._collection = _Collection(wanted, self._rule.halves, d)

    # ------------------------------------------------------------ what was drawn

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        columns = None if self._collection is None else self._columns
        rows = checked_samples(samples, self._asked, None, columns)
        assert self._asked is not None
        points = in_units(rows, self.sigma)
        # Nothing above changed the state; nothing below can fail.
        arms = list(self._asked)
        self._take(rows)
        for arm, row in zip(arms, points, strict=True):
            self._drawn[arm] += len(row)
        number = len(self._rounds) + 1
        if 1 < self.n_clusters < self.n_arms:
            self._absorb(dict(zip(arms, points, strict=True)), number)
        else:  # there is but one partition
            self._labels = np.arange(self.n_arms) % self.n_clusters
            self._decide(number)
        n_groups = self.n_clusters if self.stopped else max(1, len(self._found))
        self._close_round(int(self._drawn.max()), n_groups)

    def _absorb(self, points: Mapping[int, Array], number: int) -> None:
        if self._collection is None:
            (first,) = points.values()
            self._columns = first.shape[1]
            self._begin()
        for arm, row in points.items():
            self._collected.add(arm, row)
        if self._collected.complete:
            self._finish(self._collected, number)

    @property
    def _collected(self) -> _Collection:
        assert self._collection is not None
        return self._collection

    def _finish(self, done: _Collection, number: int) -> None:
        """A step has all its samples: what they say, and what comes next."""
        if self._step == "classify":
            self._classified(done)
            self._decide(number)
        elif self._step == "measure":
            self._centres = [done.mean(arm) for arm in self._found]
            self._measured()
        elif self._step == "represent":
            self._found.append(self._candidate)
            self._centres.append(done.mean(self._candidate))
            self._go_on()
        else:
            self._screened(done.mean(self._candidate))

    # ------------------------------------------------------------ SRI

    def _begin(self) -> None:
        """S starts as one arm, whatever it is."""
        self._search = self._next_search(self._columns)
        self._attempt += 1
        self._found, self._centres, self._tried = [], [], 0
        self._search_ends = self.n_samples + self._search.most_samples
        self._collect("represent", {self._candidate: self._search.n_max}, self._columns)

    def _go_on(self) -> None:
        """The next candidate, unless all groups are found or the search has taken too long."""
        assert self._search is not None
        if len(self._found) == self.n_clusters:
            self._after_search(self._search)
            return
        self._candidate = self._pick()
        if self._tried >= self._search.most_candidates or self.n_samples > self._search_ends:
            self._begin()
        else:
            self._tried += 1
            self._screens = []
            self._collect("screen", {self._candidate: self._search.stages[0]}, self._columns)

    def _screened(self, mean: _Mean) -> None:
        """A candidate nearer than Delta/sqrt(2) to a representative is of its group."""
        assert self._search is not None
        if self.keep_samples and self._screens:
            mean = self._screens[-1].with_more(mean)
        self._screens.append(mean)
        nearest = min(mean.squared_distance(centre) for centre in self._centres)
        if nearest <= self._search.gap**2 / 2:
            self._go_on()
        elif len(self._screens) == len(self._search.stages):
            self._collect("represent", {self._candidate: self._search.n_max}, self._columns)
        else:
            more = self._search.stages[len(self._screens)] - (mean.n if self.keep_samples else 0)
            self._collect("screen", {self._candidate: more}, self._columns)

    def _smallest_gap(self) -> float:
        """D^2: the smallest squared distance of two representatives; negative where noise made it so."""
        return min(a.squared_distance(b) for k, a in enumerate(self._centres) for b in self._centres[:k])

    def _measured(self) -> None:
        raise AssertionError("only ACB* measures")

    def _search_again(self) -> None:
        """What was found did not stand up to a second look."""
        self._candidate = self._pick()
        self._begin()

    # ------------------------------------------------------------ ADC

    def _classify(self, delta: float, gap: float) -> None:
        i, j = self._rule.shares(self.n_arms, self.n_clusters, self._columns, delta, gap)
        wanted = {arm: j if arm in self._found else i for arm in range(self.n_arms)}
        self._collect("classify", wanted, self._columns)

    def _classified(self, done: _Collection) -> None:
        """Every arm joins its nearest representative, which is held in fresh samples too."""
        means = [done.mean(arm) for arm in range(self.n_arms)]
        squares = np.array([[mean.squared_distance(means[rep]) for rep in self._found] for mean in means])  # (N, K)
        squares[self._found, np.arange(self.n_clusters)] = -np.inf
        self._labels = squares.argmin(axis=1)
        self._centres = [means[rep] for rep in self._found]
        distances = np.full((self.n_arms, self.n_arms), np.nan)
        distances[:, self._found] = self.sigma * np.sqrt(np.maximum(squares, 0.0))
        distances[self._found] = distances[:, self._found].T
        counts = np.array([self._rule.halves * done.per_half[arm] for arm in range(self.n_arms)])
        self._evidence = evidence_of_means(self._evidence.told_in_round, counts, distances)

    def _decide(self, number: int) -> None:
        self._status = "decided"
        self._collection = None
        apart = self._labels[:, None] != self._labels[None, :]
        self._evidence = replace(self._evidence, told=np.where(apart, number, 0))

    # ------------------------------------------------------------ what people see

    def recommend(self) -> Partition:
        if self.stopped:
            return Partition(tuple(self._labels.tolist()), certified=self.proven)
        guess = np.zeros(self.n_arms, dtype=np.int64)  # arms that are in no group yet go with the first
        for group, arm in enumerate(self._found):
            guess[arm] = group
        return Partition(tuple(guess.tolist()))

    def evidence(self) -> Evidence:
        return self._evidence

    def guarantee(self) -> Guarantee:
        noise = (
            "samples are independent, a mean and noise of independent sub-Gaussian coordinates, linearly mixed, "
            f"of size at most sigma = {self.sigma:g} in any direction"
            if self.proven
            else f"samples are independent and Gaussian, with covariance sigma^2 I, sigma = {self.sigma:g}"
        )
        return Guarantee(
            strategy=self._name,
            claim=(
                f"with probability at least {1 - self.delta:g} the partition is right when it stops."
                if self.proven
                else f"nothing is proven: numbers of samples are calibrated on Gaussian noise, to be wrong with "
                f"probability about {self.delta:g}."
            ),
            assumptions=(
                noise,
                f"there are exactly {self.n_clusters} groups of arms with equal means",
                "arms with equal means are one group: other differences of distributions are not seen",
                *self._more_assumptions(),
            ),
            rule=(
                f"a search picks arms at random (seed {self.seed}), until one representative of each group is found",
                "a picked arm is held against those found so far in stages, "
                + ("each with all its samples" if self.keep_samples else "each with fresh samples"),
                "it becomes one itself when every stage sees a squared distance above Delta^2/2 from all of them",
                "then all arms are drawn anew and join the nearest representative",
                *self._rules(),
            ),
        )


def _calibration(name: object, allowed: tuple[str, ...]) -> str:
    if name not in allowed:
        raise SettingsError(f"constants must be one of {', '.join(map(repr, allowed))}, got {name!r}")
    return str(name)


def _share(value: float | None, n_arms: int, n_groups: int) -> float:
    """Theta: 1/N always holds; K groups cannot all have more than 1/K."""
    if value is None:
        return 1 / n_arms
    share = positive_number("min_share", value)
    if share > 1 / n_groups:
        raise SettingsError(
            f"min_share must be at most 1/n_clusters = {1 / n_groups:.4g}, got {share:g}; "
            "it is a lower bound of the share of arms in the smallest group"
        )
    return max(share, 1 / n_arms)


class ACB(_Active):
    """Active Clustering with Bandit feedback: groups N arms by their means, given the smallest gap between groups.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    min_gap : Delta, a lower bound of the distance of two group means.
    min_share : theta, a lower bound of the share of arms in a group; None: 1/N. Smaller ones cost more.
    constants : "published", Appendix A as printed and as the authors ran it; "corrected", the same without two faults
        (see `Calibrated`); "proven", those of the theorem, which need `hanson_wright`. The first two are calibrated on
        Gaussian noise, not proven.
    sigma : known standard deviation of every coordinate (proven: an upper bound of the noise in any direction).
    hanson_wright : c_HW, a constant with which the Hanson-Wright inequality holds; the paper gives none.
    keep_samples : whether a stage counts the samples of earlier ones, not only fresh ones as printed; not for "proven".
    seed : of the order in which arms are picked.

    As published it searches until K representatives are found. Otherwise a search is given up after U candidates or
    T_max samples, which the theorem counts as an error; here the next one begins, with half the error probability.
    Time and memory of a round are those of its samples, at most 32 MB; the whole takes O(N d) memory.
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
                "and for nothing else; the paper leaves it open, so that it has to be declared"
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
                "use 'acb-dagger' or 'acb-star' where none is known"
            )
        self.min_gap = positive_number("min_gap", min_gap)
        self.min_share = _share(min_share, self.n_arms, self.n_clusters)
        self._gap = positive_number("min_gap / sigma", self.min_gap / self.sigma, above=1e-100)
        self._name = f"ACB(delta = {self.delta:g}, K = {self.n_clusters}, {self.constants} constants)"

    def _next_search(self, d: int) -> Search:
        published = self.constants == "published"  # does not split delta
        delta = self.delta / (1 if published else 2 ** (self._attempt + 1))  # ACB: SRI(delta/2, ...)
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


def _declared(rule: Proven) -> str:
    return f"the Hanson-Wright inequality holds with the declared constant, c_HW = {rule.hanson_wright:g}"


class ACBDagger(_Active):
    """ACB where the gap is not known: searches with gaps that halve, until one finds K representatives.

    Calibrated on Gaussian noise, not proven: Appendix A. A search is given up after as many samples as the
    classification would take. The gap of the classification is that of the representatives, estimated; where that is
    less than half the gap that was searched for, the next search begins, which the appendix does not say.

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

    def _next_search(self, d: int) -> Search:
        k = self._attempt
        delta_k = self.delta / (6 * (k + 1) ** 2)
        # n_max = 1 in the first search. The appendix does not say which delta its quantile has: delta_0 comes nearer to
        # the printed budgets than delta.
        first = max(1.0, 4 * (chi_quantile(self.delta / (6 * self.n_clusters), d) - d))
        gap = math.sqrt(first) / 2**k  # Delta_k
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


class ACBStar(_Active):
    """ACB where neither gap nor share is known, with the constants of the theorem.

    Correct for sub-Gaussian noise, given a valid `hanson_wright`; constants of 1024 and 2048 make it a yardstick rather
    than a tool.

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
                "ACB* needs hanson_wright, got None; the paper leaves this constant open, so that it has to be "
                "declared; use 'acb-dagger' for a calibrated strategy without it"
            )
        self._constants = Proven(hanson_wright)
        super().__init__(n_arms, n_clusters, delta, self._constants, sigma, seed, False)
        self._name = f"ACB*(delta = {self.delta:g}, K = {self.n_clusters})"

    def _next_search(self, d: int) -> Search:
        level = (math.isqrt(8 * self._attempt + 1) - 1) // 2  # l = 0, 1, 2, ...: for p = 0..l
        p = self._attempt - level * (level + 1) // 2
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
        if square <= 0:  # only where the search was wrong
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
