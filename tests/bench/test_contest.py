from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kabc
from kabc.bench import INSTANCES, Contest, RunLog, run_contest, summarise
from kabc.bench.contest import GRID, bad
from kabc.bench.field import code_of, resolve
from kabc.bench.play import (
    AT_CAP,
    FAILED,
    IN_TIME,
    PILOT,
    UNFIT,
    Job,
    Outcome,
    Stream,
    _Clock,
    _OutOfTimeError,
    fingerprint,
    play,
)
from kabc.bench.tables import Row, as_markdown, as_text
from tests.processes import running

KABC = str(Path(sys.executable).with_name("kabc"))


def job(instance: str, strategy: str, **changed: object) -> Job:
    mark, code = fingerprint(INSTANCES[instance]), code_of(resolve(strategy), INSTANCES[instance])
    base = Job(instance, mark, strategy, code, seed=0, delta=0.1, cap=3_000, limit=60.0)
    return replace(base, **changed)  # type: ignore[arg-type]


def played(instance: str, strategy: str, **changed: object) -> Outcome:
    return play(job(instance, strategy, **changed), INSTANCES[instance], resolve(strategy))


def timeless(found: dict[Job, Outcome]) -> dict[Job, Outcome]:
    return {key: replace(outcome, seconds=0.0) for key, outcome in found.items()}


# ---------------------------------------------------------------- one run


