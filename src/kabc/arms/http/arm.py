"""One endpoint as an arm."""

from __future__ import annotations

import threading
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from kabc.arms.failures import DrawError, Policy
from kabc.arms.http.answers import AnswerReader
from kabc.arms.http.calls import Call
from kabc.arms.http.client import Client, Reply
from kabc.arms.http.logs import without_keys
from kabc.arms.http.pacing import Pace, in_order
from kabc.arms.http.secrets import Keys, hidden
from kabc.arms.http.spending import Spending
from kabc.arms.http.waiting import Host, asks_to_wait
from kabc.arms.tallies import Failures, Tally
from kabc.arms.words import cut
from kabc.core.errors import ArmError, KabcError


class HttpArm:
    """An endpoint. Every sample is a call of its own."""

    def __init__(
        self,
        name: str,
        call: Call,
        reader: AnswerReader,
        policy: Policy,
        spending: Spending,
        host: Host,
        *,
        concurrency: int,
        rate: float | None,
        timeout: float,
        warmup: int,
        paired: bool = False,
    ) -> None:
        self.name, self.paired = name, paired
        self.one_at_a_time = reader.kind == "latency"  # calls at the same time would slow each other down
        self.waits = not self.one_at_a_time
        self._call, self._reader, self._policy, self._spending = call, reader, policy, spending
        self._client, self._pace, self._host = Client(timeout, concurrency), Pace(rate), host
        self._concurrency, self._warmup = concurrency, warmup
        self._tally = Tally()
        self._stop, self._ending = threading.Event(), False  # of the latest draw

    def __repr__(self) -> str:
        return f"HttpArm({self.name!r}, {self._call.method} {self._call.shown_url!r})"

    @property
    def remaining(self) -> None:
        return None

    @property
    def n_paid(self) -> int:
        """All its calls so far: failed calls, new tries and warm-up calls too."""
        return self._spending.calls(self.name)

    @property
    def spent(self) -> float:
        """Price of all its calls so far: failed calls, new tries and warm-up calls count too."""
        return self._spending.of(self.name)

    def draw(
        self, n: int, rng: np.random.Generator, shared: np.random.Generator | None = None
    ) -> NDArray[np.float64]:  # -> (n, d)
        # all chosen before the first call: they depend on the generator alone, not on which answer comes first
        places = (rng if shared is None else shared).integers(len(self._call.prompts), size=n)
        prompts = [self._call.prompts[place] for place in places]
        self._stop, self._ending = threading.Event(), False
        try:
            warming = Tally()  # how many there are depends on the number of processes
            while self._warmup > 0:
                self._sample(self._call.prompts[0], self._stop, warming)
                self._warmup -= 1
            rows = in_order(self._sample, prompts, self._concurrency, self._stop)
        except KabcError as error:
            error.of_arm(self.name)
            raise
        return np.array(rows)

    @property
    def failures(self) -> Failures:
        """How many of its tries failed so far, and how. Calls that wait for a rate limit are none."""
        return self._tally.failures

    @property
    def waiting(self) -> str:
        """What people are told while its host refuses calls for long; empty if it does not."""
        return self._host.waiting

    def stop(self) -> None:
        """The run ends: a draw that waits for its host gives up. One that gets answers goes on, they are paid for."""
        self._ending = True
        if self._host.paused:
            self._stop.set()

    def close(self) -> None:
        """Close the connections. A later draw opens new ones."""
        self._client.close()

    def _sample(self, prompt: str, stop: threading.Event, tally: Tally | None = None) -> list[float]:
        return self._policy.sample(lambda: self._answer(prompt, stop), stop.wait, tally or self._tally)

    def _answer(self, prompt: str, stop: threading.Event) -> list[float]:
        """The value of one call. Where the host says that there were too many, the call waits and is made again."""
        while True:
            self._pace.wait(stop)
            with self._host.turn(stop) as wave:
                if stop.is_set():
                    raise ArmError("was stopped because another sample failed, or the run was ended")
                keys = self._call.keys()
                self._spending.pay(self.name)
                reply = self._reply(prompt, keys)
                if not asks_to_wait(reply.status, reply.retry_after):
                    self._host.answered(self.name)
                    break
                self._host.refused(self.name, wave, reply.status, reply.retry_after)
                if self._ending:
                    stop.set()
        with suppress(RecursionError):
            return self._reader.read(reply, keys)
        raise DrawError("answered JSON that is nested too deeply; call it by hand, or see on_failure=", "not JSON")

    def _reply(self, prompt: str, keys: Keys) -> Reply:
        """Make one call. What goes wrong is raised anew: a traceback shows what the client holds."""
        problem: BaseException
        try:
            with without_keys(keys):
                return self._client.send(self._call.filled(prompt, keys))
        except KabcError as error:
            problem = error
        except Exception as error:
            said = hidden(f"{type(error).__name__}: {error}", keys)
            problem = ArmError(f"its HTTP client failed: {cut(said)}; call it by hand")
        except BaseException as error:
            problem = type(error)()  # of a signal
        problem.__cause__ = problem.__context__ = problem.__traceback__ = None
        raise problem
