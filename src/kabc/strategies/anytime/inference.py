"""What follows from the samples: how the state of a run changes, and how it ends.

A round: `bet` on new samples, learn from them, `conclude`, and `rescore` for the next round. The books that this
changes are in `state.py`. The two phases, and the files that hold their parts, are described in `strategy.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kabc.core.arrays import Array, Index
from kabc.core.partitions.forced import Forced, forced_partition
from kabc.strategies.answers import Status
from kabc.strategies.anytime import screening
from kabc.strategies.anytime.assignment import Assignment
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.claims import Claim
from kabc.strategies.anytime.core import Core
from kabc.strategies.anytime.learning import Lesson
from kabc.strategies.anytime.outside import Part, won
from kabc.strategies.anytime.relief import relieved, starved
from kabc.strategies.anytime.representatives import Representatives
from kabc.strategies.anytime.state import FEWEST, State
from kabc.strategies.base import Compute, computed_here

# How many times the samples that an arm had when the last one ran dry (`FEWEST` at least) to give up:
_PATIENCE = 64  # on a group that seems to have only dry arms
_WAITING = 4  # on an arm that cannot be compared with one of the groups it may be in


class Inference(State):
    """What follows from samples, round by round."""

    # ------------------------------------------------------------ what was drawn

    def bet(self, lesson: Lesson, compute: Compute = computed_here) -> None:
        """Bet on the samples of a round, with scores that were fixed before it."""
        if self.look is not None:
            return  # arms outside have no evidence before the core is settled
        learning, wealth = self.learning, self.wealth
        common, scoring = wealth.common_gains(learning.n_experts), learning.scoring(self.n_clusters or self.n_arms)
        wealth.begin(learning.n_experts)
        first, others = learning.parts(lesson, self.core.arms)
        under_way = compute(won, (scoring, common), map(self._part, others))
        batch, block = first.batch, learning.block(first, scoring)
        pairs = wealth.bet(batch.arms, block, common)
        if self.assignment is None:
            self.review.bet(block, batch, learning.counts[batch.arms], common, pairs)
        for part, found in under_way:
            wealth.note(part.where, found.factors, found.gains)
            learning.note(part.batch, found.fits)

    def _part(self, batch: Batch) -> Part:
        """Some of the arms outside, to be bet elsewhere."""
        where = self.wealth.outside(batch.arms)
        return Part(batch, self.learning.groups(batch.arms), where, self.wealth.far_gains(where))

    def rescore(self) -> None:
        """Fix the scores of the next round."""
        arms, core = self.asked_about, self.core.arms  # the first may all be newcomers
        arms = arms if self.learning.counts[arms].any() else core
        self.learning.rescore(arms, *self._taught(), self.wealth.best_expert)
        if self.assignment is not None:
            self.learning.hear_looks()

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
        if self.review.guess is not None and not self.learning.is_due:
            return
        found = self.learning.guess(self._gains, self.asked_about, self.n_clusters)
        if found is not None:
            guess, odds = found
            provable = not (self.dry.any() and self._needs_dry(Claim(guess, math.inf, 0)))
            n_samples, n_core = self.learning.n_samples, self.core.size
            self.review.revise(guess, self.live, n_samples, n_core, odds=odds, provable=provable)

    @property
    def _gains(self) -> Array:  # (E,)
        """What the experts have won."""
        return self.wealth.common_gains(self.learning.n_experts)

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

    def _look_outside(self, *, longer: bool = False) -> None:
        """Look for arms that fit into none of the groups found so far; those that do not join the core.

        If none stands out, or `longer`, all arms outside get more samples, and in the end the core is widened at
        random.
        """
        outside, learning, labels = self._outside, self.learning, self.groups_found
        held = int(learning.counts[outside].min()) if len(outside) else 0
        missing, odd = (self.n_clusters or 0) - int(labels.max()) - 1, outside[:0]
        if self.look is None and held >= screening.FIRST and not longer:
            self.look = screening.Look(outside, held, len(outside))
        while self.look is not None and not len(odd):
            if len(self._not_looked_at):
                return  # these are drawn first
            look = replace(self.look, arms=self.look.arms[~self.dry[self.look.arms]])
            seen = learning.learners, learning.batches, learning.of_learners(labels)
            odd, self.look = screening.looked(look, *seen, missing, learning.trusted_map)
        self.search = None
        if len(odd):
            self.search = screening.Search(labels, self.met, odd, held, learning.counts.copy())
            self._widen(self.core.joined(odd))
        else:
            self.look = screening.next_look(outside, held, self.core.patience)
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
            self._look_outside(longer=nothing_new)
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
        learning = self.learning
        verdict = self.check.look(labels, learning.counts, learning.batches, self.dry, learning.kept)
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
        self.held_before = max(FEWEST, int(self.learning.counts.max()))
        if self.standing is not None and self.assignment is not None:
            partners, counts = self.assignment.partners(len(self.assignment.undecided)), self.learning.counts
            self.standing = self.standing.dried(self.dry, counts, partners, self.assignment.block(counts))
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
        return starved(self.learning, self._gains, core, self.asked_about, self.n_clusters)
