"""From a result to its JSON form and back. What is read is checked: files come from anywhere."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kabc.core.evidence.pairs import Evidence
from kabc.results.arrays import number, packed, unnumbered, unpacked
from kabc.results.checks import expect_consistent, expect_pairs, expect_small
from kabc.results.effects.documents import effects_document
from kabc.results.failures import failures_document, failures_of
from kabc.results.names import distinct, key_of, name_of, packed_name
from kabc.results.origin import Origin
from kabc.results.schema import FORMAT, VERSION, ArrayPart, Document, EvidencePart, TracePart
from kabc.results.values import Assumption, Result, Trace
from kabc.results.verdicts import verdicts_document, verdicts_of
from kabc.results.words import told_apart_by_number
from kabc.strategies.answers import Guarantee, Round

Value = TypeVar("Value")

_BLOCKS = ("counts", "compared", "told", "values", "limits", "variances", "measured")


# ---------------------------------------------------------------- writing


def document_of(result: Result, *, full: bool) -> dict[str, Any]:
    """The JSON form, as `Document` describes it; `full` with pairs, rounds, evidence, samples and trace."""
    return _facts(result, full=full) | (_bulk(result) if full else {})


def _facts(result: Result, *, full: bool) -> dict[str, Any]:
    keys = result.text_names
    key = dict(zip(result.names, keys, strict=True))
    needs, why = result.needs, result.guarantee
    return {
        "format": FORMAT,
        "version": VERSION,
        "status": result.status,
        "certified": result.certified,
        "conditional_on": result.conditional_on,
        "names": list(map(packed_name, result.names)),
        "groups": [{"number": i, "arms": [key[name] for name in group]} for i, group in enumerate(result.groups, 1)],
        "labels": {
            text: int(label) + 1 if label >= 0 else None for text, label in zip(keys, result.labels, strict=True)
        },
        "n_groups_at_least": int(result.n_groups_at_least),
        "n_samples": int(result.n_samples),
        "n_pilot": int(result.n_pilot),
        "n_unused": int(result.n_unused),
        "samples_per_arm": {key[name]: int(result.samples_per_arm[name]) for name in result.names},
        "n_told_apart": int(result.evidence.n_told_apart),
        "needs": None if needs is None else {key[name]: count for name, count in needs.items()},
        "delta": float(result.delta),
        "n_clusters": None if result.n_clusters is None else int(result.n_clusters),
        "strategy": why.strategy,
        "guarantee": {
            "strategy": why.strategy,
            "claim": why.claim,
            "assumptions": list(why.assumptions),
            "rule": list(why.rule),
            "conditional_on": why.conditional_on,
        },
        "kernel": result.kernel,
        "seed": int(result.seed),
        "notes": list(result.notes),
        "set_aside": {key[name]: reason for name, reason in result.set_aside.items()},
        "assumptions": [
            {"arm": None if one.arm is None else key[one.arm], "what": one.what, "evidence": number(one.evidence)}
            for one in result.assumptions
        ],
        "k_doubt": None if result.k_doubt is None else float(result.k_doubt),
        "tolerance": None if result.tolerance is None else verdicts_document(result.tolerance, keys, full=full),
        "reference": list(map(packed_name, result.reference)),
        "verdict": result.verdict,
        "failures": {key[name]: failures_document(one) for name, one in result.failures.items()},
        "failure": result.failure,
        "columns": list(map(str, result.columns)),
        "levels": {
            column: [[float(code), text] for code, text in known.items()] for column, known in result.levels.items()
        },
        "block": int(result.block),
        "price": float(result.price),
        "n_recorded": int(result.n_recorded),
        "n_lost": int(result.n_lost),
        "spent": float(result.spent),
        "seconds": float(result.seconds),
        "origin": None if result.origin is None else asdict(result.origin),
        "effects": effects_document(result.effects, key),
    }


def _bulk(result: Result) -> dict[str, Any]:
    evidence, trace, keys = result.evidence, result.trace, result.text_names
    blocks = {name: packed(block) for name in _BLOCKS if (block := getattr(evidence, name)) is not None}
    return {
        "told_apart": _told_apart(evidence, keys),
        "rounds": [
            {"number": r.number, "delta": number(r.delta), "n": r.n, "n_samples": r.n_samples, "n_groups": r.n_groups}
            for r in result.rounds
        ],
        "evidence": {"by_bets": evidence.by_bets, **blocks},
        "samples": [packed(result.samples[name]) if name in result.samples else None for name in result.names],
        "trace": trace and {"n_samples": packed(trace.n_samples), "strength": packed(trace.strength)},
    }


def _told_apart(evidence: Evidence, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Pairs in the order of the arms; only those told apart are made, however many arms there are."""
    rows, columns = np.nonzero(evidence.told)
    others = evidence.compared[columns]
    codes = np.minimum(rows, others) * evidence.n_arms + np.maximum(rows, others)
    _, first = np.unique(codes, return_index=True)  # two compared arms have two entries
    i, j = np.divmod(codes[first], evidence.n_arms)
    entries = (rows[first], columns[first])
    strength = evidence.block_strength[entries]
    return [
        {"arms": [keys[a], keys[b]], "round": told, "strength": by if math.isfinite(by) else None}
        for a, b, told, by in zip(
            i.tolist(), j.tolist(), evidence.told[entries].tolist(), strength.tolist(), strict=True
        )
    ]


