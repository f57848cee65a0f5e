"""The parts of the page: its head, what went wrong near the top, groups that are cut, tables that can be read aloud."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import kabc
from kabc.arms.tallies import Failures
from kabc.report import odd_ones, report_html
from kabc.report.nodes import odd_arms
from kabc.report.svg.pairs import whole_per_cent
from kabc.results.origin import Origin
from kabc.results.values import Assumption
from tests.report.examples import fleet, full_result, result_of
from tests.report.test_html import EVIL, Page

ORIGIN = Origin("2026-01-31T09:30:00+00:00", "data/hosts.csv", "kabc run data/hosts.csv --arm host", "9.9")
GOLDEN = Path(__file__).parent.parent / "golden" / "results"

# ------------------------------------------------------------ head


def test_the_head_says_when_from_what_and_how() -> None:
    text = report_html(full_result([0, 1, 0], origin=ORIGIN))
    head = text[text.index("<header>") : text.index("</header>") + len("</header>")]
    assert "<h1>hosts.csv: which arms are the same?</h1>" in head
    page = Page(head)
    for part in ("2026-01-31 09:30 UTC", "data/hosts.csv", "kabc run data/hosts.csv --arm host", "kabc 9.9", "Seed 0"):
        assert part in page.text


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("", "Which arms are the same?"),
        ("runs.db: select * from runs", "Which arms are the same?"),
        ("a: ./a.sh; b: ./b.sh", "Which arms are the same?"),
        ("/data/x.parquet", "x.parquet: which arms are the same?"),
    ],
)
def test_without_a_title_the_name_of_the_file_is_in_it(source: str, title: str) -> None:
    text = report_html(full_result([0, 1], origin=dataclasses.replace(ORIGIN, source=source)))
    assert f"<h1>{title}</h1>" in text
    assert "<h1>Mine</h1>" in report_html(full_result([0, 1], origin=ORIGIN), "Mine")


def test_answers_of_python_have_no_command() -> None:
    result = kabc.cluster({"a": [0.1] * 60, "b": [0.9] * 60}, n_clusters=2, seed=0)
    text = report_html(result)
    assert "<dt>Date</dt>" in text and "<dt>Version</dt>" in text
    assert "<dt>Command</dt>" not in text and "<dt>Source</dt>" not in text


@pytest.mark.parametrize("name", ["0.1.0-decided", "2-undecided"])
def test_old_files_have_a_report_without_an_origin(name: str) -> None:
    result = kabc.load_result(GOLDEN / f"{name}.json")
    assert result.origin is None
    text = report_html(result)
    assert "<dt>Date</dt>" not in text
    Page(text)


@pytest.mark.parametrize("evil", EVIL)
def test_an_origin_of_a_file_is_text_whatever_it_holds(evil: str) -> None:
    calm, forged = (Page(report_html(full_result([0, 1], origin=Origin(*[one] * 4)))) for one in ("calm", evil))
    assert set(calm.tags) == set(forged.tags)


# ------------------------------------------------------------ what went wrong


def test_doubts_arms_not_measured_and_failures_come_before_the_groups() -> None:
    result = full_result([0, 1, 0], "doubtful")
    result = dataclasses.replace(
        result,
        labels=(0, -1, 0),
        set_aside={"arm 1": "no rows"},
        failures={"arm 0": Failures(7, {"status 500": 6, "timeout": 1}, "gone <b>away</b>", 20)},
        assumptions=(Assumption("arm 2", "later samples differ from earlier ones", 400.0),),
    )
    text = report_html(result)
    top = Page(text[text.index("<main>") + 6 : text.index("<h2>Groups")]).text
    assert "arm 2: later samples differ from earlier ones (evidence 400 : 1)" in top
    assert "Not measured: 1 arm" in top and "arm 1 1,234 no rows" in top
    assert "7 tries failed, of 1 arm" in top
    assert "arm 0 7 20 status 500: 6, timeout: 1 gone <b>away</b>" in top
    assert "<b>away" not in text


def test_many_arms_that_were_not_measured_are_folded() -> None:
    result = fleet(300)
    aside = {name: "no rows" for name, label in zip(result.names, result.labels, strict=True) if label == 0}
    labels = kabc.Partition.of([-1 if label == 0 else label for label in result.labels])
    text = report_html(dataclasses.replace(result, labels=labels.labels, set_aside=aside))
    assert f"and {len(aside) - 6} more arms" in text
    assert all(f"<bdi>{name}</bdi>" in text for name in aside)


# ------------------------------------------------------------ odd ones


def test_a_certified_group_of_one_is_odd_even_where_its_distance_could_be_chance() -> None:
    result = full_result([0] * 11 + [1])
    small = {name: rows[:3] for name, rows in result.samples.items()}
    result = dataclasses.replace(result, samples=small)
    assert result.effects.arms[0].oddness < 0
    assert [arm.arm for arm in odd_arms(result)] == ["arm 11"]
    assert odd_arms(dataclasses.replace(result, status="budget")) == ()


def test_groups_of_the_same_size_have_no_odd_ones() -> None:
    assert odd_arms(full_result([0, 9, 18])) == ()
    with pytest.raises(kabc.SettingsError, match="no arm stands out"):
        odd_ones(full_result([0, 9, 18]))


def test_categories_are_compared_by_their_shares() -> None:
    result = fleet(300)
    (arm,) = [arm for arm in odd_ones(result).arms if arm.column.name == "failed"]
    assert arm.column.levels == ("0", "1")
    assert re.fullmatch(r"share of 1: \d+ %, [\d.]+ % in the other arms", arm.effects[0])


# ------------------------------------------------------------ to be read aloud, to be trusted


def test_every_head_of_a_table_says_what_it_is_the_head_of() -> None:
    text = report_html(fleet(300))
    heads = re.findall(r"<th[ >][^>]*>?", text)
    assert heads
    assert all(re.search(r'scope="(col|row|colgroup)"', head) for head in heads)


def test_only_all_pairs_are_100_per_cent_and_only_none_are_0() -> None:
    assert [whole_per_cent(part, 1000) for part in (0, 1, 500, 999, 1000)] == ["0%", "1%", "50%", "99%", "100%"]


def test_the_rule_is_folded_and_claim_and_assumptions_are_not() -> None:
    text = report_html(result_of([0, 1, 0]))
    section = text[text.index("<h2>What is certified") : text.index("<h2>Settings")]
    assert section.index("<b>Claim:</b> claim") < section.index("<li>assumption</li>") < section.index("<details")
    assert section.index("<details") < section.index("<li>rule</li>")


def test_a_tolerance_is_said_in_the_answer_and_in_the_settings() -> None:
    def arm(mean: float) -> Callable[[int, np.random.Generator], NDArray[np.float64]]:
        return lambda n, rng: rng.normal(mean, 1.0, n)

    arms = {"a": arm(10), "b": arm(10), "c": arm(15)}
    text = report_html(kabc.cluster(arms, tolerance="10%", seed=1, max_samples=3_000, progress=False))
    assert "each arm within 10 % of its group" in text
    assert '<th scope="row">Tolerance</th><td>10 %</td>' in text
