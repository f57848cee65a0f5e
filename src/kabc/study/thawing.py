"""From nodes and blobs back to objects (the table is in `graphs.py`). What it reads may be made up: all is checked.

Objects are made without calling their classes. First all that can be made empty, then each node is filled, in order.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.study.classes import class_of, slots_of
from kabc.study.graphs import PLAIN_KINDS, digest_of

_DTYPE = re.compile(rf"[<>|][{PLAIN_KINDS}][0-9]{{1,9}}(\[[0-9]*[A-Za-z]{{1,2}}\])?")
_EMPTY: dict[str, Callable[[], Any]] = {"list": list, "dict": dict, "set": set}
_WITH_BLOB = ("bytes", "array")  # as the last part of the node
_NOT_MADE = object()


def thawed(nodes: list[list[Any]], blobs: list[bytes], elsewhere: Iterable[bytes] = ()) -> Any:
    """The object that was written, with contents that are kept elsewhere. Raises some error if the nodes are wrong."""
    missing = {node[-1] for node in nodes if node[1] in _WITH_BLOB and isinstance(node[-1], str)}
    named = ((digest_of(content), content) for content in (elsewhere if missing else ()))
    return _Thawing(nodes, blobs, {name: content for name, content in named if name in missing}).root


class _Thawing:
    def __init__(self, nodes: list[list[Any]], blobs: list[bytes], elsewhere: dict[str, bytes]) -> None:
        self._blobs, self._elsewhere = blobs, elsewhere
        self._made: list[Any] = [_NOT_MADE] * len(nodes)
        if sorted(node[0] for node in nodes) != list(range(len(nodes))):
            raise ValueError("nodes are missing")
        for number, kind, *parts in nodes:
            if kind in _EMPTY:
                self._made[number] = _EMPTY[kind]()
            elif kind == "object":
                self._made[number] = object.__new__(class_of(parts[0]))
            elif kind == "deque":
                self._made[number] = deque(maxlen=parts[1])
        for number, kind, *parts in nodes:
            getattr(self, f"_fill_{_KINDS[kind]}")(number, *parts)
        (self.root,) = self._made[nodes[-1][0]]

    def _value(self, written: Any) -> Any:
        """A value: itself, or what the reference stands for."""
        if written is None or type(written) in (bool, int, float, str):
            return written
        (number,) = written
        if type(number) is not int or number < 0 or self._made[number] is _NOT_MADE:
            raise ValueError(f"{written!r} refers to nothing")
        return self._made[number]

    def _values(self, written: list[Any]) -> list[Any]:
        return [self._value(one) for one in written]

    # ------------------------------------------------------------ collections and objects

    def _fill_list(self, number: int, values: list[Any], *_: Any) -> None:  # also deques
        self._made[number].extend(self._values(values))

    def _fill_set(self, number: int, values: list[Any]) -> None:
        self._made[number].update(self._values(values))

    def _fill_dict(self, number: int, keys: list[Any], values: list[Any]) -> None:
        self._made[number].update(zip(self._values(keys), self._values(values), strict=True))

    def _fill_tuple(self, number: int, values: list[Any]) -> None:
        self._made[number] = tuple(self._values(values))

    def _fill_frozenset(self, number: int, values: list[Any]) -> None:
        self._made[number] = frozenset(self._values(values))

    def _fill_named(self, number: int, name: str, values: list[Any]) -> None:
        cls = class_of(name)
        if not issubclass(cls, tuple) or len(values) != len(getattr(cls, "_fields", ())):
            raise ValueError(f"{name} is not a tuple of {len(values)} values")
        self._made[number] = tuple.__new__(cls, self._values(values))

    def _fill_object(self, number: int, name: str, names: list[str], values: list[Any]) -> None:
        slots = set(slots_of(class_of(name)))
        made = self._made[number]
        for attribute, value in zip(names, self._values(values), strict=True):
            if not attribute.isidentifier() or attribute.startswith("__"):
                raise ValueError(f"{attribute!r} is not an attribute")
            if attribute in slots:
                object.__setattr__(made, attribute, value)  # frozen classes too
            else:
                vars(made)[attribute] = value

    # ------------------------------------------------------------ numbers

    def _blob(self, which: int | str) -> bytes:
        if isinstance(which, str):
            return self._elsewhere[which]
        if which < 0:
            raise ValueError("a blob is missing")
        return self._blobs[which]

    def _fill_bytes(self, number: int, blob: int | str) -> None:
        self._made[number] = self._blob(blob)

    def _fill_array(
        self, number: int, dtype: str, shape: list[int], axes: list[int], writeable: bool, blob: int | str
    ) -> None:
        if sorted(axes) != list(range(len(shape))):
            raise ValueError(f"{axes} are not the axes of an array of shape {shape}")
        in_memory = np.frombuffer(self._blob(blob), _dtype(dtype)).reshape([_size(shape[axis]) for axis in axes])
        found = in_memory.transpose([axes.index(axis) for axis in range(len(axes))]).copy(order="K")
        found.flags.writeable = bool(writeable)
        self._made[number] = found

    def _fill_objects(self, number: int, shape: list[int], values: list[Any]) -> None:
        flat: NDArray[Any] = np.empty(len(values), dtype=object)
        for place, value in enumerate(self._values(values)):
            flat[place] = value
        self._made[number] = flat.reshape([_size(one) for one in shape])

    def _fill_scalar(self, number: int, dtype: str, digits: str) -> None:
        (self._made[number],) = np.frombuffer(bytes.fromhex(digits), _dtype(dtype))

    # ------------------------------------------------------------ randomness

    def _fill_seeds(self, number: int, entropy: list[int], key: list[int], pool: int, children: int) -> None:
        given: Any = entropy if len(entropy) > 1 else entropy[0]
        # a pool is a few words; a number made up would take all memory
        if not 4 <= pool <= 64:
            raise ValueError(f"a seed sequence with a pool of {pool} words")
        self._made[number] = np.random.SeedSequence(
            given, spawn_key=tuple(key), pool_size=pool, n_children_spawned=children
        )

    def _fill_generator(self, number: int, state: dict[str, Any], seeds: list[Any]) -> None:
        (sequence,) = self._values(seeds)
        if not isinstance(sequence, np.random.SeedSequence):
            raise TypeError("a random generator without its seed sequence")
        bits: Any = np.random.PCG64(sequence)
        bits.state = state
        self._made[number] = np.random.Generator(bits)


_KINDS = {"deque": "list"} | {
    name.removeprefix("_fill_"): name.removeprefix("_fill_") for name in vars(_Thawing) if name.startswith("_fill_")
}


def _dtype(name: str) -> np.dtype[Any]:
    if not _DTYPE.fullmatch(name) or not np.dtype(name).itemsize:
        raise ValueError(f"{name!r} is not a type of numbers")
    return np.dtype(name)


def _size(given: int) -> int:
    if type(given) is not int or given < 0:
        raise ValueError(f"{given!r} is not a size")
    return given
