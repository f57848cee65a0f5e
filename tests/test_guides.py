"""Every guide is true: its Python blocks and commands run, in order, in an empty folder, and give what it shows.

Compared are exit codes, statuses, certified groups and changes, and the words of every other line. Figures may depend
on the machine and on versions of libraries: they are not compared, but for samples, up to a factor of three.
So the line about few samples may come or go.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which is limited below only once it is loaded
from threadpoolctl import threadpool_limits

from kabc.cli import main

ROOT = Path(__file__).parent.parent
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
STORIES = [page for page in GUIDES if page.name != "README.md"]
GALLERY = ROOT / "docs" / "gallery.md"
PORT = "8770"  # of the guides; another one may be free
FIGURE = re.compile(r"(?<![\w.])\d[\d,.]*(e[+-]\d+)?(?!\w)")
TIMED_HERE = "cpu seconds:"  # in such an answer doubts depend on what else the machine does
NO_DOUBT = "K: no group looks like two; small differences may be missed"
K_LINE = f"^({NO_DOUBT}|K: one group looks like two, evidence # : #)$"

Block = tuple[str, str]  # its language and its text


def blocks(page: Path) -> list[Block]:
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(block: str) -> list[tuple[str, str]]:
    """Each command with the output that is shown under it."""
    found = []
    for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        found.append((command, output))
    return found


def fact(line: str) -> str:
    """What is the same on every machine: all of a certified line, nothing of a guess, other lines without figures."""
    line = " ".join(line.split())
    if re.match(r"(- )?group \d+ \(guess\)", line):
        return "a guess"
    if re.match(r"(- )?group \d", line) or "(certified)" in line:
        return line
    open_ended = re.match(r"(- )?samples per arm|needs about|- closest pair", line)
    return open_ended[0] if open_ended else FIGURE.sub("#", line)


def facts(text: str) -> list[str]:
    """Those of all lines, but for effects and few samples: they depend on what else the machine does."""
    effects, few = "    ", "few samples:"  # effects are indented by four
    found = [fact(line) for line in text.splitlines() if line.strip() and not line.startswith((effects, few))]
    if TIMED_HERE not in text:
        return found
    return [re.sub(K_LINE, "K: either", line) for line in found]


def n_samples(text: str) -> float | None:
    found = re.search(r"\(([\d,]+) samples", text)
    return float(found[1].replace(",", "")) if found else None


class BusyMachineError(AssertionError):
    """Timings taken while the load of this machine changed are doubtful, and rightly so."""


def alike(shown: str, printed: str) -> None:
    """Fail where what is printed does not bear out what is shown; "..." in it stands for anything."""
    if TIMED_HERE in printed and printed.startswith("Doubtful: ") and not shown.startswith("Doubtful: "):
        raise BusyMachineError(printed)
    wanted, got = facts(shown), facts(printed)
    pattern = re.escape("\n".join(wanted)).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern, "\n".join(got), re.DOTALL), f"shown:\n{shown}\nprinted:\n{printed}"
    before, now = n_samples(shown), n_samples(printed)
    if before is not None:
        assert now is not None
        assert 1 / 3 < before / now < 3, f"{before:,} samples are shown, it took {now:,}"


@dataclass
class Reader:
    """Somebody who types what a guide shows."""

    folder: Path
    port: str
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    code: int = 0
    names: dict[str, Any] = field(default_factory=dict)
    servers: list[subprocess.Popen[str]] = field(default_factory=list)

    def follow(self, page: Path) -> None:
        shown = ""
        for language, text in blocks(page):
            if language == "python":
                self.capsys.readouterr()
                exec(compile(text.replace(PORT, self.port), page.name, "exec"), self.names)
                shown = self.capsys.readouterr().out
            elif language == "text":  # what the Python block before it prints
                alike(text, shown)
            elif language == "console":
                self.type_in(text)

    def type_in(self, block: str) -> None:
        after = commands(block)
        for number, (command, shown) in enumerate(after):
            if command == "echo $?":
                assert shown.strip() == str(self.code)
                continue
            alike(shown.replace(PORT, self.port), self.run(command))
            told = number + 1 < len(after) and after[number + 1][0] == "echo $?"
            assert told or self.code == 0, f"{command}: exit code {self.code} that the guide does not show"

    def run(self, command: str) -> str:
        """What a command prints; its exit code is kept."""
        self.code = 0
        words = shlex.split(command)
        if words[:2] == ["kill", "-9"]:
            self.servers[int(words[2].removeprefix("%")) - 1].kill()
            return ""
        if words[0] == "kabc" and words[-1] == "&":
            kabc = Path(sys.executable).with_name("kabc")
            nobody = subprocess.DEVNULL
            self.servers.append(subprocess.Popen([kabc, *words[1:-1]], stdout=nobody, stderr=nobody, text=True))
            return ""
        if words[0] == "export":
            self.monkeypatch.setenv(*words[1].split("=", 1))
            return ""
        if words[0] == "kabc":
            self.capsys.readouterr()
            self.code = main(words[1:])
            out, err = self.capsys.readouterr()
            assert out or self.code, err
            return out
        assert words[0] == "python", f"a guide may use python, kabc, export, kill -9 and echo $?, not {command}"
        if words[-1] == "&":
            return self.serve(words[1:-1])
        done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def serve(self, words: list[str]) -> str:
        server = subprocess.Popen([sys.executable, *words, "--port", self.port], stdout=subprocess.PIPE, text=True)
        self.servers.append(server)
        assert server.stdout is not None
        return server.stdout.readline()

    def leave(self) -> None:
        for server in self.servers:
            server.terminate()
            server.communicate()


@pytest.fixture
def reader(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """In an empty folder with the examples in it; `python` is this one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    study = tmp_path / "examples" / "endpoints" / "study.toml"
    study.write_text(study.read_text(encoding="utf-8").replace(PORT, port), encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    someone = Reader(tmp_path, port, capsys, monkeypatch)
    with threadpool_limits(1):  # beside other tests, threads would only wait for each other
        yield someone
    someone.leave()


@pytest.mark.slow
@pytest.mark.parametrize("page", [*STORIES, GALLERY], ids=lambda page: page.stem)
def test_the_guide_gives_what_it_shows(page: Path, reader: Reader) -> None:
    try:
        reader.follow(page)
    except BusyMachineError as error:
        if page.stem != "builds":  # the only guide that times something on this machine
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("page", STORIES, ids=lambda page: page.stem)
def test_a_guide_has_python_and_a_command_and_a_report_and_says_what_is_undecided(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    languages = {language for language, _ in blocks(page)}
    assert {"python", "console"} <= languages
    assert languages <= {"python", "console", "text", "toml", "yaml"}
    for word in ("kabc run", "--report", "undecided", "## What it cost", "## Traps"):
        assert word in text, word


def test_settings_that_are_shown_are_those_of_the_example() -> None:
    for kind, file in (("toml", "endpoints/study.toml"), ("yaml", "gate/workflow.yml")):
        example = (ROOT / "examples" / file).read_text(encoding="utf-8")
        shown = [text for page in GUIDES for language, text in blocks(page) if language == kind]
        assert shown
        for text in shown:
            assert text in example


def test_the_index_names_every_guide_and_links_lead_somewhere() -> None:
    index = ROOT / "docs" / "guides" / "README.md"
    linked = {page: re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")) for page in GUIDES}
    assert {page.name for page in STORIES} <= set(linked[index])
    for page, links in linked.items():
        assert [link for link in links if not (page.parent / link).exists()] == [], page


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("  group 1, 2 arms: a, b\n", "  group 1, 2 arms: a, c\n"),
        ("decided: certified (9 samples)\n", "undecided: a guess (9 samples)\n"),
        ("decided: certified (90 samples)\n", "decided: certified (9 samples)\n"),
        ("x\n  b (certified): before alone\n", "x\n"),
        ("note: columns: ash\n", "note: columns: hue\n"),
        ("a\n", "a\nspent: 3\n"),
        (f"{NO_DOUBT}\n", "K: one group looks like two, evidence 4.4 : 1\n"),
        ("a\n    cpu seconds: 1\n", f"a\n    cpu seconds: 1\n{NO_DOUBT}\n"),
    ],
)
def test_a_guide_that_shows_something_else_is_found_out(shown: str, printed: str) -> None:
    alike(printed, printed)
    with pytest.raises(AssertionError):
        alike(shown, printed)


def test_only_timings_of_this_machine_may_cast_another_doubt_on_k() -> None:
    timed = "    cpu seconds: median 0.1\n"
    alike(f"{timed}{NO_DOUBT}\n", f"{timed}K: one group looks like two, evidence 4.4 : 1\n")


def test_dots_stand_for_anything_and_figures_may_differ() -> None:
    alike("group 1, 3 arms: a, ...\nspent: 0.3\n...\n", "group 1, 3 arms: a, b, c\nspent: 0.5\nnote: x\n")
    alike("evidence 6.8e+83 : 1\n", "evidence 1.2e+79 : 1\n")
    assert commands("$ kabc run \\\n  x\nout\n$ echo $?\n3\n") == [("kabc run    x", "out\n"), ("echo $?", "3\n")]
