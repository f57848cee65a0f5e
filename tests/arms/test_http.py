"""HTTP endpoints as arms, against a real server on this machine that answers well and in every wrong way."""

from __future__ import annotations

import builtins
import contextlib
import json
import logging
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kabc.arms.http as module
from kabc.arms import failures
from kabc.arms.base import Arm, NamedArms
from kabc.arms.failures import SpendError
from kabc.arms.http import Endpoint, _pause, http_arms
from kabc.core.errors import ArmError, KabcError, SettingsError

SECRET = "sk-very-secret-0123456789"


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, str, dict[str, str], str]] = []
        self.now = self.most = 0
        self.lock = threading.Lock()
        self.leave = threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"

    def count(self, path: str) -> int:
        return sum(seen == f"/{path}" for seen, *_ in self.seen)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would wait for each other
    server: Server

    def log_message(self, *_: object) -> None:
        """Silent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        path = self.path.split("?")[0]
        with self.server.lock:
            self.server.seen.append((path, self.command, dict(self.headers.items()), body))
            number = self.server.count(path[1:])
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        try:
            getattr(self, "at_" + path.strip("/").replace("/", "_"), self.at_nowhere)(number, body)
        finally:
            with self.server.lock:
                self.server.now -= 1

    do_GET = do_POST  # noqa: N815 - the name that http.server calls

    def say(self, text: str, status: int = 200, **headers: str) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def at_number(self, number: int, body: str) -> None:
        self.say("[1.5, 2]" if "two" in body else "4.5")

    def at_chat(self, number: int, body: str) -> None:
        prompt = json.loads(body)["messages"][0]["content"]
        time.sleep(0.01 * (number % 3))  # later calls may come back first
        self.say(json.dumps({"choices": [{"message": {"content": prompt}}], "n": len(prompt)}))

    def at_slow(self, number: int, body: str) -> None:
        self.server.leave.wait(0.05)
        self.say("1")

    def at_stuck(self, number: int, body: str) -> None:
        self.server.leave.wait(20)

    def at_drip(self, number: int, body: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "60")
        self.end_headers()
        with contextlib.suppress(OSError):  # the other side hangs up
            for _ in range(60):
                self.server.leave.wait(0.05)
                self.wfile.write(b"1")
                self.wfile.flush()
        self.close_connection = True

    def at_broken(self, number: int, body: str) -> None:
        self.say("an internal error", 500)

    def at_flaky(self, number: int, body: str) -> None:
        self.say("again", 503) if number % 3 else self.say("4.5")

    def at_busy(self, number: int, body: str) -> None:
        self.say("later", 429, Retry_After="0") if number < 3 else self.say("4.5")

    def at_always_busy(self, number: int, body: str) -> None:
        self.say("later", 429)

    def at_words(self, number: int, body: str) -> None:
        self.say("<html>hello</html>")

    def at_nonsense(self, number: int, body: str) -> None:
        self.say('{"answer": {"x": null}}')

    def at_closed(self, number: int, body: str) -> None:
        self.close_connection = True

    def at_moved(self, number: int, body: str) -> None:
        self.say("", 302, Location="/number")

    def at_echo(self, number: int, body: str) -> None:
        """As services do that quote the key which they refuse; a message is cut somewhere else in it each time."""
        self.say("x" * (number % 32) + self.headers.get("Authorization", "") * 30, 400)

    def at_echo_json(self, number: int, body: str) -> None:
        self.say(json.dumps({"error": "x" * 100 + self.headers.get("Authorization", "")}))

    def at_echo_words(self, number: int, body: str) -> None:
        self.say("your key is " + self.headers.get("Authorization", ""))

    def at_nowhere(self, number: int, body: str) -> None:
        self.say("nothing here", int(self.path.strip("/")) if self.path.strip("/").isdigit() else 404)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(failures, "FIRST_WAIT", 0.001)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Server() as running:
        thread = threading.Thread(target=lambda: running.serve_forever(0.01))
        thread.start()
        try:
            yield running
        finally:
            running.leave.set()
            running.shutdown()
            thread.join()


def draw(arms: NamedArms, n: int = 1, seed: int = 0, name: str = "x") -> NDArray[np.float64]:
    arm = arms[name]
    try:
        return np.asarray(arm.draw(n, np.random.default_rng(seed)))
    finally:
        arm.close()  # type: ignore[attr-defined]


def one(url: str, n: int = 1, **options: Any) -> NDArray[np.float64]:
    return draw(http_arms({"x": url}, **options), n)


def failure(url: str, n: int = 1, **options: Any) -> str:
    with pytest.raises(ArmError) as caught:
        one(url, n, **options)
    assert caught.value.arm == "x"
    return str(caught.value)


def test_http_arms_are_arms_without_an_end_and_only_latencies_are_drawn_one_at_a_time(server: Server) -> None:
    arm, timed = (
        http_arms({"x": server.url("number")})["x"],
        http_arms({"x": server.url("number")}, kind="latency")["x"],
    )
    assert isinstance(arm, Arm)
    assert arm.remaining is None
    assert (arm.one_at_a_time, timed.one_at_a_time) == (False, True)  # type: ignore[attr-defined]


def test_numbers_come_from_the_whole_answer_or_from_a_path(server: Server) -> None:
    assert one(server.url("number"), 3).tolist() == [[4.5]] * 3
    assert one(server.url("number"), method="GET").tolist() == [[4.5]]
    assert one(server.url("number"), body="two numbers").tolist() == [[1.5, 2]]
    body = {"messages": [{"content": "four"}]}
    assert one(server.url("chat"), body=body, value="n").tolist() == [[4]]
    assert [method for _, method, *_ in server.seen] == ["POST"] * 3 + ["GET", "POST", "POST"]


def test_a_latency_is_the_time_of_the_call_after_one_that_does_not_count(server: Server) -> None:
    arms = http_arms({"x": server.url("slow")}, kind="latency", price=2.5)
    start = time.perf_counter()
    seconds = draw(arms, 1)[0, 0]
    assert 0.05 <= seconds <= time.perf_counter() - start
    assert server.count("slow") == 2
    assert (arms.columns, arms.price) == (("latency",), 2.5)


def test_texts_become_features_of_their_own(server: Server) -> None:
    prompts = ["the cat sat", "completely different words"]
    body = '{"messages": [{"content": "{prompt}"}]}'
    options: dict[str, Any] = {"body": body, "value": "choices.0.message.content", "kind": "text"}
    cat = one(server.url("chat"), 2, prompts=prompts[:1], **options)
    words = one(server.url("chat"), 1, prompts=prompts[1:], **options)
    assert cat.shape == (2, 256)
    assert np.array_equal(cat[0], cat[1])
    assert not np.array_equal(cat[0], words[0])
    assert np.array_equal(one(server.url("words"), kind="text").shape, (1, 256))
    assert one(server.url("words"), kind="text", text="characters").shape == (1, 64)
    assert any("n-grams" in note for note in http_arms({"x": server.url("words")}, kind="text").notes)


def test_prompts_depend_on_the_seed_alone_and_answers_come_in_their_order(server: Server) -> None:
    prompts = ["p" * size for size in range(1, 30)]
    answers = [
        draw(
            http_arms(
                {"x": server.url("chat")},
                body={"messages": [{"content": "{prompt}"}]},
                prompts=prompts,
                value="n",
                concurrency=concurrency,
            ),
            12,
            seed,
        ).ravel()
        for concurrency, seed in [(1, 0), (6, 0), (6, 1)]
    ]
    assert np.array_equal(answers[0], answers[1])
    assert not np.array_equal(answers[0], answers[2])
    assert len(set(answers[0])) > 5


@pytest.mark.parametrize(
    ("file", "text"),
    [("p.txt", 'say "hi"\n\n  \n'), ("p.jsonl", '{"prompt": "say \\"hi\\"", "id": 1}\n\n')],
)
@pytest.mark.parametrize("body", [{"q": ["{prompt}!"]}, '{"q": ["{prompt}!"]}'])
def test_prompts_of_a_file_stay_one_text_whatever_is_in_them(
    server: Server, tmp_path: Path, file: str, text: str, body: object
) -> None:
    (tmp_path / file).write_text(text)
    one(server.url("number"), body=body, prompts=tmp_path / file)
    assert json.loads(server.seen[0][3]) == {"q": ['say "hi"!']}
    assert server.seen[0][2]["Content-Type"] == "application/json"


def test_a_prompt_may_stand_in_a_text_or_in_the_address(server: Server) -> None:
    one(server.url("number"), body="Q: {prompt}", prompts=["a & b"])
    assert server.seen[0][3] == "Q: a & b"
    arm = http_arms({"x": server.url("number?q={prompt}")}, method="GET", prompts=["a & b"])
    assert draw(arm).tolist() == [[4.5]]


def test_an_endpoint_has_its_own_method_headers_and_body_over_those_of_all(server: Server) -> None:
    url = server.url("number")
    arms = http_arms(
        {
            "a": Endpoint(url, headers={"B": "2"}, body="two"),
            "b": {"url": url, "method": "GET"},
            "c": url,
        },
        headers={"A": "1", "B": "1"},
        body="one",
    )
    for name in arms:
        draw(arms, name=name)
    seen = [(method, headers["A"], headers["B"], body) for _, method, headers, body in server.seen]
    assert seen == [("POST", "1", "2", "two"), ("GET", "1", "1", "one"), ("POST", "1", "1", "one")]


def test_at_most_concurrency_calls_are_under_way(server: Server) -> None:
    one(server.url("slow"), 9, concurrency=3)
    assert server.most == 3


def test_a_rate_spaces_the_calls(server: Server) -> None:
    start = time.perf_counter()
    one(server.url("number"), 5, rate=40)
    assert time.perf_counter() - start >= 4 / 40


@pytest.mark.parametrize(
    ("path", "options", "said"),
    [
        ("broken", {}, "answered 500: 'an internal error'; call it by hand"),
        ("words", {}, "answered with what is no JSON: '<html>hello</html>'"),
        ("nonsense", {}, "expected a finite number or a list of them, got"),
        ("nonsense", {"value": "answer.x"}, "expected a finite number or a list of them, got 'None'"),
        ("nonsense", {"value": "answer.y"}, "there is no 'y' of the path 'answer.y'"),
        ("nonsense", {"value": "answer.y", "kind": "latency", "warmup": 0}, "there is no 'y' of the path 'answer.y'"),
        ("nonsense", {"value": "answer.x", "kind": "text"}, "expected text, got 'None'; set value="),
        ("closed", {}, "broke off the call (RemoteProtocolError)"),
        ("moved", {}, "answered 302"),
        ("stuck", {"timeout": 0.1}, "gave no answer within timeout=0.1 seconds"),
        ("drip", {"timeout": 0.2}, "gave no answer within timeout=0.2 seconds"),
        ("always_busy", {}, "answered 429 (too many requests) 4 time(s) in a row; lower rate="),
        ("418", {}, "answered 418"),
    ],
)
def test_a_failure_is_raised_with_its_arm_and_cause_or_encoded(
    server: Server, path: str, options: dict[str, Any], said: str
) -> None:
    url = server.url(path)
    assert said in failure(url, **options)
    encoded = one(url, 2, on_failure="encode", **options)
    width = 256 if options.get("kind") == "text" else 1
    assert encoded.tolist() == [[0.0] * width + [1.0]] * 2


def test_a_server_that_is_not_there_is_a_failure_that_shows_its_address_without_user_and_query(server: Server) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        port = other.server_address[1]
    said = failure(f"http://me:word@127.0.0.1:{port}/path?key=abc")
    assert f"cannot be reached at http://127.0.0.1:{port}; check the address" in said


@pytest.mark.parametrize(
    ("status", "cure"), [(401, "check the key"), (404, "check the address"), (405, "check method=")]
)
@pytest.mark.parametrize("on_failure", ["raise", "retry", "encode"])
def test_a_status_that_every_sample_would_get_ends_the_run_at_once(
    server: Server, status: int, cure: str, on_failure: str
) -> None:
    assert cure in failure(server.url(str(status)), on_failure=on_failure)
    assert server.count(str(status)) == 1


def test_a_retry_goes_on_after_failures_and_says_so(server: Server) -> None:
    arms = http_arms({"x": server.url("flaky")}, on_failure="retry", concurrency=1)
    assert draw(arms, 2).tolist() == [[4.5]] * 2
    assert any("samples that succeed" in note for note in arms.notes)
    assert "3 tries failed, the last one so: answered 500" in failure(
        server.url("broken"), on_failure="retry", retries=2
    )
    assert server.count("broken") == 3


def test_too_many_requests_is_no_failure(server: Server) -> None:
    assert one(server.url("busy"), on_failure="raise").tolist() == [[4.5]]
    assert server.count("busy") == 3


def test_retry_after_is_honoured_up_to_a_minute() -> None:
    assert _pause("7", 0) == 7
    assert _pause("0.5", 3) == 0.5
    assert _pause("100000", 0) == failures.LONGEST_WAIT
    assert _pause("-3", 0) == 0
    assert 25 < _pause(formatdate(time.time() + 30, usegmt=True), 0) <= 30
    assert _pause(formatdate(time.time() - 30, usegmt=True), 0) == 0
    for nonsense in ("", "soon", "nan"):
        assert _pause(nonsense, 2) == failures.wait_before(2)


def test_the_first_error_stops_the_other_samples(server: Server) -> None:
    failure(server.url("broken"), 400, concurrency=2)
    assert server.count("broken") < 200


def test_no_call_goes_over_what_may_be_spent_by_all_arms_together(server: Server) -> None:
    arms = http_arms({"x": server.url("number"), "y": server.url("number")}, price=0.1, max_spend=0.3)
    draw(arms, 2)
    with pytest.raises(SpendError, match=r"arm 'y': the next call at 0\.1 would go over max_spend=0\.3; raise it"):
        draw(arms, 2, name="y")
    assert server.count("number") == 3
    assert [arm.spent for arm in arms.values()] == [0.2, 0.1]  # type: ignore[attr-defined]


@pytest.mark.parametrize("on_failure", ["retry", "encode"])
def test_failed_calls_are_paid_and_no_policy_spends_more(server: Server, on_failure: str) -> None:
    options: dict[str, Any] = {"price": 1.0, "max_spend": 5.0, "on_failure": on_failure, "retries": 9}
    with pytest.raises(SpendError):
        one(server.url("broken"), 50, **options)
    assert server.count("broken") == 5


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("echo", {}),
        ("echo", {"on_failure": "retry"}),
        ("echo_words", {}),
        ("echo_json", {}),
        ("echo_json", {"value": "error"}),
        ("echo_json", {"value": "error.x"}),
        ("echo_json", {"value": "error.0", "kind": "text"}),
        ("closed", {}),
    ],
)
def test_a_key_reaches_the_server_and_nothing_else(
    server: Server,
    path: str,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("THE_KEY", SECRET)
    headers = {"Authorization": "Bearer ${THE_KEY}", "X-Plain": "as it is"}
    endpoint = Endpoint(server.url(path), headers=headers)
    arms = http_arms({"x": endpoint}, **options)
    for _ in range(32 if path == "echo" else 1):
        with pytest.raises(ArmError) as caught:
            arms["x"].draw(1, np.random.default_rng(0))
        assert SECRET[:6] not in str(caught.value) + repr(caught.value)
        # errors of libraries and parsers hold what was sent and what came back
        assert all(isinstance(error, KabcError | LookupError | TypeError) for error in chain(caught.value))
    assert server.seen[0][2]["Authorization"] == f"Bearer {SECRET}"
    assert server.seen[0][2]["X-Plain"] == "as it is"
    held = [repr(arms), repr(arms["x"]), repr(vars(arms["x"])), repr(endpoint), repr(arms.notes), caplog.text]
    arms["x"].close()  # type: ignore[attr-defined]
    for text in held:
        assert SECRET[:6] not in text


@pytest.mark.parametrize("value", [None, "", "two\nlines", "f\u00fcnf"])
def test_a_variable_that_is_not_set_or_no_header_is_refused_before_the_first_call(
    server: Server, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"Authorization": "Bearer ${THE_KEY}"}
    monkeypatch.setenv("THE_KEY", SECRET)
    arms = http_arms({"x": server.url("number")}, headers=headers)
    monkeypatch.delenv("THE_KEY") if value is None else monkeypatch.setenv("THE_KEY", value)
    for attempt in (lambda: http_arms({"x": server.url("number")}, headers=headers), lambda: draw(arms)):
        with pytest.raises(SettingsError, match=r"arm 'x': .*variable THE_KEY") as caught:
            attempt()
        assert not value or value not in str(caught.value)
    assert not server.seen


def test_a_closed_arm_can_be_drawn_from_again(server: Server) -> None:
    arms = http_arms({"x": server.url("number")})
    assert draw(arms).tolist() == draw(arms).tolist()
    arms["x"].close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("endpoint", "options", "said"),
    [
        ("ftp://host/x", {}, "url must be an address like https://host/path, got 'ftp://host/x'"),
        ("host/x", {}, "url must be an address"),
        (3, {}, "an endpoint is an address or has the fields url, method, headers, body (url is needed), got int"),
        ({"address": "http://host"}, {}, "(url is needed), got address"),
        ("http://host/?key=${K}", {}, "put it into headers="),
        ("http://host", {"kind": "mood"}, "kind must be 'number', 'text' or 'latency', got 'mood'"),
        ("http://host", {"method": ""}, "method must be a word"),
        ("http://host", {"concurrency": 0}, "concurrency must be a whole number, 1 or more, got 0"),
        ("http://host", {"rate": 0}, "rate must be a number of calls a second above 0, or None, got 0"),
        ("http://host", {"timeout": -1}, "timeout must be"),
        ("http://host", {"warmup": -1}, "warmup must be"),
        ("http://host", {"value": ""}, "value must be a path"),
        ("http://host", {"price": -1}, "price must be"),
        ("http://host", {"max_spend": 0, "price": 1}, "max_spend must be"),
        ("http://host", {"max_spend": 3}, "max_spend=3 needs the price of one call; set price="),
        ("http://host", {"body": {"a": {1}}}, "body must be text or a JSON value"),
        ("http://host", {"body": "{prompt}"}, "{prompt} is used but there are no prompts"),
        ("http://host", {"prompts": ["a"]}, "prompts are given but used nowhere"),
        ("http://host", {"prompts": []}, "prompts must be a file or a list with at least one prompt"),
        ("http://host", {"prompts": "no-such-file"}, "cannot read prompts from 'no-such-file'"),
        ("http://host", {"headers": {"A": 1}}, "the header 'A' must be text in ASCII"),
        ("http://host", {"on_failure": "drop"}, "on_failure must be"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_called(endpoint: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(KabcError) as caught:
        http_arms({"x": endpoint}, **options)
    assert isinstance(caught.value, SettingsError)
    assert said in str(caught.value)


def test_json_lines_without_a_prompt_are_refused_with_their_number(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text('{"prompt": "a"}\n\n{"question": "b"}\n')
    with pytest.raises(SettingsError, match="line 3 of the prompts"):
        http_arms({"x": "http://host"}, prompts=str(file), body="{prompt}")


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "httpx":
            raise ImportError(name)
        return ordinary(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SettingsError, match=r"httpx; pip install 'kabc\[data\]'"):
        module.http_arms({"x": "http://host"})
