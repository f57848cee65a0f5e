"""Saved answers that somebody has changed, given to `show`, `compare` and the report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from tests.fuzz.harness import Case, Ended, Record, every_part, expect_sound, fuzzed
from tests.fuzz.shell import HOSTILE_TEXTS, called, folder_of_a_case, hostile_bytes

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "results").glob("*.json"))
HOSTILE: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        1,
        2,
        10**9,
        2**63,
        10**400,
        -0.0,
        1e308,
        float("nan"),
        float("inf"),
        "",
        [],
        {},
        [[]],
        [None],
    ),
    *({"shape": [10**9], "kind": "int", "fill": 0}, {"shape": [2, 2], "kind": "float", "data": [1]}, {"tuple": [1]}),
    *({"number": 10**9, "arms": []}, {"text": "x", "type": "y"}, "decided", "doubtful", "budget", "nothing"),
    *(text for text in HOSTILE_TEXTS if len(text) < 500),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All paths to a value within a document; of long lists the first entries."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:5]) if isinstance(value, list) else ()
    for key, inside in entries:
        yield (*path, key)
        yield from places(inside, (*path, key))


def changed(rng: np.random.Generator, document: dict[str, Any]) -> dict[str, Any]:
    """A few values replaced, removed, repeated or exchanged."""
    for _ in range(int(rng.integers(1, 4))):
        known = list(places(document))
        *path, last = known[int(rng.integers(len(known)))]
        holder: Any = document
        for key in path:
            holder = holder[key]
        match int(rng.integers(5)):
            case 0 | 1:
                holder[last] = HOSTILE[int(rng.integers(len(HOSTILE)))]
            case 2:
                del holder[last]
            case 3 if isinstance(holder, list):
                holder *= int(rng.integers(2, 50))
            case 3:
                holder[HOSTILE_TEXTS[int(rng.integers(10))]] = holder[last]
            case _:
                other = known[int(rng.integers(len(known)))]
                value: Any = document
                try:
                    for key in other:
                        value = value[key]
                except (KeyError, IndexError, TypeError):
                    continue
                holder[last] = json.loads(json.dumps(value))
    return document


def some_answers(folder: Path) -> list[bytes]:
    """Answers of every version and of several kinds."""
    rng = np.random.default_rng(0)
    arms = {f"arm {i}": rng.normal(4.0 * (i % 2), 1.0, (80, 2)) for i in range(5)}
    kabc.cluster(arms, 2, seed=0, progress=False).save(folder / "decided.json")
    kabc.cluster(arms, 3, max_samples=100, seed=0, progress=False).save(folder / "budget.json")
    kabc.cluster(arms | {"tiny": arms["arm 0"][:1]}, 2, seed=0, progress=False).save(folder / "aside.json")
    return [path.read_bytes() for path in (*GOLDEN, *sorted(folder.glob("*.json")))]


def on_an_answer(folder: Path) -> Case:
    numbers: Iterator[int] = count()
    answers = some_answers(folder)

    def one_case(rng: np.random.Generator) -> Ended:
        with folder_of_a_case(folder, next(numbers)):
            content = answers[int(rng.integers(len(answers)))]
            Path("old.json").write_bytes(content)
            if rng.random() < 0.75:
                content = json.dumps(changed(rng, json.loads(content))).encode()
            else:
                content = hostile_bytes(rng, content)
            Path("new.json").write_bytes(content)
            ended = called(["show", "new.json", "--certificate", "--all"])
            assert called(["show", "new.json", "--json", "--evidence"], expect_json=True) == ended
            assert called(["show", "new.json", "--report", "out.html"]) == ended
            called(["compare", "old.json", "new.json"])
            called(["run", "new.json", "--quiet", "--max-samples", "100", "--seed", "1"])
            return ended

    return one_case


@every_part
@pytest.mark.timeout(1800)
def test_every_saved_answer_is_shown_or_refused_in_one_line(tmp_path: Path, part: int, record_property: Record) -> None:
    expect_sound(fuzzed("hostile results", 200, on_an_answer(tmp_path), part), 0.0, record_property)
