"""Results that outlive the run: one JSON file each, and what changed between two of them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.files import write_text
from kabc.core.partitions import Partition
from kabc.results.result import STATUS_WORDS, Result, Trace
from kabc.strategies.answers import Guarantee, Round

FORMAT = "kabc result"
VERSION = 1

_T = TypeVar("_T")
_PLAIN = (
    *("labels", "status", "delta", "n_clusters", "n_groups_at_least", "kernel", "seed", "n_pilot", "n_unused"),
    *("notes", "price", "seconds", "columns"),
)
_OF_PAIRS = ("told_in_round", "counts", "distances", "thresholds", "variances", "log_evidence", "log_threshold")
_MOST_NAMED = 5  # arms of a group in a printed comparison


def save_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the result to one JSON file, whole or not at all. Names are written as texts.

    What is there already is written to: a link's target, a device, a pipe; a file keeps its mode.
    """
    text = json.dumps(_packed(result), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    write_text(path, text)


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that was saved. Names that were not texts are texts now."""
    try:
        packed = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read {str(path)!r}: {error.strerror}; pass the path of a saved result") from error
    except ValueError as error:
        raise SettingsError(f"{str(path)!r} is no JSON file ({error}); pass the path of a saved result") from error
    if not isinstance(packed, dict) or packed.get("format") != FORMAT:
        raise SettingsError(f"{str(path)!r} is no result of kabc; pass a file that Result.save has written")
    if packed.get("version") != VERSION:
        raise SettingsError(
            f"{str(path)!r} has version {packed.get('version')!r} of the format, this kabc reads {VERSION}; update kabc"
        )
    try:
        return _unpacked(packed)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise SettingsError(
            f"{str(path)!r} is damaged ({type(error).__name__}: {error}); save the result again"
        ) from error


def _packed(result: Result) -> dict[str, Any]:
    trace = result.trace
    return {
        "format": FORMAT,
        "version": VERSION,
        "names": result.text_names,
        **{name: getattr(result, name) for name in _PLAIN},
        "levels": {column: list(known.items()) for column, known in result.levels.items()},
        "samples_per_arm": [result.samples_per_arm[name] for name in result.names],
        "rounds": [asdict(one) for one in result.rounds],
        "guarantee": asdict(result.guarantee),
        "evidence": {name: _packed_array(getattr(result.evidence, name)) for name in _OF_PAIRS},
        "samples": [_packed_array(result.samples[name]) if name in result.samples else None for name in result.names],
        "trace": None if trace is None else _packed_arrays(trace),
    }


def _unpacked(packed: dict[str, Any]) -> Result:
    names = tuple(packed["names"])
    guarantee = packed["guarantee"]
    plain = {name: packed[name] for name in _PLAIN}
    plain |= {name: tuple(packed[name]) for name in ("labels", "notes", "columns")}
    if plain["status"] not in STATUS_WORDS:
        raise ValueError(f"no status {plain['status']!r}")
    return Result(
        names=names,
        levels={column: {float(code): str(text) for code, text in known} for column, known in packed["levels"].items()},
        samples_per_arm=dict(zip(names, packed["samples_per_arm"], strict=True)),
        rounds=tuple(Round(**one) for one in packed["rounds"]),
        guarantee=Guarantee(**guarantee | {key: tuple(guarantee[key]) for key in ("assumptions", "rule")}),
        evidence=_unpacked_evidence({name: _unpacked_array(packed["evidence"][name]) for name in _OF_PAIRS}),
        samples={
            name: _unpacked_array(rows) for name, rows in zip(names, packed["samples"], strict=True) if rows is not None
        },
        trace=None if packed["trace"] is None else _unpacked_arrays(Trace, packed["trace"]),
        **plain,
    )


# ---------------------------------------------------------------- arrays in strict JSON


def _unpacked_evidence(arrays: dict[str, NDArray[Any]]) -> Evidence:
    told, counts, distances = arrays["told_in_round"], arrays["counts"], arrays["distances"]
    by_bets = arrays["log_evidence"].shape == told.shape and not np.isnan(arrays["log_threshold"]).all()
    return Evidence(
        by_bets=by_bets,
        counts=counts,
        compared=np.arange(len(counts)),
        told=told,
        values=arrays["log_evidence"] if by_bets else distances,
        limits=arrays["log_threshold"] if by_bets else arrays["thresholds"],
        variances=arrays["variances"],
        measured=distances if by_bets and not np.isnan(distances).all() else None,
    )


def _packed_arrays(holder: Trace) -> dict[str, Any]:
    return {entry.name: _packed_array(getattr(holder, entry.name)) for entry in fields(holder)}


def _unpacked_arrays(kind: Callable[..., _T], packed: dict[str, Any]) -> _T:
    return kind(**{name: _unpacked_array(array) for name, array in packed.items()})


def _packed_array(array: NDArray[Any]) -> dict[str, Any]:
    """Shape and values in rows; one value where all are the same, as what a strategy has not."""
    values = array.ravel()
    packed: dict[str, Any] = {"shape": array.shape, "kind": array.dtype.kind}
    if array.dtype.kind not in "biuf":
        return packed | {"data": [str(value) for value in values.tolist()], "kind": "U"}
    if values.size > 1 and np.array_equal(values[1:], values[:-1], equal_nan=True):
        return packed | {"fill": _number(values[0].item())}
    listed = values.tolist()
    return packed | {"data": listed if np.isfinite(values).all() else [_number(value) for value in listed]}


def _number(value: float) -> float | str | None:
    """NaN is null; infinities are texts."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _unpacked_array(packed: dict[str, Any]) -> NDArray[Any]:
    shape = tuple(packed["shape"])
    if packed["kind"] == "U":
        return np.array(packed["data"], dtype=str).reshape(shape)
    listed = [packed["fill"]] if "fill" in packed else packed["data"]
    dtype = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}[packed["kind"]]
    values: NDArray[Any] = np.array([_value(value) for value in listed], dtype=dtype)
    return np.full(shape, values[0]) if "fill" in packed else values.reshape(shape)


