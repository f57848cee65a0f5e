"""What people type and read: misspelt words, long lists, short and full answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kabc as package
from tests.cli.conftest import Call


def test_the_version_is_printed(kabc: Call) -> None:
    answer = kabc("--version")
    assert (answer.code, answer.out) == (0, f"kabc {package.__version__}\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("rnu", "there is no command rnu; did you mean 'run'? there are run, check, "),
        ("run --cluster 3", "there is no option --cluster; did you mean '--clusters'? (see kabc run --help)"),
        ("run --straegy kabc", "there is no option --straegy; did you mean '--strategy'?"),
        ("bench --strategy kabc", "there is no option --strategy; did you mean '--strategies'?"),
        ("--versoin", "there is no option --versoin; did you mean '--version'?"),
        ("run x.csv --arm a --strategy anytme", "there is no strategy 'anytme'; did you mean 'anytime'?"),
        ("bench same-maen-200", "there is no instance 'same-maen-200'; did you mean 'same-mean-200'?"),
        ("bench --strategies anytme", "there is no strategy 'anytme'; did you mean 'anytime'?"),
        ("run --config typo.toml", "typo.toml: tabel is not a known key; did you mean 'table'?"),
        ("run m.csv --arm host --option patence=3", "has no option 'patence'; did you mean 'patience'?"),
        ("run m.csv --arm host --evidence", "--evidence is a part of the JSON form; add --json"),
    ],
)
def test_a_misspelt_word_is_told_with_the_one_that_was_meant(
    words: str, told: str, kabc: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("typo.toml").write_text('clusters = 2\n[tabel]\npath = "m.csv"\n')
    Path("m.csv").write_text("host,v\n" + "a,1\nb,2\n" * 20)
    seed = ["--seed", "0"] if words.startswith("run ") else []
    answer = kabc(*words.split(), *seed)
    assert answer.code == 2
    assert answer.err.startswith(f"kabc: error: {told}") or told in answer.err
    assert answer.err.count("\n") == 1


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved answer about 60 hosts, two of them odd."""
    rng = np.random.default_rng(0)
    arms = {f"web-{i:02d}": rng.normal(9.0 * (i < 2), 1.0, 60) for i in range(60)}
    path = tmp_path_factory.mktemp("fleet") / "fleet.json"
    package.cluster(arms, 2, seed=0, progress=False).save(path)
    return path


def test_a_long_group_is_cut_and_all_names_come_on_request(kabc: Call, fleet: Path) -> None:
    short, full = kabc("show", fleet), kabc("show", fleet, "--all")
    assert "group 1, 2 arms: web-00, web-01\n" in short.out
    assert "group 2, 58 arms: web-02, web-03, web-04, web-05, web-06 and 53 more\n" in short.out
    assert "web-59" not in short.out
    assert all(f"web-{i:02d}" in full.out for i in range(60))


def test_a_certificate_is_cut_on_the_screen_and_whole_elsewhere(kabc: Call, fleet: Path) -> None:
    assert "web-59" not in kabc("show", fleet, "--certificate").out
    assert "web-59" in kabc("show", fleet, "--certificate", "--all").out
    assert "web-59" in kabc("show", fleet, "--certificate", "--json").json()["certificate"]
    assert "web-59" in package.load_result(fleet).certificate()


def test_json_is_short_and_has_the_evidence_on_request(kabc: Call, fleet: Path, tmp_path: Path) -> None:
    short, full = kabc("show", fleet, "--json"), kabc("show", fleet, "--json", "--evidence")
    pairs = package.load_result(fleet).evidence.n_told_apart
    assert short.json()["n_told_apart"] == pairs > 50
    assert "told_apart" not in short.json()
    assert len(full.json()["told_apart"]) == pairs
    again = tmp_path / "again.json"
    again.write_text(full.out)
    assert package.load_result(again) == package.load_result(fleet)


