"""Reports and pictures of hundreds and thousands of arms: bounded, without warnings, and with the odd ones in sight."""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.core.evidence.pairs import Evidence
from kabc.report import arm_map, group_map, odd_ones, report_html
from kabc.report.page.arms_table import least_across
from kabc.report.plots import BACKENDS, PICTURES
from kabc.results.values import Result
from tests.report.examples import ODD, fleet, full_result, result_of, within
from tests.report.test_data import without_distances
from tests.report.test_html import Page

MOST_NODES, MOST_BYTES = 5_000, 3_000_000


@cache
def fleet_of_3000() -> Result:
    return fleet(3_000)


@cache
def report_of_3000() -> str:
    return report_html(fleet_of_3000())


def pictures(page: str) -> list[str]:
    return re.findall(r"<svg.*?</svg>", page, re.DOTALL)


def nodes(picture: str) -> int:
    return len(re.findall(r"<[a-z]", picture))


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(
    "result",
    [
        fleet(300),
        full_result([arm % 3 for arm in range(40)]),  # the largest map of single pairs
        full_result(list(range(300)), "budget"),
        full_result([0] * 300, "budget"),
        within(full_result([arm % 3 for arm in range(40)])),
        within(full_result(list(range(300)), "budget")),
    ],
    ids=["fleet", "forty", "all different", "all alike", "forty within", "all different within"],
)
def test_pictures_and_file_are_bounded(result: Result) -> None:
    text = report_html(result)
    Page(text)
    assert max(map(nodes, pictures(text))) <= MOST_NODES
    assert len(text) < 1_000_000


def test_a_report_on_3000_arms_is_bounded_too() -> None:
    text = report_of_3000()
    Page(text)
    assert max(map(nodes, pictures(text))) <= MOST_NODES
    assert len(text.encode()) < MOST_BYTES


def test_3000_groups_take_no_more() -> None:
    result = fleet(3_000, "budget", n_rows=12)
    text = report_html(dataclasses.replace(result, labels=tuple(range(3_000))))
    assert max(map(nodes, pictures(text))) <= MOST_NODES
    assert len(text.encode()) < MOST_BYTES


class WithoutPairs(Evidence):
    """Evidence that is never expanded to all pairs."""

    def _spread(self, block: NDArray[Any], empty: float) -> NDArray[Any]:
        raise AssertionError("a matrix of all pairs was made")


def test_no_matrix_of_all_pairs_is_made() -> None:
    result = fleet(300)
    found = result.evidence
    blocks = WithoutPairs(**{one.name: getattr(found, one.name) for one in dataclasses.fields(found)})
    assert report_html(dataclasses.replace(result, evidence=blocks)) == report_html(result)


def test_the_odd_ones_come_first_each_over_all_others() -> None:
    odd = odd_ones(fleet_of_3000())
    assert odd.left_out == 0
    assert {arm.name: arm.column.name for arm in odd.arms} == {
        "node-0012.eu-west.example.net": "latency_ms",
        "node-0077.eu-west.example.net": "failed",
        "node-0191.eu-west.example.net": "cpu",
    }
    for arm in odd.arms:
        np.testing.assert_allclose(arm.column.shares.sum(axis=1), 1.0)
        assert arm.effects[0]
    page = report_of_3000()
    section = page[page.index("<h2>Odd ones first") : page.index("<h2>Effects")]
    assert section.count("<figure>") == 3
    assert "median 2." in section and " times the other arms" in section


def test_the_map_names_the_odd_ones_and_the_groups() -> None:
    arms = arm_map(fleet_of_3000())
    assert sorted(arms.odd) == list(ODD)
    (picture,) = [one for one in pictures(report_of_3000()) if 'aria-label="Map of 3000 arms' in one]
    texts = re.findall(r">([^<]+)</text>", picture)
    assert sum(text.startswith("node-") for text in texts) == 3
    assert {"group 1", "group 2", "group 3"} <= set(texts)
    assert picture.count("h0") >= 2_990  # a dot for every other arm


