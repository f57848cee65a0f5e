"""Classes that a frozen state may name: those of kabc's own maths, strategies and books of a run, and no others."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

# Loading these modules only defines things, and none of their objects draws, writes or runs anything by itself.
_ROOMS = ("kabc.core.", "kabc.strategies.", "kabc.results.")
_MODULES = ("kabc.arms.values", "kabc.running.record", "kabc.running.strings", "kabc.running.watch")
_BUILT_IN = (BaseException, type, dict, list, set, frozenset, str, bytes, int, float, complex)


def name_of(cls: type[Any]) -> str | None:
    """How a state names the class; None if it may not."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    try:
        return name if class_of(name) is cls else None
    except (ValueError, ImportError, AttributeError):
        return None


def class_of(name: str) -> type[Any]:
    """The class of a name; refused if it is not one of ours."""
    module, _, path = name.partition(":")
    words = [*module.split("."), *path.split(".")]
    allowed = module in _MODULES or module.startswith(_ROOMS)
    if not allowed or any(not word.isidentifier() or word.startswith("__") for word in words):
        raise ValueError(f"{name!r} is not a class that a snapshot may hold")
    found: Any = import_module(module)
    for word in path.split("."):
        found = vars(found).get(word)
    is_ours = isinstance(found, type) and (found.__module__, found.__qualname__) == (module, path)
    if not is_ours or issubclass(found, _BUILT_IN):
        raise ValueError(f"{name!r} is not a class that a snapshot may hold")
    return cast(type[Any], found)


def slots_of(cls: type[Any]) -> list[str]:
    """The attributes of an object of this class that are not in its `__dict__`."""
    named = (getattr(one, "__slots__", ()) for one in cls.__mro__)
    every = [name for some in named for name in ((some,) if isinstance(some, str) else some)]
    return [name for name in every if name not in ("__dict__", "__weakref__")]
