"""The command line, in this process, with what must be true of every call."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unicodedata import category

import numpy as np

from kabc.cli import main
from tests.fuzz.harness import Ended

_ANSWERS = (0, 3, 4, 5, 6)  # exit codes of an answer; 2 refuses the input, 1 is a fault


def called(words: Sequence[object], *, expect_json: bool = False) -> Ended:
    """One command: an answer, or one line that refuses the input. A fault fails, with its traceback."""
    out, err = io.StringIO(), io.StringIO()
    given = [str(word) for word in words]
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        code = main([*given, "--debug"])
    told = f"{given}: exit code {code}\n{out.getvalue()[-2000:]}\n{err.getvalue()[-6000:]}"
    assert code in (2, *_ANSWERS), told
    _expect_clean(out.getvalue(), told)
    if expect_json and out.getvalue():
        json.loads(out.getvalue(), parse_constant=_no_constant)
    if code != 2:
        assert out.getvalue().strip(), told
        return "answered"
    errors = [line for line in err.getvalue().splitlines() if line.startswith("kabc: error: ")]
    assert len(errors) == 1 and len(errors[0]) < 5000, told
    _expect_clean(errors[0], told)
    return "refused"


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no strict JSON")


def _expect_clean(text: str, told: str) -> None:
    assert not {letter for letter in text if category(letter) in ("Cc", "Cs")} - {"\n"}, told


@contextmanager
def folder_of_a_case(folder: Path, number: int) -> Iterator[Path]:
    """A fresh folder, as the current one."""
    import os

    fresh = folder / str(number)
    fresh.mkdir()
    before = Path.cwd()
    os.chdir(fresh)
    try:
        yield fresh
    finally:
        os.chdir(before)


def hostile_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    """The content with a few things wrong, or something else altogether."""
    kind = rng.integers(8)
    at = int(rng.integers(len(content) + 1))
    length = int(rng.integers(1, 60))
    match kind:
        case 0:
            return content[:at]
        case 1:
            return content[:at] + content[at + length :]
        case 2:
            return content[:at] + rng.bytes(length) + content[at:]
        case 3:
            return rng.bytes(int(rng.integers(3000)))
        case 4:
            return content[:at] + content[at : at + length] * int(rng.integers(2, 200)) + content[at:]
        case 5:
            return content[:at] + HOSTILE_TEXTS[int(rng.integers(len(HOSTILE_TEXTS)))].encode() + content[at:]
        case 6:
            return content.decode("latin-1").encode("utf-16")
    flipped = bytearray(content)
    for _ in range(int(rng.integers(1, 20))):
        if flipped:
            flipped[int(rng.integers(len(flipped)))] ^= 1 << int(rng.integers(8))
    return bytes(flipped)


HOSTILE_TEXTS = [
    *(
        "",
        " ",
        ",",
        '"',
        "'",
        "\n",
        "\r",
        "\r\n\r\n",
        "\t",
        "\0",
        "\x1b[2J",
        "\u202e",
        "\ufeff",
        "#",
        "//",
        "\\",
        ";",
        "=",
    ),
    *("nan", "inf", "-inf", "1e999", "-1e-999", "9" * 400, "0x1F", "1_000", "null", "None", "true", "1,5", "--"),
    *("[" * 5000, "{" * 5000, '{"a":' * 2000, "x" * 70_000, "é" * 50, "2020-01-01", "12:00", "DROP TABLE t"),
]
