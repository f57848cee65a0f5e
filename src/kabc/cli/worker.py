"""`kabc worker`: draws for a study. Its body imports what it needs, so help and error messages appear at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kabc.cli import exits
from kabc.cli import options as common
from kabc.cli.stores import StorageOption, opened, storage_named
from kabc.config.errors import ConfigError
from kabc.core.words import counted, did_you_mean, in_short, named, shown

if TYPE_CHECKING:
    from kabc.arms.base import NamedArms
    from kabc.config.models import Config
    from kabc.running.work import Worked
    from kabc.storage.contract import Storage
    from kabc.study.spec import Spec

TOKEN = "KABC_TOKEN"


def worker(
    ctx: typer.Context,
    data: common.Data = None,
    storage: StorageOption = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="URL", help=f"Instead of --storage: a kabc serve. Its token is in {TOKEN}."),
    ] = None,
    study: Annotated[str | None, typer.Option(metavar="NAME", help="The study to draw for.")] = None,
    arms: Annotated[
        str | None, typer.Option(metavar="ARM,...", help="Draw only these arms. Default: all that are given here.")
    ] = None,
    stay: Annotated[bool, typer.Option("--stay", help="Wait for more when the study is paused or has ended.")] = False,
    lease: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Without a sign of life for so long, others draw instead.")
    ] = 60.0,
    config: common.ConfigFile = None,
    allow_commands: common.AllowCommands = False,
    arm: common.Arm = None,
    values: common.Values = None,
    wide: common.Wide = None,
    types: common.Types = None,
    missing: common.Missing = None,
    order: common.Order = None,
    where: common.Where = None,
    sql: common.Sql = None,
    database: common.Database = None,
    command: common.Command = None,
    measure: common.Measure = None,
    timeout: common.Timeout = None,
    warmup: common.Warmup = None,
    on_failure: common.OnFailure = None,
    workers: common.Workers = None,
    as_json: common.Json = False,
    quiet: common.Quiet = None,
    debug: common.Debug = False,
) -> int:
    """Draw for a study, beside any number of others, here and on other machines, until it ends.

    The arms are given as for kabc run; those that are not given here are left to others.

    Example: kabc worker --storage postgresql://me@db/studies --study nightly --config arms.toml

    By URL: KABC_TOKEN=... kabc worker --server https://studies.example.org --study nightly --config arms.toml
    """
    from kabc.cli.notices import show_commands
    from kabc.config.overlay import configured, listed

    settings = configured(config, common.given_options(ctx.params))
    if settings.study is None:
        raise ConfigError("kabc worker needs --study, the name of the study to draw for")
    if server is not None and settings.storage is not None:
        raise ConfigError("give --storage or --server, not both")
    at = partial(opened, storage_named(settings.storage)) if server is None else partial(_at_server, server)
    show_commands(settings, config, quiet=quiet or bool(command))
    done = _worked(settings, at, settings.study, listed(arms), stay=stay, lease=lease, quiet=quiet)
    _tell(done, settings.study, as_json=as_json)
    return exits.UNDECIDED if done.state == "left" else exits.DECIDED


@contextmanager
def _at_server(url: str) -> Iterator[Storage]:
    """A server as a store. The token is in the environment: in a command line others see it."""
    import os

    from kabc.server.client import open_server

    token = os.environ.get(TOKEN, "")
    if not token.strip():
        raise ConfigError(f"set {TOKEN} to a token of scope tell (kabc serve token create LABEL --scope tell)")
    with closing(open_server(url, token)) as store:
        yield store


def _worked(
    config: Config,
    at: Callable[[], AbstractContextManager[Storage]],
    study: str,
    only: list[str] | None,
    *,
    stay: bool,
    lease: float,
    quiet: bool | None,
) -> Worked:
    from kabc.cli.live import LivePanel
    from kabc.config.sources import open_arms, opening
    from kabc.running.interrupts import command_interrupts
    from kabc.running.work import work
    from kabc.strategies import needs_kernel

    with at() as store, LivePanel(quiet=quiet) as panel, command_interrupts(panel):

        def arms_of(spec: Spec) -> NamedArms:
            with panel.during(opening(config)):
                given = open_arms(config, spec.seed, with_kernel=needs_kernel(spec.strategy))
            if not quiet:
                exits.warn(given.warnings)
            return _chosen(given, only)

        return work(store, study, arms_of, workers=config.workers, stay=stay, lease_seconds=lease, progress=panel)


def _chosen(given: NamedArms, only: list[str] | None) -> NamedArms:
    """The arms that were asked for."""
    from kabc.arms.base import NamedArms

    if only is None:
        return given
    for name in only:
        if name not in given:
            there = in_short(map(shown, given))
            raise ConfigError(f"--arms: there is no arm {name!r}; {did_you_mean(name, given)}there are {there}")
    about = (given.notes, given.columns, given.price, given.types, given.levels, given.warnings, given.source)
    return NamedArms({name: arm for name, arm in given.items() if name in only}, *about)


def _tell(done: Worked, study: str, *, as_json: bool) -> None:
    if as_json:
        exits.print_json({"study": study, **asdict(done)})
        return
    how = {"ended": "has ended", "paused": "is paused", "left": "goes on without this worker"}[done.state]
    late = f"; {counted(done.n_superseded, 'draw')} came too late" if done.n_superseded else ""
    drawn = f"{counted(done.n_draws, 'draw')}, {counted(done.n_samples, 'sample')} here{late}"
    print(f"study {named(study)} {how}: {drawn}")
