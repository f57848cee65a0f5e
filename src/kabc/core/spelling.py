"""Calls with a misspelt argument are refused with the name that was meant."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from kabc.core.errors import ArgumentError
from kabc.core.words import did_you_mean

Given = ParamSpec("Given")
Found = TypeVar("Found")


def spelled(function: Callable[Given, Found], module: str) -> Callable[Given, Found]:
    """The function as a name of `module`: the same signature, and an unknown keyword is refused with a suggestion."""
    known = signature(function).parameters

    @wraps(function)
    def called(*given: Given.args, **named: Given.kwargs) -> Found:
        for word in named:
            if word not in known:
                name = function.__name__
                raise ArgumentError(
                    f"{name}() has no argument {word!r}; {did_you_mean(word, known)}see help({module}.{name})"
                )
        return function(*given, **named)

    called.__module__ = module  # where pickle finds it
    return called
