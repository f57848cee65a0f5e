"""Writing files: whole or not at all, and through to what is there.

A link stays a link, a device a device, a pipe a pipe, and a file keeps its mode and owner.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kabc.core.errors import SettingsError

StrPath = str | os.PathLike[str]


def write_text(path: StrPath, text: str) -> None:
    """Write a text in UTF-8 to a path; a SettingsError says why it cannot be written."""
    data = text.encode("utf-8", "backslashreplace")  # half of a pair of surrogates, out of a name in another encoding
    try:
        there = _found(path)
        if there is None or (stat.S_ISREG(there.st_mode) and _standard_stream(there) is None):
            _replace(Path(os.path.realpath(path)), data, there)
        else:
            _write_through(path, data, there)
    except OSError as error:
        raise SettingsError(f"cannot write {os.fspath(path)!r}: {error.strerror}; choose another path") from error


@contextmanager
def written_whole(path: StrPath) -> Iterator[Path]:
    """A new file to write to, which takes the place of `path` at the end of the block, or is gone if that fails.

    Only for ordinary files: who reads a pipe would read a file that is not finished.
    """
    try:
        there = _found(path)
        if there is not None and not stat.S_ISREG(there.st_mode):
            raise SettingsError(f"cannot write {os.fspath(path)!r}: it is no ordinary file; choose another path")
        target = Path(os.path.realpath(path))
        temporary = target.with_name(_temporary_name() + target.suffix)
        try:
            mode = 0o666 if there is None else 0o600  # nobody may read it before it has the mode of the old file
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
            yield temporary
            with temporary.open("rb+") as file:
                if there is not None:
                    _like(file.fileno(), there)
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise SettingsError(f"cannot write {os.fspath(path)!r}: {reason}; choose another path") from error


def expect_writable(path: StrPath) -> None:
    """Refuse a path that cannot be written, before anything is paid for. A file is really made there, and removed."""
    name = os.fspath(path)
    try:
        there = _found(path)
        folder = Path(os.path.realpath(path)).parent
        if there is None and not folder.is_dir():
            raise SettingsError(f"cannot write {name}: there is no folder {folder}; create it or choose another path")
        kind = 0 if there is None else stat.S_IFMT(there.st_mode)
        if kind in (stat.S_IFDIR, stat.S_IFSOCK):
            what = "a folder" if kind == stat.S_IFDIR else "a socket"
            raise SettingsError(f"cannot write {name}: it is {what}; choose another path")
        if kind in (0, stat.S_IFREG):
            if there is None or _standard_stream(there) is None:
                _try(folder / _temporary_name())
        elif not os.access(path, os.W_OK):
            raise SettingsError(f"cannot write {name}: permission denied; choose another path")
    except (OSError, ValueError) as error:
        if isinstance(error, SettingsError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"cannot write {name!r}: {reason}; choose another path") from error


def first_same(path: StrPath, others: Iterable[StrPath]) -> StrPath | None:
    """The first of the others that is the same file, by whatever name or link; of devices and pipes, none."""
    return next((other for other in others if _same(path, other)), None)


def _same(path: StrPath, other: StrPath) -> bool:
    with suppress(OSError):  # what cannot even be looked at is refused when it is opened
        one, two = _found(path), _found(other)
        if one is None or two is None:
            return os.path.realpath(path) == os.path.realpath(other)
        return os.path.samestat(one, two) and stat.S_ISREG(one.st_mode)
    return False


def _found(path: StrPath) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except FileNotFoundError:
        return None


def _standard_stream(there: os.stat_result) -> int | None:
    """1 or 2 where the file is our standard output or error: it has a place to go on from, and readers that wait."""
    for number in (1, 2):
        with suppress(OSError):  # closed
            if os.path.samestat(os.fstat(number), there):
                return number
    return None


def _write_through(path: StrPath, data: bytes, there: os.stat_result) -> None:
    number = _standard_stream(there)
    if number is None:
        opened = os.open(path, os.O_WRONLY)
    else:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        opened = os.dup(number)
    with os.fdopen(opened, "wb") as file:
        file.write(data)


def _try(temporary: Path) -> None:
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    finally:
        temporary.unlink(missing_ok=True)


def _replace(target: Path, data: bytes, there: os.stat_result | None) -> None:
    # beside the target: a rename is atomic only within one file system
    temporary = target.with_name(_temporary_name())
    mode = 0o666 if there is None else 0o600  # nobody may read it before it has the mode of the old file
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            if there is not None:
                _like(file.fileno(), there)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _temporary_name() -> str:
    return f".kabc-{os.getpid()}-{secrets.token_hex(4)}"


def _like(opened: int, there: os.stat_result) -> None:
    """Owner, group and mode of the old file, as far as we may give them."""
    for owner, group in ((-1, there.st_gid), (there.st_uid, -1)):
        with suppress(OSError):
            os.fchown(opened, owner, group)
    os.fchmod(opened, stat.S_IMODE(there.st_mode))
