"""From objects to plain JSON values and blobs.

| value                        | written as                                                            |
|------------------------------|-----------------------------------------------------------------------|
| None, bool, int, float, str  | itself                                                                |
| anything else                | `[id]`, and a node `[id, kind, ...]`                                  |
| list, tuple, set, frozenset  | `[id, kind, values]`                                                  |
| deque                        | `[id, "deque", values, maxlen]`                                       |
| dict                         | `[id, "dict", keys, values]`                                          |
| object of kabc               | `[id, "object", class, names, values]`                                |
| named tuple of kabc          | `[id, "named", class, values]`                                        |
| bytes                        | `[id, "bytes", blob]`                                                 |
| numpy array                  | `[id, "array", dtype, shape, axes, writeable, blob]`                  |
| array of objects             | `[id, "objects", shape, values]`                                      |
| numpy scalar                 | `[id, "scalar", dtype, hex digits]`                                   |
| numpy generator (PCG64)      | `[id, "generator", its state, its seed sequence]`                     |
| numpy seed sequence          | `[id, "seeds", entropy, spawn key, pool size, children spawned]`      |

A node comes after all nodes that it holds, unless they hold it too. An object that is held twice is one node. Arrays
are written in the order of their memory, so sums over them round alike. Arrays that share memory come back apart.

A blob is the number of one that is written beside the nodes, or the digest of content that is kept elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from hashlib import blake2b
from typing import Any

import numpy as np

from kabc.core.errors import KabcError
from kabc.study.classes import name_of, slots_of

PLAIN_KINDS = "biufcUSmM"  # of arrays
_COLLECTIONS: dict[type, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}
_LARGEST_INT = 4096  # bits: longer ones are not read from JSON
_WHOLE = (tuple, frozenset)  # cannot be made before what they hold


class NotFrozenError(KabcError, TypeError):
    """A state holds something that cannot be written down: a function, a connection, an object of another package."""


def digest_of(content: bytes) -> str:
    """The name of a content."""
    return blake2b(content, digest_size=32).hexdigest()


class Graph:
    """An object with all that it holds, as nodes. The last node is the object itself.

    `elsewhere` are digests of contents that are not written down, because whoever reads the nodes has them.
    """

    def __init__(self, root: object, elsewhere: Container[str] = ()) -> None:
        self._elsewhere = elsewhere
        self.nodes: list[list[Any]] = []
        self.blobs: list[bytes] = []
        self._known: dict[int, int] = {}  # id() -> our id, from the first time that it is seen
        self._open: set[int] = set()  # our ids of objects that cannot be made yet
        self._alive: list[object] = []  # so that no id() is used twice
        self._blob_of: dict[str, int] = {}
        self._write((root,))

    def _write(self, root: tuple[object]) -> None:
        """Write what is held first; a stack of our own, because objects may be nested deeper than calls."""
        stack: list[tuple[object, list[Any] | None]] = [(root, None)]
        while stack:
            value, node = stack.pop()
            if node is not None:
                self._close(node)
                continue
            if _is_plain(value) or id(value) in self._known:
                continue
            number = self._known[id(value)] = len(self._known)
            self._alive.append(value)
            node, held = self._opened(number, value)
            if isinstance(value, _WHOLE):
                self._open.add(number)
            stack.append((None, node))
            stack += [(one, None) for one in reversed(held)]

    def _close(self, node: list[Any]) -> None:
        """All that it holds is known: write values as themselves or as references."""
        self._open.discard(node[0])
        self.nodes.append([self._references(part) if isinstance(part, _Values) else part for part in node])

    def _references(self, values: list[Any]) -> list[Any]:
        found = [value if _is_plain(value) else [self._known[id(value)]] for value in values]
        if any(isinstance(one, list) and one[0] in self._open for one in found):
            raise NotFrozenError("a tuple holds something that holds the tuple")
        return found

    def _opened(self, number: int, value: Any) -> tuple[list[Any], list[object]]:
        """The node of a value, and the values in it, which are written before it."""
        node = [number, *self._described(value)]
        return node, [one for part in node if isinstance(part, _Values) for one in part]

    def _described(self, value: Any) -> list[Any]:
        cls = type(value)
        if cls in _COLLECTIONS:
            return [_COLLECTIONS[cls], _Values(value)]
        if cls is dict:
            return ["dict", _Values(value), _Values(value.values())]
        if cls is deque:
            return ["deque", _Values(value), value.maxlen]
        if cls is bytes:
            return ["bytes", self._blob(value)]
        if isinstance(value, np.ndarray | np.generic):
            return self._numbers(value)
        if cls is np.random.Generator:
            return _generator(value)
        if cls is np.random.SeedSequence:
            entropy = list(value.entropy) if isinstance(value.entropy, list | tuple) else [value.entropy]
            if None in entropy or not all(map(_is_plain, entropy)):
                raise NotFrozenError(f"a seed sequence with entropy {value.entropy!r}")
            return ["seeds", entropy, list(value.spawn_key), value.pool_size, value.n_children_spawned]
        return _record(value)

    # ------------------------------------------------------------ numbers

    def _numbers(self, value: Any) -> list[Any]:
        if type(value) is np.ndarray and value.dtype.kind == "O":
            return ["objects", list(value.shape), _Values(value.ravel().tolist())]
        plain = value.dtype.kind in PLAIN_KINDS and value.dtype.itemsize
        if not plain or not (type(value) is np.ndarray or isinstance(value, np.generic)):
            raise NotFrozenError(f"{type(value).__name__} of type {value.dtype}")
        if isinstance(value, np.generic):
            return ["scalar", value.dtype.str, value.tobytes().hex()]
        axes = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
        content = value.transpose(axes).tobytes()
        return ["array", value.dtype.str, list(value.shape), axes, value.flags.writeable, self._blob(content)]

    def _blob(self, content: bytes) -> int | str:
        """The number of the blob, or its digest if it is kept elsewhere; equal ones are kept once."""
        key = digest_of(content)
        if key in self._elsewhere:
            return key
        if key not in self._blob_of:
            self._blob_of[key] = len(self.blobs)
            self.blobs.append(content)
        return self._blob_of[key]


class _Values(list[Any]):
    """The part of a node that becomes references."""


def _is_plain(value: object) -> bool:
    if type(value) is int:
        return value.bit_length() <= _LARGEST_INT
    return value is None or type(value) in (bool, float, str)


def _record(value: Any) -> list[Any]:
    """An object of ours: its class by name, and its attributes."""
    cls = type(value)
    name = name_of(cls)
    if name is None:
        raise NotFrozenError(f"{cls.__module__}.{cls.__qualname__} is not a class that a snapshot may hold")
    if isinstance(value, tuple):
        return ["named", name, _Values(value)]
    found = {slot: getattr(value, slot) for slot in slots_of(cls) if hasattr(value, slot)}
    left_out = getattr(cls, "left_out", ())  # what can be made again
    found |= {name: one for name, one in getattr(value, "__dict__", {}).items() if name not in left_out}
    return ["object", name, list(found), _Values(found.values())]


def _generator(rng: np.random.Generator) -> list[Any]:
    bits: Any = rng.bit_generator
    if type(bits) is not np.random.PCG64:
        raise NotFrozenError(f"a random generator {type(bits).__name__}; numpy's default is PCG64")
    return ["generator", bits.state, _Values([bits.seed_seq])]
