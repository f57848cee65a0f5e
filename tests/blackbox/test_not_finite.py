"""An array with values that are not finite is refused before anything is drawn, as a table is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc

GOOD = np.random.default_rng(0).normal(5.0, 1.0, 200)
SPOILT = GOOD.copy()
SPOILT[[150, 160, 170]] = np.nan
SPOILT[180] = np.inf


def series(values: Any) -> Any:
    return pytest.importorskip("pandas").Series(values)


ARRAYS: dict[str, Callable[[], Any]] = {
    "array": lambda: SPOILT,
    "single precision": lambda: SPOILT.astype(np.float32),
    "rows": lambda: np.column_stack([SPOILT, GOOD]),
    "list": lambda: SPOILT.tolist(),
    "objects": lambda: SPOILT.astype(object),
    "None": lambda: [None if np.isnan(value) else value for value in SPOILT.tolist()],
    "series": lambda: series(SPOILT),
    "series of whole numbers": lambda: series([*range(196), *[None] * 4]).astype("Int64"),
}


class Counts:
    """An arm that says how often it was drawn."""

    drawn = 0

    def __call__(self, n: int, rng: np.random.Generator) -> Any:
        self.drawn += n
        return rng.normal(5.0, 1.0, n)


@pytest.mark.parametrize("kind", ARRAYS)
def test_values_that_are_not_finite_are_refused_before_the_first_sample(kind: str) -> None:
    for seed in range(4):  # which rows would be drawn depends on it
        live = Counts()
        with pytest.raises(kabc.KabcError) as caught:
            kabc.cluster({"live": live, "spoilt": ARRAYS[kind]()}, 2, seed=seed, max_samples=40, progress=False)
        said = str(caught.value)
        assert said.startswith(
            "arm 'spoilt': 4 of its 200 rows hold values that are missing or not finite, the first is"
        )
        assert "leave these rows out, or give them a value of their own" in said
        assert live.drawn == 0


def checked(arms: Mapping[str, Any], folder: Path) -> object:
    return kabc.check(arms, this="spoilt", tolerance="1 sd", seed=0, progress=False)


def searched(arms: Mapping[str, Any], folder: Path) -> object:
    return kabc.outliers(arms, seed=0, max_samples=60, progress=False)


def studied(arms: Mapping[str, Any], folder: Path) -> object:
    study = kabc.create_study("s", arms=list(arms), n_clusters=2, seed=0, max_samples=60, storage=folder / "kabc.db")
    return study.run(arms, progress=False)


@pytest.mark.parametrize("ask", [checked, searched, studied])
def test_every_question_refuses_them(ask: Callable[[Mapping[str, Any], Path], object], tmp_path: Path) -> None:
    live = Counts()
    with pytest.raises(kabc.KabcError, match=r"^arm 'spoilt': 4 of its 200 rows hold values"):
        ask({"live": live, "other": GOOD, "third": GOOD + 1, "spoilt": SPOILT}, tmp_path)
    assert live.drawn == 0


def test_texts_are_no_numbers_that_are_missing() -> None:
    arms = {"a": np.array(["nan", "inf"] * 40), "b": np.array(["x", "y"] * 40, dtype=object)}
    assert kabc.cluster(arms, 2, seed=0, max_samples=60, progress=False).n_samples > 0
