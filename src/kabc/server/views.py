"""Parts of a result as they are asked for: pairs, arms, two arms side by side, changes. No more than was proven."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import SettingsError
from kabc.core.evidence.verdicts import OPEN
from kabc.core.words import did_you_mean
from kabc.results.arrays import number, packed
from kabc.results.compare import compare
from kabc.results.effects.documents import effects_document
from kabc.results.schema import ArrayPart, ColumnEffectPart
from kabc.results.values import Result
from kabc.server.errors import RefusedError
from kabc.server.models.answers import (
    ArmSamples,
    ArmsView,
    ArmView,
    Changes,
    EarlierRun,
    Pair,
    Pairs,
    PairTrace,
    SamplesView,
)
from kabc.storage.contract import StudyRecord

_MOST_ALL_PAIRS = 1_000  # arms of which all pairs can be asked for


def pairs(result: Result, revision: int, arm: str | None, offset: int, limit: int) -> Pairs:
    """A page of all pairs, or of those of one arm, in the order of the arms."""
    n = len(result.names)
    if arm is None:
        if n > _MOST_ALL_PAIRS:
            raise RefusedError(400, f"there are {n:,} arms: ask for the pairs of one, ?arm=NAME")
        first, second = np.triu_indices(n, 1)
    else:
        one = _number(result, arm)
        second = np.delete(np.arange(n), one)
        first = np.full(len(second), one)
    page = slice(offset, offset + limit)
    found = list(_pairs(result, first[page], second[page]))
    unit = "" if result.tolerance is None else result.tolerance.unit
    return Pairs(
        revision=revision,
        total=len(first),
        void=_void(result),
        conditional_on=result.conditional_on,
        unit=unit,
        pairs=found,
    )


def _void(result: Result) -> bool:
    """Whether nothing that was told apart is proven."""
    return bool(result.assumptions) or result.status == "stopped"


def _pairs(result: Result, first: NDArray[Any], second: NDArray[Any]) -> Iterator[Pair]:  # (m,), (m,)
    evidence, within, names = result.evidence, result.tolerance, result.text_names
    told = _entries(result, evidence.told, first, second, 0)
    strength = _entries(result, evidence.block_strength, first, second, np.nan)
    void = _void(result)
    for i, j, round_, by in zip(first.tolist(), second.tolist(), told.tolist(), strength.tolist(), strict=True):
        told_apart = "different" if round_ and not void else OPEN
        verdict = told_apart if within is None else str(within.verdicts[i, j])
        yield Pair(
            a=names[i],
            b=names[j],
            verdict=verdict,  # type: ignore[arg-type]
            told_in_round=int(round_),
            strength=number(by),
            same_within=None if within is None else _bound(float(within.same_within[i, j])),
            apart_at_least=None if within is None else float(within.apart_at_least[i, j]),
        )


def _bound(value: float) -> float | None:
    return value if value < np.inf else None


def _entries(
    result: Result, block: NDArray[Any], first: NDArray[Any], second: NDArray[Any], empty: float
) -> NDArray[Any]:  # (N, C), (m,), (m,) -> (m,)
    """What a block says of these pairs. It has columns only for some arms: a pair may stand the other way round."""
    column = np.full(len(result.names), -1)
    column[result.evidence.compared] = np.arange(len(result.evidence.compared))
    found = np.full(len(first), empty)
    for rows, columns in ((second, column[first]), (first, column[second])):
        there = columns >= 0
        found[there] = block[rows[there], columns[there]]
    return found


def _number(result: Result, arm: str) -> int:
    names = result.text_names
    if arm not in names:
        raise RefusedError(404, f"there is no arm {arm!r} in this study; {did_you_mean(arm, names)}".rstrip(" ;"))
    return names.index(arm)


# ---------------------------------------------------------------- arms


def arms(result: Result, revision: int, search: str, offset: int, limit: int) -> ArmsView:
    """A page of the arms whose name has this part, the odd ones first; those without samples last."""
    keys = dict(zip(result.names, result.text_names, strict=True))
    effects = {one["arm"]: one for one in effects_document(result.effects, keys)["arms"]}
    wanted = search.casefold()
    ranked = [*effects, *(one for one in result.text_names if one not in effects)]
    chosen = [one for one in ranked if wanted in one.casefold()]
    of_key = {key: name for name, key in keys.items()}
    labels = dict(zip(result.text_names, result.labels, strict=True))
    return ArmsView(
        revision=revision,
        total=len(chosen),
        certified=result.certified,
        arms=[
            ArmView(
                arm=key,
                group=_group(labels[key]),
                n_samples=result.samples_per_arm[of_key[key]],
                spent=result.price * result.samples_per_arm[of_key[key]],
                set_aside=result.set_aside.get(of_key[key], ""),
                n_failures=result.failures[of_key[key]].count if of_key[key] in result.failures else 0,
                oddness=effects[key]["oddness"] if key in effects else None,
                columns=[
                    ColumnEffectPart.model_validate(one) for one in (effects[key]["columns"] if key in effects else ())
                ],
            )
            for key in chosen[offset : offset + limit]
        ],
    )


def _group(label: int) -> int | None:
    return label + 1 if label >= 0 else None


# ---------------------------------------------------------------- two arms


def samples(result: Result, revision: int, a: str, b: str) -> SamplesView:
    """Two arms side by side."""
    first, second = _number(result, a), _number(result, b)
    if first == second:
        raise RefusedError(400, f"a and b are both {a!r}; name two arms")
    (pair,) = _pairs(result, np.array([first]), np.array([second]))
    trace = result.trace
    return SamplesView(
        revision=revision,
        a=_samples_of(result, first),
        b=_samples_of(result, second),
        pair=pair,
        columns=list(result.columns),
        levels={column: list(known.items()) for column, known in result.levels.items()},
        trace=None
        if trace is None
        else PairTrace(
            n_samples=trace.n_samples.tolist(),
            strength=[number(one) for one in trace.strength[:, first, second].tolist()],
        ),
    )


def _samples_of(result: Result, arm: int) -> ArmSamples:
    name = result.names[arm]
    kept = result.samples.get(name)
    return ArmSamples(
        arm=result.text_names[arm],
        group=_group(result.labels[arm]),
        n_samples=result.samples_per_arm[name],
        samples=None if kept is None else ArrayPart.model_validate(packed(kept)),
    )


# ---------------------------------------------------------------- since the run before


def changes(result: Result, revision: int, study: StudyRecord | None, before: Result | None) -> Changes:
    """What `kabc compare` says of the answer of an earlier study and this one."""
    if study is None or before is None:
        return Changes(revision=revision, before=None, same=True, alarm=False, lines=[], refused="")
    earlier = EarlierRun(id=study.id, name=study.name, created=study.created)
    try:
        found = compare(before, result)
    except SettingsError as error:
        return Changes(revision=revision, before=earlier, same=False, alarm=False, lines=[], refused=str(error))
    return Changes(
        revision=revision,
        before=earlier,
        same=found.same,
        alarm=found.alarm,
        lines=found.text().splitlines(),
        refused="",
    )
