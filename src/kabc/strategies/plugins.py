"""Strategies from outside kabc: of installed packages, and of Python files."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from kabc.core.errors import SettingsError
from kabc.strategies.entry import StrategyEntry
from kabc.strategies.options import signature_of

GROUP = "kabc.strategies"  # in a pyproject.toml: [project.entry-points."kabc.strategies"]


def entry_from(found: object, name: str, where: str) -> StrategyEntry:
    """An entry as it stands; a class or a function gets one with defaults."""
    if isinstance(found, StrategyEntry):
        return found
    if not callable(found):
        raise SettingsError(f"{where} must be a kabc.StrategyEntry, a class or a function, got {found!r}")
    signature = signature_of(found)
    by_kernel = signature is not None and "kernel" in signature.parameters
    return StrategyEntry(name=name, make=found, needs_kernel=by_kernel)


# ---------------------------------------------------------------- installed packages


def installed_entries() -> Iterator[tuple[str, StrategyEntry]]:
    """Package and entry of each strategy of the entry-point group; a broken one is a warning that names it."""
    seen: set[EntryPoint] = set()
    for point in entry_points(group=GROUP):
        if point in seen:  # the same package twice on the path
            continue
        seen.add(point)
        package = point.dist.name if point.dist is not None else point.value
        try:
            yield package, entry_from(point.load(), point.name, f"{point.value} of {package}")
        except Exception as error:  # whatever code of others raises must not stop kabc
            warnings.warn(
                f"the strategy {point.name!r} of {package} could not be loaded and is left out: "
                f"{type(error).__name__}: {error}",
                stacklevel=2,
            )


# ---------------------------------------------------------------- Python files


def load_module(path: str | Path, what: str) -> ModuleType:
    """Run a Python file; `what` says in errors what it is expected to hold."""
    source = Path(path)
    if not source.is_file():
        raise SettingsError(f"there is no file {path}; it should be a Python file with {what}")
    mark = hashlib.sha256(str(source.resolve()).encode() + source.read_bytes()).hexdigest()[:12]
    name = f"kabc_file_{source.stem}_{mark}"
    if name in sys.modules:  # the same file, unchanged
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, source)
    if spec is None or spec.loader is None:
        raise SettingsError(f"{path} is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise SettingsError(f"{path} could not be loaded: {type(error).__name__}: {error}") from error
    return module


def entry_of_file(path: str, attribute: str) -> StrategyEntry:
    """The strategy of that name in a Python file."""
    module = load_module(path, f"a strategy {attribute}")
    if not hasattr(module, attribute):
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        raise SettingsError(f"{path} has no {attribute!r}; it has {', '.join(own) or 'nothing of its own'}")
    return entry_from(getattr(module, attribute), attribute, f"{attribute} of {path}")
