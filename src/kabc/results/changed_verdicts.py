"""Verdicts that changed between two answers with the same tolerance, and margins that exclude each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kabc.core.arrays import Index, Mask
from kabc.core.evidence.verdicts import DIFFERENT, SAME, Verdicts
from kabc.core.words import counted, in_short, named, plural
from kabc.results.values import Result

Places = tuple[Index, ...]  # of rows and of columns

KERNELS = "the kernels of both runs see the tolerance alike"  # what certified changes take for granted
_MOST_PAIRS = 200  # that are kept; more are counted


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """Pairs of arms with one verdict before and the opposite one now.

    A difference below the tolerance may be shown at one time and not at the other: then both verdicts are true.
    `n_certified` counts the pairs whose margins exclude each other: further apart in one answer than the other allows.
    `pairs` are the first ones, the certified ones before the others.
    """

    before: str
    now: str
    n_pairs: int
    n_certified: int
    pairs: tuple[tuple[str, str], ...]

    def text(self, tolerance: str, *, everyone: bool = False) -> str:
        """One line. Long lists are cut, unless `everyone` is to be named."""
        said = {SAME: f"the same within {tolerance}", DIFFERENT: "different"}
        pairs = in_short((f"{named(a)} and {named(b)}" for a, b in self.pairs), everyone=everyone)
        beyond = f", {self.n_certified:,} certified" if self.n_certified else ""
        more = self.n_pairs - len(self.pairs)
        left_out = f"; {counted(more, 'more pair')} left out" if more and everyone else ""
        verb = "was" if self.n_pairs == 1 else "were"
        return (
            f"{counted(self.n_pairs, 'pair')} {verb} {said[self.before]} before, and {plural(self.n_pairs, 'is')} "
            f"{said[self.now]} now{beyond}: {pairs}{left_out}"
        )


def changed_verdicts(
    old: Result, new: Result, common: Sequence[str], places: tuple[Mapping[str, int], Mapping[str, int]]
) -> tuple[VerdictChange, ...]:
    """What changed for the pairs of these arms. Nothing where an answer has no tolerance or proves nothing."""
    if not (proves(old) and proves(new)) or old.tolerance is None or new.tolerance is None:
        return ()
    before, now = (
        found.verdicts[_square(place, common)]
        for found, place in zip((old.tolerance, new.tolerance), places, strict=True)
    )
    sure = exclude(old.tolerance, new.tolerance, *(_square(place, common) for place in places))
    found = []
    for was, is_now in ((SAME, DIFFERENT), (DIFFERENT, SAME)):
        i, j = np.nonzero(np.triu((before == was) & (now == is_now), 1))
        certified = sure[i, j]
        order = np.argsort(~certified, kind="stable")[:_MOST_PAIRS]
        pairs = tuple((common[a], common[b]) for a, b in zip(i[order].tolist(), j[order].tolist(), strict=True))
        if len(i):
            found.append(VerdictChange(was, is_now, len(i), int(np.count_nonzero(certified)), pairs))
    return tuple(found)


def proves(result: Result) -> bool:
    """Whether its verdicts and pairs told apart are proven."""
    return result.status not in ("doubtful", "stopped") and not result.assumptions


def exclude(old: Verdicts, new: Verdicts, before: Places, now: Places) -> Mask:
    """Of the pairs at these places: whether one answer puts them further apart than the other allows."""
    moved = new.apart_at_least[now] > old.same_within[before]
    return np.asarray(moved | (old.apart_at_least[before] > new.same_within[now]))


def contradict(old: Result, new: Result, arm: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    """Whether the margins of an arm and one of the others exclude each other. Each has its number in both answers."""
    listed = list(others)
    if old.tolerance is None or new.tolerance is None or not listed or not (proves(old) and proves(new)):
        return False
    was, is_now = (np.array(numbers) for numbers in zip(*listed, strict=True))
    return bool(exclude(old.tolerance, new.tolerance, (np.array(arm[0]), was), (np.array(arm[1]), is_now)).any())


def _square(place: Mapping[str, int], common: Sequence[str]) -> Places:
    numbers = [place[name] for name in common]
    return np.ix_(numbers, numbers)
