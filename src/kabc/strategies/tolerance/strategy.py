"""Tolerance KABC: which arms are the same for all practical purposes, proven, without K.

| step   | file         | what happens                                                                              |
|--------|--------------|-------------------------------------------------------------------------------------------|
| pilot  | `ruler.py`   | the first round fixes features, and how far the tolerance reaches in them                 |
| rounds | differences  | bets tell single pairs of arms apart, as in Anytime KABC without K                        |
|        | suspicion    | which arms seem to differ from the rest of their group                                    |
|        | `claim.py`   | groups are claimed: each arm is bet to be close to its group, and to differ from others   |
|        | `margins.py` | bounds on the distance of each pair                                                       |

It stops when every arm is proven to be within the tolerance of its group, and groups are proven to differ. It ends
"stalled" if the latter never happens: a pair was told apart by bad luck, or groups differ too little to see. Errors:
`shares.py`. Proofs: docs/theory.md, section 25.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array, Counts, Index, Mask
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.verdicts import Verdicts
from kabc.core.kernels import Kernel
from kabc.core.partitions import Partition
from kabc.core.partitions.guesses import agreeing_partition
from kabc.core.scores.maps import FeatureMap
from kabc.core.settings import whole_number
from kabc.core.tolerances import Equivalents, Tolerance, parse
from kabc.strategies.answers import Guarantee
from kabc.strategies.anytime import pace
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.learning import Lesson
from kabc.strategies.base import Request, Stepwise, arms_given, checked_samples, in_blocks
from kabc.strategies.guesses import agreeing
from kabc.strategies.tolerance import words
from kabc.strategies.tolerance.chains import Seen, in_between, looks_apart
from kabc.strategies.tolerance.claim import SameClaim, across_of
from kabc.strategies.tolerance.claims import Claims
from kabc.strategies.tolerance.differences import Differences
from kabc.strategies.tolerance.margins import PairMargins
from kabc.strategies.tolerance.pools import PoolRound
from kabc.strategies.tolerance.price import first_samples, until_proven
from kabc.strategies.tolerance.reading import by_distance, default_columns
from kabc.strategies.tolerance.ruler import Ruler, ruler_of
from kabc.strategies.tolerance.shares import ToleranceShares
from kabc.strategies.tolerance.suspicion import Suspicion
from kabc.strategies.tolerance.tails import Tails
from kabc.strategies.tolerance.verdicts import verdicts_of

SETTLED = 1.15  # n over n when other groups were last seen, before a new claim is made
PATIENCE = 2.0  # a proven claim waits for suspects until there are so many times the samples
HOPELESS = 10.0  # so many times the samples after arms are proven near their groups, groups should have been told apart
_TINY = 0.5  # an arm that runs dry with less than this part of the median samples is set aside


class ToleranceKABC(Stepwise):
    """Groups N arms so that each is proven to be within a tolerance of its group. K is found, not asked for.

    Two kinds of statements are certified, all of them together wrong with probability at most delta, whenever you look:
    "these two arms differ", and "this arm is within the tolerance of its group". If two arms differ by less than the
    tolerance, both are true, and either may be found.

    Parameters
    ----------
    n_arms : int
        N, the number of arms.
    n_clusters : None
        K is found.
    delta : float
        Largest probability of a wrong certified statement, in (0, 1].
    tolerance : str, number, mapping, function or Tolerance
        The smallest difference that matters: "2%", "0.2 sd", 5 (in the unit of the column), "1% outliers", a mapping
        from columns to these, a function from a pool of samples to a changed pool, or `kabc.KernelDistance`.
    columns : sequence of str, optional
        Names of the columns of a sample, for messages and for a mapping.
    kernel : Kernel, optional
        What distances are measured with. Default: a Gaussian kernel whose bandwidth is chosen on the pilot.
    maps : sequence of FeatureMap, optional
        Feature maps that differences are learned on.
    seed : int, default 0
        Chooses random features where samples have many columns.
    block : int, default 1
        This many consecutive samples of an arm form one.
    categories : sequence of str, optional
        Names of columns that hold codes of categories, which are only equal or different.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.strategies.tolerance import ToleranceKABC
    >>> strategy = ToleranceKABC(3, None, 0.05, tolerance="1 sd")
    >>> rng = np.random.default_rng(0)
    >>> while not strategy.stopped:
    ...     strategy.tell({arm: rng.normal(6.0 * (arm == 2), 1.0, n) for arm, n in strategy.ask().items()})
    >>> strategy.recommend()
    Partition(0 1 | 2, certified)
    """

    one_blas_thread = True
    takes_any_request = True
    stops_by_itself = True
    n_clusters: int | None = None

    def __init__(
        self,
        n_arms: int,
        n_clusters: int | None,
        delta: float,
        *,
        tolerance: object,
        columns: Sequence[str] = (),
        kernel: Kernel | None = None,
        maps: Sequence[FeatureMap] | None = None,
        seed: int = 0,
        block: int = 1,
        categories: Sequence[str] = (),
    ) -> None:
        super().__init__(n_arms, delta)
        self.block = whole_number("block", block, 1)
        self.kernel = kernel
        self.tolerance = tolerance
        self._columns, self._categories = tuple(columns), tuple(categories)
        if self._columns or not isinstance(tolerance, Mapping):
            by_distance(
                parse(tolerance, self._columns or ("value",), categories)
            )  # refuse nonsense before a sample is drawn
        self._seed = whole_number("seed", seed, 0)
        self.shares = ToleranceShares(self.delta, self.n_arms)
        self._found = Differences(self.n_arms, self.shares.different, maps, self.block)
        self._tails: Tails | None = None
        self._suspicion = Suspicion(self.n_arms)
        self._ruler: Ruler | None = None
        self._units: Equivalents | None = None
        self._margins: PairMargins | None = None
        self._claims = Claims(self.shares)
        self.claim: SameClaim | None = None  # the one that looks true
        self._presumed: Index = np.zeros(self.n_arms, dtype=np.intp)  # groups by the pairs that were told apart
        self._guessed: tuple[Index, int] = (self._presumed, 0)  # groups, and samples of an arm when first seen
        self._sums: Array | None = None  # (N, D), features of all samples after the pilot
        self._n_after: Counts = np.zeros(self.n_arms, dtype=np.int64)  # samples after the pilot

    def _parsed(self) -> Tolerance:
        return by_distance(parse(self.tolerance, self._columns, self._categories))

    @property
    def n_groups_at_least(self) -> int:
        return self._found.at_least

    @property
    def columns(self) -> int | None:
        """The number of columns of a sample; None before the first."""
        return self._found.learning.columns

    # ------------------------------------------------------------ rounds

    def _request(self) -> Request:
        counts = self._found.learning.counts
        if self._ruler is None:
            return dict.fromkeys(np.flatnonzero(~self._found.dry).tolist(), first_samples(self.n_arms))
        arms = self._wanted()
        return dict.fromkeys(arms.tolist(), pace.block(int(counts[arms].min())))

    def _wanted(self) -> Index:
        """Arms that open statements are about; all of them while there is no claim to prove."""
        live = ~self._found.dry
        claim = self.claim
        if claim is None:
            return np.flatnonzero(live)
        chosen: Mask = np.zeros(self.n_arms, dtype=np.bool_)
        chosen[claim.wanted()] = True
        if claim.same:  # whether suspects differ is open: if they do not, another claim is true
            for other in self._claims.open:
                chosen[other.wanted()] = True
        wanted = np.flatnonzero(chosen & live)
        return wanted if len(wanted) else np.flatnonzero(live)

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        found, learning = self._found, self._found.learning
        rows = checked_samples(samples, self._asked, None, learning.columns)
        assert self._asked is not None
        arms, blocks = np.array(list(self._asked), dtype=np.intp), in_blocks(rows, self.block)
        lesson = learning.read(Batch.of(arms.tolist(), blocks))
        ruler, units = self._ruler_from(blocks) if self._ruler is None else (self._ruler, self._units)
        features = ruler.of(np.concatenate(blocks)).reshape(len(arms), len(blocks[0]), -1)
        # Nothing above changed the state; nothing below can fail.
        if self._ruler is None:
            self._begin(ruler, units, lesson.batch)
        else:
            self._bet(arms, features)
            if learning.scorers:
                self._bet_on_differences(lesson)
        self._take(rows)
        learning.absorb(lesson)
        assert self._tails is not None
        self._tails.absorb(arms, np.stack(blocks))
        found.conclude(len(self._rounds) + 1)
        self._conclude()
        self._close_round(int(learning.counts.max()), found.at_least)
        if not self.stopped:
            found.rescore()

    def _ruler_from(self, pilot: Sequence[Array]) -> tuple[Ruler, Equivalents]:  # N arrays (n, block x d)
        if not self._columns:
            self._columns = default_columns(pilot[0].shape[1] // self.block)
        return ruler_of(
            pilot,
            self._parsed(),
            self._columns,
            kernel=self.kernel,
            log_inverse_alpha=-math.log(self.shares.claim_alpha(1)),
            seed=self._seed,
            block=self.block,
            categories=self._categories,
        )

    def _begin(self, ruler: Ruler, units: Equivalents | None, pilot: Batch) -> None:
        """After the pilot, which is not tested."""
        self._tails = Tails(pilot.samples, self.n_arms)
        self._units = units
        self._ruler, self._margins = ruler, PairMargins(self.shares, ruler)
        self._sums = np.zeros((self.n_arms, ruler.n_features))

    def _bet(self, arms: Index, features: Array) -> None:  # (A,), (A, b, D)
        assert self._margins is not None
        assert self._sums is not None
        self._margins.bet(arms, features)
        self._sums[arms] += features.sum(axis=1)
        self._n_after[arms] += features.shape[1]
        self._claims.bet(arms, features)

    def _bet_on_differences(self, lesson: Lesson) -> None:
        assert self._tails is not None
        self._found.bet(lesson)
        now = PoolRound(self._found.learning, self._tails, lesson)
        self._suspicion.bet(now, self._presumed)
        self._claims.bet_on_differences(now)

    # ------------------------------------------------------------ what follows

    def _conclude(self) -> None:
        self._claims.keep(lambda claim: not self._refuted(claim))
        self._presume()
        for claim in self._claims.open:
            if claim.proven and not self._waits(claim) and not looks_apart(self._seen(), claim.labels):
                self.claim, self._status = claim, "decided"
                return
        presumed = self._claims.find(self._presumed)
        if presumed is not None and presumed.same:
            presumed.same_at = presumed.same_at or self._n_of_arm
            if self._n_of_arm >= HOPELESS * presumed.same_at:
                self._status = "stalled"

    def _presume(self) -> None:
        """Which groups there seem to be, without arms that seem to differ from the rest of theirs: claim them."""
        assert self._ruler is not None
        guess = self._guess()
        if not np.array_equal(guess, self._guessed[0]) or not self._guessed[1]:
            self._guessed = guess, self._n_of_arm
        by_sight = not self._found.complete and self._settled(guess)
        if self.claim is None or self._is_refuted(self._presumed) or by_sight:
            self.claim, self._presumed = None, guess
            if self._claims.find(guess) is None and not self._settled(guess):
                return
        labels, apart = self._presumed, self._found.apart
        self.claim = self._claims.of(labels, self._ruler, apart)
        suspects = self._suspicion.suspects(labels)
        if suspects.any():
            split = _numbered(self._suspicion.split(self._found.learning, labels, suspects, apart))
            self.claim = self._claims.of(split, self._ruler, apart)

    def _waits(self, claim: SameClaim) -> bool:
        """Whether a proven claim is not the one that looks true: differences come first.

        Only because of suspects it does not wait for ever. They may never be shown to differ.
        """
        if claim is self.claim or not np.array_equal(claim.labels, self._presumed):
            return claim is not self.claim
        claim.proven_at = claim.proven_at or self._n_of_arm
        return self._n_of_arm < PATIENCE * claim.proven_at

    @property
    def _n_of_arm(self) -> int:
        return int(self._found.learning.counts[~self._found.dry].max())

    def _seen(self) -> Seen:
        assert self._ruler is not None
        assert self._sums is not None
        return Seen(self._sums, self._n_after, self._ruler)

    def _settled(self, guess: Index) -> bool:  # (N,)
        """Whether it looks as if the groups that can be found soon have been found."""
        complete = int(guess.max()) > 0 and not len(across_of(guess, self._found.apart))
        return complete or self._n_of_arm >= SETTLED * self._guessed[1]

    def _guess(self) -> Index:  # (N,)
        """As few groups as agree with the pairs told apart; -1 for arms that were set aside.

        Where not all pairs are compared, arms are grouped by sight.
        """
        if not self._found.complete:
            return _numbered(np.where(self._found.dry, -1, self._seen().groups(self._found.apart)))
        seen = self._found.wealth.evidence(self._found.learning.counts, copied=False)
        strength = np.where(np.isinf(seen.limits), np.nan, seen.block_strength)
        labels = np.array(agreeing_partition(strength, seen.told > 0, seen.compared).labels, dtype=np.intp)
        labels[self._found.dry] = -1
        return _numbered(labels)

    def _refuted(self, claim: SameClaim) -> bool:
        """Whether arms of one claimed group were told apart, or an arm that it needs ran dry."""
        needed = np.zeros(self.n_arms, dtype=np.bool_)
        needed[claim.wanted()] = True
        return self._is_refuted(claim.labels) or bool((needed & self._found.dry).any())

    def _is_refuted(self, labels: Index) -> bool:  # (N,)
        """Whether arms of one group were told apart."""
        together = (labels[:, None] == labels) & (labels >= 0)
        return bool((together & self._found.apart).any())

    # ------------------------------------------------------------ arms that run dry

    @property
    def arms_set_aside(self) -> frozenset[int]:
        """Arms that it goes on without."""
        return frozenset(np.flatnonzero(self._found.dry).tolist())

    def set_aside(self, arms: Iterable[int]) -> None:
        """Go on without arms with few samples; arms with as many as others end the run: all that they have was used."""
        given, counts = arms_given(arms, self.n_arms), self._found.learning.counts
        if not given or self.stopped:
            return
        self._asked = None
        tiny = (
            counts[given] < _TINY * float(np.median(counts)) if self._ruler is not None else np.full(len(given), True)
        )
        self._found.dry[[arm for arm, small in zip(given, tiny, strict=True) if small]] = True
        if not tiny.all() or np.count_nonzero(~self._found.dry) < 2:
            self._status = "exhausted"
        elif self._ruler is not None:
            self._conclude()

    # ------------------------------------------------------------ what people see

    def recommend(self) -> Partition:
        if self._status == "decided" and self.claim is not None:
            return Partition.of(self.claim.labels.tolist(), certified=True)
        guess = self._guess() if self._ruler is not None else np.zeros(self.n_arms, dtype=np.intp)
        return agreeing(Partition.of(guess.tolist()), self.evidence(), self.n_groups_at_least)

    def evidence(self) -> Evidence:
        return self._found.wealth.evidence(self._found.learning.counts * self.block, copied=True)

    def verdicts(self) -> Verdicts | None:
        """What is proven of each pair; None before the pilot."""
        if self._ruler is None or self._margins is None or self._units is None:
            return None
        proven = self.claim if self._status == "decided" else None
        found = verdicts_of(self._ruler, self._units, self._parsed(), self._margins, self._found.apart, proven)
        if proven is None:
            return found
        return replace(found, between=in_between(self._seen(), proven.labels, found.apart_distance >= found.eps))

    @property
    def forecast(self) -> Array | None:  # (N,)
        """About how many more samples of each arm it takes to decide; None: that cannot be told yet."""
        claim, ruler = self.claim, self._ruler
        if self.stopped and self._status != "exhausted":
            return None
        if claim is None or ruler is None:
            return None
        wanted, counts = claim.wanted(), self._found.learning.counts
        bets = np.array([claim.n_bets(arm) for arm in wanted.tolist()])
        more = np.zeros(self.n_arms)
        more[wanted] = np.maximum(until_proven(ruler, claim.labels, claim.limit)[wanted] - bets, 0.1 * counts[wanted])
        return np.ceil(more) * self.block

    def guarantee(self) -> Guarantee:
        limit = None if self.claim is None else self.claim.limit
        said = self._parsed().words if self._columns else str(self.tolerance)
        return words.guarantee(
            self.shares, said, self._status, n_claims=self._claims.n_made, limit=limit, block=self.block
        )


def _numbered(labels: Index) -> Index:  # (N,) -> (N,)
    """The same groups, numbered by their first arms."""
    return np.array(Partition.of(labels.tolist()).labels, dtype=np.intp)
