"""Where a server may listen, what it says, and what describes it."""

from __future__ import annotations

import re
import ssl
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from kabc.core.errors import SettingsError
from kabc.server.access import Access, Guest, digest_of, guests, new_token
from kabc.server.endpoints import ENDPOINTS
from kabc.server.errors import RefusedError
from kabc.server.openapi import document
from kabc.server.serving import Place
from kabc.storage.memory import MemoryStorage
from tests.server.served import Served, serving

DOCS = Path(__file__).parents[2] / "docs" / "serve.md"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "studies.example", "127.0.0.1.evil.example"])
def test_beyond_this_machine_a_token_is_needed(host: str) -> None:
    with pytest.raises(SettingsError, match="--no-token would let everybody"):
        Place(host, token=False).check()
    Place(host, public_url="https://studies.example").check()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.9.9.9"])
def test_on_this_machine_reading_may_be_open(host: str) -> None:
    Place(host, token=False).check()


def test_hosts_are_those_of_this_machine_and_of_the_public_address() -> None:
    local = {"127.0.0.1:8080", "localhost:8080", "[::1]:8080"}
    assert Place().hosts(8080) == local
    assert Place("0.0.0.0").hosts(8080) == local
    assert Place("10.0.0.7").hosts(8080) == local | {"10.0.0.7:8080"}
    proxied = Place(public_url="https://studies.example")
    assert proxied.hosts(8080) == local | {"studies.example", "studies.example:443"}
    assert (proxied.secure, proxied.address(8080)) == (True, "https://studies.example")


@pytest.mark.parametrize(
    "url", ["studies.example", "ftp://studies.example", "https://", "https://studies.example/kabc"]
)
def test_a_public_address_without_meaning_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="--public-url is an address such as"):
        Place(public_url=url).check()


def test_tls_needs_both_files(folder: Path) -> None:
    with pytest.raises(SettingsError, match="needs both files"):
        Place(certificate=folder / "cert.pem").check()
    with pytest.raises(SettingsError, match="there is no file"):
        Place(certificate=folder / "cert.pem", key=folder / "key.pem").check()


@pytest.mark.slow
def test_with_tls_cookies_are_for_https_alone(folder: Path) -> None:
    files = folder / "cert.pem", folder / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        subprocess.run([*make, *subject, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    with serving(folder, "--certificate", files[0], "--key", files[1]) as served:
        assert served.address.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=str(files[0]))
        with httpx.Client(verify=trusted) as client:
            answer = client.get(served.url)
            assert "Secure" in answer.headers["set-cookie"] and "__Host-kabc" in answer.headers["set-cookie"]
            assert "max-age" in answer.headers["strict-transport-security"]
            assert client.get(f"{served.address}/api/me").json()["scope"] == "admin"
        assert served.end() == 0


# ---------------------------------------------------------------- tokens alone


PRINTED = new_token()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def _access(store: MemoryStorage, clock: Clock) -> Access:
    async def read() -> dict[str, Guest]:
        return guests(store)

    return Access(read, PRINTED, clock)


def test_the_limit_on_wrong_tokens_ends_after_a_minute() -> None:
    import asyncio

    async def run() -> list[int]:
        clock, codes = Clock(), list[int]()
        access = await _access(MemoryStorage(), clock)
        for clock.now in (*[0.0] * 12, 61.0):
            with pytest.raises(RefusedError) as refused:
                await access.by_token(new_token(), "10.0.0.1")
            codes.append(refused.value.code)
            assert (await access.by_token(PRINTED, "10.0.0.1")).scope == "admin"
        return codes

    assert asyncio.run(run()) == [401] * 10 + [429] * 2 + [401]


def test_sessions_end_after_hours_and_expired_tokens_open_nothing() -> None:
    import asyncio

    async def run() -> None:
        clock, store = Clock(), MemoryStorage()
        access = await _access(store, clock)
        old = new_token()
        store.add_token("old", "read", digest_of(old), 0.0)
        with pytest.raises(RefusedError, match="wrong, revoked or expired"):
            await access.by_token(old, "10.0.0.1")
        cookie = access.open_session(await access.by_token(PRINTED, "10.0.0.1"))
        clock.now = 11 * 3600.0
        assert (await access.by_cookie(cookie)).label == "printed"
        clock.now = 13 * 3600.0
        with pytest.raises(RefusedError, match="the session is over"):
            await access.by_cookie(cookie)

    asyncio.run(run())


# ---------------------------------------------------------------- what describes it


def test_the_documentation_lists_every_endpoint_with_its_scope() -> None:
    rows = re.findall(r"^\| `(\w+) (/\S*)` \| (\S+) \| (.*?) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    table = [(one.method, one.path, one.scope or "none", one.does) for one in ENDPOINTS]
    assert rows == table


def test_the_openapi_document_has_every_endpoint_and_field_described(served: Served) -> None:
    with served.client() as client:
        found = client.get("/openapi.json").json()
    assert found == document(ENDPOINTS)
    assert {(method.upper(), path) for path, methods in found["paths"].items() for method in methods} == {
        (one.method, one.path) for one in ENDPOINTS
    }
    schemas = found["components"]["schemas"]
    assert "kabc_result" in {name.replace(" ", "_") for name in schemas} or "Document" in schemas
    references = set(re.findall(r"#/components/schemas/([\w-]+)", str(found)))
    assert references <= set(schemas)
    assert all(schema.get("description") for schema in schemas.values())


def test_operations_have_names_of_their_own() -> None:
    names: list[Any] = [one.handler.__name__ for one in ENDPOINTS]
    assert len(set(names)) == len(names)
