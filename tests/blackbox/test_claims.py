"""What is said of proofs is what is proven: lost workers, repeated draws, anchors, and alarms that may be false."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc

DOCS = Path(__file__).parents[2] / "docs"


def normal(n: int, rng: np.random.Generator, *, mean: float) -> Any:
    return rng.normal(mean, 1.0, n)


def deadly(n: int, rng: np.random.Generator, *, marks: Path, lethal: frozenset[int], hard: bool) -> Any:
    """Samples of an arm; the draws with these numbers, counted over all processes, kill their process."""
    calls = len(list(marks.iterdir()))
    (marks / f"draw-{calls}").touch()
    if calls in lethal and hard:
        os.kill(os.getpid(), signal.SIGKILL)
    if calls in lethal:
        os._exit(1)
    return rng.normal(0.0, 1.0, n)


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
        yield executor


def arms(marks: Path, *lethal: int, hard: bool = True) -> dict[str, Any]:
    others = {name: partial(normal, mean=2.5) for name in ("b", "c")}
    return {"a": partial(deadly, marks=marks, lethal=frozenset(lethal), hard=hard), **others}


ASKED: dict[str, Any] = {"n_clusters": 2, "seed": 0, "progress": False, "watch": False}


@pytest.mark.parametrize("hard", [True, False], ids=["killed", "exits"])
def test_the_second_worker_that_dies_with_draws_of_an_arm_ends_the_run(
    pool: ProcessPoolExecutor, tmp_path: Path, hard: bool
) -> None:
    """Also if there are rounds between the two: draw 4 of the arm is that of draw 3 again, and draw 6 is another."""
    with pytest.raises(kabc.ArmError, match=r"2 workers that drew from it died.*on_worker_loss=") as caught:
        kabc.cluster(arms(tmp_path, 3, 6, hard=hard), **ASKED, executor=pool)
    assert len(list(tmp_path.iterdir())) == 7, "nothing is drawn from it after the second death"
    assert caught.value.arm == "a"
    found = caught.value.result
    assert found.status == "failed" and not found.certified
    assert found.n_samples > 0


def test_one_death_is_drawn_again_and_the_certificate_says_so(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    usual = kabc.cluster(arms(tmp_path), **ASKED)
    for mark in tmp_path.iterdir():
        mark.unlink()
    result = kabc.cluster(arms(tmp_path, 3), **ASKED, executor=pool)
    assert result.certified and result.labels == usual.labels and result.n_samples == usual.n_samples
    (line,) = (line for line in result.guarantee.assumptions if "made again after a worker was lost" in line)
    assert "draw" in line and line[0].isdigit()
    assert line in result.certificate().partition("Assumptions:")[2].partition("Rule:")[0]
    assert not any("made again" in line for line in usual.guarantee.assumptions)


def test_whoever_asks_for_redraws_has_them_and_the_certificate_counts_them(
    pool: ProcessPoolExecutor, tmp_path: Path
) -> None:
    result = kabc.cluster(arms(tmp_path, 3, 6), **ASKED, executor=pool, on_worker_loss="redraw")
    assert result.certified
    assert any("made again after a worker was lost" in line for line in result.guarantee.assumptions)


def test_a_study_says_it_too_also_after_it_was_resumed(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    store = str(tmp_path / "kabc.db")
    study = kabc.create_study("s", ["a", "b", "c"], 2, storage=store, seed=0, watch=False, max_samples=8)
    first = study.run(arms(marks, 0), executor=pool, progress=False)
    assert first.status == "budget"
    again = kabc.load_study("s", storage=store)
    again.raise_budget(None)
    result = again.run(arms(marks), progress=False)
    assert result.certified
    for found in (first, result):
        assert any("made again after a worker was lost" in line for line in found.guarantee.assumptions)


# ---------------------------------------------------------------- recorded samples


def looked(store: str, name: str, names: list[str], drift: float) -> str:
    """What a study that reads the samples of "monday" says of them; arm a has drifted."""
    study = kabc.load_study("monday", storage=store).grow(
        name, arms=[one for one in names if one not in "abcdef"], seed=2, max_samples=6 * 20 + 2 * len(names)
    )
    result = study.run({one: partial(normal, mean=drift * (one == "a")) for one in names}, progress=False)
    return " ".join((*result.notes, *result.guarantee.assumptions))


def test_a_drift_is_told_by_the_number_of_all_arms_not_of_those_with_records(tmp_path: Path) -> None:
    """How many arms have a record depends on values, so an alarm of one arm takes N / 0.0025, N of the question."""
    store, few = str(tmp_path / "kabc.db"), list("abcdef")
    monday = kabc.create_study("monday", few, storage=store, seed=0, max_samples=300)
    monday.run({one: partial(normal, mean=0.0) for one in few}, progress=False)
    many, seen = [*few, *(f"new {one}" for one in range(60))], 0
    for drift in (1.7, 1.8, 1.9):
        alarm = re.search(
            r"not used: a: new samples differ from recorded ones \(evidence ([\d,]+) : 1\); found",
            looked(store, f"same, {drift}", few, drift),
        )
        if alarm is None:
            continue  # too weak, or all arms together say it
        seen += 1
        assert len(few) / 0.0025 <= float(alarm[1].replace(",", "")) < len(many) / 0.0025
        assert "gave no sign that the arms have changed" in looked(store, f"grown, {drift}", many, drift)
    assert seen


def test_a_certificate_says_that_the_length_of_blocks_was_chosen_from_the_data() -> None:
    rng = np.random.default_rng(0)
    walks = {}
    for name in "abc":
        noise = rng.normal(0.0, 1.0, 3_000)
        for row in range(1, len(noise)):
            noise[row] += 0.8 * noise[row - 1]
        walks[name] = noise + 4.0 * (name == "c")
    result = kabc.cluster(walks, 2, block="auto", seed=0, progress=False)
    assert result.block > 1
    assert "the length was chosen from the data, by a rule of thumb" in result.certificate()


# ---------------------------------------------------------------- pages


def page(name: str) -> str:
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


def test_what_is_only_measured_after_lost_workers_is_called_measured() -> None:
    assert "nearly the guarantee" not in page("retries.md") + page("theory.md") + page("failures.md")
    assert "measured" in page("retries.md") and "censoring.py" in page("retries.md")


@pytest.mark.parametrize("name", ["theory.md", "guide.md"])
def test_false_alarms_are_no_part_of_delta_and_the_pages_say_so(name: str) -> None:
    text = page(name)
    assert "only remove certificates" in text or "only removes certificates" in text
    assert "1 % - 5 %" in text or "0.01 - 0.05" in text
