"""The answer: one sentence, what it rests on, and whatever speaks against it or went wrong."""

from __future__ import annotations

from collections.abc import Sequence

from kabc.core.words import counted, percent, plural
from kabc.report.nodes import by_group, names_of
from kabc.report.page.tags import bullets, details, name, table
from kabc.report.svg import clean
from kabc.results.failures import how_it_failed
from kabc.results.values import Result
from kabc.results.within import verdict_counts
from kabc.results.words import (
    CANNOT_TELL,
    assumption,
    cannot_tell,
    certified_lines,
    hardly_watched,
    headline,
    k_doubt,
    spent,
)

_MOST_LINES = 6  # of doubts and of needs
_MOST_ROWS = 6  # of arms that were set aside or failed; more are folded


def answer_section(result: Result) -> str:
    """The answer with its doubts, then arms that were not measured and tries that failed."""
    good = result.verdict == "same" if result.reference else result.certified
    bad = result.status in ("contradicted", "doubtful") or result.verdict == "different"
    mark = "✓" if good else "!" if bad else "?"
    said = headline(result).removesuffix(".")
    parts = [
        f"<p><strong>{clean(f'{mark} {said[0].upper()}{said[1:]}.')}</strong></p>",
        f"<p>{clean(result.failure)}</p>" if result.failure else "",
        *(f"<p>{clean(line[0].upper() + line[1:])}.</p>" for line in hardly_watched(result)),
        f"<p>{clean(_sentence(result))}</p>",
        _doubts(result),
        _needs(result),
    ]
    kind = "yes" if good else "no"
    return f'<div class="verdict {kind}">{"".join(parts)}{_facts(result)}</div>\n{_aside(result)}{_failures(result)}'


def _sentence(result: Result) -> str:
    """What is certified, and what is a guess."""
    if result.reference:
        return " ".join(f"{line[0].upper()}{line[1:]}." for line in certified_lines(result))
    arms, groups = counted(len(by_group(result)), "arm"), len(result.groups)
    if result.certified:
        return f"{arms} in {counted(groups, 'group')}. What this rests on is said under “What is certified”."
    guess = f"{arms}. The {counted(groups, 'group')} below {plural(groups, 'is')} a guess."
    if result.status == "stopped" or result.assumptions:
        return guess
    if result.tolerance is None and result.n_groups_at_least == 1 and not result.evidence.n_told_apart:
        return f"{guess} Nothing is certified yet."
    if result.tolerance is not None:
        return f"{guess} {' '.join(f'{line[0].upper()}{line[1:]}.' for line in certified_lines(result))}"
    at_least = counted(result.n_groups_at_least, "group")
    condition = f" if {result.conditional_on}" if result.conditional_on else ""
    return (
        f"{guess} Certified, wrong with probability at most {percent(result.delta)}{condition}: there "
        f"{plural(result.n_groups_at_least, 'is')} at least {at_least}, and every pair shown as told apart differs."
    )


def _doubts(result: Result) -> str:
    """Assumptions that the samples refute, and what would be certified without that."""
    if not result.assumptions:
        return ""
    doubts = list(map(assumption, result.assumptions))
    shown = bullets(doubts[:_MOST_LINES])
    if len(doubts) > _MOST_LINES:
        shown += details(f"and {counted(len(doubts) - _MOST_LINES, 'more doubt')}", bullets(doubts[_MOST_LINES:]))
    lines = "".join(f"<p>{clean(line[0].upper() + line[1:])}.</p>" for line in certified_lines(result))
    return f"<p>The samples speak against what a certificate assumes:</p>{shown}{lines}"


def _needs(result: Result) -> str:
    ranked = sorted((result.needs or {}).items(), key=lambda entry: -entry[1])
    if not ranked:
        return f"<p>{CANNOT_TELL[0].upper()}{CANNOT_TELL[1:]}.</p>" if cannot_tell(result) else ""
    texts = dict(zip(result.names, names_of(result), strict=True))
    listed = ", ".join(f"{number:,} of {name(texts[arm])}" for arm, number in ranked[:_MOST_LINES])
    rest = ranked[_MOST_LINES:]
    others = f", and at most {rest[0][1]:,} of each of {counted(len(rest), 'other arm')}" if rest else ""
    return f"<p>Further samples needed to decide (an estimate, not a promise): {listed}{others}.</p>"


def _facts(result: Result) -> str:
    pairs = len(result.names) * (len(result.names) - 1) // 2
    facts = {
        "Arms": f"{len(result.names):,}",
        "Groups" if result.certified else "Groups (guess)": f"{len(result.groups):,}",
        "Samples": f"{result.n_samples:,}",
        **(
            {"Pairs told apart": f"{result.evidence.n_told_apart:,} of {pairs:,}"}
            if result.tolerance is None or result.reference
            else {f"Pairs {kind}": f"{count:,}" for kind, count in verdict_counts(result.tolerance).items()}
        ),
        "Delta": f"{result.delta:g}",
    }
    if result.reference:
        kept = {"Samples": facts["Samples"], "Delta": facts["Delta"]}
        facts = {"Arms of the reference": f"{len(result.reference):,}", **kept}
    if result.k_doubt is not None:
        facts["K"] = k_doubt(result)[0].removeprefix("K: ")
    if result.price:
        facts["Spent"] = spent(result)
    if result.seconds:
        facts["Time"] = _duration(result.seconds)
    items = "".join(f"<div><dt>{clean(term)}</dt><dd>{clean(value)}</dd></div>" for term, value in facts.items())
    return f'<dl class="facts">{items}</dl>'


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.3g} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


# ------------------------------------------------------------ what went wrong


def _aside(result: Result) -> str:
    """Arms that are in no group, and why."""
    if not result.set_aside:
        return ""
    texts = dict(zip(result.names, names_of(result), strict=True))
    rows = [
        [name(texts[arm]), f"{result.samples_per_arm[arm]:,}", clean(reason)]
        for arm, reason in result.set_aside.items()
    ]
    said = "These arms are in no group and in no picture. Nothing is said about them."
    return _notice(f"Not measured: {counted(len(rows), 'arm')}", said, ["Arm", "Samples", "Why"], rows, (1,))


def _failures(result: Result) -> str:
    """Arms whose tries failed, the worst first."""
    if not result.failures:
        return ""
    texts = dict(zip(result.names, names_of(result), strict=True))
    ranked = sorted(result.failures.items(), key=lambda entry: -entry[1].share)
    rows = [
        [name(texts[arm]), f"{one.count:,}", f"{one.tries:,}", clean(how_it_failed(one)), clean(one.last)]
        for arm, one in ranked
    ]
    count = sum(one.count for one in result.failures.values())
    heads = ["Arm", "Failed", "Tries", "How", "Last message"]
    title = f"{counted(count, 'try')} failed, of {counted(len(rows), 'arm')}"
    return _notice(title, "The arm that failed most often comes first.", heads, rows, (1, 2))


def _notice(title: str, said: str, heads: Sequence[str], rows: list[list[str]], numeric: tuple[int, ...]) -> str:
    shown = table(heads, rows[:_MOST_ROWS], numeric, title)
    if len(rows) > _MOST_ROWS:
        more = table(heads, rows[_MOST_ROWS:], numeric, title)
        shown += details(f"and {counted(len(rows) - _MOST_ROWS, 'more arm')}", more)
    return f'<section class="notice"><h2>{clean(title)}</h2><p class="soft">{clean(said)}</p>{shown}</section>\n'
