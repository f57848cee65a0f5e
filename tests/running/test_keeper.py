"""A snapshot saves time, and changes nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.core.scores.maps import Custom
from kabc.running import keeper
from kabc.running.intake import Intake
from kabc.running.studies import run_of
from kabc.strategies.anytime.strategy import AnytimeKABC
from tests.running.reusing import normal


def words(chance: float) -> Callable[[int, np.random.Generator], Any]:
    return lambda n, rng: rng.choice(["yes", "no", "perhaps"], n, p=[chance, 0.9 - chance, 0.1])


def pool(mean: float) -> Any:
    return np.random.default_rng([3, int(10 * mean)]).normal(mean, 1.0, 900)


QUESTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "anytime": ({name: normal(0.7 * (name == "b")) for name in "abc"}, {"n_clusters": 2}),
    "K unknown": ({name: normal(0.7 * (name == "b")) for name in "abc"}, {"max_samples": 500}),
    "kabc": ({name: normal(3.0 * (name == "b")) for name in "abc"}, {"n_clusters": 2, "strategy": "kabc-tight"}),
    "tolerance": ({name: normal(3.0 * (name == "b")) for name in "abc"}, {"tolerance": "1 sd"}),
    "texts": ({name: words(0.3 + 0.3 * (name == "b")) for name in "abc"}, {"n_clusters": 2}),
    "pools in blocks": ({name: pool(1.0 * (name == "b")) for name in "abc"}, {"n_clusters": 2, "block": 3}),
}


def seen(result: kabc.Result) -> dict[str, Any]:
    document = result.to_dict(full=True)
    return {
        name: value
        for name, value in document.items()
        if name not in ("seconds", "origin") and not (name == "notes" and "resumed" in str(value))
    }


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot after every round, of any size."""
    monkeypatch.setattr(keeper, "SECONDS", 0.0)
    monkeypatch.setattr(keeper, "ROOM", float("inf"))
    monkeypatch.setattr(keeper, "_SHARE", float("inf"))


def interrupted(arms: dict[str, Any], after: int) -> dict[str, Any]:
    """The same arms; the run is stopped in a later round."""
    calls = 0

    def stops(n: int, rng: np.random.Generator) -> Any:
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt
        return arms["a"](n, rng)

    return arms | {"a": stops}


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *((name, "kept") for name in QUESTIONS),
        *(("anytime", how) for how in ("dropped", "damaged", "of another version")),
    ],
)
def test_a_study_that_goes_on_from_a_snapshot_finds_what_it_would_have_found(
    name: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arms, question = QUESTIONS[name]
    whole = kabc.cluster(arms, seed=3, progress=False, **question)
    store = tmp_path / "kabc.db"
    study = kabc.create_study("cut", arms=list(arms), seed=3, storage=store, **question)
    if name.startswith("pools"):  # arrays cannot stop a run: a listener does

        def stop(found: Any) -> None:
            if found.number == 3:
                raise KeyboardInterrupt

        study.run(arms, progress=False, on_round=stop)
    else:
        study.run(interrupted(arms, 3), progress=False)
    storage = study.storage
    kept = storage.load_snapshot(study.record.id)
    assert kept is not None
    if how == "dropped":
        storage.drop_snapshot(study.record.id)
    if how == "damaged":
        storage.save_snapshot(study.record.id, kept[0], kept[1][:-5] + b"12345")
    if how == "of another version":
        storage.save_snapshot(study.record.id, kept[0], kept[1].replace(b'"code": "', b'"code": "x', 1))
    taken: list[int] = []
    take = Intake.take

    def listen(self: Intake, pieces: Any) -> Any:
        taken.append(self.n_samples)
        return take(self, pieces)

    monkeypatch.setattr(Intake, "take", listen)
    again = kabc.load_study("cut", store).run(arms, progress=False)
    assert (taken[0] == 0) == (how != "kept"), "a snapshot skips rounds, and without one none is skipped"
    mine, expected = seen(again), seen(whole)
    for key in expected:
        assert mine.get(key, expected[key]) == expected[key], key
    assert storage.load_snapshot(study.record.id) is None or again.status == "budget"


def test_a_run_that_holds_a_function_has_no_snapshot_and_is_replayed(tmp_path: Path) -> None:
    study = kabc.create_study("own", arms=["a", "b"], n_clusters=2, seed=0, storage=tmp_path / "kabc.db")
    rounds = run_of(study.storage, study.record, study.spec, None).rounds
    rounds.strategy = AnytimeKABC(2, 2, 0.1, maps=[Custom(np.square)])
    keeper.Keeper(study.storage, study.record, "x").told(rounds, 1, 99.0)
    assert study.storage.load_snapshot(study.record.id) is None


@pytest.mark.parametrize(("room", "long", "kept"), [(0.5, 600.0, False), (float("inf"), 600.0, True), (0.5, 0.0, True)])
def test_a_large_snapshot_that_takes_more_room_than_half_of_the_samples_is_kept_only_where_replaying_takes_long(
    room: float, long: float, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "SMALL", 0)
    monkeypatch.setattr(keeper, "ROOM", room)
    monkeypatch.setattr(keeper, "LONG", long)
    arms, question = QUESTIONS["anytime"]
    study = kabc.create_study("own", arms=list(arms), seed=3, storage=tmp_path / "kabc.db", max_samples=60, **question)
    assert study.run(arms, progress=False).status == "budget"
    assert (study.storage.load_snapshot(study.record.id) is not None) == kept


def test_room_is_weighed_against_time() -> None:
    assert keeper.LONG == 600.0
    large = keeper.SMALL + 1
    assert keeper.worth_it(large, 0, keeper.LONG)
    assert not keeper.worth_it(large, 0, keeper.LONG - 1)
    assert keeper.worth_it(keeper.SMALL, 0, 0.0)


def test_a_snapshot_does_not_hold_the_samples_again(tmp_path: Path) -> None:
    """They are in the store. 600,000 bytes of samples are more than all that it learned."""
    columns = 40
    arms = dict.fromkeys("abc", lambda n, rng: rng.normal(0.0, 1.0, (n, columns)))
    study = kabc.create_study(
        "own", arms=list(arms), n_clusters=2, seed=3, storage=tmp_path / "kabc.db", max_samples=2_400, strategy="kabc"
    )
    result = study.run(arms, progress=False)
    kept = study.storage.load_snapshot(study.record.id)
    assert kept is not None
    sample_bytes = 8 * columns * result.n_samples
    assert sample_bytes > 600_000
    assert len(kept[1]) < 0.25 * sample_bytes
