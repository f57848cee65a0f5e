"""What can go wrong with a store of studies."""

from __future__ import annotations

from kabc.core.errors import KabcError


class StorageError(KabcError, RuntimeError):
    """A store cannot be opened, read or written, or what it holds is damaged or of another version."""


class NoStudyError(StorageError):
    """There is no study of this name in the store."""


class StudyExistsError(StorageError):
    """The name of a study is taken."""
