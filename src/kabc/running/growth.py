"""From the record of an earlier study to the samples that a new one reads first."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from kabc.arms.recorded import RecordedArm
from kabc.core.errors import ArmError, SettingsError
from kabc.core.settings import whole_number
from kabc.core.words import counted
from kabc.running.anchors import ANCHORS, compare
from kabc.running.reuse import Reuse
from kabc.running.sources import ArmLike, Sources
from kabc.storage.contract import Storage, StudyRecord
from kabc.storage.errors import NoStudyError, StorageError
from kabc.study.facts import ArmFacts, Facts
from kabc.study.growth import Rows, drawn_rows, joined, last_whole_round
from kabc.study.spec import Reused, Spec

_ANCHOR_ROUND = 0


def reused(
    storage: Storage, study: str, names: Sequence[Hashable], anchors: int | None, gone: Sequence[Hashable]
) -> Reused:
    """What a new study with these arms reads of an earlier one: all rounds that are whole now."""
    record = storage.load_study(study)
    known = Spec.of_json(record.spec, study)
    if known.block not in (None, 1):
        raise SettingsError(f"samples of study {study!r} form blocks, so they cannot be read again; leave reuse= out")
    shared = [name for name in names if name in known.names]
    if not shared:
        raise SettingsError(f"study {study!r} has none of these arms; it has {list(known.names)}")
    for name in gone:
        if name not in shared:
            raise SettingsError(f"gone= names an arm {name!r} that is not an arm of both studies; they share {shared}")
    last = last_whole_round(storage, record.id)
    if last < 0:
        raise SettingsError(f"study {study!r} has no whole round, so there is nothing to read; leave reuse= out")
    n_anchors = ANCHORS if anchors is None else whole_number("anchors", anchors, 1)
    return Reused(study, record.id, last, n_anchors, tuple(gone))


def reuse_of(storage: Storage, spec: Spec) -> Reuse | None:
    """The samples that a study reads before it draws; None if it reads none."""
    if spec.reuse is None:
        return None
    past = _record(storage, spec.reuse)
    rows = [past.get(name) for name in spec.names]
    return Reuse(spec.reuse.study, rows, [name not in spec.reuse.gone for name in spec.names], spec.reuse.anchors)


def _record(storage: Storage, given: Reused) -> Mapping[Hashable, Rows]:
    """All samples of each arm in their order: those that the earlier study has read itself, then those it has drawn."""
    record = _earlier(storage, given)
    spec = Spec.of_json(record.spec, record.name)
    own = drawn_rows(storage, record.id, 0, given.last_round)
    if spec.reuse is None:
        return {spec.names[arm]: rows for arm, rows in own.items()}
    before = _record(storage, spec.reuse)
    anchors = _named(spec, drawn_rows(storage, record.id, _ANCHOR_ROUND, _ANCHOR_ROUND))
    checked = {name: rows for name, rows in anchors.items() if name in before and name not in spec.reuse.gone}
    same = not checked or compare(before, checked, spec.seed, n_arms=len(spec.names)).passed
    if not same:  # then it has read what was drawn later alone
        return _named(spec, drawn_rows(storage, record.id, _ANCHOR_ROUND + 1, given.last_round))
    new = _named(spec, own)
    both = {name: [part[name] for part in (before, new) if name in part] for name in spec.names}
    return {name: joined(name, parts) for name, parts in both.items() if parts}


def _earlier(storage: Storage, given: Reused) -> StudyRecord:
    try:
        record = storage.load_study(given.study)
    except NoStudyError:
        record = None
    if record is None or record.id != given.id:
        raise StorageError(f"the study reads samples of study {given.study!r}, which was deleted from this store")
    return record


def gone_arms(storage: Storage, spec: Spec, given: Mapping[Hashable, ArmLike]) -> dict[Hashable, RecordedArm]:
    """Arms that cannot be drawn any more, which have their record alone. Refused where one of them is given."""
    if spec.reuse is None or not spec.reuse.gone:
        return {}
    for name in spec.reuse.gone:
        if name in given:
            raise ArmError("the study was told that this arm is gone; leave it out").of_arm(name)
    past = _record(storage, spec.reuse)
    return {name: RecordedArm(len(past.get(name, ()))) for name in spec.reuse.gone}


def expect_new_samples(storage: Storage, spec: Spec, sources: Sources) -> None:
    """Refuse rows that may be in the record already: they would be read twice, as if they were new."""
    if spec.reuse is None:
        return
    earlier = _earlier(storage, spec.reuse)
    known = Spec.of_json(earlier.spec, earlier.name).names
    for name, arm in zip(sources.names, sources.arms, strict=True):
        if arm.remaining is not None and name in known and name not in spec.reuse.gone:
            raise ArmError(
                f"its samples of study {spec.reuse.study!r} are read first, and its {counted(arm.remaining, 'row')} "
                "here may be the same ones again; pass an arm that draws new samples, or make the study with "
                f"gone=[{name!r}] (the record alone), or without reuse="
            ).of_arm(name)


def _named(spec: Spec, rows: Mapping[int, Rows]) -> dict[Hashable, Rows]:
    return {spec.names[arm]: one for arm, one in rows.items()}


def with_gone(facts: Facts, spec: Spec, reuse: Reuse | None) -> Facts:
    """The facts, with what is known of arms that cannot be drawn any more."""
    if spec.reuse is None or reuse is None or not spec.reuse.gone:
        return facts
    sizes = zip(spec.names, facts.arms, reuse.sizes, strict=True)
    gone = spec.reuse.gone
    return replace(
        facts, arms=tuple(ArmFacts(size=n, recorded=True) if name in gone else one for name, one, n in sizes)
    )
