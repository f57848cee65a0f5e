"""Tokens, cookies and ids: who has a good one comes in, nobody else does, and no token is printed in an error."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

import kabc
from tests.blackbox.shell import PATIENCE, Said, Served, serving, shell

WRONG = "kabc_" + "x7Q" * 14 + "x"  # of the right form


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "kabc.db"
    kabc.create_study("nightly", arms=["a", "b"], n_clusters=2, seed=1, storage=str(path))
    path.with_name("arms.csv").write_text("arm,x\n" + "a,1\nb,2\n" * 20)
    return path


@pytest.fixture(scope="module")
def served(store: Path) -> Iterator[Served]:
    with serving(store.parent, store=store) as found:
        yield found


def me(client: httpx.Client, token: str) -> int:
    return client.get("/api/me", headers={"authorization": f"Bearer {token}"}).status_code


def work(served: Served, study: str, token: str, *more: str) -> Said:
    data = Path(served.store).with_name("arms.csv")
    return shell("worker", data, "--server", served.address, "--study", study, *more, env={"KABC_TOKEN": token})


# ---------------------------------------------------------------- made, and printed once


def test_a_new_token_stands_alone_on_standard_output(served: Served) -> None:
    made = shell("serve", "token", "create", "host 7", "--scope", "tell", "--days", 2, "--storage", served.store)
    assert made.code == 0
    assert re.fullmatch(r"kabc_[\w-]{43}\n", made.out)  # so KABC_TOKEN=$(...) and > file have the token, nothing else
    assert re.search(r"token \d+ of host 7: tell, until .*; it is not shown again", made.err)
    assert made.out.strip() not in made.err
    # as $(...) gives it, and as a file has it
    for token in (made.out.rstrip("\n"), f" \t{made.out}\r\n"):
        worker = work(served, "none", token)
        assert worker.code == 2 and "(404)" in worker.err and "(401)" not in worker.err


def test_white_space_around_a_token_is_taken_away_wherever_it_comes_in(served: Served) -> None:
    own = {"x-kabc": "1"}
    with served.client(source="127.0.1.1") as client:
        assert client.post("/api/login", json={"token": f"\n {served.admin}\t\n"}, headers=own).status_code == 200
        assert client.get("/", params={"token": f" {served.admin}\n"}).status_code == 303
        assert me(client, f"  {served.admin}") == 200


# ---------------------------------------------------------------- never shown

BAD = {  # what a variable may hold, made of a good token; and what is said of it
    "two lines": ("{}\ntoken 1 of host 7: tell; it is not shown again", "has 2 lines"),
    "cut": ("{:.40}", "has 40 characters"),
    "with its kind": ("Bearer {}", "does not begin with kabc_"),
    "control characters": ("kabc_\x1b[31m\x07{:.37}", "has a character that no token has"),
    "not ASCII": ("kabc_ä\u202e{:.41}", "has a character that no token has"),
    "wrong": (WRONG, "wrong, revoked or expired"),
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_token_is_told_in_one_line_that_does_not_have_it(served: Served, how: str) -> None:
    form, why = BAD[how]
    token = form.format(served.admin)
    said = work(served, "nightly", token, "--debug")
    assert said.code == 2
    (line,) = [one for one in said.err.splitlines() if one.startswith("kabc: error: ")]
    assert why in line
    if how != "wrong":
        assert "KABC_TOKEN" in line
    for text in (said.out, said.err, served.log):
        assert not any(token[at : at + 12] in text for at in range(5, len(token) - 12) if token[at : at + 12].isalnum())
        assert served.admin not in text and "\x1b" not in text and "\u202e" not in text


def test_no_header_or_address_brings_a_token_into_the_log(served: Served) -> None:
    url = httpx.URL(served.address)
    token = served.admin
    host = f"Host: {url.netloc.decode()}"
    heads = [
        ("/api/me", host, f"Authorization: Bearer {token[:20]}\x1b{token[20:]}"),
        ("/api/me", host, f"Authorization: Bearer {token}\r\n {token}"),
        ("/api/me", host, f"Authorization: Bearer {token}ä"),
        ("/api/me", f"Host: {token}", f"Authorization: {token}"),
        (f"/?token={token}%0a{token}", host, "Accept: */*"),
        (f"/api/studies/{token}", host, f"{token}: {token}"),
        (f"/api/me?token={token}\x00", host, "Accept: */*"),
    ]
    for path, *lines in heads:
        head = "\r\n".join([f"GET {path} HTTP/1.1", *lines, "Connection: close", "", ""])
        with socket.create_connection((url.host, url.port), PATIENCE, ("127.0.1.2", 0)) as raw:
            raw.sendall(head.encode())
            answer = b"".join(iter(partial(raw.recv, 65_536), b""))
        assert re.match(rb"HTTP/1.1 4\d\d ", answer), head
        assert token[5:20].encode() not in answer and token[25:].encode() not in answer
    assert token[5:20] not in served.log and token[25:] not in served.log
    assert "Traceback" not in served.log


@pytest.mark.parametrize("words", [("serve", "token", "revoke"), ("serve", "token"), ("worker", "--server")])
def test_a_token_typed_in_the_wrong_place_is_not_repeated(store: Path, words: tuple[str, ...]) -> None:
    said = shell(*words, WRONG, "--storage", store, "--json", "--debug")
    assert said.code == 2
    assert WRONG not in said.out + said.err
    assert "kabc: error: " in said.err


# ---------------------------------------------------------------- wrong ones, and cookies that are void


def test_in_a_locked_minute_good_tokens_are_taken_and_wrong_ones_are_not(served: Served) -> None:
    with served.client(source="127.0.1.3") as client:
        wrong = [me(client, f"{WRONG[:-2]}{number:02}") for number in range(15)]
        assert wrong == [401] * 10 + [429] * 5
        fresh = served.token("read")  # made in the locked minute, and never used before
        assert me(client, fresh) == 200
        assert client.post("/api/login", json={"token": fresh}, headers={"x-kabc": "1"}).status_code == 200
        assert client.get("/api/studies").status_code == 200  # by cookie
        assert [me(client, WRONG), me(client, "nonsense")] == [429, 429]
        refused = client.get("/api/me", headers={"authorization": f"Bearer {WRONG}"})
        assert refused.headers["retry-after"] == "60"


def test_a_restart_with_open_pages_locks_nobody_out(store: Path, tmp_path: Path) -> None:
    tabs = 4
    with serving(tmp_path, store=store) as first:
        port = httpx.URL(first.address).port
        worker, unused = first.token("tell"), first.token("read")
        cookies = []
        for _ in range(tabs):
            with first.client() as page:
                assert page.get("/", params={"token": first.admin}).status_code == 303
                assert page.get("/api/studies").status_code == 200
                cookies.append(page.cookies)
    with serving(tmp_path, "--port", port, store=store) as second, second.client() as page:
        for _ in range(5):
            for cookie in cookies:
                page.cookies = cookie
                answer = page.get("/api/studies")  # 20 in all: the page shows its door, and no more
                assert answer.status_code == 401
                assert "session is over" in answer.json()["error"]
        page.cookies.clear()
        assert page.get("/api/work", params={"study": "nightly"}, headers=bearer(worker)).status_code == 200
        assert me(page, unused) == 200
        assert [me(page, WRONG) for _ in range(11)] == [401] * 10 + [429]  # all ten were left
        page.cookies = cookies[0]
        assert page.get("/api/studies").status_code == 401  # also in a locked minute: it is no guess


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


# ---------------------------------------------------------------- ids

IDS = ("9" * 19, "9" * 20, "9" * 4_301, "1" + "0" * 5_000, "0" * 5_000 + "1")


def routes(client: httpx.Client) -> list[tuple[str, str]]:
    """All with a number in the address, as the server describes itself."""
    paths = client.get("/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() if "{" in path for method in methods]


def test_an_id_that_no_store_has_ends_in_404_however_long_it_is(served: Served) -> None:
    with served.client(source="127.0.1.4") as nobody, served.client(served.admin) as admin:
        known = routes(nobody)
        assert len(known) > 10
        for method, path in known:
            for number in IDS:
                asked = re.sub(r"\{\w+\}", number, path)
                assert nobody.request(method, asked).status_code == 401  # who asks is looked at first
                answer = admin.request(method, asked)
                assert answer.status_code == 404, (method, path, len(number))
                assert list(answer.json()) == ["error"] and len(answer.text) < 200
    assert "Traceback" not in served.log and "fault" not in served.log


@pytest.mark.parametrize("number", ["9" * 25, "9" * 5_000, "-1", "0"])
def test_a_token_of_a_number_that_no_store_has_is_not_there(store: Path, number: str) -> None:
    said = shell("serve", "token", "revoke", "--storage", store, "--", number)
    assert said.code == 2 and len(said.err) < 300
    assert said.err.startswith("kabc: error: ")
