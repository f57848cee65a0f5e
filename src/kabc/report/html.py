"""The whole report in one file: the answer, the reasons to trust it, pictures, settings and notes.

It needs no network, no script and no other file. Pictures are SVG, and its security policy forbids everything else.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from kabc.core.files import write_text
from kabc.core.words import counted, percent, plural
from kabc.report import svg
from kabc.report.effects import effects_section
from kabc.report.figures import pictures, values
from kabc.report.nodes import MOST_NODES, by_group, names_of
from kabc.report.style import STYLE
from kabc.report.svg import clean
from kabc.report.tags import details as _details
from kabc.report.tags import name as _name
from kabc.report.tags import table as _table
from kabc.results.failures import failure_lines
from kabc.results.values import Result
from kabc.results.words import (
    CANNOT_TELL,
    assumption,
    cannot_tell,
    certified_lines,
    claim_title,
    hardly_watched,
    headline,
    k_doubt,
    spent,
)

_MOST_CARDS = 24
_MOST_MEMBERS = 30
_MOST_ROUNDS = 100
_MOST_NEEDS = 6


def write_report(result: Result, path: str | os.PathLike[str], title: str | None = None) -> None:
    """Write the report of a result to one HTML file that opens offline. If writing fails, no partial file is left."""
    write_text(path, report_html(result, title))


def report_html(result: Result, title: str | None = None) -> str:
    """The report of a result as one HTML text. The same result always gives the same text."""
    heading = clean(title or "Which arms are the same?")
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<link rel="icon" href="data:,">\n',  # without it, browsers ask the server for an icon
            f"<title>{heading}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{heading}</h1>\n",
            _answer(result),
            effects_section(result),
            _certificate(result),
            pictures(result),
            values(result),
            _settings(result),
            f'</main>\n<footer class="soft">Written by kabc {_version()}. This file loads nothing from anywhere.',
            "</footer>\n</body>\n</html>\n",
        ]
    )


def _policy() -> str:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _version() -> str:
    from kabc import __version__

    return __version__


# ------------------------------------------------------------ the answer


def _answer(result: Result) -> str:
    mark = "✓" if result.certified else "!" if result.status in ("contradicted", "doubtful") else "?"
    said = headline(result).removesuffix(".")
    head = f"{mark} {said[0].upper()}{said[1:]}."
    kind = "yes" if result.certified else "no"
    parts = [
        f"<p><strong>{clean(head)}</strong></p>",
        *(f"<p>{clean(line[0].upper() + line[1:])}.</p>" for line in hardly_watched(result)),
        f"<p>{clean(_sentence(result))}</p>",
        _doubts(result),
        _needs(result),
    ]
    if result.failure:
        parts.insert(1, f"<p>{clean(result.failure)}</p>")
    return f'<div class="verdict {kind}">{"".join(parts)}{_facts(result)}</div>\n{_groups(result)}'


def _sentence(result: Result) -> str:
    """What is certified, and what is a guess."""
    arms, groups = counted(len(by_group(result)), "arm"), len(result.groups)
    if result.certified:
        return f"{arms} in {counted(groups, 'group')}. The certificate below says what this rests on."
    guess = f"{arms}. The {counted(groups, 'group')} below {plural(groups, 'is')} a guess."
    if result.status == "stopped" or result.assumptions:
        return guess
    if result.n_groups_at_least == 1 and not result.evidence.n_told_apart:
        return f"{guess} Nothing is certified yet."
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
    listed = [f"<li>{clean(assumption(one))}</li>" for one in result.assumptions]
    shown = f"<ul>{''.join(listed[:_MOST_NEEDS])}</ul>"
    if len(listed) > _MOST_NEEDS:
        rest = f"<ul>{''.join(listed[_MOST_NEEDS:])}</ul>"
        shown += _details(counted(len(listed) - _MOST_NEEDS, "more doubt"), rest)
    lines = "".join(f"<p>{clean(line)}.</p>" for line in certified_lines(result))
    return f"<p>The samples speak against what a certificate assumes:</p>{shown}{lines}"


def _needs(result: Result) -> str:
    ranked = sorted((result.needs or {}).items(), key=lambda entry: -entry[1])
    if not ranked:
        return f"<p>{CANNOT_TELL[0].upper()}{CANNOT_TELL[1:]}.</p>" if cannot_tell(result) else ""
    texts = dict(zip(result.names, names_of(result), strict=True))
    listed = ", ".join(f"{number:,} of {_name(texts[name])}" for name, number in ranked[:_MOST_NEEDS])
    rest = ranked[_MOST_NEEDS:]
    others = f", and at most {rest[0][1]:,} of each of {counted(len(rest), 'other arm')}" if rest else ""
    return f"<p>Further samples needed to decide (an estimate, not a promise): {listed}{others}.</p>"


def _facts(result: Result) -> str:
    pairs = len(result.names) * (len(result.names) - 1) // 2
    facts = {
        "Arms": f"{len(result.names):,}",
        "Groups" if result.certified else "Groups (guess)": f"{len(result.groups):,}",
        "Samples": f"{result.n_samples:,}",
        "Pairs told apart": f"{result.evidence.n_told_apart:,} of {pairs:,}",
        "Delta": f"{result.delta:g}",
    }
    if result.k_doubt is not None:
        facts["K"] = k_doubt(result)[0].removeprefix("K: ")
    if result.price:
        facts["Spent"] = spent(result)
    if result.seconds:
        facts["Time"] = _duration(result.seconds)
    items = "".join(f"<div><dt>{name}</dt><dd>{clean(value)}</dd></div>" for name, value in facts.items())
    return f'<dl class="facts">{items}</dl>'


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.3g} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _groups(result: Result) -> str:
    texts = dict(zip(result.names, names_of(result), strict=True))
    ordered = sorted(enumerate(result.groups), key=lambda entry: len(entry[1]))
    cards = [_card(group, [texts[name] for name in names], result.certified) for group, names in ordered]
    shown = f'<div class="cards">{"".join(cards[:_MOST_CARDS])}</div>'
    if len(cards) > _MOST_CARDS:
        hidden = f'<div class="cards">{"".join(cards[_MOST_CARDS:])}</div>'
        shown += _details(f"{counted(len(cards) - _MOST_CARDS, 'more group')}", hidden)
    kind = "Groups" if result.certified else "Groups (a guess)"
    soft = "<p class='soft'>The smallest groups come first.</p>" if cards else ""
    return f"<h2>{kind}</h2>{soft}{shown}\n{_aside(result, texts)}{_arms(result)}"


def _aside(result: Result, texts: Mapping[Hashable, str]) -> str:
    """Arms that are in no group, and why."""
    if not result.set_aside:
        return ""
    rows = [
        [_name(texts[name]), f"{result.samples_per_arm[name]:,}", clean(reason)]
        for name, reason in result.set_aside.items()
    ]
    table = _table(["Arm", "Samples", "Why"], rows, numeric=(1,))
    said = "<p class='soft'>These arms are in no group and in no picture. Nothing is said about them.</p>"
    return f"<h2>Not measured: {counted(len(rows), 'arm')}</h2>{said}{table}\n"


def _card(group: int, names: Sequence[str], certified: bool) -> str:
    heading = f"Group {group + 1}{'' if certified else ' (guess)'}: {counted(len(names), 'arm')}"
    shown = _chips(names if len(names) <= _MOST_MEMBERS else names[: _MOST_MEMBERS // 2])
    if len(names) > _MOST_MEMBERS:
        shown += _details(f"all {len(names):,} arms of this group", f'<div class="tall">{_chips(names)}</div>')
    return f'<section class="card"><h3>{_badge(group)}{heading}</h3>{shown}</section>'


def _chips(names: Iterable[str]) -> str:
    return f'<ul class="arms">{"".join(f"<li>{_name(name)}</li>" for name in names)}</ul>'


def _badge(group: int) -> str:
    text = f'<text class="in node-ink" x="10" y="13.2" text-anchor="middle">{group + 1}</text>'
    mark = f'<circle class="{svg.colour_of(group)}" cx="10" cy="10" r="10"/>{text}'
    return f'<svg width="22" height="22" viewBox="0 0 20 20" aria-hidden="true">{mark}</svg>'


def _arms(result: Result) -> str:
    """Every arm with its samples, and the arm of another group with the least evidence against it."""
    labels, names = np.asarray(result.labels), names_of(result)
    grouped = labels >= 0
    across = (labels[:, None] != labels) & grouped[:, None] & grouped
    across = np.where(across, result.evidence.strength, np.nan)
    filled = np.where(np.isnan(across), np.inf, across)
    nearest = filled.argmin(axis=1)
    rows = []
    for arm, name in enumerate(result.names):
        other, least = int(nearest[arm]), float(filled[arm, nearest[arm]])
        margin = [f"{least:.3g}", _name(names[other])] if np.isfinite(least) else ["none", ""]
        group = str(labels[arm] + 1) if grouped[arm] else "not measured"
        rows.append([_name(names[arm]), group, f"{result.samples_per_arm[name]:,}", *margin])
    heads = [
        "Arm",
        "Group" if result.certified else "Group (guess)",
        "Samples",
        "Least evidence across groups (1 tells apart)",
        "against",
    ]
    table = _table(heads, rows, numeric=(1, 2, 3))
    return _details(f"Table of all {len(rows):,} arms", table, short=len(rows) <= MOST_NODES)


# ------------------------------------------------------------ why, and what it looks like


def _certificate(result: Result) -> str:
    """Claim, assumptions and rule, read from the fields. A name with line breaks could fake one in the plain text."""
    why = result.guarantee
    lists = {"Assumptions": why.assumptions, "Rule": why.rule}
    parts = "".join(
        f"<p><b>{name}:</b></p><ul>{''.join(f'<li>{clean(text)}</li>' for text in texts)}</ul>"
        for name, texts in lists.items()
    )
    lines = result.certificate().splitlines()
    whole = "\n".join("  " * line.startswith("  ") + clean(line) for line in lines)
    text = _details("The whole certificate as text", f"<pre>{whole}</pre>")
    claim = f"<p><b>{claim_title(result)}:</b> {clean(why.claim)}</p>"
    return f"<h2>Certificate of {clean(why.strategy)}</h2>{claim}{parts}{text}\n"


def _settings(result: Result) -> str:
    asked = "not known" if result.n_clusters is None else str(result.n_clusters)
    rows = {
        "Strategy": result.guarantee.strategy,
        "Groups asked for (K)": asked,
        "Delta": f"{result.delta:g}",
        "Kernel": result.kernel,
        "Seed": str(result.seed),
        "Samples": f"{result.n_samples:,} in {counted(len(result.rounds), 'round')}",
        "of these a pilot": f"{result.n_pilot:,}" if result.n_pilot else "",
        "of these not tested": f"{result.n_unused:,}" if result.n_unused else "",
        "Price of a sample": f"{result.price:g}" if result.price else "",
        "Columns": _few(result.columns),
    }
    body = "".join(f"<tr><th>{clean(name)}</th><td>{clean(text)}</td></tr>" for name, text in rows.items() if text)
    table = f'<div class="scroll settings"><table><tbody>{body}</tbody></table></div>'
    notes = "".join(f"<li>{clean(note)}</li>" for note in [*result.notes, *failure_lines(result.failures)])
    said = f"<h2>Notes</h2><ul>{notes}</ul>" if notes else ""
    return f"{said}<h2>Settings</h2>{table}{_rounds(result)}\n"


def _few(columns: Sequence[str]) -> str:
    more = len(columns) - 12
    return ", ".join(columns[:12]) + (f" and {more:,} more" if more > 0 else "")


def _rounds(result: Result) -> str:
    if not result.rounds:
        return ""
    kept = np.unique(np.linspace(0, len(result.rounds) - 1, min(len(result.rounds), _MOST_ROUNDS)).astype(int))
    shown = [result.rounds[i] for i in kept.tolist()]
    rows = [[str(r.number), f"{r.n:,}", f"{r.n_samples:,}", str(r.n_groups)] for r in shown]
    table = _table(["Round", "Samples per arm", "Samples so far", "Groups seen"], rows, numeric=(0, 1, 2, 3))
    part = f" ({len(rows)} of {len(result.rounds):,})" if len(rows) < len(result.rounds) else ""
    return _details(f"Rounds{part}", table, short=len(rows) <= MOST_NODES)
