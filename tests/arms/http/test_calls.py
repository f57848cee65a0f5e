"""Calls: what is sent, and what cannot be sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kabc.arms.http import Address, http_arms
from kabc.core.errors import SettingsError
from tests.arms.http.server import Server, draw, one


@pytest.mark.parametrize(
    ("file", "text"),
    [("p.txt", 'say "hi"\n\n  \n'), ("p.jsonl", '{"prompt": "say \\"hi\\"", "id": 1}\n\n')],
)
@pytest.mark.parametrize("body", [{"q": ["{prompt}!"]}, '{"q": ["{prompt}!"]}'])
def test_prompts_of_a_file_stay_one_text_whatever_is_in_them(
    server: Server, tmp_path: Path, file: str, text: str, body: object
) -> None:
    (tmp_path / file).write_text(text)
    one(server.url("number"), body=body, prompts=tmp_path / file)
    assert json.loads(server.seen[0][3]) == {"q": ['say "hi"!']}
    assert server.seen[0][2]["Content-Type"] == "application/json"


def test_a_prompt_may_stand_in_a_text_or_in_the_address(server: Server) -> None:
    one(server.url("number"), body="Q: {prompt}", prompts=["a & b"])
    assert server.seen[0][3] == "Q: a & b"
    arm = http_arms({"x": server.url("number?q={prompt}")}, method="GET", prompts=["a & b"])
    assert draw(arm).tolist() == [[4.5]]


def test_an_endpoint_has_its_own_method_headers_and_body_over_those_of_all(server: Server) -> None:
    url = server.url("number")
    arms = http_arms(
        {
            "a": Address(url, headers={"B": "2"}, body="two"),
            "b": {"url": url, "method": "GET"},
            "c": url,
        },
        headers={"A": "1", "B": "1"},
        body="one",
    )
    for name in arms:
        draw(arms, name=name)
    seen = [(method, headers["A"], headers["B"], body) for _, method, headers, body in server.seen]
    assert seen == [("POST", "1", "2", "two"), ("GET", "1", "1", "one"), ("POST", "1", "1", "one")]


@pytest.mark.parametrize(
    ("endpoint", "options", "said"),
    [
        ("ftp://host/x", {}, "url must be an address like https://host/path, got 'ftp://host/x'"),
        ("host/x", {}, "url must be an address"),
        (3, {}, "an endpoint is an address or has the fields url, method, headers, body (url is needed), got int"),
        ({"address": "http://host"}, {}, "(url is needed), got address"),
        (
            "http://host/?key=${K}",
            {},
            "names a variable, and addresses are written to logs; move the key into headers=",
        ),
        ("http://host", {"method": ""}, "method must be a word"),
        ("http://host", {"body": {"a": {1}}}, "body must be text or a JSON value"),
        ("http://host", {"body": "{prompt}"}, "{prompt} is used but there are no prompts"),
        ("http://host", {"prompts": ["a"]}, "prompts are given but used nowhere"),
        ("http://host", {"headers": {"A": 1}}, "the header 'A' must be text in ASCII"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything_is_called(
    endpoint: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        http_arms({"x": endpoint}, **options)
    assert said in str(caught.value)
