"""Every picture of the report by its name, for `Result.plot`."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any

from kabc.core.errors import SettingsError
from kabc.report.apart_graph import apart_graph
from kabc.report.arm_map import arm_map
from kabc.report.counts import sample_counts
from kabc.report.nodes import by_group
from kabc.report.odd_ones import odd_ones
from kabc.report.pair_map import PairMap, group_map, pair_map
from kabc.report.trace import evidence_trace
from kabc.report.values import group_values
from kabc.report.verdict_map import verdict_map
from kabc.results.values import Result

_MOST_ROWS = 200  # of a map of pairs; with more arms its rows are groups


def _pairs(result: Result) -> PairMap:
    return pair_map(result) if len(by_group(result)) <= _MOST_ROWS else group_map(result)


PICTURES: dict[str, Callable[[Result], object]] = {
    "pairs": _pairs,
    "verdicts": verdict_map,
    "graph": apart_graph,
    "map": arm_map,
    "values": group_values,
    "odd": odd_ones,
    "trace": evidence_trace,
    "counts": sample_counts,
}
BACKENDS = ("matplotlib", "plotly")


def plot(result: Result, kind: str, backend: str) -> Any:
    """A figure of matplotlib or plotly."""
    _expect("kind", kind, PICTURES)
    _expect("backend", backend, BACKENDS)
    picture = PICTURES[kind](result)
    if backend == "plotly":
        from kabc.report.plotly import draw as drawn

        return drawn(picture)
    from kabc.report.mpl import draw

    figure: Any = draw(picture)
    # notebooks show figures of pyplot by themselves, and this one is none: it would stay in memory for ever
    figure._repr_png_ = partial(_png, figure)
    return figure


def _expect(setting: str, value: object, known: Any) -> None:
    if value in tuple(known):
        return
    near = difflib.get_close_matches(str(value), known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise SettingsError(f"{setting} must be one of {', '.join(map(repr, known))}, got {value!r}{hint}")


def _png(figure: Any) -> bytes:
    written = BytesIO()
    figure.savefig(written, format="png", dpi=100)
    return written.getvalue()
