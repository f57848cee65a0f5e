"""What happens to files, disks and processes of a study, other than being killed."""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from benchmarks.durable.kills import Bench, Whole, together
from benchmarks.durable.processes import start
from benchmarks.durable.seen import Seen
from benchmarks.durable.subject import left, n_calls, run
from kabc.storage.opening import open_storage


def noted(place: str, name: str, kind: str) -> int:
    """How many notes of a kind the study has."""
    store = open_storage(place)
    try:
        return sum(note.kind == kind for note in store.notes(store.load_study(name).id))
    finally:
        store.close()


def until_drawing(bench: Bench, name: str, count: int = 1, seconds: float = 60.0) -> bool:
    """Wait until arms were called so many times."""
    end = time.monotonic() + seconds
    while n_calls(bench.calls(name)) < count:
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


# ------------------------------------------------------------ files


def torn_logs(bench: Bench, right: Whole, count: int, seed: int) -> Seen:
    """Killed, and then the end of the write-ahead log is gone: a disk that said "written" and had not."""
    rng, good, faults, lost = random.Random(seed), 0, set[str](), 0
    for number in range(count):
        name = f"torn-{number}"
        (process,) = bench.start(name)
        until_drawing(bench, name, rng.randrange(2, right.left.n_draws))
        process.kill()
        process.join()
        log = Path(f"{bench.place(name)}-wal")
        size = log.stat().st_size if log.exists() else 0
        if size:
            os.truncate(log, rng.randrange(size))
        lost += bool(size)
        codes = together(bench.start(name))
        # rows of draws that were lost are drawn again, and are the same: their randomness is that of the ticket
        wrong = bench.left(name).faults(right.left) + (["exit code"] if any(codes) else [])
        good, faults = good + (not wrong), faults | set(wrong)
    said = f"{sorted(faults)}" if faults else f"opens at a whole commit and draws the rest again ({lost} logs were cut)"
    return Seen("torn write-ahead log", "SQLite", count, good, said)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A disk of its own in memory. Needs the right to mount."""
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True, capture_output=True
    )
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def full_disk(bench: Bench, right: Whole, count: int) -> Seen:
    """The disk fills up during the run, and later there is room again."""
    good, faults, heard, waited = 0, set[str](), set[str](), 0
    for number in range(count):
        name, said = f"full-{number}", bench.home / f"said-full-{number}"
        with small_disk(bench.home / name, "8m") as disk:
            given = str(disk / "study.db"), name, bench.calls(name), slower(bench).draw, said
            process = start(run, *given, log=said)
            until_drawing(bench, name, 5 + 7 * number)
            fill(disk / "filler")
            process.join(5.0)
            waited += process.is_alive()
            heard |= {line.split("study.db': ", 1)[-1] for line in said.read_text().splitlines() if "full" in line}
            (disk / "filler").unlink()
            if together([process]) != [0]:  # it gave up: the same line again
                faults |= {"exit code"} if any(together([start(run, *given, log=said)])) else set()
            wrong = left(given[0], name, bench.calls(name)).faults(right.left)
        good, faults = good + (not wrong), faults | set(wrong)
    told = f"{waited} waited for room and went on; said: {' / '.join(sorted(heard)) or 'nothing'}"
    return Seen("full disk", "SQLite", count, good, f"{sorted(faults) or ''} {told}".strip())


def fill(path: Path) -> None:
    """Until not one byte is left."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass


def read_only(bench: Bench, right: Whole) -> Seen:
    """A file that may not be written: one line, nothing changed; then it may, and the run ends well."""
    name, errors = "read-only", bench.home / "errors-read-only"
    folder = bench.home / "read-only"
    folder.mkdir()
    place = str(folder / "study.db")
    first = start(run, place, name, bench.calls(name), slower(bench).draw)
    until_drawing(bench, name, 10)
    first.kill()
    first.join()
    for path in (errors, bench.calls(name)):  # these may be written by anybody
        path.touch()
        path.chmod(0o666)
    content = Path(place).read_bytes()
    with writable_by_nobody(folder):
        together([start(as_nobody, place, name, bench.calls(name), bench.draw, log=errors)])
        unchanged = Path(place).read_bytes() == content
    codes = together([start(run, place, name, bench.calls(name), bench.draw)])
    wrong = left(place, name, bench.calls(name)).faults(right.left) + (["exit code"] if any(codes) else [])
    said = last_line(errors)
    right_now = unchanged and not wrong and "read-only" in said
    return Seen("read-only file", "SQLite", 1, int(right_now), f"{wrong or ''} {said}".strip())


