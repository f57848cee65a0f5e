"""The body of an answer, of bounded size: as it is sent, and as it is after decompression."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from kabc.arms.failures import DrawError

if TYPE_CHECKING:
    import httpx

ENCODINGS = "gzip, deflate"  # what is asked for: other encodings cannot be decompressed in bounded memory here
MOST_SENT = 2**24  # bytes: 16 MB
MOST_TEXT = 2**24  # bytes after decompression

_GZIP = zlib.MAX_WBITS | 16
_PLAIN = ("identity", "")
_MOST_STAGES = 2  # encodings of one body, each with a buffer of its own


def text_of(response: httpx.Response) -> str:
    """The text of an answer that is being read."""
    stages = [_Stage(name) for name in reversed(_encodings(response))]  # the last one was applied last
    parts, sent = [], 0
    for raw in response.iter_raw():
        sent += len(raw)
        if sent > MOST_SENT:
            raise _too_large(MOST_SENT, "")
        part = raw
        for stage in stages:
            part = stage.decoded(part)
        parts.append(part)
    return b"".join(parts).decode(errors="replace")


def _encodings(response: httpx.Response) -> list[str]:
    names = [name.strip().lower() for name in response.headers.get("content-encoding", "").split(",")]
    names = [name for name in names if name not in _PLAIN]
    known = len(names) <= _MOST_STAGES and all(name in ("gzip", "x-gzip", "deflate") for name in names)
    if not known:
        raise DrawError(
            f"answered in the encoding {', '.join(names)[:40]!r}, and kabc reads {ENCODINGS}; "
            "leave Accept-Encoding out of headers=",
            "unknown encoding",
        )
    return names


class _Stage:
    """One encoding. What follows the end of the compressed data is left out, as httpx does."""

    def __init__(self, encoding: str) -> None:
        self._size = 0
        self._first, self._deflate = True, encoding == "deflate"
        self._stream = zlib.decompressobj(zlib.MAX_WBITS if self._deflate else _GZIP)

    def decoded(self, data: bytes) -> bytes:
        """What more of the body gives. At most one byte too much is ever made of it."""
        first, self._first = self._first, self._first and not data
        try:
            part = self._stream.decompress(data, MOST_TEXT + 1 - self._size)
        except zlib.error:
            if first and self._deflate:  # some servers leave the header of zlib out
                self._stream, self._deflate = zlib.decompressobj(-zlib.MAX_WBITS), False
                return self.decoded(data)
            said = "sent a body that cannot be decompressed; call it by hand, or see on_failure="
            raise DrawError(said, "not decompressed") from None
        self._size += len(part)
        if self._size > MOST_TEXT:
            raise _too_large(MOST_TEXT, " after decompression")
        return part


def _too_large(most: int, when: str) -> DrawError:
    return DrawError(f"answered with more than {most // 2**20} MB{when}; ask for a shorter answer", "answer too long")
