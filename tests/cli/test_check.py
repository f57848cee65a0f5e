"""kabc check: exit codes, JUnit, GitHub Actions, and names that try to forge something."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import duckdb
import numpy as np
import pytest

import kabc as package
from kabc.cli.github import annotation, silenced
from kabc.cli.junit import junit_of
from tests.cli.conftest import Call
from tests.processes import running

KABC = Path(sys.executable).with_name("kabc")
HOSTILE = "]]>\n::error::forged%0A::set-output name=x::1\x00\x1b[2J\u202e\uffff<b>&amp;</pre>, 2 %"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four hosts with 600 rows: web-077 is slower by a half, the rows of web-013 depend on each other."""
    path, rng = tmp_path_factory.mktemp("hosts") / "hosts.csv", np.random.default_rng(0)
    values = {
        name: rng.normal(20, 1, 600) * (1.5 if name == "web-077" else 1) for name in ("web-001", "web-002", "web-077")
    }
    values["web-013"] = 20 + 0.1 * np.cumsum(rng.normal(size=600))
    lines = [f"{name},{value:.6f}" for name, column in values.items() for value in column]
    path.write_text("\n".join(["host,latency", *lines]) + "\n", encoding="utf-8")
    return path


def words(hosts: Path, this: str, same_as: str, tolerance: str = "5%") -> list[object]:
    options = ["--this", this, "--same-as", same_as, "--tolerance", tolerance, "--seed", 1, "--quiet"]
    return ["check", hosts, "--arm", "host", "--values", "latency", *options]


def test_exit_codes_of_a_real_process(hosts: Path, tmp_path: Path) -> None:
    """Same, different, not known, doubtful, bad input; the file of each says the same again."""
    cases = {
        0: words(hosts, "web-002", "web-001"),
        5: words(hosts, "web-077", "web-001,web-002"),
        3: words(hosts, "web-002", "web-001", "0.1%"),
        6: words(hosts, "web-013", "web-001"),
        2: words(hosts, "web-02", "rest"),
    }
    firsts = {}
    for code, asked in cases.items():
        saved = tmp_path / f"{code}.json"
        told = subprocess.run(
            [KABC, *map(str, asked), "--save", saved], capture_output=True, text=True, check=False, timeout=120
        )
        assert told.returncode == code, told.stdout + told.stderr
        firsts[code] = (told.stdout + told.stderr).split("\n")[0]
        if code != 2:
            assert package.load_result(saved).reference
    assert firsts[0].startswith("same: web-002 is within 5 % of web-001 (wrong with probability at most 5 %; ")
    assert firsts[5].startswith("different: web-077 differs from web-001 and web-002: median 1.")
    assert firsts[3].startswith("not known: within ") and "for 0.1 % about" not in firsts[3]  # too far to tell
    assert firsts[6].startswith("Doubtful: in web-013 samples depend on each other") and "--block auto" in firsts[6]
    assert firsts[2] == (
        "kabc: error: --this 'web-02' is not an arm; did you mean 'web-002'? the arms are 'web-001', 'web-002', "
        "'web-013', 'web-077'"
    )


def test_show_prints_a_check_as_it_was_with_its_code(kabc: Call, hosts: Path, tmp_path: Path) -> None:
    told = kabc(*words(hosts, "web-077", "web-001"), "--save", tmp_path / "r.json", "--report", tmp_path / "r.html")
    again = kabc("show", tmp_path / "r.json")
    assert told.code == again.code == 5
    assert told.out.startswith(again.out.rstrip("\n"))
    assert "different: web-077 differs from web-001" in (tmp_path / "r.html").read_text(encoding="utf-8")
    facts = kabc(*words(hosts, "web-077", "web-001"), "--json").json()
    assert (facts["verdict"], facts["reference"], facts["names"]) == ("different", ["web-001"], ["web-001", "web-077"])


def test_sql_and_a_config_file_are_sources_too(kabc: Call, hosts: Path, tmp_path: Path) -> None:
    base = str(tmp_path / "t.duckdb")
    with duckdb.connect(base) as connection:
        connection.execute(f"CREATE TABLE calls AS SELECT * FROM '{hosts}'")
    options = ["--this", "web-077", "--same-as", "web-001,web-002", "--seed", 1, "--quiet"]
    query = ["--sql", "select host, latency from calls", "--database", base, "--arm", "host"]
    assert kabc("check", *query, *options, "--tolerance", "5%").code == 5
    study = tmp_path / "study.toml"
    study.write_text(f'tolerance = "5%"\n[table]\npath = "{hosts}"\narm = "host"\n', encoding="utf-8")
    assert kabc("check", "--config", study, *options).code == 5
    study.write_text("clusters = 3\n" + study.read_text(encoding="utf-8"), encoding="utf-8")
    told = kabc("check", "--config", study, *options)
    assert told.code == 2 and "clusters is for kabc run" in told.err


@pytest.mark.parametrize("left_out", ["--this", "--same-as", "--tolerance"])
def test_what_is_missing_is_said(left_out: str, kabc: Call, hosts: Path) -> None:
    asked = words(hosts, "web-002", "web-001")
    where = asked.index(left_out)
    told = kabc(*asked[:where], *asked[where + 2 :])
    assert told.code == 2 and f"kabc check needs {left_out}, " in told.err


