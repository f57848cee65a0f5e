"""Endpoints for those who steer. Everything that is done here is a note in the study, with the label of the token."""

from __future__ import annotations

import logging

from kabc.core.errors import SettingsError
from kabc.running.study import Study
from kabc.server import answers
from kabc.server.errors import RefusedError
from kabc.server.lines import view_of
from kabc.server.models.actions import Delete, Steer
from kabc.server.models.people import Done
from kabc.server.models.studies import StudyView
from kabc.server.service import Call
from kabc.storage.contract import Storage

log = logging.getLogger("kabc.server")

_PATIENCE = 600.0  # seconds for which a study may compute its last answer


async def steer(call: Call) -> StudyView:
    """Pause, resume, stop a study, or raise its budget."""
    asked: Steer = call.body
    assert call.guest is not None
    if asked.action == "stop":
        await call.service.reader.ask(answers.stop, call.study, call.guest.label, patience=_PATIENCE)
    else:
        await call.service.thread(_steered, call.service.storage, call.study, asked, call.guest.label)
    call.service.stuck.pop(call.study, None)
    call.service.hub.nudge()
    log.info("study number %d: %s, by %s", call.study, asked.action, call.guest.label)
    return await call.service.thread(view_of, call.service.storage, call.study)


def _steered(storage: Storage, number: int, asked: Steer, by: str) -> None:
    if asked.action != "raise-budget" and asked.max_samples is not None:
        raise RefusedError(400, f"max_samples goes with raise-budget, not with {asked.action}")
    record = storage.summary(number).study
    study = Study(storage, record)
    if asked.action == "raise-budget":
        if "max_samples" not in asked.model_fields_set:
            raise RefusedError(400, "raise-budget needs max_samples: a number, or null for no limit")
        study.raise_budget(asked.max_samples, by=by)
        return
    if record.state == "ended":
        raise SettingsError(f"study {record.name!r} has ended; raise-budget lets one go on whose budget is spent")
    if asked.action == "pause":
        study.pause(by=by)
    else:
        study.resume(by=by)


async def delete(call: Call) -> Done:
    """Delete a study, if its name was typed."""
    typed: Delete = call.body
    assert call.guest is not None
    name = await call.service.thread(_deleted, call.service.storage, call.study, typed.name)
    call.service.hub.nudge()
    log.warning("study number %d, %r, was deleted by %s", call.study, name, call.guest.label)
    return Done()


def _deleted(storage: Storage, number: int, typed: str) -> str:
    name = storage.summary(number).study.name
    if typed != name:
        raise RefusedError(409, "the name that was typed is not that of the study; nothing was deleted")
    storage.delete_study(number)
    return name
