"""What a person sees while it draws."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from kabc import AnytimeKABC
from kabc.cli import live, times
from kabc.running.snapshots import Snapshot
from kabc.strategies.tolerance import ToleranceKABC
from tests.cli.clock import Clock


def drawn(strategy: AnytimeKABC, rounds: int, gap: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        strategy.tell({arm: rng.normal(gap * (arm % 2), 1.0, n) for arm, n in strategy.ask().items()})


def snapshot(strategy: AnytimeKABC | ToleranceKABC, price: float = 0.0) -> Snapshot:
    n = strategy.n_samples
    return Snapshot(strategy.rounds[-1], len(strategy.rounds), n, price * n, 0.0, strategy, n)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(live, "monotonic", clock)
    return clock


def test_plain_lines_tell_samples_spend_pairs_arms_and_a_labelled_estimate(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    strategy = AnytimeKABC(4, 2, 0.05)
    drawn(strategy, 8, gap=1.2)
    assert not strategy.stopped
    with live.LivePanel(quiet=False) as panel:
        clock.now += 10
        panel.after(snapshot(strategy, price=0.5))
    out, err = capsys.readouterr()
    n = strategy.n_samples
    assert out == ""
    assert err.startswith(f"10 s: round 8, {n} samples, spent {n / 2:g}, 1 group found; ")
    assert f"{strategy.evidence().n_told_apart} of 6 pairs told apart" in err
    assert "of 4 arms decided" in err
    assert "left (an estimate" in err
    assert err.count("\n") == 1


def test_a_short_run_says_nothing_and_a_long_one_not_too_much(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    strategy = AnytimeKABC(4, 2, 0.05)
    drawn(strategy, 2, gap=0.0)
    with live.LivePanel(quiet=False) as panel:
        clock.now += 1
        panel.after(snapshot(strategy))
        assert capsys.readouterr().err == ""
        for _ in range(20):
            clock.now += 1
            panel("drawing")
    assert len(capsys.readouterr().err.splitlines()) == 4


def test_before_the_first_round_it_says_what_it_is_at(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with live.LivePanel(quiet=False) as panel:
        clock.now += 3
        panel("round 1: drawing, 2 of 4 arms done")
    assert capsys.readouterr().err == "3 s: round 1: drawing, 2 of 4 arms done\n"


def test_quiet_is_quiet(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with live.LivePanel(quiet=True) as panel:
        clock.now += 100
        panel("drawing")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_panel_that_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(live, "_QUIET_SECONDS", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    with live.LivePanel(quiet=False) as panel:
        panel("drawing arm a")
    out, err = capsys.readouterr()
    assert "\x1b[2K" in err  # rich has erased its lines again
    assert "drawing arm a" in err
    assert out == ""


def test_without_a_number_of_groups_no_arm_is_said_to_be_decided(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    strategy = AnytimeKABC(4, None, 0.05)
    drawn(strategy, 3, gap=5.0)
    with live.LivePanel(quiet=False) as panel:
        clock.now += 10
        panel.after(snapshot(strategy))
    err = capsys.readouterr().err
    assert "pairs told apart" in err
    assert "decided" not in err
    assert "spent" not in err  # nothing has a price


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (119, "119 s"), (120, "2 min"), (7100, "118 min"), (9000, "2.5 h")]
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert times.clock(seconds) == text


def test_a_tolerance_run_says_what_is_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    strategy, rng = ToleranceKABC(4, None, 0.05, tolerance="0.3 sd"), np.random.default_rng(0)
    while strategy.forecast is None:
        strategy.tell({arm: rng.normal(0.0, 1.0, n) for arm, n in strategy.ask().items()})
    with live.LivePanel(quiet=False) as panel:
        clock.now += 10
        panel.after(snapshot(strategy))
    err = capsys.readouterr().err
    assert re.search(r"about [\d,]+ samples and \d+ (s|min) left \(an estimate\)", err)


def test_what_cannot_be_told_is_not_guessed(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    strategy = AnytimeKABC(4, 2, 0.05)
    drawn(strategy, 2, gap=0.1)
    assert strategy.forecast is None
    with live.LivePanel(quiet=False) as panel:
        clock.now += 10
        panel.after(snapshot(strategy))
    err = capsys.readouterr().err
    assert "how many samples are left cannot be told yet" in err
    assert "estimate" not in err