def test_paths_are_tried_before_a_sample_is_paid_for(
    kabc: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    asked = [
        "check",
        "--command",
        f"a=echo x >> {log}; echo 1",
        "--command",
        "b=echo 1",
        "--this",
        "a",
        "--same-as",
        "b",
    ]
    asked += ["--tolerance", "5%", "--quiet"]
    missing = tmp_path / "no" / "out"
    assert "there is no folder" in kabc(*asked, "--junit", missing).err
    assert "are the same file" in kabc(*asked, "--junit", tmp_path / "x", "--save", tmp_path / "x").err
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(missing))
    assert "there is no folder" in kabc(*asked, "--github").err
    assert not log.exists()


@pytest.mark.parametrize(
    ("this", "same_as", "tolerance", "kind"),
    [
        ("web-002", "web-001", "5%", None),
        ("web-077", "web-001", "5%", "failure"),
        ("web-002", "web-001", "0.1%", "skipped"),
        ("web-013", "web-001", "5%", "error"),
    ],
)
def test_junit_has_one_case(
    this: str, same_as: str, tolerance: str, kind: str | None, kabc: Call, hosts: Path, tmp_path: Path
) -> None:
    told = kabc(*words(hosts, this, same_as, tolerance), "--junit", tmp_path / "out.xml")
    root = ET.parse(tmp_path / "out.xml").getroot()
    (case,) = root.findall("./testsuite/testcase")
    assert case.get("name") == f"{this} is the same as {same_as} within {tolerance.replace('%', ' %')}"
    found = [child.tag for child in case if child.tag != "system-out"]
    assert found == ([] if kind is None else [kind])
    counts = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    for element in (root, root[0]):
        assert element.get("tests") == "1"
        assert {name: element.get(name) for name in counts.values()} == {
            name: str(int(tag == kind)) for tag, name in counts.items()
        }
    if kind:
        assert case.find(kind).get("message") == told.out.split("\n")[0]  # type: ignore[union-attr]


def test_github_gets_an_annotation_and_a_part_of_the_summary(
    kabc: Call, hosts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    told = kabc(*words(hosts, "web-077", "web-001"), "--github")
    (line,) = [line for line in told.out.splitlines() if line.startswith("::error ")]
    assert line.startswith("::error title=kabc check::different: web-077 differs from web-001: median 1.")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n### kabc check: different\n\n<pre>\ndifferent: web-077")
    assert "::notice " in kabc(*words(hosts, "web-002", "web-001"), "--github").out
    quiet = kabc(*words(hosts, "web-077", "web-001"), "--github", "--json")
    assert quiet.json()["verdict"] == "different" and quiet.err.startswith("::error ")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    assert kabc(*words(hosts, "web-077", "web-001"), "--github").code == 5


def test_names_cannot_forge_anything(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arms = {HOSTILE: rng.normal(20, 1, 300), f"b{HOSTILE}": rng.normal(30, 1, 300)}
    result = package.check(arms, this=HOSTILE, tolerance="5%", seed=0, progress=False)
    root = ET.fromstring(junit_of(result))
    (case,) = root.findall("./testsuite/testcase")
    assert [child.tag for child in case] == ["failure"]
    assert "]]>\\n::error::forged%0A" in (case.get("name") or "") and "\\uffff<b>" in (case.get("name") or "")
    line = annotation(result)
    assert "\n" not in line and line.startswith("::error title=kabc check::different: ]]>\\n::error::forged%250A")
    first, *inside, last = silenced(str(result)).split("\n")
    token = first.removeprefix("::stop-commands::")
    assert last == f"::{token}::" and len(token) == 32
    assert all(token not in one for one in inside)
    from kabc.cli.github import add_summary

    add_summary(result, str(tmp_path / "s.md"))
    text = (tmp_path / "s.md").read_text(encoding="utf-8")
    assert text.count("</pre>") == 1 and "<b>" not in text


def test_an_interrupted_check_is_not_known_and_saved(tmp_path: Path) -> None:
    saved, junit, log = tmp_path / "r.json", tmp_path / "r.xml", tmp_path / "draws"
    draw = f"echo x >> {log}; sleep 0.02; echo $((KABC_SEED % 7))"
    asked = ["check", "--command", f"new={draw}", "--command", f"old={draw}", "--this", "new", "--same-as", "old"]
    command = [KABC, *asked, "--tolerance", "1", "--seed", 1, "--save", saved, "--junit", junit, "--quiet"]
    with running(command, stdout=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"}) as process:
        deadline = time.monotonic() + 60
        while not (log.exists() and len(log.read_text()) > 2 * 12) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert out.startswith("not known: the run was interrupted before anything was certified")
    assert json.loads(saved.read_text(encoding="utf-8"))["status"] == "interrupted"
    assert ET.parse(junit).getroot().get("skipped") == "1"
    assert package.load_result(saved).reference == ("old",)


class Handler(BaseHTTPRequestHandler):
    numbers: ClassVar[random.Random]

    def do_GET(self) -> None:
        shift = 40 if self.path == "/slow" else 0
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"score": 100 + self.numbers.random() + shift}).encode())

    def log_message(self, *args: object, **options: object) -> None:
        pass


def test_endpoints_are_pooled_and_every_call_is_on_the_bill(kabc: Call, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    Handler.numbers = random.Random(0)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        study.write_text(
            'tolerance = "5%"\nmax_samples = 600\n[http]\nmethod = "GET"\nvalue = "score"\nprice = 0.25\n'
            f'[http.endpoints]\na = "{base}/a"\nb = "{base}/b"\nslow = "{base}/slow"\n'
        )
        told = kabc("check", "--config", study, "--this", "slow", "--same-as", "rest", "--seed", 0, "--json", "--quiet")
        server.shutdown()
    facts = told.json()
    assert told.code == 5 and facts["reference"] == ["a", "b"]
    assert facts["spent"] == 0.25 * facts["n_samples"] > 0
