"""Mistakes in a call of Python are told with the word that was meant."""

from __future__ import annotations

import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import kabc

ARMS = {"a": [0.1, 0.2] * 60, "b": [0.8, 0.9] * 60}


def misspelt(verb: str) -> tuple[Any, dict[str, Any], str, str]:
    """A call with a wrong word: the function, its arguments, the word, and the one that was meant."""
    answer = kabc.cluster(ARMS, 2, seed=0)
    calls: dict[str, tuple[Any, dict[str, Any], str, str]] = {
        "cluster": (kabc.cluster, {"arms": ARMS, "tolerence": 0.05}, "tolerence", "tolerance"),
        "check": (
            kabc.check,
            {"arms": ARMS, "this": "a", "tolerance": 1, "max_sample": 9},
            "max_sample",
            "max_samples",
        ),
        "outliers": (kabc.outliers, {"arms": ARMS, "sed": 0}, "sed", "seed"),
        "plan": (kabc.plan, {"n_arms": 4, "n_cluster": 2, "gap": 1.0}, "n_cluster", "n_clusters"),
        "compare": (kabc.compare, {"old": answer, "nev": answer}, "nev", "new"),
        "create_study": (kabc.create_study, {"name": "n", "arms": ["a", "b"], "storag": "x.db"}, "storag", "storage"),
        "load_study": (kabc.load_study, {"name": "n", "storge": "x.db"}, "storge", "storage"),
    }
    return calls[verb]


@pytest.mark.parametrize("verb", ["cluster", "check", "outliers", "plan", "compare", "create_study", "load_study"])
def test_a_misspelt_argument_is_named_with_the_one_that_was_meant(verb: str) -> None:
    function, arguments, word, meant = misspelt(verb)
    with pytest.raises(kabc.SettingsError) as caught:
        function(**arguments)
    assert f"{verb}() has no argument {word!r}; did you mean {meant!r}?" in str(caught.value)
    assert isinstance(caught.value, TypeError)  # as Python itself would raise


def test_a_word_that_is_like_no_other() -> None:
    with pytest.raises(kabc.KabcError, match=r"cluster\(\) has no argument 'xyz'; see help\(kabc.cluster\)"):
        kabc.cluster(ARMS, xyz=1)  # type: ignore[call-arg]


def test_signatures_are_seen_and_functions_can_be_sent() -> None:
    names = list(inspect.signature(kabc.cluster).parameters)
    assert names[:3] == ["arms", "n_clusters", "delta"]
    assert "tolerance" in names
    assert not {"args", "kwargs"} & set(names)
    assert "Parameters" in (inspect.getdoc(kabc.cluster) or "")
    assert pickle.loads(pickle.dumps(kabc.cluster)) is kabc.cluster


def test_a_warning_names_the_line_of_the_caller() -> None:
    polars = pytest.importorskip("polars")
    rows = polars.DataFrame({"host": ["x", "y"] * 60, "user_id": range(7, 967, 8), "v": [1.0, 2.0] * 60})
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        kabc.cluster(rows, 2, arm="host", seed=0, watch=False)
    assert any(one.filename == __file__ and "user_id" in str(one.message) for one in heard)


def test_an_arm_that_lacks_the_generator() -> None:
    wrong: Any = lambda n: np.zeros(n)  # noqa: E731 - how people write it
    with pytest.raises(kabc.ArmError, match=r"arm '[ab]'.*write lambda n, rng: \.\.\., or def draw\(n, rng\)"):
        kabc.cluster({"a": wrong, "b": wrong}, 2, seed=0)


def test_a_type_error_of_its_own_is_left_alone() -> None:
    def wrong(n: int, rng: np.random.Generator) -> Any:
        return len(n)  # type: ignore[arg-type]

    with pytest.raises(kabc.ArmError) as caught:
        kabc.cluster({"a": wrong, "b": wrong}, 2, seed=0)
    assert "object of type 'int' has no len()" in str(caught.value)
    assert "lambda" not in str(caught.value)


def test_a_grouped_frame_is_told_of_arm() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"host": ["x", "y"] * 60, "v": [1.0, 2.0] * 60})
    with pytest.raises(kabc.KabcError, match=r"pass the data frame itself, with arm= the column"):
        kabc.cluster(frame.groupby("host"), 2, seed=0)
