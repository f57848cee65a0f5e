"""What a study asks, as JSON: enough to run it again in another process, and nothing that executes.

The question never changes: which arms, how many groups, how surely, by which strategy and seed. A call that asks
something else is refused. The budget is no part of it.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from kabc.core.errors import SettingsError
from kabc.core.words import describe, shown
from kabc.results.name_forms import Name
from kabc.results.names import distinct, key_of, name_of, packed_name
from kabc.storage.contract import Json
from kabc.storage.errors import StorageError
from kabc.study.policies import OnWorkerLoss

if TYPE_CHECKING:
    from kabc.core.kernels import Kernel

FORMAT = "kabc study"
VERSION = 1

_LONGEST = 160  # characters of a value in an error


@dataclass(frozen=True)
class Reused:
    """Samples of an earlier study that are read first: up to which round, how many anchors, and which arms are gone.

    `id` is that of the earlier study in the store: another study of the same name is not the same.
    """

    study: str
    id: int
    last_round: int
    anchors: int
    gone: tuple[Hashable, ...] = ()


@dataclass(frozen=True)
class Spec:
    """The question of a study. Fields as for `kabc.cluster`; what is None is the default.

    `kabc` is the version that made it: for people, no part of the question.
    """

    names: tuple[Hashable, ...]
    strategy: str
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    n_clusters: int | None = None
    delta: float | None = None
    kernel: Kernel | None = None
    min_separation: float | None = None
    pilot: int | None = None
    check_k: bool | None = None
    tolerance: object = None
    block: int | str | None = None
    types: Mapping[str, str] | None = None
    watch: bool = True
    on_worker_loss: OnWorkerLoss | None = None
    reuse: Reused | None = None
    kabc: str = field(default="", compare=False)

    # ------------------------------------------------------------ JSON

    def to_json(self) -> dict[str, Any]:
        """The form that a store keeps. What has none is refused, with what to do instead."""
        return {"format": FORMAT, "version": VERSION, "kabc": self.kabc, "question": self.question()}

    def question(self) -> dict[str, Any]:
        """What is asked, as JSON."""
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _OWN_FORM}
        return plain | {
            "names": [_name_document(name) for name in self.names],
            "options": {name: _plain(f"option {name!r}", value) for name, value in self.options.items()},
            "kernel": None if self.kernel is None else _kernel_document(self.kernel),
            "tolerance": _tolerance_document(self.tolerance),
            "types": None if self.types is None else dict(self.types),
            "reuse": None if self.reuse is None else _reuse_document(self.reuse),
        }

    @property
    def fingerprint(self) -> str:
        """Differs where the question does."""
        text = json.dumps(self.question(), sort_keys=True, ensure_ascii=True)
        return blake2b(text.encode(), digest_size=8).hexdigest()

    @classmethod
    def of_json(cls, document: Json, study: str) -> Spec:
        """The spec in a store, which may hold anything; `study` is named in errors."""
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise StorageError(f"study {study!r} has no spec that kabc has written; it cannot be run")
        version = document.get("version")
        if type(version) is not int or version != VERSION:
            raise StorageError(
                f"study {study!r} has version {describe(version)} of the spec, this kabc reads {VERSION}; update kabc"
            )
        try:
            read = _Document.model_validate(document["question"])
            names = [name_of(one, key_of(one)) for one in map(_NAME.validate_python, read.names)]
            values = {name: getattr(read, name) for name in _Document.model_fields}
            return cls(
                **values
                | {
                    "names": distinct(names),
                    "kernel": None if read.kernel is None else _kernel_of(read.kernel),
                    "tolerance": _tolerance_of(read.tolerance),
                    "reuse": None if read.reuse is None else _reuse_of(read.reuse),
                    "kabc": str(document.get("kabc", ""))[:_LONGEST],
                }
            )
        except (ValidationError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise StorageError(f"the spec of study {study!r} is damaged: {_first_line(error)}") from error

    # ------------------------------------------------------------ one question

    def expect_same(self, asked: Spec, study: str) -> None:
        """Refuse a call that asks something else than this study."""
        mine, other = self.question(), asked.question()
        if mine == other:
            return
        if mine["names"] != other["names"]:
            raise SettingsError(_other_names(study, self.names, asked.names))
        name = next(name for name in mine if mine[name] != other[name])
        has, wants = getattr(self, name), getattr(asked, name)
        raise SettingsError(
            f"study {study!r} asks for {_said(name, has)}, this call for {_said(name, wants)}; use another study "
            f"name, or pass {_said(name, has)}"
        )


_OWN_FORM = ("names", "options", "kernel", "tolerance", "types", "reuse", "kabc")
_NAME: TypeAdapter[Any] = TypeAdapter(Name)


class _ReuseDocument(BaseModel):
    """What is read of an earlier study, as it is written."""

    model_config = ConfigDict(strict=True, extra="forbid")

    study: str
    id: int
    last_round: int
    anchors: int
    gone: list[Any]


class _Document(BaseModel):
    """The question as it is written. Values have the type that is written here."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False, extra="forbid")

    names: list[Any]
    strategy: str
    seed: int
    options: dict[str, Any]
    n_clusters: int | None
    delta: float | None
    kernel: dict[str, Any] | None
    min_separation: float | None
    pilot: int | None
    check_k: bool | None
    tolerance: dict[str, Any] | None
    block: int | str | None
    types: dict[str, str] | None
    watch: bool
    on_worker_loss: OnWorkerLoss | None
    reuse: _ReuseDocument | None = None


