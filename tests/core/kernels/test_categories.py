from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kabc.core.errors import SampleError, SettingsError
from kabc.core.kernels import Hamming


def block(kernel: Hamming, x: Any, y: Any) -> Any:
    return kernel(kernel.coerce(x), kernel.coerce(y)).tolist()


def test_rows_of_codes_are_compared_column_by_column() -> None:
    assert block(Hamming(), [[1, 2, 3, 4]], [[1, 2, 0, 0], [4, 3, 2, 1]]) == [[0.5, 0.0]]


def test_rows_of_strings_are_compared_column_by_column() -> None:
    assert block(Hamming(), [["red", "big"], ["blue", "big"]], [["blue", "enormous"]]) == [[0.0], [0.5]]


def test_plain_strings_are_one_category_each() -> None:
    assert block(Hamming(), ["ok", "error"], ["ok", "timeout"]) == [[1.0, 0.0], [0.0, 0.0]]


def test_with_a_length_strings_are_compared_character_by_character() -> None:
    assert block(Hamming(length=4), ["abcd"], ["abxd", "dcba", "ab"]) == [[0.75, 0.0, 0.5]]


def test_strings_are_padded_or_cut_to_the_length() -> None:
    assert block(Hamming(length=2), ["a", "", "abc"], ["abd", "é"]) == [[0.5, 0.5], [0.0, 0.5], [1.0, 0.0]]


def test_batches_of_longer_and_shorter_strings_go_together() -> None:
    kernel = Hamming()
    short, long = kernel.coerce(["a"]), kernel.coerce(["a much longer name", "a"])
    assert kernel(short, long).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    "strings",
    [["ab", "c"], np.array(["ab", "c"]), np.array(["ab", "c"], dtype=object), ("ab", "c"), [["ab"], ["c"]]],
    ids=lambda strings: type(strings).__name__,
)
@pytest.mark.parametrize("kernel", [Hamming(), Hamming(2)])
def test_strings_may_come_in_any_container(strings: Any, kernel: Hamming) -> None:
    np.testing.assert_array_equal(kernel.coerce(strings), kernel.coerce(["ab", "c"]))


def test_numbers_and_truth_values_are_codes() -> None:
    for codes in ([[True, False]], np.array([[1, 0]], dtype=np.uint8), [[1.0, 0]], [np.array([1, 0])]):
        np.testing.assert_array_equal(Hamming().coerce(codes), [[1.0, 0.0]])


def test_it_lies_between_0_and_1_and_is_never_called_characteristic() -> None:
    for kernel in (Hamming(), Hamming(1), Hamming(9)):
        assert (kernel.infimum, kernel.supremum, kernel.range) == (0.0, 1.0, 1.0)
        assert not kernel.characteristic and not kernel.translation_invariant
    # equal positions, different distributions: (0,0) or (1,1) against (0,1) or (1,0)
    x, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    kernel = Hamming()
    assert kernel(x, x).mean() + kernel(y, y).mean() - 2 * kernel(x, y).mean() == 0.0


@pytest.mark.parametrize(
    ("kernel", "samples", "message"),
    [
        (Hamming(), [["a", 1.0]], r"all strings or all numbers, got values of type float, str.*'a', 1.0.*convert"),
        (Hamming(), [["a", None]], "NoneType, str.*missing value can be a category"),
        (Hamming(), [b"a"], "type bytes"),
        (Hamming(), [[1, 2], [3]], "type list"),
        (Hamming(), [1.0, np.nan], "nan in row 1"),
        (Hamming(), [], "non-empty"),
        (Hamming(), np.zeros((2, 2, 2)), r"\(2, 2, 2\)"),
        (Hamming(3), [1.0, 2.0], "characters of strings, got values of type float"),
        (Hamming(3), [["a", "b"]], "one string for each sample, got 2 columns; use Hamming()"),
        (Hamming(3), [], "non-empty"),
    ],
)
def test_samples_that_are_not_categories_are_refused(kernel: Hamming, samples: Any, message: str) -> None:
    with pytest.raises(SampleError, match=message):
        kernel.coerce(samples)


@pytest.mark.parametrize("length", [0, -1, 2.5, "3", True])
def test_a_length_is_a_whole_number_of_at_least_1(length: Any) -> None:
    with pytest.raises(SettingsError, match=f"length must be a whole number of at least 1, got {length!r}"):
        Hamming(length)


def test_rows_of_different_length_cannot_be_compared() -> None:
    with pytest.raises(SampleError, match=r"\(1, 2\) and \(1, 3\)"):
        Hamming()(np.zeros((1, 2)), np.zeros((1, 3)))
