"""What is sent: an address, a method, headers and a body, with places for the prompt and for keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from kabc.arms.checks import expect
from kabc.arms.http.client import parsed_url
from kabc.arms.http.prompts import PROMPT
from kabc.arms.http.secrets import Keys, Sent, filled_body, literal_keys, names_variable, read_keys, with_keys
from kabc.core.errors import SettingsError
from kabc.core.secrets import hide_url, url_secrets


@dataclass(frozen=True)
class Address:
    """The address of one arm, with what differs from the other arms. None and {} mean: as for all arms."""

    url: str
    method: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None

    def __repr__(self) -> str:
        return f"Address({hide_url(str(self.url))!r}, method={self.method!r})"  # the others may hold keys


@dataclass(frozen=True)
class Call:
    """A call with places for the prompt and for keys."""

    url: str
    method: str
    headers: Mapping[str, str]
    body: Any
    prompts: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Call({self.method} {self.shown_url!r})"

    @property
    def shown_url(self) -> str:
        """The address without keys."""
        return hide_url(self.url)

    def keys(self) -> Keys:
        """All keys, with the current values of the variables. The caller must not keep them."""
        written = [key for forms in literal_keys(self.headers).values() for key in forms]
        return read_keys(self.headers.values(), self.body, [*written, *url_secrets(self.url)])

    def filled(self, prompt: str, keys: Mapping[str, str]) -> Sent:
        """The arguments of httpx for one call."""
        sent = Sent({"method": self.method, "url": self.url.replace(PROMPT, quote(prompt, safe=""))})
        sent["headers"] = {name: with_keys(text, keys) for name, text in self.headers.items()}
        if self.body is not None:
            sent["content" if isinstance(self.body, str) else "json"] = filled_body(self.body, prompt, keys)
        return sent


def call_of(name: str, given: str | Address | Mapping[str, Any], shared: Address, prompts: tuple[str, ...]) -> Call:
    """The call of one arm, checked: its own address over what all arms share."""
    try:
        own = _address(given)
        _check_url(own.url)
        method = own.method or shared.method
        expect(isinstance(method, str) and method.isalpha(), "method", method, "a word like 'POST' or 'GET'")
        body = _as_json(shared.body if own.body is None else own.body)
        call = Call(own.url, str(method), {**shared.headers, **own.headers}, body, prompts)
        _check_prompts(call)
        _check_headers(call.headers)
        call.keys()
    except SettingsError as error:
        error.of_arm(name)
        raise
    return call


def _address(given: str | Address | Mapping[str, Any]) -> Address:
    if isinstance(given, Address):
        return given
    try:
        return Address(given) if isinstance(given, str) else Address(**given)
    except TypeError:
        fields = ", ".join(Address.__dataclass_fields__)
    raise SettingsError(f"an endpoint is an address or has the fields {fields} (url is needed), got {_fields(given)}")


def _fields(given: object) -> str:
    # values may be keys, so only names are shown
    return ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__


def _as_json(body: Any) -> Any:
    """A text that is JSON as its value, so that a prompt with quotes in it stays one text."""
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except ValueError:
        return body


def _check_url(url: str) -> None:
    expect(isinstance(url, str), "url", url, "text")
    if names_variable(url):
        raise SettingsError(
            f"the address {hide_url(url)!r} names a variable, and addresses are written to logs; move the key into "
            "headers= or body="
        )
    parsed = parsed_url(url.replace(PROMPT, ""))
    right = parsed is not None and parsed.scheme in ("http", "https") and bool(parsed.host)
    expect(right, "url", hide_url(url), "an address like https://host/path")


def _check_prompts(call: Call) -> None:
    try:
        template = json.dumps(call.body)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"body must be text or a JSON value: {error}; correct it") from error
    used = PROMPT in template or PROMPT in call.url
    if used and not call.prompts[0]:
        raise SettingsError("{prompt} is used but there are no prompts; pass prompts=")
    if call.prompts[0] and not used:
        raise SettingsError("prompts are given but used nowhere; write {prompt} in body= or in the address")


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, text in headers.items():
        # the value may be a key, so it is not shown
        if not (isinstance(text, str) and text.isascii() and text.isprintable()):
            raise SettingsError(f"the header {name!r} must be text in ASCII on one line; correct it")
