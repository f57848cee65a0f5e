"""Saved results: what is loaded is what was saved; and what changed between two results."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import kabc
from kabc import Evidence, Result, SettingsError
from kabc.result import STATUS_WORDS, Guarantee
from kabc.saved import _packed_array, _unpacked_array


def normal(mean: float) -> Any:
    return lambda n, rng: rng.normal(mean, 1, n)


def arms() -> dict[str, Any]:
    return {"a": normal(0), "b": normal(9), "c": normal(0)}


def words() -> dict[str, Any]:
    pool = np.random.default_rng(0).choice(["x", "y", "z"], (4000, 2))
    return {"a": pool, "b": pool}


EXAMPLES: dict[str, Callable[[], Result]] = {
    "bets": lambda: kabc.cluster(arms(), 2, seed=0),
    "thresholds": lambda: kabc.cluster(arms(), 2, seed=0, strategy="kabc"),
    "undecided": lambda: kabc.cluster({1: normal(0), (2, 3): normal(0.7), None: normal(9)}, 3, seed=0, max_samples=90),
    "nothing drawn": lambda: kabc.cluster(arms(), 2, seed=0, kernel=kabc.Gaussian(1.0), max_samples=1),
    "words": lambda: kabc.cluster(words(), 1, seed=0, kernel=kabc.Hamming()),
    "many arms": lambda: kabc.cluster([normal(0)] * 60, 1, seed=0),
}


@cache
def example(name: str) -> Result:
    return EXAMPLES[name]()


def same_arrays(one: Any, other: Any) -> bool:
    return all(
        np.array_equal(getattr(one, x.name), getattr(other, x.name), equal_nan=True) for x in dataclasses.fields(one)
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_loaded_is_what_was_saved(name: str, tmp_path: Path) -> None:
    saved = example(name)
    saved.save(tmp_path / "result.json")
    loaded = kabc.load_result(tmp_path / "result.json")
    plain = {x.name for x in dataclasses.fields(Result)} - {"evidence", "samples", "trace", "names", "samples_per_arm"}
    assert all(getattr(loaded, field) == getattr(saved, field) for field in plain)
    assert loaded.names == tuple(map(str, saved.names))  # names are texts
    assert list(loaded.samples_per_arm.values()) == list(saved.samples_per_arm.values())
    assert same_arrays(loaded.evidence, saved.evidence)
    assert (loaded.trace is None) == (saved.trace is None)
    if loaded.trace is not None:
        assert same_arrays(loaded.trace, saved.trace)
    assert [rows.tolist() for rows in loaded.samples.values()] == [rows.tolist() for rows in saved.samples.values()]
    assert loaded.certificate() == saved.certificate()
    assert str(loaded) == str(saved)
    assert loaded.to_dict() == saved.to_dict()


def test_a_loaded_result_can_be_saved_again(tmp_path: Path) -> None:
    example("bets").save(tmp_path / "one.json")
    kabc.load_result(tmp_path / "one.json").save(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@given(arrays(np.float64, array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4), elements=st.floats()))
def test_every_number_survives_strict_json(array: Any) -> None:
    text = json.dumps(_packed_array(array), allow_nan=False)
    again = _unpacked_array(json.loads(text))
    assert again.shape == array.shape
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)


def test_files_and_dictionaries_are_strict_json(tmp_path: Path) -> None:
    for result in map(example, EXAMPLES):
        result.save(tmp_path / "result.json")
        json.loads((tmp_path / "result.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
        json.dumps(result.to_dict(), allow_nan=False)


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


def test_names_that_read_the_same_stay_different(tmp_path: Path) -> None:
    result = dataclasses.replace(example("bets"), names=(1, "1", "c"), samples_per_arm={1: 3, "1": 4, "c": 5})
    result.save(tmp_path / "result.json")
    loaded = kabc.load_result(tmp_path / "result.json")
    assert loaded.names == ("0: 1", "1: 1", "2: c")
    assert loaded.to_dict()["samples_per_arm"] == result.to_dict()["samples_per_arm"] == {
        "0: 1": 3, "1: 1": 4, "2: c": 5
    }  # fmt: skip


def test_the_dictionary_says_what_the_result_says() -> None:
    result = example("undecided")
    facts = result.to_dict()
    assert facts["status"] == "budget"
    assert facts["certified"] is False
    assert facts["labels"] == dict(zip(["1", "(2, 3)", "None"], result.labels, strict=True))
    assert facts["groups"] == [list(map(str, group)) for group in result.groups]
    assert facts["n_samples"] == sum(facts["samples_per_arm"].values()) == result.n_samples
    assert result.needs is not None
    assert facts["needs"] == {str(name): count for name, count in result.needs.items()}
    assert len(facts["told_apart"]) == result.evidence.n_told_apart > 0
    for pair in facts["told_apart"]:
        assert pair["round"] > 0
        assert pair["strength"] >= 1
    assert {"delta", "n_clusters", "seed", "strategy", "notes", "seconds", "spent", "n_groups_at_least"} <= set(facts)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("{", "no JSON"),
        ("[1]", "no result of kabc"),
        ('{"format": "other"}', "no result of kabc"),
        ('{"format": "kabc result", "version": 99}', "version 99.*update kabc"),
        ('{"format": "kabc result", "version": 1, "names": ["a"]}', "damaged"),
    ],
)
def test_a_file_that_is_no_result_is_refused(content: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=message):
        kabc.load_result(path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere.*No such file"):
        example("bets").save(tmp_path / "nowhere" / "result.json")


# ---------------------------------------------------------------- what changed


def answer(groups: str, decided: bool = True, told: str = "") -> Result:
    """A result with these groups ("ab|c"); `told` are the pairs told apart ("ac bc")."""
    names = tuple(sorted(groups.replace("|", "")))
    labels = kabc.Partition.of(next(i for i, group in enumerate(groups.split("|")) if x in group) for x in names).labels
    n = len(names)
    told_in_round = np.zeros((n, n), dtype=np.int64)
    for pair in told.split():
        i, j = names.index(pair[0]), names.index(pair[1])
        told_in_round[i, j] = told_in_round[j, i] = 1
    evidence = dataclasses.replace(Evidence.none(n), told_in_round=told_in_round)
    why = Guarantee("test", "claim", (), ())
    status: Any = "decided" if decided else "budget"
    return Result(names, labels, status, evidence, dict.fromkeys(names, 5), (), why, 0.05, None, 1, "", 0)


def test_the_same_groups_in_another_order_have_not_changed() -> None:
    found = kabc.compare(answer("ab|cd"), answer("cd|ab"))
    assert found.same
    assert found.adjusted_rand == 1.0
    assert found.groups == ((("a", "b"), ("a", "b")), (("c", "d"), ("c", "d")))
    assert "no arm changed" in str(found)


def test_an_arm_that_moved_is_found_with_its_old_and_new_company() -> None:
    found = kabc.compare(answer("abc|def"), answer("ab|cdef"))
    assert [(one.arm, one.before, one.now, one.certified) for one in found.changes] == [
        ("c", ("a", "b"), ("d", "e", "f"), True)
    ]
    assert found.adjusted_rand < 1
    assert "c (certified): before with a, b, now with d, e, f" in str(found)
    assert "at most 0.1" in str(found)


def test_new_and_lost_arms_are_no_changes() -> None:
    found = kabc.compare(answer("abx|cd"), answer("ab|cdyz"))
    assert found.same
    assert (found.added, found.removed) == (("y", "z"), ("x",))
    assert "added: y, z" in str(found)


@pytest.mark.parametrize(
    ("old", "new", "certified"),
    [
        (answer("abc|de", decided=False), answer("ab|cde", decided=False), False),
        (answer("abc|de"), answer("ab|cde", decided=False), False),
        (answer("abc|de"), answer("ab|cde", decided=False, told="ac"), True),
        (answer("abc|de", decided=False, told="cd"), answer("ab|cde"), True),
        (answer("abc|de", decided=False, told="ad"), answer("ab|cde"), False),
    ],
)
def test_a_change_is_certified_when_one_answer_proves_same_and_the_other_not(
    old: Result, new: Result, certified: bool
) -> None:
    (change,) = kabc.compare(old, new).changes
    assert change.arm == "c"
    assert change.certified is certified


labelled = st.lists(st.integers(0, 3), min_size=2, max_size=9)


@given(labelled, st.data())
def test_the_fewest_arms_change(labels: list[int], data: st.DataObject) -> None:
    """No other matching of the groups leaves more arms where they were; and the way back is as long."""
    from itertools import permutations

    again = data.draw(st.lists(st.integers(0, 3), min_size=len(labels), max_size=len(labels)))
    old, new = (_of_labels(one) for one in (labels, again))
    found = kabc.compare(old, new)
    most = max(
        sum(match[x] == y for x, y in zip(old.labels, new.labels, strict=True)) for match in permutations(range(4))
    )
    assert len(found.changes) == len(labels) - most == len(kabc.compare(new, old).changes)
    assert found.same == (old.labels == new.labels)
    assert math.isclose(found.adjusted_rand, kabc.compare(new, old).adjusted_rand)


def _of_labels(labels: list[int]) -> Result:
    names = "abcdefghi"[: len(labels)]
    groups = [[name for name, label in zip(names, labels, strict=True) if label == group] for group in range(4)]
    return answer("|".join("".join(group) for group in groups if group))


def test_a_comparison_is_json_and_names_both_ends() -> None:
    found = kabc.compare(answer("ab|c"), answer("a|bc", decided=False))
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert facts["same"] is False
    assert facts["changes"][0]["arm"] in "ab"
    assert STATUS_WORDS["budget"] in str(found)


def test_results_without_a_common_arm_are_refused() -> None:
    with pytest.raises(SettingsError, match="no arm in common: a, b before, x, y now"):
        kabc.compare(answer("a|b"), answer("x|y"))
