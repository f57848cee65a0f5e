"""What people read of a result: its text, its certificate, and the words for each status."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from kabc.core.words import counted, in_short, named, percent, plural, shown
from kabc.results import gate, within
from kabc.results.effects.words import closing_lines, group_effect_lines
from kabc.results.failures import failure_lines
from kabc.strategies.answers import Status
from kabc.strategies.wording import exactly

if TYPE_CHECKING:
    from kabc.results.values import Assumption, Result

STATUS_WORDS: dict[Status, str] = {
    "decided": "decided: the groups are certified",
    "doubtful": "doubtful: an assumption does not hold, the groups are a guess",
    "stopped": "stopped by a heuristic: nothing is certified, the groups are a guess",
    "stalled": "undecided: nothing new was learned lately, the groups are a guess",
    "budget": "undecided: the budget is spent, the groups are a guess",
    "exhausted": "undecided: all rows read, or too few left for another round; the groups are a guess",
    "interrupted": "undecided: the run was interrupted, the groups are a guess",
    "failed": "undecided: the run failed, the groups are a guess",
    "unfinished": "undecided: the study has not ended, the groups are a guess",
    "contradicted": "contradicted: no partition of the kind asked for fits, the groups are a guess",
}

REPEATS = "values repeat bit for bit"  # how a doubt about copied samples begins: a heuristic
ANEW = "Draw each sample anew: no own seed, no cache, no copied row; or watch=False if values are meant to repeat."
FEW_SAMPLES = "few samples:"  # how the assumption begins that few samples hardly test
_IN_NO_ORDER = "samples came in no particular order"
_NO_COPIES = "no sample is a copy of one before"
CANNOT_TELL = "how many more samples it takes cannot be told yet"

_MOST_NAMED = 6  # arms whose needs are printed one by one
_MOST_REASONS = 3  # why arms were set aside; more are summed up
_MOST_EVIDENCE = 1_000_000  # larger ratios mean no more to people
_FAINT = 3  # evidence that a group is two, to 1, which chance makes too often to speak of it
_MOST_DOUBTED = 3  # arms whose samples refute an assumption, one by one


def headline(result: Result) -> str:
    """The answer in one line: what is claimed, how sure it is, and what it cost."""
    claim, advice = _claim(result)
    cost = f"({gate.sure(result)}{_samples(result)})"
    return shown(f"{claim} {cost}. {advice}" if advice else f"{claim} {cost}")


def _samples(result: Result) -> str:
    """All samples; where they come in blocks, how many."""
    samples = counted(result.n_samples, "sample")
    if result.block == 1:
        return samples
    tested = result.n_samples - result.n_pilot
    return f"{samples} in {counted(tested // result.block, 'block')} of {result.block:,}" + (
        f", after a pilot of {result.n_pilot:,}" if result.n_pilot else ""
    )


def _claim(result: Result) -> tuple[str, str]:
    """What is claimed, and what to do about it."""
    asked = result.n_clusters
    if result.reference:
        return _doubt(result) if result.assumptions else (gate.claim(result), "")
    if result.status == "decided" and result.tolerance is not None and not result.conditional_on:
        return within.decided_claim(result, result.tolerance), ""
    if result.status in within.ENDS and result.tolerance is not None and not result.assumptions:
        said = within.open_claim(result, result.tolerance)
        if said:
            return said, ""
    if result.status == "decided":
        condition = (
            f"if {result.conditional_on}" if result.conditional_on else "under the assumptions of the certificate"
        )
        groups = counted(len(result.groups), "group")
        return f"{groups}, wrong with probability at most {percent(result.delta)} {condition}", ""
    if result.status == "contradicted" and asked is not None and result.n_groups_at_least > asked:
        found = f"at least {result.n_groups_at_least:,} are certified"
        return f"More than {counted(asked, 'group')}: {found}", "Try a larger number of groups."
    if result.status == "doubtful" and result.assumptions:
        return _doubt(result)
    if result.status == "doubtful" and asked is not None and result.k_doubt is not None and result.k_doubt > 1:
        doubt = f"one group looks like two (evidence {_ratio(result.k_doubt)})"
        may_be = f"so {counted(asked, 'group')} may be too few"
        return f"Doubtful: {doubt}, {may_be}", "Try a larger number of groups."
    if result.status == "stalled":
        return _stalled(result), ""
    return STATUS_WORDS[result.status], ""


def _doubt(result: Result) -> tuple[str, str]:
    """What the samples refute, in one sentence for all arms of which it is true."""
    first = result.assumptions[0]
    kind = first.what.partition(" (")[0]
    alike = [one for one in result.assumptions if one.arm is not None and one.what.startswith(kind)]
    if first.arm is None:
        whose = f"all {counted(len(result.names), 'arm')} together"
        kind = first.what
    else:
        whose = _few(list(dict.fromkeys(one_line(one.arm) for one in alike)))
    if kind == REPEATS:
        claim = f"Doubtful: in {whose} {first.what if len(alike) == 1 else kind}, so nothing is certified"
        return claim, ANEW
    claim = f"Doubtful: in {whose} {kind} ({_strength(first)}), so nothing is certified"
    drifts = "differ" in kind
    single = result.tolerance is not None and result.tolerance.quantiles  # blocks do not go with quantiles
    blocks = "Draw samples that are farther apart in time" if single else "Use block='auto'"
    advice = "Draw the arms in turn, over a shorter time" if drifts else blocks
    return claim, f"{advice}; or watch=False if their order has no meaning."


def _few(names: list[str]) -> str:
    more = len(names) - _MOST_DOUBTED
    return ", ".join(names[:_MOST_DOUBTED]) + (f" and {counted(more, 'more arm')}" if more > 0 else "")


def _stalled(result: Result) -> str:
    """For how long nothing was learned: since the round that told the last pair apart."""
    last = int(result.evidence.told.max(initial=0))
    before = next((one.n_samples for one in result.rounds if one.number == last), 0)
    idle = counted(result.rounds[-1].n_samples - before, "sample") if result.rounds else "samples"
    return f"undecided: nothing new was learned in the last {idle}, the groups are a guess"


def condition(result: Result) -> str:
    """What the certified part of an answer takes for granted, beside the assumptions of its strategy.

    An assumption that the samples refute comes first: pairs told apart would be certified if it held.
    """
    if result.assumptions:
        copies = [one.what.startswith(REPEATS) for one in result.assumptions]
        refuted = [_NO_COPIES if any(copies) else "", "" if all(copies) else _IN_NO_ORDER]
        return " and ".join(filter(None, [*refuted, result.guarantee.conditional_on]))
    if result.status != "decided" or result.n_clusters is None or result.tolerance is not None:
        return result.guarantee.conditional_on
    measured = " among the arms that were measured" if result.set_aside else ""
    return (result.guarantee.conditional_on or exactly(result.n_clusters)) + measured


def k_doubt(result: Result) -> list[str]:
    """Whether there may be more groups than asked for, if that was looked at."""
    from kabc.strategies.anytime.check import MOST_ARMS  # all of its maths, for one number: loaded on first use

    if result.k_doubt is None:
        return []
    if result.k_doubt <= _FAINT:
        looked = f", {MOST_ARMS:,} of the arms were looked at" if len(result.names) > MOST_ARMS else ""
        return [f"K: no group looks like two{looked}; small differences may be missed"]
    return [f"K: one group looks like two, evidence {_ratio(result.k_doubt)}"]


def _ratio(evidence: float) -> str:
    """Two digits: "340 : 1"; "1.2e+09 : 1" where nobody would count the digits."""
    shown = float(f"{evidence:.2g}")
    return f"{shown:,.0f} : 1" if 10 <= shown < 1e7 else f"{shown:.2g} : 1"


def assumption(found: Assumption) -> str:
    """What the samples speak against, and how strongly."""
    whose = "all arms" if found.arm is None else one_line(found.arm)
    return shown(f"{whose}: {found.what} ({_strength(found)})")


def _strength(found: Assumption) -> str:
    return "a heuristic" if math.isinf(found.evidence) else f"evidence {ratio(found.evidence)}"


def ratio(evidence: float) -> str:
    """A betting ratio to two digits: "12,000 : 1"."""
    if evidence > _MOST_EVIDENCE:
        return f"over {_MOST_EVIDENCE:,} : 1"
    return f"{float(f'{evidence:.2g}'):,.6g} : 1"


def text(result: Result, *, everyone: bool = False) -> str:
    """The answer as it is printed. Long lists of names are cut, unless `everyone` is to be named."""
    first = [headline(result), *hardly_watched(result), *certified_lines(result)]
    if result.reference:
        return "\n".join(map(shown, [*first, *gate.value_lines(result), *_remarks(result)]))
    effects = result.effects
    groups = []
    for (number, _), line in zip(_by_size(result), group_lines(result, everyone=everyone), strict=True):
        more = [*group_effect_lines(effects, number), *margin_lines(result, number)]
        groups += [f"  {line}", *(f"    {one}" for one in more)]
    aside = [f"  {line}" for line in aside_lines(result, everyone=everyone)]
    return "\n".join(map(shown, [*first, *groups, *aside, *closing_lines(effects), *_remarks(result)]))


def margin_lines(result: Result, number: int) -> list[str]:
    """How far apart the arms of a group are at most, where that is proven and the group is not."""
    if result.tolerance is None or result.certified or result.assumptions:
        return []
    line = within.margin_of(result, result.tolerance, result.groups[number - 1])
    return [line] if line else []


def hardly_watched(result: Result) -> list[str]:
    """What the watch could not have seen, where an answer rests on it."""
    rests = result.certified or result.status == "contradicted"
    return [line for line in result.guarantee.assumptions if rests and line.startswith(FEW_SAMPLES)]


def certificate(result: Result, *, everyone: bool = True) -> str:
    """Why the answer may be trusted: groups, claim, assumptions, rule with its constants, and what was seen.

    `everyone`: long lists of names are not cut.
    """
    named = [*group_lines(result, everyone=everyone), *aside_lines(result, everyone=everyone)]
    why = result.guarantee
    lines = [
        f"CERTIFICATE of {why.strategy}",
        f"Answer: {headline(result).removesuffix('.')}.",
        *hardly_watched(result),
        "Arms:" if result.reference else "Groups:",
        *(f"  - {line}" for line in gate.arm_lines(result) or named),
        f"{claim_title(result)}: {why.claim}",
        "Assumptions:",
        *(f"  - {line}" for line in why.assumptions),
        "Rule:",
        *(f"  - {line}" for line in why.rule),
        "Seen:",
        *(f"  - {line}" for line in [*_seen(result), *_remarks(result)]),
    ]
    return "\n".join(map(shown, lines))  # a claim or a note of a file may hold anything


def claim_title(result: Result) -> str:
    """What stands before the claim of a strategy: it is void where an assumption does not hold."""
    return "Claim, void because an assumption does not hold" if result.assumptions else "Claim"


def certified_lines(result: Result) -> list[str]:
    """What is certified although the groups are not; no line where they are, or where nothing is."""
    if result.reference:
        return gate.certified_lines(result)
    if result.status in ("decided", "stopped"):
        return []
    doubt = f"wrong with probability at most {percent(result.delta)}"
    at_least, told = counted(result.n_groups_at_least, "group"), _pairs_told_apart(result)
    if result.conditional_on:
        doubt += f" if {result.conditional_on}"
    if result.assumptions:
        return [f"would be certified if {result.conditional_on}: {told}"]
    if result.tolerance is not None:
        return [f"certified, {doubt}: {within.counts_line(result, result.tolerance)}"]
    if result.n_groups_at_least == 1 and not result.evidence.n_told_apart:
        return [f"certified: nothing yet; {told}"]
    return [f"certified, {doubt}: at least {at_least}; {told}"]


def _pairs_told_apart(result: Result) -> str:
    told, pairs = result.evidence.n_told_apart, math.comb(len(result.names), 2)
    verb = plural(1 if pairs == 1 else told, "is")
    return f"{told:,} of {counted(pairs, 'pair')} {verb} told apart"


def group_lines(result: Result, *, everyone: bool = False) -> list[str]:
    """A line for each group, the smallest first: the odd ones are what people look for."""
    guess = "" if result.certified else " (guess)"
    return [
        f"group {number}{guess}, {counted(len(group), 'arm')}: {in_short(map(one_line, group), everyone=everyone)}"
        for number, group in _by_size(result)
    ]


def aside_lines(result: Result, *, everyone: bool = False) -> list[str]:
    """Arms that were set aside, a line for each reason; one line if there are many reasons."""
    named: dict[str, list[str]] = {}
    for name, reason in result.set_aside.items():
        named.setdefault(reason, []).append(one_line(name))
    if len(named) > _MOST_REASONS:
        named = {"too few rows or samples": [one_line(name) for name in result.set_aside]}
    return [
        f"not measured: {counted(len(arms), 'arm')} ({reason}): {in_short(arms, everyone=everyone)}"
        for reason, arms in named.items()
    ]


def _by_size(result: Result) -> list[tuple[int, tuple[Hashable, ...]]]:
    """The groups with their numbers, which start at 1; the smallest first."""
    return sorted(enumerate(result.groups, 1), key=lambda entry: len(entry[1]))


def _remarks(result: Result) -> list[str]:
    low, high = (pick(result.samples_per_arm.values(), default=0) for pick in (min, max))
    lines = [f"samples per arm: {low:,}" + (f" to {high:,}" if high > low else "")]
    lines += k_doubt(result)
    lines += within.lines(result, result.tolerance) if result.tolerance is not None else []
    if result.n_unused:
        unused = counted(result.n_unused, "sample")
        whose = " of an unfinished round" if not result.n_recorded else ""
        lines.append(f"{unused}{whose} {plural(result.n_unused, 'is')} counted, but not tested")
    if result.n_recorded:
        lines.append(
            f"{counted(result.n_recorded, 'sample')} {'was' if result.n_recorded == 1 else 'were'} recorded before"
        )
    if result.failure:
        lines.append(f"failure: {one_line(result.failure)}")
    lines += failure_lines(result.failures)
    if result.price:
        lines.append(f"spent: {spent(result)}")
    if result.needs is not None:
        lines.append(f"needs about {_listed(result.needs)} (an estimate)")
    elif cannot_tell(result):
        lines.append(CANNOT_TELL)
    return [*lines, *doubt_lines(result), *(f"note: {note}" for note in result.notes)]


def doubt_lines(result: Result) -> list[str]:
    """One line for each thing that the samples refute, with all arms of which it is true."""
    found: dict[str, list[Assumption]] = {}
    for one in result.assumptions:
        found.setdefault(one.what.partition(" (")[0], []).append(one)
    return [f"doubt: {_whose(alike)} ({_strength(alike[0])})" for alike in found.values()]


def _whose(alike: list[Assumption]) -> str:
    """What is refuted, of all arms together if so, and of which single arms."""
    arms = [one_line(one.arm) for one in alike if one.arm is not None]
    named = in_short(arms)
    what = alike[0].what if len({one.what for one in alike}) == 1 else alike[0].what.partition(" (")[0]
    if alike[0].arm is not None:
        return f"{named}: {what}"
    return f"all arms together: {alike[0].what}" + (f", in {named} also alone" if named else "")


def cannot_tell(result: Result) -> bool:
    """Whether more samples could decide, but nobody knows how many."""
    undecided = result.status in ("budget", "exhausted", "interrupted", "failed", "unfinished")
    return undecided and result.n_clusters is not None and result.needs is None


def spent(result: Result) -> str:
    """The bill, and how many of the draws on it gave no sample."""
    if not result.n_lost:
        return f"{result.spent:,.6g}"
    draws = counted(result.n_samples - result.n_recorded + result.n_lost, "draw")
    return f"{result.spent:,.6g} ({result.n_lost:,} of {draws} gave no sample)"


def _seen(result: Result) -> list[str]:
    arms, samples = counted(len(result.names), "arm"), counted(result.n_samples, "sample")
    chosen = "kernel" if result.kernel else "length of blocks"
    pilot = f", {result.n_pilot:,} of them in a pilot that only chose the {chosen}" if result.n_pilot else ""
    at_least = counted(result.n_groups_at_least, "group")
    seen = [
        f"{arms}, {samples} in all{pilot}",
        f"kernel {result.kernel}; seed {result.seed}" if result.kernel else f"seed {result.seed}",
        f"{_pairs_told_apart(result)}; at least {at_least}",
    ]
    if result.rounds:
        seen.append(_rounds(result))
    closest = _closest_pair(result)
    return [*seen, closest] if closest else seen


def _rounds(result: Result) -> str:
    last, rounds = result.rounds[-1], counted(len(result.rounds), "round")
    if not result.kernel:
        return f"{rounds}, at most {counted(last.n, 'sample')} of an arm"
    return (
        f"last of {rounds}: k = {last.number}, delta_k = {last.delta:.3g}, "
        f"{counted(last.n, 'sample')} of each arm, {counted(last.n_groups, 'component')}"
    )


def _closest_pair(result: Result) -> str:
    """The pair that was told apart by the smallest margin in the latest round."""
    found = result.evidence
    strength = np.where(found.told > 0, found.block_strength, np.nan)
    above = strength > 1
    if not above.any():
        return ""
    rows, columns = np.nonzero(above & (strength == strength[above].min()))
    i, j = min((min(pair), max(pair)) for pair in zip(rows.tolist(), found.compared[columns].tolist(), strict=True))
    pair = f"{one_line(result.names[i])} and {one_line(result.names[j])}"
    return f"closest pair told apart: {pair}, {strength[above].min():.3g} times its threshold"


def _listed(needs: dict[Hashable, int]) -> str:
    """The largest needs one by one, the others in one phrase."""
    ranked = sorted(needs.items(), key=lambda entry: -entry[1])
    next_ones = [f"{count:,} of {one_line(name)}" for name, count in ranked[1:_MOST_NAMED]]
    first, most = ranked[0]
    rest = ranked[_MOST_NAMED:]
    most_of_rest = f"at most {rest[0][1]:,} of {'each of ' if len(rest) > 1 else ''}" if rest else ""
    others = [most_of_rest + counted(len(rest), "other arm")] if rest else []
    return ", ".join([f"{counted(most, 'more sample')} of {one_line(first)}", *next_ones, *others])


def one_line(name: Hashable) -> str:
    """A name that cannot forge lines of a certificate."""
    return named(name)


def told_apart_by_number(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts; where two are the same, all of them with their numbers, counted from 0."""
    listed = tuple(texts)
    return listed if len(set(listed)) == len(listed) else tuple(f"{i}: {text}" for i, text in enumerate(listed))
