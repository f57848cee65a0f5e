"""Words that every room uses: numbers with their nouns, chances in per cent."""

from __future__ import annotations

_IRREGULAR = {"category": "categories", "entry": "entries", "has": "have", "is": "are", "try": "tries"}


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 sample", "2,000 samples"."""
    return f"{number:,} {plural(number, noun)}"


def plural(number: int, word: str) -> str:
    """The word as it stands after or before this number: "sample" or "samples", "is" or "are"."""
    return word if number == 1 else _IRREGULAR.get(word, f"{word}s")


def percent(probability: float) -> str:
    """A probability in per cent: "5 %"."""
    return f"{100 * probability:.6g} %"
