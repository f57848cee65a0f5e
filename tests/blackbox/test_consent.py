"""What a configuration that others may have written may do without a word of the user, and what no query may do."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import kabc
from tests.blackbox.shell import Said, shell

SECRET = "variable-wren"
ROWS = "arm,x\n" + "a,1\nb,5\na,2\nb,6\n" * 30


class Endpoint(BaseHTTPRequestHandler):
    """Answers a number, and keeps what it was sent."""

    sent: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        self.sent.append(f"{self.headers}{body}")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(len(self.sent) % 5).encode())

    def log_message(self, *_: object) -> None:
        """Nothing on the standard error of the tests."""


@pytest.fixture
def sent() -> Iterator[list[str]]:
    """What an endpoint was sent; its address is the first."""
    Endpoint.sent = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Endpoint.sent.append(f"http://127.0.0.1:{server.server_address[1]}")
        yield Endpoint.sent
        server.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


def config(folder: Path, text: str, mode: int = 0o666) -> None:
    """A file of settings; by default everybody may write it."""
    (folder / "study.toml").write_text(text)
    (folder / "study.toml").chmod(mode)


def called(folder: Path, *words: object, command: str = "run") -> Said:
    seed = () if command == "worker" else ("--seed", 0)
    return shell(command, "--config", "study.toml", *seed, *words, folder=folder, env={"SERVICE_KEY": SECRET})


def expect_refused(folder: Path, said: Said, what: str) -> None:
    """One line that says what the file would do, whose doubt there is, and the cure; nothing was written."""
    assert said.code == 2, said
    (line,) = said.err.splitlines()
    assert re.search(what, line), line
    assert "study.toml can be written by others (chmod go-w changes that), so read them, and pass --allow-" in line
    assert SECRET not in line
    assert {file.name for file in folder.iterdir()} == {"rows.csv", "study.toml"}


HTTP = "[http]\n{0}\n[http.endpoints]\na = '{1}/a'\nb = '{1}/b'\n"
TABLE = "[table]\npath = 'rows.csv'\narm = 'arm'\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("run", ("--clusters", 2)),
        ("check", ("--this", "a", "--same-as", "b", "--tolerance", 1)),
        ("outliers", ()),
        ("plan", ("--clusters", 2)),
        ("worker", ("--study", "s", "--storage", "kabc.db")),
    ],
)
def test_no_variable_is_sent_without_a_word(
    folder: Path, sent: list[str], command: str, words: tuple[object, ...]
) -> None:
    config(folder, HTTP.format("headers = { X-Api-Key = '${SERVICE_KEY}' }", sent[0]))
    expect_refused(folder, called(folder, *words, command=command), "sends the variables 'SERVICE_KEY'")
    assert len(sent) == 1  # the address


@pytest.mark.parametrize("place", ["body = { k = ['${SERVICE_KEY}'] }", "prompts = 'rows.csv'\nbody = '{prompt}'"])
def test_no_variable_in_a_body_and_no_file_is_sent_without_a_word(folder: Path, sent: list[str], place: str) -> None:
    config(folder, HTTP.format(place, sent[0]))
    expect_refused(folder, called(folder), "sends (the variables 'SERVICE_KEY'|lines of 'rows.csv')")
    assert len(sent) == 1


def test_a_variable_is_sent_with_a_word_and_from_an_own_file(folder: Path, sent: list[str]) -> None:
    text = HTTP.format("headers = { X-Api-Key = '${SERVICE_KEY}' }", sent[0])
    config(folder, text)
    assert called(folder, "--allow-commands", "--max-samples", 4).code in (0, 3)
    assert SECRET in sent[-1]
    n_calls = len(sent)
    config(folder, text, mode=0o600)
    assert called(folder, "--max-samples", 4).code in (0, 3)
    assert len(sent) > n_calls
    config(folder, HTTP.format("body = { k = 1 }", sent[0]))
    assert called(folder, "--max-samples", 4).code in (0, 3)  # nothing of the user is sent


@pytest.mark.parametrize(
    ("key", "file"), [("save", "out.json"), ("report", "out.html"), ("storage", "out.db"), ("save", "rows.csv")]
)
def test_no_file_is_written_without_a_word(folder: Path, key: str, file: str) -> None:
    study = "study = 's'\n" if key == "storage" else ""
    config(folder, f"{key} = '{file}'\n{study}max_samples = 20\n{TABLE}")
    expect_refused(folder, called(folder), f"writes .*'{file}' \\({key}\\)")
    assert (folder / "rows.csv").read_text() == ROWS


@pytest.mark.parametrize(("key", "file"), [("save", "out.json"), ("report", "out.html"), ("storage", "out.db")])
def test_what_is_typed_needs_no_word(folder: Path, key: str, file: str) -> None:
    config(folder, f"{key} = 'other'\nmax_samples = 20\n{TABLE}")
    said = called(folder, f"--{key}", file, *(("--study", "s") if key == "storage" else ()))
    assert said.code in (0, 3, 6), said
    assert (folder / file).exists() and not (folder / "other").exists()


def test_no_query_is_asked_without_a_word(folder: Path) -> None:
    sql = "[sql]\ndatabase = 'duckdb:///:memory:'\narm = 'arm'\nquery = \"select * from 'rows.csv'\"\n"
    config(folder, f"max_samples = 20\n{sql}")
    expect_refused(folder, called(folder), r"asks the database 'duckdb:///:memory:'.*select \* from 'rows.csv'")
    both = ("--sql", "select * from 'rows.csv'", "--database", "duckdb:///:memory:")
    assert called(folder, *both, "--max-samples", 20).code in (0, 3, 6)  # all of it is typed
    expect_refused(folder, called(folder, *both[:2]), "asks the database")  # it may be another server


def test_several_doubts_are_one_line(folder: Path) -> None:
    config(
        folder,
        "save = 'out.json'\nreport = 'out.html'\n[commands]\nenv = { KEY = 'k' }\n[commands.run]\n"
        "a = 'echo 1'\nb = 'echo 2'\n",
    )
    said = called(folder)
    expect_refused(folder, said, r"runs commands: 'a': 'echo 1'.*; writes 'out.json' \(save\), 'out.html' \(report\); ")


def test_a_table_needs_no_word(folder: Path) -> None:
    config(folder, f"max_samples = 20\n{TABLE}where = 'x > 0'\n")
    assert called(folder).code in (0, 3, 6)


# ---------------------------------------------------------------- what DuckDB may do


def asked(folder: Path, query: str, database: str = "duckdb:///:memory:") -> Said:
    return shell(
        *("run", "--sql", query, "--database", database, "--arm", "arm", "--max-samples", 20, "--seed", 0, "--json"),
        folder=folder,
    )


@pytest.mark.parametrize(
    "query",
    [
        "select * from 'https://127.0.0.1:9/rows.parquet'",
        "select * from sqlite_scan('rows.db', 't')",
        "select arm, excel_text(x, '0') as x from 'rows.csv'",
    ],
)
def test_no_extension_is_installed_or_loaded(folder: Path, query: str) -> None:
    said = asked(folder, query)
    assert said.code == 2, said
    assert len(said.err.splitlines()) == 1
    assert "extension" in said.err and "install" not in said.err, said.err


def test_a_query_reads_the_files_that_it_names(folder: Path) -> None:
    for part in ("p1", "p2"):
        (folder / "logs" / part).mkdir(parents=True)
        (folder / "logs" / part / "rows.csv").write_text(ROWS)
    sources = ("'rows.csv'", f"read_csv('{folder}/rows.csv')", '"./rows.csv"', "'logs/**/*.csv' -- don't")
    said = asked(folder, "\nunion all ".join(f"select arm, x from {source}" for source in sources))
    assert said.code in (0, 3, 6), said
    assert said.json["names"] == ["a", "b"]


@pytest.mark.parametrize("file", ["'hid' || 'den.csv'", "'*' || '.csv'"])
def test_a_query_reads_no_file_that_it_does_not_name(folder: Path, file: str) -> None:
    (folder / "hidden.csv").write_text(ROWS.replace("a,", "secret-arm,"))
    said = asked(folder, f"select * from read_csv({file})")
    assert said.code == 2, said
    assert len(said.err.splitlines()) == 1 and "secret-arm" not in said.err + said.out


def test_a_view_of_a_database_reads_no_other_file(folder: Path) -> None:
    import duckdb

    (folder / "hidden.csv").write_text(ROWS.replace("a,", "secret-arm,"))
    with duckdb.connect(str(folder / "runs.duckdb")) as made:
        made.execute(f"CREATE TABLE runs AS FROM '{folder}/rows.csv'")
        made.execute(f"CREATE VIEW recent AS FROM '{folder}/hidden.csv'")
    assert asked(folder, "select * from runs", "runs.duckdb").code in (0, 3, 6)
    said = asked(folder, "select * from recent", "runs.duckdb")
    assert said.code == 2, said
    (line,) = said.err.splitlines()
    assert "hidden.csv" in line and "write its path into the query" in line


@pytest.mark.parametrize(
    "where",
    ["x in (select length(content) from read_text('hidden.csv'))", "exists(from 'hidden.csv')", "getenv('HOME') = 'x'"],
)
def test_a_condition_reads_no_file(folder: Path, where: str) -> None:
    (folder / "hidden.csv").write_text("secret-arm\n")
    with pytest.raises(kabc.SettingsError) as caught:
        kabc.cluster(folder / "rows.csv", 2, arm="arm", where=where, seed=0)
    assert "secret-arm" not in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_tables_are_read_wherever_they_are(folder: Path) -> None:
    """Also where a path looks like a pattern."""
    odd = folder / "rows [1].csv"
    odd.write_text(ROWS)
    assert kabc.cluster([str(folder / "rows.csv"), str(odd)], 2, arm="arm", seed=0).names == ("a", "b")
    assert kabc.cluster(str(odd), 2, arm="arm", seed=0).names == ("a", "b")
