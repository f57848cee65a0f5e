"""What a long run shows, and how it is interrupted."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

import kabc
from kabc.running.interrupts import sigterm_interrupts, uninterrupted
from kabc.running.progress import Ticker
from tests.cli.clock import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("kabc.running.progress.time.monotonic", clock)
    return clock


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as usual, even if the tests were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_lines_come_after_two_seconds_and_then_twice_a_second(clock: Clock) -> None:
    lines: list[str] = []
    show = Ticker(lines.append)
    for tick in range(30):
        clock.now = 1000.0 + tick / 10
        show(f"{tick}")
    assert lines == ["20", "25"]


def test_a_line_is_made_once_it_is_shown(clock: Clock) -> None:
    lines: list[str] = []
    made: list[str] = []

    def line() -> str:
        made.append("round 1")
        return made[-1]

    show = Ticker(lines.append)
    show(line)
    Ticker(False)(line)
    assert made == []
    clock.now += 2.1
    Ticker(False)(line)
    show(line)
    show(line)
    assert made == lines == ["round 1"]


def test_a_line_that_cannot_wait_is_shown_at_once(clock: Clock) -> None:
    lines: list[str] = []
    Ticker(lines.append).now("ending")
    assert lines == ["ending"]


def test_nothing_is_shown_where_nothing_was_asked_for(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    show = Ticker(False)
    clock.now += 100
    show("round 1")
    show.now("ending")
    show.done()
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_left_clean(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    show = Ticker(True)
    clock.now += 3
    show("round 1")
    show.done()
    assert capsys.readouterr().err == "\r\033[Kround 1\r\033[K"


def test_a_file_gets_whole_lines(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    show = Ticker(True)
    clock.now += 3
    show("round 1")
    show.done()
    assert capsys.readouterr().err == "round 1\n"


def interrupted(times: int, show: Ticker) -> bool:
    """Ctrl-C in a block that should not be interrupted: whether the block was finished."""
    finished = False
    try:
        with uninterrupted(show):
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
            finished = True
    except KeyboardInterrupt:
        return finished
    raise AssertionError("Ctrl-C was lost")


def test_ctrl_c_waits_for_the_end_of_the_block(ctrl_c: None) -> None:
    lines: list[str] = []
    assert interrupted(1, Ticker(lines.append))
    assert lines == ["interrupted: this round is finished first; interrupt again to leave without an answer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_does_not_wait(ctrl_c: None) -> None:
    assert not interrupted(2, Ticker(False))


def test_in_another_thread_signals_are_left_alone() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with uninterrupted(Ticker(False)), sigterm_interrupts():
            seen.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert seen == [True]


def test_a_polite_kill_ends_a_run_as_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), sigterm_interrupts():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


# ---------------------------------------------------------------- steps that take long


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "kabc progress"]


def test_a_step_is_shown_while_it_lasts_and_then_with_its_time(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    show = Ticker(True)
    with show.during("round 1"):
        assert threads() == ["kabc progress"]
        show.done()  # this test is the beat
        for _ in range(20):
            clock.now += 0.5
            show._still_at_it()
    clock.now += 10
    show._still_at_it()
    assert capsys.readouterr().err == "round 1\nround 1 (7 s)\n"


def test_a_step_that_was_shown_is_not_shown_again_at_once(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    show = Ticker(True)
    clock.now += 3
    with show.during("round 1"):
        show.done()
        clock.now += 1
        show._still_at_it()
    assert capsys.readouterr().err == "round 1\n"


def test_a_function_of_the_user_is_called_in_the_thread_of_the_user(clock: Clock) -> None:
    seen: list[str] = []
    show = Ticker(lambda line: seen.append(threading.current_thread().name))
    clock.now += 3
    with show.during("round 1"):
        assert threads() == []
    assert seen == [threading.current_thread().name]


def test_no_thread_stays_behind() -> None:
    kabc.cluster({"a": [0.0] * 60, "b": [1.0] * 60}, 2, seed=0)
    with pytest.raises(kabc.KabcError):
        kabc.cluster("nowhere.csv", 2, arm="a", seed=0)
    assert threads() == []
