"""The end of the report: what is certified and why, notes, settings and rounds."""

from __future__ import annotations

import numpy as np

from kabc.core.words import counted, few
from kabc.report.nodes import MOST_NODES
from kabc.report.page.tags import bullets, details, table
from kabc.report.svg import clean
from kabc.results.values import Result
from kabc.results.words import claim_title

_MOST_ROUNDS = 100
_MOST_COLUMNS = 12


def certificate_section(result: Result) -> str:
    """Claim and assumptions; the rule is folded. All is read from the fields: a name cannot fake a line of it."""
    why = result.guarantee
    lines = result.certificate().splitlines()
    whole = "\n".join("  " * line.startswith("  ") + clean(line) for line in lines)
    return (
        f"<h2>What is certified</h2><p><b>{claim_title(result)}:</b> {clean(why.claim)}</p>"
        f"<p><b>Assumptions:</b></p>{bullets(why.assumptions)}"
        + details(f"The rule of {why.strategy}", bullets(why.rule), short=True)
        + details("The whole certificate as text", f"<pre>{whole}</pre>")
        + "\n"
    )


def settings_section(result: Result) -> str:
    """Notes, settings and rounds."""
    asked = "not known" if result.n_clusters is None else str(result.n_clusters)
    rows = {
        "Strategy": result.guarantee.strategy,
        "Groups asked for (K)": asked,
        "Tolerance": "" if result.tolerance is None else result.tolerance.tolerance,
        "Delta": f"{result.delta:g}",
        "Kernel": result.kernel,
        "Seed": str(result.seed),
        "Samples": f"{result.n_samples:,} in {counted(len(result.rounds), 'round')}",
        "of these a pilot": f"{result.n_pilot:,}" if result.n_pilot else "",
        "of these not tested": f"{result.n_unused:,}" if result.n_unused else "",
        "Samples in a block": f"{result.block:,}" if result.block > 1 else "",
        "Price of a sample": f"{result.price:g}" if result.price else "",
        "Columns": few(list(map(str, result.columns)), _MOST_COLUMNS),
    }
    body = "".join(
        f'<tr><th scope="row">{clean(name)}</th><td>{clean(text)}</td></tr>' for name, text in rows.items() if text
    )
    notes = f"<h2>Notes</h2>{bullets(result.notes)}" if result.notes else ""
    settings = f'<div class="scroll settings"><table><tbody>{body}</tbody></table></div>'
    return f"{notes}<h2>Settings</h2>{settings}{_rounds(result)}\n"


def _rounds(result: Result) -> str:
    if not result.rounds:
        return ""
    kept = np.unique(np.linspace(0, len(result.rounds) - 1, min(len(result.rounds), _MOST_ROUNDS)).astype(int))
    shown = [result.rounds[i] for i in kept.tolist()]
    rows = [[str(r.number), f"{r.n:,}", f"{r.n_samples:,}", str(r.n_groups)] for r in shown]
    heads = ["Round", "Samples per arm", "Samples so far", "Groups seen"]
    part = f" ({len(rows)} of {len(result.rounds):,})" if len(rows) < len(result.rounds) else ""
    return details(f"Rounds{part}", table(heads, rows, (0, 1, 2, 3), "Rounds"), short=len(rows) <= MOST_NODES)
