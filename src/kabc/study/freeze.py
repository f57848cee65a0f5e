"""States of runs as bytes, without pickle: a cache that lets a study go on without replaying all of its rounds.

A frozen state is one line of JSON, then blobs. The line says which code wrote it and what it belongs to; the first blob
is the graph of objects (`graphs.py` writes it, `thawing.py` reads it), the others are the contents of arrays. Contents
that are kept elsewhere, such as samples, are only named, by their digest. Other code, or another study, ignores it.
Nothing in it is ever executed: it names classes of kabc's own maths and books, and no others (`classes.py`).
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Container, Iterable
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from kabc.storage.errors import StorageError
from kabc.study.graphs import Graph, NotFrozenError, digest_of
from kabc.study.thawing import thawed

__all__ = ["NotFrozenError", "digest_of", "freeze", "thaw"]

_LONGEST_HEAD = 1 << 20  # bytes
_MOST_BYTES = 1 << 30  # of a state, before it is packed
_SAMPLE = 1 << 16  # bytes of a blob that show whether packing it helps
_HELPS = 0.8


def freeze(state: object, mark: str, elsewhere: Container[str] = ()) -> bytes:
    """The state as bytes; `mark` says what it belongs to. Raises `NotFrozenError` if it holds something else.

    `elsewhere` are digests (`digest_of`) of contents that `thaw` will be given again: they are not written.
    """
    graph = Graph(state, elsewhere)
    blobs = [json.dumps(graph.nodes).encode(), *graph.blobs]
    n_bytes = sum(map(len, blobs))
    if n_bytes > _MOST_BYTES:
        raise NotFrozenError(f"the state has {n_bytes:,} bytes, more than {_MOST_BYTES:,}")
    packed = [_packed(blob) for blob in blobs]
    body = b"".join(packed)
    head = {
        "code": code_fingerprint(),
        "mark": mark,
        "sizes": [[len(blob), len(small)] for blob, small in zip(blobs, packed, strict=True)],
        "sum": hashlib.sha256(body).hexdigest(),
    }
    return json.dumps(head).encode() + b"\n" + body


def thaw(content: bytes, mark: str, elsewhere: Iterable[bytes] = ()) -> Any:
    """The state; None if other code wrote it, or for something else.

    Raises `StorageError` if it is damaged, or if a content that was kept elsewhere is not among these.
    """
    try:
        line, _, body = content.partition(b"\n")
        head = json.loads(line[:_LONGEST_HEAD])
        if head["code"] != code_fingerprint() or head["mark"] != mark:
            return None
        nodes, *blobs = _unpacked(body, head)
        return thawed(json.loads(nodes), blobs, elsewhere)
    except StorageError:
        raise
    except Exception as error:  # damaged, or made up: whatever it leads to, it is not a state
        raise StorageError(
            f"the snapshot is damaged ({type(error).__name__}: {error}); without it all rounds are replayed"
        ) from error


@lru_cache(maxsize=1)
def code_fingerprint() -> str:
    """Of all code of the package: a state is only used by the code that made it."""
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


# ---------------------------------------------------------------- blobs


def _packed(blob: bytes) -> bytes:
    """Smaller where that can be had: digits of measurements cannot."""
    sample = blob[:_SAMPLE]
    return zlib.compress(blob, 1) if len(zlib.compress(sample, 1)) < _HELPS * len(sample) else blob


def _unpacked(body: bytes, head: dict[str, Any]) -> list[bytes]:
    if hashlib.sha256(body).hexdigest() != head["sum"]:
        raise ValueError("its content has changed")
    sizes = [(int(plain), int(small)) for plain, small in head["sizes"]]
    if min(map(min, sizes)) < 0 or sum(plain for plain, _ in sizes) > _MOST_BYTES:
        raise ValueError("its sizes are wrong")
    ends = accumulate((small for _, small in sizes), initial=0)
    parts = [body[start:end] for start, end in pairwise(ends)]
    return [_plain(part, plain) for part, (plain, _) in zip(parts, sizes, strict=True)]


def _plain(part: bytes, n_bytes: int) -> bytes:
    if len(part) == n_bytes:
        return part
    found = zlib.decompressobj().decompress(part, n_bytes + 1)  # no more than was said, whatever is in it
    if len(found) != n_bytes:
        raise ValueError("a part has another size than it says")
    return found
