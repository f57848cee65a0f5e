"""What follows from the samples: the books of both phases, the arms to draw next, and how it ends.

A round: `bet` on new samples, learn from them, `conclude`, and `rescore` for the next round. `request` says what to
draw. The two phases, and the files that hold their parts, are described in `strategy.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kabc.core.arrays import Index, Mask
from kabc.core.partitions.forced import Forced, forced_partition
from kabc.strategies.answers import Status
from kabc.strategies.anytime import pace, screening
from kabc.strategies.anytime.assignment import Assignment
from kabc.strategies.anytime.check import KCheck
from kabc.strategies.anytime.claims import Claim
from kabc.strategies.anytime.core import Core
from kabc.strategies.anytime.learning import Learning, Lesson
from kabc.strategies.anytime.relief import asked_about, relieved, starved
from kabc.strategies.anytime.representatives import Representatives
from kabc.strategies.anytime.review import Review
from kabc.strategies.anytime.shares import ErrorShares
from kabc.strategies.anytime.stalling import Stalling
from kabc.strategies.anytime.wealth import Wealth
from kabc.strategies.base import Request

# How many times the samples that an arm had when the last one ran dry, and these at least, to give up:
_PATIENCE = 64  # on a group that seems to have only dry arms
_WAITING = 4  # on an arm that cannot be compared with one of the groups it may be in
_FEWEST = 32


class Inference:
    """The state of a run. Samples and counts are those of blocks, where samples are blocks."""

    def __init__(
        self,
        n_clusters: int | None,
        delta: float,
        order: Index,  # (N,)
        learning: Learning,
        check: KCheck | None,
        stalling: Stalling | None,
    ) -> None:
        self.n_arms, self.n_clusters, self.delta = len(order), n_clusters, delta
        self.learning, self.check, self.stalling = learning, check, stalling
        self.status: Status | None = None
        self.assignment: Assignment | None = None  # the second phase, once the partition of the core is settled
        self.standing: Representatives | None = None  # of the second phase
        self.at_least = 1  # certified lower bound on the number of groups
        self.groups_found: Index = np.full(
            self.n_arms, -1, dtype=np.intp
        )  # in the core, when it was last looked outside
        self.met: tuple[int, ...] = ()  # an arm of each of these groups, pairwise told apart
        self.dry: Mask = np.zeros(self.n_arms, dtype=np.bool_)  # arms that cannot be drawn any more
        self.search: screening.Search | None = None  # of arms that stood out
        self.look: int | None = None  # samples of each arm outside, when arms that fit into no group are looked for
        self.held_before = _FEWEST  # the most samples of an arm when the last one was set aside
        self._last_forced: tuple[list[int], Mask, Forced] | None = None  # known places, pairs told apart, what follows
        self._begin(order)

    def _begin(self, order: Index) -> None:
        """Before the first sample: the books of these arms."""
        self.shares = ErrorShares(self.delta, len(order), self.n_clusters)
        self.core = Core.first(order, self.n_clusters)
        self.wealth = self._opened(Wealth.none(self.n_arms))
        self.review = Review(self.shares, self.core.arms)
        self.learning.begin(self.core.arms, self.n_clusters)
        if self.check is not None:
            self.check.start(self.core.arms, self.core.order)

    def _opened(self, wealth: Wealth) -> Wealth:
        """The books with the arms of this stage's core."""
        return wealth.widened(self.core.arms, self.shares.pair_limit(self.core.size, self.core.stage))

    # ------------------------------------------------------------ what to draw

    def request(self) -> Request:
        counts = self.learning.counts
        if self.assignment is not None and not self.assignment.decided:
            wanted = self.assignment.request(counts)
            return dict.fromkeys(wanted, min(wanted.values())) if self.learning.paired else wanted
        if self.check is not None and not self.review.doubted:
            in_doubt = self.check.request(counts, self.dry)
            if in_doubt:
                return in_doubt
        if self.look is not None:
            return {arm: self.look - int(counts[arm]) for arm in np.sort(self._not_looked_at).tolist()}
        arms = self._core_arms()
        return dict.fromkeys(arms.tolist(), pace.core_block(int(counts[arms].min())))

    @property
    def _outside(self) -> Index:
        """Arms outside the core that can be drawn."""
        arms = self.core.order[self.core.size :]
        return arms[~self.dry[arms]]

    @property
    def _not_looked_at(self) -> Index:
        """Arms outside that have too few samples for the next look."""
        arms = self._outside
        return arms[self.learning.counts[arms] < (self.look or 0)]

    def _core_arms(self) -> Index:
        """Arms of the core to sample next: those that the claim needs, all where there is no claim to trust."""
        if self.search is not None and not self.dry[self.search.arms].any():
            return np.sort(self.search.wanted(self.wealth.apart_among(self.search.arms)))
        trusted = self.review.trusted
        wanted = self.live[:0] if trusted is None else trusted.wanted(self._apart(trusted), self.dry)
        return wanted if len(wanted) else np.sort(self.live)

    def _apart(self, claim: Claim | None) -> Mask:  # -> (A, A)
        """Pairs told apart among the arms of a claim."""
        return self.wealth.apart_among(self.core.arms[:0] if claim is None else claim.arms)

    @property
    def live(self) -> Index:
        """Arms of the core that can be drawn."""
        arms = self.core.arms
        return arms[~self.dry[arms]]

    @property
    def in_core(self) -> Mask:  # (N,)
        """Whether each arm is one of the core."""
        inside = np.zeros(self.n_arms, dtype=np.bool_)
        inside[self.core.arms] = True
        return inside

    @property
    def asked_about(self) -> Index:
        """Arms of the core whose partition is looked for."""
        return asked_about(self.core.arms, self.dry, self.wealth.apart, self.review.claim)

    # ------------------------------------------------------------ what was drawn

    def bet(self, lesson: Lesson) -> None:
        """Bet on the samples of a round, with scores that were fixed before it."""
        if self.look is not None:
            return  # arms outside have no evidence before the core is settled
        common = self.wealth.common_gains(self.learning.n_experts)
        for number, part in enumerate(self.learning.parts(lesson, self.core.arms)):
            batch, block = part.batch, self.learning.block(part, self.n_clusters or self.n_arms)
            pairs = self.wealth.bet(batch.arms, block, common, only_outside=number > 0)
            if self.assignment is None:
                self.review.bet(block, batch, self.learning.counts[batch.arms], common, pairs)

    def rescore(self) -> None:
        """Fix the scores of the next round."""
        arms, core = self.asked_about, self.core.arms  # the first may all be newcomers
        arms = arms if self.learning.counts[arms].any() else core
        self.learning.rescore(arms, *self._taught(), self.wealth.best_expert)

    def _taught(self) -> tuple[Index, int]:  # (N,)
        """Groups that the next scores take for granted, -1 where there is none; the number of groups to look for."""
        known: Index = np.full(self.n_arms, -1, dtype=np.intp)
        if self.assignment is not None:
            known = self.assignment.labels
        elif self.review.trusted is not None:
            known = self.review.trusted.labels
        n_groups = self.n_clusters or self.core.n_sampled(self.learning.counts)
        return known, min(n_groups + self.review.doubted, len(self.asked_about))

    # ------------------------------------------------------------ what follows

    def conclude(self, number: int) -> None:
        """What follows after the samples of a round were bet on and learnt from."""
        self.wealth.tell_apart(number)
        self._judge(number)
        if self.n_clusters is None and self.status is None:
            self.status = self._ended_without_k()

    def _judge(self, number: int) -> None:
        """What follows from the evidence, for the arms that can still be drawn."""
        columns = self._settled(number) if self.assignment is None else self.assignment.columns
        if len(columns) == self.n_clusters:
            self.assignment = self._assigned(columns)
            self.at_least = max(self.at_least, self.assignment.n_groups_at_least)
            if self.assignment.decided and self._passes(self.assignment.labels):
                self.status = "decided"
        elif not self._has_enough() or self._is_starved():
            self.status = "exhausted"
        if self.n_clusters is not None and self.at_least > self.n_clusters:
            self.status = "contradicted"
            if self.wealth.claimed is not None:
                # The claim is refuted. It proves that there are more than K groups, but not how many more.
                self.at_least = self.n_clusters + 1

    def _ended_without_k(self) -> Status | None:
        if np.count_nonzero(self.wealth.apart_in_core) == self.core.size * (self.core.size - 1):
            return "decided"  # every arm is a group of its own
        if self.stalling is not None and self.stalling.stalled(self.learning.n_samples, self.wealth):
            return "stalled"
        return None

    def _settled(self, number: int) -> tuple[int, ...]:
        """Representatives of the groups, as places in the core, once its partition is settled; none before."""
        if not self.learning.counts[self.live].all():
            return ()  # the core was widened just now
        if self.look is not None:
            self._look_outside()
            return ()
        if self.search is not None and not self._met(self.search):
            return ()
        self._revise()
        live = ~self.dry[self.core.arms]
        found, claim = self._forced(), self.review.claim
        proven = claim if claim is not None and claim.proven(self._apart(claim)) else None
        complete = len(found.representatives) == self.n_clusters and bool((found.labels[live] >= 0).all())
        if proven is not None or (complete and not found.contradicted):
            labels = np.full(self.n_arms, -1, dtype=np.intp)
            labels[self.core.arms] = found.labels if proven is None else proven.labels[self.core.arms]
            passed = self._passes(labels)
            self.review.doubted = self.check is not None and self.check.doubted
            return self._appointed(found, proven, number) if passed else ()
        missing = len(found.representatives) != self.n_clusters  # else more arms would not help
        if missing and not self._searches(found) and self.core.is_spent(self.learning.counts):
            self._widen(self.core.widened())
        return ()

    def _revise(self) -> None:
        """Guess the partition of the core anew, from samples alone."""
        if self.n_clusters is None or not self.learning.scorers or len(self.asked_about) < self.n_clusters:
            return
        guess = self.learning.guess(self.wealth.best_expert, self.asked_about, self.n_clusters)
        if guess is not None:
            provable = not (self.dry.any() and self._needs_dry(Claim(guess, math.inf, 0)))
            self.review.revise(guess, self.live, self.learning.n_samples, self.core.size, provable=provable)

    def _needs_dry(self, claim: Claim) -> bool:
        """Whether a claim cannot be proven without arms that ran dry."""
        return claim.needs(self.dry, self._apart(claim))

    def _forced(self) -> Forced:
        """What the pairs told apart force about the core."""
        known = self.met if not self.dry.any() else ()
        places = [int(np.flatnonzero(self.core.arms == arm)[0]) for arm in known]
        apart, last = self.wealth.apart_in_core, self._last_forced
        if last is None or last[0] != places or not np.array_equal(apart, last[1]):
            last = places, apart, forced_partition(apart, self.n_clusters, representatives=places)
        self._last_forced, found = last, last[2]
        self.at_least = max(self.at_least, found.n_groups_at_least)
        return found

    # ------------------------------------------------------------ groups that the core does not have

    def _searches(self, found: Forced) -> bool:
        """Look for other groups outside, if each arm of the core is told apart from all groups found so far but one.

        Otherwise groups of the core may be hard to tell apart: then it is widened at random.
        """
        n_found = len(found.representatives)
        if self.n_clusters is None or n_found >= self.n_clusters or self.learning.paired or self.dry.any():
            return False
        if not self.core.is_spent(self.learning.counts, early=n_found > 1):
            return False
        seen = forced_partition(self.wealth.apart_in_core, n_found)
        if seen.complete:
            self.groups_found[self.core.arms] = seen.labels
            self.met = tuple(self.core.arms[list(seen.representatives)].tolist())
            self._look_outside()
        return seen.complete

    def _look_outside(self, *, closer: bool = False) -> None:
        """Look for arms that fit into none of the groups found so far; those that do not join the core.

        If none stands out, or `closer`, all arms outside get more samples, and in the end the core is widened at
        random.
        """
        if len(self._not_looked_at):
            return  # some were set aside, the others are drawn first
        outside, learning, labels = self._outside, self.learning, self.groups_found
        held = int(learning.counts[outside].min()) if len(outside) else 0
        missing, odd = (self.n_clusters or 0) - int(labels.max()) - 1, outside[:0]
        if held >= screening.FIRST and not closer:
            known, most = learning.of_learners(labels), screening.most_at_once(len(outside), held, self.core.size)
            odd = screening.odd_arms(learning.learners, learning.batches, known, outside, missing, most)
        self.look, self.search = None, None
        if len(odd):
            self.search = screening.Search(labels, self.met, odd, held)
            self._widen(self.core.joined(odd))
        else:
            self.look = screening.next_look(held, self.core.patience) if len(outside) else None
            if self.look is None:
                self._widen(self.core.widened())

    def _met(self, search: screening.Search) -> bool:
        """Whether the arms that stood out complete the groups. Looks again if they do not."""
        apart = self.wealth.apart_among(search.arms)
        labels, standing = search.found(apart)
        complete = len(standing) >= (self.n_clusters or 0)
        if not complete and not search.is_over(apart, self.learning.counts, self.core.patience):
            return False
        nothing_new = len(standing) == len(self.met)
        self.groups_found, self.met, self.search = labels, standing, None
        if not complete:
            self._look_outside(closer=nothing_new)
        return complete

    def _widen(self, core: Core) -> None:
        """Take more arms into the core."""
        self.core = core
        self.wealth = self._opened(self.wealth)
        self.review.restart(self.core.arms)
        self.learning.begin(self.core.arms, self.n_clusters)

    # ------------------------------------------------------------ is K too small?

    def _passes(self, labels: Index) -> bool:  # (N,)
        """Whether no group looks like two; else go on, until that passes, K is contradicted or it stays doubtful."""
        if self.check is None:
            return True
        verdict = self.check.look(labels, self.learning.batches, self.dry, self.learning.kept)
        if verdict == "open" and not self._can_look_again():
            verdict = "doubtful" if self.check.doubted else "passed"
        if verdict == "doubtful":
            self.status = "doubtful"
        return verdict == "passed"

    def _can_look_again(self) -> bool:
        """Whether there are samples to be had of the arms in doubt."""
        assert self.check is not None
        in_core = self.assignment is None and len(self.live) > 1
        return in_core or bool(self.check.request(self.learning.counts, self.dry))

    # ------------------------------------------------------------ the second phase

    def _appointed(self, found: Forced, proven: Claim | None, number: int) -> tuple[int, ...]:
        """The representatives; from now on arms outside the core are compared with them."""
        core = self.core.arms
        if proven is not None:
            self.wealth.accept(proven.labels, proven.limit, number)
            found = self._forced()
        columns, settled = found.representatives, np.flatnonzero(found.labels >= 0)
        if self.core.size < self.shares.n_arms:
            self.wealth.limit_outside(found.representatives, self.shares.outside_limit(self.core.size))
        self.standing = Representatives(tuple(core[list(columns)].tolist()), settled, self.dry.copy())
        return columns

    def _assigned(self, columns: tuple[int, ...]) -> Assignment:
        """The groups of all arms, as far as the pairs told apart force them."""
        assert self.standing is not None
        found, self.standing, self.wealth = relieved(
            self.core.arms,
            columns,
            self.wealth,
            self.standing,
            self.learning.counts,
            _WAITING * self.held_before,
        )
        self.dry |= self.standing.dry
        return found

    # ------------------------------------------------------------ arms that run dry

    def set_aside(self, given: Sequence[int], number: int) -> None:
        """Go on without these arms, after this many rounds."""
        self.dry[list(given)] = True
        self.held_before = max(_FEWEST, int(self.learning.counts.max()))
        if self.standing is not None:
            self.standing = replace(self.standing, dry=self.dry.copy())
        elif number:
            self.review.set_aside(self.dry, self._apart(self.review.claim))
        else:
            self._start_without()
            return
        self._judge(number)
        if self.status is None:
            self.rescore()

    def _start_without(self) -> None:
        """Nothing was drawn yet: begin as if there were only the other arms."""
        order = self.core.order[~self.dry[self.core.order]]
        if len(order) >= self._fewest:
            self._begin(order)
        else:
            self.status = "exhausted"

    @property
    def _fewest(self) -> int:
        """Arms that it takes to find anything."""
        return self.n_clusters or 2

    def _has_enough(self) -> bool:
        """Whether the core has enough arms to find K groups. Widens it where that helps."""
        while not (enough := len(self.live) >= 2 and len(self.asked_about) >= self._fewest):
            if self.core.size == self.shares.n_arms:
                break
            self._widen(self.core.widened())
        return enough

    def _is_starved(self) -> bool:
        """Whether after many samples one of the groups still seems to have no arm but dry ones: a heuristic."""
        core = self.core.arms
        if self.n_clusters is None or not self.dry[core].any() or self.core.size < self.shares.n_arms:
            return False
        if self.learning.counts[self.live].max() < _PATIENCE * self.held_before:
            return False
        return starved(self.learning, self.wealth.best_expert, core, self.asked_about, self.n_clusters)
