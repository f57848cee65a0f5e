"""`kabc check`: a gate. Its body imports what it needs, so help and error messages appear at once."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kabc.cli import exits
from kabc.cli import options as common
from kabc.cli.stores import OF_STUDIES
from kabc.config.errors import ConfigError

if TYPE_CHECKING:
    from kabc.config.models import Config
    from kabc.results.values import Result

# settings that a check has not
_OF_RUN = ("clusters", "strategy", "options", "min_separation", "pilot", "check_k")


def check(
    ctx: typer.Context,
    data: common.Data = None,
    this: Annotated[str | None, typer.Option(metavar="ARM", help="The arm that is checked.")] = None,
    same_as: Annotated[
        str | None,
        typer.Option(metavar="ARM,...|rest", help="The reference: one arm, or several as one pool. rest: all others."),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE|COLUMN=SIZE,...",
            help="The smallest difference that matters, such as 2%, '0.2 sd', 5 or '1% outliers'.",
        ),
    ] = None,
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
    config: common.ConfigFile = None,
    allow_commands: common.AllowCommands = False,
    delta: common.Delta = None,
    max_samples: common.MaxSamples = None,
    block: common.Block = None,
    seed: common.Seed = None,
    workers: common.Workers = None,
    watch: common.WatchIt = None,
    save: Annotated[str | None, typer.Option(help="Write the answer to a file for kabc show.")] = None,
    report: common.Report = None,
    title: common.Title = None,
    junit: Annotated[str | None, typer.Option(metavar="FILE.xml", help="Write the answer as a JUnit test.")] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Print an annotation for GitHub Actions, and add to the step summary.")
    ] = False,
    certificate: common.Certificate = False,
    as_json: common.Json = False,
    quiet: common.Quiet = None,
    debug: common.Debug = False,
) -> int:
    """Is this arm the same as a reference, within a tolerance? A gate for pipelines.

    Exit 0: same, 5: different, 3: not known, 6: an assumption does not hold, 2: bad input.

    Example: kabc check data.parquet --arm host --values latency --this web-077 --same-as web-001,web-002 --tolerance 2%
    """
    from kabc.cli.calls import Call
    from kabc.cli.notices import show_commands
    from kabc.cli.outputs import Outputs
    from kabc.cli.run import answered
    from kabc.cli.show import Look
    from kabc.config.overlay import configured, listed

    settings = configured(config, common.given_options(ctx.params))
    _expect_check(settings, config, this, same_as)
    show_commands(settings, config, quiet=quiet or bool(command))
    reference = same_as if same_as == "rest" else listed(same_as)
    outputs = Outputs(settings.save, settings.report, junit, github=github, title=settings.title)
    look = Look(as_json=as_json, certificate=certificate)
    call, draw = ctx.obj or Call(), lambda: _checked(settings, this, reference, quiet)
    return answered(settings, config, call, look, outputs, draw, quiet=quiet, debug=debug)


def _expect_check(config: Config, file: Path | None, this: str | None, same_as: str | None) -> None:
    """Refuse what is missing, and settings that would be ignored."""
    for option, value, meaning in (
        ("--this", this, "the arm that is checked"),
        ("--same-as", same_as, "the reference: arms separated by commas, or rest for all others"),
        ("--tolerance", config.tolerance, "the smallest difference that matters, such as 2%"),
    ):
        if value is None:
            raise ConfigError(f"kabc check needs {option}, {meaning}")
    for name in (*_OF_RUN, *OF_STUDIES):
        if getattr(config, name) not in (None, {}):
            raise ConfigError(f"{file}: {name} is for kabc run, and kabc check has no use for it; leave it out")


def _checked(config: Config, this: Any, same_as: Any, quiet: bool | None) -> Result:
    from kabc.cli.live import LivePanel
    from kabc.config.sources import open_arms, opening
    from kabc.running.check import check as run_check

    seed = secrets.randbits(32) if config.seed is None else config.seed
    with LivePanel(quiet=quiet) as panel:
        with panel.during(opening(config)):
            arms = open_arms(config, seed, with_kernel=False)
        if not quiet:
            exits.warn(arms.warnings)
        return run_check(
            arms,
            this=this,
            same_as=same_as,
            tolerance=config.tolerance,
            delta=config.delta,
            max_samples=config.max_samples,
            block=config.block,
            seed=seed,
            workers=config.workers,
            watch=config.watch,
            progress=panel,
            on_round=panel.after,
        )
