"""Every public name has a docstring with an example, and every example in the package gives what it shows."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import kabc

PARSER = doctest.DocTestParser()


def modules() -> list[str]:
    found = pkgutil.walk_packages(kabc.__path__, "kabc.")
    return sorted(one.name for one in found if not one.ispkg or one.name.count(".") < 3)


def public() -> list[str]:
    """Names that people use; errors explain themselves by their messages."""
    names = [*kabc.__all__, "KernelClusterer"]
    return [name for name in names if name != "__version__" and not name.endswith("Error")]


@pytest.mark.parametrize("name", public())
def test_a_public_name_has_an_example(name: str) -> None:
    text = inspect.getdoc(getattr(kabc, name)) or ""
    assert "Examples\n--------" in text, f"kabc.{name} has no section Examples"
    assert PARSER.get_examples(text)


@pytest.mark.parametrize("name", modules())
def test_the_examples_of_a_module_give_what_they_show(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not any(">>> " in (source or "") for source in (inspect.getsource(importlib.import_module(name)),)):
        return  # nothing to run
    monkeypatch.chdir(tmp_path)  # examples may write files
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0
