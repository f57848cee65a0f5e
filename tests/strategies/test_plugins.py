"""Strategies of installed packages, in a process of their own with a package that is really installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kabc import SettingsError
from kabc.strategies.plugins import entry_of_file, load_module

ENERGY = """
import kabc

class Energy(kabc.AnytimeKABC):
    pass

ENTRY = kabc.StrategyEntry(name="energy", make=Energy, title="Energy distance", paper="a paper")

def by_kernel(n_arms, n_clusters, delta, kernel):
    return kabc.KABC(n_arms, n_clusters, delta, kernel)
"""


def install(folder: Path, package: str, points: str, code: str = ENERGY) -> None:
    """What pip leaves behind: a module, and a folder with its metadata."""
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[kabc.strategies]\n{points}\n")


def python(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_an_installed_strategy_is_found_by_name_and_in_the_list(tmp_path: Path) -> None:
    install(tmp_path, "kabc-energy", "energy = kabc_energy:ENTRY\nwith-kernel = kabc_energy:by_kernel")
    done = python(
        tmp_path,
        "import kabc, sys\n"
        "from kabc.strategies import needs_kernel, strategies\n"
        "needs_kernel('anytime'); print('kabc_energy' in sys.modules)\n"
        "arms = {'red': [0.1, 0.2] * 60, 'blue': [0.8, 0.9] * 60}\n"
        "print(kabc.cluster(arms, 2, strategy='energy', seed=0, watch=False, progress=False).certified)\n"
        "print([(e.name, e.title, e.needs_kernel, e.guarantee) for e in list(strategies().values())[-2:]])\n",
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "False",
        "True",
        "[('energy', 'Energy distance', False, 'heuristic'), ('with-kernel', 'with-kernel', True, 'heuristic')]",
    ]


def test_a_broken_one_is_one_warning_that_names_it(tmp_path: Path) -> None:
    install(tmp_path, "broken", "bad = broken:Bad", "import there_is_no_such_module")
    install(tmp_path, "fine", "energy = fine:Energy")
    done = python(
        tmp_path,
        "from kabc.strategies import strategies\n"
        "for _ in range(2): print('energy' in strategies(), 'bad' in strategies())\n",
    )
    assert done.stdout.split() == ["True", "False"] * 2
    assert done.stderr.count("UserWarning") == 1
    assert "the strategy 'bad' of broken could not be loaded and is left out: ModuleNotFoundError" in done.stderr


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ({"thief": "anytime = thief:Energy"}, "'anytime' belongs to a strategy of kabc"),
        (
            {"one": "energy = one:Energy", "two": "energy = two:Energy"},
            "two installed packages have a strategy 'energy'",
        ),
    ],
)
def test_a_name_that_is_taken_is_an_error_with_a_cure(points: dict[str, str], message: str, tmp_path: Path) -> None:
    for package, text in points.items():
        install(tmp_path, package, text)
    done = python(tmp_path, "from kabc.cli import main; print(main(['strategies']))")
    assert done.stdout.split() == ["2"]
    assert message in done.stderr
    assert "uninstall" in done.stderr
    assert python(tmp_path, "import kabc.strategies as s; print(s.needs_kernel('anytime'))").stdout == "False\n"


# ---------------------------------------------------------------- files


def test_a_file_is_loaded_once_and_again_when_it_changed(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(ENERGY)
    first = entry_of_file(str(file), "Energy")
    assert (first.name, first.needs_kernel, first.guarantee) == ("Energy", False, "heuristic")
    assert entry_of_file(str(file), "Energy").make is first.make
    assert entry_of_file(str(file), "ENTRY").title == "Energy distance"
    assert entry_of_file(str(file), "by_kernel").needs_kernel
    file.write_text(ENERGY + "\n")
    assert entry_of_file(str(file), "Energy").make is not first.make


def test_mistakes_in_a_file_are_said(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    with pytest.raises(SettingsError, match="there is no file"):
        entry_of_file(str(file), "Energy")
    file.write_text(ENERGY + "\nnumber = 3\n")
    with pytest.raises(SettingsError, match=r"has no 'Enrgy'; it has Energy, by_kernel"):
        entry_of_file(str(file), "Enrgy")
    with pytest.raises(SettingsError, match=r"number of .*mine.py must be a kabc.StrategyEntry, a class or a function"):
        entry_of_file(str(file), "number")
    file.write_text("1 / 0")
    with pytest.raises(SettingsError, match="could not be loaded: ZeroDivisionError"):
        load_module(file, "a strategy")
