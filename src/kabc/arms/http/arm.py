"""One endpoint as an arm."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from kabc.arms.failures import DrawError, Policy
from kabc.arms.http.answers import AnswerReader
from kabc.arms.http.calls import Call
from kabc.arms.http.client import Client
from kabc.arms.http.pacing import Pace, in_order, pause_after
from kabc.arms.http.spending import Spending
from kabc.core.errors import ArmError, KabcError
from kabc.core.words import counted

_TOO_MANY = 429


class HttpArm:
    """An endpoint. Every sample is a call of its own."""

    def __init__(
        self,
        name: str,
        call: Call,
        reader: AnswerReader,
        policy: Policy,
        spending: Spending,
        *,
        concurrency: int,
        rate: float | None,
        timeout: float,
        warmup: int,
    ) -> None:
        self.name = name
        self.one_at_a_time = reader.kind == "latency"  # calls at the same time would slow each other down
        self._call, self._reader, self._policy, self._spending = call, reader, policy, spending
        self._client, self._pace = Client(timeout, concurrency), Pace(rate)
        self._concurrency, self._warmup = concurrency, warmup

    def __repr__(self) -> str:
        return f"HttpArm({self.name!r}, {self._call.method} {self._call.url!r})"

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

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:  # -> (n, d)
        # all chosen before the first call: they depend on rng alone, not on which answer comes first
        prompts = [self._call.prompts[i] for i in rng.integers(len(self._call.prompts), size=n)]
        try:
            while self._warmup > 0:
                self._sample(self._call.prompts[0], threading.Event())
                self._warmup -= 1
            rows = in_order(self._sample, prompts, self._concurrency)
        except KabcError as error:
            error.of_arm(self.name)
            raise
        return np.array(rows)

    def close(self) -> None:
        """Close the connections. A later draw opens new ones."""
        self._client.close()

    def _sample(self, prompt: str, stop: threading.Event) -> list[float]:
        return self._policy.sample(lambda: self._answer(prompt, stop), stop.wait)

    def _answer(self, prompt: str, stop: threading.Event) -> list[float]:
        """The value of one call. Where the server says that there were too many calls, it is made again."""
        tries = self._policy.retries + 1
        for number in range(tries):
            self._pace.wait(stop)
            keys = self._call.keys()
            if stop.is_set():
                raise ArmError("was stopped because another sample failed")
            self._spending.pay(self.name)
            reply = self._client.send(self._call.filled(prompt, keys))
            if reply.status != _TOO_MANY:
                return self._reader.read(reply, keys)
            if number + 1 < tries:
                stop.wait(pause_after(reply.retry_after, number))
        raise DrawError(
            f"answered 429 (too many requests) {counted(tries, 'time')} in a row; "
            "lower rate= or concurrency=, or raise retries="
        )
