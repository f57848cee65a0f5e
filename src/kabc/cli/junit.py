"""A check as a JUnit file with one test case: what CI systems show in their list of tests."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from kabc.cli import exits
from kabc.cli.show import Look, answer_text
from kabc.core.files import write_text
from kabc.core.words import named
from kabc.results import gate, words
from kabc.results.values import Result

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_of(result: Result) -> str:
    """The document. Different is a failure, a refuted assumption or a failed run an error, not known a skipped test."""
    kind = _kind(result)
    counts = {name: str(int(name == kind)) for name in ("failures", "errors", "skipped")}
    about = {"tests": "1", **counts, "time": f"{result.seconds:.3f}"}
    suites = ET.Element("testsuites", about)
    suite = ET.SubElement(suites, "testsuite", {"name": "kabc check", **about})
    said = {"classname": f"kabc.check.{_clean(named(result.names[1]))}", "name": _clean(gate.question(result))}
    case = ET.SubElement(suite, "testcase", {**said, "time": about["time"]})
    text = _clean(answer_text(result, Look()))
    if kind is None:
        ET.SubElement(case, "system-out").text = text
    else:
        facts = {"message": _clean(exits.for_the_shell(words.headline(result)))}
        of_kind = {"failures": "failure", "errors": "error", "skipped": "skipped"}[kind]
        facts |= {} if kind == "skipped" else {"type": "different" if kind == "failures" else result.status}
        ET.SubElement(case, of_kind, facts).text = text
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def write_junit(result: Result, path: str) -> None:
    """Write it, whole or not at all."""
    write_text(path, junit_of(result))


def _kind(result: Result) -> str | None:
    if result.status in ("doubtful", "failed"):
        return "errors"
    return {"same": None, "different": "failures"}.get(result.verdict or "", "skipped")


def _clean(text: str) -> str:
    """What XML can hold; other characters as escapes."""
    return _NOT_IN_XML.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