def _value(packed: float | str | None) -> float:
    if packed is None:
        return math.nan
    return float(packed) if isinstance(packed, str) else packed


# ---------------------------------------------------------------- what changed


@dataclass(frozen=True, slots=True)
class Change:
    """An arm that changed its group: whom it was with, whom it is with, and whether that is certified.

    Certified: one answer proves that the arm is the same as others, the other that it is not.
    """

    arm: str
    before: tuple[str, ...]
    now: tuple[str, ...]
    certified: bool

    def __str__(self) -> str:
        kind = "certified" if self.certified else "a guess"
        return f"{self.arm} ({kind}): before {_with(self.before)}, now {_with(self.now)}"


@dataclass(frozen=True)
class Comparison:
    """What changed from one result to another, by the names of the arms. Print it.

    `groups` pairs each old group with the new one that it overlaps most, over all groups together; an arm has changed
    when its two groups are no such pair. `adjusted_rand` is the agreement on the common arms: 1 if equal.
    """

    old_status: str
    new_status: str
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    changes: tuple[Change, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    n_common: int
    adjusted_rand: float
    delta: float

    @property
    def same(self) -> bool:
        """Whether all arms that are in both have the groups that they had."""
        return not self.changes

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"same": self.same, **asdict(self)}

    def __str__(self) -> str:
        changed = "no arm" if self.same else f"{len(self.changes)} of {self.n_common} arms"
        lines = [
            f"{changed} changed group (adjusted Rand {self.adjusted_rand:.3g}; 1: the same groups)",
            *(f"  {change}" for change in self.changes),
        ]
        lines += [f"{word}: {', '.join(arms)}" for word, arms in self._others() if arms]
        if any(change.certified for change in self.changes):
            lines.append(f"certified changes: wrong with probability at most {self.delta:g}, for both answers together")
        return "\n".join([*lines, f"old: {self.old_status}", f"new: {self.new_status}"])

    def _others(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return (("added", self.added), ("removed", self.removed))


def compare(old: Result, new: Result) -> Comparison:
    """Match the groups of two results by best overlap and find the arms that changed."""
    before, now = _Side.of(old), _Side.of(new)
    common = [name for name in now.place if name in before.place]
    if not common:
        raise SettingsError(
            f"the results have no arm in common: {_some(list(before.place))} before, {_some(list(now.place))} now; "
            "compare results of the same arms"
        )
    pairs = _matched(before, now, common)
    changed = [name for name in common if (before.label(name), now.label(name)) not in pairs]
    return Comparison(
        old_status=STATUS_WORDS[old.status],
        new_status=STATUS_WORDS[new.status],
        groups=tuple((before.members(i), now.members(j)) for i, j in sorted(pairs)),
        changes=tuple(_change(name, before, now, common) for name in changed),
        added=tuple(name for name in now.place if name not in before.place),
        removed=tuple(name for name in before.place if name not in now.place),
        n_common=len(common),
        adjusted_rand=Partition.of(map(before.label, common)).adjusted_rand(Partition.of(map(now.label, common))),
        delta=min(1.0, old.delta + new.delta),
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
        if self.result.certified:
            return any(self.label(other) != self.label(name) for other in others)
        told = self.result.evidence.told_in_round[self.place[name]]
        return any(told[self.place[other]] > 0 for other in others)


def _matched(before: _Side, now: _Side, common: list[str]) -> set[tuple[int, int]]:
    from scipy.optimize import linear_sum_assignment

    overlap = np.zeros((max(before.result.labels) + 1, max(now.result.labels) + 1), dtype=np.int64)
    np.add.at(overlap, ([before.label(name) for name in common], [now.label(name) for name in common]), 1)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    return {(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if overlap[i, j]}


def _change(name: str, before: _Side, now: _Side, common: list[str]) -> Change:
    was, is_now = before.partners(name, common), now.partners(name, common)
    certified = (before.result.certified and now.parts(name, was)) or (
        now.result.certified and before.parts(name, is_now)
    )
    return Change(name, tuple(was), tuple(is_now), certified)


def _with(names: tuple[str, ...]) -> str:
    return f"with {_some(list(names))}" if names else "alone"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
