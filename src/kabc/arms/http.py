"""Arms that are HTTP endpoints: a sample is one call, measured by a number, a text or the time it took.

Keys are written as ${NAME} in headers and read from the environment for each call. What stands there is held by no
object, and is taken out of whatever a server says back before that goes into a message.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from kabc.arms.base import NamedArms
from kabc.arms.failures import (
    LONGEST_WAIT,
    DrawError,
    OnFailure,
    Policy,
    SpendError,
    column_names,
    cut,
    expect,
    is_positive,
    is_whole,
    numbers,
    picked,
    wait_before,
)
from kabc.arms.values import Encoder, TextForm
from kabc.core.errors import ArmError, KabcError, SettingsError

if TYPE_CHECKING:
    import ssl

    import httpx

Answer = Literal["number", "text", "latency"]

_PROMPT = "{prompt}"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_TOO_MANY = 429
_USELESS = {401: "check the key", 404: "check the address", 405: "check method="}  # the same for every sample


@dataclass(frozen=True)
class Endpoint:
    """An address with what differs from the other arms; None and {} leave what is given for all."""

    url: str
    method: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Any = field(default=None, repr=False)


def http_arms(
    endpoints: Mapping[str, str | Endpoint | Mapping[str, Any]],
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    prompts: str | os.PathLike[str] | Sequence[str] | None = None,
    value: str | None = None,
    kind: Answer = "number",
    columns: Sequence[str] | None = None,
    text: TextForm = "features",
    concurrency: int = 4,
    rate: float | None = None,
    timeout: float = 60.0,
    warmup: int | None = None,
    price: float = 0.0,
    max_spend: float | None = None,
    on_failure: OnFailure = "raise",
    retries: int = 3,
) -> NamedArms:
    """Arms that are HTTP endpoints; a sample is one call.

    Parameters
    ----------
    endpoints : name -> address, or an `Endpoint` (or a mapping with its fields) where method, headers or body differ.
    headers : for all endpoints. ``${NAME}`` stands for a variable of the environment: keys belong there, nowhere else.
    body : what is sent: a JSON value, or text (text that is JSON counts as JSON). ``{prompt}`` in it, or in the
        address, stands for a prompt.
    prompts : a file with a prompt a line, or JSON lines (.jsonl) with a field "prompt", or a list of them; each sample
        takes one at random.
    value : where the value is in the JSON that comes back, e.g. "choices.0.message.content"; None: all of it.
    kind : "number": a number or a list of them; "text": compared by its n-grams (`text="characters"` for the Hamming
        kernel); "latency": seconds of the call. Latencies are drawn one at a time, after one call that is not counted.
    columns : names of the numbers of one answer; needed only where there are several and failures are encoded.
    concurrency : calls of one arm that are under way at once. rate : most calls a second of one arm.
    timeout : seconds after which a call without an answer has failed.
    warmup : calls of each arm before its first sample that are not counted as samples; None: 1 for latency, else 0.
    price : of one call, also of one that fails. max_spend : no call is made that would cost more than this in all.
    on_failure : what becomes of an error status, a timeout, an answer without the value: "raise" ends the run, "retry"
        tries again up to `retries` times with growing pauses (what is compared is then the distribution given success),
        "encode" makes it a value: an extra last column "failed". Status 429 is no failure: it is waited for as long as
        the server says, a minute at most, up to `retries` times.
    """
    expect(kind in get_args(Answer), "kind", kind, "'number', 'text' or 'latency'")
    expect(is_whole(concurrency) and concurrency > 0, "concurrency", concurrency, "a whole number, 1 or more")
    expect(rate is None or is_positive(rate), "rate", rate, "a number of calls a second above 0, or None")
    expect(is_positive(timeout), "timeout", timeout, "a finite number of seconds above 0")
    expect(value is None or bool(value), "value", value, "a path like 'choices.0.text', or None")
    warmup = (1 if kind == "latency" else 0) if warmup is None else warmup
    expect(is_whole(warmup) and warmup >= 0, "warmup", warmup, "a whole number, 0 or more")
    encoder = Encoder(columns=("answer",), types={"answer": "text"}, text=text)
    known = {"number": column_names(columns), "text": encoder.names, "latency": ("latency",)}
    policy = Policy(on_failure, retries, known[kind])
    how = _How(kind, value, encoder, policy, concurrency, rate, float(timeout))
    spend = _Spend(price, max_spend)
    drawn_from = _prompts(prompts)
    shared = Endpoint("", method, headers or {}, body)
    arms = {
        name: HttpArm(name, _call(name, given, shared, drawn_from), how, spend, warmup)
        for name, given in endpoints.items()
    }
    notes = (policy.note, *([f"answers: {encoder.describe()}"] if kind == "text" else []))
    return NamedArms(arms, notes=notes, columns=policy.sample_columns, price=price)


@dataclass(frozen=True)
class _How:
    """How every endpoint is called and what is read from it."""

    kind: Answer
    value: str | None
    encoder: Encoder
    policy: Policy
    concurrency: int
    rate: float | None
    timeout: float


@dataclass(frozen=True)
class _Call:
    """A call with holes for the prompt and for keys."""

    url: str
    method: str
    headers: Mapping[str, str]
    body: Any
    prompts: tuple[str, ...]

    def keys(self) -> dict[str, str]:
        """Variables that the headers name, with their values of this moment; the caller must not keep them."""
        names = {name for text in self.headers.values() for name in _VARIABLE.findall(text)}
        values = {name: os.environ.get(name, "") for name in sorted(names)}
        for name, value in values.items():
            if not value:
                raise SettingsError(f"a header needs the variable {name}, which is not set; set it: export {name}=...")
            if not (value.isascii() and value.isprintable()):
                raise SettingsError(
                    f"the variable {name} of a header has a line break or a character outside ASCII; correct it"
                )
        return values

    def filled(self, prompt: str, keys: Mapping[str, str]) -> dict[str, Any]:
        """The arguments of httpx for one call."""
        sent: dict[str, Any] = {"method": self.method, "url": self.url.replace(_PROMPT, quote(prompt, safe=""))}
        sent["headers"] = {
            name: _VARIABLE.sub(lambda hole: keys[hole.group(1)], text) for name, text in self.headers.items()
        }
        if isinstance(self.body, str):
            sent["content"] = _replaced(self.body, {_PROMPT: prompt})
        elif self.body is not None:
            sent["json"] = _replaced(self.body, {_PROMPT: prompt})
        return sent


class HttpArm:
    """An endpoint; every sample is a call of its own."""

    def __init__(self, name: str, call: _Call, how: _How, spend: _Spend, warmup: int) -> None:
        self.name = name
        self.one_at_a_time = how.kind == "latency"  # calls at once would wait for each other
        self._call, self._how, self._spend, self._warmup = call, how, spend, warmup
        self._pace = _Pace(how.rate)
        self._client: httpx.Client | None = None

    def __repr__(self) -> str:
        return f"HttpArm({self.name!r}, {self._call.method} {self._call.url!r})"

    @property
    def remaining(self) -> None:
        return None

    @property
    def spent(self) -> float:
        """Price of its calls so far: also of those that failed, were tried again, or came before the first sample."""
        return self._spend.price * self._spend.calls[self.name]

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:  # -> (n, d)
        # all chosen before the first call: they depend on rng alone, not on which answer comes first
        prompts = [self._call.prompts[i] for i in rng.integers(len(self._call.prompts), size=n)]
        try:
            client = self._open()
            while self._warmup > 0:
                self._sample(client, self._call.prompts[0], threading.Event())
                self._warmup -= 1
            rows = _in_order(lambda prompt, stop: self._sample(client, prompt, stop), prompts, self._how.concurrency)
        except KabcError as error:
            error.of_arm(self.name)
            raise
        return np.array(rows)

    def close(self) -> None:
        """Close the connections; a later draw opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _open(self) -> httpx.Client:
        if self._client is None:
            httpx = _httpx()
            most = self._how.concurrency
            limits = httpx.Limits(max_connections=most, max_keepalive_connections=most)
            # redirects are not followed: a key in a header of its own would go along to another host
            self._client = httpx.Client(timeout=self._how.timeout, limits=limits, verify=_certificates())
        return self._client

    def _sample(self, client: httpx.Client, prompt: str, stop: threading.Event) -> list[float]:
        return self._how.policy.sample(lambda: self._answer(client, prompt, stop), stop.wait)

    def _answer(self, client: httpx.Client, prompt: str, stop: threading.Event) -> list[float]:
        """The value of one call, made again where the server says that there were too many."""
        retries = self._how.policy.retries
        for number in range(retries + 1):
            self._pace.wait(stop)
            keys = self._call.keys()
            if stop.is_set():
                raise ArmError("was stopped because another sample failed")
            self._spend.pay(self.name)
            reply = self._send(client, self._call.filled(prompt, keys))
            if reply.status != _TOO_MANY:
                return self._read(reply, {value: f"${{{name}}}" for name, value in keys.items()})
            if number < retries:
                stop.wait(_pause(reply.retry_after, number))
        raise DrawError(
            f"answered 429 (too many requests) {retries + 1} time(s) in a row; lower rate= or concurrency=, or raise "
            "retries="
        )

    def _send(self, client: httpx.Client, sent: dict[str, Any]) -> _Reply:
        httpx = _httpx()
        start = time.perf_counter()
        try:
            # read in parts, because the timeout of httpx is that of one part: an answer that drips would never end
            with client.stream(**sent) as response:
                parts = []
                for part in response.iter_bytes():
                    parts.append(part)
                    if time.perf_counter() - start > self._how.timeout:
                        raise httpx.ReadTimeout("")
            seconds = time.perf_counter() - start
            text = b"".join(parts).decode(errors="replace")
            return _Reply(response.status_code, text, seconds, response.headers.get("retry-after", ""))
        except httpx.TimeoutException:
            problem = f"gave no answer within timeout={self._how.timeout:g} seconds; raise timeout="
        except httpx.ConnectError:
            problem = f"cannot be reached at {_origin(sent['url'])}; check the address and that it is running"
        except httpx.HTTPError as error:
            # its words could hold a header, so only its name is told
            problem = f"broke off the call ({type(error).__name__}); call it by hand, or see on_failure="
        raise DrawError(problem)  # out here, so that no error with words of others hangs on to it

    def _read(self, reply: _Reply, hidden: Mapping[str, str]) -> list[float]:
        if not 200 <= reply.status < 300:
            said = f"answered {reply.status}: {cut(_replaced(reply.text, hidden))}"
            if reply.status in _USELESS:
                raise ArmError(f"{said}; {_USELESS[reply.status]}")
            raise DrawError(f"{said}; call it by hand, or see on_failure=")
        if self._how.kind == "latency" and self._how.value is None:
            return [reply.seconds]
        if self._how.kind == "text" and self._how.value is None:
            return self._row(reply.text, reply.seconds)
        answer = _json(reply.text)
        if answer is _NO_JSON:
            raise DrawError(f"answered with what is no JSON: {cut(_replaced(reply.text, hidden))}")
        try:
            return self._row(answer, reply.seconds)
        except DrawError:
            answer = _replaced(answer, hidden)
        return self._row(answer, reply.seconds)  # fails again, in words without keys

    def _row(self, answer: Any, seconds: float) -> list[float]:
        part = answer if self._how.value is None else picked(answer, self._how.value)
        if self._how.kind == "latency":
            return [seconds]
        if self._how.kind == "number":
            return numbers(part)
        if not isinstance(part, str):
            raise DrawError(f"expected text, got {cut(part)}; set value= to where the text is")
        row: list[float] = self._how.encoder({"answer": [part]})[0].tolist()
        return row


