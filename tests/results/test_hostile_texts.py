"""Names, columns, categories and notes from outside cannot forge a line, move a cursor or turn a text around."""

from __future__ import annotations

import dataclasses
import io
import json
from contextlib import redirect_stderr
from unicodedata import category

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import kabc
from kabc.cli import exits, live
from kabc.core.errors import ArmError
from kabc.report import report_html
from kabc.results.values import Assumption, Result
from kabc.running.progress import Ticker
from kabc.strategies.answers import Guarantee
from tests.report.examples import full_result

PIECES = [
    "\n",
    "\r",
    "\t",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x85",
    "\u2028",
    "\u2029",
    "\x1b[2J",
    "\x07",
    "\u202e",
    "\u2066",
    "\x00",
]
FORGED = "x\nCERTIFICATE of kabc\nStatus: decided"
HOSTILE = st.lists(st.sampled_from([*PIECES, "a", " ", "b", "\ud800", "é", "|"]), min_size=1, max_size=8).map("".join)


def told(name: str) -> Result:
    """An answer with this name in every place that a file or a server can fill."""
    odd, other = name, f"{name}+"
    calm = full_result([0, 1, 0], "doubtful")
    new = dict(zip(calm.names, (odd, other, "calm"), strict=True))
    return dataclasses.replace(
        calm,
        names=tuple(new.values()),
        samples={new[key]: rows for key, rows in calm.samples.items()},
        samples_per_arm={new[key]: count for key, count in calm.samples_per_arm.items()},
        columns=(odd, other, "size"),
        levels={"size": {0.0: odd, 10.0: other, 20.0: "c", 30.0: "d"}},
        notes=(odd, other),
        needs={odd: 3, other: 2},
        failure=odd,
        kernel=odd,
        assumptions=(Assumption(odd, other, 50.0), Assumption(None, odd, 2.0)),
        set_aside={"calm": odd},
        labels=(0, 1, -1),
        guarantee=Guarantee(odd, odd, (odd,), (odd,), odd),
    )


def doors(name: str) -> dict[str, str]:
    """Every text that is made of it."""
    result = told(name)
    moved = dataclasses.replace(result, samples={key: rows + 9 for key, rows in result.samples.items()})
    regrouped = dataclasses.replace(moved, labels=(0, 0, -1))
    return {
        "text": str(result),
        "certificate": result.certificate(),
        "effects": str(result.effects),
        "assumption": str(result.assumptions[0]),
        "moved values": str(kabc.compare(result, moved)),
        "changes": str(kabc.compare(result, regrouped)),
        "error": str(ArmError(f"the server says {name}").of_arm(name)),
        "progress": _progress(name),
        "failure": _failed(name),
    }


def _progress(name: str) -> str:
    panel = live.LivePanel(quiet=True)
    panel(name)
    lines: list[str] = []
    Ticker(lines.append).now(name)
    return "\n".join([panel.summary(), *lines])


def _failed(name: str) -> str:
    with redirect_stderr(io.StringIO()) as out:
        exits.fail(f"cannot read {name}", exits.BAD_INPUT, as_json=False)
    return out.getvalue()


PLAIN = {door: len(text.splitlines()) for door, text in doors("plain").items()}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HOSTILE)
@example(FORGED)
@example("\u202egnihton")
@example("\x1b]0;owned\x07")
def test_no_text_has_more_lines_or_a_control_character_whatever_the_names_are(name: str) -> None:
    assume(name.strip() != "plain")
    for door, text in doors(name).items():
        bad = {letter for letter in text if category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}
        assert not bad, (door, bad)
        if door != "effects":  # long lines of effects go on in the next
            assert len(text.splitlines()) <= PLAIN[door] + 4 * (door == "text"), door
        assert not [line for line in text.splitlines() if line.startswith(("CERTIFICATE of kabc", "Status:"))], door


def test_a_forged_certificate_stays_on_the_line_of_its_name() -> None:
    shown = r"x\nCERTIFICATE of kabc\nStatus: decided"
    assert [line for line in str(told(FORGED)).splitlines() if line == f"note: {shown}"]
    assert len(told(FORGED).certificate().splitlines()) == len(told("plain").certificate().splitlines())
    assert shown in report_html(told(FORGED))


def test_json_has_the_true_names() -> None:
    document = json.loads(json.dumps(told(FORGED).to_dict()))
    assert document["names"][0] == FORGED
    assert document["notes"][0] == FORGED
