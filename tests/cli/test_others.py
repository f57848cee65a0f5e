"""The smaller commands, and how fast help is."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kabc import Evidence, load_result
from kabc.strategies import strategies
from tests.cli.conftest import Call


def test_strategies_prints_the_list(kabc: Call) -> None:
    facts = kabc("strategies", "--json").json()["strategies"]
    assert [entry["name"] for entry in facts] == list(strategies())
    text = kabc("strategies")
    assert text.code == 0
    assert all(f"{entry.title}: {entry.guarantee}\n" in text.out for entry in strategies().values())


def test_strategies_says_which_are_reconstructions(kabc: Call) -> None:
    facts = kabc("strategies", "--json").json()["strategies"]
    assert [one["name"] for one in facts if one["reconstruction"]] == ["atboc", "ebc", "lucbboc", "boc-elim", "tas-fw"]
    assert "lucbboc (reconstruction): proven\n" in kabc("strategies").out


@pytest.mark.parametrize("words", [[], ["--help"], ["run", "--help"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    heavy = ["duckdb", "pandas", "polars", "pyarrow", "plotly", "matplotlib", "sqlalchemy", "httpx", "scipy", "numba"]
    heavy += ["narwhals", "sklearn", "rich", "kabc.demo", "kabc.report", "kabc.arms.tables"]
    code = (
        "import sys\n"
        "from kabc.cli import main\n"
        f"code = main({words!r})\n"
        f"print(code, [name for name in {heavy!r} if name in sys.modules])\n"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.splitlines()[-1] == "0 []"
    assert "Usage: kabc" in seen.stdout


def test_compare_has_an_exit_code_for_same_changed_and_perhaps_changed(
    kabc: Call, machines: Path, tmp_path: Path
) -> None:
    old, new, guess = tmp_path / "old.json", tmp_path / "new.json", tmp_path / "guess.json"
    moved = tmp_path / "moved.csv"  # machine c now vibrates like b and d
    header, *rows = machines.read_text().splitlines()
    spare = [row for row in rows if row.startswith("d")]
    moved.write_text("\n".join([header, *(r for r in rows if r[0] != "c"), *("c" + row[1:] for row in spare)]))
    words = ("--arm", "machine", "--values", "vibration", "--clusters", 2, "--seed", 1)
    assert kabc("run", machines, *words, "--save", old).code == 0
    assert kabc("run", moved, *words, "--save", new).code == 0
    replace(load_result(new), status="budget", evidence=Evidence.none(4)).save(guess)

    same, changed, perhaps = kabc("compare", old, old), kabc("compare", old, new), kabc("compare", old, guess)
    assert (same.code, changed.code, perhaps.code) == (0, 5, 3)
    assert "c (a guess)" in perhaps.out
    assert "c (certified)" in changed.out
    facts = kabc("compare", old, new, "--json").json()
    assert [change["arm"] for change in facts["changes"]] == ["c"]


def test_compare_finds_values_that_moved_and_refuses_other_questions(kabc: Call, tmp_path: Path) -> None:
    def timed(name: str, factor: int, clusters: int, column: str = "ms") -> Path:
        rng = np.random.default_rng(factor)
        rows = [
            f"{arm},{factor * middle * (1 + 0.05 * rng.standard_normal())}"
            for _ in range(200)
            for arm, middle in (("a", 1), ("b", 1), ("c", 2), ("d", 4))
        ]
        (tmp_path / "t.csv").write_text("\n".join([f"build,{column}", *rows]))
        path = tmp_path / f"{name}.json"
        kabc("run", tmp_path / "t.csv", "--arm", "build", "--clusters", clusters, "--seed", 1, "--save", path)
        return path

    old = timed("old", 1, 3)
    slower = kabc("compare", old, timed("slower", 3, 3))
    assert slower.code == 5
    assert slower.out.splitlines()[0].startswith("no arm changed group")
    assert re.search(r"^all 3 groups moved: ms median (2.9|3.0)\d* times \(", slower.out, re.MULTILINE)
    other = kabc("compare", old, timed("two", 1, 2))
    assert other.code != 5
    assert other.out.startswith("the answers assume different numbers of groups, 3 and 2: changes are a guess\n")
    refused = kabc("compare", old, timed("cpu", 1, 3, "cpu"))
    assert refused.code == 2
    assert "different columns: 'ms' before, 'cpu seconds' now" in refused.err


def test_show_and_compare_know_tolerances(kabc: Call, tmp_path: Path) -> None:
    def timed(name: str, odd: float, tolerance: str = "3%") -> tuple[Path, str]:
        rng = np.random.default_rng(0)
        means = {"a": 1.0, "b": 1.0, "c": 1.2, "d": odd}
        rows = [f"{arm},{m * (1 + 0.04 * rng.standard_normal())}" for _ in range(600) for arm, m in means.items()]
        (tmp_path / "t.csv").write_text("\n".join(["build,ms", *rows]))
        path = tmp_path / f"{name}.json"
        words = ("--arm", "build", "--tolerance", tolerance, "--seed", 1, "--save", path, "--quiet")
        return path, kabc("run", tmp_path / "t.csv", *words).out

    (old, printed), (new, _), (other, _) = timed("old", 1.0), timed("new", 1.2), timed("other", 1.0, "5%")
    shown = kabc("show", old)
    assert shown.code == 0 and printed == f"{shown.out}saved: {old}\n"
    assert shown.out.startswith("2 groups, each arm within 3 % of its group, groups differ;")
    report = tmp_path / "report.html"
    assert kabc("show", old, "--report", report).code == 0
    assert "<h2>Within a tolerance of 3 %</h2>" in report.read_text(encoding="utf-8")

    changed = kabc("compare", old, new)
    assert changed.code in (3, 5)  # certified or not, as the margins say
    assert "2 pairs were the same within 3 % before, and are different now" in changed.out
    assert kabc("compare", old, new, "--json").json()["verdicts"][0]["now"] == "different"
    assert kabc("compare", old, old).code == 0
    unlike = kabc("compare", old, other)
    assert unlike.out.startswith("the answers have different tolerances, 3 % and 5 %: changes are a guess\n")


def test_demo_hands_its_options_on(kabc: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    heard: list[list[str]] = []
    monkeypatch.setattr("kabc.demo.main", heard.append)
    assert kabc("demo", "--seed", 3, "--out", tmp_path, "--json").code == 0
    assert heard == [["--out", str(tmp_path), "--seed", "3", "--json"]]
    assert kabc("demo", "--out", tmp_path / "nowhere" / "x.png").code == 2