@dataclass(frozen=True)
class _Reply:
    """What came back."""

    status: int
    text: str
    seconds: float
    retry_after: str


class _Spend:
    """What all arms together may cost; a call is paid before it is made."""

    def __init__(self, price: float, most: float | None) -> None:
        expect(is_positive(price) or price == 0, "price", price, "a finite number, 0 or more")
        expect(most is None or is_positive(most), "max_spend", most, "a finite number above 0, or None")
        if most is not None and not price:
            raise SettingsError(f"max_spend={most!r} needs the price of one call; set price=")
        self.price, self._most = price, most
        self.calls: Counter[str] = Counter()
        # a hair more, so that 0.3 pays for three calls at 0.1
        self._most_calls = math.inf if most is None else math.floor(most / price * (1 + 1e-9))
        self._lock = threading.Lock()

    def pay(self, name: str) -> None:
        """Count one call of that arm, or refuse it."""
        with self._lock:
            if self.calls.total() >= self._most_calls:
                raise SpendError(f"the next call at {self.price:g} would go over max_spend={self._most:g}; raise it")
            self.calls[name] += 1


class _Pace:
    """At most `rate` calls a second: each call has its moment."""

    def __init__(self, rate: float | None) -> None:
        self._gap = 0.0 if rate is None else 1 / rate
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self, stop: threading.Event) -> None:
        if not self._gap:
            return
        with self._lock:
            now = time.monotonic()
            mine = max(now, self._next)
            self._next = mine + self._gap
        stop.wait(mine - now)


