"""From the settings of a call to the question of a study, and back."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from kabc.core.errors import SettingsError
from kabc.core.kernels import Hamming, Kernel
from kabc.core.samples import describe
from kabc.results.origin import origin_now
from kabc.running.inputs import suitable_kernel
from kabc.running.settings import Settings
from kabc.storage.contract import StudyRecord
from kabc.study.facts import ArmFacts, Facts
from kabc.study.policies import OnWorkerLoss
from kabc.study.spec import Spec

_DELTA = 0.05


def spec_of(
    settings: Settings,
    names: Sequence[Hashable],
    types: Mapping[str, str] | None,
    *,
    watch: bool,
    on_worker_loss: OnWorkerLoss | None,
) -> Spec:
    """The question of a call. What cannot be stored is refused, before anything is drawn."""
    chosen, kernel = settings.chosen, settings.kernel
    if not isinstance(chosen, str):
        raise SettingsError(
            f"a strategy object cannot be stored in a study, got {describe(chosen)}; pass the strategy by its name, "
            "with strategy_options="
        )
    if kernel is not None and not isinstance(kernel, Kernel):
        raise SettingsError(
            "a kernel that is a function of a pilot cannot be stored in a study; pass a kernel such as "
            "kabc.Gaussian(bandwidth=1.0), or leave it out for one that is chosen on a pilot"
        )
    settings.check(len(names))
    return Spec(
        names=tuple(names),
        strategy=chosen,
        seed=settings.seed,
        options=settings.options,
        n_clusters=settings.n_clusters,
        delta=_DELTA if settings.delta is None else float(settings.delta),
        kernel=kernel,
        min_separation=settings.min_separation,
        pilot=settings.pilot,
        check_k=settings.check_k,
        tolerance=settings.tolerance,
        block=settings.block,
        types=types,
        watch=watch,
        on_worker_loss=on_worker_loss,
        kabc=origin_now("").version,
    )


def settings_of(spec: Spec, study: StudyRecord, facts: Facts) -> Settings:
    """The settings of a run that answers the question with these arms, and with the budget of now."""
    settings = Settings(
        n_clusters=spec.n_clusters,
        delta=spec.delta,
        kernel=spec.kernel,
        strategy=spec.strategy,
        options=dict(spec.options),
        max_samples=study.limits.get("max_samples"),
        min_separation=spec.min_separation,
        pilot=spec.pilot,
        seed=spec.seed,
        block=spec.block,
        check_k=spec.check_k,
        tolerance=spec.tolerance,
        columns=facts.columns,
    )
    if settings.kernel is None and settings.by_kernel:
        settings = replace(settings, kernel=suitable_kernel(facts))
    paired = [name for name, about in zip(spec.names, facts.arms, strict=True) if about.paired]
    return settings.with_paired(paired)


def takes_texts(study: StudyRecord) -> bool:
    """Whether samples of a study may be texts: what its question says, before anything is drawn."""
    spec = Spec.of_json(study.spec, study.name)
    settings = settings_of(spec, study, Facts((ArmFacts(),) * len(spec.names)))
    return settings.bets or isinstance(settings.kernel, Hamming)
