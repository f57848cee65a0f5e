"""The step of studies that workers draw for by HTTP, in the process of a desk.

Such workers only lease and tell. So the server tells whole rounds to the strategy and opens the next, unless a worker
with access to the store does so. It has no arms: of tables it cannot watch the order of rows, and the certificate says
so.
"""

from __future__ import annotations

import os
import secrets
from collections import OrderedDict
from dataclasses import dataclass

from kabc.core.errors import KabcError, SettingsError
from kabc.running import studies
from kabc.running.settings import AUTO
from kabc.running.stepping import living
from kabc.server.desk import store
from kabc.storage.contract import Json, StudyRecord
from kabc.storage.errors import NoStudyError, StoreAwayError
from kabc.study.documents import facts_of_document
from kabc.study.spec import Spec

_SECONDS = 15.0  # for which the step is taken: when the server dies, others have it after this time
_SILENT = 60.0  # seconds without a sign of life after which a worker is taken for gone
_MOST_STUDIES = 4  # that are kept in memory
_ME = f"server-{os.getpid()}-{secrets.token_hex(4)}"


@dataclass
class _Stepping:
    mark: str  # differs where the run has to be made anew
    step: studies.Step


_STEPPING: OrderedDict[int, _Stepping] = OrderedDict()


def step(study: int) -> tuple[str, Json | None]:
    """Go as far as the draws allow. Returns why the study cannot go on at all (empty if it can), and how far it is."""
    why = _step(study)
    known = _STEPPING.get(study)
    return why, None if known is None else known.step.teller.latest


def _step(study: int) -> str:
    try:
        record = store().summary(study).study
        if record.state != "running" or record.facts is None or _left_to_others(record):
            return ""
        if not store().take_step(study, _ME, _SECONDS):
            return ""
        _stepping(record).step.advance()
    except (NoStudyError, StoreAwayError):
        return ""
    except KabcError as error:
        _STEPPING.pop(study, None)
        return str(error)
    except BaseException:
        _STEPPING.pop(study, None)
        raise
    return ""


def _stepping(record: StudyRecord) -> _Stepping:
    mark = repr(record.limits)
    known = _STEPPING.get(record.id)
    if known is None or known.mark != mark:
        spec = Spec.of_json(record.spec, record.name)
        run = studies.run_of(store(), record, spec, None, worker=_ME)
        known = _STEPPING[record.id] = _Stepping(mark, studies.Step(store(), record, run))
    _STEPPING.move_to_end(record.id)
    while len(_STEPPING) > _MOST_STUDIES:
        _STEPPING.popitem(last=False)
    return known


def _left_to_others(record: StudyRecord) -> bool:
    """Whether a worker that has the store, and all tables of the study, does the step: it can watch their order."""
    assert record.facts is not None
    spec = Spec.of_json(record.spec, record.name)
    facts = facts_of_document(record.facts, len(spec.names), record.name)
    ordered = {str(name) for name, arm in zip(spec.names, facts.arms, strict=True) if arm.in_order}
    if not ordered:
        return False
    for worker in living(store(), record.id, _SILENT):
        if not worker.facts.get("by_url") and ordered <= set(map(str, worker.facts.get("arms", ()))):
            return True
    if spec.block == AUTO and not any(note.kind == "block" for note in store().notes(record.id)):
        raise SettingsError(
            f"study {record.name!r} has block='auto', which looks at the rows of all tables: a worker that has them "
            "must have the store too (kabc worker --storage); or make a study with block= a number"
        )
    return False
