"""The accidents of `benchmarks/rivals_optuna.py`, as Optuna has them."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import JournalStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from benchmarks.durable.processes import LOADED, all_of, start
from benchmarks.durable.seen import Seen

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=ExperimentalWarning)
warnings.filterwarnings("ignore", "Heartbeat of storage")  # it is switched on all the same
LOADED.append(__name__)
HEARTBEAT, GRACE = 1, 2  # seconds


def wal(path: Path) -> None:
    """Optuna leaves SQLite in rollback-journal mode; the file remembers this switch."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def sql(path: Path, seconds: float = 60.0) -> RDBStorage:
    return RDBStorage(f"sqlite:///{path}", engine_kwargs={"connect_args": {"timeout": seconds}})


def watched(path: Path) -> RDBStorage:
    """With heartbeats, and trials of dead workers done again."""
    return RDBStorage(
        f"sqlite:///{path}",
        engine_kwargs={"connect_args": {"timeout": 60.0}},
        heartbeat_interval=HEARTBEAT,
        grace_period=GRACE,
        heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(),
    )


def journal(path: Path) -> JournalStorage:
    return JournalStorage(JournalFileBackend(str(path)))


def opened(storage: Any) -> optuna.Study:
    sampler = optuna.samplers.RandomSampler()  # without a seed: values tell trials apart
    return optuna.create_study(study_name="study", storage=storage, sampler=sampler, load_if_exists=True)


def trials(study: optuna.Study, count: int) -> None:
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, trial.suggest_float("x", 0, 1))


# ------------------------------------------------------------ torn writes


def torn_writes(home: Path, count: int) -> list[Seen]:
    return [_torn_journal(home, count), _torn_wal(home, count)]


