"""kabc bench: all strategies on instances whose truth is known."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from kabc.bench import SUITES, Plan, Store, as_markdown, as_text, compare, load_instances, summarise
from kabc.bench.figure import draw_comparison
from kabc.bench.tables import CAPTION, as_data, as_matrix, write_parquet
from kabc.cli import exits
from kabc.core.errors import SettingsError


def list_suites(file: str | None, *, as_json: bool) -> int:
    """What there is to run on."""
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
        print(suite)
        for one in instances:
            print(f"  {one.name:<16} {one.n_arms:>5} arms {one.n_groups:>3} groups  {one.hard}")
    return exits.DECIDED


def bench_it(plan: Plan, folder: Path, *, workers: int, as_json: bool, quiet: bool) -> int:
    """Make the runs that are missing, then write and print what they say."""
    store = Store(folder)
    try:
        found = compare(plan, store, workers=workers, progress=not quiet)
    except KeyboardInterrupt:
        hint = f"{len(store.done):,} runs are kept in {store.path}; the same command goes on from there"
        return exits.fail(f"interrupted: {hint}", exits.UNDECIDED, as_json=as_json)
    rows = summarise(plan, found)
    written = [str(store.path)]
    markdown = folder / "table.md"
    markdown.write_text(f"{as_matrix(rows, plan.delta)}\n{CAPTION}\n\n{as_markdown(rows, plan)}", encoding="utf-8")
    written.append(str(markdown))
    skipped: list[str] = []
    for name, write in (
        ("runs.parquet", partial(write_parquet, found)),
        ("figure.png", partial(draw_comparison, rows, plan.delta)),
    ):
        try:
            write(folder / name)
            written.append(str(folder / name))
        except SettingsError as error:  # an optional library is missing: the table must not be lost
            skipped.append(f"not written: {error}")
    if as_json:
        exits.print_json({"rows": as_data(rows), "written": written})
    else:
        print(as_text(rows, plan))
        print("\nwritten: " + ", ".join(written))
    for line in skipped:
        print(line, file=sys.stderr)
    return exits.DECIDED
