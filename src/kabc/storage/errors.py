"""What can go wrong with a store of studies."""

from __future__ import annotations

from kabc.core.errors import KabcError


class StorageError(KabcError, RuntimeError):
    """A store cannot be opened, read or written, or what it holds is damaged or of another version."""


class StoreAwayError(StorageError):
    """A store does not answer now, and may do so later: its connection is lost, it is locked, or its disk is full."""


class NoStudyError(StorageError):
    """There is no study of this name in the store."""


class StudyExistsError(StorageError):
    """The name of a study is taken."""
