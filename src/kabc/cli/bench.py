"""kabc bench: all strategies on instances whose truth is known."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from kabc.bench import SUITES, Contest, RunLog, as_markdown, as_text, load_instances, run_contest, summarise
from kabc.bench.figure import draw_comparison
from kabc.bench.tables import CAPTION, as_data, as_matrix, write_parquet
from kabc.cli import exits
from kabc.cli.options import progress_of
from kabc.core.errors import SettingsError
from kabc.core.words import shown


def list_suites(file: str | None, *, as_json: bool) -> int:
    """The list of suites and instances."""
    suites = dict(SUITES)
    if file is not None:
        suites = {Path(file).stem: list(load_instances(file).values())}
    if as_json:
        facts = {
            suite: [
                {"name": one.name, "hard": one.hard, "n_arms": one.n_arms, "n_groups": one.n_groups, "cap": one.cap}
                for one in instances
            ]
            for suite, instances in suites.items()
        }
        exits.print_json({"suites": facts})
        return exits.DECIDED
    for suite, instances in suites.items():
        print(shown(suite))
        for one in instances:
            print(shown(f"  {one.name:<16} {one.n_arms:>5} arms {one.n_groups:>3} groups  {one.hard}"))
    return exits.DECIDED


def bench_it(contest: Contest, folder: Path, *, workers: int, as_json: bool, quiet: bool | None) -> int:
    """Make the missing runs, then write and print the tables."""
    log = RunLog(folder)
    for notice in log.notices:
        print(shown(notice), file=sys.stderr)
    try:
        found = run_contest(contest, log, workers=workers, progress=progress_of(quiet))
    except KeyboardInterrupt:
        hint = f"{len(log.done):,} runs are kept in {log.path}; the same command goes on from there"
        return exits.fail(f"interrupted: {hint}", exits.UNDECIDED, as_json=as_json)
    rows = summarise(contest, found)
    written = [str(log.path)]
    markdown = folder / "table.md"
    markdown.write_text(
        f"{as_matrix(rows, contest.delta)}\n{CAPTION}\n\n{as_markdown(rows, contest)}", encoding="utf-8"
    )
    written.append(str(markdown))
    skipped: list[str] = []
    for name, write in (
        ("runs.parquet", partial(write_parquet, found)),
        ("figure.png", partial(draw_comparison, rows, contest.delta)),
    ):
        try:
            write(folder / name)
            written.append(str(folder / name))
        except SettingsError as error:  # an optional library is missing; print the table anyway
            skipped.append(f"not written: {error}")
    if as_json:
        exits.print_json({"rows": as_data(rows), "written": written})
    else:
        print(as_text(rows, contest))
        print("\nwritten: " + shown(", ".join(written)))
    for line in skipped:
        print(shown(line), file=sys.stderr)
    return exits.DECIDED
