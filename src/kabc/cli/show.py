"""The standard output of the commands, for people and for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kabc.cli import exits
from kabc.cli.outputs import Outputs
from kabc.core.errors import KabcError, SettingsError
from kabc.core.words import shown
from kabc.results.values import Result
from kabc.results.words import certificate, text
from kabc.running.interrupts import Interrupts, command_interrupts
from kabc.running.progress import Ticker

_ADVICE = ("note: ", "failure: ", "  - note: ", "Answer: ", "old: ", "new: ")  # how lines begin that say what to do


@dataclass(frozen=True)
class Look:
    """How an answer is printed."""

    as_json: bool = False
    evidence: bool = False  # with the large parts of the JSON form
    certificate: bool = False
    everyone: bool = False  # with the names of all arms

    @classmethod
    def of(cls, *, as_json: bool, evidence: bool, certificate: bool, everyone: bool) -> Look:
        """As the options say; the evidence is there as JSON alone."""
        if evidence and not as_json:
            raise SettingsError("--evidence is a part of the JSON form; add --json")
        return cls(as_json, evidence, certificate, everyone)


def deliver(result: Result, outputs: Outputs, look: Look, interrupts: Interrupts) -> int:
    """Print the answer, then write the files. What happens to a file does not take the answer away."""
    problems: list[str] = []
    files = outputs.writers()
    left = [path for _, path, _ in files]
    try:
        problems.append(exits.printed(lambda: _print_answer(result, outputs, look)))
        for name, path, write in files:
            problems.append(written(name, path, partial(write, result), interrupts, as_json=look.as_json))
            left.remove(path)
    except KeyboardInterrupt:  # for the second time
        problems.append(f"interrupted; not written: {', '.join(left)}" if left else "interrupted")
    for problem in filter(None, problems):
        exits.fail(problem, exits.BAD_INPUT, as_json=False)  # standard output already has its document
    return exits.BAD_INPUT if any(problems) else exits.of_result(result)


def written(name: str, path: str, write: Callable[[str], None], interrupts: Interrupts, *, as_json: bool) -> str:
    """Write a file, and say so; why it could not be written, or empty."""
    problem = _problem(path, write)
    if problem and interrupts.given_up:  # pydantic, for one, turns a KeyboardInterrupt into an error of its own
        raise KeyboardInterrupt
    return problem or _note(name, path, as_json)


def _problem(path: str, write: Callable[[str], None]) -> str:
    """Why the file could not be written; empty if it was."""
    try:
        write(path)
    except (KabcError, OSError) as error:
        return str(error)
    except Exception as error:  # MemoryError, a fault in a picture, ...
        return f"cannot write {path!r}: {type(error).__name__}: {error}"
    return ""


def _note(name: str, path: str, as_json: bool) -> str:
    return "" if as_json else exits.printed(lambda: print(f"{name}: {shown(path)}"))


def _print_answer(result: Result, outputs: Outputs, look: Look) -> None:
    if look.as_json:
        document = result.to_dict(full=look.evidence)
        exits.print_json(document | ({"certificate": result.certificate()} if look.certificate else {}))
    else:
        said = answer_text(result, look)
        print(_silenced(said) if outputs.github else said)
    if outputs.github:
        from kabc.cli.github import annotation

        # GitHub reads both streams; with --json, standard output has its document
        print(annotation(result), file=sys.stderr if look.as_json else None, flush=True)


def _silenced(said: str) -> str:
    from kabc.cli.github import silenced

    return silenced(said)


def answer_text(result: Result, look: Look) -> str:
    """The answer as it is printed, with the options of the command line in it."""
    first, *others = text(result, everyone=look.everyone).split("\n")
    lines = [exits.for_the_shell(first), *map(_spoken, others)]
    if look.certificate:
        lines += ["", *map(_spoken, certificate(result, everyone=look.everyone).split("\n"))]
    return "\n".join(lines)


def _spoken(line: str) -> str:
    """A line with options of the command line, where it gives advice. Others may hold names that only look like it."""
    if line.startswith("failures: "):
        whose, last, said = line.partition("; last: ")
        return whose + last + exits.for_the_shell(said)
    return exits.for_the_shell(line) if line.startswith(_ADVICE) else line


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


def show_it(path: Path, report: str | None, look: Look, *, title: str | None = None, last: bool = False) -> int:
    """Print a saved answer in the same way as `kabc run`. `last`: the process ends after this command."""
    from kabc.results.files import OUTLIERS, loaded, read_json

    outputs = Outputs(report=report, title=title)
    outputs.expect_usable([path])
    read, where = read_json(path)
    if isinstance(read, dict) and read.get("format") == OUTLIERS:
        return _show_odd_ones(read, where, look, report)
    result = loaded(read, where)
    with command_interrupts(Ticker(True), to_the_end=last) as interrupts:
        interrupts.over()
        return deliver(result, outputs, look, interrupts)


def _show_odd_ones(read: dict[str, Any], where: str, look: Look, report: str | None) -> int:
    """Print odd ones out as `kabc outliers` did."""
    from kabc.cli.outliers import print_odd_ones
    from kabc.results.outliers_files import loaded_outliers

    for option, given in (
        ("--report", report is not None),
        ("--certificate", look.certificate),
        ("--evidence", look.evidence),
        ("--all", look.everyone),
    ):
        if given:
            raise SettingsError(f"{where} is an answer of kabc outliers, which has no {option}; --json has all arms")
    result = loaded_outliers(read, where)
    problem = exits.printed(lambda: print_odd_ones(result, as_json=look.as_json))
    return exits.fail(problem, exits.BAD_INPUT, as_json=False) if problem else exits.of_odd_ones(result)


def compare_them(old: Path, new: Path, *, as_json: bool, everyone: bool) -> int:
    """Print the changes from one saved answer to a later one."""
    from kabc.results.compare import compare
    from kabc.results.files import load_result

    found = compare(load_result(old), load_result(new))
    if as_json:
        exits.print_json(found.to_dict())
    else:
        print("\n".join(map(_spoken, found.text(everyone=everyone).split("\n"))))
    if found.alarm:
        return exits.CHANGED
    return exits.DECIDED if found.same and not found.verdicts else exits.UNDECIDED
