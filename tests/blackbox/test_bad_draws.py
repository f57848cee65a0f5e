"""A draw that no strategy could be told is a failed draw of its arm: the study goes on once the arm is mended."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from tests.blackbox.shell import KABC, PATIENCE, Served, environment, shell
from tests.blackbox.worker import Caller, served_store
from tests.postgres import new_database
from tests.processes import running

Arm = Callable[[int, np.random.Generator], Any]
BAD: dict[str, Callable[[int], Any]] = {
    "texts": lambda n: np.array(["timeout"] * n),
    "not a number": lambda n: np.full(n, np.nan),
    "infinite": lambda n: np.full(n, np.inf),
    "two columns": lambda n: np.zeros((n, 2)),
    "another count": lambda n: np.zeros(n + 1),
    "a text among numbers": lambda n: np.array([1.5] * (n - 1) + ["timeout"], dtype=object),
    "objects": lambda n: np.array([1.5] * n, dtype=object),
}


@pytest.fixture(params=["sqlite", "postgres", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str | None:
    if request.param == "postgres":
        return new_database(request.getfixturevalue("postgres"))
    return tmp_path / "kabc.db" if request.param == "sqlite" else None


def normal(mean: float) -> Arm:
    return lambda n, rng: rng.normal(mean, 1.0, n)


def once(good: Arm, call: int, bad: Callable[[int], Any]) -> Arm:
    """An arm of which one draw is bad."""
    calls = 0

    def draw(n: int, rng: np.random.Generator) -> Any:
        nonlocal calls
        calls += 1
        return bad(n) if calls == call else good(n, rng)

    return draw


def ask(store: Any, name: str = "s") -> kabc.Study:
    return kabc.create_study(name, arms=["a", "b"], n_clusters=2, seed=0, storage=store, max_samples=400)


def plain() -> kabc.Result:
    return ask(None).run({"a": normal(0), "b": normal(1.5)}, progress=False)


@pytest.mark.parametrize("bad", BAD)
def test_an_arm_is_mended_and_the_study_goes_on(store: Path | str | None, bad: str) -> None:
    study = ask(store)
    with pytest.raises(kabc.KabcError) as refused:
        study.run({"a": normal(0), "b": once(normal(1.5), 4, BAD[bad])}, progress=False)
    assert refused.value.arm == "b"
    assert study.status == "running"
    before = study.result()  # what there is so far is there
    assert (before.status, before.n_samples > 0) == ("unfinished", True)
    found = study.run({"a": normal(0), "b": normal(1.5)}, progress=False)
    expected = plain()
    assert (found.status, found.groups, found.n_samples) == (expected.status, expected.groups, expected.n_samples)


def test_a_bad_draw_is_noted_with_what_is_wrong(tmp_path: Path) -> None:
    store = tmp_path / "kabc.db"
    study = ask(store)
    with pytest.raises(kabc.KabcError, match=r"arm 'b': .*timeout"):
        study.run({"a": normal(0), "b": once(normal(1.5), 4, BAD["texts"])}, progress=False)
    assert study.export(tmp_path / "so-far.csv") == study.result().n_samples
    seen = shell("study", "status", "s", "--storage", store)
    assert "failed" in seen.out and "arm b" in seen.out and "timeout" in seen.out
    assert shell("study", "status", "s", "--storage", store, "--json").json["tickets"]["failed"] == 1
    assert shell("study", "export", "s", tmp_path / "samples.csv", "--storage", store, "--quiet").code == 0


def test_texts_and_rows_of_several_columns_are_as_good_as_before(tmp_path: Path) -> None:
    def texts(share: float) -> Arm:
        return lambda n, rng: np.where(rng.random(n) < share, "yes", "no longer")

    def rows(mean: float) -> Arm:
        return lambda n, rng: rng.normal(mean, 1.0, (n, 3)).astype(np.float32)

    def mixed(mean: float) -> Arm:
        def draw(n: int, rng: np.random.Generator) -> Any:
            table = np.empty((n, 2), object)
            table[:, 0] = rng.choice(["red", "blue"], n)
            table[:, 1] = rng.normal(mean, 1.0, n)
            return table

        return draw

    def kinds(_: int) -> Arm:  # whole numbers and decimals are numbers
        return lambda n, rng: rng.integers(0, 2, n) if rng.random() < 0.5 else rng.random(n).round()

    store = tmp_path / "kabc.db"
    for name, make in {"texts": texts, "rows": rows, "mixed": mixed}.items():
        found = ask(store, name).run({"a": make(0.1), "b": make(2.5)}, progress=False)
        assert found.groups == (("a",), ("b",)), name
    assert ask(store, "kinds").run({"a": kinds(0), "b": kinds(1)}, progress=False).status == "budget"


# ---------------------------------------------------------------- two workers


def test_of_two_workers_with_other_columns_the_first_one_counts(store: Path | str | None) -> None:
    if store is None:
        pytest.skip("a store in memory is in one study alone")
    one = ask(store)
    two = kabc.load_study("s", storage=store)
    first, second = one.ask(), two.ask()
    assert first is not None and second is not None
    assert one.tell(first, first.rng.normal(0.0, 1.0, (first.count, 2))) == "done"
    with pytest.raises(kabc.SampleError, match=r"3 columns.* 2") as refused:
        two.tell(second, np.zeros((second.count, 3)))
    assert refused.value.arm == second.arm
    again = two.ask()  # the same draw: nothing was lost, and nothing counts twice
    assert again is not None and (again.arm, again.count, again.start) == (second.arm, second.count, second.start)
    assert two.tell(again, again.rng.normal(5.0, 1.0, (again.count, 2))) == "done"
    assert one.result().n_samples == first.count + again.count
    arms = {first.arm: lambda n, rng: rng.normal(0.0, 1.0, (n, 2)), again.arm: lambda n, rng: rng.normal(5, 1, (n, 2))}
    assert one.run(arms, progress=False).groups == (("a",), ("b",))


# ---------------------------------------------------------------- by HTTP


def begun(served: Served, name: str) -> kabc.Study:
    """A study whose first round is open, after one draw that counts."""
    study = ask(served.store, name)
    first = study.ask()
    assert first is not None
    assert study.tell(first, first.rng.normal(5.0, 1.0, first.count)) == "done"
    return study


HTTP_BAD: dict[str, Any] = {
    "not a number": lambda n: (np.full(n, np.nan), 1e9),
    "infinite": lambda n: (np.full(n, np.inf), 1e9),
    "texts": lambda n: (np.array(["timeout"] * n), 1e9),
    "a million columns": lambda n: (np.zeros((n, 1_000_000 // n), np.int8), 1e9),
    "another count": lambda n: (np.zeros(n + 1), 1e9),
    "no columns": lambda n: (np.zeros((n, 0)), 1e9),
    "a time that is none": lambda n: (np.zeros(n), 1e308),
    "a time before all times": lambda n: (np.zeros(n), -5.0),
}


def test_what_is_told_by_http_is_looked_at_before_it_is_done(tmp_path: Path) -> None:
    with served_store(tmp_path) as served, served.client(served.token("tell")) as client:
        for name, bad in HTTP_BAD.items():
            study = begun(served, name)
            caller = Caller(client, name, "w1")
            (ticket,) = caller.lease()
            answer = caller.tell(ticket, *bad(ticket["count"]))
            assert answer.status_code == 200, (name, answer.text)
            assert answer.json()["outcomes"] == ["failed"], name
            failed = caller.look()["failed"]
            assert failed["kind"] == "failed" and failed["body"]["ticket"] == ticket["id"] and failed["body"]["message"]
            assert study.result().status == "unfinished"
            assert study.export(tmp_path / "so-far.csv") == 2
            del study
            mended = kabc.load_study(name, storage=served.store)
            found = mended.run({"a": normal(0), "b": normal(1.5)}, progress=False)
            assert found.status == "decided", name


def test_a_study_of_numbers_alone_takes_no_text_as_its_first_draw(tmp_path: Path) -> None:
    with served_store(tmp_path) as served, served.client(served.token("tell")) as client:
        kernel = kabc.kernels.Gaussian(bandwidth=1.0)
        study = kabc.create_study("k", ["a", "b"], 2, kernel=kernel, seed=0, storage=served.store, max_samples=400)
        first = study.ask()  # which opens the round
        caller = Caller(client, "k", "w1")
        (ticket,) = caller.lease()
        assert caller.tell(ticket, np.array(["timeout"] * ticket["count"])).json()["outcomes"] == ["failed"]
        assert "numbers" in caller.look()["failed"]["body"]["message"]
        assert (
            first is not None
            and first.arm == "b"
            and study.tell(first, first.rng.normal(5.0, 1.0, first.count)) == "done"
        )
        arms = {"a": normal(0), "b": normal(5)}
        assert study.run(arms, progress=False).status == "budget"  # it goes on, to its end


def test_workers_by_url_whose_arms_differ_are_told_so(tmp_path: Path) -> None:
    with served_store(tmp_path) as served:
        ask(served.store)
        env = {"KABC_TOKEN": served.token("tell")}
        words = ["worker", "--server", served.address, "--study", "s", "--quiet", "--json", "--warmup", 0, "--command"]
        narrow = [KABC, *words, "a=echo 1"]
        with running(narrow, env=environment(env), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            wide = shell(*words, "b=echo 1 2", env=env)
            _, said = process.communicate(timeout=PATIENCE)
        assert (wide.code, process.returncode) == (2, 2)
        assert "the same columns" in wide.err and "the same columns" in said
        seen = shell("study", "status", "s", "--storage", served.store, "--json").json
        assert seen["tickets"]["failed"] >= 1 and seen["tickets"]["done"] >= 1 and seen["state"] == "running"
        drawn = shell("study", "result", "s", "--storage", served.store, "--json", "--quiet")
        assert (drawn.code, drawn.json["n_samples"]) == (3, seen["n_samples"])
