"""`kabc run --study` and `kabc worker`: kill them, run the same line again, and it goes on."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kabc.storage.opening import open_storage
from tests.cli.conftest import Answer, Call
from tests.processes import running

KABC = str(Path(sys.executable).with_name("kabc"))
STUDY = ("--storage", "kabc.db", "--study", "nightly")
SLOW = "sleep 0.05; python -c 'import os, random; print(random.Random(int(os.environ[\"KABC_SEED\"])).gauss({}, 1))'"
TOML = """
clusters = 2
storage = "kabc.db"
study = "nightly"
[commands]
measure = "output"
warmup = 0
[commands.run]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KABC_STORAGE", raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    lines = [f"{name} = '''{SLOW.format(mean)}'''" for name, mean in (("a", 0), ("b", 9), ("c", 0))]
    (tmp_path / "arms.toml").write_text(TOML + "\n".join(lines) + "\n")
    (tmp_path / "arms.toml").chmod(0o600)
    return tmp_path


def first_group(answer: Answer | str) -> list[str]:
    text = answer if isinstance(answer, str) else answer.out
    return re.findall(r"^  group \d, .*$", text, re.MULTILINE)


def n_samples() -> int:
    store = open_storage("kabc.db")
    try:
        return sum(store.summary(store.load_study(name).id).n_samples for name in store.study_names())
    finally:
        store.close()


def wait_for_samples(least: int) -> None:
    for _ in range(600):
        if Path("kabc.db").exists() and n_samples() >= least:
            return
        time.sleep(0.1)
    pytest.fail("nothing was drawn in a minute")


def test_a_killed_run_goes_on_with_the_same_line_and_ends_as_if_nothing_had_been(kabc: Call, folder: Path) -> None:
    line = ["run", "--config", "arms.toml", "--seed", "4"]
    with running([KABC, *line, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for_samples(6)
        process.send_signal(signal.SIGKILL)
        process.wait()
    again = kabc(*line[:-2], "--progress")  # the seed is the study's
    assert again.code == 0
    assert re.search(r"^study nightly: going on (after round \d+|in its first round), \d+ samples$", again.err, re.M)
    (folder / "kabc.db").rename(folder / "other.db")
    whole = kabc(*line, "--progress")
    assert "\nstudy nightly: new, kept in sqlite:///kabc.db\n" in whole.err
    assert first_group(whole) == first_group(again) != []
    assert "note: study 'nightly': resumed 1 time" in again.out
    before = again.out.replace("note: study 'nightly': resumed 1 time\n", "")
    assert before == whole.out


def test_a_study_that_ended_gives_its_answer_and_draws_nothing(kabc: Call, machines: Path) -> None:
    line = ("run", machines, "--arm", "machine", "--clusters", 2, "--seed", 4, *STUDY)
    first = kabc(*line)
    drawn = n_samples()
    again = kabc(*line, "--progress")
    assert again.err == f"study nightly: ended before, {drawn} samples; nothing is drawn\n"
    assert (again.code, again.out) == (0, first.out)
    assert kabc("study", "result", "nightly", *STUDY[:2]).out == first.out
    assert n_samples() == drawn
    assert kabc("study", "watch", "nightly", *STUDY[:2]).code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--clusters 3", "study 'nightly' asks for --clusters 2, this call for --clusters 3; use another study name"),
        ("", "study 'nightly' asks for --clusters 2, this call for no --clusters;"),
        ("--clusters 2 --seed 5", "study 'nightly' asks for --seed 4, this call for --seed 5;"),
        ("--clusters 2 --delta 0.01", "--delta 0.01;"),
        ("--clusters 2 --values temp", "samples had the columns ['vibration', 'temp'] when the study began"),
        ("--clusters 2 --where temp>0", "when the study began"),
        ("--clusters 2 --save kabc.db", "--save kabc.db is a file that this run reads; choose another path"),
    ],
)
def test_another_question_is_refused_naming_both(words: str, told: str, kabc: Call, machines: Path) -> None:
    assert (
        kabc("run", machines, "--arm", "machine", "--clusters", 2, "--seed", 4, "--max-samples", 24, *STUDY).code == 3
    )
    drawn = n_samples()
    refused = kabc("run", machines, "--arm", "machine", *words.split(), *STUDY, "--quiet")
    assert refused.code == 2
    assert told in refused.err
    assert refused.err.count("\n") == 1
    assert n_samples() == drawn


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "--storage", "kabc.db"], "--storage is where a study is kept; give its name too, with --study"),
        (["run", "--study", "n"], "give --storage, the file or the URL where studies are kept, or set KABC_STORAGE"),
        (["worker"], "kabc worker needs --study, the name of the study to draw for"),
        (["worker", "--storage", "kabc.db", "--study", "n"], "there is no store kabc.db; check --storage"),
    ],
)
def test_a_study_has_a_place_and_a_name(words: list[str], told: str, kabc: Call, machines: Path) -> None:
    answer = kabc(words[0], machines, "--arm", "machine", *words[1:])
    assert answer.code == 2
    assert told in answer.err
    assert not Path("kabc.db").exists()


