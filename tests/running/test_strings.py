"""Arms that return texts: the default strategy compares them, in as many samples as codes of numbers would take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kabc
from kabc import ArmError, SampleError, SettingsError

WORDS = np.array(["approve", "reject", "escalate", "retry later"])
ONE, OTHER = [0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1]
Draw = Callable[[int, np.random.Generator], Any]


def chosen(p: list[float]) -> Draw:
    return lambda n, rng: rng.choice(len(p), n, p=p)


def said(p: list[float]) -> Draw:
    return lambda n, rng: WORDS[rng.choice(len(p), n, p=p)]


def arms(make: Callable[[list[float]], Any]) -> dict[str, Any]:
    return {"a": make(ONE), "b": make(OTHER), "c": make(ONE), "d": make(OTHER)}


def found(given: Any, seed: int = 0, **options: Any) -> kabc.Result:
    return kabc.cluster(given, 2, seed=seed, progress=False, **options)


def test_texts_take_about_as_many_samples_as_codes() -> None:
    texts = [found(arms(said), seed, max_samples=3000) for seed in range(3)]
    codes = [found(arms(chosen), seed, max_samples=3000) for seed in range(3)]
    assert {result.groups for result in texts} == {(("a", "c"), ("b", "d"))}
    assert {result.status for result in texts} == {"decided"}
    ratio = sum(result.n_samples for result in texts) / sum(result.n_samples for result in codes)
    assert 1 / 2 < ratio < 2
    assert texts[0].certificate().count("Anytime KABC")


def test_the_answer_speaks_of_categories_by_their_names() -> None:
    result = found(arms(said))
    assert result.columns == ("value",)
    assert set(result.levels["value"].values()) <= set(WORDS.tolist())
    assert "approve" in str(result)
    assert any(note.startswith("texts: value: category (as the first 8 samples look") for note in result.notes)


def test_texts_that_do_not_repeat_are_compared_by_their_n_grams() -> None:
    def writes(letters: str) -> Draw:
        return lambda n, rng: ["".join(rng.choice(list(letters), 30)) for _ in range(n)]

    result = found({"a": writes("abcd"), "b": writes("abxy"), "c": writes("abcd")})
    assert (result.status, result.groups) == ("decided", (("a", "c"), ("b",)))
    assert len(result.columns) == 256
    assert any("text, hashed n-grams" in note for note in result.notes)


def test_the_kind_can_be_declared() -> None:
    result = found(arms(said), types={"value": "text"}, max_samples=40)
    assert len(result.columns) == 256
    assert "texts: value: text, hashed n-grams" in result.notes  # nothing was guessed
    with pytest.raises(SettingsError, match=r"types= names a column 'word' that samples do not have; they have \['val"):
        found(arms(said), types={"word": "text"})
    with pytest.raises(SettingsError, match=r"types must be a mapping column -> kind.*got 'text'"):
        found(arms(said), types="text")
    with pytest.raises(SettingsError, match="type of column 'value' must be one of"):
        found(arms(said), types={"value": "words"})
    with pytest.raises(SettingsError, match=r"types=.* is for arms that return texts, or for a table"):
        found(arms(chosen), types={"value": "text"})


def test_rows_may_hold_numbers_beside_texts() -> None:
    def row(mean: float) -> Draw:
        return lambda n, rng: [(rng.normal(mean), str(word)) for word in WORDS[rng.integers(4, size=n)]]

    result = found({"a": row(0.0), "b": row(5.0), "c": row(0.0)})
    assert (result.status, result.groups) == ("decided", (("a", "c"), ("b",)))
    assert result.columns == ("column 1", "column 2")
    assert abs(float(np.median(result.samples["b"][:, 0])) - 5.0) < 2.0


@pytest.mark.parametrize("make", [list, np.array, tuple])
def test_pools_of_texts_are_compared_too(make: Callable[[list[str]], Any]) -> None:
    def pool(p: list[float]) -> Any:
        return make(WORDS[np.random.default_rng(int(100 * p[0])).choice(4, 600, p=p)].tolist())

    result = found(arms(pool))
    assert result.groups == (("a", "c"), ("b", "d"))
    assert set(result.levels["value"].values()) <= set(WORDS.tolist())


@pytest.mark.parametrize("workers", [1, 4])
def test_the_first_round_decides_whatever_the_order_of_draws(workers: int) -> None:
    result, again = found(arms(said), 3), found(arms(said), 3, workers=workers)
    assert result.samples_per_arm == again.samples_per_arm
    assert all(np.array_equal(result.samples[name], again.samples[name]) for name in result.names)
    assert np.array_equal(result.evidence.strength, again.evidence.strength)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1.0, 2.0], r"arm 'b': returned 1.0 in column 'value', where a text was expected"),
        (["a", None], r"arm 'b': returned None in column 'value', where a text was expected; decide what a missing"),
        (["a", 3], r"arm 'b': returned 3 in column 'value', where a text was expected"),
        ([["a", "b"], ["c", "d"]], r"arm 'b': returned .*while samples of the first round have 1 column"),
    ],
)
def test_what_is_no_text_among_texts_is_refused_with_arm_and_value(rows: Any, message: str) -> None:
    with pytest.raises((SampleError, ArmError), match=message):
        found({"a": said(ONE), "b": lambda n, rng: rows[:n], "c": said(ONE)})


def test_a_later_round_keeps_the_kinds_of_the_first() -> None:
    calls = 0

    def turns(n: int, rng: np.random.Generator) -> Any:
        nonlocal calls
        calls += 1
        return rng.normal(size=n) if calls > 2 else said(ONE)(n, rng)

    with pytest.raises(SampleError, match=r"arm 'b': returned .* in column 'value', where a text was expected"):
        found({"a": said(ONE), "b": turns, "c": said(ONE)})


@pytest.mark.parametrize("options", [{"kernel": kabc.Hamming()}, {"strategy": "boc-uniform"}])
def test_kinds_are_refused_where_nothing_would_be_made_of_them(options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"types=.* is for a table; leave it out"):
        found(arms(said), types={"value": "category"}, **options)


def test_texts_are_left_to_a_kernel_where_one_is_given() -> None:
    result = found(arms(said), kernel=kabc.Hamming(), max_samples=400)
    assert result.columns == ()
    assert result.samples["a"].dtype.kind == "U"


def test_the_same_law_is_told_apart_no_more_often_than_delta() -> None:
    """The look at the first round cannot break validity: no bet is made on it."""
    wrong = 0
    for seed in range(12):
        result = kabc.cluster([said(ONE)] * 3, delta=0.3, seed=seed, max_samples=100, progress=False, watch=False)
        wrong += result.n_groups_at_least > 1
    assert wrong <= 9  # binomial(12, 0.3) exceeds 9 with probability below 1e-3
