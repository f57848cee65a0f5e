"""Answers within tolerances of quantiles: in Python, on the command line, in files, in words."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import Result
from kabc.cli import main

SAID = {"p50": "10%", "p90": "20%"}


def latency(factor: float) -> Any:
    return lambda n, rng: factor * rng.lognormal(3.0, 0.2, n)


@cache
def decided() -> Result:
    arms = {"a": latency(1), "b": latency(1), "c": latency(1.5)}
    return kabc.cluster(arms, tolerance=SAID, seed=0, progress=False)


@cache
def ran_out() -> Result:
    rng = np.random.default_rng(0)
    rows = {name: latency(1)(400, rng) for name in ("web-1", "web-2")}
    return kabc.cluster(rows, tolerance={"p50": "3%", "p99": "30%"}, seed=0, progress=False)


def test_groups_and_verdicts_are_those_of_the_quantiles() -> None:
    result = decided()
    assert result.certified
    assert result.groups == (("a", "b"), ("c",))
    assert result.verdicts is not None
    assert result.verdicts.tolist() == [["same", "same", "different"]] * 2 + [["different", "different", "same"]]
    assert result.tolerance is not None
    assert [one.name for one in result.tolerance.quantiles] == ["p50", "p90"]
    assert result.tolerance.quantiles[0].same_within[0, 1] <= 10
    assert result.same_within is not None
    assert result.same_within[0, 1] <= 1


def test_the_text_says_it_for_each_quantile() -> None:
    assert "any two arms of a group have p50 within 10 %, p90 within 20 %, groups differ" in str(decided())
    assert "wrong with probability at most 5 %" in str(decided())
    assert "arms of different groups differ in one of these quantiles" in decided().certificate()


def test_the_same_seed_gives_the_same_answer_and_another_seed_another_one() -> None:
    def run(seed: int) -> Result:
        found = kabc.cluster([latency(1), latency(1)], tolerance=SAID, seed=seed, progress=False)
        return replace(found, seconds=0.0)

    assert run(3) == run(3)
    assert run(3) != run(4)


@pytest.mark.parametrize("make", [decided, ran_out])
def test_a_saved_answer_comes_back_whole(make: Any, tmp_path: Path) -> None:
    result: Result = make()
    result.save(tmp_path / "answer.json")
    again = kabc.load_result(tmp_path / "answer.json")
    assert again == result
    assert str(again) == str(result)


def test_a_file_without_the_margins_of_a_quantile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    decided().save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["tolerance"]["quantiles"][0]["matrices"]["same_within"]
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(kabc.KabcError, match="it must hold same_within and apart_at_least"):
        kabc.load_result(path)


def test_json_has_the_margins_of_each_pair_and_quantile() -> None:
    part = decided().to_dict()["tolerance"]
    assert part["kernel_distance"] is None
    assert part["unit"] == "times the tolerance"
    assert [(one["name"], one["tolerance"], one["unit"]) for one in part["quantiles"]] == [
        ("p50", 10.0, "%"),
        ("p90", 20.0, "%"),
    ]
    first = part["pairs"][0]
    assert first["verdict"] == "same"
    assert 0 < first["quantiles"]["p90"]["same_within"] <= 20


def test_rows_that_run_out_give_what_is_proven_and_how_many_more_it_takes() -> None:
    result = ran_out()
    assert result.status == "exhausted"
    assert not result.certified
    assert "proven so far: any two have p50 within " in str(result)
    assert "nothing yet of p99" in str(result)
    assert result.needs is not None
    assert min(result.needs.values()) > 400
    assert "1 is open" in str(result)


@pytest.mark.parametrize("block", [5, "auto"])
def test_blocks_are_refused_before_the_first_sample(block: Any) -> None:
    def never(n: int, rng: np.random.Generator) -> Any:
        raise AssertionError

    with pytest.raises(kabc.SettingsError, match="blocks do not go with tolerance p50 by 2 %"):
        kabc.cluster([never, never], tolerance={"p50": "2%"}, block=block, seed=0, progress=False)


def test_the_command_line_takes_quantiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"{host},{value:.5f},{i}" for host in "abc" for i, value in enumerate(latency(1 + (host == "c"))(2000, rng))
    ]
    table = tmp_path / "hosts.csv"
    table.write_text("\n".join(["host,latency,size", *rows]) + "\n", encoding="utf-8")
    words = ["run", str(table), "--arm", "host", "--tolerance", "p50=10%, p90=20%", "--seed", "0"]
    assert main([*words, "--values", "latency", "--json", "--report", str(tmp_path / "page.html")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [one["arms"] for one in answer["groups"]] == [["a", "b"], ["c"]]
    assert (tmp_path / "page.html").stat().st_size > 0
    assert main(words) == 2
    assert "quantiles are those of one column" in capsys.readouterr().err


def test_samples_that_depend_on_each_other_get_an_advice_that_quantiles_can_follow() -> None:
    def slow(n: int, rng: np.random.Generator) -> Any:
        return np.repeat(rng.lognormal(3.0, 0.2, -(-n // 5)), 5)[:n]

    result = kabc.cluster([slow, slow], tolerance={"p50": "5%"}, seed=0, progress=False)
    assert result.status == "doubtful"
    assert "Draw samples that are farther apart in time" in str(result)
    assert "block" not in str(result).splitlines()[0]
