"""Keys: they reach the server and nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kabc.arms.http import Address, http_arms
from kabc.arms.http.secrets import hidden
from kabc.core.errors import ArmError, KabcError, SettingsError
from tests.arms.http.server import Server, draw

SECRET = "sk-very-secret-0123456789"


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("echo", {}),
        ("echo", {"on_failure": "retry"}),
        ("echo_words", {}),
        ("echo_json", {}),
        ("echo_json", {"value": "error"}),
        ("echo_json", {"value": "error.x"}),
        ("echo_json", {"value": "error.0", "kind": "text"}),
        ("closed", {}),
    ],
)
def test_a_key_reaches_the_server_and_nothing_else(
    server: Server,
    path: str,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("THE_KEY", SECRET)
    headers = {"Authorization": "Bearer ${THE_KEY}", "X-Plain": "as it is"}
    address = Address(server.url(path), headers=headers)
    arms = http_arms({"x": address}, **options)
    for _ in range(32 if path == "echo" else 1):
        with pytest.raises(ArmError) as caught:
            arms["x"].draw(1, np.random.default_rng(0))
        assert SECRET[:6] not in str(caught.value) + repr(caught.value)
        # errors of libraries and parsers hold what was sent and what came back
        assert all(isinstance(error, KabcError | LookupError | TypeError) for error in chain(caught.value))
    assert server.seen[0][2]["Authorization"] == f"Bearer {SECRET}"
    assert server.seen[0][2]["X-Plain"] == "as it is"
    held = [repr(arms), repr(arms["x"]), repr(vars(arms["x"])), repr(address), repr(arms.notes), caplog.text]
    arms["x"].close()  # type: ignore[attr-defined]
    for text in held:
        assert SECRET[:6] not in text


@pytest.mark.parametrize("value", [None, "", "two\nlines", "f\u00fcnf"])
def test_a_variable_that_is_not_set_or_no_header_is_refused_before_the_first_call(
    server: Server, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"Authorization": "Bearer ${THE_KEY}"}
    monkeypatch.setenv("THE_KEY", SECRET)
    arms = http_arms({"x": server.url("number")}, headers=headers)
    monkeypatch.delenv("THE_KEY") if value is None else monkeypatch.setenv("THE_KEY", value)
    for attempt in (lambda: http_arms({"x": server.url("number")}, headers=headers), lambda: draw(arms)):
        with pytest.raises(SettingsError, match=r"arm 'x': .*variable THE_KEY") as caught:
            attempt()
        assert not value or value not in str(caught.value)
    assert not server.seen


def test_keys_are_hidden_wherever_they_are_in_a_json_value() -> None:
    said = {"a key": [f"Bearer {SECRET}!", 3, None], SECRET: {"x": SECRET * 2}}
    shown = {"a key": ["Bearer ${K}!", 3, None], "${K}": {"x": "${K}${K}"}}
    assert hidden(said, {"K": SECRET}) == shown
