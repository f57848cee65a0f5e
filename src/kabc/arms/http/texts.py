"""How the text of an answer becomes numbers: a category, counts of n-grams, or a vector that a function makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np

from kabc.arms.failures import DrawError
from kabc.arms.values import Encoder, TextForm
from kabc.arms.words import cut
from kabc.core.errors import SettingsError
from kabc.core.samples import describe
from kabc.core.words import counted

Embed = Callable[[str], Any]

COLUMN = "answer"
_PROBE = "a"  # what embed= is tried with before anything is paid for


class Texts(Protocol):
    """Makes the text of an answer the numbers of a sample."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers."""

    @property
    def levels(self) -> dict[str, dict[float, str]]:
        """Which category a number stands for."""

    def describe(self) -> str:
        """In words, for people."""

    def row(self, text: str) -> list[float]:
        """The numbers of one text."""


class Encoded:
    """A category or n-grams: a fixed function of the text."""

    def __init__(self, kind: Literal["category", "text"], form: TextForm = "features") -> None:
        self._encoder = Encoder(columns=(COLUMN,), types={COLUMN: kind}, text=form)
        self.names, self.levels = self._encoder.names, self._encoder.levels

    def describe(self) -> str:
        return self._encoder.describe()

    def row(self, text: str) -> list[float]:
        row: list[float] = self._encoder({COLUMN: [text]})[0].tolist()
        return row


class EmbedError(ValueError):
    """What is wrong with what embed= gave for a text."""


class Embedded:
    """A function of the user, from a text to a vector. All vectors have the length of the first."""

    def __init__(self, embed: Embed) -> None:
        if not callable(embed):
            raise SettingsError(f"embed must be a function text -> vector, got {embed!r}")
        self._embed, self._width = embed, 0
        self.levels: dict[str, dict[float, str]] = {}
        try:
            self._width = len(self.row(_PROBE))
        except EmbedError as error:
            raise SettingsError(f"embed= was tried with {_PROBE!r} and {error}") from error.__cause__
        self.names = tuple(f"{COLUMN}[{place}]" for place in range(self._width))

    def describe(self) -> str:
        name = getattr(self._embed, "__name__", type(self._embed).__name__)
        return f"{COLUMN}: text, {counted(self._width, 'number')} of embed={name}"

    def row(self, text: str) -> list[float]:
        try:
            given = self._embed(text)
            vector = np.asarray(given, dtype=np.float64)
        except Exception as error:
            raise EmbedError(f"failed: {type(error).__name__}: {error}") from error
        if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
            raise EmbedError(f"gave {describe(given)}; it must give a list of finite numbers")
        if self._width and len(vector) != self._width:
            raise EmbedError(f"gave {counted(len(vector), 'number')} where it gave {self._width} before")
        row: list[float] = vector.tolist()
        return row


def as_text(part: Any, kind: str) -> str:
    """The text of an answer. A category may be a number or a truth value as well."""
    if isinstance(part, str):
        return part
    if kind == "category" and isinstance(part, bool):
        return str(part).lower()  # as JSON writes it
    if kind == "category" and isinstance(part, int | float):
        return f"{part:.17g}"  # 1 and 1.0 are one number in JSON
    what = "a text or a number" if kind == "category" else "text"
    raise DrawError(f"expected {what}, got {cut(part)}; set value= to the path of the text", "not a text")
