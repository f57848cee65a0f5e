"""What the page is made of, beside its own files: parts of the report, its style, one stream of several studies."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from kabc.report.style import STYLE
from kabc.results.values import Result
from kabc.server import parts
from kabc.server.models.answers import PartName
from tests.report.examples import full_result
from tests.report.test_drawers import renamed
from tests.server.served import Served, refusal


@pytest.fixture(scope="module")
def result() -> Result:
    hostile = "<script>boom()</script>\" onload='boom()"
    return renamed(full_result([0, 0, 1]), hostile)


@pytest.mark.parametrize("name", get_args(PartName))
def test_a_part_of_the_report_has_no_script_and_no_style_and_names_are_texts(result: Result, name: PartName) -> None:
    html = parts.part(result, 7, name).html
    assert "<script" not in html
    assert " style=" not in html  # the policy of the page refuses it
    assert "<b>" in html or "<h" in html or "<p" in html or not html


def test_the_style_sheet_is_that_of_the_report_and_an_unknown_part_is_refused(served: Served) -> None:
    with served.client(served.token) as client:
        assert client.get("/static/report.css").text == STYLE
        assert refusal(client.get("/api/studies/1/part", params={"name": "samples"}))[0] == 400
        assert refusal(client.get("/api/events", params={"studies": "1,x"}))[0] == 400
    with served.client() as client:
        assert refusal(client.get("/api/studies/1/part", params={"name": "answer"}))[0] == 401
        assert refusal(client.get("/api/events", params={"studies": "1"}))[0] == 401


def test_one_stream_has_the_changes_of_several_studies(served: Served) -> None:
    made = [served.storage.create_study(f"several {i}", {}, {}).id for i in range(2)]
    missing = 10**6
    asked = {"studies": ",".join(map(str, [*made, missing]))}
    with served.client(served.token) as client, client.stream("GET", "/api/events", params=asked) as answer:
        lines = (line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: "))
        first: dict[int, Any] = {event["study"]: event for event in (json.loads(next(lines)) for _ in range(3))}
        assert {study: event["state"] for study, event in first.items()} == {
            made[0]: "running", made[1]: "running", missing: "deleted",
        }  # fmt: skip
        served.storage.set_state(made[1], "paused", {})
        later = json.loads(next(lines))
        assert (later["study"], later["state"]) == (made[1], "paused")
    for study in made:
        served.storage.delete_study(study)