# ---------------------------------------------------------------- reading


def result_of(document: Document) -> Result:
    """The result behind the JSON form; ValueError says what does not fit together."""
    if document.evidence is None or document.rounds is None:
        raise ValueError("the short form has no evidence and no rounds")
    keys = told_apart_by_number(map(key_of, document.names))
    names = distinct([name_of(name, key) for name, key in zip(document.names, keys, strict=True)])
    labels = _labels(document, keys)
    drawn = _of_each_arm("samples_per_arm", document.samples_per_arm, keys)
    expect_consistent(document, labels)
    why = document.guarantee
    result = Result(
        names=names,
        labels=labels,
        status=document.status,
        evidence=_evidence(document.evidence, len(names)),
        samples_per_arm=dict(zip(names, drawn, strict=True)),
        rounds=tuple(Round(r.number, unnumbered(r.delta), r.n, r.n_samples, r.n_groups) for r in document.rounds),
        guarantee=Guarantee(why.strategy, why.claim, tuple(why.assumptions), tuple(why.rule), why.conditional_on),
        delta=document.delta,
        n_clusters=document.n_clusters,
        n_groups_at_least=document.n_groups_at_least,
        kernel=document.kernel,
        seed=document.seed,
        n_pilot=document.n_pilot,
        n_unused=document.n_unused,
        notes=tuple(document.notes),
        set_aside=_by_name("set_aside", document.set_aside, names, keys),
        assumptions=_assumptions(document, names, keys),
        k_doubt=document.k_doubt,
        tolerance=verdicts_of(document.tolerance, keys),
        failures=_by_name("failures", failures_of(document), names, keys),
        failure=document.failure,
        n_recorded=document.n_recorded,
        n_lost=document.n_lost,
        block=document.block,
        price=document.price,
        seconds=document.seconds,
        columns=tuple(document.columns),
        levels={column: dict(known) for column, known in document.levels.items()},
        samples=_samples(document.samples, names),
        trace=None if document.trace is None else _trace(document.trace, len(names)),
        needs=None if document.needs is None else _by_name("needs", document.needs, names, keys),
        reference=tuple(name_of(name, key_of(name)) for name in document.reference),
        origin=None if document.origin is None else Origin(**document.origin.model_dump()),
    )
    if result.verdict != document.verdict:
        raise ValueError(f"verdict: it is {document.verdict!r}, the other fields say {result.verdict!r}")
    expect_small(document)
    return result


def _of_each_arm(what: str, given: Mapping[str, Value], keys: tuple[str, ...]) -> list[Value]:
    if given.keys() != set(keys):
        odd = sorted(given.keys() ^ set(keys))[0]
        raise ValueError(f"{what}: there must be one entry for each arm, {odd!r} is an arm without one, or no arm")
    return [given[key] for key in keys]


