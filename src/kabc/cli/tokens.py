"""What `kabc serve token` does, command by command."""

from __future__ import annotations

import sys

from kabc.cli import exits
from kabc.cli.times import day
from kabc.core.errors import SettingsError
from kabc.core.words import named, shown
from kabc.server.access import digest_of, new_token
from kabc.storage.contract import Scope, Storage, TokenRecord

_SCOPES: tuple[Scope, ...] = ("read", "tell", "admin")


def create_it(storage: Storage, label: str, scope: str, seconds: float | None, *, as_json: bool) -> int:
    """A new token, which is printed once. It is alone on standard output, where `KABC_TOKEN=$(...)` reads it."""
    if scope not in _SCOPES:
        raise SettingsError(f"--scope is {', '.join(_SCOPES)}, got {scope!r}")
    token = new_token()
    made = storage.add_token(label, scope, digest_of(token), seconds)
    if as_json:
        exits.print_json({**_facts(made), "token": token})
    else:
        print(token)
        about = f"token {made.id} of {named(made.label)}: {made.scope}{_until(made)}; it is not shown again"
        print(about, file=sys.stderr)
    return exits.DECIDED


def list_them(storage: Storage, *, as_json: bool) -> int:
    """A line for each."""
    found, now = storage.tokens(), storage.now()
    if as_json:
        exits.print_json({"storage": storage.url, "tokens": [_facts(one) for one in found]})
        return exits.DECIDED
    if not found:
        print(shown(f"no tokens in {storage.url}; kabc serve token create LABEL makes one"))
    for one in found:
        over = " (over)" if one.expires is not None and one.expires <= now else ""
        print(f"{one.id}  {one.scope:<5}  {named(one.label)}, made {day(one.created)}{_until(one)}{over}")
    return exits.DECIDED


def revoke_it(storage: Storage, token: int, *, as_json: bool) -> int:
    """Forget it."""
    if not storage.remove_token(token):
        raise SettingsError(f"there is no token {token}; kabc serve token list shows them all")
    if as_json:
        exits.print_json({"revoked": token})
    else:
        print(f"token {token}: revoked")
    return exits.DECIDED


def _facts(one: TokenRecord) -> dict[str, object]:
    return {"id": one.id, "label": one.label, "scope": one.scope, "created": one.created, "expires": one.expires}


def _until(one: TokenRecord) -> str:
    return "" if one.expires is None else f", until {day(one.expires)}"
