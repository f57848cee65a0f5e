"""Both drawers draw every picture, with the figures of the tuples and the names as they are."""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

import kabc
from kabc.report import (
    apart_graph,
    arm_map,
    evidence_trace,
    group_map,
    group_values,
    mpl,
    odd_ones,
    pair_map,
    plotly,
    sample_counts,
    verdict_map,
)
from kabc.results.values import Result
from tests.report.examples import full_result, within

PICTURES = [
    pair_map,
    group_map,
    verdict_map,
    apart_graph,
    arm_map,
    evidence_trace,
    sample_counts,
    group_values,
    odd_ones,
]
EVIL = "<script>alert('$x$')</script>"


def renamed(result: Result, name: str) -> Result:
    """The first arm gets another name."""
    names = (name, *result.names[1:])
    old = dict(zip(names, result.names, strict=True))
    return dataclasses.replace(
        result,
        names=names,
        samples={new: result.samples[was] for new, was in old.items()},
        samples_per_arm={new: result.samples_per_arm[was] for new, was in old.items()},
    )


@pytest.mark.parametrize("picture", PICTURES)
def test_matplotlib_draws_every_picture(picture: Callable[[Result], object], tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    mpl.draw(picture(within(full_result([0, 0, 0, 0, 4]))), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 5_000


@pytest.mark.parametrize("picture", PICTURES)
def test_plotly_draws_every_picture(picture: Callable[[Result], object]) -> None:
    figure = plotly.draw(picture(within(full_result([0, 0, 0, 0, 4]))))
    assert len(figure.data) > 0
    assert len(figure.to_json()) > 1_000


@pytest.mark.parametrize("picture", [pair_map, verdict_map, apart_graph, arm_map, sample_counts])
def test_names_are_neither_formulas_nor_markup(picture: Callable[[Result], object]) -> None:
    result = renamed(within(full_result([0, 1, 0])), EVIL)
    figure = mpl.draw(picture(result))
    figure.draw_without_rendering()
    assert any(EVIL in text.get_text() for text in figure.findobj(Text) if isinstance(text, Text))
    written = plotly.draw(picture(result)).to_plotly_json()
    assert "<script>" not in repr(written)
    assert "&lt;script&gt;" in repr(written)


def test_both_drawers_show_the_figures_of_the_trace() -> None:
    trace = evidence_trace(full_result([0, 1, 0]))
    expected = [np.maximum(line.strength, 1 / 16).tolist() for line in trace.lines]
    by_plotly = [np.asarray(line.y).tolist() for line in plotly.draw(trace).data]
    drawn: list[Any] = mpl.draw(trace).axes[0].get_lines()
    assert by_plotly == expected
    assert [np.asarray(line.get_ydata()).tolist() for line in drawn[:-1]] == expected
    assert drawn[-1].get_ydata() == [1.0, 1.0]  # the threshold


def test_both_drawers_give_a_group_the_same_colour() -> None:
    counts = sample_counts(full_result([0, 1, 0]))
    (bars,) = plotly.draw(counts).data
    assert list(bars.marker.color) == [mpl.colour_of(group) for group in counts.nodes.groups]


@pytest.mark.parametrize("draw", [mpl.draw, plotly.draw])
def test_what_is_no_picture_is_refused(draw: Callable[[object], object]) -> None:
    with pytest.raises(kabc.SettingsError, match="is not a picture; pass what pair_map"):
        draw(full_result([0, 1]).labels)


@pytest.mark.parametrize("draw", [mpl.draw, plotly.draw])
def test_texts_alone_have_no_picture(draw: Callable[[object], object]) -> None:
    values = group_values(full_result([0, 1], columns=("a[0]", "a[1]", "a[2]")))
    with pytest.raises(kabc.SettingsError, match="texts have no picture"):
        draw(values)


@pytest.mark.parametrize(("draw", "library"), [(mpl.draw, "matplotlib"), (plotly.draw, "plotly")])
def test_a_missing_library_is_named_with_its_cure(
    draw: Callable[[object], object], library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == library:
            raise ImportError(name)
        return real(name, *rest)

    picture = sample_counts(full_result([0, 1]))
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(kabc.SettingsError, match=rf"needs {library}; pip install 'kabc\[plot\]'"):
        draw(picture)