@given(st.lists(st.integers(1, 700), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_samples_of_an_arm_do_not_depend_on_how_they_are_asked_for(cuts: list[int]) -> None:
    draw = INSTANCES["modes"].arms[0]
    cut, whole = Stream(draw, 1, 0), Stream(draw, 1, 0)
    assert np.array_equal(np.concatenate([cut.next(n) for n in cuts]), whole.next(sum(cuts)))


def test_arms_and_seeds_have_streams_of_their_own() -> None:
    draw = INSTANCES["modes"].arms[0]
    first = Stream(draw, 0, 0).next(5)
    assert not np.array_equal(first, Stream(draw, 0, 1).next(5))
    assert not np.array_equal(first, Stream(draw, 1, 0).next(5))


def test_a_pilot_is_counted_and_never_tested() -> None:
    instance = INSTANCES["same-mean-200"]
    outcome = played("same-mean-200", "kabc")
    streams = [Stream(draw, 0, arm) for arm, draw in enumerate(instance.arms)]
    kernel = kabc.Gaussian.from_pilot(np.concatenate([stream.next(PILOT) for stream in streams]))
    strategy = kabc.KABC(instance.n_arms, instance.n_groups, 0.1, kernel)
    while not strategy.stopped:
        strategy.tell({arm: streams[arm].next(n) for arm, n in strategy.ask().items()})
    assert outcome == replace(outcome, status="decided", wrong=False)
    assert outcome.samples == strategy.n_samples + PILOT * instance.n_arms


def test_batch_heuristics_take_the_kernel_from_the_samples_that_they_cluster() -> None:
    assert played("boc-easy", "mmd-linkage", n=4).samples == 4 * 11


@pytest.mark.parametrize("strategy", ["boc", "boc-uniform", "acb-dagger", "atboc", "lucbboc", "bandit-clustering"])
@pytest.mark.parametrize("instance", ["same-mean-200", "scales-100d"])
def test_means_alone_never_stop_where_means_are_equal(instance: str, strategy: str) -> None:
    outcome = played(instance, strategy, cap=2_000)
    assert outcome.status == AT_CAP
    assert not outcome.wrong
    assert outcome.samples <= 2_000


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the bell may ring in a callback of gc
def test_time_ends_a_run_too() -> None:
    assert played("same-mean-200", "boc", cap=10**9, limit=0.3).status == IN_TIME


def test_a_bell_that_nobody_heard_rings_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kabc.bench.play._AGAIN", 0.05)

    def work() -> None:
        while True:
            sum(range(1_000))

    def deaf() -> None:
        with suppress(_OutOfTimeError):
            work()
        work()

    with pytest.raises(_OutOfTimeError), _Clock(0.05):
        deaf()


def test_a_strategy_that_cannot_be_set_up_says_why() -> None:
    assert played("cauchy", "boc") == Outcome(UNFIT, False, 0, note="there is no standard deviation")
    assert "several columns" in played("boc-easy", "boc-elim").note
    assert "alphabet" in played("boc-easy", "tas-fw").note
    assert "two groups" in played("boc-easy", "bandit-clustering").note
    assert "by how much" in played("same-mean-200", "acb").note


def test_a_wrong_answer_is_called_wrong() -> None:
    wrong = [played("boc-challenging", "mmd-linkage", n=2, seed=seed).wrong for seed in range(5)]
    assert any(wrong)


def test_queries_of_single_features_are_counted_beside_samples() -> None:
    outcome = played("sparse-53", "bandit-clustering", cap=100_000)
    assert outcome.status == "decided"
    assert outcome.queries is not None
    assert outcome.queries > outcome.samples > 0


# ---------------------------------------------------------------- many runs


def contest(**changed: object) -> Contest:
    small = Contest(("same-mean-200", "boc-easy"), ("anytime", "boc-heuristic", "mmd-linkage"), runs=3, cap=1_000)
    return replace(small, **changed)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[Job, Outcome]:
    return run_contest(contest(), RunLog(tmp_path_factory.mktemp("serial")), progress=False)


def test_parallel_is_serial(found: dict[Job, Outcome], tmp_path: Path) -> None:
    assert timeless(run_contest(contest(), RunLog(tmp_path), workers=2, progress=False)) == timeless(found)


def test_what_is_there_is_not_run_again(found: dict[Job, Outcome], tmp_path: Path) -> None:
    run_contest(contest(runs=2), RunLog(tmp_path), progress=False)
    lines = (tmp_path / "runs.jsonl").read_bytes()
    again = run_contest(contest(), RunLog(tmp_path), progress=False)
    assert timeless(again) == timeless(found)
    assert (tmp_path / "runs.jsonl").read_bytes().startswith(lines)


def test_a_line_that_was_cut_off_is_made_again(found: dict[Job, Outcome], tmp_path: Path) -> None:
    run_contest(contest(), RunLog(tmp_path), progress=False)
    path = tmp_path / "runs.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    again = run_contest(contest(), RunLog(tmp_path), progress=False)
    assert timeless(again) == timeless(found)
    assert len(path.read_bytes().splitlines()) == len(whole.splitlines())
    assert timeless(RunLog(tmp_path).done) == timeless(found)  # as read back


def test_an_instance_that_changed_is_another_instance(tmp_path: Path) -> None:
    text = (
        "from kabc.bench import Instance, gaussian\n"
        "INSTANCES = [Instance('mine', '', (2, 2), lambda: [gaussian(0), gaussian(GAP)])]\n"
    )
    for number, gap in enumerate(("5.0", "9.0")):
        (tmp_path / f"own{number}.py").write_text(text.replace("GAP", gap))
    log = RunLog(tmp_path)
    for number in range(2):
        run_contest(Contest.of((), ["anytime"], file=str(tmp_path / f"own{number}.py"), runs=1), log, progress=False)
    assert len(log.done) == 2


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_where_it_was(found: dict[Job, Outcome], tmp_path: Path) -> None:
    words = [
        "same-mean-200", "boc-easy", "--strategies", "anytime,boc-heuristic,mmd-linkage",
        "--runs", "3", "--cap", "1000", "--workers", "2", "--out", str(tmp_path),
    ]  # fmt: skip
    command = [KABC, "bench", *words]
    path = tmp_path / "runs.jsonl"
    with running(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # it is killed at the end
        while process.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") >= 3):
            time.sleep(0.02)
    before = path.read_bytes().count(b"\n")
    assert before < len(found)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert timeless(RunLog(tmp_path).done) == timeless(found)


@contextmanager
def started(folder: Path, lines: int) -> Iterator[subprocess.Popen[str]]:
    """A bench that would go on for long, once so many runs are done."""
    words = ["same-mean-200", "--strategies", "anytime,boc", "--cap", "100000000", "--workers", "2", "--quiet"]
    path = folder / "runs.jsonl"
    with running([KABC, "bench", *words, "--out", folder], stderr=subprocess.PIPE) as process:
        while process.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") >= lines):
            time.sleep(0.02)
        yield process


def living(session: int) -> list[int]:
    """Processes that were started with it."""
    found = subprocess.run(["ps", "-o", "pid=", "-s", str(session)], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_with_one_line_and_keeps_what_is_done(number: signal.Signals, tmp_path: Path) -> None:
    with started(tmp_path, 2) as process:
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does: to all processes
        else:
            process.send_signal(number)
        _, complaint = process.communicate(timeout=50)  # a run of BOC takes a minute
    assert process.returncode == 3
    assert complaint.count("\n") == 1
    assert "the same command goes on" in complaint
    assert len(RunLog(tmp_path).done) >= 2


@pytest.mark.slow
def test_no_process_stays_behind_when_the_first_one_is_killed(tmp_path: Path) -> None:
    with started(tmp_path, 1) as process:
        assert len(living(process.pid)) >= 3
        process.kill()
        process.wait()  # not communicate: who stays behind would keep the pipe open
        for _ in range(300):
            if not living(process.pid):
                break
            time.sleep(0.1)
        assert not living(process.pid)


KILLER = """
import os, signal
import numpy as np
import kabc
from kabc.bench import Instance, gaussian

class Dies(kabc.AnytimeKABC):
    def tell(self, samples):
        super().tell(samples)
        if BEHAVIOUR:
            os.kill(os.getpid(), signal.SIGKILL)

INSTANCES = [Instance("mine", "", (2, 2), lambda: [gaussian(0), gaussian(9)])]
"""
ALWAYS, ONCE = "True", "not os.path.exists(FLAG) and not open(FLAG, 'w').close()"


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", [ALWAYS, ONCE])
def test_a_worker_that_is_killed_takes_no_other_run_with_it(behaviour: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(KILLER.replace("BEHAVIOUR", behaviour).replace("FLAG", repr(str(tmp_path / "flag"))))
    both = Contest.of(["mine"], ["anytime", f"{file}:Dies"], file=str(file), runs=3, cap=500)
    found = run_contest(both, RunLog(tmp_path), workers=2, progress=False)
    plain = {key.seed: outcome for key, outcome in found.items() if key.strategy == "anytime"}
    dying = {key.seed: outcome for key, outcome in found.items() if key.strategy != "anytime"}
    assert [plain[seed].status for seed in range(3)] == ["decided"] * 3
    if behaviour == ONCE:
        assert [dying[seed].samples for seed in range(3)] == [plain[seed].samples for seed in range(3)]
    else:
        assert {outcome.status for outcome in dying.values()} == {FAILED}
        assert "its process died twice" in dying[0].note
    assert RunLog(tmp_path).done == found


# ---------------------------------------------------------------- what the runs say


def test_strategies_of_one_round_get_the_smallest_number_of_samples_that_is_enough(found: dict[Job, Outcome]) -> None:
    tried: dict[int, list[Outcome]] = {}
    for key, outcome in found.items():
        if key.strategy == "mmd-linkage" and key.instance == "same-mean-200":
            assert key.n is not None
            tried.setdefault(key.n, []).append(outcome)
    assert list(tried) == list(GRID[: len(tried)])
    assert [bad(outcomes) > 0 for outcomes in tried.values()] == [True] * (len(tried) - 1) + [False]
    row = next(r for r in summarise(contest(), found) if (r.strategy, r.instance) == ("mmd-linkage", "same-mean-200"))
    assert row.n == max(tried)
    assert row.samples == 4 * max(tried)
    assert row.guarantee == "oracle budget"


def test_the_grid_has_an_end() -> None:
    hopeless = Contest(("same-mean-200",), ("spectral",), runs=3, cap=10**9)
    last = replace(next(hopeless.first_jobs()), n=GRID[-1])
    wrong = {replace(last, seed=seed): Outcome("stopped", True, 4 * GRID[-1]) for seed in range(3)}
    assert list(hopeless.next_jobs(wrong)) == []


def _row(found: dict[Job, Outcome], strategy: str, instance: str) -> Row:
    return next(row for row in summarise(contest(), found) if (row.strategy, row.instance) == (strategy, instance))


def test_rows_have_means_errors_with_an_interval_and_broken_assumptions(found: dict[Job, Outcome]) -> None:
    row = _row(found, "anytime", "boc-easy")
    totals = [o.samples for key, o in found.items() if (key.strategy, key.instance) == ("anytime", "boc-easy")]
    assert row.samples == pytest.approx(np.mean(totals))
    assert row.sd == pytest.approx(np.std(totals, ddof=1))
    assert (row.wrong, row.wrong_low) == (0, 0.0)
    assert row.wrong_high == pytest.approx(1 - 0.025 ** (1 / 3))  # Clopper-Pearson at 0 of 3
    assert (row.guarantee, row.violated) == ("proven", ())
    blind = _row(found, "boc-heuristic", "same-mean-200")
    assert blind.violated == ("means differ", "normal")
    assert (blind.undecided, blind.ending, blind.stops) == (3, AT_CAP, False)


def test_tables_say_no_stop_at_cap_instead_of_a_number(found: dict[Job, Outcome]) -> None:
    rows = summarise(contest(), found)
    for text in (as_text(rows, contest()), as_markdown(rows, contest())):
        line = next(line for line in text.splitlines() if "boc-heuristic" in line)
        assert AT_CAP in line
        assert "violated: means differ, normal" in line
        assert "kabc / same-mean-200" in text


def test_what_could_not_be_run_is_said_with_the_reason(tmp_path: Path) -> None:
    few = Contest(("cauchy",), ("boc",), runs=2)
    rows = summarise(few, run_contest(few, RunLog(tmp_path), progress=False))
    assert rows[0].unfit
    assert "there is no standard deviation" in as_text(rows, few)


# ---------------------------------------------------------------- the command


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([KABC, "bench", *words], capture_output=True, text=True, check=False)


def test_the_command_writes_runs_table_and_figure(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "new" / "folder"
    done = bench("kabc", "--strategies", "anytime,boc", "--runs", "2", "--cap", "500", "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["instance"] for row in rows] == ["same-mean-200"] * 2 + ["same-mean-6400"] * 2
    assert [row["strategy"] for row in rows] == ["anytime", "boc"] * 2
    table = pq.read_table(out / "runs.parquet").to_pylist()
    assert len(table) == len((out / "runs.jsonl").read_text().splitlines()) == 8
    assert {row["status"] for row in table} == {"decided", AT_CAP}
    assert (out / "figure.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "table.md").read_text()
    assert "### kabc / same-mean-200" in page
    assert "| boc | \u221e* | \u221e* |" in page  # the matrix


def test_the_command_lists_what_there_is() -> None:
    listed = json.loads(bench("--list", "--json").stdout)["suites"]
    assert {"boc", "acb", "kabc", "graf", "real", "synthetic", "alphabets"} <= set(listed)
    assert all(one["hard"] for suite in listed.values() for one in suite)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "there is no instance 'nothing'"),
        (["kabc", "--strategies", "magic"], "there is no strategy 'magic'"),
        (["kabc", "--delta", "7"], "delta must lie in"),
        (["--instances", "missing.py"], "there is no file missing.py"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(words: list[str], message: str, tmp_path: Path) -> None:
    done = bench(*words, "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
