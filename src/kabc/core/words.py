"""Words that every room uses: numbers with their nouns, chances in per cent, texts from outside."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import category

_IRREGULAR = {"category": "categories", "entry": "entries", "has": "have", "is": "are", "try": "tries"}
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, format (also of direction), half of a pair, line and paragraph
_WHOLE_LIST = 20  # names that are all shown
_OF_LONG_LIST = 5  # names that are shown of more
_LONGEST_WORD = 100  # characters that are compared with known words
_COMPUTED = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet takes what begins so for a formula
_JOINERS = "\u200c\u200d"  # parts of words and of emoji: they change no line and no direction


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 sample", "2,000 samples"."""
    return f"{number:,} {plural(number, noun)}"


def plural(number: int, word: str) -> str:
    """The word as it stands after or before this number: "sample" or "samples", "is" or "are"."""
    return word if number == 1 else _IRREGULAR.get(word, f"{word}s")


def two_digits(count: int) -> int:
    """A number rounded to two digits, because an estimate should not look exact."""
    return count if count < 10 else int(round(count, 1 - math.floor(math.log10(count))))


def few(texts: Sequence[str], most: int = 6, between: str = ", ") -> str:
    """The first texts, and how many more there are: "a, b and 229 more"."""
    more = len(texts) - most
    return between.join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def in_short(names: Iterable[str], *, everyone: bool = False) -> str:
    """Names with commas between them; of a long list the first ones, and how many more there are."""
    known = list(names)
    if everyone or len(known) <= _WHOLE_LIST:
        return ", ".join(known)
    return few(known, _OF_LONG_LIST)


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """A suggestion for a misspelt word, or nothing. The text of a number is a misspelt number."""
    meant = {str(one): one for one in known}
    near = difflib.get_close_matches(str(word)[:_LONGEST_WORD], meant, n=1, cutoff=0.6)
    return f"did you mean {meant[near[0]]!r}? " if near else ""


def percent(probability: float) -> str:
    """A probability in per cent: "5 %"."""
    return f"{100 * probability:.6g} %"


def shown(text: object) -> str:
    """A text from outside as people see it: on one line, with `\\n`, `\\x1b` or `\\u202e` for what would not be seen.

    A name cannot add lines to a certificate, move the cursor or turn the direction of writing around. Every text that
    is made of outside data goes through here before it is printed. JSON has the true texts.
    """
    line = str(text)
    return line if line.isprintable() else "".join(map(_visible, line))


def _visible(letter: str) -> str:
    unseen = category(letter) in _UNSEEN and letter not in _JOINERS
    return letter.encode("unicode_escape").decode() if unseen else letter


def named(name: object) -> str:
    """A name as people see it; one that is empty or blank stands in quotes."""
    return shown(name) if str(name).strip() else shown(repr(name))


def describe(value: object) -> str:
    """A value as a short text for error messages, on one line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a number of 5,000 digits, or an object whose own code fails
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def no_formula(cell: Any) -> Any:
    """A cell of a CSV file. A text that a spreadsheet would compute gets an apostrophe; a number is no such text."""
    if not isinstance(cell, str) or not cell.startswith(_COMPUTED):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
