"""Random lines of options and values, good and bad, for every command."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from tests.fuzz.harness import Case, Ended, Record, every_part, expect_sound, fuzzed
from tests.fuzz.shell import HOSTILE_TEXTS, called, folder_of_a_case

BAD = [
    *(text for text in HOSTILE_TEXTS if "\0" not in text and len(text) < 2000),
    *("-1", "0", "1", "2.5", "1e308", "-", "a=b", "=", "x=", "=1", "a=number", "[1, 2", "arm", "value", "../x", "."),
    *("--json", "-x", "--clusters", "anytme", "kabc[", "{}", "a" * 1000, "\ud800", "select", "1; drop table t"),
]
GOOD: dict[str, dict[str, list[str]]] = {
    "run": {
        "--arm": ["arm"],
        "--values": ["value", "value,kind"],
        "--types": ["value=number", "kind=category", "kind=text"],
        "--missing": ["drop", "encode", "raise"],
        "--order": ["value"],
        "--where": ["value > 0", "kind = 'x'"],
        "--wide": [],
        "--sql": ["select 1"],
        "--database": ["sqlite:///t.db", "duckdb:///:memory:"],
        "--measure": ["wall", "output"],
        "--timeout": ["5"],
        "--warmup": ["0"],
        "--on-failure": ["encode", "raise"],
        "--config": ["t.toml"],
        "--clusters": ["2", "3"],
        "--delta": ["0.1", "1"],
        "--strategy": ["anytime", "kabc", "kabc-tight", "boc", "mmd-linkage"],
        "--option": ["patience=3", "sigma=1", "keep_samples=true"],
        "--max-samples": ["200", "20"],
        "--min-separation": ["0.5"],
        "--pilot": ["5"],
        "--block": ["2", "auto"],
        "--check-k": [],
        "--no-check-k": [],
        "--seed": ["3"],
        "--workers": ["2"],
        "--watch": [],
        "--no-watch": [],
        "--save": ["out.json"],
        "--report": ["out.html"],
        "--certificate": [],
        "--all": [],
        "--evidence": [],
        "--json": [],
    },
    "plan": {
        "--arm": ["arm"],
        "--values": ["value"],
        "--clusters": ["2"],
        "--delta": ["0.1"],
        "--seed": ["3"],
        "--pilot": ["20"],
        "--gap": ["3"],
        "--arms": ["4"],
        "--price": ["0.1"],
        "--seconds-per-sample": ["2"],
        "--save-pilot": ["out.csv"],
        "--json": [],
    },
    "show": {"--certificate": [], "--report": ["out.html"], "--all": [], "--evidence": [], "--json": []},
    "compare": {"--json": []},
    "strategies": {"--json": []},
    "bench": {
        "--list": [],
        "--strategies": ["anytime"],
        "--runs": ["1"],
        "--cap": ["50"],
        "--out": ["out"],
        "--json": [],
    },
}
FIRST = {
    "run": ["t.csv", "--arm", "arm", "--quiet", "--seed", "1"],
    "plan": ["t.csv", "--arm", "arm", "--quiet", "--seed", "1"],
    "show": ["answer.json"],
    "compare": ["answer.json", "answer.json"],
    "strategies": [],
    "bench": ["same-mean-200", "--strategies", "anytime", "--runs", "1", "--cap", "50", "--quiet"],
}
COMMANDS = ["run"] * 8 + ["plan", "plan", "show", "show", "compare", "strategies", "bench"]


def one_of(rng: np.random.Generator, options: list[Any]) -> Any:
    return options[int(rng.integers(len(options)))]


def line_of(rng: np.random.Generator) -> list[str]:
    """A good line with up to four options more; in most lines something is wrong."""
    command = one_of(rng, COMMANDS)
    words = list(FIRST[command])
    bad = rng.random() < 0.6
    for _ in range(int(rng.integers(0, 5))):
        option, values = one_of(rng, list(GOOD[command].items()))
        hostile = bad and rng.random() < 0.5
        words.append(option)
        if values or (hostile and rng.random() < 0.2):
            words.append(one_of(rng, BAD) if hostile else one_of(rng, values))
    if bad and rng.random() < 0.2:
        at = int(rng.integers(len(words) + 1))
        words[at : at + int(rng.integers(2))] = [one_of(rng, BAD)]
    if bad and rng.random() < 0.05:
        command = one_of(rng, [*BAD, "rnu", ""])
    return [command, *words]


def expect_small(words: list[str]) -> None:
    """A line that asks for very much gets it, which is no fault; such lines are left out."""
    for option, value in pairwise(words):
        if option in ("--arms", "--runs", "--cap", "--pilot") and value.isdigit() and int(value) > 1000:
            raise kabc.KabcError("too large for a test")


def on_a_line(folder: Path) -> Case:
    numbers: Iterator[int] = count()
    rng = np.random.default_rng(0)
    rows = [f"{arm},{rng.normal(4.0 * (arm in 'bd'), 1.0):.3f},{'xyz'[i % 3]}" for i in range(60) for arm in "abcd"]
    arms = {arm: [float(row.split(",")[1]) for row in rows if row[0] == arm] for arm in "abcd"}
    saved = folder / "answer.json"
    kabc.cluster(arms, 2, seed=0, progress=False).save(saved)

    def one_case(rng: np.random.Generator) -> Ended:
        with folder_of_a_case(folder, next(numbers)):
            Path("t.csv").write_text("\n".join(["arm,value,kind", *rows]))
            Path("t.toml").write_text('clusters = 2\n[table]\npath = "t.csv"\narm = "arm"\n')
            Path("answer.json").write_bytes(saved.read_bytes())
            words = line_of(rng)
            expect_small(words)
            return called(words, expect_json="--json" in words)

    return one_case


@every_part
@pytest.mark.timeout(1800)
def test_every_line_of_options_gives_an_answer_or_one_line(tmp_path: Path, part: int, record_property: Record) -> None:
    expect_sound(fuzzed("option lines", 300, on_a_line(tmp_path), part), 0.1, record_property)
