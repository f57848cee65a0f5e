"""Anytime KABC: the guarantee of KABC by betting, valid whenever you look, from far fewer samples.

A round: fix scores from all samples so far, draw, bet. If two arms are the same, the evidence against them is a
supermartingale, however the scores were made (docs/theory.md, section 11). There are two phases:

| phase  | file            | what happens                                                                              |
|--------|-----------------|-------------------------------------------------------------------------------------------|
| core   | `core.py`       | some arms, often all of them, are compared with each other                                |
|        | `review.py`     | their partition is guessed; a guess that wins bets is claimed and proven (`claims.py`)    |
| others | `assignment.py` | each other arm is compared with one arm of each group                                     |
| both   | `check.py`      | a settled partition waits while a group looks like two (`doubts.py`, `splits.py`)         |

Without K there is only the core, with all arms, and no guess. The run stops when all pairs are told apart, or when
nothing new is being learned (`stalling.py`).

Arms that cannot be drawn any more are set aside (docs/theory.md, section 18; `representatives.py`, `relief.py`).
Both phases use `learning.py` (what experts know), `wealth.py` (evidence against pairs) and `shares.py` (how delta is
spent). It stops when one partition into K groups is left: a claim is proven, or the pairs told apart force it
(kabc.core.partitions.forced).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array, Index, Mask
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import Kernel
from kabc.core.partitions import Partition
from kabc.core.partitions.forced import Forced, forced_partition
from kabc.core.scores.maps import FeatureMap
from kabc.core.settings import expect_several_groups, positive_number, whole_number, yes_or_no
from kabc.strategies.answers import Guarantee, Status
from kabc.strategies.anytime import forecast, pace, words
from kabc.strategies.anytime.assignment import Assignment
from kabc.strategies.anytime.check import KCheck
from kabc.strategies.anytime.claims import Claim
from kabc.strategies.anytime.core import Core
from kabc.strategies.anytime.learning import Batch, Learning, Lesson
from kabc.strategies.anytime.relief import asked_about, relieved, starved
from kabc.strategies.anytime.representatives import Representatives
from kabc.strategies.anytime.review import Review
from kabc.strategies.anytime.shares import ErrorShares
from kabc.strategies.anytime.stalling import PATIENCE, Stalling
from kabc.strategies.anytime.wealth import Wealth
from kabc.strategies.base import Request, Stepwise, arms_given, checked_samples, in_blocks
from kabc.strategies.guesses import agreeing
from kabc.strategies.outlook import Outlook

# How many times the samples that an arm had when the last one ran dry, and these at least, to give up:
_PATIENCE = 64  # on a group that seems to have only dry arms
_WAITING = 4  # on an arm that cannot be compared with one of the groups it may be in
_FEWEST = 32


class AnytimeKABC(Stepwise):
    """Groups N arms by distribution, wrong with probability at most delta, valid at every look.

    Assumes that samples of an arm are independent and identically distributed and that arms are independent of each
    other. Nothing is assumed about the distributions, and no kernel or bandwidth is needed. It draws little at a time,
    and only from arms whose group is still open.

    Parameters
    ----------
    n_arms : int
        N, the number of arms.
    n_clusters : int or None
        K, the number of groups, at least 2. With None it stops when all pairs are told apart, or when nothing new is
        being learned. The pairs told apart and the lower bound on the number of groups are certified all the same.
    delta : float
        Largest probability of a wrong answer, in (0, 1].
    maps : sequence of FeatureMap, optional
        Feature maps that scores are learned on. Default: `kabc.core.scores.maps.default_maps`.
    seed : int, default 0
        Chooses the arms to start with when there are many.
    block : int, default 1
        This many consecutive samples of an arm form one: their features are averaged. Then only blocks must be
        independent, not samples (docs/theory.md, section 20).
    check_k : bool, default True
        Whether to look, before it decides, if a group is two. If so, it ends "doubtful" instead of "decided". With the
        right K this happens with probability at most 5 %.
    patience : float or None, default 2.5
        Without K: how much the samples must grow without a new pair told apart before the run may stop as "stalled"
        (docs/anytime.md). None: it never does.

    Notes
    -----
    Cost of a round: sampled arms x features x K. Memory: the samples, and experts x N x core numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import kabc
    >>> strategy = kabc.AnytimeKABC(n_arms=4, n_clusters=2, delta=0.05)
    >>> rng = np.random.default_rng(0)
    >>> while not strategy.stopped:
    ...     strategy.tell({arm: rng.normal(8.0 * (arm % 2), 1.0, n) for arm, n in strategy.ask().items()})
    >>> strategy.recommend()
    Partition(0 2 | 1 3, certified)
    """

    kernel: Kernel | None = None
    one_blas_thread = True

    def __init__(
        self,
        n_arms: int,
        n_clusters: int | None,
        delta: float,
        *,
        maps: Sequence[FeatureMap] | None = None,
        seed: int = 0,
        block: int = 1,
        check_k: bool = True,
        patience: float | None = PATIENCE,
    ) -> None:
        super().__init__(n_arms, delta)
        self.block = whole_number("block", block, 1)
        expect_several_groups(n_clusters)
        self.n_clusters = None if n_clusters is None else whole_number("n_clusters", n_clusters, 2, self.n_arms)
        self._fewest = self.n_clusters or 2  # arms that it takes to find anything
        order = np.random.default_rng(whole_number("seed", seed, 0)).permutation(self.n_arms)
        self._learning = Learning(self.n_arms, maps, self.block)
        self._assignment: Assignment | None = None  # the second phase, once the partition of the core is settled
        self._standing: Representatives | None = None  # of the second phase
        checked = yes_or_no("check_k", check_k) and self.n_clusters is not None
        self._check = KCheck(maps, self.block) if checked else None
        self._at_least = 1
        self._dry: Mask = np.zeros(self.n_arms, dtype=np.bool_)  # arms that cannot be drawn any more
        self._held_before = _FEWEST  # the most samples of an arm when the last one was set aside
        self.patience = None if patience is None else positive_number("patience", patience, above=1.0)
        self._stalling: Stalling | None = None
        if self.n_clusters is None and self.patience is not None:
            self._stalling = Stalling(self.n_arms, self.patience)
        self._outlook = Outlook()
        self._foresight = forecast.Foresight()
        self._begin(order)

    def _begin(self, order: Index) -> None:
        """Before the first sample: the books of these arms."""
        self._shares = ErrorShares(self.delta, len(order), self.n_clusters)
        self._core = Core.first(order, self.n_clusters)
        self._wealth = self._opened(Wealth.none(self.n_arms))
        self._review = Review(self._shares, self.n_arms)

    def _opened(self, wealth: Wealth) -> Wealth:
        """The books with the arms of this stage's core."""
        return wealth.widened(self._core.arms, self._shares.pair_limit(self._core.size, self._core.stage))

    @property
    def n_groups_at_least(self) -> int:
        return self._at_least

    @property
    def k_doubt(self) -> float | None:
        """Evidence that a group is two, to 1: there may be more than K groups. None if that was not looked at."""
        return None if self._check is None else self._check.ratio

    @property
    def stops_by_itself(self) -> bool:
        """Whether it needs no budget: K is known, or it stops when nothing new is being learned."""
        return self.n_clusters is not None or self.patience is not None

    # ------------------------------------------------------------ what to draw

    def _request(self) -> Request:
        counts = self._learning.counts
        if self._assignment is not None and not self._assignment.decided:
            return self._assignment.request(counts)
        if self._check is not None and not self._review.doubted:
            in_doubt = self._check.request(counts, self._dry)
            if in_doubt:
                return in_doubt
        arms = self._core_arms()
        return dict.fromkeys(arms.tolist(), pace.core_block(int(counts[arms].min())))

    def _core_arms(self) -> Index:
        """Arms of the core to sample next: those that the claim needs, all where there is no claim to trust."""
        trusted = self._review.trusted
        wanted = self._live[:0] if trusted is None else trusted.wanted(self._wealth.all_apart(), self._dry)
        return wanted if len(wanted) else np.sort(self._live)

    @property
    def _live(self) -> Index:
        """Arms of the core that can be drawn."""
        arms = self._core.arms
        return arms[~self._dry[arms]]

    @property
    def _asked_about(self) -> Index:
        """Arms of the core whose partition is looked for."""
        return asked_about(self._core.arms, self._dry, self._wealth.apart, self._review.claim)

    # ------------------------------------------------------------ what was drawn

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self._asked, None, self._learning.columns)
        assert self._asked is not None
        lesson = self._learning.read(Batch.of(list(self._asked), in_blocks(rows, self.block)))
        # Nothing above changed the state; nothing below can fail.
        if self._learning.scorers:
            self._bet(lesson)
        self._take(rows)
        self._learning.absorb(lesson)
        self._conclude()
        books = (self._assignment, self._review, self._core, self._wealth, self._learning.counts)
        self._outlook.note(self.n_samples, None if self.stopped else self._foresight.of(*books))
        if not self.stopped:
            self._rescore()

    def _rescore(self) -> None:
        """Fix the scores of the next round."""
        arms, core = self._asked_about, self._core.arms  # the first may all be newcomers
        self._learning.rescore(arms if self._learning.counts[arms].any() else core, *self._taught())

    def _bet(self, lesson: Lesson) -> None:
        """Bet on the samples of a round, with scores that were fixed before it."""
        batch, held = lesson.batch, self._learning.counts[lesson.batch.arms]
        blocks = self._learning.blocks(lesson, self.n_clusters or self.n_arms)
        common = self._wealth.common_gains(len(blocks))
        pairs = self._wealth.bet(batch.arms, blocks, common)
        if self._assignment is None:
            self._review.bet(blocks, batch, held, common, pairs)

    def _taught(self) -> tuple[Index, int]:  # (N,)
        """Groups that the next scores take for granted, -1 where there is none; the number of groups to look for."""
        known: Index = np.full(self.n_arms, -1, dtype=np.intp)
        if self._assignment is not None:
            known = self._assignment.labels
        elif self._review.trusted is not None:
            known = self._review.trusted.labels
        n_groups = self.n_clusters or self._core.n_sampled(self._learning.counts)
        return known, min(n_groups + self._review.doubted, len(self._asked_about))

    # ------------------------------------------------------------ arms that run dry

    @property
    def arms_set_aside(self) -> frozenset[int]:
        """Arms that it goes on without. Those whose group was clear by then keep it."""
        return frozenset(np.flatnonzero(self._dry).tolist())

    def set_aside(self, arms: Iterable[int]) -> None:
        """Go on without arms that cannot be drawn any more; the others go on to their certified answer.

        The guarantee holds if the choice of these arms depends on earlier requests and samples, and on how many samples
        arms can give, but not on samples that were not told.
        """
        given = arms_given(arms, self.n_arms)
        if self.stopped or not given:
            return
        self._asked = None
        self._dry[given] = True
        self._held_before = max(_FEWEST, int(self._learning.counts.max()))
        if self._standing is not None:
            self._standing = replace(self._standing, dry=self._dry.copy())
        elif self._rounds:
            self._review.set_aside(self._dry, self._wealth.all_apart())
        else:  # nothing was drawn yet: begin as if there were only the other arms
            order = self._core.order[~self._dry[self._core.order]]
            if len(order) >= self._fewest:
                self._begin(order)
            else:
                self._status = "exhausted"
            return
        self._judge(len(self._rounds))
        if not self.stopped:
            self._rescore()

    def _has_enough(self) -> bool:
        """Whether the core has enough arms to find K groups. Widens it where that helps."""
        while not (enough := len(self._live) >= 2 and len(self._asked_about) >= self._fewest):
            if self._core.size == self._shares.n_arms:
                break
            self._widen()
        return enough

    def _is_starved(self) -> bool:
        """Whether after many samples one of the groups still seems to have no arm but dry ones: a heuristic."""
        core = self._core.arms
        if self.n_clusters is None or not self._dry[core].any() or self._core.size < self._shares.n_arms:
            return False
        if self._learning.counts[self._live].max() < _PATIENCE * self._held_before:
            return False
        return starved(self._learning, self._wealth.best_expert, core, self._asked_about, self.n_clusters)

    # ------------------------------------------------------------ what follows

    def _conclude(self) -> None:
        number = len(self._rounds) + 1
        self._wealth.tell_apart(number)
        self._judge(number)
        if self.n_clusters is None and not self.stopped:
            self._status = self._ended_without_k()
        self._close_round(int(self._learning.counts.max()), self._at_least)

    def _judge(self, number: int) -> None:
        """What follows from the evidence, for the arms that can still be drawn."""
        columns = self._settled(number) if self._assignment is None else self._assignment.columns
        if len(columns) == self.n_clusters:
            self._assignment = self._assigned(columns)
            self._at_least = max(self._at_least, self._assignment.n_groups_at_least)
            if self._assignment.decided and self._passes(self._assignment.labels):
                self._status = "decided"
        elif not self._has_enough() or self._is_starved():
            self._status = "exhausted"
        if self.n_clusters is not None and self._at_least > self.n_clusters:
            self._status = "contradicted"
            if self._wealth.claimed is not None:
                # The claim is refuted. It proves that there are more than K groups, but not how many more.
                self._at_least = self.n_clusters + 1

    def _ended_without_k(self) -> Status | None:
        if np.count_nonzero(self._wealth.apart_in_core) == self._core.size * (self._core.size - 1):
            return "decided"  # every arm is a group of its own
        if self._stalling is not None and self._stalling.stalled(self.n_samples // self.block, self._wealth):
            return "stalled"
        return None

    def _settled(self, number: int) -> tuple[int, ...]:
        """Representatives of the groups, as places in the core, once its partition is settled; none before."""
        if not self._learning.counts[self._live].all():
            return ()  # the core was widened just now
        self._revise()
        live = ~self._dry[self._core.arms]
        found, claim = self._forced(), self._review.claim
        proven = claim if claim is not None and claim.proven(self._wealth.all_apart()) else None
        complete = len(found.representatives) == self.n_clusters and bool((found.labels[live] >= 0).all())
        if proven is not None or (complete and not found.contradicted):
            labels = np.full(self.n_arms, -1, dtype=np.intp)
            labels[self._core.arms] = found.labels if proven is None else proven.labels[self._core.arms]
            passed = self._passes(labels)
            self._review.doubted = self._check is not None and self._check.doubted
            return self._appointed(found, proven, number) if passed else ()
        if self._core.is_spent(self._learning.counts):
            self._widen()
        return ()

    def _widen(self) -> None:
        """Take more arms into the core."""
        self._core = self._core.widened()
        self._wealth = self._opened(self._wealth)
        self._review.restart()

    def _revise(self) -> None:
        """Guess the partition of the core anew, from samples alone."""
        if self.n_clusters is None or not self._learning.scorers or len(self._asked_about) < self.n_clusters:
            return
        guess = self._learning.guess(self._wealth.best_expert, self._asked_about, self.n_clusters)
        if guess is not None:
            self._review.revise(guess, self._live, self.n_samples, self._core.size)

    def _forced(self) -> Forced:
        """What the pairs told apart force about the core."""
        found = forced_partition(self._wealth.apart_in_core, self.n_clusters)
        self._at_least = max(self._at_least, found.n_groups_at_least)
        return found

    def _passes(self, labels: Index) -> bool:  # (N,)
        """Whether no group looks like two; else go on, until that passes, K is contradicted or it stays doubtful."""
        if self._check is None:
            return True
        verdict = self._check.look(labels, self._learning.batches)
        if verdict == "open" and not self._can_look_again():
            verdict = "doubtful" if self._check.doubted else "passed"
        if verdict == "doubtful":
            self._status = "doubtful"
        return verdict == "passed"

    def _can_look_again(self) -> bool:
        """Whether there are samples to be had of the arms in doubt."""
        assert self._check is not None
        in_core = self._assignment is None and len(self._live) > 1
        return in_core or bool(self._check.request(self._learning.counts, self._dry))

    def _appointed(self, found: Forced, proven: Claim | None, number: int) -> tuple[int, ...]:
        """The representatives; from now on arms outside the core are compared with them."""
        core = self._core.arms
        if proven is not None:
            self._wealth.accept(proven.labels, proven.limit, number)
            found = self._forced()
        columns, settled = found.representatives, np.flatnonzero(found.labels >= 0)
        if self._core.size < self._shares.n_arms:
            self._wealth.limit_outside(found.representatives, self._shares.outside_limit(self._core.size))
        self._standing = Representatives(tuple(core[list(columns)].tolist()), settled, self._dry.copy())
        return columns

    def _assigned(self, columns: tuple[int, ...]) -> Assignment:
        """The groups of all arms, as far as the pairs told apart force them."""
        assert self._standing is not None
        found, self._standing, self._wealth = relieved(
            self._core.arms,
            columns,
            self._wealth,
            self._standing,
            self._learning.counts,
            _WAITING * self._held_before,
        )
        self._dry |= self._standing.dry
        return found

    # ------------------------------------------------------------ how long it takes

    @property
    def forecast(self) -> Array | None:  # (N,)
        """About how many more samples of each arm it takes to decide; None: that cannot be told yet."""
        return None if self.stopped else self._outlook.more

    # ------------------------------------------------------------ what people see

    def recommend(self) -> Partition:
        labels = np.full(self.n_arms, -1) if self._assignment is None else self._assignment.labels
        if self._status == "decided":
            alone = np.where(self._learning.counts > 0, np.arange(self.n_arms), -1)  # without K: all pairs told apart
            return Partition.of((alone if self.n_clusters is None else labels).tolist(), certified=True)
        if self._status == "doubtful" and self._check is not None and self._check.labels is not None:
            labels = self._check.labels
        guess: Index = np.zeros(self.n_arms, dtype=np.intp)
        if self.n_clusters is not None and self._learning.scorers:
            guess = np.where(labels >= 0, labels, self._learning.groups_seen(self._wealth.best_expert))
            guess = np.maximum(guess, 0)  # arms without samples: anywhere
        found = agreeing(Partition.of(guess.tolist()), self._seen(copied=False), self._at_least, self.n_clusters)
        return self._without_unknown(found, labels) if self._learning.scorers else found

    def _without_unknown(self, guess: Partition, labels: Index) -> Partition:  # (N,)
        """The guess without arms of which nothing is known, or which ran dry before their group was clear."""
        left_out = self._learning.counts == 0
        if self.n_clusters is not None and self._status != "exhausted":  # then a guess is all there is
            left_out |= self._dry & (labels < 0)
        return Partition.of(np.where(left_out, -1, guess.labels).tolist())

    def evidence(self) -> Evidence:
        return self._seen(copied=True)

    def _seen(self, *, copied: bool) -> Evidence:
        holds = self._status != "contradicted"
        return self._wealth.evidence(self._learning.counts * self.block, copied=copied, claim_holds=holds)

    def guarantee(self) -> Guarantee:
        return words.guarantee(
            self._shares,
            self._core,
            self._review,
            self.status,
            claimed=self._wealth.claimed is not None,
            block=self.block,
            set_aside=bool(self._dry.any()),
        )
