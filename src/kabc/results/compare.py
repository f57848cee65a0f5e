"""What changed between two results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kabc.core.errors import SettingsError
from kabc.core.partitions import Partition
from kabc.core.words import counted, in_short, named, percent, shown
from kabc.results.changed_verdicts import KERNELS, VerdictChange, changed_verdicts, contradict, proves
from kabc.results.moved import Moved, moved_groups, moved_lines, some
from kabc.results.questions import expect_same_columns, mismatches
from kabc.results.values import Result
from kabc.results.words import headline

_MOST_CHANGES = 20  # lines; more are counted


@dataclass(frozen=True, slots=True)
class Change:
    """An arm that changed its group: whom it was with, whom it is with, and whether that is certified.

    Certified: one answer proves that the arm is the same as others, the other that it is not. Within a tolerance: one
    proves that it is further from another arm than the other allows. Where the two answers are to different questions,
    nothing is certified.
    """

    arm: str
    before: tuple[str, ...]
    now: tuple[str, ...]
    certified: bool

    def __str__(self) -> str:
        kind = "certified" if self.certified else "a guess"
        return f"{named(self.arm)} ({kind}): before {_with(self.before)}, now {_with(self.now)}"


@dataclass(frozen=True)
class Comparison:
    """What changed from one result to another, by the names of the arms. Print it.

    `groups` pairs each old group with the new one that it overlaps most, over all groups together; an arm has changed
    when its two groups are no such pair. `adjusted_rand` is the agreement on the common arms: 1 if equal. Arms that one
    of the results has set aside are in `not_measured`; nothing is said of their groups.

    `mismatches` say why the answers are to different questions, such as different numbers of groups; no change is
    certified then. `moved` are groups whose values moved, whether or not arms changed their groups. `verdicts` are
    pairs that were the same within the tolerance and are different now, or the other way round.

    Examples
    --------
    >>> import kabc
    >>> arms = {"a": [0.1, 0.2] * 60, "b": [0.8, 0.9] * 60, "c": [0.2, 0.1] * 60}
    >>> monday = kabc.cluster(arms, n_clusters=2, seed=0)
    >>> tuesday = kabc.cluster(arms | {"c": arms["b"]}, n_clusters=2, seed=0)
    >>> found = kabc.compare(monday, tuesday)
    >>> found.same, [change.arm for change in found.changes]
    (False, ['c'])
    """

    old_status: str
    new_status: str
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    changes: tuple[Change, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    not_measured: tuple[str, ...]
    n_common: int
    adjusted_rand: float
    delta: float
    mismatches: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()
    moved_delta: float = 0.0
    conditions: tuple[str, ...] = ()
    tolerance: str = ""
    verdicts: tuple[VerdictChange, ...] = ()

    @property
    def same(self) -> bool:
        """Whether all arms that are in both have the groups that they had."""
        return not self.changes

    @property
    def alarm(self) -> bool:
        """Whether something is more than a guess: a certified change, or values that moved by the test."""
        return self._certified or any(one.proven for one in self.moved)

    @property
    def _certified(self) -> bool:
        return any(one.certified for one in self.changes) or any(one.n_certified for one in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        from kabc.results.effects.documents import contrast_document

        moved = [
            {"arms": one.arms, "column": one.column, "proven": one.proven, "contrast": contrast_document(one.contrast)}
            for one in self.moved
        ]
        return {"same": self.same, "alarm": self.alarm, **asdict(self), "moved": moved}

    def __str__(self) -> str:
        return self.text()

    def text(self, *, everyone: bool = False) -> str:
        """The changes in lines. Long lists are cut, unless `everyone` is to be named."""
        changed = "no arm" if self.same else f"{len(self.changes):,} of {counted(self.n_common, 'arm')}"
        lines = [
            *(f"{reason}: changes are a guess" for reason in self.mismatches),
            f"{changed} changed group (adjusted Rand index {self.adjusted_rand:.3g}; 1 means the same groups)",
            *self._changes(everyone),
            *(one.text(self.tolerance, everyone=everyone) for one in self.verdicts),
            *moved_lines(self.moved, len(self.groups)),
        ]
        lines += [f"{word}: {in_short(map(named, arms), everyone=everyone)}" for word, arms in self._others() if arms]
        lines += [*self._doubts(), f"old: {self.old_status}", f"new: {self.new_status}"]
        return "\n".join(map(shown, lines))

    def _changes(self, everyone: bool) -> list[str]:
        """A line for each change, the certified ones first where some are left out."""
        if everyone or len(self.changes) <= _MOST_CHANGES:
            return [f"  {change}" for change in self.changes]
        first = sorted(self.changes, key=lambda change: not change.certified)[:_MOST_CHANGES]
        return [*(f"  {change}" for change in first), f"  and {len(self.changes) - _MOST_CHANGES:,} more"]

    def _doubts(self) -> list[str]:
        lines = []
        if any(one.n_certified < one.n_pairs for one in self.verdicts):
            lines.append("verdicts: a difference below the tolerance may be shown at one time and not at the other")
        if self._certified:
            given = f", if {' and '.join(self.conditions)}" if self.conditions else ""
            doubt = f"wrong with probability at most {percent(self.delta)}"
            lines.append(f"certified changes: {doubt}, for both answers together{given}")
        if any(one.proven for one in self.moved):
            level = f"at level {percent(self.moved_delta)} for all arms and columns together"
            lines.append(f"moved values: a test {level}, if samples are independent; factors are estimates")
        return lines

    def _others(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return (("added", self.added), ("removed", self.removed), ("not measured", self.not_measured))


def compare(old: Result, new: Result) -> Comparison:
    """Match the groups of two results by best overlap. Find the arms that changed, and groups whose values moved.

    Answers about different columns are refused.

    Examples
    --------
    >>> import kabc
    >>> arms = {"a": [0.1, 0.2] * 60, "b": [0.8, 0.9] * 60, "c": [0.2, 0.1] * 60}
    >>> monday = kabc.cluster(arms, n_clusters=2, seed=0)
    >>> tuesday = kabc.cluster(arms, n_clusters=2, seed=1)
    >>> kabc.compare(monday, tuesday).same
    True
    """
    expect_same_columns(old, new)
    before, now = _Side.of(old), _Side.of(new)
    both = [name for name in now.place if name in before.place]
    common = [name for name in both if before.label(name) >= 0 and now.label(name) >= 0]
    if not common:
        raise SettingsError(
            f"the results have no measured arm in common: {some(list(before.place))} before, "
            f"{some(list(now.place))} now; compare results of the same arms"
        )
    pairs = _matched(before, now, common)
    changed = [name for name in common if (before.label(name), now.label(name)) not in pairs]
    unlike = mismatches(old, new)
    both_within = old.tolerance is not None and new.tolerance is not None and not unlike
    stayed = [tuple(x for x in common if (before.label(x), now.label(x)) == pair) for pair in sorted(pairs)]
    moved_delta = min(old.delta, new.delta)
    return Comparison(
        old_status=headline(old),
        new_status=headline(new),
        groups=tuple((before.members(i), now.members(j)) for i, j in sorted(pairs)),
        changes=tuple(_change(name, before, now, common, comparable=not unlike) for name in changed),
        added=tuple(name for name in now.place if name not in before.place),
        removed=tuple(name for name in before.place if name not in now.place),
        not_measured=tuple(name for name in both if name not in common),
        n_common=len(common),
        adjusted_rand=Partition.of(map(before.label, common)).adjusted_rand(Partition.of(map(now.label, common))),
        delta=min(1.0, old.delta + new.delta),
        mismatches=unlike,
        moved=moved_groups(old, new, stayed, len(common), moved_delta),
        moved_delta=moved_delta,
        conditions=tuple(
            dict.fromkeys(filter(None, (old.conditional_on, new.conditional_on, _kernels(old) if both_within else "")))
        ),
        tolerance=old.tolerance.tolerance if old.tolerance is not None and both_within else "",
        verdicts=changed_verdicts(old, new, common, (before.place, now.place)) if both_within else (),
    )


@dataclass(frozen=True)
class _Side:
    """One of the two results, by names."""

    result: Result
    place: dict[str, int]

    @classmethod
    def of(cls, result: Result) -> _Side:
        return cls(result, {name: i for i, name in enumerate(result.text_names)})

    def label(self, name: str) -> int:
        return self.result.labels[self.place[name]]

    def members(self, label: int) -> tuple[str, ...]:
        return tuple(name for name in self.place if self.label(name) == label)

    def partners(self, name: str, among: list[str]) -> list[str]:
        return [other for other in among if other != name and self.label(other) == self.label(name)]

    def parts(self, name: str, others: list[str]) -> bool:
        """Whether it proves that the arm is not like (one of) the others."""
        if not proves(self.result):
            return False
        if self.result.certified:
            return any(self.label(other) != self.label(name) for other in others)
        told = self.result.evidence.told_apart_with(self.place[name])
        return any(told[self.place[other]] for other in others)


def _kernels(result: Result) -> str:
    """What certified changes within a tolerance rest on; quantiles are compared without a kernel."""
    return "" if result.tolerance is not None and result.tolerance.quantiles else KERNELS


def _matched(before: _Side, now: _Side, common: list[str]) -> set[tuple[int, int]]:
    from scipy.optimize import linear_sum_assignment

    overlap = np.zeros((max(before.result.labels) + 1, max(now.result.labels) + 1), dtype=np.int64)
    np.add.at(overlap, ([before.label(name) for name in common], [now.label(name) for name in common]), 1)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    return {(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if overlap[i, j]}


def _change(name: str, before: _Side, now: _Side, common: list[str], *, comparable: bool) -> Change:
    was, is_now = before.partners(name, common), now.partners(name, common)
    if before.result.tolerance is not None:  # then groups are no proof that arms are equal; margins are compared
        others = [(before.place[other], now.place[other]) for other in dict.fromkeys([*was, *is_now])]
        proven = contradict(before.result, now.result, (before.place[name], now.place[name]), others)
    else:
        proven = (before.result.certified and now.parts(name, was)) or (
            now.result.certified and before.parts(name, is_now)
        )
    return Change(name, tuple(was), tuple(is_now), comparable and proven)


def _with(names: tuple[str, ...]) -> str:
    return f"with {some(list(names))}" if names else "alone"