def test_a_raised_budget_lets_the_same_line_go_on(kabc: Call, machines: Path) -> None:
    line = ("run", machines, "--arm", "machine", "--clusters", 2, "--seed", 0, "--max-samples", 24, *STUDY)
    assert kabc(*line).code == 3
    assert "more than 8" in kabc("study", "raise-budget", "nightly", 8, *STUDY[:2]).err
    assert "a whole number of samples" in kabc("study", "raise-budget", "nightly", "3x", *STUDY[:2]).err
    raised = kabc("study", "raise-budget", "nightly", "2,000", *STUDY[:2])
    assert raised.out == "nightly: at most 2,000 samples, before: 24; start kabc run or kabc worker to go on\n"
    larger = kabc("study", "raise-budget", "nightly", 3000, "--json", *STUDY[:2]).json()
    assert (larger["before"], larger["max_samples"]) == (2000, 3000)
    so_far = kabc("study", "result", "nightly", *STUDY[:2])
    assert so_far.code == 3
    assert "study 'nightly' is running: this is the answer so far" in so_far.err
    again = kabc(*line)
    assert again.code == 0
    assert "study nightly: its budget of 3,000 samples counts, not --max-samples 24;" in again.err
    noted = kabc("study", "status", "nightly", *STUDY[:2]).out
    assert "limits: at most 24 samples before, at most 2,000 samples now" in noted
    refused = kabc("study", "raise-budget", "nightly", "none", *STUDY[:2])
    assert refused.code == 2 and "more samples change nothing" in refused.err


def test_a_worker_draws_what_a_run_has_left(kabc: Call, machines: Path) -> None:
    line = (machines, "--arm", "machine", *STUDY)
    kabc("run", *line, "--clusters", 2, "--seed", 0, "--max-samples", 24)
    kabc("study", "raise-budget", "nightly", "none", *STUDY[:2])
    drawn = n_samples()
    worked = kabc("worker", *line)
    assert worked.code == 0
    assert re.fullmatch(r"study nightly has ended: [\d,]+ draws, [\d,]+ samples here\n", worked.out)
    assert kabc("study", "result", "nightly", *STUDY[:2]).code == 0
    facts = kabc("worker", *line, "--json").json()
    assert (facts["study"], facts["state"], facts["n_draws"]) == ("nightly", "ended", 0)
    assert n_samples() > drawn


def test_mistakes_of_a_worker_are_one_line(kabc: Call, machines: Path) -> None:
    line = (machines, "--arm", "machine", "--storage", "kabc.db")
    kabc("run", *line, "--study", "nightly", "--clusters", 2, "--seed", 0, "--max-samples", 24)
    kabc("study", "raise-budget", "nightly", "none", *STUDY[:2])
    for words, told in (
        (["--study", "nigthly"], "did you mean 'nightly'?"),
        (["--study", "nightly", "--arms", "a,x"], "--arms: there is no arm 'x'; there are a, b, c, d"),
        (["--study", "nightly", "--lease", "0"], "0"),
        (["--study", "nightly", "--where", "temp > 0"], "arm 'a': it had 60 rows when the study began"),
    ):
        answer = kabc("worker", *line, *words)
        assert answer.code == 2, words
        assert told in answer.err
        assert answer.err.count("\n") == 1


def test_commands_of_a_file_that_others_wrote_need_consent_in_a_worker_too(kabc: Call, folder: Path) -> None:
    (folder / "arms.toml").chmod(0o666)
    refused = kabc("worker", "--config", "arms.toml")
    assert refused.code == 2
    assert "pass --allow-commands" in refused.err


def test_workers_go_on_when_the_run_is_killed(kabc: Call) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with running([KABC, "run", "--config", "arms.toml", "--seed", "4"], **quiet) as run:
        wait_for_samples(1)
        with running([KABC, "worker", "--config", "arms.toml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
            wait_for_samples(6)
            run.send_signal(signal.SIGKILL)
            out, err = one.communicate(timeout=200)
    assert one.returncode == 0, err
    assert out.startswith("study nightly has ended: ")
    assert first_group(kabc("study", "result", "nightly", *STUDY[:2])) == [
        "  group 2, 1 arm: b",
        "  group 1, 2 arms: a, c",
    ]


def test_ctrl_c_leaves_a_run_and_a_worker_with_what_they_drew(kabc: Call) -> None:
    for words, told in (
        (["run", "--config", "arms.toml", "--seed", "4"], "are kept; the same line goes on"),
        (["worker", "--config", "arms.toml"], "told to leave"),
    ):
        least = n_samples() + 4 if Path("kabc.db").exists() else 1
        with running([KABC, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            wait_for_samples(least)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=100)
        assert process.returncode == 3, err
        assert told in err
    assert kabc("study", "status", "nightly", *STUDY[:2], "--json").json()["leases"] == []


def test_arms_are_added_to_a_new_study_that_reads_the_old_samples_first(kabc: Call) -> None:
    value = "echo $((KABC_SEED % 100 + {}))"
    arms = [f"--command={name}={value.format(shift)}" for name, shift in (("a", 0), ("b", 900), ("c", 900))]
    rest = ("--warmup", 0, "--clusters", 2, "--storage", "kabc.db", "--quiet")
    assert kabc("run", *arms[:2], *rest, "--study", "n", "--seed", 4).code == 0
    store = STUDY[:2]
    assert "give --arm" in kabc("study", "add-arm", "n", "--new", "n2", *store).err
    assert "has an arm 'b' already" in kabc("study", "add-arm", "n", "--new", "n2", "--arm", "b", *store).err
    drawn = n_samples()
    added = kabc("study", "add-arm", "n", "--new", "n2", "--arm", "c", "--seed", 5, *store)
    assert added.out == f"n2: 3 arms, may read {drawn} samples of n; draw with kabc run or kabc worker\n"
    grown = kabc("run", *arms, *rest, "--study", "n2", "--json").json()
    assert [group["arms"] for group in grown["groups"]] == [["a"], ["b", "c"]]
    assert grown["n_recorded"] == drawn
    kabc("study", "add-arm", "n", "--new", "n3", "--arm", "c", "--gone", "a", "--seed", 6, *store)
    without = kabc("run", *arms[1:], *rest, "--study", "n3", "--json").json()
    assert without["n_recorded"] > 0  # the few samples of a may not suffice for an answer
    assert "samples were recorded before" in kabc("study", "result", "n3", *store).out
