"""Odd ones out in words, and as a document for JSON."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from kabc.core.evidence.ebh import log_limit
from kabc.core.words import counted, in_short, named, percent
from kabc.results.effects.values import ColumnEffect
from kabc.results.effects.words import contrast_text, described
from kabc.results.outliers import MOST_DESCRIBED, OutliersResult
from kabc.results.words import ANEW, REPEATS

_MOST_COLUMNS = 2  # of an odd arm
_MOST_DOUBTED = 3
_MANY = 0.1  # of the rest
_NEXT = 3  # arms that are named although they are not odd
_LARGEST = 300.0  # powers of ten that are written out


def text(result: OutliersResult) -> str:
    """The answer: what is promised, the odd arms, what to know."""
    return "\n".join([first_line(result), *_doubts(result), *_odd_lines(result), *_next_lines(result), *_last(result)])


def first_line(result: OutliersResult) -> str:
    """What was found, and what is promised."""
    drawn = counted(result.n_samples, "sample")
    n_odd, n = int(result.odd.sum()), counted(result.n_tested, "arm")
    promise = f"among the arms listed as odd, at most {percent(result.fdr)} are expected to be false"
    match result.status:
        case "doubtful":
            return f"Doubtful: an assumption does not hold, so nothing is promised ({drawn})"
        case "odd":
            verb = "is" if n_odd == 1 else "are"
            return f"{n_odd:,} of {n} {verb} odd, {_farther(result)}; {promise} ({drawn})"
        case "none":
            return f"none of {n} is shown to be odd, {_farther(result)}; {promise} ({drawn})"
    return f"not known: none of {n} is shown to be odd, but there are too few samples to say more ({drawn})"


def _farther(result: OutliersResult) -> str:
    if result.tolerance is None:
        return "different from the rest"
    return f"farther than {named(result.tolerance)} from the rest"


def _doubts(result: OutliersResult) -> list[str]:
    lines = [f"  {one}" for one in result.assumptions[:_MOST_DOUBTED]]
    more = len(result.assumptions) - _MOST_DOUBTED
    lines += [f"  and {counted(more, 'more arm')}"] if more > 0 else []
    copies = [one.what.startswith(REPEATS) for one in result.assumptions]
    advice = [f"note: {ANEW}"] if any(copies) else []
    if not all(copies):
        order = "if rows depend on the ones before, pass block='auto'; if their order has no meaning, watch=False"
        advice.append(f"note: {order}")
    return [*lines, *advice]


def _odd_lines(result: OutliersResult) -> list[str]:
    effects = result.effects()
    lines = []
    for arm in [one for one in result.ranking if result.odd[one]][:MOST_DESCRIBED]:
        name = result.names[arm]
        lines.append(f"  {named(name)}: {_margin(result, arm)}evidence {_ratio(float(result.log_e_values[arm]))}")
        lines += [f"    {_effect(column)}" for column in effects[name][:_MOST_COLUMNS]]
    others = result.odd_names[MOST_DESCRIBED:]
    if others:
        lines.append(f"  and {len(others):,} more: {in_short(map(named, others))}")
    return lines


def _margin(result: OutliersResult, arm: int) -> str:
    if result.units is None or result.status == "doubtful":
        return ""
    said = result.units.at_least(float(result.at_least[arm]))
    return f"at least {said}, " if said[:1].isdigit() else f"{said}, "


def _effect(column: ColumnEffect) -> str:
    return "; ".join([described(column), *(contrast_text(one, " the rest") for one in column.contrasts[:1])])


def _next_lines(result: OutliersResult) -> list[str]:
    """Arms that come next, and what it would have taken."""
    following = [arm for arm in result.ranking if not result.odd[arm]][:_NEXT]
    if not following or result.status == "doubtful":
        return []
    listed = ", ".join(f"{named(result.names[arm])} ({_ratio(float(result.log_e_values[arm]))})" for arm in following)
    limit = _ratio(log_limit(result.n_tested, int(result.odd.sum()) + 1, result.fdr))
    return [f"next, not shown to be odd: {listed}; one more odd arm takes {limit}"]


def _last(result: OutliersResult) -> list[str]:
    lines = []
    if result.odd.any():
        lines.append("effects: estimates with 95 % bootstrap intervals, no part of the promise")
    if result.n_enough is not None and result.status in ("none", "open"):
        found = "would most likely have been" if result.status == "none" else "is"
        lines.append(
            f"an arm that is twice the tolerance away {found} found with about "
            f"{counted(int(float(f'{result.n_enough:.2g}')), 'sample')} of each arm (an estimate)"
        )
    lines.append(_rest(result))
    counts = [count for count in result.samples_per_arm.values() if count]
    if counts:
        span = f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
        lines.append(f"samples per arm: {span}")
    if result.not_measured:
        reason = next(iter(result.not_measured.values()))
        arms = in_short(map(named, result.not_measured))
        lines.append(f"not measured: {counted(len(result.not_measured), 'arm')} ({reason}): {arms}")
    return [*lines, *_many(result), *(f"note: {note}" for note in result.notes)]


def _left_out(result: OutliersResult) -> list[Hashable]:
    """Measured arms that are not part of the rest."""
    marked = zip(result.names, result.labels, result.rest.tolist(), strict=True)
    return [name for name, label, inside in marked if label >= 0 and not inside]


def _rest(result: OutliersResult) -> str:
    """What each arm was compared with."""
    left_out = list(map(named, _left_out(result)))
    if not left_out:
        return "the rest: the average of all other arms"
    why = "with few samples, or unusual in the pilot"
    return f"the rest: the average of all others but {len(left_out):,} ({why}): {in_short(left_out)}"


def _many(result: OutliersResult) -> list[str]:
    """Odd arms that are part of the rest move it."""
    inside, all_of_it = int(np.count_nonzero(result.odd & result.rest)), int(np.count_nonzero(result.rest))
    if inside <= _MANY * all_of_it:
        return []
    moved = (
        f"note: {counted(inside, 'odd arm')} of the {all_of_it:,} that are the rest move it, so that ordinary arms may"
    )
    return [f"{moved} look odd too; to find groups of arms use kabc.cluster with a tolerance"]


def _ratio(log_evidence: float) -> str:
    """Evidence as people say it: "400 : 1"."""
    power = log_evidence / math.log(10)
    if power > _LARGEST:
        return f"more than 1e+{_LARGEST:.0f} : 1"
    value = 10.0**power if power > -_LARGEST else 0.0
    return f"{float(f'{value:.2g}'):,.6g} : 1" if 0.01 <= value < 1e6 else f"{value:.2g} : 1"


def facts(result: OutliersResult) -> dict[str, Any]:
    """For JSON. Numbers that JSON does not have are null."""
    return {
        "status": result.status,
        "promise": f"among the arms listed as odd, at most {percent(result.fdr)} are expected to be false",
        "fdr": result.fdr,
        "tolerance": result.tolerance,
        "tolerance_in_other_units": None if result.units is None else result.units.to_dict(),
        "unit": None if result.units is None else result.units.unit,
        "odd": list(map(_plain, result.odd_names)),
        "not_in_rest": list(map(_plain, _left_out(result))),
        "arms": [_arm(result, arm) for arm in result.ranking],
        "not_measured": {str(name): why for name, why in result.not_measured.items()},
        "n_samples": result.n_samples,
        "n_enough": result.n_enough,
        "block": result.block,
        "seed": result.seed,
        "seconds": round(result.seconds, 3),
        "assumptions": [
            {"arm": None if one.arm is None else _plain(one.arm), "what": one.what, "evidence": _finite(one.evidence)}
            for one in result.assumptions
        ],
        "notes": list(result.notes),
    }


def _arm(result: OutliersResult, arm: int) -> dict[str, Any]:
    odd, margin = bool(result.odd[arm]), float(result.at_least[arm])
    in_units = None if result.units is None or not odd else _finite(float(result.units.in_units(margin)))
    return {
        "name": _plain(result.names[arm]),
        "odd": odd,
        "log_e_value": float(result.log_e_values[arm]),
        "at_least": in_units,
        "at_least_distance": margin if odd else None,
        "n_samples": result.samples_per_arm[result.names[arm]],
    }


def _plain(name: object) -> object:
    return name if isinstance(name, str | int | float | bool) else str(name)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
