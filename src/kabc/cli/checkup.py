"""How a store of studies is: its file, its clock, and the workers that left something behind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from kabc.cli.doctor import Finding
from kabc.cli.status import Status
from kabc.cli.stores import file_of
from kabc.cli.times import ago
from kabc.core.errors import KabcError
from kabc.core.words import counted, few, named, plural
from kabc.storage.contract import Storage
from kabc.study.misfits import misfits

_MOUNTS = Path("/proc/self/mounts")
_REMOTE: tuple[str, ...] = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "afs",
    "ceph",
    "gluster",
    "lustre",
    "gpfs",
    "beegfs",
    "virtiofs",
    "vboxsf",
)
_REMOTE += ("fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "drvfs")
_MOST_SKEW = 2.0  # seconds between two clocks that nobody need to hear of
_MOST_LOG = 100_000_000  # bytes of changes that are not yet in the file itself


def of_store(given: str) -> Iterator[Finding]:
    """All that is looked at in a store; where it cannot be opened, why."""
    file = file_of(given)
    if file is not None:
        yield from of_file(file)
        if not file.exists():
            return
    from kabc.storage.opening import open_storage

    try:
        store = open_storage(given)
    except KabcError as error:
        yield Finding("store", str(error), "problem")
        return
    with closing(store):
        yield from of_database(store)
        yield of_clock(store)
        for name in store.study_names():
            yield of_study(store, name)


def of_database(store: Storage) -> Iterator[Finding]:
    """Whether it can be written, and its versions."""
    from kabc.storage.sql.store import SqlStorage

    assert isinstance(store, SqlStorage)  # it was opened by a path or a URL
    schema, server = store.versions()
    yield Finding("store", f"{store.url}, schema {schema}" + (f", PostgreSQL {server}" if server else ""))
    try:
        store.try_to_write()
    except KabcError as error:
        yield Finding("writing", str(error), "problem")
    else:
        yield Finding("writing", "a transaction can be begun")


def of_file(file: Path) -> Iterator[Finding]:
    """Where the file is, and how much of it is not in its place yet."""
    if not file.exists():
        yield Finding("store", f"there is no file {file}", "problem", "check --storage; kabc run --study makes one")
        return
    kind = file_system(file)
    if kind is None:
        yield Finding("file system", "its kind is not known here")
    elif kind.startswith(_REMOTE):
        cure = "move the store to a local disk, or use PostgreSQL"
        yield Finding("file system", f"{kind}: SQLite cannot lock files safely over a network", "problem", cure)
    else:
        yield Finding("file system", kind)
    log = Path(f"{file}-wal")
    size = log.stat().st_size if log.exists() else 0
    found = f"{size:,} bytes of changes beside {file.stat().st_size:,} of the store"
    if size <= _MOST_LOG:
        yield Finding("log", found)
    else:
        cure = "somebody has been reading for long, so the log cannot be emptied: end readers that hang"
        yield Finding("log", found, "warning", cure)


def file_system(file: Path) -> str | None:
    """The kind of the file system, as the system calls it; None where the system does not say."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    there = file.resolve()
    best, kind = -1, None
    for line in lines:
        _, place, found, *_ = line.split(" ")
        mounted = Path(place.replace("\\040", " "))
        if there.is_relative_to(mounted) and len(mounted.parts) >= best:  # the last of equals covers the others
            best, kind = len(mounted.parts), found
    return kind


def of_clock(store: Storage) -> Finding:
    """How far the store's clock is from ours. Only the store's counts, so nothing breaks."""
    before = time.time()
    theirs = store.now()
    skew = theirs - (before + time.time()) / 2
    if abs(skew) <= _MOST_SKEW:
        return Finding("clock", f"the store's and ours differ by {abs(skew):.1f} s")
    which = "ahead of" if skew > 0 else "behind"
    return Finding(
        "clock",
        f"the store's is {abs(skew):,.0f} s {which} ours",
        "warning",
        "leases go by the store's clock, so nothing is lost; the times of draws are ours: set the clock (NTP)",
    )


def of_study(store: Storage, name: str) -> Finding:
    """Whether somebody has left draws behind."""
    seen = Status.of(store, store.load_study(name))
    what = f"study {named(name)}"
    found = f"{seen.how}, {counted(seen.summary.n_samples, 'sample')}, {counted(len(seen.at_work), 'worker')} at work"
    stuck = [] if seen.study.state == "ended" else misfits(store, seen.study, seen.spec.names)
    if stuck:
        one, more = stuck[0], f", and {len(stuck) - 1} more" if len(stuck) > 1 else ""
        why = f"ticket {one.ticket.id} of arm {one.arm!r} cannot be used: {one.why}{more}"
        return Finding(what, f"{found}; {why}", "problem", f"{one.cure} opens it again")
    failed = seen.summary.tickets.get("failed", 0)
    if failed and seen.study.state == "running":
        cure = f"kabc study status {name} says why; the run tries again when it is started anew"
        return Finding(what, f"{found}; {counted(failed, 'draw')} failed", "problem", cure)
    if seen.left_behind and seen.study.state == "running":
        count, lost = len(seen.left_behind), sorted({one.worker for one in seen.left_behind})
        whose = f"{few(list(map(named, lost)), 3)}, which {plural(len(lost), 'is')} gone"
        again = f"draws {'it' if count == 1 else 'them'} again"
        cure = f"another worker {again}" if seen.at_work else f"start kabc run or kabc worker, which {again}"
        return Finding(what, f"{found}; {counted(count, 'lease')} of {whose}", "warning", cure)
    if seen.study.state == "running" and not seen.at_work:
        changed = ago(seen.now - seen.summary.last_change)
        cure = "start kabc run or kabc worker to go on"
        return Finding(what, f"{found}, last change {changed}", "warning", cure)
    return Finding(what, found)
