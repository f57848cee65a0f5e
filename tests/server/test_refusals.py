"""Who is not let in, and what they learn: one line. Each attempt is logged, without what was sent."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from kabc.server.endpoints import ENDPOINTS, Endpoint
from kabc.storage.opening import open_storage
from tests.processes import running
from tests.server.served import KABC, PATIENCE, Served, refusal, serving

API = [one for one in ENDPOINTS if one.scope is not None]
BODY = {"content": b"{}", "headers": {"content-type": "application/json"}}


def path_of(endpoint: Endpoint, study: int = 1) -> str:
    return endpoint.path.replace("{study}", str(study))


def call(client: httpx.Client, endpoint: Endpoint) -> httpx.Response:
    return client.request(endpoint.method, path_of(endpoint), **BODY if endpoint.body else {})  # type: ignore[arg-type]


def names(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


@pytest.mark.parametrize("endpoint", API, ids=names)
def test_nobody_comes_in_without_a_token(served: Served, endpoint: Endpoint) -> None:
    with served.client() as client:
        code, said = refusal(call(client, endpoint))
    assert code == 401
    assert "a token is needed" in said


@pytest.mark.parametrize("endpoint", API, ids=names)
def test_a_token_does_what_its_scope_says_and_no_more(served: Served, endpoint: Endpoint) -> None:
    allowed = {"read": {"read"}, "tell": {"tell"}, "admin": {"read", "tell", "admin"}}
    for scope in ("read", "tell"):
        with served.client(_tokens(served)[scope]) as client:
            # of requests that are let in, the body or the query is wrong
            asked = client.build_request(endpoint.method, path_of(endpoint, 999), params={"no such": "thing"})
            answer = client.send(asked)
        let_in = endpoint.scope in allowed[scope]
        assert (answer.status_code == 403) is not let_in
        if not let_in:
            assert refusal(answer)[1] == f"this needs a token of scope {endpoint.scope}, and yours has {scope}"


_KNOWN: dict[str, dict[str, str]] = {}


def _tokens(served: Served) -> dict[str, str]:
    if served.place not in _KNOWN:
        _KNOWN[served.place] = {scope: served.new_token(scope) for scope in ("read", "tell")}
    return _KNOWN[served.place]


def test_a_read_token_cannot_tell_and_nothing_is_told(served: Served) -> None:
    before = served.storage.summary(2)
    with served.client(_tokens(served)["read"]) as client:
        asked = {"worker": "mallory", "want": 1}
        assert refusal(client.post("/api/work/2/exchange", json=asked))[0] == 403
    assert served.storage.summary(2) == before
    assert "refused, 403: POST /api/work/{study}/exchange from 127.0.0.1" in served.log


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost:80", "", "kabc@127.0.0.1"])
def test_a_foreign_name_that_points_here_is_refused(served: Served, host: str) -> None:
    with served.client(served.token, host=host) as client:
        assert refusal(client.get("/api/studies"))[0] == refusal(client.get("/"))[0] == 421
    assert "refused, 421" in served.log


def test_both_names_of_this_machine_are_answered(served: Served) -> None:
    port = httpx.URL(served.address).port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        with served.client(served.token, host=host) as client:
            assert client.get("/api/me").status_code == 200


def test_a_token_in_the_address_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(served: Served) -> None:
    with served.client() as client:
        answer = client.get(served.url.removeprefix(served.address))
        assert (answer.status_code, answer.headers["location"]) == (303, "/")  # the token leaves the address
        (cookie,) = answer.headers.get_list("set-cookie")
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
        assert str(served.token) not in cookie
        assert client.get("/api/me").json()["scope"] == "admin"
        # a browser sends the cookie with whatever another site makes it send: that is not enough to change anything
        change = {"action": "pause"}
        code, said = refusal(client.post("/api/studies/2/actions", json=change))
        assert (code, "X-Kabc" in said) == (403, True)
        assert served.storage.load_study("goes on").state == "running"
        assert refusal(client.post("/api/studies/999/actions", json=change, headers={"x-kabc": "1"}))[0] == 404
        assert refusal(client.post("/api/logout"))[0] == 403
        assert client.post("/api/logout", headers={"x-kabc": "1"}).status_code == 200
        client.cookies.set(cookie.partition("=")[0], cookie.partition("=")[2].partition(";")[0])
        assert refusal(client.get("/api/me"))[0] == 401  # the old cookie is void


def test_a_cookie_ends_with_its_token(served: Served) -> None:
    token = served.new_token("read")
    with served.client(source="127.0.0.9") as client:
        own = {"x-kabc": "1"}
        assert client.post("/api/login", json={"token": token}, headers=own).json()["scope"] == "read"
        assert client.get("/api/studies").status_code == 200
        number = served.storage.tokens()[-1].id
        assert served.storage.remove_token(number)
        while client.get("/api/studies").status_code == 200:  # for a second
            pass
        assert refusal(client.get("/api/studies"))[0] == 401


def test_a_forged_cookie_opens_nothing(served: Served) -> None:
    name = f"kabc-{httpx.URL(served.address).port}"
    with served.client(source="127.0.0.2") as client:
        for forged in ("admin", str(served.token), "../../etc/passwd", "x" * 4_000):
            client.cookies.clear()
            client.cookies.set(name, forged)
            assert refusal(client.get("/api/studies"))[0] == 401
    assert "refused, 401: GET /api/studies from 127.0.0.2" in served.log


def test_wrong_tokens_are_limited_and_good_ones_are_taken_all_the_same(served: Served) -> None:
    with served.client(source="127.0.0.3") as client:
        good = {"authorization": f"Bearer {served.token}"}
        assert client.get("/api/me", headers=good).status_code == 200
        codes = [client.get("/api/me", headers={"authorization": f"Bearer wrong-{i}"}).status_code for i in range(15)]
        assert codes == [401] * 10 + [429] * 5
        unseen = {"authorization": f"Bearer {served.new_token('read')}"}
        assert client.get("/api/me", headers=unseen).status_code == 200
        refused = client.get("/api/me", headers={"authorization": "Bearer wrong"})
        assert refusal(refused)[0] == 429
        assert refused.headers["retry-after"] == "60"
        assert client.get("/api/me", headers=good).status_code == 200
    with served.client(served.token, source="127.0.0.4") as other:
        assert other.get("/api/me").status_code == 200


@pytest.mark.parametrize("given", ["Bearer", "Basic YTpi", "kabc", "Bearer=x"])
def test_another_way_to_authorize_is_refused(served: Served, given: str) -> None:
    with served.client(source="127.0.0.5") as client:
        assert client.get("/api/me", headers={"authorization": given}).status_code == 401


def test_nothing_that_was_sent_stands_in_the_log_or_in_an_answer(served: Served) -> None:
    secret = "hidden-word-that-was-sent"
    with served.client(source="127.0.0.6") as client:
        answers = [
            client.get("/", params={"token": secret}),
            client.get(f"/api/studies/{secret}"),
            client.get("/api/me", headers={"authorization": f"Bearer {secret}"}),
            client.get("/api/me", headers={"cookie": f"kabc-{httpx.URL(served.address).port}={secret}"}),
            client.post("/api/login", json={"token": secret}, headers={"x-kabc": "1"}),
            client.post("/api/login", json={"token": [secret]}, headers={"x-kabc": "1"}),
        ]
    with served.client(served.token) as client:
        answers.append(client.post("/api/studies/2/actions", json={"action": secret}))
    assert [one.status_code for one in answers] == [401, 404, 401, 401, 401, 400, 400]
    assert not any(secret in one.text for one in answers)
    assert secret not in served.log
    assert str(served.token) not in served.log


def test_every_answer_has_the_headers_of_a_strict_policy(served: Served) -> None:
    with served.client(source="127.0.0.7") as client:
        for path in ("/", "/static/page.js", "/api/studies", "/nowhere", "/openapi.json"):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
            assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
            assert "access-control-allow-origin" not in headers and "server" not in headers
        assert client.get("/api/studies").headers["cache-control"] == "no-store"
        asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
        preflight = client.options("/api/studies/1/actions", headers=asked)
        assert preflight.status_code == 405
        assert not any(name.startswith("access-control") for name in preflight.headers)


def test_the_page_has_no_script_of_its_own_and_loads_nothing_from_elsewhere(served: Served) -> None:
    with served.client() as client:
        page = client.get("/").text
        assert re.findall(r"<script[^>]*>([^<]*)</script>", page) == [""]
        assert not re.search(r"\son\w+=|https?://|style=", page)
        for file in re.findall(r'(?:src|href)="(/[^"]+)"', page):
            assert client.get(file).status_code == 200
        assert client.get("/static/../access.py").status_code == 404
        assert client.get("/static/%2e%2e/access.py").status_code == 404


# ---------------------------------------------------------------- bodies


WRONG: list[Any] = [b"", b"{", b"[]", b"null", b"1e999", b'{"a":' * 5_000, b'{"worker": "\\ud800"}', b"\xff\xfe", b'""']


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.body is not None], ids=names)
def test_bad_json_is_refused_in_one_line_by_every_endpoint(served: Served, endpoint: Endpoint) -> None:
    before = served.storage.summary(2)
    with served.client(served.token, **{"x-kabc": "1"}) as client:
        for content in WRONG:
            kind = {"content-type": "application/json"}
            answer = client.request(endpoint.method, path_of(endpoint, 2), content=content, headers=kind)
            code, _ = refusal(answer)
            assert code in (400, 413)
        for kind in ({}, {"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}):
            answer = client.request(endpoint.method, path_of(endpoint, 2), content=b"{}", headers=kind)
            assert refusal(answer)[0] == 415
    assert served.storage.summary(2) == before


def declared(served: Served, endpoint: Endpoint, length: int) -> int:
    """The code for a body that says how long it is, and is not sent."""
    url = httpx.URL(served.address)
    connection = http.client.HTTPConnection(url.host, url.port, timeout=PATIENCE)
    connection.putrequest(endpoint.method, path_of(endpoint, 2))
    headers = {"authorization": f"Bearer {served.token}", "content-type": "application/json", "x-kabc": "1"}
    for name, value in {**headers, "content-length": str(length)}.items():
        connection.putheader(name, value)
    connection.endheaders()
    code = connection.getresponse().status
    connection.close()
    return code


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.body is not None], ids=names)
def test_a_body_beyond_its_limit_is_refused(served: Served, endpoint: Endpoint) -> None:
    with served.client(served.token, **{"x-kabc": "1", "content-type": "application/json"}) as client:
        assert declared(served, endpoint, endpoint.most + 1) == 413
        if endpoint.most < 2**20:
            chunks = iter([b" " * (endpoint.most // 2)] * 3)  # without a length
            assert refusal(client.request(endpoint.method, path_of(endpoint, 2), content=chunks))[0] == 413


@pytest.mark.parametrize("endpoint", API, ids=names)
def test_bad_addresses_and_queries_are_refused(served: Served, endpoint: Endpoint) -> None:
    with served.client(served.token) as client:
        kind = {"content-type": "application/json"}
        for study in ("x", "-1", "0x1", "1.5", "9" * 30, "1%00"):
            if "{study}" in endpoint.path:
                path = endpoint.path.replace("{study}", study)
                assert client.request(endpoint.method, path, content=b"{}", headers=kind).status_code in (400, 404)
        for query in ("limit=-1", "limit=x", "offset=1e9", "arm=%ff", "a=b&a=c", "form=exe", "revision=x", "no=such"):
            answer = client.request(endpoint.method, f"{path_of(endpoint)}?{query}", content=b"{}", headers=kind)
            assert answer.status_code in (400, 404, 409), query
            assert "Traceback" not in answer.text


def test_arms_and_commands_cannot_be_made_or_changed_by_http(served: Served) -> None:
    changing = {f"{one.method} {one.path}" for one in ENDPOINTS if one.method != "GET"}
    assert changing == {
        "POST /api/login", "POST /api/logout", "POST /api/studies/{study}/actions", "DELETE /api/studies/{study}",
        "POST /api/work/{study}/join", "POST /api/work/{study}/facts", "POST /api/work/{study}/exchange",
        "POST /api/work/{study}/heartbeat", "POST /api/work/{study}/leave", "POST /api/work/{study}/notes",
    }  # fmt: skip
    spec = served.storage.load_study("goes on").spec
    with served.client(served.token) as client:
        for facts in ({"run": {"a": "rm -rf /"}}, {"arms": [], "command": "x"}, {"arms": [{"run": "x"}] * 4}):
            assert refusal(client.post("/api/work/2/facts", json={"facts": facts}))[0] == 409
        note = {"kind": "block", "body": {"length": 5}}
        assert refusal(client.post("/api/work/2/notes", json=note))[0] == 400
    assert served.storage.load_study("goes on").spec == spec


# ---------------------------------------------------------------- where it listens


def refused_to_start(folder: Path, *options: object) -> str:
    place = str(folder / "kabc.db")
    open_storage(place).close()
    command = [*KABC, "serve", "--storage", place, "--json", *options]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, _ = process.communicate(timeout=200)
    assert process.returncode == 2
    return str(json.loads(out)["error"])


def test_beyond_this_machine_a_token_is_needed(folder: Path) -> None:
    assert "--no-token would let everybody" in refused_to_start(folder, "--host", "0.0.0.0", "--no-token")


def test_without_a_token_everybody_on_this_machine_may_read_and_nothing_else(folder: Path) -> None:
    with serving(folder, "--no-token") as open_one, open_one.client(**{"x-kabc": "1"}) as client:
        assert open_one.token is None
        assert client.get("/api/studies").json()["studies"] == []
        assert refusal(client.post("/api/studies/1/actions", json={"action": "pause"}))[0] == 403
        assert refusal(client.get("/api/work", params={"study": "x"}))[0] == 403
        assert open_one.end() == 0