def _in_order(
    sample: Callable[[str, threading.Event], list[float]], prompts: Sequence[str], concurrency: int
) -> list[list[float]]:
    """One sample for each prompt, at most `concurrency` at once; the first error stops the others."""
    stop = threading.Event()
    with ThreadPoolExecutor(min(concurrency, len(prompts)), thread_name_prefix="kabc-http") as pool:
        futures = [pool.submit(sample, prompt, stop) for prompt in prompts]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    return [future.result() for future in futures if future in done]


def _pause(retry_after: str, number: int) -> float:
    """Seconds that the server asks for, by number or by date, a minute at most; else a growing pause."""
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except ValueError:
            return wait_before(number)
    return min(max(seconds, 0.0), LONGEST_WAIT) if math.isfinite(seconds) else wait_before(number)


_NO_JSON = object()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return _NO_JSON


def _replaced(value: Any, new: Mapping[str, str]) -> Any:
    """The JSON value with texts replaced in every text of it."""
    if isinstance(value, str):
        for old, text in new.items():
            value = value.replace(old, text)
        return value
    if isinstance(value, list | tuple):
        return [_replaced(item, new) for item in value]
    if isinstance(value, Mapping):
        return {_replaced(key, new): _replaced(item, new) for key, item in value.items()}
    return value


