"""A strategy of a stranger in a contest, and what identifies its code."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import kabc
from kabc.bench import INSTANCES, Contest, RunLog, run_contest, summarise
from kabc.bench.field import code_of, resolve
from kabc.bench.tables import as_markdown, as_matrix, as_text
from kabc.core.errors import SettingsError
from kabc.strategies.entry import BenchSetup, StrategyEntry
from kabc.strategies.registry import REGISTRY

KABC = str(Path(sys.executable).with_name("kabc"))
EASY = INSTANCES["boc-easy"]
MINE = """
import kabc

class Energy(kabc.AnytimeKABC):
    '''One of a stranger.'''
"""


@pytest.fixture(autouse=True)
def _nothing_stays_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(REGISTRY, "registered", {})


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


# ---------------------------------------------------------------- names


def test_a_file_a_name_and_a_name_with_options_can_be_written(mine: Path) -> None:
    contest = Contest(("boc-easy",), (f"{mine}:Energy", "anytime", "boc-uniform[threshold=heuristic]"), runs=1)
    assert list(contest.specs) == ["Energy", "anytime", "boc-uniform[threshold=heuristic]"]
    assert contest.specs["Energy"][1].make.__name__ == "Energy"


def test_written_options_win_over_those_of_the_bench() -> None:
    entry = resolve("boc[sigma=3.5;threshold=heuristic]")
    strategy = entry.build(4, 2, 0.1, None, entry.bench.options(EASY, 0))
    assert (strategy.sigma, strategy.threshold) == (3.5, "heuristic")  # type: ignore[attr-defined]
    assert entry.title == "boc[sigma=3.5;threshold=heuristic]"
    assert resolve("lucbboc[sigma=2]").title == "lucbboc[sigma=2] (reconstruction)"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("boc[thresold=heuristic]", r"no option 'thresold'; did you mean 'threshold'\?"),
        ("boc[threshold]", r"are written as boc\[option=value"),
        ("spectral[samples_per_arm=4]", "the bench itself searches for samples_per_arm of 'spectral'"),
        ("magic", "there is no strategy 'magic'"),
        ("FILE:Enrgy", "has no 'Enrgy'; it has Energy"),
        ("FILE", "name the strategy in it as well"),
        ("boc-uniform-heuristic", "'boc-uniform' with the option threshold='heuristic'"),
    ],
)
def test_mistakes_are_said_before_anything_runs(spec: str, message: str, mine: Path) -> None:
    with pytest.raises(SettingsError, match=message):
        Contest(("boc-easy",), (spec.replace("FILE", str(mine)),))


def test_two_strategies_never_share_a_name(mine: Path) -> None:
    other = mine.with_name("other.py")
    other.write_text(MINE + "\nboc = Energy\n")
    with pytest.raises(SettingsError, match="are both called 'Energy'"):
        Contest(("boc-easy",), (f"{mine}:Energy", f"{other}:Energy"))
    with pytest.raises(SettingsError, match="has the name 'boc', which another strategy has"):
        Contest(("boc-easy",), (f"{other}:boc",))


# ---------------------------------------------------------------- code


def test_the_code_of_a_strategy_is_that_of_its_file_and_its_settings(mine: Path) -> None:
    spec = f"{mine}:Energy"
    before = code_of(resolve(spec), EASY)
    assert code_of(resolve(spec), EASY) == before
    assert code_of(resolve(f"{spec}[seed=4]"), EASY) != before
    mine.write_text(MINE + "    growth = 2\n")
    assert code_of(resolve(spec), EASY) != before


def test_settings_are_part_of_the_code() -> None:
    entry = StrategyEntry(name="mine", make=kabc.AnytimeKABC)
    marks = {
        code_of(entry, EASY),
        code_of(replace(entry, make=partial(kabc.AnytimeKABC, seed=1)), EASY),
        code_of(replace(entry, bench=BenchSetup(options=lambda instance, seed: {"seed": 7})), EASY),
        code_of(replace(entry, bench=BenchSetup(by_means=True)), EASY),
    }
    assert len(marks) == 4


def test_the_code_of_kabc_is_part_of_every_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    before = code_of(resolve("anytime"), EASY)
    monkeypatch.setattr("kabc.bench.field._own_code", lambda: "another version")
    assert code_of(resolve("anytime"), EASY) != before


def test_a_changed_strategy_is_run_again(mine: Path) -> None:
    contest = partial(Contest, ("boc-easy",), ("anytime", f"{mine}:Energy"), runs=2)
    run = partial(run_contest, progress=False)
    first = run(contest(), RunLog(mine.parent))
    again = RunLog(mine.parent)
    assert run(contest(), again) == first
    assert len(again.done) == 4
    mine.write_text(MINE + "\n# changed\n")
    run(contest(), again)
    assert sorted(job.strategy for job in again.done) == ["Energy"] * 4 + ["anytime"] * 2


# ---------------------------------------------------------------- runs


def test_a_stranger_is_in_the_tables_also_with_several_processes(mine: Path, tmp_path: Path) -> None:
    words = ["boc-easy", "--strategies", f"anytime,{mine}:Energy", "--runs", "2", "--json", "--quiet"]
    done = subprocess.run(
        [KABC, "bench", *words, "--workers", "2", "--out", str(tmp_path / "out")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(row["strategy"], row["guarantee"]) for row in rows] == [("anytime", "proven"), ("Energy", "heuristic")]
    assert rows[0]["samples"] == rows[1]["samples"] > 0


def test_a_registered_one_is_sent_to_the_other_processes(tmp_path: Path) -> None:
    kabc.register_strategy(StrategyEntry(name="sent", make=kabc.AnytimeKABC))
    contest = Contest(("boc-easy",), ("sent",), runs=1)
    found = run_contest(contest, RunLog(tmp_path), workers=2, progress=False)
    assert [outcome.status for outcome in found.values()] == ["decided"]
    kabc.register_strategy(StrategyEntry(name="local", make=lambda *given, **more: kabc.AnytimeKABC(*given, **more)))
    with pytest.raises(SettingsError, match=r"cannot be sent to other processes .* use workers=1"):
        run_contest(Contest(("boc-easy",), ("local",)), RunLog(tmp_path / "no"), workers=2, progress=False)


def test_reconstructions_say_so_in_every_table(tmp_path: Path) -> None:
    contest = Contest(("boc-easy",), ("lucbboc", "boc-elim"), runs=1, cap=50)
    rows = summarise(contest, run_contest(contest, RunLog(tmp_path), progress=False))
    for text in (as_text(rows, contest), as_markdown(rows, contest), as_matrix(rows, contest.delta)):
        assert "lucbboc (reconstruction)" in text
        assert "boc-elim (reconstruction)" in text


def test_an_option_that_takes_the_proof_away_makes_the_row_heuristic(tmp_path: Path) -> None:
    names = ("boc-uniform", "boc-uniform[threshold=heuristic]")
    contest = Contest.of(["boc-easy"], names, runs=1, cap=2_000)
    rows = summarise(contest, run_contest(contest, RunLog(tmp_path), progress=False))
    assert {row.strategy: row.guarantee for row in rows} == dict(zip(names, ("proven", "heuristic"), strict=True))
