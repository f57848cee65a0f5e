"""Tests of this folder are users: they see public names, the shell and HTTP. So they hold, however kabc is built."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import kabc

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.py"))
HELPERS = {"tests.processes", "tests.postgres", "tests.literal", "tests.blackbox"}
STAY = {  # of the names in `kabc`; kernels and strategies have modules of their own
    *("cluster", "check", "outliers", "plan", "compare", "create_study", "load_study", "load", "Result", "Study"),
    *("KabcError", "ArmError", "SettingsError", "SampleError", "__version__", "kernels", "strategies", "report"),
}
PUBLIC_STRATEGIES = {"Cluster", "KABC", "AnytimeKABC", "Strategy", "StrategyEntry", "register"}


def names_of(file: Path) -> set[str]:
    """Modules and names of kabc that a file reaches, dotted."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute):
            found |= set(re.findall(r"^kabc(?:\.\w+)+", ast.unparse(node)))
    return {name for name in found if re.match(r"(kabc|tests)\b", name)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_only_public_names_are_used(file: Path) -> None:
    for name in names_of(file):
        words = name.split(".")
        if words[0] == "tests":
            assert any(name == one or name.startswith(f"{one}.") for one in HELPERS), f"{file.name}: {name}"
        elif len(words) > 1:
            assert words[1] in STAY, f"{file.name}: {name} has or will have another name"
            if words[:2] == ["kabc", "strategies"] and len(words) > 2:
                assert words[2] in PUBLIC_STRATEGIES, f"{file.name}: {name} is private"


def test_names_have_the_homes_that_they_will_keep() -> None:
    for name in ("Gaussian", "Laplace", "Linear", "Function", "RandomFeatures", "Sum", "Product", "Kernel"):
        assert getattr(importlib.import_module("kabc.kernels"), name) is getattr(kabc, name)
    for name in ("Cluster", "KABC", "AnytimeKABC"):
        assert getattr(kabc.strategies, name) is getattr(kabc, name)
    assert callable(kabc.strategies.register)
    arms = {"a": [0.1, 0.2] * 60, "b": [0.8, 0.9] * 60}
    assert kabc.cluster(arms, 2, seed=0).labels == (0, 1)


def test_an_answer_is_loaded(tmp_path: Path) -> None:
    result = kabc.cluster({"a": [0.1, 0.2] * 60, "b": [0.8, 0.9] * 60}, 2, seed=0)
    result.save(tmp_path / "answer.json")
    assert kabc.load(tmp_path / "answer.json") == result
