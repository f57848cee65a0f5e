"""Arms that are shell commands: a sample is one run, measured by its output, time, processor time or memory."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kabc.arms.base import NamedArms
from kabc.arms.failures import (
    DrawError,
    OnFailure,
    Policy,
    column_names,
    cut,
    expect,
    is_positive,
    is_whole,
    numbers,
    picked,
)
from kabc.core.errors import ArmError, SettingsError

Measure = Literal["output", "wall", "cpu", "rss"]
Command = str | Sequence[str]

_SEEDS = 2**31  # fits the seed of every common language
_WARMUP_SEED = 0
_MOST_OUTPUT = 2**24  # bytes that are read back from the end of an output
_RSS_UNIT = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss is in bytes there, in kilobytes elsewhere
_NOT_RUNNABLE = (126, 127)  # what a shell answers for a file that is no program, and for no file

# Linux lets a new program inherit the peak memory of the process that started it, so that anything started from here
# would weigh at least as much as this Python with all its data. A bare one in between weighs about 10 MB.
_WEIGH = """
import os, signal, sys
nothing = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
try:
    pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=nothing, setsigdef=[signal.SIGPIPE])
except OSError as error:
    sys.exit(126 if isinstance(error, PermissionError) else 127)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
"""


def command_arms(
    commands: Mapping[str, Command],
    *,
    measure: Measure = "output",
    json_path: str | None = None,
    columns: Sequence[str] | None = None,
    warmup: int = 1,
    timeout: float = 60.0,
    env: Mapping[str, str | Mapping[str, str]] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    on_failure: OnFailure = "raise",
    retries: int = 3,
) -> NamedArms:
    """Arms that are commands; a sample is one run.

    A run finds a fresh random whole number in the variable KABC_SEED: a command that takes its randomness from there
    gives the same answer for the same seed.

    Parameters
    ----------
    commands : name -> command. Text is run by the shell, a list of words directly.
    measure : "output": the last line that is printed, a number, several of them, or JSON; "wall": seconds from start to
        end; "cpu": seconds of processor time (user and system) of the command and the processes it waited for; "rss":
        peak memory in MB (2**20 bytes) of the largest of those processes, of which less than about 10 reads as 10.
        Output is thrown away unless it is what is measured. Commands that run at once slow each other down: leave
        `workers` at 1 where time is measured.
    json_path : where the number is in printed JSON, e.g. "latency.p50" or "runs.0.time".
    columns : names of the numbers that one run prints; needed only where a run prints several and failures are encoded.
    warmup : runs of each arm before its first sample that are not counted, with KABC_SEED=0.
    timeout : seconds after which a run is ended, with every process that it started, and has failed.
    env : variables for all commands, or for one arm: ``{"LANG": "C", "name of arm": {"OMP_NUM_THREADS": "1"}}``.
    on_failure : what becomes of an exit code other than 0, a timeout, output that is no number: "raise" ends the run,
        "retry" tries again up to `retries` times with growing pauses (what is compared is then the distribution given
        success), "encode" makes it a value: an extra last column "failed".
    """
    _check(measure, json_path, warmup, timeout)
    names = column_names(columns) if measure == "output" else (measure,)
    policy = Policy(on_failure, retries, names)
    variables = _variables(commands, env or {})
    how = _How(measure, json_path, timeout, None if cwd is None else os.fspath(cwd))
    arms = {
        name: CommandArm(name, _command(name, command), how, policy, warmup, variables[name])
        for name, command in commands.items()
    }
    return NamedArms(arms, notes=(policy.note,), columns=policy.sample_columns)


@dataclass(frozen=True)
class _How:
    """How every command is run and what is read from it."""

    measure: Measure
    json_path: str | None
    timeout: float
    cwd: str | None


@dataclass
class CommandArm:
    """A command; every sample is a run of its own."""

    name: str
    command: str | tuple[str, ...]
    how: _How = field(repr=False)
    policy: Policy
    warmup: int
    env: Mapping[str, str] = field(repr=False)  # may hold keys
    one_at_a_time = True

    @property
    def remaining(self) -> None:
        return None

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:  # -> (n, d)
        try:
            # a seed that does not come from rng: warm-up after a resume must not change the samples that follow
            while self.warmup > 0:
                self.policy.sample(lambda: self._run(_WARMUP_SEED))
                self.warmup -= 1
            return np.array([self._sample(int(rng.integers(2**63))) for _ in range(n)])
        except ArmError as error:
            error.of_arm(self.name)
            raise

    def _sample(self, seed: int) -> list[float]:
        # a new seed for a new try, without moving the seeds of later samples
        tries = np.random.default_rng(seed)
        return self.policy.sample(lambda: self._run(int(tries.integers(_SEEDS))))

    def _run(self, seed: int) -> list[float]:
        env = {**os.environ, **self.env, "KABC_SEED": str(seed)}
        keep = self.how.measure in ("output", "rss")
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
            # files, not pipes: no reader is needed, and a process left behind cannot hold the end back
            wall, cpu = self._finish(env, output if keep else subprocess.DEVNULL, errors)
            match self.how.measure:
                case "wall":
                    return [wall]
                case "cpu":
                    return [cpu]
                case "rss":
                    return [float(_text(output)) * _RSS_UNIT / 2**20]
                case "output":
                    return _printed(_text(output), self.how.json_path)

    def _finish(self, env: dict[str, str], output: IO[bytes] | int, errors: IO[bytes]) -> tuple[float, float]:
        """Run it to its end: seconds of wall time and of processor time; anything but success is an error."""
        words = self._words()
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=env,
                cwd=self.how.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise ArmError(f"cannot run {cut(self.command)}: {error.strerror}; check its spelling and PATH") from error
        code, cpu, timed_out = _wait(process, self.how.timeout)
        wall = time.perf_counter() - start
        if timed_out:
            raise DrawError(f"did not end within timeout={self.how.timeout:g} seconds and was killed; raise timeout=")
        if code:
            self._refuse(code, _text(errors))
        return wall, cpu

    def _words(self) -> list[str]:
        words = ["/bin/sh", "-c", self.command] if isinstance(self.command, str) else list(self.command)
        return [sys.executable, "-I", "-S", "-c", _WEIGH, *words] if self.how.measure == "rss" else words

    def _refuse(self, code: int, errors: str) -> None:
        said = errors.strip().splitlines()
        reason = f", it said {cut(said[-1])}" if said else ", it said nothing on standard error"
        if code in _NOT_RUNNABLE:  # the same for every sample, so no policy applies
            raise ArmError(f"cannot run {cut(self.command)} (exit code {code}){reason}; check its spelling and PATH")
        ended = f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"
        raise DrawError(f"{cut(self.command)} failed: {ended}{reason}; run it by hand, or see on_failure=")


def _wait(process: subprocess.Popen[bytes], timeout: float) -> tuple[int, float, bool]:
    """Exit code, seconds of processor time, and whether it was killed at the timeout."""
    timed_out = threading.Event()

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: not permitted to a dead group
            os.killpg(process.pid, signal.SIGKILL)

    def too_long() -> None:
        timed_out.set()
        kill()

    # a blocking wait4 with a timer beside it: polling would blur the wall time
    timer = threading.Timer(timeout, too_long)
    try:
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        kill()
        process.wait()
        raise
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime, timed_out.is_set()


def _text(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MOST_OUTPUT))
    return file.read().decode(errors="replace")


def _printed(text: str, json_path: str | None) -> list[float]:
    """The numbers in what a command printed."""
    lines = text.strip().splitlines()
    if not lines:
        raise DrawError("printed nothing; its last line must be a number, several of them, or JSON")
    if json_path is not None:
        return numbers(picked(_json(text, lines[-1]), json_path))
    try:
        return numbers(lines[-1].split())
    except DrawError:
        return numbers(_json(lines[-1], lines[-1]))


def _json(*texts: str) -> Any:
    """The first of the texts that is JSON: one document over many lines, or the last line alone."""
    for text in texts:
        with contextlib.suppress(ValueError):
            return json.loads(text)
    raise DrawError(
        f"printed {cut(texts[-1])}, which is no finite number and no JSON; "
        "its last line must be a number, several of them, or JSON"
    )


def _check(measure: str, json_path: str | None, warmup: int, timeout: float) -> None:
    if not hasattr(os, "wait4"):
        raise SettingsError("commands as arms need os.wait4, which this system has not; use Linux, macOS or WSL")
    expect(measure in get_args(Measure), "measure", measure, "'output', 'wall', 'cpu' or 'rss'")
    if json_path is not None:
        expect(measure == "output", "measure", measure, "'output' where json_path is given")
        expect(isinstance(json_path, str) and bool(json_path), "json_path", json_path, "text like 'latency.p50'")
    expect(is_whole(warmup) and warmup >= 0, "warmup", warmup, "a whole number, 0 or more")
    expect(is_positive(timeout), "timeout", timeout, "a finite number of seconds above 0")


def _command(name: str, command: Command) -> str | tuple[str, ...]:
    if isinstance(command, str) and command.strip():
        return command
    words = () if isinstance(command, str) else tuple(command)
    if not words or not all(isinstance(word, str) for word in words):
        raise SettingsError(
            f"a command is text for the shell, or a list of words to run directly, got {command!r}"
        ).of_arm(name)
    return words


def _variables(
    commands: Mapping[str, Command], env: Mapping[str, str | Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Variables of each arm: those of all, then its own."""
    own = {name: value for name, value in env.items() if isinstance(value, Mapping)}
    unknown = [name for name in own if name not in commands]
    if unknown:
        raise SettingsError(f"env has variables for an arm {unknown[0]!r}; the arms are {', '.join(commands)}")
    common = {name: value for name, value in env.items() if not isinstance(value, Mapping)}
    for name, value in [*common.items(), *(item for mine in own.values() for item in mine.items())]:
        if not isinstance(value, str):
            raise SettingsError(
                f"the variable {name} in env must be text, got {type(value).__name__}; put it in quotes"
            )
    return {name: {**common, **own.get(name, {})} for name in commands}