def _torn_journal(home: Path, count: int) -> Seen:
    whole = home / "whole.log"
    trials(opened(journal(whole)), 20)
    content, rng = whole.read_bytes(), random.Random(0)
    right, ends = 0, Counter[str]()
    for number in range(count):
        path = home / f"torn-{number}.log"
        path.write_bytes(content[: rng.randrange(len(content) // 2, len(content))])
        failures = []
        for _ in range(3):  # three processes that work on it, one after the other
            try:
                trials(opened(journal(path)), 1)
                failures.append("")
            except Exception as error:
                failures.append(type(error).__name__)
        right += failures == ["", "", ""]
        ends[failures[-1]] += 1
        path.unlink()
    return Seen("torn write", "Optuna, journal file", count, right, f"third process: {dict(ends)}")


def _torn_wal(home: Path, count: int) -> Seen:
    path, rng, right = home / "torn.db", random.Random(0), 0
    wal(path)
    study = opened(sql(path))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    trials(study, 20)
    main, log = path.read_bytes(), path.with_name("torn.db-wal").read_bytes()
    for number in range(count):
        copy = home / f"torn-{number}.db"
        copy.write_bytes(main)
        copy.with_name(copy.name + "-wal").write_bytes(log[: rng.randrange(len(log))])
        again = opened(sql(copy))
        whole = all(trial.value == trial.params["x"] for trial in again.get_trials(states=[TrialState.COMPLETE]))
        trials(again, 1)
        right += whole
    return Seen("torn write", "Optuna, SQLite (WAL)", count, right, "opens at a commit of SQLite; goes on")


# ------------------------------------------------------------ late, and dead


def _optimize(path: Path, count: int, seconds: float) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        time.sleep(seconds)
        return float(x)

    opened(watched(path)).optimize(objective, n_trials=count)


def late(home: Path) -> list[Seen]:
    path, log = home / "late.db", home / "late.txt"
    wal(path)
    study = opened(watched(path))
    frozen = start(_optimize, path, 2, 1.5, log=log)
    while not study.get_trials(states=[TrialState.RUNNING]):
        time.sleep(0.05)
    time.sleep(0.2)
    os.kill(frozen.pid or 0, signal.SIGSTOP)
    time.sleep(HEARTBEAT + GRACE + 1)
    other = start(_optimize, path, 2, 0.0)
    other.join()
    os.kill(frozen.pid or 0, signal.SIGCONT)
    frozen.join()
    lines = log.read_text().splitlines() if log.exists() else []
    said = [line for line in lines if line.split(":")[0].endswith("Error")]
    by_hand = _late_by_hand(home)
    return [
        Seen("late tell", "Optuna, optimize", 1, int(frozen.exitcode == 0), f"the worker ends: {' / '.join(said)}"),
        *by_hand,
    ]


def _late_by_hand(home: Path) -> list[Seen]:
    study = opened(watched(home / "hand.db"))
    first, second = study.ask(), study.ask()
    for trial in (first, second):  # as another process does with trials that it takes for dead
        study.tell(trial.number, state=TrialState.FAIL)
    try:
        study.tell(first, 0.5)
        said = ""
    except ValueError as error:
        said = str(error)
    study.tell(second, 0.5, skip_if_finished=True)
    kept = [trial.value for trial in study.trials]
    return [
        Seen("late tell", "Optuna, ask/tell", 1, int(not said), f"raises: {said}"),
        Seen("late tell", "Optuna, skip_if_finished=True", 1, 1, f"goes on; the late value is not kept: {kept[1]}"),
    ]


def _ask_and_die(path: Path) -> None:
    opened(watched(path)).ask().suggest_float("x", 0, 1)
    os.kill(os.getpid(), signal.SIGKILL)


def dead_worker(home: Path) -> list[Seen]:
    rows = []
    for name in ("ask/tell", "optimize"):
        path = home / f"dead-{name[:3]}.db"
        wal(path)
        study = opened(watched(path))
        if name == "ask/tell":
            start(_ask_and_die, path).join()
        else:
            worker = start(_optimize, path, 1, 60.0)
            while not [trial for trial in study.get_trials() if trial.params]:
                time.sleep(0.05)
            time.sleep(0.2)
            worker.kill()
            worker.join()
        time.sleep(HEARTBEAT + GRACE + 1)
        lost = study.trials[0].params
        optuna.storages.fail_stale_trials(study)
        start(_optimize, path, 3, 0.0).join()
        again = [trial.params for trial in study.trials[1:]]
        state = study.trials[0].state.name
        said = f"its trial is {state} afterwards, " + (
            "and is redone as a new one" if lost in again else "and is never redone"
        )
        rows.append(Seen("dead worker", f"Optuna, {name}", 1, int(lost in again), said))
    return rows


# ------------------------------------------------------------ many writers


def _write(path: Path, count: int, seconds: float, said: Path) -> None:
    errors, done = Counter[str](), 0
    study = None
    for _ in range(count):
        try:
            study = study or opened(sql(path, seconds))
            trials(study, 1)
            done += 1
        except Exception as error:
            cause = error.__cause__ or error
            errors["locked" if "locked" in str(cause) else type(cause).__name__] += 1
    said.write_text(json.dumps([done, errors]))


def writers(home: Path, processes: int, each: int) -> list[Seen]:
    rows: list[Seen] = []
    settings = {"as it comes": (False, 5.0), "60 s": (False, 60.0), "WAL, 60 s": (True, 60.0)}
    for name, (switched, seconds) in settings.items():
        folder = home / f"writers-{len(rows)}"
        folder.mkdir()
        path = folder / "study.db"
        if switched:
            wal(path)
        opened(sql(path))
        began = time.perf_counter()
        with all_of(_write, [(path, each, seconds, folder / f"{n}.json") for n in range(processes)]) as running:
            for process in running:
                process.join()
        took = time.perf_counter() - began
        said = [json.loads(file.read_text()) for file in folder.glob("*.json")]
        done, errors = sum(one[0] for one in said), sum((Counter(one[1]) for one in said), Counter[str]())
        rows.append(
            Seen(
                f"{processes} writers",
                f"Optuna, SQLite, {name}",
                processes * each,
                done,
                f"{dict(errors) or 'no error'}; {took:.0f} s",
            )
        )
    return rows
