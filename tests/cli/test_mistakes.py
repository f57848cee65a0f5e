"""Every mistake gets one line that says what is wrong, exit code 2, and no traceback."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kabc.cli.exits import for_the_shell
from tests.cli.conftest import Answer, Call

TABLES = {
    "empty.csv": "machine,value\n",
    "one_arm.csv": "machine,value\na,1\na,2\n",
    "single_rows.csv": "machine,value\na,1\nb,2\nb,3\n",
    "words.csv": "machine,value\n" + "a,1\nb,2\na,many\nb,3\n",
    "gaps.csv": "machine,value\na,1\nb,2\na,\nb,3\n",
    "good.csv": "machine,value\n" + "a,1\nb,2\n" * 20,
    "broken.toml": "clusters = = 2\n",
    "one.toml": "clusters = 1\n",
    "unknown.toml": 'clusters = 2\n[table]\npath = "good.csv"\narms = "machine"\n',
    "top.toml": 'max_sample = 9\n[table]\npath = "good.csv"\narm = "machine"\n',
    "hang.toml": '[commands]\nwarmup = 0\ntimeout = 0.2\n[commands.run]\na = "sleep 30"\nb = "sleep 30"\n',
    "rubbish.json": '{"what": "is this"}',
    "answer.json": '{"format":"kabc result","version":2}',
}

DEEP = "yes [ | head -n 20000 | tr -d \\\\n"  # without an end to its depth
MISTAKES = [
    ("nothing", "", ["nothing to draw from"]),
    ("missing file", "nowhere.csv --arm machine", ["nowhere.csv"]),
    ("missing column", "good.csv --arm machin", ["machin", "machine"]),
    ("missing value column", "good.csv --arm machine --values valeu", ["valeu", "value"]),
    ("arm not named", "good.csv", ["--arm", "--wide"]),
    ("empty table", "empty.csv --arm machine", ["empty"]),
    ("one arm", "one_arm.csv --arm machine", ["one arm"]),
    ("arms with a single row", "single_rows.csv --arm machine", ["'a'", "row"]),
    ("text for numbers", "words.csv --arm machine --types value=number", ["value", "many"]),
    ("missing values", "gaps.csv --arm machine", ["value", "missing"]),
    ("unknown type", "good.csv --arm machine --types value=float", ["float", "number"]),
    ("unknown policy", "good.csv --arm machine --missing ignore", ["--missing", "ignore", "drop"]),
    ("too many groups", "good.csv --arm machine --clusters 3", ["from 2 to 2", "3"]),
    ("no groups", "good.csv --arm machine --clusters 0", ["--clusters", "0"]),
    ("unknown strategy", "good.csv --arm machine --strategy magic", ["magic", "anytime"]),
    ("unknown strategy option", "good.csv --arm machine --option speed=9", ["speed"]),
    ("delta above 1", "good.csv --arm machine --delta 1.5", ["--delta", "1.5"]),
    ("unknown timings", "rubbish.json", ["rubbish.json"]),
    ("a saved answer", "answer.json", ["a saved answer of kabc", "use kabc show answer.json"]),
    ("a saved answer as a table", "answer.json --arm names", ["a saved answer of kabc", "use kabc show answer.json"]),
    ("malformed TOML", "--config broken.toml", ["broken.toml", "line 1"]),
    ("unknown key", "--config unknown.toml", ["unknown.toml", "table.arms", "'arm'"]),
    ("unknown key at the top", "--config top.toml", ["'max_samples'?", "allowed: clusters, ", " max_samples, min_sep"]),
    ("no folder to save in", "good.csv --arm machine --save nowhere/r.json", ["nowhere/r.json", "no folder"]),
    ("arm twice", "--command a=true --command a=false", ["'a'", "twice"]),
    ("no command", "--command a", ["name=value", "'a'"]),
    ("one command", "--command a=true --clusters 2", ["2 arms"]),
    ("one group", "good.csv --arm machine --clusters 1", ["--clusters 1 ", "nothing to test", "leave --clusters out"]),
    ("one group in a file", "good.csv --arm machine --config one.toml", ["--clusters 1 ", "nothing to test"]),
    ("no end", "--command a=true --command b=true --strategy kabc", ["--clusters", "--max-samples"]),
    ("command that fails", "--command a=false --command b=false --clusters 2", ["exit", "1"]),
    ("command that hangs", "--config hang.toml --clusters 2 --quiet", ["0.2"]),
    ("command without an end", "--command a=yes --command b=yes --clusters 2", ["printed more than 16 MB"]),
    ("nameless signal", "--command a='kill -40 $$' --command b='kill -40 $$' --clusters 2", ["killed by signal 40"]),
    ("deep JSON", f"--command a='{DEEP}' --command b='{DEEP}' --clusters 2", ["nested too deeply"]),
    ("command that prints rubbish", "--command a='echo x' --command b='echo y' --clusters 2", ["number"]),
    ("unreachable database", "--sql 'select 1' --database postgresql://u:hush@127.0.0.1:9/x --arm a", ["127.0.0.1"]),
    (
        "bad port",
        "--sql 'select 1' --database postgresql://u:hush@127.0.0.1:port/x --arm a",
        ["host:5432"],
    ),
    ("no driver", "--sql 'select 1' --database nodb://u:hush@127.0.0.1/x --arm a", ["needs a driver", "'nodb'"]),
    ("wrong SQL", "--sql 'selekt 1' --database sqlite:///plant.db --arm a", ["selekt"]),
    ("two sources", "good.csv --command a=true", ["2 sources"]),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "plant.db").touch()
    return folder


def is_one_line(answer: Answer, parts: list[str]) -> None:
    assert answer.code == 2
    assert answer.err.startswith("kabc: error: ")
    assert answer.err.count("\n") == 1
    told = answer.json()["error"]
    assert answer.err == f"kabc: error: {told}\n"
    assert all(part in told for part in parts), told
    assert "hush" not in told


@pytest.mark.parametrize(("line", "parts"), [pytest.param(*row[1:], id=row[0]) for row in MISTAKES])
def test_a_mistake_is_told_in_one_line(
    line: str, parts: list[str], folder: Path, kabc: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    is_one_line(kabc("run", "--seed", 0, *shlex.split(line), "--json"), parts)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status = {"/500": 500, "/429": 429}.get(self.path, 200)
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(b"<html>what?</html>")

    def log_message(self, *args: object, **options: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.mark.parametrize(
    ("path", "parts"), [("/500", ["500"]), ("/429", ["429"]), ("/nonsense", ["JSON"])], ids=["500", "429", "nonsense"]
)
def test_an_endpoint_that_misbehaves_is_told_in_one_line(
    path: str, parts: list[str], server: str, kabc: Call, tmp_path: Path
) -> None:
    config = tmp_path / "study.toml"
    config.write_text(
        f'clusters = 2\n[http]\nmethod = "GET"\nvalue = "x"\nretries = 1\nmax_wait = 0.5\n'
        f'[http.endpoints]\na = "{server}{path}"\nb = "{server}{path}"\n'
    )
    is_one_line(kabc("run", "--config", config, "--seed", 0, "--json"), parts)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["rum"], "rum"),
        (["run", "--clutsers", "3"], "--clutsers"),
        (["run", "--clusters", "three"], "--clusters"),
        (["show"], "RESULT"),
        (["plan", "--gap", "1", "--price", "-1"], "--price"),
    ],
)
def test_a_word_that_cannot_be_read_is_told_in_one_line(words: list[str], part: str, kabc: Call) -> None:
    is_one_line(kabc(*words, "--json"), [])
    assert part.lower() in kabc(*words).err.lower()


def test_without_json_nothing_is_on_standard_output(kabc: Call) -> None:
    answer = kabc("run", "nowhere.csv", "--arm", "a", "--seed", 0)
    assert answer.code == 2
    assert answer.out == ""


def test_a_fault_is_another_exit_code_and_debug_shows_where(kabc: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*words: object, **options: object) -> int:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("kabc.cli.show.print_strategies", fails)
    short, long = kabc("strategies", "--json"), kabc("strategies", "--debug")
    assert (short.code, long.code) == (1, 1)
    assert short.err.startswith("kabc: error: ZeroDivisionError: a fault")
    assert short.err.count("\n") == 1
    assert "--debug" in short.json()["error"]
    assert "Traceback" in long.err


def test_the_real_entry_point_gives_line_and_exit_code(folder: Path) -> None:
    script = Path(sys.executable).with_name("kabc")
    words = ["run", "nowhere.csv", "--arm", "machine", "--seed", "0", "--json"]
    seen = subprocess.run([script, *words], cwd=folder, capture_output=True, text=True, check=False)
    is_one_line(Answer(seen.returncode, seen.stdout, seen.stderr), ["nowhere.csv"])


def test_settings_are_spelled_as_options() -> None:
    told = "n_clusters=None needs max_samples; lower pilot=, or arm='machine', or wide=True; a farm=x is no setting"
    shell = "--clusters needs --max-samples; lower --pilot, or --arm 'machine', or --wide; a farm=x is no setting"
    assert for_the_shell(told) == shell


@pytest.mark.parametrize(
    ("told", "shell"),
    [
        ("lower rate= or concurrency=, or raise max_wait=", "lower rate or concurrency, or raise max_wait"),
        ("declare the bandwidth, e.g. kabc.Gaussian(bandwidth=1.0)", "use --strategy anytime, which needs no kernel"),
        ("lower pilot=, or pass a kernel with a fixed bandwidth", "lower --pilot"),
        (
            "did not end within timeout=3 seconds; raise timeout=",
            "did not end within --timeout 3 seconds; raise --timeout",
        ),
        ("set types={'ts': 'number'} to compare seconds", "set --types ts=number to compare seconds"),
        ("set types={'seed': 'number'}", "set --types seed=number"),
        ("set types={'a b': 'text'}; or types=", "set --types 'a b=text'; or --types"),
        ("""set types={"it's": 'category'}""", """set --types 'it'"'"'s=category'"""),
    ],
)
def test_advice_is_spelled_as_people_write_it(told: str, shell: str) -> None:
    assert for_the_shell(told) == shell