def _by_name(
    what: str, given: Mapping[str, Value], names: tuple[Hashable, ...], keys: tuple[str, ...]
) -> dict[Hashable, Value]:
    name = dict(zip(keys, names, strict=True))
    for key in given:
        if key not in name:
            raise ValueError(f"{what}: {key!r} is no arm")
    return {name[key]: value for key, value in given.items()}


def _assumptions(document: Document, names: tuple[Hashable, ...], keys: tuple[str, ...]) -> tuple[Assumption, ...]:
    name: dict[str | None, Hashable] = {None: None, **dict(zip(keys, names, strict=True))}
    for part in document.assumptions:
        if part.arm not in name:
            raise ValueError(f"assumptions: {part.arm!r} is no arm")
    return tuple(Assumption(name[part.arm], part.what, unnumbered(part.evidence)) for part in document.assumptions)


def _labels(document: Document, keys: tuple[str, ...]) -> tuple[int, ...]:
    """Labels from 0, of groups that are numbered from 1 without a gap; -1 for arms that were set aside."""
    numbers = _of_each_arm("labels", document.labels, keys)
    order = [group for group in dict.fromkeys(numbers) if group is not None]
    if order != list(range(1, len(order) + 1)):
        raise ValueError("labels: groups must be numbered 1, 2, ... by first appearance in the order of the arms")
    members: dict[int, list[str]] = {group: [] for group in order}
    for key, group in zip(keys, numbers, strict=True):
        if group is not None:
            members[group].append(key)
    if [(group.number, group.arms) for group in document.groups] != list(members.items()):
        raise ValueError("groups: they are not those of labels")
    return tuple(-1 if group is None else group - 1 for group in numbers)


def _evidence(part: EvidencePart, n_arms: int) -> Evidence:
    compared = _array("evidence.compared", part.compared, (None,), "int")
    in_range = len(compared) <= n_arms and ((compared >= 0) & (compared < n_arms)).all()
    if not in_range or len(np.unique(compared)) < len(compared):
        raise ValueError(f"evidence.compared: it must hold different arms, from 0 to {n_arms - 1}")
    block = (n_arms, len(compared))
    return Evidence(
        by_bets=part.by_bets,
        counts=_not_negative("evidence.counts", _array("evidence.counts", part.counts, (n_arms,), "int")),
        compared=compared,
        told=expect_pairs(_not_negative("evidence.told", _array("evidence.told", part.told, block, "int")), compared),
        values=_array("evidence.values", part.values, block, "float"),
        limits=_array("evidence.limits", part.limits, block, "float"),
        variances=_array("evidence.variances", part.variances, (n_arms,), "float"),
        measured=None if part.measured is None else _array("evidence.measured", part.measured, block, "float"),
    )


def _array(what: str, part: ArrayPart, shape: tuple[int | None, ...], kinds: str) -> NDArray[Any]:
    try:
        return unpacked(part, shape, kinds)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def _not_negative(what: str, counts: NDArray[Any]) -> NDArray[Any]:
    if counts.size and counts.min() < 0:
        raise ValueError(f"{what}: {counts.min()} is negative")
    return counts


def _samples(parts: list[ArrayPart | None] | None, names: tuple[Hashable, ...]) -> dict[Hashable, NDArray[Any]]:
    if parts is None:
        return {}
    if len(parts) != len(names):
        raise ValueError(f"samples: there must be an entry for each of {len(names)} arms, not {len(parts)}")
    anything = "bool int uint float text"
    named = zip(names, parts, strict=True)
    return {name: _array("samples", part, (None, None), anything) for name, part in named if part is not None}


def _trace(part: TracePart, n_arms: int) -> Trace:
    n_samples = _array("trace.n_samples", part.n_samples, (None,), "int")
    return Trace(n_samples, _array("trace.strength", part.strength, (len(n_samples), n_arms, n_arms), "float"))
