"""Which values may repeat: those of few digits, those that others have too, and those that lie close together."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kabc.running.repeats import repeating

RNG = np.random.default_rng(0)
FINE = [RNG.normal(size=(40, 1)) for _ in range(3)]


def column(*values: float) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)[:, None]


def found(rows: NDArray[np.float64], others: list[NDArray[np.float64]] = FINE) -> dict[int, int]:
    return repeating([rows, *others], range(rows.shape[1]))


def test_three_repeats_and_a_tenth_of_the_values_are_too_many() -> None:
    fresh = RNG.normal(size=40).tolist()
    assert found(column(*fresh[:4], *fresh[:2])) == {}
    assert found(column(*fresh[:4], *fresh[:3])) == {0: 3}
    assert found(column(*fresh[:36], *fresh[:3])) == {}
    assert found(column(*fresh[:36], *fresh[:4])) == {0: 4}


def test_a_constant_counts_from_its_sixth_sample_on_whatever_its_digits() -> None:
    for value in (0.0, 30.0, 0.1257):
        assert found(column(*[value] * 5)) == {}
        assert found(column(*[value] * 6)) == {0: 5}


def test_a_constant_is_what_the_arm_is_where_others_repeat_as_well() -> None:
    counts = [RNG.poisson(3, (20, 1)).astype(np.float64) for _ in range(2)]
    assert found(column(*[2.0] * 20), counts) == {}
    assert found(column(*[0.12345] * 20), [column(*[value] * 20) for value in (0.2346, 0.57721)]) == {}


@pytest.mark.parametrize("atom", [0.0, 30.0, 0.05, 4096.0])
def test_an_atom_among_other_values_is_no_copy(atom: float) -> None:
    """A limit has few digits; one that all values stay below may have some more."""
    assert found(column(*[atom] * 8, 0.123456789, -0.98765432101)) == {}
    assert found(column(*[0.123456789] * 8, atom)) == {0: 7}


def test_values_that_usual_arms_have_too_are_no_copies() -> None:
    shared = column(*[-0.37160746] * 20, *RNG.normal(size=10))
    others = [column(-0.37160746, *RNG.normal(size=29)) for _ in range(3)]
    assert found(shared, others) == {}
    assert found(shared) == {0: 19}


def test_values_on_a_grid_repeat_by_chance() -> None:
    narrow, wide = RNG.normal(60, 1, 30), [RNG.normal(60, 300, 30) for _ in range(3)]
    for digits, place, unit in ((0, 0, 1), (2, 0, 1), (0, 32, 1.8)):
        rows = [((np.round(one, digits) - place) / unit)[:, None] for one in (narrow / 10**digits, *wide)]
        assert repeating(rows, [0]) == {}
    single = np.round(narrow / 100, 2).astype(np.float32).astype(np.float64)
    assert found(single[:, None]) == {}


def test_where_all_arms_repeat_half_of_few_values_are_too_many() -> None:
    """Of many values the order of samples shows copies, and a law of few values may be meant."""
    arms = [column(*RNG.normal(size=2).repeat([9, 2])) for _ in range(4)]
    assert set(repeating(arms, [0])) == {0, 1, 2, 3}
    long = [column(*RNG.choice(RNG.normal(size=10), 60)) for _ in range(4)]
    assert repeating(long, [0]) == {}
    shared = RNG.normal(size=5)  # of one law with five values
    assert repeating([column(*RNG.choice(shared, 30)) for _ in range(4)], [0]) == {}


def test_whole_rows_repeat_and_columns_of_codes_do_not_count() -> None:
    codes = RNG.integers(0, 2, (20, 1)).astype(np.float64)
    rows = [np.hstack([RNG.normal(size=(20, 1)), codes]) for _ in range(3)]
    copied = np.tile(rows[0][:5], (4, 1))
    assert repeating(rows, [0, 1]) == {}
    assert repeating([copied, *rows[1:]], [0, 1]) == {0: 15}
    assert repeating([copied, *rows[1:]], []) == {}
