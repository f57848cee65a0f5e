"""Arms that are shell commands: a sample is one run, measured by its output, time, processor time or memory."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kabc.arms.base import NamedArms
from kabc.arms.checks import column_names, expect, is_positive, is_whole
from kabc.arms.failures import DrawError, OnFailure, Policy
from kabc.arms.guards import Guard
from kabc.arms.outputs import MOST_OUTPUT
from kabc.arms.printed import printed_numbers
from kabc.arms.processes import Ended, NotStartedError, megabytes, run_to_end, weighing
from kabc.arms.tallies import Failures, Tally
from kabc.arms.words import cut
from kabc.core.errors import ArmError, SettingsError
from kabc.core.secrets import SHORTEST, hide, hide_values, hide_words, holds_key, looks_secret, word_secrets
from kabc.core.words import few

Measure = Literal["output", "wall", "cpu", "rss"]
Command = str | Sequence[str]

_UNITS = {"wall": "wall seconds", "cpu": "cpu seconds", "rss": "peak MB"}  # names of the column, with its unit
_SEEDS = 2**31  # fits the seed of every common language
_WARMUP_SEED = 0
_SHORTEST_INHERITED = 8  # characters of a key in a variable that the command inherits
_NOT_RUNNABLE = (126, 127)  # exit codes of a shell for a file that is not a program, and for a missing file


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
    """Arms that are commands. A sample is one run.

    Every run gets a new random whole number in the variable KABC_SEED. A command that takes its randomness from there
    gives the same sample for the same seed.

    Parameters
    ----------
    commands : mapping of str to str or sequence of str
        The name and the command of each arm. The shell runs a text; a list of words is run directly.
    measure : {"output", "wall", "cpu", "rss"}, default "output"
        "output" is the last line that is printed: a number, several numbers, or JSON. "wall" is the seconds from start
        to end. "cpu" is the seconds of processor time (user and system) of the command and of the processes that it
        waited for. "rss" is the peak memory in MB (2**20 bytes) of the largest of those processes; less than about
        10 MB is reported as 10. The output is thrown away unless it is what is measured; a command that prints more
        than 16 MB of it is killed and has failed. Commands that run at the same time slow each other down, so leave
        `workers` at 1 where time is measured.
    json_path : str, optional
        Path of the number in printed JSON, e.g. "latency.p50" or "runs.0.time".
    columns : sequence of str, optional
        Names of the numbers that one run prints. Needed only where a run prints several and failures are encoded.
    warmup : int, default 1
        Runs of each arm before its first sample, with KABC_SEED=0. They are not samples.
    timeout : float, default 60.0
        Seconds after which a run has failed. It is then killed. However a run ends, the processes that it started are
        killed with it.
    env : mapping, optional
        Variables for all commands, or for one arm: ``{"LANG": "C", "name of arm": {"OMP_NUM_THREADS": "1"}}``.
        Messages have ``${NAME}`` in place of their values; values of less than 8 characters stay, those of less than 4
        if the name says that it is a key.
    cwd : str or path, optional
        The folder to run in. Default: the current one.
    on_failure : {"raise", "retry", "encode"}, default "raise"
        What happens after an exit code other than 0, a timeout, or output that is not a number. "raise" ends the run.
        "retry" tries again up to `retries` times, with growing pauses; the distributions compared are then those given
        success. "encode" makes a failure a value, with an extra last column "failed".
    retries : int, default 3
        Most new tries of one sample.

    Returns
    -------
    NamedArms
        The arms by name, for `kabc.cluster`.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.arms.commands import command_arms
    >>> arms = command_arms({"short": "echo 1.5", "long": "echo $((2 * 3))"})
    >>> arms["long"].draw(2, np.random.default_rng(0))
    array([[6.],
           [6.]])
    """
    _check(measure, json_path, warmup, timeout)
    names = column_names(columns) if measure == "output" else (_UNITS[measure],)
    policy = Policy(on_failure, retries, names)
    variables = _variables(commands, env or {})
    how = _How(measure, json_path, timeout, None if cwd is None else os.fspath(cwd))
    guard = Guard()
    arms = {
        name: CommandArm(name, _command(name, command), how, policy, warmup, variables[name], guard)
        for name, command in commands.items()
    }
    return NamedArms(arms, notes=policy.notes, columns=policy.sample_columns, source=_source(commands))


def _source(commands: Mapping[str, Command]) -> str:
    """The programs alone: what a command line holds is for nobody else."""
    return few([f"{name}: {_program(command)}" for name, command in commands.items()], between="; ")


def _program(command: Command) -> str:
    """The name of the program; "a command" where it is not plain which word that is."""
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError:  # of quotes that are not closed
        return "a command"
    first = Path(next((word for word in words if "=" not in word), "")).name  # variables of the shell come before it
    return first if re.fullmatch(r"[\w.+-]{1,40}", first) and not looks_secret(first) else "a command"


@dataclass(frozen=True)
class _How:
    """How every command is run and what is read from it."""

    measure: Measure
    json_path: str | None
    timeout: float
    cwd: str | None


@dataclass
class CommandArm:
    """A command. Every sample is a run of its own."""

    name: str
    command: str | tuple[str, ...] = field(repr=False)  # may hold keys
    how: _How = field(repr=False)
    policy: Policy
    warmup: int
    env: Mapping[str, str] = field(repr=False)  # may hold keys
    guard: Guard = field(repr=False, compare=False)
    n_paid: int = field(default=0, init=False, repr=False)  # all its runs: failed ones, new tries and warm-ups too
    tally: Tally = field(default_factory=Tally, init=False, repr=False)
    one_at_a_time = True

    @property
    def remaining(self) -> None:
        return None

    @property
    def failures(self) -> Failures:
        """How many of its runs failed so far, and how."""
        return self.tally.failures

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:  # -> (n, d)
        self.guard.watch(self.name)
        try:
            # its seed does not come from rng: a warm-up after a resume must not change the samples that follow
            warming = Tally()  # how many there are depends on the number of processes
            while self.warmup > 0:
                self.policy.sample(lambda: self._run(_WARMUP_SEED), tally=warming)
                self.warmup -= 1
            rows = [self._sample(int(rng.integers(2**63))) for _ in range(n)]
        except ArmError as error:
            error.of_arm(self.name)
            raise
        return np.array(rows)

    def close(self) -> None:
        """End what is left of its commands. A later draw is guarded again."""
        self.guard.leave(self.name)

    def _sample(self, seed: int) -> list[float]:
        # a new try gets a new seed; the seeds of later samples stay as they are
        tries = np.random.default_rng(seed)
        return self.policy.sample(lambda: self._run(int(tries.integers(_SEEDS))), tally=self.tally)

    def _run(self, seed: int) -> list[float]:
        self.n_paid += 1
        try:
            return self._measured(seed)
        except ArmError as error:
            error.args = (self._without_keys(str(error.args[0])),)
            raise

    def _measured(self, seed: int) -> list[float]:
        ended = self._ended({**os.environ, **self.env, "KABC_SEED": str(seed)})
        match self.how.measure:
            case "wall":
                return [ended.wall]
            case "cpu":
                return [ended.cpu]
            case "rss":
                return [megabytes(ended.output)]
            case "output":
                return printed_numbers(ended.output, self.how.json_path)

    def _ended(self, env: dict[str, str]) -> Ended:
        """A run that ended well; anything else is an error."""
        keep, token = self.how.measure in ("output", "rss"), self.guard.token
        try:
            ended = run_to_end(self._words(), env, self.how.cwd, self.how.timeout, keep_output=keep, token=token)
        except NotStartedError as error:
            raise ArmError(f"cannot run {_program(self.command)}: {error}; check its spelling and PATH") from error
        if ended.too_much:
            said = f"printed more than {MOST_OUTPUT // 2**20} MB and was killed; print only the numbers"
            raise DrawError(said, "output too long")
        if ended.timed_out:
            said = f"did not end within timeout={self.how.timeout:g} seconds and was killed; raise timeout="
            raise DrawError(said, "timeout")
        if ended.code:
            self._refuse(ended)
        return ended

    def _words(self) -> list[str]:
        words = ["/bin/sh", "-c", self.command] if isinstance(self.command, str) else list(self.command)
        return weighing(words) if self.how.measure == "rss" else words

    def _refuse(self, ended: Ended) -> None:
        said = ended.errors.strip().splitlines()
        reason = f"it said {cut(self._without_keys(said[-1]))}" if said else "it said nothing on standard error"
        if ended.code in _NOT_RUNNABLE:  # the same for every sample, so no policy applies
            raise ArmError(f"cannot run its command (exit code {ended.code}), {reason}; check its spelling and PATH")
        how = f"exit code {ended.code}" if ended.code > 0 else f"killed by {_signal_name(-ended.code)}"
        raise DrawError(f"its command failed: {how}, {reason}; run it by hand, or see on_failure=", how)

    def _without_keys(self, text: str) -> str:
        """A message without keys: those written in the command, its own variables, and keys of the environment."""
        line = self.command if isinstance(self.command, str) else shlex.join(self.command)
        text = hide_values(hide(text, (key for key in word_secrets(line) if len(key) >= SHORTEST)), self.env)
        for name, value in os.environ.items():  # not so thoroughly: many a name, such as PWD, only sounds like a key
            if len(value) >= _SHORTEST_INHERITED and not value.startswith("/") and holds_key(name, value):
                text = text.replace(value, f"${{{name}}}")
        return text


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names
        return f"signal {number}"


def _check(measure: str, json_path: str | None, warmup: int, timeout: float) -> None:
    if not hasattr(os, "wait4"):
        raise SettingsError("commands as arms need os.wait4, which this system does not have; use Linux, macOS or WSL")
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
            f"a command must be text for the shell, or a list of words to run directly, got {hide_words(repr(command))}"
        ).of_arm(name)
    return words


def _variables(
    commands: Mapping[str, Command], env: Mapping[str, str | Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """The variables of each arm: those of all arms, then its own."""
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
