"""`kabc run` from every kind of source to an answer that a person or a program can act on."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import duckdb
import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Call
from tests.processes import running


def numbered(*groups: list[str]) -> list[dict[str, object]]:
    return [{"number": number, "arms": arms} for number, arms in enumerate(groups, 1)]


GROUPS = numbered(["a", "c"], ["b", "d"])


def test_an_arm_with_too_few_rows_is_set_aside_and_the_exit_code_is_that_of_the_others(
    kabc: Call, machines: Path, tmp_path: Path
) -> None:
    table = tmp_path / "few.csv"
    table.write_text(machines.read_text(encoding="utf-8") + "tiny,0.1,0.2\ntiny,0.2,0.3\n", encoding="utf-8")
    saved, report = tmp_path / "few.json", tmp_path / "few.html"
    answer = kabc("run", table, "--arm", "machine", "--clusters", 2, "--seed", 1, "--save", saved, "--report", report)
    assert answer.code == 0, answer.err
    assert "exactly 2 groups among the arms that were measured" in answer.out.splitlines()[0]
    assert "not measured: 1 arm (all 2 rows were read before the group was clear): tiny" in answer.out
    assert "Not measured: 1 arm" in report.read_text(encoding="utf-8")
    shown = kabc("show", saved, "--json").json()
    assert shown["labels"]["tiny"] is None
    assert shown["set_aside"].keys() == {"tiny"}


def test_a_table_gives_groups_with_sizes_and_the_types_that_were_inferred(kabc: Call, machines: Path) -> None:
    answer = kabc("run", machines, "--arm", "machine", "--clusters", 2, "--seed", 1)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("2 groups, wrong with probability at most 5 % if there are exactly 2 groups (")
    assert "group 1, 2 arms: a, c" in answer.out
    assert "group 2, 2 arms: b, d" in answer.out
    assert "samples per arm:" in answer.out
    assert "vibration: number" in answer.out
    assert "temp: number" in answer.out
    assert answer.err == ""


def test_json_is_strict_and_repeats_with_the_seed(kabc: Call, machines: Path) -> None:
    words = ("run", machines, "--arm", "machine", "--values", "vibration", "--clusters", 2, "--seed", 1, "--json")
    first, second = kabc(*words).json(), kabc(*words, "--workers", 2).json()
    assert first["groups"] == GROUPS
    assert first["status"] == "decided"
    assert first.pop("seconds") >= 0
    second.pop("seconds")
    assert first.pop("origin").keys() == second.pop("origin").keys()
    assert first == second


def test_the_file_and_the_command_line_give_the_same_answer(kabc: Call, machines: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(f'clusters = 2\nseed = 1\n[table]\npath = "{machines}"\narm = "machine"\nvalues = ["vibration"]\n')
    by_file = kabc("run", "--config", study, "--json").json()
    by_words = kabc(
        "run", machines, "--arm", "machine", "--values", "vibration", "--clusters", 2, "--seed", 1, "--json"
    ).json()
    assert by_file["samples_per_arm"] == by_words["samples_per_arm"]
    assert by_file["groups"] == by_words["groups"] == GROUPS


@pytest.mark.parametrize("strategy", ["kabc", "kabc-tight"])
def test_strategies_with_a_kernel_and_their_options_run_too(kabc: Call, tmp_path: Path, strategy: str) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{name},{x:.5f}" for name in "abc" for x in rng.normal(9.0 * (name == "b"), 1.0, 6000)]
    data = tmp_path / "data.csv"
    data.write_text("machine,x\n" + "\n".join(rows))
    options = ["--option", "keep_samples=true", "--option", "union=arms"] if strategy == "kabc" else []
    answer = kabc(
        "run", data, "--arm", "machine", "--clusters", 2, "--strategy", strategy, "--seed", 1, "--json", *options
    )
    assert answer.code == 0, answer
    assert answer.json()["groups"] == numbered(["a", "c"], ["b"])


def test_a_wide_table_has_an_arm_for_each_column(kabc: Call, tmp_path: Path) -> None:
    wide = tmp_path / "wide.csv"
    wide.write_text("x,y,z\n" + "\n".join(f"{i % 5},{i % 5},{i % 5 + 40}" for i in range(80)))
    answer = kabc("run", wide, "--wide", "--clusters", 2, "--seed", 1, "--json")
    assert answer.json()["groups"] == numbered(["x", "y"], ["z"])


def test_a_query_is_a_source(kabc: Call, machines: Path, tmp_path: Path) -> None:
    rows = [line.split(",") for line in machines.read_text().splitlines()[1:]]
    with sqlite3.connect(tmp_path / "plant.db") as database:
        database.execute("create table readings (machine text, vibration real, temp real)")
        database.executemany("insert into readings values (?, ?, ?)", rows)
    database.close()
    answer = kabc(
        *("run", "--sql", "select machine, vibration from readings", "--arm", "machine", "--clusters", 2),
        *("--database", f"sqlite:///{tmp_path / 'plant.db'}", "--seed", 1, "--json"),
    )
    assert answer.code == 0, answer
    assert answer.json()["groups"] == GROUPS


def test_timings_of_hyperfine_are_recognised(kabc: Call, tmp_path: Path) -> None:
    timings, rng = tmp_path / "timings.json", np.random.default_rng(0)
    results = [
        {"command": name, "times": (base + 0.001 * rng.integers(0, 10, 60)).tolist(), "mean": base}
        for name, base in (("old", 1.0), ("new", 0.2), ("branch", 0.2))
    ]
    timings.write_text(json.dumps({"results": results}))
    answer = kabc("run", timings, "--clusters", 2, "--seed", 1, "--json")
    assert answer.code == 0, answer
    assert sorted(sorted(group["arms"]) for group in answer.json()["groups"]) == [["branch", "new"], ["old"]]


def test_timings_that_drift_are_doubtful(kabc: Call, tmp_path: Path) -> None:
    """Three equal builds, timed one after the other while the machine became busy."""
    rng = np.random.default_rng(0)
    timings = tmp_path / "timings.json"
    results = [
        {"command": name, "times": (start + np.arange(60) / 60 + 0.1 * rng.normal(size=60)).tolist()}
        for name, start in (("v1", 5.0), ("v2", 6.0), ("v3", 7.0))
    ]
    timings.write_text(json.dumps({"results": results}))
    words = ("run", timings, "--clusters", 2, "--seed", 1)
    answer = kabc(*words, "--report", tmp_path / "report.html")
    assert answer.code == 6
    assert answer.out.startswith("Doubtful: in all 3 arms together later samples differ from earlier ones")
    assert "Doubtful: in all 3 arms together" in (tmp_path / "report.html").read_text(encoding="utf-8")
    facts = kabc(*words, "--json").json()
    assert (facts["status"], facts["certified"]) == ("doubtful", False)
    assert facts["assumptions"][0]["arm"] is None
    assert {one["arm"] for one in facts["assumptions"][1:]} == {"v1", "v2", "v3"}
    unwatched = kabc(*words, "--no-watch", "--no-check-k", "--json").json()
    assert unwatched["assumptions"] == []
    assert unwatched["status"] != "doubtful"


def test_commands_are_arms(kabc: Call) -> None:
    draw = "echo $((KABC_SEED % 7 {}))"
    words = [f"{name}={draw.format(shift)}" for name, shift in (("a", "+ 0"), ("b", "+ 50"), ("c", "+ 0"))]
    answer = kabc(
        *("run", "--command", words[0], "--command", words[1], "--command", words[2]),
        *("--measure", "output", "--clusters", 2, "--seed", 1, "--json"),
    )
    assert answer.code == 0, answer
    assert answer.json()["groups"] == numbered(["a", "c"], ["b"])


def test_a_spent_budget_is_undecided_and_says_what_is_missing(kabc: Call, machines: Path) -> None:
    words = ("run", machines, "--arm", "machine", "--values", "temp", "--clusters", 2, "--seed", 1)
    answer = kabc(*words, "--max-samples", 60)
    assert answer.code == 3
    assert "a guess" in answer.out
    assert "certified: nothing yet; 0 of 6 pairs are told apart" in answer.out
    assert "the budget is spent" in answer.out
    assert kabc(*words).code == 3  # the table has no more rows
    facts = kabc(*words, "--json").json()
    assert facts["status"] == "exhausted"
    assert facts["certified"] is False


def test_more_groups_than_asked_for_are_another_exit_code(kabc: Call, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{name},{x:.5f}" for shift, name in enumerate("abc") for x in rng.normal(20.0 * shift, 1.0, 1500)]
    data = tmp_path / "three.csv"
    data.write_text("m,x\n" + "\n".join(rows))
    answer = kabc("run", data, "--arm", "m", "--clusters", 2, "--strategy", "kabc-tight", "--seed", 1)
    assert answer.code == 4, answer
    assert answer.out.startswith("More than 2 groups: at least 3 are certified (")
    assert "Try a larger --clusters." in answer.out


def test_without_clusters_all_rows_are_used_for_a_lower_bound(kabc: Call, machines: Path) -> None:
    facts = kabc("run", machines, "--arm", "machine", "--values", "vibration", "--seed", 1, "--json").json()
    assert facts["n_groups_at_least"] == 2
    assert facts["n_clusters"] is None
    assert facts["n_samples"] > 4 * 50  # rounds grow: the last rows may not fill one


def test_a_saved_answer_is_shown_as_it_was_printed(kabc: Call, machines: Path, tmp_path: Path) -> None:
    saved, report = tmp_path / "result.json", tmp_path / "report.html"
    ran = kabc("run", machines, "--arm", "machine", "--clusters", 2, "--seed", 1, "--save", saved, "--report", report)
    shown = kabc("show", saved)
    assert ran.out == shown.out + f"saved: {saved}\nreport: {report}\n"
    assert shown.code == 0
    assert "<html" in report.read_text(encoding="utf-8").lower()
    assert "CERTIFICATE of Anytime KABC" in kabc("show", saved, "--certificate").out
    assert kabc("show", saved, "--json").json()["groups"] == GROUPS
    assert kabc("show", saved, "--report", report, "--json").json()["status"] == "decided"


def test_a_file_that_cannot_be_written_does_not_cost_the_answer(
    kabc: Call, machines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    saved = tmp_path / "saved"
    answer = kabc("run", machines, "--arm", "machine", "--clusters", 2, "--save", saved, "--seed", 1, "--json")
    assert answer.code == 2
    assert answer.json()["groups"] == GROUPS
    assert answer.err.startswith("kabc: error: cannot write")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_prints_and_saves_what_is_certified(how: signal.Signals, tmp_path: Path) -> None:
    saved, log = tmp_path / "result.json", tmp_path / "draws"
    draw = f"echo x >> {log}; sleep 0.02; echo $((KABC_SEED % 7))"
    words = ["run", "--command", f"a={draw}", "--command", f"b={draw}", "--clusters", "2", "--seed", "1"]
    script = Path(sys.executable).with_name("kabc")
    command = [script, *words, "--save", saved, "--json", "--quiet"]
    with running(command, stdout=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"}) as process:
        deadline = time.monotonic() + 60
        while not (log.exists() and len(log.read_text()) > 2 * 12) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(how)
        out, _ = process.communicate(timeout=60)
    facts = json.loads(out)
    assert process.returncode == 3
    assert facts["status"] == "interrupted"
    assert facts["n_samples"] >= 6
    assert saved.exists()


class Handler(BaseHTTPRequestHandler):
    numbers: ClassVar[random.Random]

    def do_GET(self) -> None:
        shift = 40 if self.path == "/b" else 0
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"answer": {"score": self.numbers.random() + shift}}).encode())

    def log_message(self, *args: object, **options: object) -> None:
        pass


def test_endpoints_of_a_file_are_arms_and_the_spend_is_told(kabc: Call, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    Handler.numbers = random.Random(0)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        study.write_text(
            'clusters = 2\n[http]\nmethod = "GET"\nvalue = "answer.score"\nprice = 0.25\n'
            f'[http.endpoints]\na = "{base}/a"\nb = {{ url = "{base}/b" }}\nc = "{base}/a"\n'
        )
        answer = kabc("run", "--config", study, "--json", "--seed", 1)
        over = kabc("run", "--config", study, "--json", "--seed", 1, "--max-samples", 7)
        server.shutdown()
    facts = answer.json()
    assert answer.code == 0, answer
    assert facts["groups"] == numbered(["a", "c"], ["b"])
    assert facts["spent"] == 0.25 * facts["n_samples"]
    assert over.code == 3
    assert over.json()["n_samples"] <= 7


def test_texts_and_categories_are_compared_with_and_without_a_kernel(kabc: Call, tmp_path: Path) -> None:
    words = {"a": "yes no maybe", "b": "left right up", "c": "yes no maybe"}
    rng = np.random.default_rng(0)
    rows = [f"{arm},{rng.choice(words[arm].split())}" for arm in words for _ in range(2500)]
    data = tmp_path / "answers.csv"
    data.write_text("endpoint,answer\n" + "\n".join(rows))
    for strategy in ("anytime", "kabc-tight"):
        answer = kabc("run", data, "--arm", "endpoint", "--clusters", 2, "--strategy", strategy, "--seed", 1, "--json")
        assert answer.code == 0, answer
        assert answer.json()["groups"] == numbered(["a", "c"], ["b"])
        assert any("answer: category" in note for note in answer.json()["notes"])
        assert ("Hamming" in answer.json()["kernel"]) == (strategy == "kabc-tight")


@pytest.mark.parametrize("option", ["--save", "--report"])
@pytest.mark.parametrize(
    "name", ["data.csv", "link.csv", "part2.csv", "times.json", "config.toml", "runs.db", "url.db", "runs.duckdb"]
)
def test_a_run_does_not_write_over_what_it_reads(
    kabc: Call, machines: Path, tmp_path: Path, name: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = machines.read_text(encoding="utf-8")
    for file in ("data.csv", "part1.csv", "part2.csv"):
        Path(file).write_text(rows, encoding="utf-8")
    Path("link.csv").symlink_to("data.csv")
    Path("config.toml").write_text('clusters = 2\n[table]\npath = "data.csv"\narm = "machine"\n', encoding="utf-8")
    times = {"results": [{"command": c, "times": [i + 0.1 * j for j in range(30)]} for i, c in enumerate("ab")]}
    Path("times.json").write_text(json.dumps(times), encoding="utf-8")
    table = pl.read_csv("data.csv")
    for database in ("runs.db", "url.db"):
        with sqlite3.connect(database) as connection:
            connection.execute("CREATE TABLE runs (machine TEXT, vibration REAL)")
            connection.executemany("INSERT INTO runs VALUES (?, ?)", table.select("machine", "vibration").rows())
        connection.close()
    with duckdb.connect("runs.duckdb") as opened:
        opened.execute("CREATE TABLE runs AS SELECT * FROM 'data.csv'")
    of_table = ["--arm", "machine", "--clusters", 2]
    query = ["--sql", "SELECT machine, vibration FROM runs", *of_table]
    words: dict[str, list[object]] = {
        "data.csv": ["data.csv", *of_table],
        "link.csv": ["data.csv", *of_table],
        "part2.csv": ["part*.csv", *of_table],
        "times.json": ["times.json", "--clusters", 2],
        "config.toml": ["--config", "config.toml"],
        "runs.db": [*query, "--database", "runs.db"],
        "url.db": [*query, "--database", "sqlite:///url.db"],
        "runs.duckdb": [*query, "--database", "runs.duckdb"],
    }
    before = Path(name).read_bytes()
    answer = kabc("run", *words[name], option, name)
    assert answer.code == 2
    assert not answer.out
    assert f"{option} {name} is a file that this run reads" in answer.err
    assert "choose another path" in answer.err
    assert Path(name).read_bytes() == before


def test_the_report_of_a_saved_answer_does_not_replace_it(kabc: Call, machines: Path, tmp_path: Path) -> None:
    saved = tmp_path / "result.json"
    words = ["run", machines, "--arm", "machine", "--clusters", 2, "--seed", 1]
    assert kabc(*words, "--save", saved, "--report", saved).code == 2
    assert not saved.exists()
    assert kabc(*words, "--save", saved).code == 0
    before = saved.read_bytes()
    answer = kabc("show", saved, "--report", saved)
    assert (answer.code, saved.read_bytes()) == (2, before)
    assert "--report" in answer.err and "choose another path" in answer.err


def test_blocks_and_the_order_of_rows_come_from_options_or_from_the_file(kabc: Call, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = tmp_path / "hosts.csv"
    pl.DataFrame({"host": ["a", "b"] * 300, "at": range(600), "v": rng.normal(size=600) + [0.0, 5.0] * 300}).write_csv(
        table
    )
    words = ("run", table, "--arm", "host", "--order", "at", "--block", 10, "--clusters", 2, "--seed", 1)
    answer = kabc(*words, "--certificate")
    assert answer.code == 0, answer.err
    assert "blocks of 10)" in answer.out
    assert "blocks of 10 consecutive rows of an arm are independent and identically distributed" in answer.out
    study = tmp_path / "study.toml"
    study.write_text(f'clusters = 2\nseed = 1\nblock = 10\n[table]\npath = "{table}"\narm = "host"\norder = "at"\n')
    first, second = kabc(*words, "--json").json(), kabc("run", "--config", study, "--json").json()
    assert first["block"] == second["block"] == 10
    assert first["columns"] == ["v"]
    assert first["samples_per_arm"] == second["samples_per_arm"]
    free = kabc("run", table, "--arm", "host", "--values", "v", "--block", "auto", "--clusters", 2, "--seed", 1)
    assert "note: block: 1, as samples were not seen to depend on the ones before" in free.out
    wrong = kabc("run", table, "--arm", "host", "--values", "v", "--block", "often", "--clusters", 2, "--seed", 1)
    assert wrong.code == 2
    assert "block must be a whole number, 1 or more, or 'auto', got 'often'" in wrong.err


def test_without_a_number_of_groups_a_table_needs_no_budget_and_stops_when_nothing_new_is_learned(
    tmp_path: Path, kabc: Call
) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{name},{rng.normal(6.0 * (name == 'c'), 1.0):.6f}" for name in "abc" for _ in range(900)]
    table = tmp_path / "long.csv"
    table.write_text("\n".join(["machine,value", *rows]) + "\n")
    answer = kabc("run", table, "--arm", "machine", "--seed", 1, "--quiet")
    assert answer.code == 3
    assert "undecided: nothing new was learned in the last " in answer.out
    assert "at least 2 groups; 2 of 3 pairs are told apart" in answer.out
    assert "group 2 (guess), 1 arm: c" in answer.out
    said = kabc("run", table, "--arm", "machine", "--seed", 1, "--quiet", "--json").json()
    assert (said["status"], said["n_groups_at_least"]) == ("stalled", 2)
    assert said["n_samples"] < 1_500
