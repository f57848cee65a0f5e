"""`Result.plot`: every picture of the report by its name, from both libraries."""

from __future__ import annotations

from typing import Any

import pytest

import kabc
from kabc import Result, SettingsError
from kabc.report.plots import PICTURES


@pytest.fixture(scope="module")
def result() -> Result:
    arms: list[Any] = [lambda n, rng, m=mean: rng.normal(m, 1, n) for mean in (0, 0, 9)]
    return kabc.cluster(arms, tolerance="1 sd", seed=0, progress=False)


@pytest.mark.parametrize("kind", PICTURES)
def test_every_kind_is_a_figure_that_notebooks_show(result: Result, kind: str) -> None:
    figure = result.plot(kind)
    assert type(figure).__module__.startswith("matplotlib")
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert type(result.plot(kind, backend="plotly")).__module__.startswith("plotly")


def test_a_figure_is_forgotten_with_its_last_name(result: Result) -> None:
    from matplotlib import pyplot

    result.plot("pairs")
    assert pyplot.get_fignums() == []


def test_wrong_words_are_refused_with_the_right_ones(result: Result) -> None:
    with pytest.raises(SettingsError, match=r"kind must be one of .*got 'pair' \(did you mean 'pairs'\?\)"):
        result.plot("pair")
    with pytest.raises(SettingsError, match=r"backend must be one of 'matplotlib', 'plotly', got 'ggplot'"):
        result.plot("pairs", backend="ggplot")
