"""What is read from a reply: a number, several of them, a text, or the seconds it took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kabc.arms.failures import DrawError, numbers, picked
from kabc.arms.http.client import Reply
from kabc.arms.http.secrets import hidden
from kabc.arms.values import Encoder
from kabc.arms.words import cut
from kabc.core.errors import ArmError

Answer = Literal["number", "text", "latency"]

_USELESS = {401: "check the key", 404: "check the address", 405: "check method="}  # the same for every sample


@dataclass(frozen=True)
class AnswerReader:
    """Turns a reply into one sample. Keys are hidden in every message."""

    kind: Answer
    value: str | None
    encoder: Encoder

    def read(self, reply: Reply, keys: Mapping[str, str]) -> list[float]:
        """The numbers of one sample."""
        if not 200 <= reply.status < 300:
            _refuse(reply, keys)
        if self.kind == "latency" and self.value is None:
            return [reply.seconds]
        if self.kind == "text" and self.value is None:
            return self._row(reply.text, reply.seconds)
        answer = _parsed(reply, keys)
        try:
            return self._row(answer, reply.seconds)
        except DrawError:
            answer = hidden(answer, keys)
        return self._row(answer, reply.seconds)  # fails again, with a message without keys

    def _row(self, answer: Any, seconds: float) -> list[float]:
        part = answer if self.value is None else picked(answer, self.value)
        if self.kind == "latency":
            return [seconds]
        if self.kind == "number":
            return numbers(part)
        if not isinstance(part, str):
            raise DrawError(f"expected text, got {cut(part)}; set value= to the path of the text", "not a text")
        row: list[float] = self.encoder({"answer": [part]})[0].tolist()
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
