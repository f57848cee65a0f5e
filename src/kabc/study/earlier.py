"""The run before: which study of a store a study is to be compared with.

That is the study whose samples it reads first. Otherwise it is the latest one made before it that has the same name but
for a date or number at its end ("nightly", "nightly-2", "nightly 2026-11-17"), and at least one arm in common. Only
studies that have ended count.
"""

from __future__ import annotations

import re

from kabc.storage.contract import Storage, StudyRecord
from kabc.storage.errors import StorageError
from kabc.study.spec import Spec

_DATE = r"\d{4}[-.]?\d{2}[-.]?\d{2}"
_TIME = r"(?:[ T_.-]?\d{2}[:.-]?\d{2}(?:[:.-]?\d{2})?Z?)?"
_LAST = re.compile(rf"[ \t._#/-]*(?:{_DATE}{_TIME}|[vV]?\d+)\Z")


def stem_of(name: str) -> str:
    """The name without a date or number at its end."""
    return _LAST.sub("", name)


def earlier_run(storage: Storage, study: StudyRecord) -> StudyRecord | None:
    """The study that this one is to be compared with; None: there is none."""
    spec = Spec.of_json(study.spec, study.name)
    read = None if spec.reuse is None else _ended(storage, spec.reuse.study)
    if spec.reuse is not None and read is not None and read.id == spec.reuse.id:
        return read
    stem, names = stem_of(study.name), storage.study_names()
    before = names[: names.index(study.name)] if study.name in names else names
    like = (_ended(storage, name) for name in reversed(before) if stem_of(name) == stem)
    return next((one for one in like if one is not None and _arms(one) & set(map(str, spec.names))), None)


def _ended(storage: Storage, name: str) -> StudyRecord | None:
    try:
        found = storage.load_study(name)
    except StorageError:  # deleted, or damaged
        return None
    return None if found.answer is None or found.state != "ended" else found


def _arms(study: StudyRecord) -> set[str]:
    try:
        return set(map(str, Spec.of_json(study.spec, study.name).names))
    except StorageError:
        return set()
