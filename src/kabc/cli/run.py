"""`kabc run`: makes arms from the settings, finds the answer, and prints and saves it."""

from __future__ import annotations

import secrets
import traceback
from collections.abc import Callable
from pathlib import Path

from kabc.cli import exits
from kabc.cli.calls import Call
from kabc.cli.kept import Kept
from kabc.cli.live import LivePanel
from kabc.cli.outputs import Outputs
from kabc.cli.show import Look, deliver
from kabc.cli.stores import files_of, opened, study_asked
from kabc.config.models import Config
from kabc.config.sources import input_files, open_arms, opening
from kabc.core.errors import ArmError, SettingsError
from kabc.results.values import Result
from kabc.running.cluster import cluster
from kabc.running.interrupts import command_interrupts
from kabc.running.progress import Ticker
from kabc.strategies import needs_kernel


def run_it(
    config: Config, config_file: Path | None, call: Call, look: Look, *, quiet: bool | None, debug: bool = False
) -> int:
    """Draw, decide, print and save. The exit code says how the run ended."""
    outputs = Outputs(config.save, config.report, title=config.title)
    return answered(config, config_file, call, look, outputs, lambda: _drawn(config, quiet), quiet=quiet, debug=debug)


def answered(
    config: Config,
    config_file: Path | None,
    call: Call,
    look: Look,
    outputs: Outputs,
    draw: Callable[[], Result],
    *,
    quiet: bool | None,
    debug: bool,
) -> int:
    """Draw, and deliver the answer, also that of a run which ended in an error."""
    # before any sample is drawn, because samples may cost money
    outputs.expect_usable([*input_files(config), *files_of(config), *([] if config_file is None else [config_file])])
    with command_interrupts(Ticker(not quiet), to_the_end=call.last) as interrupts:
        result, failed = _ended(draw)
        interrupts.over()
        if isinstance(failed, SettingsError) and not result.rounds:
            # the first samples show that the settings do not fit them: there is no answer to deliver
            raise SettingsError(failed.what) from failed
        code = deliver(call.recorded(result), outputs, look, interrupts)
        if failed is not None:
            if debug:
                traceback.print_exception(failed)
            exits.fail(exits.for_the_shell(result.failure), code, as_json=False)  # the answer is the document
        return code


def _ended(draw: Callable[[], Result]) -> tuple[Result, Exception | None]:
    """The answer, and the error that ended the run, if one did. Errors before the first sample are raised."""
    try:
        return draw(), None
    except Exception as error:
        so_far = getattr(error, "result", None)
        if not isinstance(so_far, Result):
            raise
        return so_far, error


def _drawn(config: Config, quiet: bool | None) -> Result:
    asked = study_asked(config)
    if asked is None:
        return _clustered(config, quiet)
    storage, name = asked
    with opened(storage, new=True) as store:
        kept = Kept.of(store, name)
        result = _clustered(config, quiet, kept)
        if not quiet and result.status == "interrupted":
            kept.say_how_to_go_on(result)
        return result


def _clustered(config: Config, quiet: bool | None, kept: Kept | None = None) -> Result:
    seed = config.seed
    if seed is None:
        seed = secrets.randbits(32) if kept is None or kept.seed is None else kept.seed
    name = (
        config.strategy
        or ("tolerance" if config.tolerance is not None else None)
        or ("kabc" if config.min_separation else "anytime")
    )
    with LivePanel(quiet=quiet) as panel:
        if kept is not None:
            for line in filter(None, (kept.first_line() if panel.shown else "", kept.budget_line(config.max_samples))):
                panel.now(line)
        with panel.during(opening(config)):
            arms = open_arms(config, seed, with_kernel=needs_kernel(name))
        if len(arms) < 2:
            raise ArmError(f"there must be at least 2 arms to compare, got {len(arms)}")
        if not quiet:
            exits.warn(arms.warnings)
        return cluster(
            arms,
            config.clusters,
            config.delta,
            strategy=name,
            strategy_options=config.options,
            max_samples=config.max_samples if kept is None else kept.budget(config.max_samples),
            min_separation=config.min_separation,
            pilot=config.pilot,
            block=config.block,
            check_k=config.check_k,
            tolerance=config.tolerance,
            seed=seed,
            workers=config.workers,
            on_worker_loss=config.on_worker_loss,
            watch=config.watch,
            progress=panel,
            on_round=panel.after,
            storage=None if kept is None else kept.storage,
            study=None if kept is None else kept.name,
        )
