"""What is true of every answer, whatever it was made of."""

from __future__ import annotations

import json
from typing import get_args
from unicodedata import category

import numpy as np

from kabc import KabcError, Result
from kabc.report import report_html
from kabc.results.files import loaded
from kabc.strategies.answers import Status

PROVEN = ("anytime", "kabc", "kabc-tight")


def expect_whole(result: Result, *, most: int | None = None, strategy: str = "", report: bool = False) -> None:
    """Labels, counts and pairs fit together; texts are clean; the saved form comes back equal."""
    _labels(result)
    assert result.n_samples == sum(result.samples_per_arm.values()) >= 0
    assert set(result.samples_per_arm) == set(result.names)
    assert most is None or result.n_samples <= most
    assert 1 <= result.n_groups_at_least <= len(result.names)
    told = result.evidence.told_apart
    assert told.shape == (len(result.names),) * 2
    assert (told == told.T).all() and not told.diagonal().any()
    if result.certified and strategy in PROVEN:
        labels = np.asarray(result.labels)
        assert not (told & (labels[:, None] == labels) & (labels >= 0)).any()
    _texts(result)
    again = loaded(json.loads(json.dumps(result.to_dict(full=True), allow_nan=False)), "it")
    assert again.labels == result.labels and again.status == result.status
    if all(type(name) in (str, int) for name in result.names):
        assert again == result
    if report:
        assert "<html" in report_html(result)


def expect_plain(error: KabcError) -> None:
    """The message can be read, and what was found before the error is whole."""
    assert str(error).isprintable(), repr(str(error))
    if error.result is not None:
        expect_whole(error.result)


def _labels(result: Result) -> None:
    assert result.status in get_args(Status)
    assert len(result.labels) == len(result.names)
    order = [label for label in dict.fromkeys(result.labels) if label >= 0]
    assert order == list(range(len(order)))
    aside = {name for name, label in zip(result.names, result.labels, strict=True) if label < 0}
    assert aside == set(result.set_aside)
    assert [name for group in result.groups for name in group] == [
        name
        for label in range(len(order))
        for name, its in zip(result.names, result.labels, strict=True)
        if its == label
    ]


def _texts(result: Result) -> None:
    for text in (str(result), result.certificate(), str(result.effects)):
        assert not {letter for letter in text if category(letter) in ("Cc", "Cs")} - {"\n"}
