"""Saved results: what is loaded is what was saved, and a file from anywhere does no harm."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kabc
from kabc import SettingsError
from tests.results.examples import EXAMPLES, answer, example, renamed


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_loaded_is_what_was_saved(name: str, tmp_path: Path) -> None:
    saved = example(name)
    saved.save(tmp_path / "result.json")
    loaded = kabc.load_result(tmp_path / "result.json")
    assert loaded == saved
    assert loaded.evidence == saved.evidence
    assert loaded.certificate() == saved.certificate()
    assert str(loaded) == str(saved)
    assert loaded.to_dict(full=True) == saved.to_dict(full=True)


def test_a_loaded_result_can_be_saved_again(tmp_path: Path) -> None:
    example("bets").save(tmp_path / "one.json")
    kabc.load_result(tmp_path / "one.json").save(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_file_is_strict_json_and_the_full_dictionary(name: str, tmp_path: Path) -> None:
    example(name).save(tmp_path / "result.json")
    text = (tmp_path / "result.json").read_text(encoding="utf-8")
    assert json.loads(text, parse_constant=pytest.fail) == example(name).to_dict(full=True)


def test_a_failed_save_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result.json"
    example("bets").save(path)
    before = path.read_bytes()

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(SettingsError, match="No space left"):
        example("thresholds").save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere.*No such file"):
        example("bets").save(tmp_path / "nowhere" / "result.json")


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    "names",
    [(1, "1", 2), (1.5, False, 10**30), (None, (1, (2, "x")), ""), ("two\nlines", "\ud800", "ä"), (-1, (), (None,))],
)
def test_names_keep_their_types(names: tuple[Any, ...], tmp_path: Path) -> None:
    result = renamed(example("bets"), names)
    result.save(tmp_path / "result.json")
    loaded = kabc.load_result(tmp_path / "result.json")
    assert loaded == result
    assert list(map(type, loaded.names)) == list(map(type, names))


def test_names_of_other_types_come_back_as_texts(tmp_path: Path) -> None:
    day = datetime.date(2020, 1, 1)
    result = renamed(example("bets"), (day, "2020-01-01", (day, 1)))
    result.save(tmp_path / "result.json")
    assert result.to_dict()["names"][0] == {"text": "2020-01-01", "type": "date"}
    loaded = kabc.load_result(tmp_path / "result.json")
    assert loaded.names == ("0: 2020-01-01", "2020-01-01", "2: (datetime.date(2020, 1, 1), 1)")  # two read the same
    assert loaded.labels == result.labels


# ---------------------------------------------------------------- files from anywhere


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("{", "not a saved answer of kabc: it is no JSON"),
        ('{"format": NaN}', "no JSON"),
        ('{"a":' * 100_000, "is not a saved answer of kabc: it is nested too deeply"),
        ("[" * 100_000, "not a saved answer of kabc: it is no JSON"),
        ("[1]", "is not a saved answer of kabc: it is no JSON file .it does not begin with {"),
        ('{"format": "other"}', "is not a saved answer of kabc: its format"),
        ('{"format": "kabc result", "version": 3}', r"version 3 .*reads 1 to 2; update kabc$"),
        ('{"format": "kabc result", "version": true}', "version True"),
        ('{"format": "kabc result", "version": 1, "names": ["a"]}', "damaged .'labels' is missing.*pass"),
        ('{"format": "kabc result", "version": 2, "names": ["a"]}', "lacks evidence and rounds.*--save"),
    ],
)
def test_a_file_that_is_no_result_is_refused(content: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=message):
        kabc.load_result(path)


def test_the_short_form_says_what_it_lacks_and_what_to_pass(tmp_path: Path) -> None:
    path = tmp_path / "short.json"
    path.write_text(json.dumps(example("bets").to_dict()))
    with pytest.raises(SettingsError, match="lacks evidence and rounds: it is the short form that --json prints; pass"):
        kabc.load_result(path)


def test_only_pictures_need_samples_and_trace(tmp_path: Path) -> None:
    path = tmp_path / "lean.json"
    document = example("bets").to_dict(full=True)
    del document["samples"], document["trace"]
    path.write_text(json.dumps(document))
    assert kabc.load_result(path) == dataclasses.replace(example("bets"), samples={}, trace=None)


def test_fields_of_a_later_kabc_are_left_aside(tmp_path: Path) -> None:
    path = tmp_path / "more.json"
    path.write_text(json.dumps(example("bets").to_dict(full=True) | {"mood": "good"}))
    assert kabc.load_result(path) == example("bets")


def put(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        inner: Any = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


def drop(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.pop(key)


def nested(depth: int, name: Any) -> Any:
    return name if depth == 0 else {"tuple": [nested(depth - 1, name)]}


HUGE = {"shape": [10**9, 10**9], "kind": "float", "fill": 0.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("labels", "c", value=1_000_000_000), "labels: groups must be numbered"),
        (put("labels", value=[0, 1_000_000_000, 0]), "labels: input should be a valid dict"),
        (put("labels", value={"a": 1, "b": 2}), "labels: .*'c'"),
        (put("labels", "b", value="2"), "labels.b: input should be a valid integer"),
        (put("groups", 0, "arms", value=["a"]), "groups: they are not those of labels"),
        (put("names", value=["a", "a", "c"]), "names: 'a' is the name of two arms"),
        (put("names", value=[]), "names"),
        (put("names", 0, value=["a"]), "names.0"),
        (put("samples_per_arm", "a", value=-1), "samples_per_arm.a: .*greater than or equal to 0"),
        (put("status", value="fine"), "status: input should be 'decided', 'doubtful'"),
        (put("delta", value=2), "delta"),
        (put("seed", value="0"), "seed: input should be a valid integer"),
        (drop("delta"), "delta: field required"),
        (drop("guarantee"), "guarantee: field required"),
        (put("rounds", 0, "n_samples", value=-3), "rounds.0.n_samples"),
        (
            put("evidence", "values", value=HUGE),
            r"evidence.values: shape is \[1000000000, 1000000000\], it must be \[3, 3\]",
        ),
        (
            put("evidence", "counts", value={"shape": [3], "kind": "int", "data": [1, 2]}),
            "evidence.counts: .*needs 3 values, not 2",
        ),
        (put("evidence", "counts", value={"shape": [3], "kind": "int", "fill": -1}), "evidence.counts: -1 is negative"),
        (
            put("evidence", "counts", value={"shape": [3], "kind": "int", "fill": 10**30}),
            "evidence.counts: .*too large",
        ),
        (put("evidence", "counts", value={"shape": [3], "kind": "int"}), "evidence.counts: .*needs 3 values, not 0"),
        (
            put("evidence", "compared", value={"shape": [10**12], "kind": "int", "fill": 0}),
            "evidence.compared: .* at most",
        ),
        (put("evidence", "compared", value={"shape": [2**26], "kind": "int", "fill": 0}), "evidence.compared: it must"),
        (put("evidence", "compared", "data", value=[0, 1, 3]), "evidence.compared: it must hold different arms"),
        (put("evidence", "compared", "data", value=[0, 1, 1]), "evidence.compared: it must hold different arms"),
        (put("evidence", "told", "kind", value="float"), "evidence.told: kind is 'float', it must be int"),
        (put("evidence", "values", "data", value=["x"] * 9), "evidence.values: 'x' is no value of kind 'float'"),
        (put("evidence", "told", "data", value=[None] * 9), "evidence.told: None is no value of kind 'int'"),
        (put("samples", value=[]), "samples: there must be an entry for each of 3 arms"),
        (put("samples", 0, value=HUGE), "samples: .*one value may stand for at most"),
        (put("trace", "strength", value=HUGE), "trace.strength: shape"),
        (put("levels", value={"x": [[1]]}), "levels"),
        (put("n_samples", value=1), "n_samples: it is 1, the arms have"),
        (put("samples_per_arm", "a", value=10**30), "samples_per_arm.a: .*less than or equal to"),
        (put("n_pilot", value=10**6), "n_pilot, n_unused: they are more than"),
        (put("certified", value=False), "certified: it is False, with the status 'decided'"),
        (put("n_groups_at_least", value=10**9), "n_groups_at_least: it is 1000000000, of 3 arms"),
        (put("n_clusters", value=10**9), "n_clusters: it is 1000000000, of 3 arms"),
        (put("set_aside", value={"a": "x"}), "set_aside: these are not the arms without a group"),
        (put("set_aside", value={"zz": "x"}), "set_aside"),
        (put("price", value=1e308), "price: the sum is no number"),
        (put("evidence", "told", "data", value=[1] * 9), "evidence.told: an arm is told apart from itself"),
        (
            put("evidence", "told", "data", value=[5, 6, 7, 8, 9, 10, 11, 12, 13]),
            "evidence.told: (a pair of arms has two|an arm is told apart from itself)",
        ),
        (
            put("samples", value=[{"shape": [2**26, 1], "kind": "float", "fill": 1.5}] * 3),
            "evidence, samples: they stand for 201,326,",
        ),
        (put("rounds", 0, "number", value=10**400), "rounds.0.number"),
        (put("names", 0, value=nested(9, "a")), "samples_per_arm|labels|names"),
    ],
)
def test_a_damaged_file_is_refused_with_what_is_wrong_and_the_cure(
    change: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    document = copy.deepcopy(example("bets").to_dict(full=True))
    change(document)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document))
    tracemalloc.start()
    with pytest.raises(SettingsError, match=f"is not a saved answer of kabc: it is damaged .{message}.*; pass a file"):
        kabc.load_result(path)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    "change",
    [
        put("labels", value=[0, 1_000_000_000, 0]),
        put("labels", value=["0", "1", "0"]),
        put("names", value=[["a"], ["b"], ["c"]]),
        put("evidence", "distances", value={"shape": [10**9, 10**9], "kind": "f", "fill": None}),
        put("evidence", value=[]),
        put("samples", value=5),
        put("rounds", value=None),
        put("levels", value=[1]),
    ],
)
def test_a_damaged_file_of_version_1_is_refused_too(change: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    golden = Path(__file__).parent.parent / "golden" / "results" / "0.1.0-kernel.json"
    document = json.loads(golden.read_text(encoding="utf-8"))
    change(document)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document))
    with pytest.raises(SettingsError, match=r"is damaged .*; pass a file"):
        kabc.load_result(path)


def test_a_fill_that_stands_for_much_takes_no_memory(tmp_path: Path) -> None:
    document = answer("ab|c").to_dict(full=True)
    document["samples"] = [{"shape": [2**13, 2**13], "kind": "float", "fill": 1.5}, None, None]
    path = tmp_path / "large.json"
    path.write_text(json.dumps(document))
    tracemalloc.start()
    loaded = kabc.load_result(path)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()
    assert loaded.samples["a"].shape == (2**13, 2**13)
