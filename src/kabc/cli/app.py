"""The commands and their options. Each body imports what it needs, so help and error messages appear at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kabc.cli import exits
from kabc.cli.calls import Call
from kabc.cli.check import check
from kabc.cli.doctor import doctor
from kabc.cli.options import (
    AllowCommands,
    Arm,
    Block,
    Certificate,
    CheckK,
    Clusters,
    Command,
    ConfigFile,
    Data,
    Database,
    Debug,
    Delta,
    Everyone,
    Evidence,
    Json,
    MaxSamples,
    Measure,
    MinSeparation,
    Missing,
    OnFailure,
    OnWorkerLoss,
    Options,
    Order,
    Pilot,
    Quiet,
    Report,
    Seed,
    Sql,
    StrategyName,
    Timeout,
    Title,
    ToleranceOption,
    Types,
    Values,
    Warmup,
    WatchIt,
    Where,
    Wide,
    Workers,
    given_options,
)
from kabc.cli.outliers import outliers
from kabc.cli.serve import serve_app
from kabc.cli.stores import StorageOption, StudyOption
from kabc.cli.study import study_app
from kabc.cli.worker import worker
from kabc.config.errors import ConfigError
from kabc.core.errors import KabcError, SettingsError

app = typer.Typer(
    name="kabc",
    help="Which of my N sources of data (arms) are the same - proven, with as few samples as possible.",
    epilog="Exit codes: 0 decided, 3 undecided, 4 more groups than asked for, 6 doubtful, 2 bad input, 1 fault; "
    "of compare: 0 same groups, 5 changed, 3 changed but only by a guess; of check: 0 same, 5 different, 3 not known; "
    "of outliers: 0 none, 5 some odd, 3 not known.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help, because loading rich would take longer than everything else
)

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # its module depends on the version of typer
_INTERRUPTED = 130


def _print_version(wanted: bool) -> None:
    if wanted:
        from kabc import __version__

        print(f"kabc {__version__}")
        raise typer.Exit


@app.callback()
def _kabc(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """The common parent of all commands."""


@app.command()
def run(
    ctx: typer.Context,
    data: Data = None,
    arm: Arm = None,
    values: Values = None,
    wide: Wide = None,
    types: Types = None,
    missing: Missing = None,
    order: Order = None,
    where: Where = None,
    sql: Sql = None,
    database: Database = None,
    command: Command = None,
    measure: Measure = None,
    timeout: Timeout = None,
    warmup: Warmup = None,
    on_failure: OnFailure = None,
    config: ConfigFile = None,
    allow_commands: AllowCommands = False,
    clusters: Clusters = None,
    delta: Delta = None,
    strategy: StrategyName = None,
    option: Options = None,
    max_samples: MaxSamples = None,
    min_separation: MinSeparation = None,
    pilot: Pilot = None,
    block: Block = None,
    check_k: CheckK = None,
    tolerance: ToleranceOption = None,
    seed: Seed = None,
    workers: Workers = None,
    on_worker_loss: OnWorkerLoss = None,
    watch: WatchIt = None,
    storage: StorageOption = None,
    study: StudyOption = None,
    save: Annotated[str | None, typer.Option(help="Write the answer to a file for kabc show and compare.")] = None,
    report: Report = None,
    title: Title = None,
    certificate: Certificate = False,
    everyone: Everyone = False,
    as_json: Json = False,
    evidence: Evidence = False,
    quiet: Quiet = None,
    debug: Debug = False,
) -> int:
    """Draw samples until the groups are known, and print them.

    Example: kabc run data.parquet --arm machine --values vibration,temp --clusters 3
    """
    from kabc.cli.notices import show_commands
    from kabc.cli.run import run_it
    from kabc.cli.show import Look
    from kabc.config.overlay import configured

    look = Look.of(as_json=as_json, evidence=evidence, certificate=certificate, everyone=everyone)
    settings = configured(config, given_options(ctx.params))
    show_commands(settings, config, quiet=quiet or bool(command))
    return run_it(settings, config, ctx.obj or Call(), look, quiet=quiet, debug=debug)


app.command()(check)
app.command()(outliers)


@app.command()
def plan(
    ctx: typer.Context,
    data: Data = None,
    arm: Arm = None,
    values: Values = None,
    wide: Wide = None,
    types: Types = None,
    missing: Missing = None,
    order: Order = None,
    where: Where = None,
    sql: Sql = None,
    database: Database = None,
    command: Command = None,
    measure: Measure = None,
    timeout: Timeout = None,
    warmup: Warmup = None,
    on_failure: OnFailure = None,
    config: ConfigFile = None,
    allow_commands: AllowCommands = False,
    clusters: Clusters = None,
    delta: Delta = None,
    tolerance: ToleranceOption = None,
    seed: Seed = None,
    pilot: Pilot = None,
    gap: Annotated[
        float | None,
        typer.Option(help="Use this instead of a pilot: distance of the group means in standard deviations."),
    ] = None,
    arms: Annotated[int | None, typer.Option(help="Number of arms, needed with --gap.")] = None,
    price: Annotated[
        float | None, typer.Option(min=0, help="Price of one sample. Adds a column with the total price.")
    ] = None,
    seconds_per_sample: Annotated[float | None, typer.Option(min=0, help="Adds a column with the total time.")] = None,
    save_pilot: Annotated[
        str | None, typer.Option(metavar="FILE.csv", help="Keep the samples of the pilot, to plan again for free.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = None,
    debug: Debug = False,
) -> int:
    """Estimate the cost of a run, from a pilot or an assumed gap. Shows strategies or tolerances side by side.

    Example: kabc plan pilot.csv --arm endpoint --tolerance 2% --price 0.002
    """
    from kabc.cli.notices import show_commands
    from kabc.cli.plan import Assumed, plan_it
    from kabc.config.overlay import configured
    from kabc.planning.cost import Cost

    settings = configured(config, given_options(ctx.params), source_needed=gap is None)
    show_commands(settings, config, quiet=quiet or bool(command))
    cost = Cost(price, seconds_per_sample)
    return plan_it(settings, Assumed(gap, arms), cost, as_json=as_json, quiet=quiet, save=save_pilot)


@app.command()
def demo(
    seed: Annotated[int | None, typer.Option(min=0, help="Another seed gives other samples.")] = None,
    out: Annotated[Path, typer.Option(help="Picture file, or its folder.")] = Path("demo.png"),
    as_json: Json = False,
    debug: Debug = False,
) -> int:
    """Two stories from real measurements, and a picture."""
    if not (out if out.is_dir() else out.resolve().parent).is_dir():
        raise SettingsError(f"--out: there is no folder {out.resolve().parent}; create it or choose another")
    from kabc.demo import main

    main(["--out", str(out)] + ([] if seed is None else ["--seed", str(seed)]) + (["--json"] if as_json else []))
    return exits.DECIDED


@app.command()
def strategies(as_json: Json = False, debug: Debug = False) -> int:
    """All strategies: paper, assumptions, and whether the error probability is proven."""
    from kabc.cli.show import print_strategies

    return print_strategies(as_json=as_json)


@app.command()
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[SUITE|INSTANCE]...", help="See --list. Default: all.")
    ] = None,
    strategies: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|NAME[OPTION=VALUE]|FILE.py:NAME,...",
            help="Names separated by commas (see kabc strategies), or your own in a file. Default: all.",
        ),
    ] = None,
    instances: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.py", help="Python file with your own instances: a list INSTANCES of kabc.bench.Instance."
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Number of runs, with seeds 0, 1, .... All strategies use the same seeds.")
    ] = 10,
    delta: Annotated[float, typer.Option(help="Error probability that every strategy must keep.")] = 0.1,
    cap: Annotated[
        int | None,
        typer.Option(min=1, help="Stop a run at this total number of samples. Default: the cap of the instance."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Stop a run after this computing time.")] = 60.0,
    out: Annotated[Path, typer.Option(help="Folder of the runs. Runs found there are not repeated.")] = Path(
        "kabc-bench"
    ),
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    list_: Annotated[bool, typer.Option("--list", help="Only list suites and instances.")] = False,
    as_json: Json = False,
    quiet: Quiet = None,
    debug: Debug = False,
) -> int:
    """Compare strategies on instances whose truth is known: samples, errors, time, guarantees.

    Example: kabc bench kabc --strategies anytime,kabc,boc --runs 20 --workers 2
    """
    from kabc.bench import Contest
    from kabc.cli.bench import bench_it, list_suites
    from kabc.config.overlay import listed

    if list_:
        return list_suites(instances, as_json=as_json)
    contest = Contest.of(
        names or (), listed(strategies) or (), file=instances, runs=runs, delta=delta, cap=cap, limit=seconds
    )
    return bench_it(contest, out, workers=workers, as_json=as_json, quiet=quiet)


@app.command()
def show(
    ctx: typer.Context,
    result: Annotated[Path, typer.Argument(help="File written by kabc run --save.")],
    certificate: Certificate = False,
    report: Report = None,
    title: Title = None,
    everyone: Everyone = False,
    as_json: Json = False,
    evidence: Evidence = False,
    debug: Debug = False,
) -> int:
    """Print a saved answer as kabc run did; same exit codes.

    Example: kabc show result.json --certificate
    """
    from kabc.cli.show import Look, show_it

    look = Look.of(as_json=as_json, evidence=evidence, certificate=certificate, everyone=everyone)
    return show_it(result, report, look, title=title, last=(ctx.obj or Call()).last)


@app.command()
def compare(
    old: Annotated[Path, typer.Argument(help="Saved answer.")],
    new: Annotated[Path, typer.Argument(help="Later answer.")],
    everyone: Everyone = False,
    as_json: Json = False,
    debug: Debug = False,
) -> int:
    """Show the changes between two saved answers. Exit 0: same groups, 5: changed, 3: changed, but only by a guess.

    Example: kabc compare monday.json tuesday.json
    """
    from kabc.cli.show import compare_them

    return compare_them(old, new, as_json=as_json, everyone=everyone)


app.command()(worker)
app.add_typer(study_app, name="study")
app.add_typer(serve_app, name="serve")
app.command()(doctor)


def dispatch(arguments: Sequence[str] | None) -> int:
    """Parse and run a command. Every error becomes an exit code and a message of one line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json, debug = "--json" in words, "--debug" in words
    exits.print_anything()
    last = arguments is None  # the words are those of the process, which ends after this command
    try:
        code = app(args=words or ["--help"], prog_name="kabc", standalone_mode=False, obj=Call(tuple(words), last))
    except _UsageError as error:
        return exits.fail(exits.unreadable(error), exits.BAD_INPUT, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):  # which of them, or a code, depends on the version of typer
        code = _INTERRUPTED
    except KabcError as error:
        if debug:
            exits.print_trace()
        message = str(error) if isinstance(error, ConfigError) else exits.for_the_shell(str(error))
        return exits.fail(message, exits.BAD_INPUT, as_json=as_json)
    except BrokenPipeError:
        sys.stdout = None  # the reader has closed the pipe; flushing at exit would raise again
        return exits.FAULT
    except Exception as error:
        if debug:
            exits.print_trace()
        hint = "" if debug else " (a fault of kabc or of an arm; --debug shows where)"
        return exits.fail(f"{type(error).__name__}: {error}{hint}", exits.FAULT, as_json=as_json)
    if code == _INTERRUPTED:
        return exits.fail("interrupted before there was an answer", exits.UNDECIDED, as_json=as_json)
    return int(code or 0)
