"""Strategies of others, installed with a package: they run from the shell as they do in Python."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

import kabc
from tests.blackbox.shell import Said, shell

MINE = """
import kabc

class Mine(kabc.strategies.AnytimeKABC):
    # a strategy with options of its own, one of which has the name of an option of `kabc run`
    def __init__(self, n_arms, n_clusters, delta, *, weights=(1.0, 2.0), check_k=True, patience=2.5):
        super().__init__(n_arms, n_clusters, delta, check_k=check_k, patience=patience)
        self.weights = [float(weight) for weight in weights]

class Broken(Mine):
    def __init__(self, n_arms, n_clusters, delta):
        raise TypeError("a fault of the authors")

class Needy(Mine):
    def __init__(self, n_arms, n_clusters, delta, *, gap, check_k=True):
        super().__init__(n_arms, n_clusters, delta)

ENTRY = kabc.strategies.StrategyEntry(name="mine", make=Mine)
"""
ARMS = ("--command", "low=echo $((KABC_SEED % 10))", "--command", "high=echo 99")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip leaves behind of a package with strategies: a module, and a folder with its metadata."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "mine.py").write_text(MINE)
    info = folder / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    points = "mine = mine:ENTRY\nbroken = mine:Broken\nneedy = mine:Needy\n"
    (info / "entry_points.txt").write_text(f"[kabc.strategies]\n{points}")
    return folder


def run(package: Path, *words: object) -> Said:
    path = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH", "")]))
    return shell("run", *words, "--seed", 0, "--quiet", folder=package, env={"PYTHONPATH": path})


def test_one_that_stops_by_itself_needs_no_number_of_groups_and_no_budget(package: Path) -> None:
    said = run(package, *ARMS, "--strategy", "mine", "--seed", 1, "--json")
    assert (said.code, said.err) == (0, "")
    assert (said.json["status"], said.json["certified"]) == ("decided", True)
    assert [group["arms"] for group in said.json["groups"]] == [["low"], ["high"]]


def test_one_that_does_not_stop_needs_an_end_in_both_doors(package: Path) -> None:
    never = ("--strategy", "mine", "--option", "patience=null")
    said = run(package, *ARMS, *never)
    assert said.code == 2
    assert "does not stop by itself" in said.err
    assert "--clusters" in said.err
    assert "--max-samples" in said.err
    for name in ("anytime", "kabc"):
        options = {"patience": None} if name == "anytime" else {}
        with pytest.raises(kabc.SettingsError, match=r"does not stop by itself.*n_clusters.*max_samples"):
            kabc.cluster([lambda n, rng: rng.random(n)] * 2, strategy=name, strategy_options=options, seed=0)


@pytest.mark.parametrize(("name", "options"), [("kabc", {}), ("anytime", {"patience": None})])
def test_rows_are_an_end_in_both_doors(tmp_path: Path, name: str, options: dict[str, object]) -> None:
    dice = random.Random(3)
    rows = [f"{arm},{dice.random() + shift:.3f}" for _ in range(100) for arm, shift in (("a", 0), ("b", 2), ("c", 0))]
    (tmp_path / "rows.csv").write_text("\n".join(["arm,value", *rows]) + "\n")
    told = [f"--option={option}={json.dumps(value)}" for option, value in options.items()]
    kept = ("--storage", "kept.db", "--study", "kept")
    said = run(tmp_path, "rows.csv", "--arm", "arm", "--strategy", name, *told, "--seed", 1, *kept, "--json")
    assert said.code == 3, said.err
    found = kabc.cluster(
        tmp_path / "rows.csv", arm="arm", strategy=name, strategy_options=options, seed=1, progress=False
    )
    assert (found.status, found.n_groups_at_least) == ("exhausted", 2)
    assert (found.status, found.n_samples) == (said.json["status"], said.json["n_samples"])


@pytest.mark.parametrize(
    ("strategy", "option", "words"),
    [
        ("anytime", "maps=1", ["maps", "got 1", "leave it out"]),
        ("mine", "weights=1", ["'mine'", "weights=1", "'int' object is not iterable", "leave them out"]),
        ("mine", "patience=x", ["patience", "got 'x'"]),
        ("needy", "check_k=true", ["missing a required argument: 'gap'", "it has 'gap', 'check_k'"]),
        ("mine", "wieghts=1", ["did you mean 'weights'?", "it has 'weights', 'check_k', 'patience'"]),
        ("anytime", "check=1", ["did you mean 'check_k'?", "it has 'maps', 'seed', 'block', 'check_k', 'paired'"]),
    ],
)
def test_a_wrong_option_is_bad_input(package: Path, strategy: str, option: str, words: list[str]) -> None:
    said = run(package, *ARMS, "--clusters", 2, "--strategy", strategy, "--option", option)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1), said
    assert "a fault of kabc" not in said.err
    for word in words:
        assert word in said.err


def test_an_option_that_the_list_names_is_taken(package: Path) -> None:
    unchecked = ("--strategy", "mine", "--option", "check_k=false")
    said = run(package, *ARMS, "--clusters", 2, *unchecked, "--seed", 1)
    assert said.code == 0
    assert "no group looks like two" not in said.out


def test_a_fault_of_its_authors_is_no_bad_input(package: Path) -> None:
    said = run(package, *ARMS, "--clusters", 2, "--strategy", "broken")
    assert said.code == 1
    assert "TypeError: a fault of the authors" in said.err
