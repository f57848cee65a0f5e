"""What it will cost, before paying."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Call


def test_strategies_are_planned_side_by_side_from_a_pilot(kabc: Call, machines: Path) -> None:
    words = ("plan", machines, "--arm", "machine", "--values", "vibration", "--clusters", 2, "--seed", 1)
    facts = kabc(*words, "--price", 0.5, "--seconds-per-sample", 2, "--json").json()
    plans = {row["strategy"]: row for row in facts["plans"]}
    assert list(plans) == ["anytime", "kabc-tight", "kabc"]
    assert plans["anytime"]["samples"] < plans["kabc-tight"]["samples"] < plans["kabc"]["samples"]
    assert plans["kabc"]["samples"] <= plans["kabc"]["sure_samples"]
    assert plans["anytime"]["sure_samples"] is None
    assert all(row["money"] == 0.5 * row["samples"] and row["seconds"] == 2 * row["samples"] for row in plans.values())
    text = kabc(*words)
    assert text.code == 0
    assert "a pilot of 60 samples of each of 4 arms" in text.out
    assert "money" not in text.out
    assert f"{plans['kabc']['samples']:,}" in text.out


def test_the_pilot_of_many_arms_is_bounded(kabc: Call, tmp_path: Path) -> None:
    """A plan for a thousand hosts read 200,000 rows twice, and summed all pairs of them: longer than the run."""
    rng = np.random.default_rng(0)
    rows = [f"h{arm},{rng.normal(4 * (arm % 2), 1):.3f}" for _ in range(150) for arm in range(160)]
    (tmp_path / "hosts.csv").write_text("\n".join(["host,latency", *rows]))
    facts = kabc("plan", tmp_path / "hosts.csv", "--arm", "host", "--clusters", 2, "--seed", 1, "--json").json()
    assert facts["basis"] == "a pilot of 125 samples of each of 160 arms"
    assert all(row["samples"] for row in facts["plans"])


def test_a_gap_needs_no_data(kabc: Call) -> None:
    words = ("plan", "--gap", 1.5, "--arms", 4, "--clusters", 2, "--seed", 1, "--json")
    near, far = kabc(*words).json()["plans"], kabc(*words, "--gap", 6).json()["plans"]
    assert all(a["samples"] > b["samples"] for a, b in zip(near, far, strict=True) if a["strategy"] != "anytime")
    assert near[0]["samples"] >= far[0]["samples"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--gap", "1", "--arms", "4"], "--clusters"),
        (["--gap", "1", "--clusters", "2"], "--arms"),
        (["--gap", "-1", "--arms", "4", "--clusters", "2"], "--gap"),
        (["--clusters", "2"], "nothing to draw from"),
        (["--gap", "1", "--arms", "4", "--clusters", "2", "--save-pilot", "p.csv"], "--save-pilot needs a pilot"),
    ],
)
def test_what_is_missing_is_named(words: list[str], part: str, kabc: Call) -> None:
    answer = kabc("plan", "--seed", 1, *words)
    assert answer.code == 2
    assert part in answer.err
    assert answer.err.count("\n") == 1


def test_a_pilot_without_a_gap_says_so(kabc: Call, tmp_path: Path) -> None:
    data = tmp_path / "same.csv"
    data.write_text("m,x\n" + "".join(f"{name},{i % 10}\n" for i in range(40) for name in "abc"))
    answer = kabc("plan", data, "--arm", "m", "--clusters", 2, "--seed", 1)
    assert answer.code == 2
    assert "40 samples of each arm do not show 2 groups" in answer.err
    assert "assume a gap with --gap" in answer.err
    assert "variances" not in answer.err  # there is no such option


def test_without_a_number_of_groups_only_the_strategy_that_needs_none_is_planned(kabc: Call, machines: Path) -> None:
    words = ("plan", machines, "--arm", "machine", "--values", "vibration", "--seed", 1)
    answer = kabc(*words)
    assert answer.code == 0
    assert answer.out.startswith("number of groups not known: until all arms that differ in the pilot are told apart")
    facts = kabc(*words, "--json").json()
    assert facts["clusters"] is None
    assert [row["strategy"] for row in facts["plans"]] == ["anytime"]


def test_a_saved_pilot_is_planned_from_again(kabc: Call, machines: Path, tmp_path: Path) -> None:
    kept = tmp_path / "pilot.csv"
    words = ("--clusters", 2, "--seed", 1, "--json")
    source = ("plan", machines, "--arm", "machine", "--values", "vibration", "--pilot", 30)
    first = kabc(*source, *words, "--save-pilot", kept).json()
    lines = kept.read_text().splitlines()
    assert lines[0] == "arm,vibration"
    assert len(lines) == 1 + 4 * 30
    again = kabc("plan", kept, "--arm", "arm", *words).json()
    assert again["basis"] == first["basis"] == "a pilot of 30 samples of each of 4 arms"
    assert kabc("run", kept, "--arm", "arm", "--clusters", 2, "--seed", 1).code == 0


def test_a_pilot_is_kept_even_if_it_is_too_small(kabc: Call, tmp_path: Path) -> None:
    kept = tmp_path / "pilot.csv"
    words = [f"--command={name}=echo 3" for name in "ab"]
    asked = ("--measure", "output", "--clusters", 2, "--pilot", 2, "--seed", 1)
    answer = kabc("plan", *words, *asked, "--save-pilot", kept)
    assert answer.code == 2
    assert len(kept.read_text().splitlines()) == 5


@pytest.mark.parametrize(("name", "part"), [("p.txt", "ends in .csv"), ("none/p.csv", "no folder")])
def test_where_a_pilot_goes_is_checked_before_it_is_drawn(
    name: str, part: str, kabc: Call, machines: Path, tmp_path: Path
) -> None:
    answer = kabc("plan", machines, "--arm", "machine", "--clusters", 2, "--seed", 1, "--save-pilot", tmp_path / name)
    assert answer.code == 2
    assert part in answer.err


def test_the_data_are_not_overwritten_by_the_pilot(kabc: Call, machines: Path) -> None:
    before = machines.read_bytes()
    if machines.suffix == ".csv":
        answer = kabc("plan", machines, "--arm", "machine", "--clusters", 2, "--seed", 1, "--save-pilot", machines)
        assert "is a file that this plan reads" in answer.err
    assert machines.read_bytes() == before


def test_quiet_says_nothing_on_standard_error(kabc: Call, machines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.cli.live._QUIET_SECONDS", 0.0)
    words = ("plan", machines, "--arm", "machine", "--values", "vibration", "--clusters", 2, "--seed", 1)
    assert f"reading {machines}" in kabc(*words, "--progress").err
    assert kabc(*words).err == ""  # nobody looks on
    assert kabc(*words, "--quiet").err == ""


def test_each_strategy_takes_one_line_and_the_price_of_adaptivity_another(kabc: Call) -> None:
    answer = kabc("plan", "--gap", 6, "--arms", 3, "--clusters", 2, "--seed", 1)
    assert [line.split()[0] for line in answer.out.splitlines()[2:]] == [
        *("strategy", "anytime", "kabc-tight", "kabc"),
        "kabc:",
    ]


def test_a_tolerance_has_a_table_of_its_own(kabc: Call, machines: Path) -> None:
    words = ("plan", machines, "--arm", "machine", "--values", "vibration", "--seed", 1, "--tolerance", "0.4 sd")
    facts = kabc(*words, "--price", 0.5, "--seconds-per-sample", 2, "--json").json()
    assert facts["plans"] == []
    assert facts["tolerance"] == "0.4 standard deviations"
    assert facts["groups_in_pilot"] == 2
    rows = {row["tolerance"]: row for row in facts["tolerances"]}
    assert list(rows) == [f"{size} standard deviations" for size in ("0.2", "0.4", "0.8", "2")]
    assert all(row["money"] == 0.5 * row["samples"] and row["seconds"] == 2 * row["samples"] for row in rows.values())
    text = kabc(*words, "--price", 0.5)
    assert text.code == 0
    assert text.out.startswith("each arm within the tolerance of its group, delta = 0.05; a pilot of 60 samples")
    assert f"{rows['0.4 standard deviations']['samples']:,}" in text.out
    assert "money" in text.out and "time" not in text.out


def test_a_tolerance_beside_a_number_of_groups_has_both_tables(kabc: Call, machines: Path) -> None:
    words = ("plan", machines, "--arm", "machine", "--values", "vibration", "--seed", 1, "--clusters", 2)
    facts = kabc(*words, "--tolerance", "vibration=0.4 sd", "--json").json()
    assert len(facts["plans"]) == 3 and len(facts["tolerances"]) == 4
    assert "tolerances" not in kabc(*words, "--json").json()


def test_without_k_a_pilot_of_equal_arms_is_told_what_a_tolerance_costs(kabc: Call, tmp_path: Path) -> None:
    data = tmp_path / "same.csv"
    data.write_text("m,x\n" + "".join(f"{name},{10 + i % 10}\n" for i in range(40) for name in "abc"))
    answer = kabc("plan", data, "--arm", "m", "--seed", 1)
    assert answer.code == 0
    assert "not knowing the number of groups, ask for a tolerance" in answer.out
    assert "ask for a tolerance with --tolerance" in answer.out
    assert "20 %" in answer.out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--tolerance", "2 furlongs"], "furlongs"),
        (["--tolerance", "y=2%"], "there is no column 'y'"),
        (["--tolerance", "p50=2%"], "needs values that are not negative"),
        (["--tolerance", "2%", "--gap", "2", "--arms", "4"], "leave --gap out"),
    ],
)
def test_tolerances_that_cannot_be_planned_are_refused(words: list[str], part: str, kabc: Call, machines: Path) -> None:
    answer = kabc("plan", machines, "--arm", "machine", "--values", "vibration", "--seed", 1, *words)
    assert answer.code == 2
    assert part in answer.err


def test_a_run_without_k_suggests_a_tolerance_as_an_option(kabc: Call, machines: Path) -> None:
    answer = kabc("run", machines, "--arm", "machine", "--values", "vibration", "--seed", 1)
    assert answer.code == 3
    assert "note: to prove which arms are the same, ask for a tolerance: --tolerance '" in answer.out
