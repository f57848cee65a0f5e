"""Keys: they reach the server and nothing else."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn
from urllib.parse import quote

import httpx
import numpy as np
import pytest

from kabc.arms.base import NamedArms
from kabc.arms.http import Address, http_arms
from kabc.arms.http.client import Client
from kabc.arms.http.logs import without_keys
from kabc.arms.http.secrets import Keys, LiteralKeyWarning, hidden
from kabc.core.errors import ArmError, KabcError, SettingsError
from tests.arms.http.server import Server, draw, one

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


# ---------------------------------------------------------------- keys that are written out


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {SECRET}"},
        {"X-Api-Key": SECRET},
        {"Cookie": f"theme=dark; session={SECRET}"},
        {"X-Strange": SECRET},
        {"Authorization": "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()},
    ],
)
def test_a_key_that_is_written_out_gives_a_warning_and_is_hidden_in_echoes(
    server: Server, headers: dict[str, str]
) -> None:
    with pytest.warns(LiteralKeyWarning, match=r"keys: written out in 1 header \('[\w-]+'\); write \$\{NAME\}") as seen:
        arms = http_arms({"x": server.url("echo_all"), "y": server.url("echo_all")}, headers=headers)
    assert len(seen) == 1
    assert str(seen[0].message) in arms.notes
    with pytest.raises(ArmError) as caught:
        draw(arms)
    assert_hidden(str(caught.value), repr(arms), repr(vars(arms["x"])), SECRET=SECRET)
    assert "***" in str(caught.value)


def test_other_headers_and_variables_give_no_warning(recwarn: pytest.WarningsRecorder, monkeypatch: Any) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    headers = {
        "Authorization": "Bearer ${THE_KEY}",
        "X-Api-Key": "${THE_KEY}",
        "Content-Type": "application/json; charset=utf-8",
        "X-Version": "2023-06-01",
        "User-Agent": "kabc/0.2.0 (a-test)",
    }
    assert http_arms({"x": "http://host"}, headers=headers).notes == ()
    assert not recwarn.list


# ---------------------------------------------------------------- keys in addresses and bodies


@pytest.mark.parametrize(
    "change",
    [
        lambda url: f"{url}?api_key={SECRET}&n=3",
        lambda url: url.replace("//", f"//me:{SECRET}@"),
        lambda url: f"{url}?n=3#token={SECRET}",
    ],
)
def test_a_key_in_an_address_is_in_no_text(server: Server, change: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for path in ("number", "echo_all"):
        address = Address(change(server.url(path)))
        arms = http_arms({"x": address}, method="GET")
        try:
            draw(arms)
        except ArmError as error:
            assert_hidden(str(error), SECRET=SECRET)
        assert_hidden(repr(address), repr(arms), repr(vars(arms["x"])), SECRET=SECRET)
    assert "HTTP Request" in caplog.text  # the client did write a log
    assert_hidden(caplog.text, SECRET=SECRET)
    with pytest.raises(SettingsError) as caught:
        http_arms({"x": "ftp" + change("://host/")})
    assert_hidden(str(caught.value), SECRET=SECRET)


def test_logs_of_other_calls_stay_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with without_keys(Keys([], ["one-key"])):
        logging.getLogger("httpx").info("%s with one-key", "call")
        logging.getLogger("other").info("one-key")
    logging.getLogger("httpx").info("one-key")
    assert [record.getMessage() for record in caplog.records] == ["call with ***", "one-key", "one-key"]


@pytest.mark.parametrize("body", [{"auth": {"key": "${BODY_KEY}"}, "q": "{prompt}"}, "key=${BODY_KEY}&q={prompt}"])
def test_a_variable_in_the_body_reaches_the_server_and_nothing_else(
    server: Server, body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BODY_KEY", 'a "quoted" secret-1')
    arms = http_arms({"x": server.url("echo_all")}, body=body, prompts=["say ${HOME}"])
    with pytest.raises(ArmError) as caught:
        draw(arms)
    sent = server.seen[0][3]
    whole = {"auth": {"key": 'a "quoted" secret-1'}, "q": "say ${HOME}"}
    assert json.loads(sent) == whole if isinstance(body, dict) else sent == 'key=a "quoted" secret-1&q=say ${HOME}'
    assert "secret-1" not in str(caught.value)
    assert "${BODY_KEY}" in str(caught.value)


def test_a_category_that_is_a_key_is_kept_without_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Categories are kept as texts, so that people can read what a number stands for."""
    for value, category in ((SECRET, "a ***"), ("yes", "a yes")):
        monkeypatch.setenv("THE_KEY", value)
        body = {"messages": [{"content": "a ${THE_KEY}"}]}
        arms = http_arms(
            {"x": Address(server.url("chat"), body=body)}, value="choices.0.message.content", kind="category"
        )
        draw(arms, 2)
        assert list(arms.levels["answer"].values()) == [category]