def test_the_table_has_every_arm_with_its_quantiles_odd_ones_first() -> None:
    text = report_of_3000()
    table = text[text.index('<table id="arms-table"') :]
    table = table[: table.index("</table>")]
    names = re.findall(r'<th scope="row"><bdi>(.*?)</bdi>', table)
    assert sorted(names) == sorted(map(str, fleet_of_3000().names))
    assert set(names[:3]) == {f"node-{arm:04d}.eu-west.example.net" for arm in ODD}
    assert table.count("data-sort") == 5 + 3 + 1 + 3 + 1  # facts, quantiles, share of failures, quantiles, evidence


def test_long_groups_are_cut_and_every_name_is_still_there() -> None:
    text = report_of_3000()
    cards = text[text.index("<h2>Groups") : text.index("<h2>Odd")]
    sizes = sorted(len(group) for group in fleet_of_3000().groups)
    for size in sizes[3:]:
        assert f"and {size - 6:,} more" in cards
    assert cards.count("<bdi>node-") == 3_000


def test_a_picture_that_says_nothing_about_many_arms_is_left_out() -> None:
    text = report_html(fleet(300))
    assert "Told apart or not" not in text
    assert "Evidence over samples" not in text
    assert "no trace" not in text


@pytest.mark.parametrize("labels", [[0] * 60, [0] * 5, list(range(50))])
def test_constant_data_and_points_in_one_place_are_drawn_without_a_warning(labels: list[int]) -> None:
    result = without_distances(full_result(labels, "budget"))
    same = {name: np.ones((20, 1)) for name in result.names}
    text = report_html(dataclasses.replace(result, samples=same, columns=("value",)))
    assert "nan" not in re.sub(r"<script>.*?</script>", "", text.lower(), flags=re.DOTALL)
    assert "Map of the arms" in text


def test_arms_without_kept_samples_are_left_out_of_the_map_and_the_values() -> None:
    result = fleet(300)
    samples = {name: rows for name, rows in result.samples.items() if name != result.names[0]}
    arms = arm_map(dataclasses.replace(result, samples=samples))
    assert len(arms.names) == 299
    assert result.names[0] not in arms.names


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", [kind for kind in PICTURES if kind != "trace"])
def test_every_picture_of_many_arms_is_drawn_by_both_libraries(kind: str, backend: str) -> None:
    figure = within(fleet(300)).plot(kind, backend)
    if backend == "plotly":
        assert len(figure.to_json()) < 1_000_000
    else:
        figure.draw_without_rendering()


# ------------------------------------------------------------ evidence in blocks


@pytest.mark.parametrize("seed", range(5))
def test_evidence_between_groups_is_that_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    result = result_of(rng.integers(0, 4, 14).tolist(), seed=seed, unknown=0.3)
    compared = np.sort(rng.choice(14, 6, replace=False))
    whole = result.evidence
    values = whole.values[:, compared]
    blocks = dataclasses.replace(
        whole, compared=compared, told=whole.told[:, compared], values=values, limits=whole.limits[:, compared]
    )
    result = dataclasses.replace(result, evidence=blocks)
    found, labels = group_map(result), np.array(result.labels)
    assert found.told_pairs is not None and found.compared_pairs is not None
    for a in range(labels.max() + 1):
        for b in range(labels.max() + 1):
            pairs = [
                (i, j)
                for i in range(14)
                for j in range(14)
                if labels[i] == a and labels[j] == b and i != j and {i, j} & set(compared.tolist())
            ]
            once = {frozenset(pair) for pair in pairs}
            strength, told = blocks.strength, blocks.told_apart
            known = [strength[i, j] for i, j in pairs if not np.isnan(strength[i, j])]
            np.testing.assert_equal(found.ratio[a, b], max(known, default=np.nan))
            assert found.told_pairs[a, b] == sum(told[min(pair), max(pair)] for pair in once)
            compared_ones = [p for p in once if told[min(p), max(p)] or not np.isnan(strength[min(p), max(p)])]
            assert found.compared_pairs[a, b] == len(compared_ones)
    least, other = least_across(result)
    for arm in range(14):
        across = [
            (strength[arm, j], j) for j in range(14) if labels[j] != labels[arm] and not np.isnan(strength[arm, j])
        ]
        assert least[arm] == min((value for value, _ in across), default=np.inf)
        if across:
            assert strength[arm, other[arm]] == least[arm]
