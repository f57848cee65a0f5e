"""The standard output of the commands, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kabc.cli import exits
from kabc.core.errors import KabcError, SettingsError
from kabc.core.files import expect_writable, first_same
from kabc.core.words import shown
from kabc.results.values import Result
from kabc.results.words import certificate, text
from kabc.running.interrupts import command_interrupts
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


def deliver(result: Result, *, save: str | None, report: str | None, look: Look, title: str | None = None) -> int:
    """Print the answer, then write the files. What happens to a file does not take the answer away."""
    problems: list[str] = []
    files: list[tuple[str, str | None, Callable[[str], None]]] = [
        ("saved", save, result.save),
        ("report", report, partial(_report, result, title)),
    ]
    left = [path for _, path, _ in files if path is not None]
    try:
        problems.append(exits.printed(lambda: _print_answer(result, look)))
        for name, path, write in files:
            if path is not None:
                problems.append(_problem(path, write) or _note(name, path, look.as_json))
                left.remove(path)
    except KeyboardInterrupt:  # for the second time
        problems.append(f"interrupted; not written: {', '.join(left)}" if left else "interrupted")
    for problem in filter(None, problems):
        exits.fail(problem, exits.BAD_INPUT, as_json=False)  # standard output already has its document
    return exits.BAD_INPUT if any(problems) else exits.of_status(result.status)


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


def expect_paths(*paths: str | None) -> None:
    """Refuse output files that cannot be written."""
    for path in paths:
        if path is not None:
            expect_writable(path)


def expect_other_files(save: str | None, report: str | None, inputs: Sequence[str | Path]) -> None:
    """Refuse output files that would replace an input file or each other."""
    for option, path in (("--save", save), ("--report", report)):
        if path is not None and first_same(path, inputs) is not None:
            raise SettingsError(f"{option} {path} is a file that this run reads; choose another path")
    if save is not None and report is not None and first_same(report, [save]) is not None:
        raise SettingsError(f"--save and --report are the same file, {report}; choose another path for one of them")


def _report(result: Result, title: str | None, path: str) -> None:
    from kabc.report.html import write_report

    write_report(result, path, title)


def _print_answer(result: Result, look: Look) -> None:
    if look.as_json:
        document = result.to_dict(full=look.evidence)
        exits.print_json(document | ({"certificate": result.certificate()} if look.certificate else {}))
        return
    first, *others = text(result, everyone=look.everyone).split("\n")
    print("\n".join([exits.for_the_shell(first), *map(_spoken, others)]))
    if look.certificate:
        print("\n" + "\n".join(map(_spoken, certificate(result, everyone=look.everyone).split("\n"))))


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
    from kabc.results.files import load_result

    expect_paths(report)
    expect_other_files(None, report, [path])
    result = load_result(path)
    with command_interrupts(Ticker(True), to_the_end=last) as interrupts:
        interrupts.over()
        return deliver(result, save=None, report=report, title=title, look=look)


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
