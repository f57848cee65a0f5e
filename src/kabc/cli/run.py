"""`kabc run`: settings to arms, arms to an answer, the answer to people and files."""

from __future__ import annotations

import secrets
from pathlib import Path

from kabc.arms.base import NamedArms
from kabc.cli.live import Progress
from kabc.cli.show import deliver, expect_folders, expect_other_files
from kabc.config.models import Config
from kabc.config.sources import input_files, open_arms
from kabc.core.errors import ArmError, SettingsError
from kabc.results.values import Result
from kabc.running.cluster import cluster
from kabc.running.progress import sigterm_interrupts
from kabc.strategies import Strategy, make_strategy, needs_kernel


def run_it(config: Config, config_file: Path | None, *, as_json: bool, quiet: bool, certificate: bool) -> int:
    """Draw, decide, save, print; the exit code says how it ended."""
    # before a single sample is paid for
    expect_folders(config.save, config.report)
    if config.save or config.report:
        read = input_files(config) + ([] if config_file is None else [str(config_file)])
        expect_other_files(config.save, config.report, read)
    with sigterm_interrupts():
        result = _drawn(config, quiet)
    return deliver(result, save=config.save, report=config.report, as_json=as_json, certificate=certificate)


def _drawn(config: Config, quiet: bool) -> Result:
    seed = secrets.randbits(32) if config.seed is None else config.seed
    name = config.strategy or ("kabc" if config.min_separation else "anytime")
    arms = open_arms(config, seed, with_kernel=needs_kernel(name))
    if len(arms) < 2:
        raise ArmError(f"there must be at least 2 arms to compare, got {len(arms)}")
    strategy: Strategy | str = name
    if not needs_kernel(name) and config.min_separation is None:
        # made here, so that the progress can look at its evidence; with a kernel a pilot comes first
        strategy = make_strategy(name, len(arms), config.clusters, config.delta, None, config.options)
    watched = None if isinstance(strategy, str) else strategy
    with Progress(len(arms), arms.price, watched, quiet=quiet) as progress:
        return cluster(
            arms,
            config.clusters,
            config.delta,
            strategy=strategy,
            strategy_options=config.options if watched is None else None,
            max_samples=_budget(config, arms),
            min_separation=config.min_separation,
            pilot=config.pilot if watched is None else None,
            seed=seed,
            workers=config.workers,
            progress=progress.doing,
            on_round=progress.after,
        )


def _budget(config: Config, arms: NamedArms) -> int | None:
    """Without a number of groups: as asked for, or every row of finite arms."""
    if config.max_samples or config.clusters or config.min_separation:
        return config.max_samples
    left = [arm.remaining for arm in arms.values()]
    if any(count is None for count in left):
        raise SettingsError(
            "these arms have no end: give --clusters (how many groups), or --max-samples (how much to draw; the answer "
            "is then a lower bound on the number of groups)"
        )
    return sum(count or 0 for count in left)
