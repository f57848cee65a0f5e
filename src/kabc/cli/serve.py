"""`kabc serve ...`: studies over HTTP, and the tokens for it. Bodies import what they need."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from kabc.cli import exits
from kabc.cli import options as common
from kabc.cli.stores import StorageOption, file_of, opened, storage_named
from kabc.core.errors import SettingsError

serve_app = typer.Typer(
    help="Studies over HTTP: people look at them, workers draw for them.", rich_markup_mode=None, add_completion=False
)
token_app = typer.Typer(help="Tokens for people and workers.", rich_markup_mode=None, add_completion=False)
serve_app.add_typer(token_app, name="token")

_DAY = 86_400.0


@serve_app.callback(invoke_without_command=True)
def serve(
    ctx: typer.Context,
    storage: StorageOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0: one that is free.")] = 8080,
    public_url: Annotated[
        str, typer.Option(metavar="URL", help="The address that people use, where a proxy stands in front.")
    ] = "",
    certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="TLS certificate, PEM.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key, PEM.")] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="On this machine alone: let everybody read without a token.")
    ] = False,
    as_json: common.Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log errors alone.")] = False,
    debug: common.Debug = False,
) -> int:
    """Serve the studies of a store until Ctrl-C. The address that is printed has a token that may do everything.

    Example: kabc serve --storage kabc.db
    """
    if ctx.invoked_subcommand is not None:
        return exits.DECIDED
    import logging
    import sys

    from kabc.server.serving import Listening, Place, serve

    where = storage_named(storage)
    file = file_of(where)
    if file is not None and not file.exists():
        raise SettingsError(f"there is no store {file}; check --storage, or make one: kabc run ... --study NAME")
    level = logging.ERROR if quiet else logging.INFO
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("kabc.server").setLevel(level)

    def say(found: Listening) -> None:
        if as_json:
            exits.print_json({"url": found.url, "address": found.address, "token": found.token})
        else:
            print(f"open {found.url}\nCtrl-C ends it; studies go on")
        sys.stdout.flush()

    with suppress(KeyboardInterrupt):
        serve(where, Place(host, port, public_url, certificate, key, token=not no_token), say)
    return exits.DECIDED


@token_app.command()
def create(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Whose it is.")],
    scope: Annotated[
        str, typer.Option(help="read: look; tell: draw for studies (kabc worker --server); admin: everything.")
    ] = "read",
    days: Annotated[float | None, typer.Option(min=0.001, help="Good for so many days. Default: for ever.")] = None,
    storage: StorageOption = None,
    as_json: common.Json = False,
    debug: common.Debug = False,
) -> int:
    """Make a token, and print it: once. The store has only its hash.

    Example: kabc serve token create "worker of host 7" --scope tell --storage kabc.db
    """
    from kabc.cli.tokens import create_it

    with opened(storage) as store:
        return create_it(store, label, scope, None if days is None else days * _DAY, as_json=as_json)


@token_app.command("list")
def list_(storage: StorageOption = None, as_json: common.Json = False, debug: common.Debug = False) -> int:
    """All tokens, without the tokens themselves.

    Example: kabc serve token list --storage kabc.db
    """
    from kabc.cli.tokens import list_them

    with opened(storage) as store:
        return list_them(store, as_json=as_json)


@token_app.command()
def revoke(
    token: Annotated[
        int, typer.Argument(metavar="NUMBER", min=1, max=2**63 - 1, help="As kabc serve token list has it.")
    ],
    storage: StorageOption = None,
    as_json: common.Json = False,
    debug: common.Debug = False,
) -> int:
    """Let a token open nothing any more, also in servers that run.

    Example: kabc serve token revoke 3 --storage kabc.db
    """
    from kabc.cli.tokens import revoke_it

    with opened(storage) as store:
        return revoke_it(store, token, as_json=as_json)
