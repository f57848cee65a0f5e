"""Who represents each group in the second phase, and who takes over when a representative runs dry.

An arm outside the core has one evidence for each group: that it is not in this group. It is multiplied by bets against
the arm that represents the group at the time. So nothing is lost or paid twice when another arm of the group takes over
(docs/theory.md, section 18).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kabc.core.arrays import Counts, Index, Mask

MOST_PARTNERS = 64  # samples of a representative for one sample of another arm
_SERVED = 4  # rounds that a representative should last


@dataclass(frozen=True, slots=True, eq=False)
class Representatives:
    """The representatives now, and the arms that stand in columns of the evidence because they once were ones.

    Attributes
    ----------
    arms : for each group the arm that represents it, the last one if all its arms are dry.
    settled : places of the core's arms whose partition was settled. The others ran dry before.
    dry : arms that cannot be drawn any more.
    later : groups of representatives from outside the core, in the order of their columns.
    most_partners : samples that are asked of a representative at most for one sample of another arm.
    """

    arms: tuple[int, ...]
    settled: Index  # (S,), ascending
    dry: Mask  # (N,)
    later: tuple[int, ...] = ()
    most_partners: int = MOST_PARTNERS

    @classmethod
    def first(cls, core: Index, columns: Sequence[int], n_arms: int) -> Representatives:  # (C,)
        """The arms in these places of the core, when no arm is dry."""
        arms = tuple(core[list(columns)].tolist())
        return cls(arms, np.arange(len(core)), np.zeros(n_arms, dtype=np.bool_))

    def dried(self, dry: Mask, counts: Counts, partners: int, block: int) -> Representatives:  # (N,), (N,)
        """The same after more arms ran dry, when representatives were asked for `partners` samples, `block` times.

        If one ran dry that had given little, the next ones are asked for less: their rows may be few, too.
        """
        new = [int(counts[arm]) for arm in self.arms if dry[arm] and not self.dry[arm]]
        served = min(new, default=partners * block * _SERVED) // _SERVED
        enough = served >= partners * block
        return replace(self, dry=dry.copy(), most_partners=self.most_partners if enough else max(1, served // block))

    def groups(self, inside: Mask, n_core: int) -> Index:  # (S, K) -> (C + X,)
        """The group of each column of the evidence, -1 where it is open; `inside` are the groups of settled arms."""
        known = np.full(n_core + len(self.later), -1, dtype=np.intp)
        known[self.settled] = np.where(inside.sum(axis=1) == 1, inside.argmax(axis=1), -1)
        known[n_core:] = self.later
        return known

    def successors(self, labels: Index, counts: Counts) -> dict[int, int]:  # (N,), (N,) -> group -> arm
        """For each group whose representative is dry, the arm of that group with the fewest samples that is not."""
        found = {}
        for group, arm in enumerate(self.arms):
            able = np.flatnonzero((labels == group) & ~self.dry)
            if self.dry[arm] and len(able):
                found[group] = int(able[counts[able].argmin()])
        return found

    def succeeded(self, group: int, arm: int, in_core: bool) -> Representatives:
        """The same with another representative of this group."""
        arms = tuple(arm if place == group else one for place, one in enumerate(self.arms))
        return replace(self, arms=arms, later=self.later if in_core else (*self.later, group))


def told_from_groups(apart: Mask, groups: Index, n_groups: int) -> Mask:  # (N, C), (C,) -> (N, K)
    """Groups that each arm was told apart from, through any arm that is or was compared with it."""
    members = groups[:, None] == np.arange(n_groups)  # (C, K)
    return np.asarray(apart.astype(np.float32) @ members.astype(np.float32) > 0)
