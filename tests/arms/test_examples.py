"""Docstrings: the examples run, and every function that makes arms names all its parameters."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from kabc import arms
from kabc.arms.commands import command_arms
from kabc.arms.http import http_arms
from kabc.arms.sql import sql_arms
from kabc.arms.tables import table_arms
from kabc.arms.timings import timing_arms

MODULES = [module.name for module in pkgutil.walk_packages(arms.__path__, "kabc.arms.")]


@pytest.mark.parametrize("module", MODULES)
def test_examples_give_what_they_say(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0


@pytest.mark.parametrize("make", [http_arms, command_arms, table_arms, sql_arms, timing_arms])
def test_every_parameter_has_its_line_and_there_is_an_example(make: Callable[..., Any]) -> None:
    text = inspect.getdoc(make) or ""
    start, end = text.index("Parameters\n----------\n"), text.index("Returns\n-------\n")
    assert re.findall(r"^(\w+) : \S", text[start:end], flags=re.M) == list(inspect.signature(make).parameters)
    assert ">>> " in text[text.index("Examples\n--------\n") :]
