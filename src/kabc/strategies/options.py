"""Options of a strategy are checked against the signature of its maker, before it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from inspect import Parameter, Signature
from typing import Any

from kabc.core.errors import SettingsError
from kabc.core.words import did_you_mean

_GIVEN = 3  # n_arms, n_clusters, delta come first, by position


def signature_of(make: Callable[..., object]) -> Signature | None:
    """What a class, function, classmethod or partial takes; None where Python cannot tell."""
    return _signature(make) if isinstance(make, Hashable) else _signature.__wrapped__(make)


@lru_cache(maxsize=64)  # reading it takes longer than checking the options of a run
def _signature(make: Callable[..., object]) -> Signature | None:
    try:
        return inspect.signature(make)
    except (TypeError, ValueError):
        return None


def checked_options(
    name: str, make: Callable[..., object], options: Mapping[str, Any], *, needs_kernel: bool, complete: bool = True
) -> dict[str, Any]:
    """The options, if the maker takes them; and gets all that it needs, unless more of them will come."""
    signature = signature_of(make)
    if signature is None:
        return dict(options)
    for option in options:
        _expect_known(name, option, list(signature.parameters.values()), needs_kernel)
    kernel = {"kernel": None} if needs_kernel else {}
    try:
        (signature.bind if complete else signature.bind_partial)(None, None, None, **options, **kernel)
    except TypeError as error:
        known, _ = _named(list(signature.parameters.values()), needs_kernel)
        raise SettingsError(
            f"strategy {name!r} cannot be made with the options {dict(options)!r}: {error}; {_listed(known)}"
        ) from None
    return dict(options)


def _named(parameters: list[Parameter], needs_kernel: bool) -> tuple[list[str], list[str]]:
    """The names of its options, and of what is given in another way."""
    by_name = [one for one in parameters if one.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
    first = [one.name for one in by_name if one.kind is Parameter.POSITIONAL_OR_KEYWORD][:_GIVEN]
    elsewhere = [*first, *(["kernel"] if needs_kernel else [])]
    return [one.name for one in by_name if one.name not in elsewhere], elsewhere


def _listed(known: list[str]) -> str:
    """The options there are; in quotes, so that the shell leaves them as they are."""
    return f"it has {', '.join(map(repr, known))}" if known else "it has none"


def _expect_known(name: str, option: str, parameters: list[Parameter], needs_kernel: bool) -> None:
    known, elsewhere = _named(parameters, needs_kernel)
    if option in elsewhere:
        raise SettingsError(f"{option!r} is not an option of strategy {name!r}; pass it as the argument {option}=")
    if option in known or any(one.kind is Parameter.VAR_KEYWORD for one in parameters):
        return
    raise SettingsError(f"strategy {name!r} has no option {option!r}; {did_you_mean(option, known)}{_listed(known)}")