def test_a_run_prints_what_show_prints(kabc: Call, machines: Path, tmp_path: Path) -> None:
    words = ("run", machines, "--arm", "machine", "--clusters", 2, "--seed", 1, "--json", "--evidence")
    answer = kabc(*words, "--save", tmp_path / "r.json")
    assert answer.json() == json.loads((tmp_path / "r.json").read_text())


def test_a_timeout_and_warmups_are_options_too(kabc: Call, tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = ["--command", f"a=echo x >> {log}; echo 1", "--command", f"b=echo y >> {log}; echo 2"]
    kabc("run", *words, "--clusters", 2, "--max-samples", 8, "--warmup", 3, "--seed", 1)
    drawn = log.read_text().split()
    assert len(drawn) == 8 + 2 * 3
    late = ("--command", "a=sleep 30", "--command", "b=sleep 30", "--timeout", 0.2, "--clusters", 2, "--seed", 1)
    slow = kabc("run", *late)
    assert slow.code == 2
    assert "did not end within --timeout 0.2 seconds and was killed; raise --timeout\n" in slow.err
    planned = kabc("plan", *late)
    assert planned.code == 2
    assert "--timeout 0.2" in planned.err
    assert "--warmup does not apply to [table]" in kabc("run", "x.csv", "--arm", "a", "--warmup", 1, "--seed", 1).err


def test_many_changes_are_cut_and_all_come_on_request(kabc: Call, fleet: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    arms = {f"web-{i:02d}": rng.normal(9.0 * (i % 2), 1.0, 60) for i in range(60)}
    arms |= {f"new-{i:02d}": rng.normal(0.0, 1.0, 60) for i in range(30)}
    later = tmp_path / "later.json"
    package.cluster(arms, 2, seed=0, progress=False).save(later)
    short, full = kabc("compare", fleet, later), kabc("compare", fleet, later, "--all")
    assert "added: new-00, new-01, new-02, new-03, new-04 and 25 more\n" in short.out
    changes = len(kabc("compare", fleet, later, "--json").json()["changes"])
    assert changes > 20
    assert f"  and {changes - 20} more\n" in short.out
    assert full.out.count("(certified): before") + full.out.count("(a guess): before") == changes
    assert "new-29" in full.out


def test_advice_names_options_of_the_command_line_everywhere(kabc: Call, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    walks = {name: np.cumsum(rng.normal(size=300)) for name in "ab"}
    saved = tmp_path / "doubtful.json"
    package.cluster(walks, 2, seed=0, progress=False).save(saved)
    for words in (["show", saved], ["show", saved, "--certificate"], ["compare", saved, saved]):
        answer = kabc(*words)
        assert "Use --block auto; or --no-watch if their order has no meaning" in answer.out
        assert "block=" not in answer.out and "watch=" not in answer.out
    assert kabc("show", saved).out.count("doubt: ") == 1


def test_failures_name_options_and_leave_names_alone(kabc: Call) -> None:
    odd = "echo $((KABC_SEED % 2)) | grep -v 1 || exit 3"
    words = ["--command", f"seed: x={odd}", "--command", f"b={odd}", "--clusters", 2, "--max-samples", 40, "--seed", 1]
    answer = kabc("run", *words, "--on-failure", "encode")
    (line, *_) = [line for line in answer.out.splitlines() if line.startswith("failures: ")]
    assert " tries of seed: x" in line
    assert "on_failure=" not in line


def test_a_name_of_thousands_of_digits_is_a_name(kabc: Call, tmp_path: Path) -> None:
    table = tmp_path / "digits.csv"
    table.write_text("arm,v\n" + "".join(f"{'7' * 5000},{i % 7}\nb,{i % 5 + 50}\n" for i in range(60)))
    answer = kabc("run", table, "--arm", "arm", "--clusters", 2, "--seed", 1, "--no-watch")
    assert answer.code == 0
    assert "7" * 5000 in answer.out
