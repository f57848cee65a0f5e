"""Files are written through to what is there: links, devices, pipes and modes stay what they are."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kabc
from kabc import Result, SettingsError
from kabc.core.files import write_text
from kabc.report import report_html, write_report

Write = Callable[[Result, Path], None]


@cache
def result() -> Result:
    return kabc.cluster([lambda n, rng: rng.normal(0, 1, n), lambda n, rng: rng.normal(9, 1, n)], 2, seed=0)


def saved(one: Result, path: Path) -> None:
    one.save(path)


def reported(one: Result, path: Path) -> None:
    write_report(one, path)


def right(path: Path, write: Write) -> bool:
    text = path.read_text(encoding="utf-8")
    return json.loads(text)["format"] == "kabc result" if write is saved else text == report_html(result())


both = pytest.mark.parametrize("write", [saved, reported])


@both
def test_a_link_stays_a_link_and_its_target_is_written(write: Write, tmp_path: Path) -> None:
    target, link, outer = tmp_path / "real" / "r.json", tmp_path / "link", tmp_path / "outer"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(Path("real") / "r.json")
    outer.symlink_to(link)
    write(result(), outer)
    assert outer.is_symlink() and link.is_symlink() and not target.is_symlink()
    assert right(target, write)
    assert {file.name for file in target.parent.iterdir()} == {"r.json"}


@both
def test_a_link_to_nothing_makes_its_target(write: Write, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "new")
    write(result(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert right(tmp_path / "new", write)


@both
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_keeps_its_mode_and_a_new_one_gets_the_usual_one(write: Write, mode: int, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.touch()
    old.chmod(mode)
    before = os.umask(0o027)
    try:
        write(result(), old)
        write(result(), new)
    finally:
        os.umask(before)
    assert stat.S_IMODE(old.stat().st_mode) == mode
    assert stat.S_IMODE(new.stat().st_mode) == 0o640
    assert right(old, write) and right(new, write)


@both
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner(write: Write, tmp_path: Path) -> None:
    (tmp_path / "r").touch()
    os.chown(tmp_path / "r", 12345, 23456)
    write(result(), tmp_path / "r")
    found = (tmp_path / "r").stat()
    assert (found.st_uid, found.st_gid) == (12345, 23456)


@both
def test_a_pipe_is_written_to(write: Write, tmp_path: Path) -> None:
    pipe, copy = tmp_path / "pipe", tmp_path / "copy"
    os.mkfifo(pipe)
    # opened for both, so that neither side waits for the other
    reader = os.open(pipe, os.O_RDWR)
    chunks: list[bytes] = []

    def read() -> None:
        while not b"".join(chunks).endswith(b"\n\0"):
            chunks.append(os.read(reader, 65536))

    reading = threading.Thread(target=read)
    reading.start()
    write(result(), pipe)
    os.write(reader, b"\n\0")
    reading.join(30)
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    copy.write_bytes(b"".join(chunks).removesuffix(b"\n\0"))
    assert right(copy, write)


@both
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a device")
def test_a_device_stays_a_device(write: Write, tmp_path: Path) -> None:
    device = tmp_path / "null"  # not the real one: a test that fails must not replace it
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        pytest.skip("no device can be made here")
    write(result(), device)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert list(tmp_path.iterdir()) == [device]


SCRIPT = """
import kabc, sys
from kabc.report import write_report
one = kabc.load_result(sys.argv[1])
print("before")
one.save(sys.argv[2]) if sys.argv[3] == "save" else write_report(one, sys.argv[2])
print("after")
"""


@pytest.mark.skipif(not Path("/proc/self/fd/1").exists(), reason="standard output has no name here")
@pytest.mark.parametrize("how", ["save", "report"])
@pytest.mark.parametrize("to", ["pipe", "file"])
def test_standard_output_is_written_to_in_order(how: str, to: str, tmp_path: Path) -> None:
    kept, out, link = tmp_path / "kept.json", tmp_path / "out", tmp_path / "stdout"
    result().save(kept)
    link.symlink_to("/proc/self/fd/1")  # as /dev/stdout, which a test that fails must not replace
    words = [sys.executable, "-c", SCRIPT, str(kept), str(link), how]
    if to == "pipe":
        out.write_bytes(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    else:
        with out.open("w") as file:
            subprocess.run(words, stdout=file, check=True)
    before, *middle, after = out.read_text(encoding="utf-8").split("\n")[:-1]
    text = "\n".join(middle) + after.removesuffix("after")
    assert before == "before" and after.endswith("after")
    assert link.is_symlink()
    assert text.startswith('{"format"' if how == "save" else "<!DOCTYPE html>")


@both
def test_a_failed_write_leaves_the_old_file_and_no_other(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r"
    path.write_text("old")

    def broken(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(SettingsError, match=r"cannot write .*No space left.*another path"):
        write(result(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@both
def test_a_folder_or_a_circle_of_links_is_refused(write: Write, tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to(tmp_path / "round")
    for path in (tmp_path, tmp_path / "round", tmp_path / "nowhere" / "r"):
        with pytest.raises(SettingsError, match="cannot write"):
            write(result(), path)


def test_names_as_long_as_they_may_be_are_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".json")
    result().save(path)
    assert np.array_equal(kabc.load_result(path).labels, result().labels)


def test_a_text_that_utf_8_cannot_hold_is_written_with_escapes(tmp_path: Path) -> None:
    write_text(tmp_path / "t", "odd\udcff caf\xe9")
    assert (tmp_path / "t").read_text(encoding="utf-8") == "odd\\udcff caf\xe9"
