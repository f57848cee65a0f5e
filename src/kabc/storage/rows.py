"""Samples as bytes: what is written of a draw. Exact, small, and safe to read whoever wrote it.

    KR1 | length of the header (4 bytes, little-endian) | header, JSON | body, zlib or plain

The body holds one column after the other, because values of a column are alike. Of numbers it holds the first bytes of
all values, then the second bytes, and so on: exponents and zeros stand together, and compress well. Decimals such as
21.35 are kept as whole numbers (2135, and 2 places) where that gives the same bits back. Texts of a fixed width are
numbers, one for each letter. An array of objects is a list of its different values, and numbers that point into it.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.words import shown
from kabc.storage.checks import MOST_BYTES
from kabc.storage.errors import StorageError

_MAGIC = b"KR1"
_LONGEST_HEADER = 4_096
_NUMBERS = "biuf"  # kinds of numpy's types
_LEVEL = 1  # of zlib: higher ones cost three times as much, and save 2 %
_SMALL = 4_096  # bytes of which every one counts, and that are quick to compress
_HIGHEST_LETTER = 0x10FFFF
_MOST_PLACES = 6  # of decimals
_A_LOOK = 8  # rows that show whether they are decimals
_WIDEST = 8  # bytes of a number, and of a place in an array of objects
_WHOLE = ("|i1", "<i2", "<i4", "<i8")
_Value = str | int | float | bool | None


def encode(rows: NDArray[Any]) -> bytes:  # (n,) or (n, d)
    """The bytes that are kept of samples: numbers, texts, or objects (texts, numbers, None)."""
    if rows.ndim not in (1, 2):
        raise StorageError(f"samples to be kept must have one or two dimensions, got shape {rows.shape}")
    header: dict[str, Any] = {"t": rows.dtype.str, "s": rows.shape}
    if rows.dtype.kind == "b":
        body = np.packbits(np.moveaxis(rows, 0, -1)).tobytes()
    elif (found := _decimals(rows)) is not None:
        header["e"], whole = found
        header["i"] = whole.dtype.str
        body = _shuffled(whole)
    elif rows.dtype.kind in _NUMBERS:
        body = _shuffled(rows)
    elif rows.dtype.kind == "U":
        body = _shuffled(_letters(rows))
    elif rows.dtype == object:
        header["t"] = "O"
        values, codes = _coded(rows)
        header["c"], header["v"] = codes.dtype.str, len(values)
        body = values + _shuffled(codes)
    else:
        raise StorageError(f"samples of type {rows.dtype} cannot be kept; return numbers or texts")
    if len(body) > MOST_BYTES:
        raise StorageError(
            f"one draw of {rows.shape[0]:,} samples has {len(body):,} bytes, and at most {MOST_BYTES:,} can be kept; "
            "let rounds be smaller"
        )
    packed = zlib.compress(body, 9 if len(body) <= _SMALL else _LEVEL)
    header["z"] = len(body) if len(packed) < len(body) else 0
    text = json.dumps(header, separators=(",", ":")).encode()
    return b"".join([_MAGIC, struct.pack("<I", len(text)), text, packed if header["z"] else body])


def decode(data: bytes, most: int | None = None) -> NDArray[Any]:
    """The samples that `encode` was given. Anything else is refused, and nothing larger than allowed is unpacked.

    `most`: bytes that they may take in memory, for those who cannot be trusted with more.
    """
    try:
        return _decoded(data, most)
    except StorageError:
        raise
    except Exception as error:  # numpy, json and zlib have many ways to say that bytes are wrong
        raise _damaged(str(error) or type(error).__name__) from error


def _decoded(data: bytes, most: int | None) -> NDArray[Any]:
    start = len(_MAGIC) + 4
    if len(data) > MOST_BYTES + _LONGEST_HEADER or data[: len(_MAGIC)] != _MAGIC or len(data) < start:
        raise _damaged("they do not begin as samples do")
    (length,) = struct.unpack("<I", data[len(_MAGIC) : start])
    if length > _LONGEST_HEADER:
        raise _damaged(f"a header of {length:,} bytes")
    header = json.loads(data[start : start + length])
    shape = tuple(_size(value) for value in header["s"])
    if len(shape) not in (1, 2):
        raise _damaged(f"{len(shape)} dimensions")
    # a value has up to 8 bytes in memory, however few it has here: whole numbers, empty texts, codes
    if most is not None and max(_WIDEST * math.prod(shape), _size(header["z"])) > most:
        raise _damaged(f"more than {most:,} bytes")
    body = _unpacked(memoryview(data)[start + length :], _size(header["z"]))
    if header["t"] == "O":
        return _uncoded(body, shape, _size(header["v"]), _number_type(header["c"]))
    if "e" in header:
        return _from_decimals(body, shape, _size(header["e"]), _type(header["i"]))
    return _array(body, shape, _type(header["t"]))


def _damaged(why: str) -> StorageError:
    return StorageError(f"stored samples are damaged ({shown(why)[:200]}); restore the store from a copy")


def _size(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_BYTES:
        raise _damaged(f"a size of {value!r}")
    return value


def _unpacked(body: memoryview, size: int) -> bytes:
    if not size:
        return bytes(body)
    unpacker = zlib.decompressobj()
    plain = unpacker.decompress(body, size)
    if len(plain) != size or (not unpacker.eof and unpacker.decompress(unpacker.unconsumed_tail, 1)):
        raise _damaged("their size is not the declared one")
    return plain


# ---------------------------------------------------------------- types


def _type(text: object) -> np.dtype[Any]:
    wanted = text if isinstance(text, str) and text[:1] in "<>|=" and text[1:2].isalpha() and text[2:].isdigit() else ""
    kind = np.dtype(wanted) if wanted and wanted[1] in _NUMBERS + "U" else None
    if kind is None or kind.str != wanted or kind.itemsize > MOST_BYTES:
        raise _damaged(f"the type {text!r} is not known here")
    return kind


def _number_type(text: object) -> np.dtype[Any]:
    kind = _type(text)
    if kind.kind != "u":
        raise _damaged(f"the type {text!r} of codes")
    return kind


def _array(body: bytes, shape: tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
    if kind.kind == "b":
        return _from_bits(body, shape)
    if kind.kind != "U":
        return _unshuffled(body, shape, kind)
    width = kind.itemsize // 4
    if width == 0:
        if body:
            raise _damaged("letters in texts without any")
        return np.zeros(shape, kind)
    letters = _unshuffled(body, (*shape, width), np.dtype(f"{kind.byteorder}u4"))
    if letters.size and letters.max() > _HIGHEST_LETTER:
        raise _damaged("a letter that does not exist")
    return np.ascontiguousarray(letters).view(kind)[..., 0]


def _letters(rows: NDArray[Any]) -> NDArray[Any]:  # (n,) or (n, d) of texts -> (n, w) or (n, d, w) of letters
    width = rows.dtype.itemsize // 4
    numbers = np.dtype(f"{rows.dtype.byteorder}u4")
    return np.ascontiguousarray(rows).view(numbers).reshape(*rows.shape, width) if width else np.zeros(0, numbers)


# ---------------------------------------------------------------- numbers: columns, and bytes of a kind, together


def _shuffled(rows: NDArray[Any]) -> bytes:
    columns = np.ascontiguousarray(np.moveaxis(rows, 0, -1))  # (n,) or (..., n)
    size = columns.dtype.itemsize
    planes = columns.view(np.uint8).reshape(-1, columns.shape[-1], size) if columns.size else np.zeros(0, np.uint8)
    return np.moveaxis(planes, -1, -2).tobytes() if size > 1 and columns.size else planes.tobytes()


def _unshuffled(body: bytes, shape: tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
    n, rest, size = shape[0], shape[1:], kind.itemsize
    if len(body) != int(np.prod(shape, dtype=object)) * size:
        raise _damaged(f"{len(body):,} bytes for shape {shape} of {kind}")
    if not body:
        return np.zeros(shape, kind)
    planes = np.frombuffer(body, np.uint8).reshape(-1, size, n)
    columns = np.ascontiguousarray(np.moveaxis(planes, 1, 2)).view(kind).reshape(*rest, n)
    return np.moveaxis(columns, -1, 0).copy()


def _from_bits(body: bytes, shape: tuple[int, ...]) -> NDArray[Any]:
    n, size = shape[0], int(np.prod(shape, dtype=object))
    if len(body) != -(-size // 8):
        raise _damaged(f"{len(body):,} bytes for {size:,} bits")
    bits = np.unpackbits(np.frombuffer(body, np.uint8), count=size).astype(bool)
    return np.moveaxis(bits.reshape(*shape[1:], n), -1, 0).copy()


def _decimals(rows: NDArray[Any]) -> tuple[int, NDArray[Any]] | None:
    """Places and whole numbers that give the same bits back, or None. Most numbers show at once that they are none."""
    if rows.dtype.str != "<f8" or not rows.size:
        return None
    if all(_whole(rows[:_A_LOOK], places) is None for places in (_MOST_PLACES, 0)):
        return None
    for places in range(_MOST_PLACES + 1):
        if (whole := _whole(rows, places)) is not None:
            lowest, highest = whole.min(), whole.max()
            return places, whole.astype(next(kind for kind in _WHOLE if _fits(kind, lowest, highest)))
    return None


def _whole(rows: NDArray[Any], places: int) -> NDArray[Any] | None:
    scale = 10.0**places
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(rows * scale)
        if not (np.abs(scaled) < 2.0**53).all():  # beyond it, or not a number
            return None
    whole = scaled.astype(np.int64)
    same = np.array_equal((whole / scale).view(np.int64), np.ascontiguousarray(rows).view(np.int64))  # -0.0 is not 0.0
    return whole if same else None


def _fits(kind: str, lowest: int, highest: int) -> bool:
    limits = np.iinfo(kind)
    return bool(limits.min <= lowest and highest <= limits.max)


def _from_decimals(body: bytes, shape: tuple[int, ...], places: int, kind: np.dtype[Any]) -> NDArray[Any]:
    if places > _MOST_PLACES or kind.str not in _WHOLE:
        raise _damaged(f"{places} places of {kind}")
    decimals: NDArray[Any] = _unshuffled(body, shape, kind) / 10.0**places
    return decimals.astype("<f8")


# ---------------------------------------------------------------- objects: different values, and numbers of them


def _coded(rows: NDArray[Any]) -> tuple[bytes, NDArray[Any]]:
    """The different values as JSON, and for each object the number of its value."""
    known: dict[tuple[str, str], int] = {}
    values: list[_Value] = []
    codes = np.empty(rows.size, np.uint32)
    for at, value in enumerate(rows.ravel().tolist()):
        plain = value.item() if isinstance(value, np.generic) else value
        if not (plain is None or isinstance(plain, str | bool | int | float)):
            raise StorageError(
                f"a value of type {type(value).__name__} cannot be kept: {shown(repr(value))[:100]}; "
                "return numbers, texts or None"
            )
        key = type(plain).__name__, plain if isinstance(plain, str) else repr(plain)  # True is not 1, -0.0 is not 0.0
        if key not in known:
            known[key] = len(values)
            values.append(plain)
        codes[at] = known[key]
    smallest = np.min_scalar_type(max(len(values) - 1, 0))
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)  # \u escapes would join halves of pairs
    return text.encode("utf-8", "surrogatepass"), codes.astype(smallest).reshape(rows.shape)


def _uncoded(body: bytes, shape: tuple[int, ...], length: int, kind: np.dtype[Any]) -> NDArray[Any]:
    values = json.loads(body[:length].decode("utf-8", "surrogatepass"))
    if not isinstance(values, list) or any(isinstance(value, list | dict) for value in values):
        raise _damaged("objects that are no values")
    codes = _unshuffled(body[length:], shape, kind)
    if codes.size and int(codes.max()) >= len(values):
        raise _damaged("a value that is not listed")
    known = np.empty(len(values), object)
    known[:] = values
    return known[codes] if codes.size else np.empty(shape, object)