def _call(name: str, given: str | Endpoint | Mapping[str, Any], shared: Endpoint, prompts: tuple[str, ...]) -> _Call:
    try:
        own = _endpoint(given)
        _check_url(own.url)
        body = shared.body if own.body is None else own.body
        if isinstance(body, str) and _json(body) is not _NO_JSON:
            body = _json(body)  # so that a prompt with quotes in it stays one text
        method = own.method or shared.method
        expect(isinstance(method, str) and method.isalpha(), "method", method, "a word like 'POST' or 'GET'")
        call = _Call(own.url, str(method), {**shared.headers, **own.headers}, body, prompts)
        _check_body(call)
        call.keys()
    except SettingsError as error:
        error.of_arm(name)
        raise
    return call


def _endpoint(given: str | Endpoint | Mapping[str, Any]) -> Endpoint:
    if isinstance(given, Endpoint):
        return given
    try:
        return Endpoint(given) if isinstance(given, str) else Endpoint(**given)
    except TypeError:
        fields = ", ".join(Endpoint.__dataclass_fields__)
    raise SettingsError(f"an endpoint is an address or has the fields {fields} (url is needed), got {_fields(given)}")


def _fields(given: object) -> str:
    # values may be keys, so only names are shown
    return ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__


def _check_url(url: str) -> None:
    expect(isinstance(url, str), "url", url, "text")
    if _VARIABLE.search(url):
        raise SettingsError(f"a variable in the address {url!r} would be logged on the way; put it into headers=")
    httpx = _httpx()
    try:
        parsed = httpx.URL(url.replace(_PROMPT, ""))
        right = parsed.scheme in ("http", "https") and bool(parsed.host)
    except httpx.InvalidURL:
        right = False
    expect(right, "url", url, "an address like https://host/path")


def _check_body(call: _Call) -> None:
    try:
        template = json.dumps(call.body)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"body must be text or a JSON value: {error}") from error
    used = _PROMPT in template or _PROMPT in call.url
    if used and not call.prompts[0]:
        raise SettingsError("{prompt} is used but there are no prompts; pass prompts=")
    if call.prompts[0] and not used:
        raise SettingsError("prompts are given but used nowhere; write {prompt} in body= or in the address")
    for name, text in call.headers.items():
        if not (isinstance(text, str) and text.isascii() and text.isprintable()):
            raise SettingsError(f"the header {name!r} must be text in ASCII on one line; correct it")


def _prompts(given: str | os.PathLike[str] | Sequence[str] | None) -> tuple[str, ...]:
    """The prompts; one empty prompt where there are none."""
    if given is None:
        return ("",)
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise SettingsError(f"cannot read prompts from {str(path)!r}: {error}") from error
        as_json = path.suffix in (".jsonl", ".ndjson")
        given = [_prompt(line, number) if as_json else line for number, line in enumerate(lines, 1) if line.strip()]
    texts = tuple(given)
    right = bool(texts) and all(isinstance(text, str) and text.strip() for text in texts)
    expect(right, "prompts", given, "a file or a list with at least one prompt, none of them empty")
    return texts


def _prompt(line: str, number: int) -> Any:
    value = _json(line)
    if not isinstance(value, dict) or not isinstance(value.get("prompt"), str):
        raise SettingsError(f'line {number} of the prompts must be like {{"prompt": "..."}}, got {cut(line)}')
    return value["prompt"]


def _origin(url: str) -> str:
    """Scheme, host and port of an address, without the parts in which a key could stand."""
    parsed = _httpx().URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode()}"


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise SettingsError("HTTP endpoints as arms need httpx; pip install 'kabc[data]'") from error
    return httpx


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Those that httpx trusts, read once: reading them takes longer than most calls."""
    context: ssl.SSLContext = _httpx().create_ssl_context()
    return context
