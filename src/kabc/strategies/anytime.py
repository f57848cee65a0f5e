"""Anytime KABC: the guarantee of KABC by betting, valid whenever you look, from far fewer samples.

| symbol    | here               | meaning                                                                            |
|-----------|--------------------|------------------------------------------------------------------------------------|
| l_ij      | u_g - u_h          | score of a pair: group g of arm i against group h of arm j, fixed before the round |
| f_e       | `_factors`         | what a round multiplies the wealth of expert e by (evidence/betting.py)            |
| W_ij      | `_wealth`          | log evidence against the pair, (N, C): arms against the arms of the core           |
| core      | `_core`            | arms that are compared with each other: all of them, or a random part of many      |
| R         | `_reps`            | K arms of the core that are pairwise told apart; the rest is compared with these   |

A round: fix scores from all samples so far, draw, multiply. Evidence is a supermartingale if two arms are the same,
however the scores were made (docs/theory.md). It stops when one partition into K groups is left (kabc.forced).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.evidence import betting
from kabc.forced import Forced, forced_partition
from kabc.kernels import Kernel
from kabc.partitions import Partition, components
from kabc.result import Evidence, Guarantee, Round, Status
from kabc.samples import Array
from kabc.scores.discriminant import RIDGES, Moments, Scorer
from kabc.scores.maps import FeatureMap, default_maps
from kabc.strategies.base import Request, arms_number, checked_samples, error_probability, whole_number

_SCALES = (0.5, 1.0)  # a score is bet at half strength, and never higher than samples allow; and at full strength
_SHARE = 0.05  # of the experts' weights that is dealt out evenly in each round
_FIRST = 2  # samples of each arm before the first bet
_GROWTH = 0.1  # a round draws a tenth of what an arm has, at least one
_CORE_ARMS, _CORE_PER_GROUP = 24, 5  # many arms: start with this many, or with this many times K


class AnytimeKABC:
    """Groups N arms by distribution, wrong with probability at most delta, valid at every look.

    Assumes that samples of an arm are independent and identically distributed and that arms are independent of each
    other; nothing about the distributions, and no kernel or bandwidth is needed. Draws little at a time, and only from
    arms whose group is still open.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability. With K = None it never stops by itself; pairs told apart and
        the lower bound on the number of groups are certified all the same.
    maps : feature maps that scores are learned on; default: see `kabc.scores.maps.default_maps`.
    seed : chooses the arms to start with when there are many.

    Cost of a round: sampled arms x features x K; memory: the samples, and experts x N x core numbers.
    """

    kernel: Kernel | None = None

    def __init__(
        self,
        n_arms: int,
        n_clusters: int | None,
        delta: float,
        *,
        maps: Sequence[FeatureMap] | None = None,
        seed: int = 0,
    ) -> None:
        self.n_arms = arms_number(n_arms)
        self.n_clusters = None if n_clusters is None else whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.delta = error_probability(delta)
        self._maps = None if maps is None else tuple(maps)
        self._order = np.random.default_rng(whole_number("seed", seed, 0)).permutation(self.n_arms)
        # --- state
        self._asked: Request | None = None
        self._status: Status | None = None
        self._rounds: tuple[Round, ...] = ()
        self._counts = np.zeros(self.n_arms, dtype=np.int64)
        self._blocks: list[tuple[Array, NDArray[np.intp]]] = []  # samples with their arms, as told
        self._learners: list[Moments] = []
        self._fitted_rows = 0
        self._scorers: list[Scorer] = []
        self._reps: tuple[int, ...] = ()
        self._stage = 0
        self._core = np.zeros(0, dtype=np.intp)
        self._wealth: Array = np.zeros((self.n_arms, 0))  # (N, C)
        self._best: Array = np.zeros((self.n_arms, 0))  # running maximum
        self._limits: Array = np.zeros((self.n_arms, 0))  # log thresholds
        self._told_in_round = np.zeros((self.n_arms, 0), dtype=np.int64)
        self._gains: Array = np.zeros((self.n_arms, 0, 0))  # (N, C, E), log wealth of experts
        self._labels = np.full(self.n_arms, -1, dtype=np.intp)  # forced groups
        self._may_belong: NDArray[np.bool_] = np.ones((self.n_arms, 0), dtype=np.bool_)
        self._at_least = 1
        self._widen_core()
        if self.n_clusters == 1:
            self._status = "decided"

    # ------------------------------------------------------------ what to draw

    @property
    def stopped(self) -> bool:
        return self._status is not None

    @property
    def status(self) -> Status | None:
        return self._status

    @property
    def n_samples(self) -> int:
        return int(self._counts.sum())

    @property
    def rounds(self) -> tuple[Round, ...]:
        return self._rounds

    @property
    def n_groups_at_least(self) -> int:
        return self._at_least

    def ask(self) -> Request:
        self._asked = {} if self.stopped else self._request()
        return dict(self._asked)

    def _request(self) -> Request:
        if not self._reps:
            count = self._block(self._core)
            return dict.fromkeys(sorted(self._core.tolist()), count)
        undecided = np.flatnonzero(self._labels < 0)
        count = self._block(undecided)
        wanted = dict.fromkeys(undecided.tolist(), count)
        open_groups = np.flatnonzero(self._may_belong[undecided].any(axis=0))
        wanted |= {self._reps[group]: count * self._partners() for group in open_groups.tolist()}
        return dict(sorted(wanted.items()))

    def _block(self, arms: NDArray[np.intp]) -> int:
        held = int(self._counts[arms].min())
        return _FIRST if held == 0 and not self._reps else max(1, int(_GROWTH * held))

    def _partners(self) -> int:
        """Samples of a representative for each sample of another arm: more when they serve many."""
        undecided = int(np.count_nonzero(self._labels < 0))
        return max(1, min(8, math.isqrt(undecided // max(1, 2 * len(self._reps)))))

    def _widen_core(self) -> None:
        """Start, or go on, with more arms; their pairs get an error share of their own."""
        known = self.n_clusters or self.n_arms
        size = max(_CORE_ARMS, _CORE_PER_GROUP * known) * 2**self._stage
        before = len(self._core)
        self._stage += 1
        whole = self.n_arms <= size * 1.5
        self._core = self._order[: self.n_arms if whole else size]
        extra = len(self._core) - before
        pairs = math.comb(len(self._core), 2)
        share = self.delta if whole and before == 0 else self.delta / 2 / 2**self._stage
        wide = ((0, 0), (0, extra))
        self._wealth, self._best = np.pad(self._wealth, wide), np.pad(self._best, wide)
        self._limits = np.pad(self._limits, wide, constant_values=math.log(pairs / share))
        self._limits[self._core[before:]] = np.maximum(self._limits[self._core[before:]], math.log(pairs / share))
        self._gains = np.pad(self._gains, (*wide, (0, 0)))
        self._told_in_round = np.pad(self._told_in_round, wide)

    # ------------------------------------------------------------ what was drawn

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        columns = self._blocks[0][0].shape[1] if self._blocks else None
        rows = checked_samples(samples, self._asked, None, columns)
        assert self._asked is not None
        arms = np.array(list(self._asked), dtype=np.intp)
        counts = np.array([len(x) for x in rows])
        block, owners = np.concatenate(rows), np.repeat(arms, counts)
        features = [learner.map(block) for learner in self._learners]
        refitted = self._refitted(block, owners)
        # Nothing above changed the state; nothing below can fail.
        if self._scorers:
            self._bet(features, arms, counts)
        self._asked = None
        self._counts[arms] += counts
        self._blocks.append((block, owners))
        self._learn(features, owners, refitted)
        self._conclude()
        if not self.stopped:
            self._scorers = [s for learner in self._learners for s in self._score(learner)]

    def _bet(self, features: list[Array], arms: NDArray[np.intp], counts: NDArray[np.intp]) -> None:
        """Multiply the evidence of all pairs of sampled arms and sampled arms of the core."""
        base = int(counts.min())
        place = np.full(self.n_arms, -1, dtype=np.intp)
        place[arms] = np.arange(len(arms))
        columns = np.flatnonzero(place[self._core] >= 0)
        partners = place[self._core[columns]]
        starts = np.concatenate([[0], np.cumsum(counts)])
        # Samples of one value leave no variance: scores are then huge, and one other value would ruin every expert.
        ceiling = math.log1p(self.n_samples / (self.n_clusters or self.n_arms))
        factors = []
        for number, scorer in enumerate(self._scorers):
            scores = scorer.scores(features[number // len(RIDGES)])
            for scale in _SCALES:
                cap = math.inf if scale == 1 else ceiling
                factors.append(_pair_factors(scale * scores, scorer.labels[arms], starts, partners, base, cap))
        log_factors = np.stack(factors, axis=-1)  # (A, P, E)
        if self._gains.shape[-1] != log_factors.shape[-1]:
            self._gains = np.zeros((*self._gains.shape[:2], log_factors.shape[-1]))
        log_factors[partners, np.arange(len(partners))] = 0.0  # an arm is not compared with itself
        at = np.ix_(arms, columns)
        weights = betting.fixed_share(self._gains[at] + self._common_gains(), _SHARE)
        self._wealth[at] += betting.mixed_factor(log_factors, weights)
        self._gains[at] += log_factors
        self._best = np.maximum(self._best, self._wealth)

    def _common_gains(self) -> Array:  # (E,)
        """What experts have won on average on the pairs that look different: which of them to trust, for all pairs."""
        different = self._gains.max(axis=-1, initial=0.0) > 0.5 * math.log(self._gains.shape[-1])
        return self._gains[different].mean(axis=0) if different.any() else np.zeros(self._gains.shape[-1])

    def _refitted(self, block: Array, owners: NDArray[np.intp]) -> list[Moments]:
        """Learners with maps fitted anew, when there are twice as many samples as at the last time; else none."""
        blocks = [*self._blocks, (block, owners)]
        if sum(len(rows) for rows, _ in blocks) < 2 * self._fitted_rows:
            return []
        past = np.concatenate([rows for rows, _ in blocks])
        arms = np.concatenate([whose for _, whose in blocks])
        maps = default_maps(past.shape[1]) if self._maps is None else self._maps
        learners = [Moments(one.fitted(past), self.n_arms) for one in maps]
        for learner in learners:
            learner.absorb(learner.map(past), arms)
        return learners

    def _learn(self, features: list[Array], owners: NDArray[np.intp], refitted: list[Moments]) -> None:
        if refitted:
            self._learners = refitted
            self._fitted_rows = self.n_samples
            return
        for learner, values in zip(self._learners, features, strict=True):
            learner.absorb(values, owners)

    def _score(self, learner: Moments) -> list[Scorer]:
        n_groups = self.n_clusters or int(np.count_nonzero(self._counts[self._core]))
        known = self._labels if self._reps else np.full(self.n_arms, -1, dtype=np.intp)
        return learner.scorers(self._core, known, n_groups)

    # ------------------------------------------------------------ what follows

    def _conclude(self) -> None:
        number = len(self._rounds) + 1
        self._told_in_round[self._reached() & (self._told_in_round == 0)] = number
        told = self._told_in_round > 0
        inside = told[self._core]
        if not self._reps:
            found = forced_partition(inside, self.n_clusters)
            self._at_least = max(self._at_least, found.n_groups_at_least)
            if self.n_clusters is not None and len(found.representatives) == self.n_clusters:
                self._appoint(found)
            elif self._core_is_spent():
                self._widen_core()
        if self._reps:
            self._assign(told)
        elif self.n_clusters is not None and self._at_least > self.n_clusters:
            self._status = "contradicted"
        held = int(self._counts.max())
        self._rounds += (Round(number, self.delta, held, self.n_samples, self._at_least),)

    def _core_is_spent(self) -> bool:
        """Too few groups after this many samples: other arms may belong to those that are missing."""
        return len(self._core) < self.n_arms and int(self._counts[self._core[0]]) >= 32 * 2**self._stage

    def _appoint(self, found: Forced) -> None:
        """Fix the representatives; arms outside the core are compared with them from now on."""
        self._reps = tuple(int(self._core[arm]) for arm in found.representatives)
        outside = np.setdiff1d(np.arange(self.n_arms), self._core)
        if len(outside):
            # of the K representatives at most one is in an arm's group: one event for each arm
            self._limits[outside] = np.inf
            self._limits[outside[:, None], found.representatives] = math.log(len(outside) / (self.delta / 2))

    def _assign(self, told: NDArray[np.bool_]) -> None:  # (N, C)
        assert self.n_clusters is not None
        place = {arm: column for column, arm in enumerate(self._core.tolist())}
        columns = [place[rep] for rep in self._reps]
        found = forced_partition(told[self._core], self.n_clusters, representatives=columns)
        self._at_least = max(self._at_least, found.n_groups_at_least)
        self._may_belong = ~told[:, columns]
        if not found.contradicted:
            # other representatives may have been found: the groups keep the numbers that the first ones gave them
            self._may_belong[self._core] = found.may_belong[:, found.labels[columns]]
        self._labels = np.where(self._may_belong.sum(axis=1) == 1, self._may_belong.argmax(axis=1), -1)
        if found.contradicted or not self._may_belong.any(axis=1).all():
            self._at_least = max(self._at_least, self.n_clusters + 1)
            self._status = "contradicted"
        elif (self._labels >= 0).all():
            self._status = "decided"

    def _reached(self) -> NDArray[np.bool_]:  # (N, C)
        """Pairs whose evidence has reached its threshold at some time."""
        reached = self._best >= self._limits
        reached[self._core, np.arange(len(self._core))] = False  # N = 2, delta = 1: the threshold is 1
        reached[self._core] |= reached[self._core].T  # equal but for rounding: a pair has one answer
        return reached

    # ------------------------------------------------------------ what people see

    def recommend(self) -> Partition:
        if self._status == "decided":
            labels = self._labels.tolist() if self.n_clusters != 1 else [0] * self.n_arms
            return Partition.of(labels, certified=True)
        if self.n_clusters is None or not self._scorers:
            return components(~self.evidence().told_apart)
        best = int(self._common_gains().argmax()) // len(_SCALES) if self._gains.size else 0
        guess = np.where(self._labels >= 0, self._labels, self._scorers[best].labels)
        return Partition.of(np.maximum(guess, 0).tolist())  # arms never sampled: anywhere

    def evidence(self) -> Evidence:
        core = self._core
        told_in_round = np.zeros((self.n_arms, self.n_arms), dtype=np.int64)
        told_in_round[:, core] = self._told_in_round
        told_in_round[core] = self._told_in_round.T
        log_evidence = np.full((self.n_arms, self.n_arms), np.nan)
        log_threshold = np.full((self.n_arms, self.n_arms), np.inf)
        log_evidence[:, core], log_threshold[:, core] = self._best, self._limits
        log_evidence[core], log_threshold[core] = self._best.T, self._limits.T
        return Evidence.of_bets(told_in_round, self._counts.copy(), log_evidence, log_threshold)

    def guarantee(self) -> Guarantee:
        return Guarantee(
            strategy=f"Anytime KABC(delta = {self.delta:g}, K = {self.n_clusters})",
            claim=(
                f"with probability at least {1 - self.delta:g}, whenever it is looked at, no two arms of one group "
                "have been told apart, so that a decided partition is the right one if there are exactly K groups."
            ),
            assumptions=(
                "samples of an arm are independent and identically distributed",
                "samples of different arms are independent of each other",
            ),
            rule=(
                "before each round a score for each pair is fixed from earlier samples, by several experts",
                "new samples x of one arm and y of the other multiply it by (1 + h(x))(1 - h(y)), h = tanh(score/2)",
                "or one x against m of y by (m + 1) r(x) / (r(x) + sum of r(y)), r = exp(score)",
                "both have mean at most 1 if the arms are the same; experts are averaged with weights fixed before",
                "told apart when the evidence reaches N(N - 1)/2 / delta, by Ville's inequality",
                "with many arms, pairs of a random core share half of delta, arms against representatives the rest",
                "stops when exactly one partition into K groups is left",
            ),
        )


def _pair_factors(
    scores: Array,  # (n, G), times the scale
    groups: NDArray[np.intp],  # (A,) provisional group of each sampled arm
    starts: NDArray[np.intp],  # (A + 1,) where the samples of each arm start
    partners: NDArray[np.intp],  # (P,) sampled arms of the core
    base: int,
    cap: float,
) -> Array:  # (A, P)
    """Log factors of one expert for all pairs of a sampled arm and a partner, `base` samples of each arm."""
    n_arms = len(groups)
    own = np.stack([scores[start : start + base] for start in starts[:-1]])  # (A, b, G)
    bets = np.clip(own[np.arange(n_arms), :, groups][:, :, None] - own, -cap, cap)  # own group against each
    alone = betting.log_product(bets, np.zeros_like(bets)).sum(axis=1)  # (A, G): log 2 sigmoid, as l(y) = 0 adds 0
    out = np.zeros((n_arms, len(partners)))
    for column, partner in enumerate(partners.tolist()):
        theirs = groups[partner]
        many = (starts[partner + 1] - starts[partner]) // base
        if many == 1:
            out[:, column] = alone[:, theirs] + alone[partner, groups]
        else:
            answers = scores[starts[partner] : starts[partner] + base * many].reshape(base, many, -1)
            against = np.clip(answers - answers[:, :, theirs, None], -cap, cap)[:, :, groups]  # (b, m, A)
            x = bets[:, :, theirs]  # (A, b)
            out[:, column] = betting.log_one_vs_many(x, np.moveaxis(against, 2, 0)).sum(axis=1)
    often = np.diff(starts) > base  # representatives
    out[np.ix_(often, often[partners])] = 0.0  # two of them are not matched one to many
    # a pair has one evidence: the row of a representative is its column, not a bet of another form
    out[partners[often[partners]]] = out[np.ix_(partners, often[partners])].T
    out[groups < 0] = 0.0
    out[:, groups[partners] < 0] = 0.0
    return out
