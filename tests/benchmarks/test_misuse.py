"""The misuse benchmark: its judgements are right, and a small part of it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import misuse
from benchmarks.misuse import INSTANCES, MISUSES, complete, jobs, run, table, values_of


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("wrong", MISUSES)
def test_every_misuse_of_every_instance_gives_numbers(name: str, wrong: str) -> None:
    samples = values_of(INSTANCES[name], MISUSES[wrong], np.random.default_rng(0))
    assert len(samples) == sum(INSTANCES[name].sizes)
    assert all(np.isfinite(one).all() for one in samples)
    assert (len(samples[0]) == 3) == MISUSES[wrong].tiny


def test_clean_samples_with_the_right_k_are_certified_and_right() -> None:
    row = run(("means", "none", 0))
    assert (row["status"], row["groups"], row["pairs"]) == ("decided", False, False)


class Answer:
    """What a judge looks at."""

    def __init__(self, status: str, n_groups_at_least: int, **more: Any) -> None:
        self.status, self.n_groups_at_least, self.notes = status, n_groups_at_least, ()
        self.__dict__.update(more)


APART = np.array([[False, False, True], [False, False, True], [True, True, False]])


@pytest.mark.parametrize(
    ("found", "answer", "expected"),
    [
        ([0, 0, 1], Answer("decided", 2), (False, False, "")),
        ([0, 1, 1], Answer("decided", 2), (True, False, "")),
        ([0, 0, 0], Answer("decided", 2), (True, False, "")),
        ([0, 1, 1], Answer("budget", 2), (False, False, "")),
        ([0, 0, 1], Answer("budget", 3), (False, True, "")),
        ([0, -1, 1], Answer("decided", 2, set_aside={"b": "3 rows"}), (False, False, "set aside")),
        ([0, 1, 1], Answer("decided", 2, k_doubt=12.0), (True, False, "k_doubt")),
        ([0, 1, 1], Answer("decided", 2, k_doubt=0.5), (True, False, "")),
        ([0, 1, 1], Answer("doubtful", 2, assumptions=("x",)), (False, False, "assumptions")),
        ([0, 1, 1], Answer("decided", 2, notes=("arm b drifts",)), (True, False, "note")),
        ([0, 1, 1], Answer("decided", 2, notes=("in seconds",)), (True, False, "")),
    ],
)
def test_answers_are_judged_by_the_truth(found: list[int], answer: Answer, expected: tuple[bool, bool, str]) -> None:
    row = misuse._judged([0, 0, 1], found, APART, answer)
    assert (row["groups"], row["pairs"], row["doubt"]) == expected


def test_a_pair_of_one_group_told_apart_is_false() -> None:
    assert misuse._judged([0, 0, 0], [0, 0, 1], APART, Answer("budget", 1))["pairs"]


def test_what_is_in_the_log_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def made(side: str, source: str | None, wanted: list[misuse.Job]) -> Any:
        asked.append(len(wanted))
        for job in wanted:
            yield {"side": side, "job": job, "status": "decided", "groups": True, "pairs": True, "doubt": ""}

    monkeypatch.setattr(misuse, "fresh", made)
    log, wanted = tmp_path / "log.jsonl", jobs(["scales"], 2)
    complete(log, {"after": None}, wanted[:5])
    rows = complete(log, {"after": None}, wanted)
    assert asked == [5, len(wanted) - 5]
    assert len(rows) == len(wanted) == len({json.dumps(row["job"]) for row in rows})
    assert table(rows, ["after"]).splitlines()[-1].split() == ["all", f"{len(wanted)},", str(len(wanted))]


def test_runs_of_another_package_are_made_in_a_process_of_their_own(tmp_path: Path) -> None:
    source = str(Path(__file__).parents[2] / "src")
    rows = complete(tmp_path / "log.jsonl", {"before": source}, [("equal", "tiny arm, table", 0)])
    assert [row["side"] for row in rows] == ["before"]
    assert rows[0]["status"] in ("decided", "budget", "exhausted", "refused", "contradicted", "doubtful", "stalled")
