"""`kabc.create_study` and `kabc.load_study`: make a study, or go on with one that is there."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from kabc.core.errors import ArmError, SettingsError
from kabc.results.values import Result
from kabc.running.growth import reused
from kabc.running.inputs import Reading, TableLike
from kabc.running.progress import Ticker
from kabc.running.questions import spec_of
from kabc.running.settings import KernelChoice, Settings, seed_or_fresh
from kabc.running.snapshots import Listener
from kabc.running.sources import Arms, named_arms
from kabc.running.studies import is_final
from kabc.running.study import Study, opened_arms
from kabc.running.workers import Place
from kabc.storage.contract import Storage
from kabc.storage.errors import NoStudyError, StudyExistsError
from kabc.storage.opening import open_storage
from kabc.strategies.base import Strategy
from kabc.study.policies import OnWorkerLoss
from kabc.study.spec import Spec

StorageLike = str | os.PathLike[str] | Storage
IfExists = Literal["raise", "resume"]


@dataclass(frozen=True)
class Question:
    """What is asked, of a study that may be there already. `has_seed`: the seed was given, and is no fresh one."""

    settings: Settings
    types: Mapping[str, str] | None
    watch: bool
    on_worker_loss: OnWorkerLoss | None
    has_seed: bool


def create_study(
    name: str,
    arms: Sequence[Hashable] | Mapping[Any, Any],
    n_clusters: int | None = None,
    delta: float | None = None,
    *,
    storage: StorageLike,
    if_exists: IfExists = "raise",
    kernel: KernelChoice = None,
    strategy: str | Strategy | None = None,
    strategy_options: Mapping[str, Any] | None = None,
    max_samples: int | None = None,
    min_separation: float | None = None,
    pilot: int | None = None,
    check_k: bool | None = None,
    tolerance: object = None,
    seed: int | None = None,
    types: Mapping[str, str] | None = None,
    block: int | str | None = None,
    on_worker_loss: OnWorkerLoss | None = None,
    watch: bool = True,
    reuse: str | None = None,
    anchors: int | None = None,
    gone: Sequence[Hashable] = (),
) -> Study:
    """Make a study: a question that is kept in a store, with everything that is drawn for it.

    Only the names of the arms are kept, and what is asked. Where samples come from is told to `Study.run`, or to the
    processes that draw.

    Parameters
    ----------
    name : str
        The name of the study in the store.
    arms : sequence of hashable, or mapping
        The names of the arms: texts, numbers or tuples of these. Of a mapping, its keys.
    storage : str, path or Storage
        A file of SQLite ("kabc.db"), a URL ("postgresql://user@host/name"), or a store.
    if_exists : {"raise", "resume"}, default "raise"
        Whether a study of this name may be there already. To resume it, it must ask the same question; `seed` may be
        left out then, and another `max_samples` changes its budget.
    on_worker_loss : {"redraw", "encode", "raise"}, optional
        What becomes of a draw whose worker died. Default: it is drawn again, but the run ends where two workers died
        with draws of one arm.
    reuse : str, optional
        An earlier study in the same store. Its samples of arms of the same name are read first, all of them, in the
        order in which they were drawn; then new ones are drawn. Valid if the question was not chosen by looking at
        these samples. `max_samples` is for new samples.
    anchors : int, optional
        With `reuse`: so many new samples of each arm are compared with its recorded ones before these are read. If they
        differ, nothing recorded is read. They are the next samples of the arm. Default: 20.
    gone : sequence of hashable, optional
        With `reuse`: arms that cannot be drawn any more. Only their recorded samples are read.
    n_clusters, delta, kernel, strategy, strategy_options, max_samples, min_separation, pilot, check_k, tolerance, \
    seed, types, block, watch
        As for `kabc.cluster`. Strategies are given by name. Functions cannot be stored.

    Returns
    -------
    Study
        Its methods draw, ask and tell.

    Examples
    --------
    >>> import kabc
    >>> arms = {name: lambda n, rng, mean=mean: rng.normal(mean, 1.0, n) for name, mean in [("a", 0), ("b", 5)]}
    >>> study = kabc.create_study("nightly", arms=list(arms), n_clusters=2, seed=0, storage="kabc.db")
    >>> study.run(arms).groups, study.status
    ((('a',), ('b',)), 'ended')
    """
    if if_exists not in ("raise", "resume"):
        raise SettingsError(f"if_exists must be 'raise' or 'resume', got {if_exists!r}")
    if not isinstance(strategy_options, Mapping | None):
        raise SettingsError(f"strategy_options must be a mapping name -> value, got {strategy_options!r}")
    settings = Settings(
        n_clusters=n_clusters,
        delta=delta,
        kernel=kernel,
        strategy=strategy,
        options=dict(strategy_options or {}),
        max_samples=max_samples,
        min_separation=min_separation,
        pilot=pilot,
        check_k=check_k,
        tolerance=tolerance,
        seed=seed_or_fresh(seed),
        block=block,
    )
    names = _names(arms)
    if len(names) < 2:
        raise ArmError(f"there must be at least 2 arms to compare, got {len(names)}")
    if reuse is None and (gone or anchors is not None):
        raise SettingsError("gone= and anchors= are about recorded samples; pass reuse= too, the name of their study")
    spec = spec_of(settings, names, types, watch=watch, on_worker_loss=on_worker_loss)
    store = open_storage(storage)
    if reuse is not None:
        spec = replace(spec, reuse=reused(store, reuse, names, anchors, gone))
    while True:
        found = _found(store, name) if if_exists == "resume" else None
        if found is not None:
            spec = _as_begun(spec, found.spec, has_seed=seed is not None)
        try:
            return _made_or_resumed(store, name, found, spec, max_samples)
        except StudyExistsError:
            if if_exists == "raise":
                raise
            # another process made it just now: resume that one


def _as_begun(spec: Spec, begun: Spec, *, has_seed: bool) -> Spec:
    """The question with what a study that is there has chosen: its seed, and up to where it reads an earlier study."""
    if not has_seed:
        spec = replace(spec, seed=begun.seed)
    if spec.reuse is not None and begun.reuse is not None:  # the earlier study may have gone on
        spec = replace(spec, reuse=replace(spec.reuse, last_round=begun.reuse.last_round))
    return spec


def _found(store: Storage, name: str) -> Study | None:
    try:
        return Study(store, store.load_study(name))
    except NoStudyError:
        return None


def _made_or_resumed(store: Storage, name: str, found: Study | None, spec: Spec, max_samples: int | None) -> Study:
    """The study that is there, if it asks the same; else a new one."""
    document = spec.to_json()  # refuses what cannot be kept
    if found is None:
        return Study(store, store.create_study(name, document, {"max_samples": max_samples}))
    found.spec.expect_same(spec, name)
    if max_samples is not None and not is_final(found.record):
        found.raise_budget(max_samples)
    return found


def run_as_study(
    storage: StorageLike | None,
    name: str | None,
    asked: Question,
    arms: Arms | TableLike,
    names: Sequence[Hashable] | None,
    reading: Reading,
    place: Place,
    show: Ticker,
    on_round: Listener | None,
) -> Result:
    """`kabc.cluster` with a durable memory: make the study, or go on with the one that is there."""
    if storage is None or name is None:
        raise SettingsError(
            "storage= and study= belong together: where the run is kept, and the name of the study there; pass both, "
            "such as storage='kabc.db', study='nightly', or none of them"
        )
    store = open_storage(storage)
    try:
        found, settings = _found(store, name), asked.settings
        if found is not None and not asked.has_seed:
            settings = replace(settings, seed=found.seed)
        opened = opened_arms(reading, arms, settings, show, place.engine)
        given = dict(named_arms(opened, names))
        known, finite = (
            list(given),
            not any(callable(one) or getattr(one, "remaining", 0) is None for one in given.values()),
        )
        spec = spec_of(
            settings, known, asked.types, watch=asked.watch, on_worker_loss=asked.on_worker_loss, finite=finite
        )
        if found is not None and found.spec.reuse is not None:  # what it reads first was said when it was made
            spec = replace(spec, reuse=found.spec.reuse)
            if {*known, *found.spec.reuse.gone} == {*found.names}:
                spec = replace(spec, names=found.names)
        try:
            study = _made_or_resumed(store, name, found, spec, settings.max_samples)
        except StudyExistsError:  # another process made it just now: go on with that one, and its seed
            return run_as_study(storage, name, asked, arms, names, reading, place, show, on_round)
        return study.run_on(opened, names, place, show, on_round)
    finally:
        if store is not storage:
            store.close()


def _names(arms: object) -> list[Hashable]:
    if isinstance(arms, str | bytes) or not isinstance(arms, Mapping | Sequence):
        raise ArmError(f"arms must be a list of names, got {arms!r}")
    names = list(arms)
    for name in names:
        if not isinstance(name, Hashable) or callable(name):
            raise ArmError(f"arms of a study are names, got {name!r}; pass the arms themselves to study.run()")
        if names.count(name) > 1:
            raise ArmError(f"arm name {name!r} is given twice; names must differ")
    return names


def load_study(name: str, storage: StorageLike) -> Study:
    """Open a study that was made before, by any process.

    Parameters
    ----------
    name : str
        The name of the study in the store.
    storage : str, path or Storage
        Where it is kept, as for `kabc.create_study`.

    Examples
    --------
    >>> import kabc
    >>> made = kabc.create_study("weekly", arms=["a", "b"], n_clusters=2, seed=0, storage="kabc.db")
    >>> kabc.load_study("weekly", storage="kabc.db").names
    ('a', 'b')
    """
    store = open_storage(storage, create=False)
    return Study(store, store.load_study(name))
