"""Endpoints that get the same prompts: at the same places of a round, in a real run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kabc
from kabc.arms.http import http_arms
from kabc.config.overlay import configured
from kabc.config.sources import open_arms
from kabc.core.errors import SettingsError
from tests.arms.http.server import Server

BODY = {"messages": [{"content": "{prompt}"}]}
PROMPTS = [f"prompt number {number}" for number in range(40)]


def asked(server: Server) -> list[str]:
    return [json.loads(body)["messages"][0]["content"] for _, _, _, body in server.seen]


def call(server: Server, **options: Any) -> tuple[kabc.Result, list[list[str]]]:
    """Three arms one after another, one call at a time: what each was asked in the first two rounds."""
    endpoints = {name: server.url("chat") for name in "abc"}
    arms = http_arms(endpoints, body=BODY, prompts=PROMPTS, value="n", concurrency=1, **options)
    result = kabc.cluster(arms, 2, seed=5, max_samples=9, workers=1, progress=False)
    prompts = asked(server)
    return result, [prompts[0:2], prompts[2:4], prompts[4:6], prompts[6:7], prompts[7:8], prompts[8:9]]


def test_paired_endpoints_are_asked_the_same_at_the_same_places(server: Server) -> None:
    result, asked_of = call(server, paired=True)
    assert result.n_samples == 9
    assert asked_of[0] == asked_of[1] == asked_of[2]
    assert asked_of[3] == asked_of[4] == asked_of[5]
    assert "match" in result.certificate()


def test_without_pairs_each_endpoint_has_prompts_of_its_own(server: Server) -> None:
    _, asked_of = call(server)
    assert not asked_of[0] == asked_of[1] == asked_of[2]


def test_pairs_need_prompts(server: Server) -> None:
    with pytest.raises(SettingsError, match=r"paired=True compares answers to the same prompt.*pass prompts="):
        http_arms({"a": server.url("chat")}, paired=True)


def test_a_file_of_settings_can_ask_for_pairs_categories_and_log_probabilities(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        '[http]\nbody = "{prompt}"\nprompts = ["x"]\npaired = true\nkind = "category"\nvalue = "a"\nlogprob = "b"\n'
        '[http.endpoints]\na = "http://localhost/a"\nb = "http://localhost/b"\n'
    )
    arms = open_arms(configured(study, {}), 0, with_kernel=False)
    assert arms.columns == ("answer", "logprob")
    assert all(arm.paired for arm in arms.values())  # type: ignore[attr-defined]
