"""What is read from a reply: a number, several of them, a category, a text, or the seconds it took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kabc.arms.failures import DrawError, numbers, picked
from kabc.arms.http.client import Reply
from kabc.arms.http.secrets import hidden, without_long
from kabc.arms.http.texts import EmbedError, Texts, as_text
from kabc.arms.words import cut
from kabc.core.errors import ArmError

Answer = Literal["number", "category", "text", "latency"]

_USELESS = {401: "check the key", 404: "check the address", 405: "check method="}  # the same for every sample


@dataclass(frozen=True)
class AnswerReader:
    """Turns a reply into one sample. Keys are hidden in every message.

    `texts` make a text numbers; they are None for numbers and latencies. `logprob` is the path of a further number.
    """

    kind: Answer
    value: str | None
    texts: Texts | None = None
    logprob: str | None = None

    def read(self, reply: Reply, keys: Mapping[str, str]) -> list[float]:
        """The numbers of one sample."""
        if not 200 <= reply.status < 300:
            _refuse(reply, keys)
        if self.kind == "latency" and self.value is None:
            return [reply.seconds]
        if self.texts is not None and self.value is None and self.logprob is None:
            return self._of_text(reply.text, keys)
        answer = _parsed(reply, keys)
        try:
            return self._row(answer, reply.seconds, keys)
        except DrawError:
            answer = hidden(answer, keys)
        return self._row(answer, reply.seconds, keys)  # fails again, with a message without keys

    def _row(self, answer: Any, seconds: float, keys: Mapping[str, str]) -> list[float]:
        part = answer if self.value is None else picked(answer, self.value)
        if self.kind == "latency":
            return [seconds]
        if self.texts is None:
            return numbers(part)
        more = [] if self.logprob is None else _one_number(picked(answer, self.logprob))
        return self._of_text(as_text(part, self.kind), keys) + more

    def _of_text(self, text: str, keys: Mapping[str, str]) -> list[float]:
        assert self.texts is not None
        if self.kind == "category":  # it is kept as it is
            text = without_long(text, keys)
        try:
            return self.texts.row(text)
        except EmbedError as error:
            # no failure of the endpoint, so no policy applies
            said = f"embed= {error}; the text was {cut(hidden(text, keys))}"
            raise ArmError(said) from error.__cause__


def _one_number(value: Any) -> list[float]:
    row = numbers(value)
    if len(row) != 1:
        raise DrawError(f"expected one log-probability, got {cut(value)}; correct logprob=", "not a number")
    return row


def _refuse(reply: Reply, keys: Mapping[str, str]) -> None:
    said = f"answered {reply.status}: {cut(hidden(reply.text, keys))}"
    if reply.status in _USELESS:
        raise ArmError(f"{said}; {_USELESS[reply.status]}")
    raise DrawError(f"{said}; call it by hand, or see on_failure=", f"status {reply.status}")


def _parsed(reply: Reply, keys: Mapping[str, str]) -> Any:
    try:
        return json.loads(reply.text)
    except ValueError:
        pass  # raised below: the parser's error holds the whole text, which may hold a key
    said = f"answered {cut(hidden(reply.text, keys))}, which is not JSON; call it by hand, or see on_failure="
    raise DrawError(said, "not JSON")
