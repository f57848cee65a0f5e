"""No key and no password is kept or shown: not in a store, not in an answer, not by the server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.blackbox.shell import Said, serving, shell

# One key for each place where people write one. None looks random: what hides it must know the place.
TOKEN, BEARER, USER, QUERY, FIELD = "token-lark", "bearer-finch", "user-robin", "query-heron", "field-stork"
VARIABLE, COMMON, OWN, PHRASE, BODY = (
    "variable-wren",
    "common-eagle",
    "own-osprey",
    "phrase of four words",
    "body-raven",
)
HEADER, SPACED, ASSIGNED, SHORT = "header-crane", "spaced-goose", "assigned-swift", "k3y!"
KEYS = (
    *(TOKEN, BEARER, USER, QUERY, FIELD, VARIABLE, COMMON, OWN, PHRASE, "four words", BODY, HEADER, SPACED),
    *(ASSIGNED, SHORT),
)

# A command that fails now and then, and then prints all that it was given: its words and its variables.
TOOL = """#!/bin/sh
if [ $((KABC_SEED % 4)) -eq 1 ]; then
  echo "refused: $* ${SERVICE_KEY} ${API_KEY} ${DB_PASSWORD} ${PGPASSWORD} ${PIN_CODE}" >&2; exit 1
fi
echo $((KABC_SEED % 100))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tool = tmp_path / "tool"
    tool.write_text(TOOL)
    tool.chmod(0o700)
    return tmp_path


def ran(folder: Path, study: str, *source: object, env: Mapping[str, str] | None = None) -> Said:
    """A study of a source, with every file that a run can write."""
    said = shell(
        *("run", *source, "--on-failure", "encode", "--max-samples", 40, "--seed", 3, "--storage", "kabc.db"),
        *("--study", study, "--save", f"{study}.json", "--report", f"{study}.html", "--json", "--evidence"),
        folder=folder,
        env=env,
    )
    assert said.code in (0, 3, 6), said
    return said


def everywhere(folder: Path, studies: Mapping[str, Said]) -> dict[str, str]:
    """All that people and programs can read of the studies afterwards, by where they read it."""
    found = {f"answer of {name}": said.out + said.err for name, said in studies.items()}
    for name in studies:
        for words in (("status", name, "--json"), ("export", name, f"{name}.kabcstudy")):
            told = shell("study", *words, "--storage", "kabc.db", folder=folder)
            assert told.code == 0, told
            found[" ".join(words)] = told.out + told.err
    with serving(folder) as server, server.client(server.admin) as client:
        listed = client.get("/api/studies").json()["studies"]
        assert len(listed) == len(studies)
        for study in listed:
            for path in ("", "/snapshot", "/arms", "/notes", "/pairs", "/export?form=csv", "/export?form=json"):
                answer = client.get(f"/api/studies/{study['id']}{path}")
                assert answer.status_code == 200, (path, answer.text)
                found[f"GET {path} of {study['name']}"] = answer.text
        found["store"] = "".join(file.read_text("latin-1") for file in folder.glob("kabc.db*"))
    files = [file for file in folder.iterdir() if file.is_file() and file.suffix not in ("", ".toml")]
    return found | {file.name: file.read_text("latin-1") for file in files}


def expect_no_key(found: Mapping[str, str]) -> None:
    for where, text in found.items():
        shown = [key for key in KEYS if key in text or json.dumps(key)[1:-1] in text]
        assert not shown, f"{where} shows {shown}"


def expect_failures_with(said: Said, mark: str) -> None:
    """The failures of the tool are told, with something else in the place of the keys."""
    told = [one["last"] for one in said.json["failures"].values()]
    assert any("refused" in one and mark in one for one in told), told


def of_commands(folder: Path) -> Said:
    """Keys that are typed in commands."""
    commands = {
        "a": f"./tool --token={TOKEN} --retry 3",
        "b": f": customer-magpie; ./tool -H 'Authorization: Bearer {BEARER}' -H \"X-Api-Key: {HEADER}\" "
        f"'https://me:{USER}@host.example/x?api_key={QUERY}&n=3'",
        "c": f"PGPASSWORD={ASSIGNED} ./tool 'host=h password={FIELD}' --password {SPACED} --pin {SHORT}",
        "d": f"cd . && ./tool --secret '{PHRASE}' --api-key \"$SERVICE_KEY\" -u me:{USER}",
    }
    words = [word for name, command in commands.items() for word in ("--command", f"{name}={command}")]
    return ran(folder, "commands", *words, env={"SERVICE_KEY": VARIABLE})


