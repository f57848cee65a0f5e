"""The standard output of the commands, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kabc.cli import exits
from kabc.core.errors import KabcError, SettingsError
from kabc.core.files import first_same
from kabc.results.values import Result


def deliver(result: Result, *, save: str | None, report: str | None, as_json: bool, certificate: bool) -> int:
    """Write the files, then print the answer. The answer is printed even if a file cannot be written."""
    written: list[str] = []
    problems: list[str] = []
    for name, path, write in (("saved", save, result.save), ("report", report, partial(_report, result))):
        if path is not None:
            try:
                write(path)
                written.append(f"{name}: {path}")
            except (KabcError, OSError) as error:
                problems.append(str(error))
    _print_answer(result, written, as_json=as_json, certificate=certificate)
    for problem in problems:
        exits.fail(problem, exits.BAD_INPUT, as_json=False)  # standard output already has its document
    return exits.BAD_INPUT if problems else exits.of_status(result.status)


def expect_folders(*paths: str | None) -> None:
    """Refuse output files whose folder is missing."""
    for path in paths:
        if path is not None and not Path(path).resolve().parent.is_dir():
            folder = Path(path).resolve().parent
            raise SettingsError(f"cannot write {path}: there is no folder {folder}; create it or choose another path")


def expect_other_files(save: str | None, report: str | None, inputs: Sequence[str | Path]) -> None:
    """Refuse output files that would replace an input file or each other."""
    for option, path in (("--save", save), ("--report", report)):
        if path is not None and first_same(path, inputs) is not None:
            raise SettingsError(f"{option} {path} is a file that this run reads; choose another path")
    if save is not None and report is not None and first_same(report, [save]) is not None:
        raise SettingsError(f"--save and --report are the same file, {report}; choose another path for one of them")


def _report(result: Result, path: str) -> None:
    from kabc.report.html import write_report

    write_report(result, path)


def _print_answer(result: Result, written: list[str], *, as_json: bool, certificate: bool) -> None:
    if as_json:
        exits.print_json(result.to_dict() | ({"certificate": result.certificate()} if certificate else {}))
        return
    first, *others = str(result).split("\n")
    print("\n".join([exits.for_the_shell(first), *others]))
    if certificate:
        print(f"\n{result.certificate()}")
    for line in written:
        print(line)


def print_strategies(*, as_json: bool) -> int:
    """The list of strategies."""
    from kabc.strategies import strategies

    entries = strategies().values()
    if as_json:
        exits.print_json({"strategies": [entry.facts() for entry in entries]})
        return exits.DECIDED
    for entry in entries:
        called = entry.title if entry.title.startswith(entry.name) else f"{entry.name}, {entry.title}"
        print(f"{called}: {entry.guarantee}")
        for word, texts in (("", [entry.paper]), ("assumes: ", entry.assumptions), ("needs: ", entry.needs)):
            if any(texts):
                print(f"    {word}{'; '.join(texts)}")
    return exits.DECIDED


def show_it(path: Path, report: str | None, *, as_json: bool, certificate: bool) -> int:
    """Print a saved answer in the same way as `kabc run`."""
    from kabc.results.files import load_result

    expect_folders(report)
    expect_other_files(None, report, [path])
    return deliver(load_result(path), save=None, report=report, as_json=as_json, certificate=certificate)


def compare_them(old: Path, new: Path, *, as_json: bool) -> int:
    """Print the changes from one saved answer to a later one."""
    from kabc.results.compare import compare
    from kabc.results.files import load_result

    found = compare(load_result(old), load_result(new))
    if as_json:
        exits.print_json(found.to_dict())
    else:
        print(found)
    if found.same:
        return exits.DECIDED
    return exits.CHANGED if any(change.certified for change in found.changes) else exits.UNDECIDED
