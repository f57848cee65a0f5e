"""What comes out: frozen values that know what is certified and what is a guess."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.arms.tallies import Failures
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.verdicts import QuantileVerdicts, Verdicts
from kabc.results import gate, words
from kabc.results.effects.compute import effects_of
from kabc.results.effects.values import Effects
from kabc.results.origin import Origin
from kabc.strategies.answers import Guarantee, Round, Status


@dataclass(frozen=True, eq=False)
class Trace:
    """How the evidence grew, for pictures: rounds (thinned out when there are many), to four decimals.

    Examples
    --------
    >>> import kabc
    >>> arms = {"a": [0.1, 0.2] * 60, "b": [0.8, 0.9] * 60, "c": [0.2, 0.1] * 60}
    >>> trace = kabc.cluster(arms, n_clusters=2, seed=0).trace
    >>> trace.strength.shape == (len(trace.n_samples), 3, 3)
    True
    """

    n_samples: NDArray[np.int64]  # (T,), all samples told so far
    strength: NDArray[np.float64]  # (T, N, N), as `Evidence.strength`

    def __eq__(self, other: object) -> bool:
        """Equal numbers, NaN included."""
        return _same_fields(self, other) if isinstance(other, Trace) else NotImplemented

    def __hash__(self) -> int:
        raise TypeError("a Trace holds arrays, so it has no hash; use another key, such as id(trace)")


@dataclass(frozen=True, slots=True)
class Assumption:
    """An assumption that the samples speak against: of which arm (None: of all together), what, and how strongly.

    `evidence` is a betting ratio: 400 means that the samples are 400 times as likely as if the assumption held. It is
    infinite for a heuristic without a ratio: values that repeat bit for bit.

    Examples
    --------
    >>> from kabc.results.values import Assumption
    >>> print(Assumption("host 7", "later samples differ from earlier ones", 1234.5))
    host 7: later samples differ from earlier ones (evidence 1,200 : 1)
    """

    arm: Hashable | None
    what: str
    evidence: float

    def __str__(self) -> str:
        return words.assumption(self)


@dataclass(frozen=True, eq=False)
class Result:
    """The answer: which arms are the same, what it cost and why it may be trusted.

    `labels` are numbered from 0, by first appearance in arm order. Texts and JSON call label 0 group 1. Labels are
    certified only when `status` is "decided", or a check has a verdict; otherwise they are a best guess, and what is
    certified is in `evidence` and `n_groups_at_least`. If `assumptions` is not empty nothing is certified:
    `n_groups_at_least` is 1, and pairs told apart in `evidence` would be certified only under `conditional_on`, which
    the samples refute. Two results are equal if all their values but `origin` are, also after `save` and `load_result`.

    Attributes
    ----------
    samples_per_arm : dict
        Every sample drawn, by arm. Pilots, discarded and unfinished rounds are included.
    n_unused : int
        Samples of a round that was not finished: drawn and counted, but not tested.
    notes : tuple of str
        What was decided about the values, and heuristic warnings.
    conditional_on : str
        What was taken for granted, such as "there are exactly 4 groups"; empty if nothing was. What `assumptions`
        refute comes first.
    set_aside : dict
        Arms that were not measured to the end, with the reason. Their label is -1.
    assumptions : tuple of Assumption
        Assumptions that the samples refute. The status is then "doubtful", and the groups are not certified.
    k_doubt : float or None
        Evidence, as a betting ratio, that one group is two and K too small: a heuristic. None where it was not looked
        for.
    tolerance : Verdicts or None
        What is proven of each pair within the tolerance, if one was given: verdicts and margins.
    block : int
        Consecutive samples of an arm that form one block, the unit of the tests; 1: samples are.
    price : float
        Of one sample.
    n_recorded : int
        Samples of an earlier study that were read again: they cost nothing.
    n_lost : int
        Draws that were paid for without a sample to show: retries, refused calls, warm-ups, lost workers.
    failures : dict
        Of arms that are called, such as HTTP endpoints and commands: the `kabc.arms.tallies.Failures` of each arm that
        had any, with how many tries failed, how, and what the last one said.
    failure : str
        What ended the run, with status "failed".
    seconds : float
        How long the run took.
    needs : dict or None
        About how many more samples of which arms it takes to decide: an estimate, no promise. None when nothing is
        open, and when it cannot be told.
    samples : dict
        The first samples of each arm, for pictures: at most 500, fewer when arms or columns are many.
    columns : tuple of str
        Names of the columns of a sample, where known.
    trace : Trace or None
        How the evidence grew; None with more than 40 arms.
    reference : tuple
        Of `kabc.check`: names of the arms that the first arm here stands for. The second one was checked. Else empty.
    origin : Origin or None
        When the answer was found, from what, and by which command line; None in files of older versions.

    Examples
    --------
    >>> import kabc
    >>> arms = {"a": [0.1] * 60, "b": [0.9] * 60, "c": [0.1] * 60}
    >>> result = kabc.cluster(arms, n_clusters=2, seed=0)
    >>> result.groups, result.certified, result.n_samples
    ((('a', 'c'), ('b',)), True, 24)
    """

    names: tuple[Hashable, ...]
    labels: tuple[int, ...]
    status: Status
    evidence: Evidence = field(repr=False)
    samples_per_arm: dict[Hashable, int] = field(repr=False)
    rounds: tuple[Round, ...] = field(repr=False)
    guarantee: Guarantee = field(repr=False)
    delta: float
    n_clusters: int | None
    n_groups_at_least: int
    kernel: str
    seed: int
    n_pilot: int = 0
    n_unused: int = 0
    notes: tuple[str, ...] = ()
    set_aside: dict[Hashable, str] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    k_doubt: float | None = None
    tolerance: Verdicts | None = field(default=None, repr=False)
    block: int = 1
    price: float = 0.0
    n_recorded: int = 0
    n_lost: int = 0
    failures: dict[Hashable, Failures] = field(default_factory=dict, repr=False)
    failure: str = ""
    seconds: float = field(default=0.0, compare=False)
    columns: tuple[str, ...] = field(default=(), repr=False)
    levels: dict[str, dict[float, str]] = field(default_factory=dict, repr=False)  # categories behind the numbers
    samples: dict[Hashable, NDArray[Any]] = field(default_factory=dict, repr=False)  # each (m, d)
    trace: Trace | None = field(default=None, repr=False)
    needs: dict[Hashable, int] | None = None
    reference: tuple[Hashable, ...] = ()
    origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def certified(self) -> bool:
        """Whether the labels are certified, not a guess; of a check, whether its verdict is."""
        return self.status == "decided" or self.verdict in ("same", "different")

    @property
    def conditional_on(self) -> str:
        """What was taken for granted, such as "there are exactly 4 groups"; empty if nothing was."""
        return words.condition(self)

    @property
    def verdict(self) -> str | None:
        """Of `kabc.check`: "same", "different" or "open" (not known, or an assumption does not hold). Else None."""
        return gate.verdict_of(self)

    @property
    def verdicts(self) -> NDArray[np.str_] | None:  # (N, N)
        """What is proven of each pair within the tolerance: "different", "same" or "open"; None without a tolerance."""
        return None if self.tolerance is None else self.tolerance.verdicts

    @property
    def same_within(self) -> NDArray[np.float64] | None:  # (N, N)
        """How far apart each pair is at most, in the unit of the tolerance; infinite where nothing is proven yet."""
        return None if self.tolerance is None else self.tolerance.same_within

    @property
    def apart_at_least(self) -> NDArray[np.float64] | None:  # (N, N)
        """How far apart each pair is at least, in the unit of the tolerance; 0 where nothing is proven yet."""
        return None if self.tolerance is None else self.tolerance.apart_at_least

    @property
    def between(self) -> tuple[Hashable, ...]:
        """Arms of chains: within the tolerance of arms that differ from each other, as far as was seen."""
        return () if self.tolerance is None else tuple(self.names[arm] for arm in self.tolerance.between)

    @property
    def groups(self) -> tuple[tuple[Hashable, ...], ...]:
        """Names of the arms of each group, in the order of the labels."""
        groups: list[list[Hashable]] = [[] for _ in range(max(self.labels) + 1)]
        for name, label in zip(self.names, self.labels, strict=True):
            if label >= 0:  # -1: set aside
                groups[label].append(name)
        return tuple(map(tuple, groups))

    @property
    def n_samples(self) -> int:
        """Every sample drawn: pilot, discarded and unfinished rounds included."""
        return sum(self.samples_per_arm.values())

    @property
    def spent(self) -> float:
        """Price of all samples that were drawn for it, and of draws that gave none."""
        return self.price * (self.n_samples - self.n_recorded + self.n_lost)

    @cached_property
    def effects(self) -> Effects:
        """How the groups differ, in the units of the data: estimates from `samples`, no part of the guarantee."""
        return effects_of(self)

    @property
    def text_names(self) -> tuple[str, ...]:
        """The names as texts, as JSON has them; where two would read the same, all with their numbers."""
        return words.told_apart_by_number(map(str, self.names))

    def to_dict(self, *, full: bool = False) -> dict[str, Any]:
        """The answer as strict JSON values, in the form of docs/schema/result-2.json.

        Parameters
        ----------
        full : with the pairs told apart, rounds, evidence, samples and trace, as `save` writes it. False: without them,
            as `--json` prints it, so that its size grows with the arms and not with their pairs.
        """
        from kabc.results.documents import document_of

        return document_of(self, full=full)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one JSON file, whole or not at all; `kabc.load_result` reads it."""
        from kabc.results.files import save_result

        save_result(self, path)

    def to_frame(self, backend: str | None = None) -> Any:
        """A data frame with one row for each arm.

        Its columns: `arm`, with the type that its name has; `group`, numbered from 1 as in texts, missing if the arm
        was set aside; `certified`; `samples`; `set_aside`, the reason. With a tolerance, in its unit: `same_within`,
        how far the arm is at most from any other arm of its group; `apart_at_least`, how far it is at least from any
        arm of another group (both missing where nothing is proven); `between`. Then estimates from the samples kept.
        For a column of numbers these are `..._median`, `..._p5` and `..._p95`, for categories `..._top`, the commonest
        one, and `..._top_share`. `oddness` is how much an arm stands out (`kabc.results.effects.values.ArmEffect`).

        Parameters
        ----------
        backend : {"pandas", "polars"}, optional
            The library of the frame. Default: pandas if it is installed, else polars.

        Examples
        --------
        >>> import kabc
        >>> result = kabc.cluster({"a": [0.1] * 60, "b": [0.9] * 60}, n_clusters=2, seed=0)
        >>> result.to_frame("polars")["arm", "group", "certified"].rows()
        [('a', 1, True), ('b', 2, True)]
        """
        from kabc.results.frames import frame_of

        return frame_of(self, backend)

    def plot(self, kind: str = "values", backend: str = "matplotlib") -> Any:
        """A picture of the report as a figure. It needs kabc[plot].

        Parameters
        ----------
        kind : {"values", "odd", "pairs", "verdicts", "graph", "map", "trace", "counts"}, default "values"
            What to draw: the values of each group; arms that stand out, against all others; the evidence of every pair;
            what is proven of every pair within the tolerance; which pairs are not told apart; arms with similar samples
            side by side; the evidence over time; the samples of each arm. Of many arms, pictures of pairs show groups.
        backend : {"matplotlib", "plotly"}, default "matplotlib"
            The library that draws.

        Examples
        --------
        >>> import kabc
        >>> result = kabc.cluster({"a": [0.1] * 60, "b": [0.9] * 60}, n_clusters=2, seed=0)
        >>> result.plot("pairs").savefig("pairs.png")  # doctest: +SKIP
        """
        from kabc.report.plots import plot

        return plot(self, kind, backend)

    def __str__(self) -> str:
        return words.text(self)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from kabc.results.notebook import html_of

        return html_of(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows as text."""
        printer.text(str(self))

    def certificate(self) -> str:
        """Why the answer may be trusted: groups, claim, assumptions, rule with its constants, and what was seen."""
        return words.certificate(self)

    def __eq__(self, other: object) -> bool:
        """Equal values in every field but `origin`, NaN included; how long it took does not matter."""
        return _same_fields(self, other) if isinstance(other, Result) else NotImplemented

    def __hash__(self) -> int:
        raise TypeError("a Result holds arrays and dictionaries, so it has no hash; use another key, such as its seed")


# ---------------------------------------------------------------- equality


def _same_fields(mine: Any, other: Any) -> bool:
    compared = (entry.name for entry in fields(mine) if entry.compare)
    return all(_same(getattr(mine, name), getattr(other, name)) for name in compared)


def _same(mine: Any, other: Any) -> bool:
    """Equal values; arrays by their numbers, and NaN equals NaN."""
    if isinstance(mine, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(mine, other, equal_nan=mine.dtype.kind == "f" == other.dtype.kind)
    if isinstance(mine, dict) and isinstance(other, dict):
        return mine.keys() == other.keys() and all(_same(value, other[key]) for key, value in mine.items())
    if isinstance(mine, tuple) and isinstance(other, tuple):
        return len(mine) == len(other) and all(map(_same, mine, other))
    if isinstance(mine, Round | Verdicts | QuantileVerdicts) and isinstance(other, type(mine)):
        return _same_fields(mine, other)
    both_nan = isinstance(mine, float) and isinstance(other, float) and math.isnan(mine) and math.isnan(other)
    return both_nan or bool(mine == other)
