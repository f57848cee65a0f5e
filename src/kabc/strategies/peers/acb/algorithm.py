"""ACB, ACB-dagger, ACB*: Thuot, Carpentier, Giraud and Verzelen, Active Clustering with Bandit Feedback, ALT 2025.

Peers of KABC for arms with Gaussian or sub-Gaussian noise of known size sigma, made for many columns. They group only
by means: first they find one representative of each group (SRI), then they compare every arm with these K (ADC).

| symbol            | here                 | meaning                                                                   |
|-------------------|----------------------|---------------------------------------------------------------------------|
| Delta_*, Delta    | `min_gap`            | smallest distance of two group means, and a lower bound of it             |
| theta_*, theta    | `min_share`          | smallest share of the arms in a group, and a lower bound of it            |
| S                 | `representatives`    | one arm of each group found so far; `_centres` are their means            |
| n_s, s = s_0..r   | `Search.stages`      | samples by which a candidate is compared with S, stage by stage           |
| n_max             | `Search.n_max`       | samples by which a representative is estimated                            |
| U, T_max          | `Search.most_...`    | candidates and samples after which a search is given up                   |
| I, J              | `Rule.shares`        | samples of an arm, and of a representative, for classification            |
| x                 | `chi_quantile`       | 1 - delta/K quantile of chi^2_d                                           |
| a, b              | `product_quantile`   | 1 - delta/(4 K (N - K)) quantile of <Z, Z'>, Z, Z' ~ N(0, I_d); of N(0, 1)|
| c_HW              | `hanson_wright`      | constant of the Hanson-Wright inequality, which the paper does not give   |
| D                 | `_smallest_gap`      | smallest distance of two representatives, estimated                       |

Everything is in units of sigma. If means come in halves, numbers of samples are those of one half. rules.py has the
numbers of samples, collection.py sums and means, strategies.py the three strategies. What is proven: docs/theory.md,
section 16.4.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.settings import positive_number, whole_number
from kabc.core.words import percent
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, checked_samples, evidence_of_means, in_units
from kabc.strategies.peers.acb.collection import Collection, Mean
from kabc.strategies.peers.acb.rules import Proven, Rule, Search
from kabc.strategies.wording import exactly, wrong_at_most

_Step = Literal["represent", "screen", "measure", "classify"]


class ActiveClustering(Stepwise):
    """The common base of ACB, ACB-dagger and ACB*: search until K representatives are found, then classify."""

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
        # --- state: what the next step needs, and what users can read
        self._rng = np.random.default_rng(self.seed)
        self._attempt = 0
        self._candidate = self._pick()
        self._found: list[int] = []
        self._centres: list[Mean] = []
        self._tried = 0
        self._screens: list[Mean] = []  # means of the candidate, stage by stage
        self._search_ends = math.inf
        self._step: _Step = "represent"
        self._collection: Collection | None = None  # None until the first sample shows the number of columns
        self._search: Search | None = None
        self._drawn = np.zeros(self.n_arms, dtype=np.int64)
        self._evidence = Evidence.none(self.n_arms)
        self._labels: NDArray[np.int64] = np.zeros(self.n_arms, dtype=np.int64)

    # ------------------------------------------------------------ what the three differ in

    @abstractmethod
    def nth_search(self, number: int, d: int) -> Search:
        """Search number 0, 1, 2, ... (SRI), for samples of d columns."""

    @abstractmethod
    def _after_search(self, search: Search) -> None:
        """Called when K representatives are found."""

    @abstractmethod
    def _rules(self) -> tuple[str, ...]:
        """The specific part of the rule, in words. It follows the common part."""

    def _more_assumptions(self) -> tuple[str, ...]:
        return ()

    # ------------------------------------------------------------ what to draw

    @property
    def n_groups_at_least(self) -> int:
        return self.n_clusters if self.recommend().certified else 1

    @property
    def representatives(self) -> tuple[int, ...]:
        """S: arms of different groups, as far as the current search has found them."""
        return tuple(self._found)

    @property
    def proven(self) -> bool:
        """Whether the error probability is proven, given the constant that was declared."""
        return isinstance(self._rule, Proven)

    def _request(self) -> Request:
        return {self._candidate: 1} if self._collection is None else self._collection.request()

    def _pick(self) -> int:
        """Any arm, with replacement."""
        return int(self._rng.integers(self.n_arms))

    def _collect(self, step: _Step, wanted: Mapping[int, int], d: int) -> None:
        self._step = step
        self._collection = Collection(wanted, self._rule.halves, d)

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
        else:  # there is only one partition
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
    def _collected(self) -> Collection:
        assert self._collection is not None
        return self._collection

    def _finish(self, done: Collection, number: int) -> None:
        """A step has all its samples: evaluate them and choose the next step."""
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
        """S starts with one arbitrary arm."""
        self._search = self.nth_search(self._attempt, self._columns)
        self._attempt += 1
        self._found, self._centres, self._tried = [], [], 0
        self._search_ends = self.n_samples + self._search.most_samples
        self._collect("represent", {self._candidate: self._search.n_max}, self._columns)

    def _go_on(self) -> None:
        """Take the next candidate, unless all groups are found or the search has taken too long."""
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

    def _screened(self, mean: Mean) -> None:
        """A candidate closer than Delta/sqrt(2) to a representative belongs to its group."""
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
        """D^2: the smallest squared distance of two representatives; noise can make it negative."""
        return min(a.squared_distance(b) for k, a in enumerate(self._centres) for b in self._centres[:k])

    def _measured(self) -> None:
        raise AssertionError("only ACB* measures")

    def _search_again(self) -> None:
        """The representatives did not pass the second check."""
        self._candidate = self._pick()
        self._begin()

    # ------------------------------------------------------------ ADC

    def _classify(self, delta: float, gap: float) -> None:
        i, j = self._rule.shares(self.n_arms, self.n_clusters, self._columns, delta, gap)
        wanted = {arm: j if arm in self._found else i for arm in range(self.n_arms)}
        self._collect("classify", wanted, self._columns)

    def _classified(self, done: Collection) -> None:
        """Every arm joins its nearest representative. Representatives have fresh samples too."""
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
        self._evidence = replace(self._evidence.dense(), told=np.where(apart, number, 0))

    # ------------------------------------------------------------ what users see

    def recommend(self) -> Partition:
        if self.stopped:
            return Partition(tuple(self._labels.tolist()), certified=self.proven)
        guess = np.zeros(self.n_arms, dtype=np.int64)  # arms that are in no group yet join the first
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
                wrong_at_most(self.delta, exactly(self.n_clusters), self.stopped)
                if self.proven
                else "Nothing is proven: numbers of samples are calibrated on Gaussian noise, to be wrong in about "
                f"{percent(self.delta)} of runs."
            ),
            assumptions=(
                noise,
                f"{exactly(self.n_clusters)}; arms of a group have equal means",
                "arms with equal means are one group; other differences of distributions are not seen",
                *self._more_assumptions(),
            ),
            rule=(
                f"a search picks arms at random (seed {self.seed}), until one representative of each group is found",
                "a picked arm is compared with those found so far in stages, "
                + ("each with all its samples" if self.keep_samples else "each with fresh samples"),
                "it becomes one itself if every stage sees a squared distance above Delta^2/2 from all of them",
                "then all arms are drawn again and join the nearest representative",
                *self._rules(),
            ),
        )
