from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from kabc.storage.checks import MOST_BYTES
from kabc.storage.errors import StorageError
from kabc.storage.rows import decode, encode

SHAPES = arrays.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=9)
NUMBERS = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.unsigned_integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    arrays.unicode_string_dtypes(endianness="?", min_len=1, max_len=9),
)
ALL_LETTERS = st.text(st.characters(exclude_categories=()))
VALUES = st.one_of(st.none(), ALL_LETTERS, st.booleans(), st.integers(), st.floats())


def same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Equal in type, shape and every bit."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    return repr(one.tolist()) == repr(other.tolist()) if one.dtype == object else one.tobytes() == other.tobytes()


@given(arrays.arrays(NUMBERS, SHAPES))
def test_numbers_and_texts_come_back_bit_by_bit(rows: NDArray[Any]) -> None:
    assert same(decode(encode(rows)), rows)


@given(arrays.arrays(object, SHAPES, elements=VALUES))
def test_objects_come_back_with_their_types(rows: NDArray[Any]) -> None:
    assert same(decode(encode(rows)), rows)


@given(st.integers(0, 3), st.floats(-1e9, 1e9).map(lambda x: round(x, 2)))
def test_decimals_come_back_bit_by_bit(places: int, value: float) -> None:
    rows = np.round(np.linspace(value - 1, value + 1, 50), places).reshape(25, 2)
    assert same(decode(encode(rows)), rows)


@pytest.mark.parametrize(
    "rows",
    [
        np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324]),
        np.array([0.0, -0.0]),
        np.array([np.uint64(0x7FF8000000000001)]).view(np.float64),  # a NaN with a number in it
        np.array([1.0, 2**53, -(2**53)]),
        np.arange(12.0).reshape(6, 2)[::2],
        np.asfortranarray(np.arange(12.0).reshape(6, 2)),
        np.array(["\ud83d\ude00", "\U0001f600", ""]),
        np.array(["\ud83d" + "\ude00", "\U0001f600", "", "x\x00y", None, True, 1, 1.0, 10**40], dtype=object),
        np.zeros((0, 3)),
        np.zeros((3, 0)),
        np.array([], dtype="<U1"),
        np.array(["", ""], dtype="<U1"),
        np.array([], dtype=object),
    ],
)
def test_awkward_ones_come_back(rows: NDArray[Any]) -> None:
    assert same(decode(encode(rows)), rows)


def test_numpy_scalars_in_objects_come_back_as_plain_values() -> None:
    rows = np.empty(3, object)
    rows[:] = [np.float64(1.5), np.str_("x"), np.int8(3)]
    assert decode(encode(rows)).tolist() == [1.5, "x", 3]


@pytest.mark.parametrize(
    "rows", [np.zeros(3, complex), np.zeros(3, "M8[s]"), np.array([b"x"]), np.array([[1], {}], object)]
)
def test_what_is_no_number_and_no_text_is_refused(rows: NDArray[Any]) -> None:
    with pytest.raises(StorageError, match="cannot be kept"):
        encode(rows)


def test_what_is_read_may_be_written_to() -> None:
    for rows in (np.arange(4.0), np.array(["a", "b"]), np.array([None, "x"], object), np.array([True])):
        decode(encode(rows))[0] = rows[0]


def test_samples_take_less_room_than_in_memory() -> None:
    rng = np.random.default_rng(0)
    sizes = {
        "normal": (rng.normal(size=(1000, 10)), 0.95),
        "two digits": (rng.normal(50, 9, size=(1000, 10)).round(2), 0.25),
        "counts": (rng.poisson(100, size=(1000, 10)).astype(float), 0.15),
        "yes or no": (rng.random((1000, 10)) < 0.2, 0.15),
        "categories": (rng.choice(np.array(["red", "green", None], object), (1000, 10)), 0.08),
    }
    for name, (rows, most) in sizes.items():
        assert len(encode(rows)) < most * rows.nbytes, name


# ---------------------------------------------------------------- bytes that nobody wrote


def packed(body: bytes = bytes(16), **changed: object) -> bytes:
    """Bytes with a header that says something else than `encode` would."""
    header = {"t": "<f8", "s": [2], "z": 0, **changed}
    text = json.dumps(header).encode()
    return b"KR1" + struct.pack("<I", len(text)) + text + body


HOSTILE = {
    "nothing": b"",
    "no samples": b"PK\x03\x04 something else",
    "a pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.",
    "half of it": encode(np.arange(100.0))[:40],
    "a long header": b"KR1" + struct.pack("<I", 2**31) + b"{}",
    "a header that is no mapping": b"KR1" + struct.pack("<I", 2) + b"[]" + bytes(8),
    "a deep header": b"KR1" + struct.pack("<I", 4000) + b"[" * 4000,
    "an object type": packed(t="|O8"),
    "a structured type": packed(t="f8,O"),
    "a void type": packed(t="|V8"),
    "a date": packed(t="<M8[s]"),
    "a type that is a number": packed(t=8),
    "a text of a billion letters": packed(t="<U1000000000", s=[1]),
    "a negative shape": packed(s=[-2]),
    "three dimensions": packed(s=[1, 1, 2]),
    "a shape of a million million": packed(s=[10**6, 10**6]),
    "a shape that overflows": packed(s=[2**28, 2**28]),
    "a shape of fractions": packed(s=[2.0]),
    "a shape that is true": packed(s=[True]),
    "too few bytes": packed(body=bytes(15)),
    "too many bytes": packed(body=bytes(17)),
    "a bomb": packed(body=zlib.compress(bytes(2**27)), z=16),
    "a bomb that says so": packed(body=zlib.compress(bytes(100)), z=2**40),
    "more than declared": packed(body=zlib.compress(bytes(24)), z=16),
    "less than declared": packed(body=zlib.compress(bytes(8)), z=16),
    "no zlib": packed(body=bytes(16), z=16),
    "a letter that does not exist": packed(t="<U1", s=[1], body=b"\xff\xff\xff\x7f"),
    "a value that is not listed": packed(t="O", s=[1], c="|u1", v=2, body=b"[]\x00"),
    "values that are lists": packed(t="O", s=[1], c="|u1", v=4, body=b"[[]]\x00"),
    "codes that are no numbers": packed(t="O", s=[1], c="<f8", v=3, body=b"[1]" + bytes(8)),
    "a scale that is no number": packed(e="x", t="<f8"),
    "a scale that is large": packed(e=400, i="<i8", t="<f8"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(
        StorageError, match=r"^stored samples are damaged \(.*\); restore the store from a copy$"
    ) as error:
        decode(HOSTILE[name])
    assert len(str(error.value)) < 400


@given(st.binary(max_size=300), st.integers(0, 60))
def test_random_changes_end_in_samples_or_in_one_line(noise: bytes, at: int) -> None:
    good = encode(np.arange(20.0).reshape(10, 2))
    for bad in (noise, good[:at] + noise + good[at + len(noise) :]):
        try:
            assert decode(bad).nbytes <= MOST_BYTES
        except StorageError as error:
            assert "\n" not in str(error)  # noqa: PT017
