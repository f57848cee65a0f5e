"""Anytime KABC: the guarantee of KABC by betting, valid whenever you look, from far fewer samples.

A round: fix scores from all samples so far, draw, bet. If two arms are the same, the evidence against them is a
supermartingale, however the scores were made (docs/theory.md, section 11). There are two phases:

| phase  | file            | what happens                                                                              |
|--------|-----------------|-------------------------------------------------------------------------------------------|
| core   | `core.py`       | some arms, often all of them, are compared with each other                                |
|        | `review.py`     | their partition is guessed; a guess that wins bets is claimed and proven (`claims.py`)    |
| others | `assignment.py` | each other arm is compared with one arm of each group                                     |
| both   | `check.py`      | a settled partition waits while a group may be two (`doubts.py`, `shuffles.py`)           |

Without K there is only the core, with all arms, and no guess. The run stops when all pairs are told apart, or when
nothing new is being learned (`stalling.py`).

Arms that cannot be drawn any more are set aside (docs/theory.md, section 18; `representatives.py`, `relief.py`).
`inference.py` holds both phases together, with the books in `state.py`. They use `learning.py` (what experts know;
`teaching.py` how they get to know it), `wealth.py` (evidence against pairs) and `shares.py` (how delta is spent). It
stops when one partition into K groups is left: a claim is proven, or the pairs told apart force it
(kabc.core.partitions.forced).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array, Index
from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import Kernel
from kabc.core.partitions import Partition
from kabc.core.scores.maps import FeatureMap
from kabc.core.settings import expect_several_groups, positive_number, whole_number, yes_or_no
from kabc.strategies.answers import Guarantee
from kabc.strategies.anytime import forecast, words
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.check import KCheck
from kabc.strategies.anytime.inference import Inference
from kabc.strategies.anytime.learning import Learning
from kabc.strategies.anytime.stalling import PATIENCE, Stalling
from kabc.strategies.base import Compute, Request, Stepwise, arms_given, checked_samples, computed_here, in_blocks
from kabc.strategies.guesses import agreeing
from kabc.strategies.outlook import Outlook


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
    paired : bool, default False
        The k-th samples of all arms of a round share something, such as a prompt, and are compared with each other.
        Arms are the same if they answer the same to the same. All arms of a round are asked for as many samples
        (docs/theory.md, section 22).
    patience : float or None, default 2
        Without K: how much the samples must grow without a new pair told apart before the run stops as "stalled"
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
    takes_any_request = True
    compute: Compute | None = None  # where arms outside the core are bet, if not here
    left_out = ("compute",)  # of frozen states
    _inference: type[Inference] = Inference  # ablations replace parts of it

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
        paired: bool = False,
        patience: float | None = PATIENCE,
    ) -> None:
        super().__init__(n_arms, delta)
        self.block = whole_number("block", block, 1)
        self.paired = yes_or_no("paired", paired)
        if self.paired and self.block > 1:
            raise SettingsError(f"paired samples do not form blocks, got block={block!r}; leave one of them out")
        expect_several_groups(n_clusters)
        self.n_clusters = None if n_clusters is None else whole_number("n_clusters", n_clusters, 2, self.n_arms)
        self.patience = None if patience is None else positive_number("patience", patience, above=1.0)
        checked = yes_or_no("check_k", check_k) and self.n_clusters is not None
        self._found = self._inference(
            self.n_clusters,
            self.delta,
            order=np.random.default_rng(whole_number("seed", seed, 0)).permutation(self.n_arms),
            learning=Learning(self.n_arms, maps, self.block, paired=self.paired, keeps=checked),
            check=KCheck(maps, self.block, paired=self.paired) if checked else None,
            stalling=Stalling(self.n_arms, self.patience) if self.n_clusters is None and self.patience else None,
        )
        self._outlook = Outlook()
        self._foresight = forecast.Foresight()

    @property
    def n_groups_at_least(self) -> int:
        return self._found.at_least

    @property
    def k_doubt(self) -> float | None:
        """Evidence that a group is two, to 1: there may be more than K groups. None if that was not looked at."""
        return None if self._found.check is None else self._found.check.ratio

    def expect_budget(self, max_samples: int | None) -> None:
        """How many samples the run may take; None: any number. It does not stall before a tenth of them."""
        if self._found.stalling is not None:
            self._found.stalling.budget = max_samples or 0

    @property
    def stops_by_itself(self) -> bool:
        """Whether it needs no budget: K is known, or it stops when nothing new is being learned."""
        return self.n_clusters is not None or self.patience is not None

    # ------------------------------------------------------------ rounds

    def _request(self) -> Request:
        return self._found.request(self._outlook.latest)

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        found, learning = self._found, self._found.learning
        rows = checked_samples(samples, self._asked, None, learning.columns)
        assert self._asked is not None
        batch = Batch.of(list(self._asked), in_blocks(rows, self.block))
        lesson = learning.read(batch, whole=bool(found.in_core[batch.arms].all()))
        # Nothing above changed the state; nothing below can fail.
        if learning.scorers:
            found.bet(lesson, self.compute or computed_here)
        self._take(rows)
        learning.absorb(lesson)
        found.conclude(len(self._rounds) + 1)
        self._status = found.status
        self._close_round(int(learning.counts.max()), found.at_least)
        books = (found.assignment, found.review, found.core, found.wealth, learning.counts)
        self._outlook.note(self.n_samples, None if self.stopped else self._foresight.of(*books))
        if not self.stopped:
            found.rescore()

    @property
    def arms_set_aside(self) -> frozenset[int]:
        """Arms that it goes on without. Those whose group was clear by then keep it."""
        return frozenset(np.flatnonzero(self._found.dry).tolist())

    def set_aside(self, arms: Iterable[int]) -> None:
        """Go on without arms that cannot be drawn any more; the others go on to their certified answer.

        The guarantee holds if the choice of these arms depends on earlier requests and samples, and on how many samples
        arms can give, but not on samples that were not told.
        """
        given = arms_given(arms, self.n_arms)
        if given and not self.stopped:
            self._asked = None
            self._found.set_aside(given, len(self._rounds))
            self._status = self._found.status

    # ------------------------------------------------------------ how long it takes

    @property
    def forecast(self) -> Array | None:  # (N,)
        """About how many more samples of each arm it takes to decide; None: that cannot be told yet."""
        return None if self.stopped else self._outlook.more

    # ------------------------------------------------------------ what people see

    def recommend(self) -> Partition:
        found, learning = self._found, self._found.learning
        labels = np.full(self.n_arms, -1) if found.assignment is None else found.assignment.labels
        if self._status == "decided":
            alone = np.where(learning.counts > 0, np.arange(self.n_arms), -1)  # without K: all pairs are told apart
            return Partition.of((alone if self.n_clusters is None else labels).tolist(), certified=True)
        if self._status == "doubtful" and found.check is not None and found.check.labels is not None:
            labels = found.check.labels
        guess: Index = np.zeros(self.n_arms, dtype=np.intp)
        if self.n_clusters is not None and learning.scorers:
            guess = np.where(labels >= 0, labels, learning.groups_seen(found.wealth.best_expert))
            guess = np.maximum(guess, 0)  # arms without samples: anywhere
        best = agreeing(Partition.of(guess.tolist()), self._seen(copied=False), found.at_least, self.n_clusters)
        return self._without_unknown(best, labels) if learning.scorers else best

    def _without_unknown(self, guess: Partition, labels: Index) -> Partition:  # (N,)
        """The guess without arms of which nothing is known, or which ran dry before their group was clear."""
        left_out = self._found.learning.counts == 0
        if self.n_clusters is not None and self._status != "exhausted":  # then a guess is all there is
            left_out |= self._found.dry & (labels < 0)
        return Partition.of(np.where(left_out, -1, guess.labels).tolist())

    def evidence(self) -> Evidence:
        return self._seen(copied=True)

    def _seen(self, *, copied: bool) -> Evidence:
        holds = self._status != "contradicted"
        return self._found.wealth.evidence(self._found.learning.counts * self.block, copied=copied, claim_holds=holds)

    def guarantee(self) -> Guarantee:
        return words.guarantee(
            self._found.shares,
            self._found.core,
            self._found.review,
            self.status,
            claimed=self._found.wealth.claimed is not None,
            block=self.block,
            paired=self.paired,
            set_aside=bool(self._found.dry.any()),
        )
