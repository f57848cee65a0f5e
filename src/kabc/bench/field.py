"""Which strategies a contest runs, and what identifies their code.

A strategy is named in one of three ways: by its name in the list of `kabc strategies`; with options, as in
``boc-uniform[threshold=heuristic]``; or by a Python file, as in ``mine.py:Energy``.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import kabc
from kabc.bench.instances import Instance
from kabc.core.errors import SettingsError
from kabc.strategies.entry import RECONSTRUCTION, InstanceFacts, Options, StrategyEntry, UnfitError
from kabc.strategies.options import checked_options
from kabc.strategies.plugins import entry_of_file
from kabc.strategies.registry import entry_of, strategies

_WITH_OPTIONS = re.compile(r"(?P<base>[^\[\]]+)\[(?P<options>[^\[\]]+)\]")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_THIS_PROCESS = uuid.uuid4().hex  # code without a file is never confused with code of another process


# ---------------------------------------------------------------- names


def resolve(spec: str) -> StrategyEntry:
    """The strategy that the text names."""
    matched = _WITH_OPTIONS.fullmatch(spec)
    if matched:
        return _with_options(resolve(matched["base"]), matched["options"])
    file, colon, attribute = spec.rpartition(":")
    if colon and file.endswith(".py"):
        return _from_file(file, attribute)
    if spec.endswith(".py"):
        raise SettingsError(f"{spec} is a file; name the strategy in it as well, e.g. {spec}:Energy")
    return entry_of(spec)


def resolved(specs: Iterable[str]) -> dict[str, tuple[str, StrategyEntry]]:
    """Name in tables -> the text that the user wrote, and the entry. Without texts: all strategies."""
    found: dict[str, tuple[str, StrategyEntry]] = {}
    for spec in specs or strategies():
        entry = resolve(spec)
        name = _spelled(spec, entry)
        if name in found and found[name][0] != spec:
            raise SettingsError(
                f"{spec} and {found[name][0]} are both called {name!r}; give one of them another name with "
                "kabc.StrategyEntry(name=...)"
            )
        found[name] = spec, entry
    return found


def _spelled(spec: str, entry: StrategyEntry) -> str:
    """The name, followed by the options that the user wrote."""
    matched = _WITH_OPTIONS.fullmatch(spec)
    return f"{entry.name}[{matched['options']}]" if matched else entry.name


def _from_file(file: str, attribute: str) -> StrategyEntry:
    entry = entry_of_file(file, attribute)
    known = strategies().get(entry.name)
    if known is not None and known != entry:
        raise SettingsError(
            f"{file}:{attribute} has the name {entry.name!r}, which another strategy has; give it another name, "
            "or wrap it: kabc.StrategyEntry(name=..., make=...)"
        )
    return entry


def _with_options(entry: StrategyEntry, text: str) -> StrategyEntry:
    options: dict[str, Any] = {}
    for part in text.split(";"):
        name, equals, value = part.partition("=")
        if not equals:
            raise SettingsError(
                f"options of {entry.name!r} are written as {entry.name}[option=value;option=value], got {text!r}"
            )
        options[name.strip()] = _value(value.strip())
    if entry.bench.one_round and "samples_per_arm" in options:
        raise SettingsError(f"the bench itself searches for samples_per_arm of {entry.name!r}; leave this option out")
    # the bench supplies the missing ones
    checked_options(entry.name, entry.make, options, needs_kernel=entry.needs_kernel, complete=False)
    setup = replace(entry.bench, options=partial(_others, entry.bench.options, frozenset(options)))
    title = f"{entry.title.removesuffix(RECONSTRUCTION)}[{text}]"
    return replace(entry, make=partial(entry.make, **options), title=title, bench=setup)


def _others(usual: Callable[..., Options], taken: frozenset[str], instance: InstanceFacts, seed: int) -> Options:
    """Options that the user wrote replace those of the bench."""
    return {name: value for name, value in usual(instance, seed).items() if name not in taken}


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


# ---------------------------------------------------------------- code


def code_of(entry: StrategyEntry, instance: Instance) -> str:
    """A fingerprint of the code of kabc, of the strategy's code, and of its settings on the instance."""
    digest = hashlib.sha256(_own_code().encode())
    for part in (entry.make, entry.bench.options):
        for source in _sources(part):
            digest.update(source)
    digest.update(_plain([_keywords(entry.make), _settings(entry, instance), _bench(entry)]))
    return digest.hexdigest()[:12]


@cache
def _own_code() -> str:
    """A fingerprint of the packages of kabc that decide what a strategy does."""
    digest = hashlib.sha256(kabc.__version__.encode())
    root = Path(kabc.__file__).parent
    for room in ("core", "strategies"):
        for path in sorted((root / room).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def _sources(part: object) -> Iterator[bytes]:
    """The files of a maker from outside kabc: its modules, and those of its base classes."""
    if isinstance(part, partial):
        for inner in (part.func, *filter(callable, part.args)):
            yield from _sources(inner)
        return
    owner = getattr(part, "__self__", part)  # a classmethod belongs to its class
    owner = owner if isinstance(owner, type) or inspect.isroutine(owner) else type(owner)
    for one in owner.__mro__ if isinstance(owner, type) else (owner,):
        home = str(getattr(one, "__module__", ""))
        name = str(getattr(one, "__qualname__", ""))
        if home.partition(".")[0] in ("kabc", "abc", "typing") or getattr(builtins, name, None) is one:
            continue
        yield name.encode()
        yield _module_code(home) or f"{_THIS_PROCESS} {id(one)}".encode()


def _module_code(home: str) -> bytes:
    """The file of a module, or all files of the folder for a package. Empty for code typed into an interpreter."""
    module = sys.modules.get(home)
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        return b""
    path = Path(file)
    together = sorted(path.parent.glob("*.py")) if getattr(module, "__package__", "") else [path]
    return b"".join(one.read_bytes() for one in together)


def _keywords(make: object) -> dict[str, Any]:
    return dict(make.keywords) | _keywords(make.func) if isinstance(make, partial) else {}


def _settings(entry: StrategyEntry, instance: Instance) -> object:
    if entry.bench.by_means and instance.sigma is None:
        return None
    try:
        return entry.bench.options(instance.standardised() if entry.bench.by_means else instance, 0)
    except UnfitError:
        return None


def _bench(entry: StrategyEntry) -> object:
    setup = entry.bench
    return entry.needs_kernel, setup.by_means, setup.one_round, setup.own_kernel, setup.most_arms


def _plain(value: object) -> bytes:
    return _ADDRESS.sub("", repr(value)).encode()
