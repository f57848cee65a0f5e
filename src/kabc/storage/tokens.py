"""Tokens in memory."""

from __future__ import annotations

import time
from itertools import count
from threading import Lock

from kabc.storage.checks import check_name
from kabc.storage.contract import Scope, TokenRecord


class MemoryTokens:
    """The part of a store in memory that keeps tokens."""

    def __init__(self) -> None:
        self._tokens: dict[str, TokenRecord] = {}  # by digest
        self._token_ids, self._token_lock = count(1), Lock()

    def add_token(self, label: str, scope: Scope, digest: str, seconds: float | None) -> TokenRecord:
        check_name("token", label)
        with self._token_lock:
            if digest not in self._tokens:
                now = time.time()
                expires = None if seconds is None else now + seconds
                self._tokens[digest] = TokenRecord(next(self._token_ids), label, scope, digest, now, expires)
            return self._tokens[digest]

    def tokens(self) -> list[TokenRecord]:
        with self._token_lock:
            return list(self._tokens.values())

    def remove_token(self, token: int) -> bool:
        with self._token_lock:
            found = next((one.digest for one in self._tokens.values() if one.id == token), None)
            return found is not None and self._tokens.pop(found, None) is not None
