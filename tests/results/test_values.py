"""A result is a frozen value: equal to its copies, different where a number differs, no key of a dictionary."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from kabc import Result, Trace
from kabc.strategies.answers import Round
from tests.results.examples import EXAMPLES, answer, example, renamed


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_result_equals_its_copies(name: str) -> None:
    result = example(name)
    assert pickle.loads(pickle.dumps(result)) == result
    assert copy.deepcopy(result) == result
    assert dataclasses.replace(result) == result


def test_a_result_differs_from_one_of_another_run() -> None:
    assert example("bets") != example("thresholds")
    assert example("bets") != "bets"


def test_a_run_that_took_longer_gave_the_same_result() -> None:
    result = example("bets")
    assert dataclasses.replace(result, seconds=result.seconds + 1) == result


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Result) if field.compare])
def test_a_result_differs_if_one_field_differs(field: str) -> None:
    result = example("bets")
    assert dataclasses.replace(result, **{field: changed(getattr(result, field))}) != result


def changed(value: Any) -> Any:
    """Another value of the same kind, as near as can be."""
    match value:
        case np.ndarray():
            other = value.copy()
            other.flat[-1] = 0 if other.flat[-1] != 0 else 1
            return other
        case None:
            return 12.5
        case str():
            return f"{value}."
        case tuple():
            return (*value[:-1], changed(value[-1])) if value else ("x",)
        case dict():
            return {**value, "a": changed(value["a"])} if value else {"a": {1.0: "x"}}
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            last = [x.name for x in dataclasses.fields(value) if getattr(value, x.name) is not None][-1]
            return dataclasses.replace(value, **{last: changed(getattr(value, last))})
        case _:
            return np.nextafter(value, 9) if isinstance(value, float) else value + 1


def test_nan_equals_nan() -> None:
    rounds = (Round(1, float("nan"), 1, 1, 1),)
    one, other = (dataclasses.replace(answer("ab|c"), rounds=pickle.loads(pickle.dumps(rounds))) for _ in range(2))
    assert one == other
    assert Trace(np.array([1]), np.array([np.nan])) == Trace(np.array([1]), np.array([np.nan]))
    assert Trace(np.array([1]), np.array([np.nan])) != Trace(np.array([1]), np.array([0.0]))


@pytest.mark.parametrize("value", [answer("ab|c"), Trace(np.zeros(1, dtype=np.int64), np.zeros(1))])
def test_a_hash_is_refused_with_the_reason(value: Any) -> None:
    with pytest.raises(TypeError, match=r"holds arrays.* no hash; use another key"):
        hash(value)


def test_groups_follow_the_labels() -> None:
    result = answer("ac|b|d")
    assert result.labels == (0, 1, 0, 2)
    assert result.groups == (("a", "c"), ("b",), ("d",))
    assert result.n_samples == 20
    assert result.certified
    assert not answer("ab|c", decided=False).certified


def test_names_that_read_the_same_get_numbers_as_texts() -> None:
    assert answer("ab|c").text_names == ("a", "b", "c")
    assert renamed(answer("ab|c"), (1, "1", "c")).text_names == ("0: 1", "1: 1", "2: c")
