"""kabc outliers: exit codes, the promise on the first line, JSON, and settings that would be ignored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Call


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve hosts with 200 rows each: web-07 is slower by a tenth."""
    path, rng = tmp_path_factory.mktemp("fleet") / "hosts.csv", np.random.default_rng(0)
    lines = [
        f"web-{host:02d},{rng.normal(20, 1) * (1.1 if host == 7 else 1):.6f}" for _ in range(200) for host in range(12)
    ]
    path.write_text("\n".join(["host,latency", *lines]) + "\n", encoding="utf-8")
    return path


def test_some_are_odd(kabc: Call, hosts: Path) -> None:
    answer = kabc("outliers", hosts, "--arm", "host", "--tolerance", "4%", "--seed", 1)
    assert answer.code == 5
    first, second, third, *_ = answer.out.split("\n")
    assert first.startswith("1 of 12 arms is odd, farther than 4 % from the rest; among the arms ")
    assert second.startswith("  web-07: at least ")
    assert "the rest" in third


def test_none_is_odd_and_not_known(kabc: Call, hosts: Path) -> None:
    fleet = ("outliers", hosts, "--arm", "host", "--where", "host <> 'web-07'", "--seed", 1, "--tolerance", "5%")
    assert kabc(*fleet).code == 0
    answer = kabc(*fleet, "--max-samples", 200)
    assert answer.code == 3
    assert answer.out.startswith("not known: ")


def test_json(kabc: Call, hosts: Path) -> None:
    answer = kabc("outliers", hosts, "--arm", "host", "--tolerance", "4%", "--fdr", "0.1", "--json", "--seed", 1)
    document = answer.json()
    assert (answer.code, document["status"], document["odd"], document["fdr"]) == (5, "odd", ["web-07"], 0.1)
    assert len(document["arms"]) == 12


def test_rows_that_depend_on_each_other(kabc: Call, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "log.csv"
    walks = np.cumsum(rng.normal(size=(4, 300)), axis=1)
    lines = [f"h{host},{value:.6f}" for host, walk in enumerate(walks) for value in walk]
    path.write_text("\n".join(["host,latency", *lines]) + "\n", encoding="utf-8")
    answer = kabc("outliers", path, "--arm", "host", "--seed", 1)
    assert answer.code == 6
    assert "--block auto" in answer.out and "--no-watch" in answer.out
    assert kabc("outliers", path, "--arm", "host", "--seed", 1, "--no-watch").code != 6


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--fdr", "2"], "--fdr 2.0 is not between 0 and 1"),
        (["--tolerance", "0%"], "tolerance"),
        (["--max-samples", "20"], "--max-samples 20 is too small for 12 arms"),
        (["--where", "host < 'web-02'"], "use kabc run or kabc check"),
        (["--clusters", "2"], "there is no option --clusters"),
    ],
)
def test_bad_input(kabc: Call, hosts: Path, words: list[str], wrong: str) -> None:
    answer = kabc("outliers", hosts, "--arm", "host", "--seed", 1, *words)
    assert answer.code == 2
    assert wrong in answer.err


def test_settings_of_a_file_that_would_be_ignored_are_refused(kabc: Call, hosts: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(f'tolerance = "4%"\nseed = 1\n[table]\npath = "{hosts}"\narm = "host"\n', encoding="utf-8")
    assert kabc("outliers", "--config", study).code == 5
    study.write_text(f'delta = 0.1\n[table]\npath = "{hosts}"\narm = "host"\n', encoding="utf-8")
    answer = kabc("outliers", "--config", study)
    assert answer.code == 2
    assert "delta is for kabc run, and kabc outliers has no use for it" in answer.err


def test_commands_that_fail_do_not_take_the_answer_away(kabc: Call, tmp_path: Path) -> None:
    script, count = tmp_path / "arm.sh", tmp_path / "count"
    script.write_text(
        f"n=$(($(cat {count}) + 1)); echo $n > {count}\n"
        "[ $n -gt 160 ] && exit 3\n"
        "awk -v n=$n 'BEGIN { srand(n); rand(); print rand() }'\n",
        encoding="utf-8",
    )
    count.write_text("0", encoding="utf-8")
    arms = [word for name in "abc" for word in ("--command", f"{name}=sh {script}")]
    answer = kabc("outliers", *arms, "--tolerance", "0.2 sd", "--seed", 1, "--no-watch")
    assert answer.code == 3
    assert "ended by an error: not all samples were drawn" in answer.out
    assert "exit" in answer.err


def test_a_saved_answer_is_shown_again_and_not_compared(kabc: Call, tmp_path: Path) -> None:
    rng, table, saved = np.random.default_rng(0), tmp_path / "t.csv", tmp_path / "odd.json"
    rows = [f"h{i},{value:.3f}" for i in range(5) for value in rng.normal(13 if i == 4 else 10, 1, 120)]
    table.write_text("\n".join(["host,ms", *rows]) + "\n", encoding="utf-8")
    asked = ["outliers", table, "--arm", "host", "--tolerance", "5%", "--seed", 0, "--quiet"]
    first = kabc(*asked, "--save", saved)
    assert (first.code, first.out.splitlines()[-1]) == (5, f"saved: {saved}")
    again = kabc("show", saved)
    assert (again.code, again.out) == (5, first.out.removesuffix(f"saved: {saved}\n"))
    assert kabc("show", saved, "--json").json()["odd"] == ["h4"]
    for words in (("show", saved, "--report", tmp_path / "r.html"), ("compare", saved, saved)):
        answer = kabc(*words)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert "is an answer of kabc outliers, which has " in answer.err
    answer = kabc(*asked, "--save", table)
    assert answer.code == 2 and "is a file that this run reads" in answer.err