def test_a_dollar_sign_may_stand_before_a_prompt_or_a_name(server: Server) -> None:
    one(server.url("number"), body={"a": "${prompt}", "b": "$${NAME}", "c": "$5"}, prompts=["3"])
    assert json.loads(server.seen[0][3]) == {"a": "$3", "b": "${NAME}", "c": "$5"}


def test_a_variable_of_the_body_that_is_not_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BODY_KEY", raising=False)
    with pytest.raises(SettingsError, match="arm 'x': the body needs the variable BODY_KEY, which is not set"):
        http_arms({"x": "http://host"}, body={"key": "${BODY_KEY}"})


# ---------------------------------------------------------------- tracebacks that print local variables


def forms(secret: str) -> list[str]:
    data = secret.encode()
    inner = base64.b64encode(b"Bearer " + data).decode()[12:-8]  # where it follows the word
    return [secret[:8], quote(secret, safe=""), base64.b64encode(data).decode()[:-4], inner, data.hex()]


def assert_hidden(*texts: str, **secrets: str) -> None:
    for text in texts:
        for secret in secrets.values():
            assert not [form for form in forms(secret) if form in text], text


def printed(error: BaseException) -> str:
    return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


class BrokenTransport(httpx.BaseTransport):
    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        sent = dict(request.headers)
        raise self.error(f"not sent: {sent}")


@pytest.mark.parametrize("error", [RuntimeError, httpx.ReadError, httpx.ReadTimeout])
@pytest.mark.parametrize("on_failure", ["raise", "retry"])
def test_a_traceback_with_local_variables_shows_no_key_when_the_client_fails(
    server: Server, error: type[Exception], on_failure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    client = httpx.Client(transport=BrokenTransport(error))
    monkeypatch.setattr(Client, "_opened", lambda self: client)
    arms = keyed(server, "number", on_failure=on_failure, retries=1)
    with pytest.raises(ArmError) as caught:
        draw(arms)
    assert "prompt = ''" in printed(caught.value)  # local variables are there
    assert_hidden(printed(caught.value), SECRET=SECRET)


def test_a_traceback_with_local_variables_shows_no_key_when_sending_fails(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(self: Client, sent: dict[str, Any]) -> NoReturn:
        raise ZeroDivisionError(sent["headers"]["Authorization"])

    monkeypatch.setenv("THE_KEY", SECRET)
    monkeypatch.setattr(Client, "send", send)
    with pytest.raises(ArmError, match=r"its HTTP client failed: 'ZeroDivisionError: Bearer \$\{THE_KEY\}'") as caught:
        draw(keyed(server, "number"))
    assert_hidden(printed(caught.value), SECRET=SECRET)


@pytest.mark.parametrize("path", ["echo_all", "echo_words", "echo_json", "closed"])
def test_a_traceback_with_local_variables_shows_no_key_that_a_server_quotes(
    server: Server, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    with pytest.raises(ArmError) as caught:
        draw(keyed(server, path, value="x"))
    assert_hidden(printed(caught.value), SECRET=SECRET)


def test_a_traceback_with_local_variables_shows_no_key_beside_one_that_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_KEY", SECRET)
    monkeypatch.setenv("B_KEY", SECRET + "\n")
    monkeypatch.delenv("C_KEY", raising=False)
    for name in ("B_KEY", "C_KEY"):
        with pytest.raises(SettingsError, match=name) as caught:
            http_arms({"x": "http://host"}, headers={"A": "${A_KEY}", "B": f"${{{name}}}"})
        assert_hidden(printed(caught.value), SECRET=SECRET)


def keyed(server: Server, path: str, **options: Any) -> NamedArms:
    return http_arms(
        {"x": server.url(path)},
        headers={"Authorization": "Bearer ${THE_KEY}", "X-Key": "${THE_KEY}"},
        body={"key": "${THE_KEY}"},
        **options,
    )
