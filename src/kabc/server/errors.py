"""Requests that are refused."""

from __future__ import annotations

from kabc.core.errors import KabcError, SettingsError
from kabc.storage.errors import NoStudyError, StorageError, StoreAwayError, StudyExistsError


class RefusedError(KabcError):
    """A request that is not served. The message goes to the caller: it holds no secret."""

    def __init__(self, code: int, message: str, retry: int | None = None) -> None:
        super().__init__(message)
        self.code, self.retry = code, retry  # `retry`: seconds after which it may be tried again


def code_of(error: KabcError) -> int:
    """The HTTP code of an error of kabc."""
    if isinstance(error, RefusedError):
        return error.code
    kinds: tuple[tuple[type[KabcError], int], ...] = (
        (NoStudyError, 404),
        (StudyExistsError, 409),
        (StoreAwayError, 503),
        (StorageError, 409),
        (SettingsError, 409),
    )
    return next((code for kind, code in kinds if isinstance(error, kind)), 400)