def _name_document(name: Hashable) -> Any:
    document = packed_name(name)
    if isinstance(document, dict) and "text" in document:
        raise SettingsError(
            f"arm name {shown(repr(name))} of type {type(name).__name__} cannot be stored in a study; use a text"
        )
    return document


def _kernel_document(kernel: Kernel) -> dict[str, Any]:
    from kabc.study.kernels import kernel_document  # a look at a study without a kernel needs no numpy

    return kernel_document(kernel)


def _kernel_of(document: dict[str, Any]) -> Kernel:
    from kabc.study.kernels import kernel_of

    return kernel_of(document)


def _reuse_document(reuse: Reused) -> dict[str, Any]:
    return asdict(reuse) | {"gone": [_name_document(name) for name in reuse.gone]}


def _reuse_of(read: _ReuseDocument) -> Reused:
    gone = [name_of(one, key_of(one)) for one in map(_NAME.validate_python, read.gone)]
    return Reused(read.study, read.id, read.last_round, read.anchors, tuple(gone))


def _plain(what: str, value: Any) -> Any:
    """A value that JSON can hold as it is."""
    try:
        same = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        same = None
    if same is None or same != value:
        if value is None:
            return None
        raise SettingsError(
            f"{what} is {describe(value)}, which cannot be stored in a study; use numbers, texts, lists, True or "
            "False, or run without storage="
        )
    return same


def _tolerance_document(tolerance: object) -> dict[str, Any] | None:
    if tolerance is None:
        return None
    write = getattr(tolerance, "to_dict", None)
    if callable(write):
        document: dict[str, Any] = write()
        if document.get("kind") != "function":
            return document
    elif not callable(tolerance):
        return {"kind": "said", "value": _plain("tolerance", tolerance)}
    raise SettingsError(
        "a tolerance that is a function cannot be stored in a study; say it in words, such as '2%', or run without "
        "storage="
    )


def _tolerance_of(document: dict[str, Any] | None) -> object:
    if document is None:
        return None
    value = document["value"]
    if document["kind"] == "kernel":
        from kabc.core.tolerances import KernelDistance

        return KernelDistance(value)
    if not isinstance(value, str | int | float | dict) or isinstance(value, bool):
        raise TypeError(f"tolerance: {describe(value)} is none")
    return value


def _other_names(study: str, mine: tuple[Hashable, ...], other: tuple[Hashable, ...]) -> str:
    for name in other:
        if name not in mine:
            return f"study {study!r} has no arm {name!r}; use another study name, or leave this arm out"
    for name in mine:
        if name not in other:
            return f"study {study!r} has an arm {name!r}, which this call lacks; pass it too, or use another study name"
    return f"study {study!r} has its arms in another order; pass them in the same order"


def _said(name: str, value: object) -> str:
    text = shown(repr(value))
    return f"{name}={text if len(text) <= _LONGEST else text[:_LONGEST] + '...'}"


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return shown(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")[:_LONGEST]
    return shown(f"{type(error).__name__}: {error}")[:_LONGEST]
