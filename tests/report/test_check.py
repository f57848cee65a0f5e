"""The report of a check speaks of one arm and its reference, and is green only if they are the same."""

from __future__ import annotations

import pytest

import kabc
from kabc.report.html import report_html
from tests.running.examples import normal

BUILDS = {"v1": normal(10), "v2": normal(10), "v3<b>": normal(13)}


@pytest.mark.parametrize(
    ("this", "verdict", "kind", "mark"), [("v2", "same", "yes", "✓"), ("v3<b>", "different", "no", "!")]
)
def test_the_report_of_a_check(this: str, verdict: str, kind: str, mark: str) -> None:
    result = kabc.check(BUILDS, this=this, same_as="v1", tolerance="1 sd", seed=0, progress=False)
    text = report_html(result)
    shown = this.replace("<", "&lt;").replace(">", "&gt;")
    assert result.verdict == verdict
    assert f"<h1>Is {shown} the same as v1?</h1>" in text
    assert f'<div class="verdict {kind}"><p><strong>{mark} {verdict.title()}: {shown} ' in text
    assert f"Checked: {shown}" in text and "Reference: v1" in text
    assert "the reference" in text and "<h2>Groups</h2>" not in text
    assert "v3<b>" not in text
    assert "Within a tolerance" not in text


def test_the_report_of_a_check_that_is_not_known() -> None:
    result = kabc.check(BUILDS, this="v2", same_as="v1", tolerance="0.05 sd", seed=0, max_samples=900, progress=False)
    text = report_html(result)
    assert '<div class="verdict no"><p><strong>? Not known: within ' in text
