"""`kabc outliers`: odd ones out. Its body imports what it needs, so help and error messages appear at once."""

from __future__ import annotations

import secrets
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kabc.cli import exits
from kabc.cli import options as common
from kabc.cli.stores import OF_STUDIES
from kabc.config.errors import ConfigError

if TYPE_CHECKING:
    from kabc.config.models import Config
    from kabc.results.outliers import OutliersResult
    from kabc.running.interrupts import Interrupts

# settings of a file that outliers has not
_OF_RUN = (
    "clusters",
    "delta",
    "strategy",
    "options",
    "min_separation",
    "pilot",
    "check_k",
    "report",
    "title",
)


def outliers(
    ctx: typer.Context,
    data: common.Data = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE|COLUMN=SIZE,...",
            help="The smallest difference that matters, such as 2%, '0.2 sd', 5 or '1% outliers'. Default: any.",
        ),
    ] = None,
    fdr: Annotated[
        float, typer.Option(help="Bound of the expected share of false ones among the arms listed as odd.")
    ] = 0.05,
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
    max_samples: common.MaxSamples = None,
    block: common.Block = None,
    seed: common.Seed = None,
    workers: common.Workers = None,
    watch: common.WatchIt = None,
    save: Annotated[str | None, typer.Option(help="Write the answer to a file for kabc show.")] = None,
    as_json: common.Json = False,
    quiet: common.Quiet = None,
    debug: common.Debug = False,
) -> int:
    """Which arms differ from the rest? Each one against the average of all others, the odd ones first.

    Exit 0: none is odd, 5: some are, 3: not known, 6: an assumption does not hold, 2: bad input.

    Example: kabc outliers calls.parquet --arm host --values latency --tolerance 2%
    """
    from kabc.cli.calls import Call
    from kabc.cli.notices import show_commands
    from kabc.cli.outputs import Outputs
    from kabc.config.overlay import configured
    from kabc.config.sources import input_files
    from kabc.running.interrupts import command_interrupts
    from kabc.running.progress import Ticker

    settings = configured(config, common.given_options(ctx.params))
    _expect_outliers(settings, config)
    show_commands(settings, config, quiet=quiet or bool(command))
    # before any sample is drawn, because samples may cost money
    Outputs(settings.save).expect_usable(input_files(settings) + ([] if config is None else [str(config)]))
    call = ctx.obj or Call()
    with command_interrupts(Ticker(not quiet), to_the_end=call.last) as interrupts:
        result, failed = _ended(settings, fdr, quiet)
        interrupts.over()
        code = exits.UNDECIDED if failed is not None else exits.of_odd_ones(result)
        problem = exits.printed(lambda: print_odd_ones(result, as_json=as_json))
        problem = problem or _saved(result, settings.save, interrupts, as_json)
        if failed is not None:
            if debug:
                traceback.print_exception(failed)
            exits.fail(exits.for_the_shell(str(failed)), code, as_json=False)  # the answer is the document
        return exits.fail(problem, exits.BAD_INPUT, as_json=False) if problem else code


def _expect_outliers(config: Config, file: Path | None) -> None:
    """Refuse settings that would be ignored."""
    for name in (*_OF_RUN, *OF_STUDIES):
        if name in config.model_fields_set:
            raise ConfigError(f"{file}: {name} is for kabc run, and kabc outliers has no use for it; leave it out")


def _ended(config: Config, fdr: float, quiet: bool | None) -> tuple[OutliersResult, Exception | None]:
    """The answer, and the error that ended the run, if one did. Errors before the first comparison are raised."""
    from kabc.results.outliers import OutliersResult

    try:
        return _found(config, fdr, quiet), None
    except Exception as error:
        so_far = getattr(error, "result", None)
        if not isinstance(so_far, OutliersResult):
            raise
        return so_far, error


def _found(config: Config, fdr: float, quiet: bool | None) -> OutliersResult:
    from kabc.cli.live import LivePanel
    from kabc.config.sources import open_arms, opening
    from kabc.running.outliers import outliers as run_outliers

    seed = secrets.randbits(32) if config.seed is None else config.seed
    with LivePanel(quiet=quiet) as panel:
        with panel.during(opening(config)):
            arms = open_arms(config, seed, with_kernel=False)
        if not quiet:
            exits.warn(arms.warnings)
        return run_outliers(
            arms,
            tolerance=config.tolerance,
            fdr=fdr,
            max_samples=config.max_samples,
            block=config.block,
            seed=seed,
            workers=config.workers,
            watch=config.watch,
            progress=panel,
        )


def _saved(result: OutliersResult, path: str | None, interrupts: Interrupts, as_json: bool) -> str:
    """Write the answer, and say so; why it could not be written, or empty."""
    from kabc.cli.show import written

    try:
        return "" if path is None else written("saved", path, result.save, interrupts, as_json=as_json)
    except KeyboardInterrupt:  # for the second time
        return f"interrupted; not written: {path}"


def print_odd_ones(result: OutliersResult, *, as_json: bool) -> None:
    """The answer, for people or for programs."""
    if as_json:
        exits.print_json(result.to_dict())
        return
    lines = str(result).split("\n")
    print("\n".join(exits.for_the_shell(line) if line.startswith("note: ") else line for line in lines))
