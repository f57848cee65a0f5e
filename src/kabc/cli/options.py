"""Options that several commands have, and how they become settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

# --- sources
Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, JSON lines, Arrow (globs too), or JSON timings of hyperfine, pytest-benchmark or "
        "Google Benchmark.",
    ),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="TOML file with all settings. Options given here override it.")
]
Arm = Annotated[str | None, typer.Option(help="Column that names the arm of a row.")]
Values = Annotated[str | None, typer.Option(help="Columns to compare, separated by commas. Default: all others.")]
Wide = Annotated[bool | None, typer.Option("--wide", help="The table has one column for each arm.")]
Types = Annotated[
    str | None, typer.Option(help="column=number|category|text, comma separated. Default: inferred and shown.")
]
Missing = Annotated[str | None, typer.Option(help="Missing values: raise (default), drop, or encode as a value.")]
Order = Annotated[
    str | None, typer.Option(help="Column that says when a row came; not compared. Default: the order of the file.")
]
Where = Annotated[
    str | None,
    typer.Option(metavar="CONDITION", help="Use only rows that meet it, in SQL: \"seconds > 0 and region = 'eu'\"."),
]
Sql = Annotated[str | None, typer.Option(help="Query whose rows are the samples. Needs --database and --arm.")]
Database = Annotated[
    str | None, typer.Option(help="SQLAlchemy URL, or a DuckDB or SQLite file; duckdb:///:memory: to query files.")
]
Command = Annotated[
    list[str] | None, typer.Option(metavar="NAME=COMMAND", help="A shell command as an arm. Can be repeated.")
]
AllowCommands = Annotated[
    bool,
    typer.Option(
        "--allow-commands",
        help="Let a --config file that others may have written run commands, send variables, write files and ask "
        "databases.",
    ),
]
Measure = Annotated[str | None, typer.Option(help="What to measure of a command: output (default), wall, cpu, rss.")]
Timeout = Annotated[
    float | None, typer.Option(help="Seconds until a command or call is ended and has failed. Default: 60.")
]
Warmup = Annotated[
    int | None,
    typer.Option(help="First draws of each arm that are thrown away. Default: 1 for commands and latencies."),
]
OnFailure = Annotated[str | None, typer.Option(help="Failed draws: raise (default), retry, or encode as a value.")]

# --- settings
Clusters = Annotated[
    int | None, typer.Option(help="Number of groups, K. Without it, the answer is a lower bound of K.")
]
Delta = Annotated[float | None, typer.Option(help="Largest probability of a wrong answer. Default: 0.05.")]
StrategyName = Annotated[str | None, typer.Option("--strategy", help="See kabc strategies. Default: anytime.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Strategy option. Can be repeated.")
]
MaxSamples = Annotated[int | None, typer.Option(help="Largest total number of samples. Default: no limit.")]
MinSeparation = Annotated[float | None, typer.Option(help="Instead of --clusters: the paper's s_0 (strategy kabc).")]
Pilot = Annotated[int | None, typer.Option(help="Samples of each arm to choose a kernel or to plan from.")]
Block = Annotated[
    str | None,
    typer.Option(
        metavar="LENGTH|auto",
        help="For rows that depend on the ones before: so many consecutive rows form one sample. auto finds a length.",
    ),
]
CheckK = Annotated[
    bool | None,
    typer.Option("--check-k/--no-check-k", help="Look whether a group is two before deciding. Default: yes (anytime)."),
]
ToleranceOption = Annotated[
    str | None,
    typer.Option(
        "--tolerance",
        metavar="SIZE|COLUMN=SIZE,...",
        help="Instead of --clusters: the smallest difference that matters, such as 2%, '0.2 sd' or 'p50=2%,p99=10%'.",
    ),
]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same answer.")]
Workers = Annotated[
    int | None, typer.Option(help="Number of arms to draw from at the same time. Default: 1; endpoints all at once.")
]
OnWorkerLoss = Annotated[
    str | None,
    typer.Option(
        help="Of a study, a draw whose worker died: redraw, encode as a failure, or raise. Default: redraw once."
    ),
]
WatchIt = Annotated[
    bool | None,
    typer.Option("--watch/--no-watch", help="Test whether the order of samples matters. Default: --watch."),
]

# --- output
Json = Annotated[bool, typer.Option("--json", help="Print only one JSON document on standard output.")]
Quiet = Annotated[
    bool | None,
    typer.Option("--quiet/--progress", help="Progress on standard error: never, or always. Default: on a terminal."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Certificate = Annotated[bool, typer.Option("--certificate", help="Print why the answer may be trusted.")]
Evidence = Annotated[
    bool,
    typer.Option("--evidence", help="With --json: also pairs, rounds, evidence and samples, as --save writes them."),
]
Everyone = Annotated[bool, typer.Option("--all", help="Name all arms, also of long groups.")]
Report = Annotated[str | None, typer.Option(help="Write a one-file HTML report.")]
Title = Annotated[str | None, typer.Option(help="Title of the report. Default: made from the name of the file.")]


def progress_of(quiet: bool | None) -> bool | None:
    """Whether progress is shown; None: where there is a terminal."""
    return None if quiet is None else not quiet


def given_options(params: Mapping[str, Any]) -> dict[str, Any]:
    """The options as keys of the config file."""
    from kabc.config.overlay import listed, pairs, plain_value

    renamed = {"data": "path", "sql": "query", "command": "run", "option": "options"}
    given = {renamed.get(name, name): value for name, value in params.items()}
    given["values"] = listed(params["values"])
    given["run"] = pairs("--command", params["command"]) if params["command"] else None
    given["types"] = pairs("--types", listed(params["types"]) or []) or None
    given["block"] = None if params.get("block") is None else plain_value(params["block"])
    options = pairs("--option", params.get("option") or [])
    given["options"] = {name: plain_value(text) for name, text in options.items()} or None
    return given
