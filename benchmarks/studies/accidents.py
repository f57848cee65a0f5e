"""What happens to files, disks and processes of a study, other than being killed."""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.studies.kills import Bench, Whole, together
from benchmarks.studies.processes import start
from benchmarks.studies.seen import Seen
from benchmarks.studies.subject import n_calls, run
from kabc.storage.opening import open_storage

LEASE = 2.0  # seconds, where a test waits for it to lapse


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
    """The disk fills up during the run; later there is room, and the same line is run again."""
    good, faults, said = 0, set[str](), ""
    for number in range(count):
        name, errors = f"full-{number}", bench.home / f"errors-full-{number}"
        with small_disk(bench.home / name, "8m") as disk:
            place = str(disk / "study.db")
            process = start(run, place, name, bench.calls(name), bench.draw, log=errors)
            until_drawing(bench, name, 5 + 7 * number)
            filler = disk / "filler"
            try:
                with filler.open("wb", buffering=0) as file:
                    while file.write(bytes(4096)):
                        pass
            except OSError:  # full
                pass
            time.sleep(1.0)
            process.join(3)
            if process.is_alive():  # it waits for room; people do not
                process.kill()
                process.join()
            stopped = process.exitcode
            filler.unlink()
            codes = together([start(run, place, name, bench.calls(name), bench.draw, log=errors)])
            from benchmarks.studies.subject import left

            wrong = left(place, name, bench.calls(name)).faults(right.left) + (["exit code"] if any(codes) else [])
        said = last_line(errors) or ("waits for room" if stopped == -signal.SIGKILL else "")
        good, faults = good + (not wrong), faults | set(wrong)
    return Seen("full disk", "SQLite", count, good, f"{sorted(faults) or ''} {said}".strip())


def read_only(bench: Bench, right: Whole) -> Seen:
    """A file that may not be written: one line, nothing changed; then it may, and the run ends well."""
    name, errors = "read-only", bench.home / "errors-read-only"
    folder = bench.home / "read-only"
    folder.mkdir()
    place = str(folder / "study.db")
    first = start(run, place, name, bench.calls(name), bench.draw)
    until_drawing(bench, name, 10)
    first.kill()
    first.join()
    content = Path(place).read_bytes()
    with writable_by_nobody(folder):
        together([start(as_nobody, place, name, bench.calls(name), bench.draw, log=errors)])
        unchanged = Path(place).read_bytes() == content
    codes = together([start(run, place, name, bench.calls(name), bench.draw)])
    from benchmarks.studies.subject import left

    wrong = left(place, name, bench.calls(name)).faults(right.left) + (["exit code"] if any(codes) else [])
    right_now = unchanged and not wrong and errors.exists()
    return Seen("read-only file", "SQLite", 1, int(right_now), f"{wrong or ''} {last_line(errors)}".strip())


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
    """A worker is stopped (SIGSTOP) while it draws, for longer than its lease, and then goes on."""
    good, faults, superseded = 0, set[str](), 0
    for number in range(count):
        name = f"frozen-{number}"
        place, calls = bench.place(name), bench.calls(name)
        slow = start(lease_briefly, place, name, calls, bench.draw, log=bench.home / "errors")
        until_drawing(bench, name, 3 + 5 * number)
        os.kill(slow.pid or 0, signal.SIGSTOP)
        other = start(lease_briefly, place, name, calls, bench.draw, log=bench.home / "errors")
        together([other])  # it waits for the lease to lapse, and ends the study alone
        os.kill(slow.pid or 0, signal.SIGCONT)
        codes = together([slow, other])
        wrong = bench.left(name).faults(right.left) + (["exit code"] if any(codes) else [])
        superseded += noted(place, name, "superseded")
        good, faults = good + (not wrong), faults | set(wrong)
    said = f"{sorted(faults) or 'the other one ends the study'}; {superseded} draws superseded, kept as late"
    return Seen("frozen beyond its lease", where, count, good, said)


def lease_briefly(*given: object) -> None:
    run(*given, on_worker_loss="redraw")  # type: ignore[arg-type]


def two_clocks(bench: Bench, right: Whole, where: str) -> Seen:
    """One of two workers believes that it is an hour later."""
    faketime = shutil.which("faketime")
    if faketime is None:
        return Seen("two clocks, an hour apart", where, 0, 0, "not tried: faketime is not installed")
    name = "clocks"
    place, calls = bench.place(name), bench.calls(name)
    words = [faketime, "-f", "+3600s", sys.executable, "-m", "benchmarks.studies.subject"]
    ahead = subprocess.Popen([*words, place, name, str(calls), str(1000 * bench.draw)], stderr=subprocess.DEVNULL)
    beside = bench.start(name)
    codes = [ahead.wait(timeout=240), *together(beside)]
    wrong = bench.left(name).faults(right.left) + (["exit code"] if any(codes) else [])
    lapsed, drawn = noted(place, name, "lapsed"), n_calls(calls)
    said = f"{wrong or 'the same answer'}; {lapsed} leases lapsed, {drawn - right.left.n_draws} draws made again"
    return Seen("two clocks, an hour apart", where, 1, int(not wrong), said)


def many_writers(bench: Bench, right: Whole, where: str, count: int) -> Seen:
    """So many processes run the same line at once."""
    name = "many"
    codes = together(bench.start(name, count))
    wrong = bench.left(name).faults(right.left)
    errors = sum(code != 0 for code in codes)
    said = f"{errors} errors; {wrong or 'the same answer'}; {last_line(bench.home / 'errors') if errors else ''}"
    return Seen(f"{count} writers", where, 1, int(not wrong and not errors), said.rstrip("; "))
