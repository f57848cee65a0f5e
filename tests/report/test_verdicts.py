"""The map of verdicts: three states that are read without colours, margins in units, arms between groups."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import Result, SettingsError
from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME, QuantileVerdicts
from kabc.report import group_values, report_html, verdict_map
from kabc.report.svg import draw_column, draw_verdicts
from kabc.report.verdict_map import KINDS
from kabc.results.values import Assumption
from tests.report.examples import fleet, full_result, within
from tests.report.test_drawers import EVIL, renamed


def some_open(labels: list[int], **changes: Any) -> Result:
    """A guess in which the first two arms are open."""
    result = within(full_result(labels, "budget"))
    assert result.tolerance is not None
    verdicts = result.tolerance.verdicts.astype("<U9")
    verdicts[0, 1] = verdicts[1, 0] = OPEN
    return within(full_result(labels, "budget"), verdicts=verdicts, **changes)


def test_arms_are_ordered_by_group_and_each_pair_has_its_verdict() -> None:
    found = verdict_map(some_open([0, 1, 0, 1]))
    assert found.nodes.names == ("arm 0", "arm 2", "arm 1", "arm 3")
    assert [found.verdict(0, column) for column in range(4)] == ["", SAME, OPEN, DIFFERENT]
    assert found.title == "4 arms, tolerance 2 %: 2 pairs same, 3 different, 1 open"


@pytest.mark.parametrize("seed", range(3))
def test_cells_of_groups_sum_up_their_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 14).tolist()

    def square(values: Any) -> Any:
        upper = np.triu(values, 1)
        return upper + upper.T

    codes = square(rng.integers(0, 3, (14, 14)))
    above, below = square(rng.uniform(1, 9, (14, 14))), square(rng.uniform(0, 1, (14, 14)))
    given = within(
        full_result(labels),
        verdicts=np.array(KINDS)[codes],
        same_within=above,
        apart_at_least=below,
        same_distance=above,
    )
    found = verdict_map(given, most=1)
    everyone = verdict_map(given, most=40)
    assert found.nodes.are_groups and found.n_arms == 14 and not everyone.nodes.are_groups
    groups = [[given.names.index(name) for name in group] for group in given.groups]
    rows = [groups[number] for number in found.nodes.groups]
    for g, first in enumerate(rows):
        for h, second in enumerate(rows):
            pairs = {tuple(sorted((i, j))) for i in first for j in second if i != j}
            said = [given.tolerance.verdicts[pair] for pair in pairs]  # type: ignore[union-attr]
            assert found.counts[g, h].tolist() == [said.count(kind) for kind in KINDS]
            if pairs:
                assert found.same_within[g, h] == max(above[pair] for pair in pairs)
                assert found.apart_at_least[g, h] == min(below[pair] for pair in pairs)


def test_margins_are_in_units_and_never_better_than_proven() -> None:
    found = verdict_map(within(full_result([0, 0, 1])))
    assert found.margin(0, 1) == "<2.5" and found.margin(0, 2) == ">1.2"
    assert found.tip(0, 2) == "arm 0 and arm 2: different; apart at least 1.2 %"
    assert found.tip(0, 1) == "arm 0 and arm 1: same, each within 2 % of the rest of its group; apart at most 2.5 %"
    close = verdict_map(within(full_result([0, 0, 1]), same_distance=np.full((3, 3), 0.19)))
    assert close.tip(0, 1) == "arm 0 and arm 1: same, within 2 %; apart at most 2.5 %"
    unknown = verdict_map(within(full_result([0, 0, 1]), same_within=np.full((3, 3), np.inf)))
    assert unknown.margin(0, 1) == "" and unknown.tip(0, 1).endswith("rest of its group")


def test_three_verdicts_have_three_shapes_and_three_signs() -> None:
    picture = draw_verdicts(verdict_map(some_open([0, 1, 0, 1])))
    cells = re.findall(r'<rect class="v-(\w+)" ([^>]*)><title>', picture)
    assert {kind for kind, _ in cells} == set(KINDS)
    assert all(("rx=" in marks) == (kind == SAME) for kind, marks in cells)
    widths = {kind: float(re.search(r'width="([\d.]+)"', marks)[1]) for kind, marks in cells}  # type: ignore[index]
    assert widths[OPEN] < widths[DIFFERENT]
    assert all(f">{sign}</text>" in picture for sign in "≠=?")
    assert 'role="img" aria-label="Verdicts on 4 arms, tolerance 2 %: 2 pairs same, 3 different, 1 open"' in picture


def test_groups_with_several_verdicts_show_their_shares_or_a_sign() -> None:
    many = some_open([arm % 3 for arm in range(60)])
    picture = draw_verdicts(verdict_map(many))
    mixed = re.findall(
        r'<rect class="v-(\w+)" x="[^"]*" y="[^"]*" width="([\d.]+)"[^>]*><title>group 1 [^<]*and group 2', picture
    )
    assert [kind for kind, _ in mixed] == [DIFFERENT, OPEN] and float(mixed[0][1]) > float(mixed[1][1])
    assert "group 1 (20 arms) and group 2 (20 arms): 399 pairs different, 1 pair open" in picture
    small = draw_verdicts(verdict_map(some_open([arm % 25 for arm in range(60)])))
    assert ">~ several verdicts</text>" in small and picture.count("several") == 0


def test_the_page_has_the_map_the_margins_and_the_arms_between() -> None:
    text = report_html(within(full_result([0, 1, 0]), between=(1,)))
    section = text[text.index("<h2>Within a tolerance of 2 %</h2>") : text.index("<h2>Effects")]
    assert "Verdicts on 3 arms" in section
    assert "Between groups: arm 1 (within the tolerance of more than one group" in section
    assert "any two within 2.5 %; at least 1.2 % from any other arm" in section
    assert "latency: a shift by 3" in section
    assert "each arm is within the tolerance of the rest of its group together" in section
    facts = re.findall(r"<dt>(Pairs \w+)</dt><dd>(\d+)</dd>", text)
    assert facts == [("Pairs same", "1"), ("Pairs different", "2"), ("Pairs open", "0")]
    assert "Within a tolerance" not in report_html(full_result([0, 1, 0]))


def test_a_single_group_has_no_other_arm() -> None:
    text = report_html(within(full_result([0, 0, 0])))
    assert "<td>any two within 2.5 %</td>" in text


def test_groups_of_a_quantile_tolerance_are_proven_pair_by_pair() -> None:
    quantile = QuantileVerdicts("p99", 10.0, "%", np.full((3, 3), 8.21), np.zeros((3, 3)))
    unknown = np.full((3, 3), np.nan)
    result = within(
        full_result([0, 0, 1]),
        tolerance="p99 by 10 %",
        unit="times the tolerance",
        eps=np.nan,
        same_distance=unknown,
        apart_distance=unknown,
        quantiles=(quantile,),
    )
    assert verdict_map(result).tip(0, 1).startswith("arm 0 and arm 1: same, p99 within 10 %; apart at most 2.5 times")
    text = report_html(result)
    assert "any two have p99 within 8.3 %" in text
    assert "the two arms are within the tolerance of each other" in text


def test_an_undecided_page_says_what_is_certified_of_pairs() -> None:
    text = report_html(some_open([0, 1, 0, 1]))
    assert "2 pairs are the same within 2 %, 3 are different, 1 is open." in text


def test_where_an_assumption_fails_nothing_is_called_proven() -> None:
    result = within(full_result([0, 1, 0], "doubtful", assumptions=(Assumption("arm 0", "samples depend", 99.0),)))
    text = report_html(result)
    section = text[text.index("<h2>Within a tolerance") : text.index("<h2>Effects")]
    assert "These verdicts would be proven if samples came in no particular order" in section
    assert "Margins of the groups" not in section


def test_names_and_tolerances_are_escaped() -> None:
    evil = renamed(within(full_result([0, 1, 0]), tolerance=EVIL, unit=EVIL, equivalents=(EVIL,)), EVIL)
    assert "<script>alert" not in report_html(dataclasses.replace(evil))


def test_an_answer_without_a_tolerance_has_no_verdicts() -> None:
    with pytest.raises(SettingsError, match="found without a tolerance; pass tolerance='2%'"):
        full_result([0, 1]).plot("verdicts")


def test_arms_set_aside_are_in_no_cell() -> None:
    result = within(full_result([0, 1, 0, 1]))
    gone = dataclasses.replace(result, labels=(0, 1, 0, -1), set_aside={"arm 3": "too few"})
    assert verdict_map(gone).nodes.names == ("arm 0", "arm 2", "arm 1")
    assert "arm 3" not in draw_verdicts(verdict_map(gone))


def test_three_hundred_arms_are_three_groups_and_the_odd_ones() -> None:
    found = verdict_map(within(fleet(300)))
    assert found.nodes.are_groups and len(found.nodes.names) == 6 and found.n_arms == 300
    assert found.counts.sum(axis=2)[np.triu_indices(6)].sum() == 300 * 299 // 2


# ------------------------------------------------------------ the tolerance on the values


def one_column(tolerance: str, **changes: Any) -> Result:
    rng = np.random.default_rng(0)
    result = full_result([0, 0, 1])
    samples = {name: 100 + rng.normal(0, 5, (200, 1)) for name in result.names}
    return within(dataclasses.replace(result, samples=samples, columns=("ms",), **changes), tolerance=tolerance)


@pytest.mark.parametrize(
    ("tolerance", "width"),
    [
        ("2 %", 100 * (1.02 - 1 / 1.02)),
        ("ms by 2 %", 100 * (1.02 - 1 / 1.02)),
        ("1 standard deviation", 10.0),
        ("0.5 standard deviations", 5.0),
        ("3 (in the unit of ms)", 6.0),
    ],
)
def test_the_tolerance_is_a_band_around_the_median_of_the_largest_group(tolerance: str, width: float) -> None:
    (column,) = group_values(one_column(tolerance)).columns
    assert column.band is not None
    low, high = column.band
    assert low < column.quantiles[0, 2] < high
    assert high - low == pytest.approx(width, rel=0.08)
    picture = draw_column(column, (0, 1))
    assert 'class="band"' in picture and "tolerance around the median of the largest group" in picture
    assert "dashed band is the tolerance" in report_html(one_column(tolerance))


@pytest.mark.parametrize(
    "tolerance",
    ["1 % outliers", "kernel distance 0.1", "the change made by f", "p50 by 2 %", "ms by 2 %, size by 100", "x" * 99],
)
def test_other_tolerances_have_no_band(tolerance: str) -> None:
    (column,) = group_values(one_column(tolerance)).columns
    assert column.band is None
    assert "dashed band" not in report_html(one_column(tolerance))


def test_several_columns_have_no_band() -> None:
    assert all(column.band is None for column in group_values(within(full_result([0, 1, 0]))).columns)


@pytest.mark.parametrize("tolerance", ["2%", "0.5 sd", 3, {"ms": "2%"}])
def test_what_a_run_says_of_its_tolerance_can_be_drawn(tolerance: Any) -> None:
    rng = np.random.default_rng(0)
    arms = {"a": 100 + rng.normal(0, 5, 300), "b": 100 + rng.normal(0, 5, 300)}
    rows = {"arm": [name for name, values in arms.items() for _ in values], "ms": np.concatenate(list(arms.values()))}
    pandas = pytest.importorskip("pandas")
    result = kabc.cluster(
        pandas.DataFrame(rows), arm="arm", tolerance=tolerance, seed=0, max_samples=300, progress=False
    )
    (column,) = group_values(result).columns
    assert column.band is not None
