"""Anytime KABC: the guarantee of KABC by betting, valid whenever you look, from far fewer samples.

| symbol    | here               | meaning                                                                            |
|-----------|--------------------|------------------------------------------------------------------------------------|
| l_ij      | u_g - u_h          | score of a pair: group g of arm i against group h of arm j, fixed before the round |
| f_e       | evidence/blocks.py | what a round multiplies the wealth of expert e by                                  |
| W_ij      | `_wealth`          | log evidence against the pair, (N, C): arms against the arms of the core           |
| core      | `_core`            | arms that are compared with each other: all of them, or a random part of many      |
| C         | `_claim`           | partition of the core that was guessed some rounds ago and is being proven         |
| R         | `_reps`            | one arm of the core for each group; arms outside the core are compared with these  |

A round: fix scores from all samples so far, draw, multiply. Evidence is a supermartingale if two arms are the same,
however the scores were made (docs/theory.md). It stops when one partition into K groups is left: because a claim is
proven (kabc.strategies.anytime.claims), or because the pairs told apart force it (kabc.core.partitions.forced).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.evidence import betting
from kabc.core.evidence.blocks import Block
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import Kernel
from kabc.core.partitions import Partition, components
from kabc.core.partitions.forced import Forced, forced_partition
from kabc.core.scores.discriminant import RIDGES, Moments, Scorer
from kabc.core.scores.maps import FeatureMap, default_maps
from kabc.core.settings import expect_several_groups, whole_number
from kabc.strategies.answers import Guarantee
from kabc.strategies.anytime.claims import Claim, renamed
from kabc.strategies.anytime.doubts import log_doubt
from kabc.strategies.base import Request, Stepwise, checked_samples

_SCALES = (0.5, 1.0)  # a score is bet at half strength, and never higher than samples allow; and at full strength
_SHARE = 0.05  # of the experts' weights that is dealt out evenly in each round
_FIRST = 2  # samples of each arm before the first bet
_GROWTH = 0.1  # a round draws a tenth of what an arm has, at least one
_CORE_ARMS, _CORE_PER_GROUP = 24, 5  # many arms: start with this many, or with this many times K
CLAIMS = 0.75  # of delta goes to claims, the rest to pairs
_CLAIM_GROWTH = 1.25  # samples at a claim over those at the one before
_DOUBT = math.log(20)  # evidence that K is too small, beyond which a proven claim is not accepted yet


class AnytimeKABC(Stepwise):
    """Groups N arms by distribution, wrong with probability at most delta, valid at every look.

    Assumes that samples of an arm are independent and identically distributed and that arms are independent of each
    other; nothing about the distributions, and no kernel or bandwidth is needed. Draws little at a time, and only from
    arms whose group is still open.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K (at least 2), error probability. With K = None it never stops by itself; pairs
        told apart and the lower bound on the number of groups are certified all the same.
    maps : feature maps that scores are learned on; default: see `kabc.core.scores.maps.default_maps`.
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
        super().__init__(n_arms, delta)
        expect_several_groups(n_clusters)
        self.n_clusters = None if n_clusters is None else whole_number("n_clusters", n_clusters, 2, self.n_arms)
        self._maps = None if maps is None else tuple(maps)
        self._order = np.random.default_rng(whole_number("seed", seed, 0)).permutation(self.n_arms)
        # --- state
        self._counts = np.zeros(self.n_arms, dtype=np.int64)
        self._blocks: list[tuple[Array, NDArray[np.intp]]] = []  # samples with their arms, as told
        self._learners: list[Moments] = []
        self._fitted_rows = 0
        self._scorers: list[Scorer] = []
        self._reps: tuple[int, ...] = ()
        self._stage = 0
        self._pair_shares: list[tuple[int, float]] = []  # arms of the core at each stage, error share of their pairs
        self._core = np.zeros(0, dtype=np.intp)
        self._wealth: Array = np.zeros((self.n_arms, 0))  # (N, C)
        self._best: Array = np.zeros((self.n_arms, 0))  # running maximum
        self._limits: Array = np.zeros((self.n_arms, 0))  # log thresholds
        self._told_in_round = np.zeros((self.n_arms, 0), dtype=np.int64)
        self._gains: Array = np.zeros((self.n_arms, 0, 0))  # (N, C, E), log wealth of experts
        self._labels = np.full(self.n_arms, -1, dtype=np.intp)  # forced groups
        self._may_belong: NDArray[np.bool_] = np.ones((self.n_arms, 0), dtype=np.bool_)
        self._at_least = 1
        self._guess: NDArray[np.intp] | None = None  # groups of the core, as the best expert sees them now
        self._won: Array = np.zeros((self.n_arms, n_clusters or 0))  # lately, by betting on the guess
        self._won_by: Array = np.zeros((self.n_arms, n_clusters or 0, 0))  # (N, K, E)
        self._claim: Claim | None = None
        self._n_claims = 0
        self._doubted = False  # a claim is proven, but one of its groups looks like two
        self._widen_core()

    # ------------------------------------------------------------ what to draw

    @property
    def n_groups_at_least(self) -> int:
        return self._at_least

    def _request(self) -> Request:
        if not self._reps:
            arms = np.sort(self._core)
            if self._claim is not None and self._claim_stands() and not self._doubted:
                arms = self._claim.wanted(self._told())
            return dict.fromkeys(arms.tolist(), self._block(arms))
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
        share = self._core_delta(whole) if whole and before == 0 else self._core_delta(False) / 2**self._stage
        share *= 1 - CLAIMS if self.n_clusters is not None else 1
        self._pair_shares.append((len(self._core), share))
        wide = ((0, 0), (0, extra))
        self._wealth, self._best = np.pad(self._wealth, wide), np.pad(self._best, wide)
        self._limits = np.pad(self._limits, wide, constant_values=math.log(pairs / share))
        self._limits[self._core[before:]] = np.maximum(self._limits[self._core[before:]], math.log(pairs / share))
        self._gains = np.pad(self._gains, (*wide, (0, 0)))
        self._told_in_round = np.pad(self._told_in_round, wide)

    def _core_delta(self, whole: bool) -> float:
        """Error probability of what is said of the core: half of it if there are arms outside."""
        return self.delta if whole else self.delta / 2

    def _claims_share(self) -> float:
        """Error probability of all claims together."""
        return CLAIMS * self._core_delta(len(self._core) == self.n_arms)

    def _outside_share(self) -> float:
        """Error probability of what is said of the arms outside the core."""
        return self.delta / 2

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
        self._take(rows)
        self._counts[arms] += counts
        self._blocks.append((block, owners))
        self._learn(features, owners, refitted)
        self._conclude()
        if not self.stopped:
            self._scorers = [s for learner in self._learners for s in self._score(learner)]

    def _bet(self, features: list[Array], arms: NDArray[np.intp], counts: NDArray[np.intp]) -> None:
        """Multiply the evidence of all pairs of sampled arms and sampled arms of the core, and of the claim."""
        place = np.full(self.n_arms, -1, dtype=np.intp)
        place[arms] = np.arange(len(arms))
        columns = np.flatnonzero(place[self._core] >= 0)
        partners = place[self._core[columns]]
        blocks = self._scored(features, arms, counts)
        log_factors = np.stack([block.pairs(partners) for block in blocks], axis=-1)  # (A, P, E)
        log_factors[partners, np.arange(len(partners))] = 0.0  # an arm is not compared with itself
        if self._gains.shape[-1] != log_factors.shape[-1]:
            self._gains = np.zeros((*self._gains.shape[:2], log_factors.shape[-1]))
            self._won_by = np.zeros((*self._won_by.shape[:2], log_factors.shape[-1]))
        at = np.ix_(arms, columns)
        common = self._common_gains()
        pairs = betting.mixed_factor(log_factors, betting.fixed_share(self._gains[at] + common, _SHARE))
        if self._guess is not None and not self._reps:
            self._bet_on_groups(blocks, arms, int(counts.min()), common, pairs[:, partners.argsort()])
        self._wealth[at] += pairs
        self._gains[at] += log_factors
        self._best = np.maximum(self._best, self._wealth)

    def _scored(self, features: list[Array], arms: NDArray[np.intp], counts: NDArray[np.intp]) -> list[Block]:
        """The round as each expert sees it."""
        base = int(counts.min())
        starts = np.concatenate([[0], np.cumsum(counts)])
        # Samples of one value leave no variance: scores are then huge, and one other value would ruin every expert.
        ceiling = math.log1p(self.n_samples / (self.n_clusters or self.n_arms))
        blocks = []
        for number, scorer in enumerate(self._scorers):
            scores = scorer.scores(features[number // len(RIDGES)])
            blocks += [
                Block(scale * scores, scorer.labels[arms], starts, base, math.inf if scale == 1 else ceiling)
                for scale in _SCALES
            ]
        return blocks

    def _bet_on_groups(
        self, blocks: list[Block], arms: NDArray[np.intp], base: int, common: Array, pairs: Array
    ) -> None:
        """Each arm against all arms of each other group: for the guess, to see if it wins, and for the claim."""
        assert self._guess is not None
        assert self.n_clusters is not None
        log_factors = np.stack([block.joins(self._guess[arms], self.n_clusters) for block in blocks], axis=-1)
        joins = betting.mixed_factor(log_factors, betting.fixed_share(self._won_by[arms] + common, _SHARE))
        if self._claim is not None:
            claimed = joins
            if not self._claim_stands():
                factors = np.stack([b.joins(self._claim.labels[arms], self.n_clusters) for b in blocks], axis=-1)
                claimed = betting.mixed_factor(factors, betting.fixed_share(common, _SHARE))
            self._claim.bet(arms, claimed, pairs)
        held = self._counts[arms]
        self._won[arms] = self._won[arms] * (held / (held + base))[:, None] + joins  # forgets as samples double
        self._won_by[arms] += log_factors

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
        known = np.full(self.n_arms, -1, dtype=np.intp)
        if self._reps:
            known = self._labels
        elif self._claim is not None and self._claim_stands() and not self._doubted:
            known = self._claim.labels
        n_groups = min(self._n_groups() + self._doubted, len(self._core))
        return learner.scorers(self._core, known, n_groups)

    def _n_groups(self) -> int:
        return self.n_clusters or int(np.count_nonzero(self._counts[self._core]))

    # ------------------------------------------------------------ what follows

    def _conclude(self) -> None:
        number = len(self._rounds) + 1
        self._told_in_round[self._reached() & (self._told_in_round == 0)] = number
        if not self._reps:
            self._conclude_core(number)
        if self._reps and len(self._reps) == self.n_clusters:
            self._assign(self._told_in_round > 0)
        elif self.n_clusters is not None and self._at_least > self.n_clusters:
            self._status = "contradicted"
        self._close_round(int(self._counts.max()), self._at_least)

    def _conclude_core(self, number: int) -> None:
        if self.n_clusters is not None and self._scorers:
            self._review_claim()
        found = forced_partition(self._told_in_round[self._core] > 0, self.n_clusters)
        self._at_least = max(self._at_least, found.n_groups_at_least)
        proven = self._claim if self._claim is not None and self._claim.proven(self._told()) else None
        if proven is not None or found.complete:
            self._doubted = self._doubts(found.labels if proven is None else proven.labels[self._core])
            if not self._doubted:
                if proven is not None:
                    found = self._accepted(proven, number)
                self._appoint(found)
        elif self._core_is_spent():
            self._widen_core()
            self._guess = self._claim = None

    def _review_claim(self) -> None:
        """Guess anew; claim the guess if it is another one than was claimed, and bets on it have won lately."""
        guess = self._best_guess()
        if guess is None:
            return
        if self._guess is not None:
            moved = guess != self._guess
            self._won[moved] = self._won_by[moved] = 0.0
        self._guess = guess
        if self._claim is not None and (self._claim_stands() or self.n_samples < _CLAIM_GROWTH * self._claim.n_samples):
            return
        foreign = guess[self._core, None] != np.arange(self._n_groups())
        if (self._won[self._core][foreign] > 0).all():
            self._n_claims += 1
            self._claim = Claim(guess, self._n_claims, self._claims_share(), self.n_samples)

    def _doubts(self, groups: NDArray[np.intp]) -> bool:  # (C,)
        """Whether a group looks like two: then go on until it does not any more, or K is contradicted."""
        if not self._gains.size:
            return False
        labels = np.full(self.n_arms, -1, dtype=np.intp)
        labels[self._core] = groups
        samples = np.concatenate([rows for rows, _ in self._blocks])
        owners = np.concatenate([arms for _, arms in self._blocks])
        won = self._common_gains().reshape(-1, len(_SCALES)).max(axis=1)  # by each scorer, at its better scale
        return log_doubt(self._learners, betting.fixed_share(won, 0.5), samples, owners, labels) > _DOUBT

    def _best_guess(self) -> NDArray[np.intp] | None:  # (N,), -1 outside the core
        """Groups as the expert sees them that has won most, from samples alone; None if it sees fewer than K."""
        best = self._best_expert()
        nothing_known = np.full(self.n_arms, -1, dtype=np.intp)
        scorers = self._learners[best // len(RIDGES)].scorers(self._core, nothing_known, self._n_groups())
        labels = nothing_known
        labels[self._core] = scorers[best % len(RIDGES)].labels[self._core]
        if len(np.unique(labels[self._core])) < self._n_groups():
            return None
        return labels if self._guess is None else renamed(labels, self._guess, self._n_groups())

    def _best_expert(self) -> int:
        """Number of the scorer that has won most."""
        return int(self._common_gains().argmax()) // len(_SCALES) if self._gains.size else 0

    def _claim_stands(self) -> bool:
        """Whether the claim is still what samples look like."""
        return self._claim is not None and self._guess is not None and bool((self._claim.labels == self._guess).all())

    def _accepted(self, claim: Claim, number: int) -> Forced:
        """All pairs that are apart in a proven claim are told apart, by the evidence for the claim."""
        core = self._core
        apart = claim.labels[core, None] != claim.labels[core]
        new = np.zeros(self._best.shape, dtype=np.bool_)
        new[core] = apart & (self._told_in_round[core] == 0)
        self._told_in_round[new] = number
        self._limits[new] = claim.limit
        self._best[new] = np.maximum(self._best[new], claim.limit)
        found = forced_partition(self._told_in_round[core] > 0, self.n_clusters)
        self._at_least = max(self._at_least, found.n_groups_at_least)
        return found

    def _told(self) -> NDArray[np.bool_]:  # (N, N)
        told = np.zeros((self.n_arms, self.n_arms), dtype=np.bool_)
        told[:, self._core] = self._told_in_round > 0
        return told | told.T

    def _core_is_spent(self) -> bool:
        """Too few groups after this many samples: other arms may belong to those that are missing."""
        return len(self._core) < self.n_arms and int(self._counts[self._core].max()) >= 32 * 2**self._stage

    def _appoint(self, found: Forced) -> None:
        """Fix the representatives; arms outside the core are compared with them from now on."""
        self._reps = tuple(int(self._core[arm]) for arm in found.representatives)
        outside = np.setdiff1d(np.arange(self.n_arms), self._core)
        if len(outside):
            # of the K representatives at most one is in an arm's group: one event for each arm
            self._limits[outside] = np.inf
            self._limits[outside[:, None], found.representatives] = math.log(len(outside) / self._outside_share())

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
            return Partition.of(self._labels.tolist(), certified=True)
        if self.n_clusters is None or not self._scorers:
            return components(~self.evidence().told_apart)
        guess = np.where(self._labels >= 0, self._labels, self._scorers[self._best_expert()].labels)
        return Partition.of(np.maximum(guess, 0).tolist())  # arms never sampled: anywhere

    def evidence(self) -> Evidence:
        blocks = (self._told_in_round.copy(), self._counts.copy(), self._best.copy(), self._limits.copy())
        return Evidence.of_bets(*blocks, compared=self._core.copy())

    def guarantee(self) -> Guarantee:
        known = self.n_clusters is not None
        follows = (
            "a decided partition is the right one if there are exactly K groups."
            if known
            else "there are at least as many groups as it says."
        )
        return Guarantee(
            strategy=f"Anytime KABC(delta = {self.delta:g}, K = {self.n_clusters})",
            claim=(
                f"with probability at least {1 - self.delta:g}, whenever it is looked at, no two arms of one group "
                f"have been told apart, so that {follows}"
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
                *self._rule_of_pairs(),
                *(self._rule_of_claims() if known else ()),
                *self._rule_outside(),
            ),
        )

    def _rule_of_pairs(self) -> list[str]:
        """Thresholds as they were set, one for each stage of the core."""
        lines = []
        for stage, (arms, share) in enumerate(self._pair_shares):
            whose = "" if arms == self.n_arms and not stage else f" of the first {arms:,} arms"
            lines.append(
                f"{'a later pair' if stage else 'a pair'}{whose} is told apart when its evidence reaches "
                f"{_ratio(math.comb(arms, 2), share)}: pairs over their share of delta, by Ville's inequality"
            )
        return lines

    def _rule_of_claims(self) -> list[str]:
        needed = f"k(k + 1) / {self._claims_share():.6g}"
        if self._claim is not None:
            needed += f" = {math.exp(self._claim.limit):,.6g} (k = {self._n_claims})"
        return [
            "the k-th guess of the whole partition is claimed; only samples drawn later count for a claim",
            f"it takes evidence {needed} for each arm against each group that is not its own",
            "and the square root of that for each pair across groups of two arms or more",
            "a claim with all of this is proven: no other partition into at most K groups is left",
        ]

    def _rule_outside(self) -> list[str]:
        outside = self.n_arms - len(self._core)
        if not outside:
            return []
        needed = _ratio(outside, self._outside_share())
        return [
            f"the first {len(self._core):,} arms are chosen at random and grouped first",
            f"each of the others is then told apart from one arm of each group when its evidence reaches {needed}",
        ]


def _ratio(count: int, share: float) -> str:
    return f"{count:,} / {share:.6g} = {count / share:,.6g}"