@contextmanager
def writable_by_nobody(folder: Path) -> Iterator[None]:
    modes = {path: path.stat().st_mode for path in [*folder.iterdir(), folder]}
    for path in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def as_nobody(*given: object) -> None:
    """Root may write everything; so not as root."""
    if os.getuid() == 0:
        os.setuid(pwd.getpwnam("nobody").pw_uid)
    run(*given)  # type: ignore[arg-type]


def last_line(errors: Path) -> str:
    """What a person sees of an error."""
    return errors.read_text().splitlines()[-1] if errors.exists() and errors.read_text() else ""


# ------------------------------------------------------------ processes


def frozen(bench: Bench, right: Whole, where: str, count: int) -> Seen:
    """A worker is stopped (SIGSTOP) while it draws, for longer than its lease of a minute, and then goes on."""
    good, faults, superseded = 0, set[str](), 0
    for number in range(count):
        name = f"frozen-{number}"
        (slow,) = slower(bench).start(name)
        until_drawing(bench, name, 3 + 7 * number)
        freeze(slow.pid or 0, bench.place(name))
        other = bench.start(name)
        codes = together(other)  # it waits until the leases have lapsed, and ends the study alone
        os.kill(slow.pid or 0, signal.SIGCONT)
        wrong = bench.left(name).faults(right.left) + (["exit code"] if any([*codes, *together([slow])]) else [])
        superseded += noted(bench.place(name), name, "superseded")
        good, faults = good + (not wrong), faults | set(wrong)
    said = f"{sorted(faults) or 'the other one ends the study'}; {superseded} draws superseded and kept as late"
    return Seen("frozen beyond its lease", where, count, good, said)


def freeze(pid: int, place: str) -> None:
    """Stop a process, but not in a transaction of SQLite: that would lock the file for all until it goes on."""
    while True:
        os.kill(pid, signal.SIGSTOP)
        if place.startswith("postgresql:"):
            return
        connection = sqlite3.connect(place, timeout=0.5, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.02)
        else:
            return
        finally:
            connection.close()


def slower(bench: Bench) -> Bench:
    """Its draws take long enough to be met while they run."""
    return replace(bench, draw=4 * bench.draw)


def two_clocks(bench: Bench, right: Whole, where: str) -> Seen:
    """One of two workers believes that it is an hour later."""
    faketime = shutil.which("faketime")
    if faketime is None:
        return Seen("two clocks, an hour apart", where, 0, 0, "not tried: faketime is not installed")
    name, slow = "clocks", slower(bench)
    place, calls = bench.place(name), bench.calls(name)
    words = [faketime, "-f", "+3600s", sys.executable, "-m", "benchmarks.durable.subject"]
    with subprocess.Popen([*words, place, name, str(calls), str(1000 * slow.draw)]) as ahead:
        until_drawing(bench, name, 2)
        codes = together(slow.start(name))
        codes.append(ahead.wait(timeout=240))
    wrong = bench.left(name).faults(right.left) + (["exit code"] if any(codes) else [])
    lapsed, again, drew = noted(place, name, "lapsed"), n_calls(calls) - right.left.n_draws, drawn_by(place, name)
    said = f"{wrong or 'the same answer'}; draws of each: {drew}; {lapsed} leases lapsed, {again} draws made again"
    return Seen("two clocks, an hour apart", where, 1, int(not wrong and len(drew) == 2), said)


def drawn_by(place: str, name: str) -> list[int]:
    """Draws that count of each worker."""
    store = open_storage(place)
    try:
        found = store.draws(store.load_study(name).id, -1_000, 1_000_000)
        return list(Counter(draw.worker for _, draw in found).values())
    finally:
        store.close()


def many_writers(bench: Bench, right: Whole, where: str, count: int) -> Seen:
    """So many processes run the same line at once."""
    name = "many"
    codes = together(bench.start(name, count))
    wrong = bench.left(name).faults(right.left)
    errors = sum(code != 0 for code in codes)
    said = f"{errors} errors; {wrong or 'the same answer'}; {last_line(bench.home / 'errors') if errors else ''}"
    return Seen(f"{count} writers", where, 1, int(not wrong and not errors), said.rstrip("; "))