def of_variables(folder: Path) -> Said:
    """Keys in the variables of commands, and in a command that is a list of words."""
    words = ["./tool", "--token", TOKEN, "--secret", PHRASE]
    (folder / "variables.toml").write_text(
        "[commands]\non_failure = 'encode'\n"
        f"env = {{ API_KEY = '{COMMON}', PIN_CODE = '{SHORT}', b = {{ DB_PASSWORD = '{OWN}', "
        f"SERVICE_KEY = '{PHRASE}' }} }}\n[commands.run]\na = {json.dumps(words)}\nb = './tool'\n"
    )
    return ran(folder, "variables", "--config", "variables.toml", "--quiet")


@contextmanager
def moody() -> Iterator[str]:
    """A server that refuses every fourth call, and then says all that it was sent."""

    class Moody(BaseHTTPRequestHandler):
        calls = 0

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            Moody.calls += 1
            refused = Moody.calls % 4 == 0
            answer = (
                f"refused: {self.path.partition('?')[2]} {self.headers} {body}"
                if refused
                else json.dumps({"value": Moody.calls % 7})
            )
            self.send_response(500 if refused else 200)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            """Nothing on the standard error of the tests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Moody) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def of_endpoints(folder: Path) -> Said:
    """Keys in addresses, headers and bodies."""
    with moody() as host:
        (folder / "endpoints.toml").write_text(
            "[http]\nvalue = 'value'\non_failure = 'encode'\n"
            f"headers = {{ Authorization = 'Bearer ${{SERVICE_KEY}}', X-Api-Key = '{HEADER}' }}\n"
            "body = { key = '${BODY_KEY}' }\n[http.endpoints]\n"
            f"a = 'http://me:{USER}@{host}/customer-magpie?api_key={QUERY}'\n"
            f"b = 'http://{host}/b?password={FIELD}'\n"
        )
        keys = {"SERVICE_KEY": VARIABLE, "BODY_KEY": BODY}
        said = ran(folder, "endpoints", "--config", "endpoints.toml", env=keys)
        assert said.json["origin"]["source"] == f"http://{host}"
        return said


def test_keys_are_nowhere(folder: Path) -> None:
    studies = {"commands": of_commands(folder), "variables": of_variables(folder), "endpoints": of_endpoints(folder)}
    found = everywhere(folder, studies)
    expect_no_key(found)
    expect_failures_with(studies["commands"], "***")
    expect_failures_with(studies["variables"], "${API_KEY}")
    expect_failures_with(studies["endpoints"], "${SERVICE_KEY}")
    origin = studies["commands"].json["origin"]
    assert origin["source"] == "a: tool; b: a command; c: tool; d: cd"
    assert "--retry 3" in origin["command"]  # what is no key stays readable
    assert "customer-magpie" not in found["store"]  # no command line, and no path of an address


def test_a_command_that_fails_at_once_shows_no_variable(folder: Path) -> None:
    """Its error ends the run: it is on standard error and in the answer."""
    (folder / "study.toml").write_text(
        f"[commands]\nenv = {{ API_KEY = '{COMMON}', URL = 'https://me:{USER}@host.example' }}\n[commands.run]\n"
        "a = 'echo 1'\nb = 'echo wrong: $API_KEY at $URL, from ${SERVICE_KEY}'\n"
    )
    said = shell(
        *(
            "run",
            "--config",
            "study.toml",
            "--quiet",
            "--json",
            "--save",
            "saved.json",
            "--max-samples",
            8,
            "--seed",
            0,
        ),
        folder=folder,
        env={"SERVICE_KEY": VARIABLE},
    )
    assert said.code in (2, 3), said
    assert "wrong: ${API_KEY}" in said.err
    saved = folder / "saved.json"
    expect_no_key({"out": said.out, "err": said.err, "saved": saved.read_text() if saved.exists() else ""})


def test_short_and_common_values_spoil_no_message(folder: Path) -> None:
    (folder / "study.toml").write_text(
        "[commands]\nenv = { N = '1', LANG = 'C', DEBUG = 'false', LC_ALL = 'C.UTF-8', "
        "DIR = '/usr/bin:/usr/local/bin' }\n"
        "[commands.run]\na = 'echo 1'\nb = 'echo it is 1 of 11 false files of /usr/bin in CET, not C.UTF-8'\n"
    )
    said = shell("run", "--config", "study.toml", "--seed", 0, "--quiet", folder=folder)
    assert "it is 1 of 11 false files of /usr/bin in CET, not C.UTF-8" in said.err, said
