"""What a text says when it is decoded: a server may quote a key in base64, in hex, percent-encoded, or all of these.

A `View` is a decoded text that knows for each of its characters where that stood in the text that was read.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_DEPTH = 3  # codes around each other, such as base64 in percent signs in JSON

Places = list[tuple[int, int]]


class View(NamedTuple):
    """A decoded text, and the first and last + 1 position of each of its characters in the original."""

    text: str
    places: Places

    def part(self, first: int, last: int) -> tuple[int, int]:
        """Where the characters from `first` to `last` - 1 stand in the original."""
        return self.places[first][0], self.places[last - 1][1]


def views(text: str) -> Iterator[View]:
    """The text as it is, and everything that it may be a code of."""
    found = [View(text, [(i, i + 1) for i in range(len(text))])]
    seen: set[str] = set()
    for _ in range(_DEPTH + 1):
        new = {view.text: view for view in found if view.text and view.text not in seen}
        seen.update(new)
        yield from new.values()
        found = [decoded for view in new.values() for decode in _DECODERS for decoded in decode(view)]


# ---------------------------------------------------------------- characters with a code of their own

_ESCAPE = re.compile(
    r"%(?P<percent>[0-9a-f]{2})|\\x(?P<byte>[0-9a-f]{2})|\\u(?P<point>[0-9a-f]{4})|\\(?P<plain>[\\\"'/])"
    r"|=(?P<printed>[0-9A-F]{2})|(?P<entity>&#?\w{1,8};)",
    re.IGNORECASE,
)


def _escapes(view: View) -> Iterator[View]:
    r"""Percent signs, \x41, \u0041, \", quoted-printable, entities of HTML."""
    out, places, done = [], Places(), 0
    for token in _ESCAPE.finditer(view.text):
        code, kind = token[token.lastgroup or 0], token.lastgroup
        letter = code if kind == "plain" else html.unescape(code) if kind == "entity" else chr(int(code, 16))
        out += [view.text[done : token.start()], letter]
        places += view.places[done : token.start()] + [view.part(*token.span())] * len(letter)
        done = token.end()
    if done:
        yield View("".join([*out, view.text[done:]]), places + view.places[done:])


def _squeezed(view: View) -> Iterator[View]:
    """Without white space and zero bytes: broken lines, letters apart, UTF-16. A form has + for a space."""
    kept = [i for i, letter in enumerate(view.text) if not (letter.isspace() or letter in "+\0")]
    if len(kept) < len(view.text):
        yield View("".join(view.text[i] for i in kept), [view.places[i] for i in kept])


# ---------------------------------------------------------------- lists of bytes

_HEX = re.compile(r"[0-9a-f]{2}(?:[\s:,;._-]{0,2}(?:0x|\\x)?[0-9a-f]{2}){3,}", re.IGNORECASE)
_PAIR = re.compile(r"(?!0x)[0-9a-f]{2}", re.IGNORECASE)
_NUMBERS = re.compile(r"\d{2,3}(?:[\s,;]{1,2}\d{2,3}){3,}")
_NUMBER = re.compile(r"\d+")


def _hex(view: View) -> Iterator[View]:
    for shift in (0, 1):  # digits before the key may be of something else
        runs = (_PAIR.finditer(view.text, run.start() + shift, run.end()) for run in _HEX.finditer(view.text))
        pairs = [pair for run in runs for pair in run]
        if pairs:
            yield View("".join(chr(int(pair[0], 16)) for pair in pairs), [view.part(*pair.span()) for pair in pairs])


def _numbers(view: View) -> Iterator[View]:
    """Codes of characters: [115, 107, 45, ...]."""
    runs = [one for run in _NUMBERS.finditer(view.text) for one in _NUMBER.finditer(view.text, *run.span())]
    if runs:
        yield View("".join(chr(int(one[0])) for one in runs), [view.part(*one.span()) for one in runs])


# ---------------------------------------------------------------- base64 and base32

_WORD_64 = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,2}")
_WORD_32 = re.compile(r"[A-Za-z2-7]{8,}={0,6}")


def _base64(view: View) -> Iterator[View]:
    return _words(view, _WORD_64, 4, lambda word: base64.b64decode(word.translate(_STANDARD)))


def _base32(view: View) -> Iterator[View]:
    return _words(view, _WORD_32, 8, lambda word: base64.b32decode(word.upper()))


_STANDARD = str.maketrans("-_", "+/")


def _words(view: View, pattern: re.Pattern[str], group: int, decode: Callable[[str], bytes]) -> Iterator[View]:
    """Words decoded from each place of a group. The place of a byte is its word: all of that is of the key."""
    runs = list(pattern.finditer(view.text))
    for shift in range(group if runs else 0):
        out, places = [], Places()
        for run in runs:
            digits = run[0].rstrip("=")[shift:]
            whole = len(digits) - len(digits) % group
            rest = digits[whole:].ljust(group, "A") if len(digits) > whole else ""
            letters = decode(digits[:whole] + rest).decode("latin-1")
            out.append(letters)
            places += [view.part(*run.span())] * len(letters)
        yield View("".join(out), places)


_DECODERS = (_escapes, _squeezed, _hex, _numbers, _base64, _base32)
