"""Twelve names for three small language models, on this machine: python examples/endpoints/server.py --port 8770.

With --table 40, nothing is served: 40 answers of each name are written to answers.csv, as a log would have them.

A model is a Markov chain over words. The prompt gives the first word. Each word gives the probabilities of the next
one. So it is known exactly what every name serves, and an answer about them can be checked.
"""

from __future__ import annotations

import argparse
import csv
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

VOCABULARY = (
    "ash bark cloud dew ember fern gale hail iris jade kelp lake moss night oak pine quartz rain stone tide "
    "umber vale wind yew"
)
WORDS = VOCABULARY.split()
LENGTH = 30  # words of an answer
FAILURES = 0.02  # share of the calls that fail, for every name
KEY = "a-key-for-the-example"

FULL, ROUNDED, HOT = "full weights", "weights rounded to eighths", "full weights, hotter"
SERVED = {
    "aurora": FULL,
    "borealis": FULL,
    "cirrus": ROUNDED,
    "delta": FULL,
    "eclipse": FULL,
    "fjord": FULL,
    "glacier": HOT,
    "halo": FULL,
    "isobar": ROUNDED,
    "jetstream": FULL,
    "kelvin": FULL,
    "lumen": ROUNDED,
}


def weights(temperature: float = 1.0) -> NDArray[np.float64]:  # (words, words)
    """Probabilities of the next word, one row for each word."""
    logits = 2.0 * np.random.default_rng(11).normal(size=(len(WORDS), len(WORDS)))
    table = np.exp(logits / temperature)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def rounded(table: NDArray[np.float64]) -> NDArray[np.float64]:  # (words, words)
    """Each probability to a multiple of 1/8, as few bits would have it."""
    coarse = np.round(8.0 * table)
    return np.asarray(coarse / coarse.sum(axis=1, keepdims=True))


MODELS = {FULL: weights(), ROUNDED: rounded(weights()), HOT: weights(temperature=2.0)}


class Name:
    """One of the twelve names, with its model and its own random numbers."""

    def __init__(self, place: int, model: str, seed: int) -> None:
        self._table, self._steps = MODELS[model], np.cumsum(MODELS[model], axis=1)
        self._key = (seed, place)
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def answer(self, prompt: str, most: int = LENGTH) -> list[tuple[str, float]] | None:
        """Words that follow the last word of the prompt, with their log-probabilities; None for a call that fails."""
        with self._lock:
            self._asked[prompt] += 1
            count = self._asked[prompt]
        word = WORDS.index(prompt.split()[-1])
        # seeded by prompt and count: the order in which calls arrive does not change the answers
        chances = np.random.default_rng((*self._key, crc32(prompt.encode()), count)).random(LENGTH + 1)
        if chances[0] < FAILURES:
            return None
        said = []
        for chance in chances[1 : 1 + most]:
            last, word = word, min(int(np.searchsorted(self._steps[word], chance)), len(WORDS) - 1)
            said.append((WORDS[word], float(np.log(self._table[last, word]))))
        return said


class Handler(BaseHTTPRequestHandler):
    """POST /NAME with {"prompt": "..."} gives {"choices": [{"text": "..."}]}.

    With "max_tokens" the answer has at most so many words. With "logprobs": true each word has its log-probability, in
    choices.0.logprobs.content.
    """

    protocol_version = "HTTP/1.1"  # connections stay open
    disable_nagle_algorithm = True
    names: dict[str, Name]
    seconds = 0.0  # until an answer comes

    def do_POST(self) -> None:
        """Answer one call."""
        time.sleep(self.seconds)
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.names.get(self.path.strip("/"))
        if self.headers["Authorization"] != f"Bearer {KEY}":
            self._reply(401, {"error": "wrong key"})
        elif name is None:
            self._reply(404, {"error": "no such name"})
        elif (said := name.answer(sent["prompt"], sent.get("max_tokens", LENGTH))) is None:
            self._reply(503, {"error": "overloaded"})
        else:
            choice: dict[str, Any] = {"text": " ".join(word for word, _ in said)}
            if sent.get("logprobs"):
                choice["logprobs"] = {"content": [{"token": word, "logprob": logprob} for word, logprob in said]}
            self._reply(200, {"choices": [choice]})

    def _reply(self, status: int, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing: thousands of calls would fill the screen."""


def serving(port: int, seed: int, seconds: float = 0.0) -> ThreadingHTTPServer:
    """The server, bound to its port. Port 0 means any free port. Each answer takes so many seconds."""
    names = {name: Name(place, model, seed) for place, (name, model) in enumerate(SERVED.items())}
    return ThreadingHTTPServer(("127.0.0.1", port), type("Named", (Handler,), {"names": names, "seconds": seconds}))


def write_table(calls: int, seed: int) -> None:
    """Answers of all names to prompts in turn; a call that failed has the answer "failed"."""
    prompts = (Path(__file__).parent / "prompts.txt").read_text(encoding="utf-8").splitlines()
    with Path("answers.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["endpoint", "answer"])
        for place, (name, model) in enumerate(SERVED.items()):
            served = Name(place, model, seed)
            order = np.random.default_rng((seed, place)).integers(len(prompts), size=calls)  # as calls come in
            said = [served.answer(prompts[number]) for number in order]
            rows.writerows([name, "failed" if one is None else " ".join(word for word, _ in one)] for one in said)
    print(f"{calls} answers of {len(SERVED)} endpoints: answers.csv")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8770)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0, help="that each answer takes")
    parser.add_argument("--table", type=int, metavar="CALLS", help="write this many answers of each to answers.csv")
    given = parser.parse_args()
    if given.table is not None:
        write_table(given.table, given.seed)
        raise SystemExit
    server = serving(given.port, given.seed, given.seconds)
    print(f"serving {', '.join(SERVED)} at http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
