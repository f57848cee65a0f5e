"""The answer of a study so far, in the process of a desk.

A study that goes on is replayed once. From then on only new rounds are read: so a look costs as much as what is new.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from kabc.core.errors import SampleError, SettingsError
from kabc.results import words
from kabc.results.schema import Document
from kabc.results.values import Result
from kabc.running import studies
from kabc.running.run import Run
from kabc.running.so_far import of_result
from kabc.running.study import Study
from kabc.server import parts, views
from kabc.server.desk import store
from kabc.server.errors import RefusedError
from kabc.server.hub import price_of
from kabc.server.models.answers import Certainty, PartName, Snapshot
from kabc.storage.contract import Json, StudyRecord, Summary
from kabc.study.earlier import earlier_run
from kabc.study.export import export_study
from kabc.study.spec import Spec

_MOST_STUDIES = 4  # that are kept in memory
_REST = 2.0  # times as long as the last computation took, until the next one


@dataclass
class _Reading:
    """A study that is being read."""

    mark: tuple[object, ...]  # differs where it has to be read anew
    run: Run | None = None
    result: Result | None = None
    revision: int = 0
    n_told: int = -1
    next_look: float = field(default=0.0)
    before: tuple[StudyRecord | None, Result | None] | None = None  # the run before, once it was looked for


_READINGS: OrderedDict[int, _Reading] = OrderedDict()


def _looked(study: int) -> tuple[Summary, _Reading]:
    """The study as it is now, and its answer: at most a little older."""
    seen = store().summary(study)
    record = seen.study
    mark = (record.id, record.state == "ended", repr(record.limits), record.facts is None)
    reading = _READINGS.get(study)
    if reading is None or reading.mark != mark:
        reading = _READINGS[study] = _Reading(mark)
    _READINGS.move_to_end(study)
    while len(_READINGS) > _MOST_STUDIES:
        _READINGS.popitem(last=False)
    if reading.revision == record.revision or time.monotonic() < reading.next_look:
        return seen, reading
    started = time.monotonic()
    try:
        _read_on(seen, reading)
    except BaseException:
        _READINGS.pop(study, None)  # the next look begins again, from the log
        raise
    reading.revision = record.revision
    now = time.monotonic()
    reading.next_look = now + _REST * (now - started)
    return seen, reading


def _read_on(seen: Summary, reading: _Reading) -> None:
    record = seen.study
    if record.state == "ended":
        reading.result = studies.stored_answer(record)
        return
    if record.facts is None or not seen.n_rounds:
        return  # nothing is drawn yet
    if reading.run is None:
        spec = Spec.of_json(record.spec, record.name)
        reading.run = studies.run_of(store(), record, spec, None)
    if reading.run.stepper.found is None:
        try:
            reading.run.stepper.advance()
        except (SampleError, SettingsError):
            spec = Spec.of_json(record.spec, record.name)
            without = studies.without_misfits(store(), record, spec)
            if without is None:
                raise
            reading.run = without
            without.stepper.advance()
    run = reading.run
    n_told = 0 if run.rounds.strategy is None else run.rounds.strategy.n_samples
    if n_told != reading.n_told:
        reading.result, reading.n_told = run.so_far(), n_told


def _result(study: int) -> tuple[_Reading, Result]:
    _, reading = _looked(study)
    if reading.result is None:
        raise RefusedError(409, "there is no answer yet: no round is finished; ask again later")
    return reading, reading.result


# ---------------------------------------------------------------- what can be asked: JSON, as texts


def snapshot(study: int) -> tuple[str, Json | None]:
    """As `Snapshot`, and figures for the list."""
    seen, reading = _looked(study)
    result, computing = reading.result, reading.revision != seen.study.revision
    found = snapshot_of(seen, result, reading.revision, computing=computing)
    return found.model_dump_json(), None if result is None else of_result(result)


def snapshot_of(seen: Summary, result: Result | None, revision: int, *, computing: bool) -> Snapshot:
    """The study with the answer that is known."""
    record = seen.study
    return Snapshot(
        id=record.id,
        name=record.name,
        state=record.state,
        revision=revision,
        computing=computing,
        certainty="none" if result is None else _certainty(result),
        sentence="" if result is None else words.headline(result),
        since=seen.last_change,
        n_samples=seen.n_samples,
        max_samples=record.limits.get("max_samples"),
        spent=price_of(seen) * seen.n_paid,
        certificate="" if result is None else words.certificate(result, everyone=False),
        answer=None if result is None else _short(result),
    )


def _certainty(result: Result) -> Certainty:
    if result.certified:
        return "certified"
    return "doubtful" if result.status == "doubtful" or result.assumptions else "guess"


def _short(result: Result) -> Document:
    facts = result.to_dict()
    facts["effects"]["arms"] = []
    return Document.model_validate(facts)


def pairs(study: int, arm: str | None, offset: int, limit: int) -> str:
    """As `Pairs`."""
    reading, result = _result(study)
    return views.pairs(result, reading.revision, arm, offset, limit).model_dump_json()


def arms(study: int, search: str, offset: int, limit: int) -> str:
    """As `ArmsView`."""
    reading, result = _result(study)
    return views.arms(result, reading.revision, search, offset, limit).model_dump_json()


def samples(study: int, a: str, b: str) -> str:
    """As `SamplesView`."""
    reading, result = _result(study)
    return views.samples(result, reading.revision, a, b).model_dump_json()


def part(study: int, name: PartName) -> str:
    """As `ReportPart`."""
    reading, result = _result(study)
    return parts.part(result, reading.revision, name).model_dump_json()


def changes(study: int) -> str:
    """As `Changes`."""
    reading, result = _result(study)
    if reading.before is None:
        found = earlier_run(store(), store().summary(study).study)
        reading.before = (found, None if found is None else studies.stored_answer(found))
    return views.changes(result, reading.revision, *reading.before).model_dump_json()


def export(study: int, form: str, path: str) -> None:
    """Write the study, or its full result, to a file."""
    if form == "json":
        _, result = _result(study)
        result.save(path)
    else:
        export_study(store(), store().summary(study).study, path)


def stop(study: int, by: str) -> None:
    """End the study with the answer so far."""
    Study(store(), store().summary(study).study).stop(by=by)
