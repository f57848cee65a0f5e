"""What a person sees while it draws."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from kabc import AnytimeKABC
from kabc.cli import live
from kabc.core.evidence.pairs import Evidence
from tests.cli.clock import Clock


def drawn(strategy: AnytimeKABC, rounds: int, gap: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        strategy.tell({arm: rng.normal(gap * (arm % 2), 1.0, n) for arm, n in strategy.ask().items()})


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
    with live.Progress(4, 0.5, strategy, quiet=False) as progress:
        clock.now += 10
        progress.after(strategy.rounds[-1])
    out, err = capsys.readouterr()
    n = strategy.n_samples
    assert out == ""
    assert err.startswith(
        f"10 s: round 8, {n} samples, spent {n / 2:g}, {strategy.rounds[-1].n_groups} group(s) found; "
    )
    assert f"{strategy.evidence().n_told_apart} of 6 pairs told apart" in err
    assert "of 4 arms decided" in err
    assert "left (an estimate" in err
    assert err.count("\n") == 1


def test_a_short_run_says_nothing_and_a_long_one_not_too_much(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    strategy = AnytimeKABC(4, 2, 0.05)
    drawn(strategy, 2, gap=0.0)
    with live.Progress(4, 0.0, strategy, quiet=False) as progress:
        clock.now += 1
        progress.after(strategy.rounds[-1])
        assert capsys.readouterr().err == ""
        for _ in range(20):
            clock.now += 1
            progress.doing("drawing")
    assert len(capsys.readouterr().err.splitlines()) == 4


def test_before_the_first_round_it_says_what_it_is_at(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with live.Progress(4, 0.0, None, quiet=False) as progress:
        clock.now += 3
        progress.doing("round 1: drawing, 2 of 4 arms done")
    assert capsys.readouterr().err == "3 s: round 1: drawing, 2 of 4 arms done\n"


def test_quiet_is_quiet(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with live.Progress(4, 0.0, None, quiet=True) as progress:
        clock.now += 100
        progress.doing("drawing")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_panel_that_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(live, "_QUIET_SECONDS", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    with live.Progress(4, 0.0, None, quiet=False) as progress:
        progress.doing("drawing arm a")
    out, err = capsys.readouterr()
    assert "\x1b[2K" in err  # rich has erased its lines again
    assert "drawing arm a" in err
    assert out == ""


def test_an_arm_is_decided_when_it_is_told_apart_from_every_other_group() -> None:
    told = np.zeros((4, 4), dtype=np.int64)
    for i, j in ((0, 2), (0, 3), (1, 2)):
        told[i, j] = told[j, i] = 1
    evidence = Evidence.of_bets(told, np.ones(4, np.int64), np.zeros((4, 4)), np.ones((4, 4)))
    assert live._decided(evidence, np.array([0, 0, 1, 2])) == 1  # only arm 0 is told apart from both others
    assert live._decided(evidence, np.array([0, 0, 1, 1])) == 4
    assert live._decided(evidence, np.zeros(4, dtype=np.intp)) == 0


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (119, "119 s"), (120, "2 min"), (7100, "118 min"), (9000, "2.5 h")]
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert live.clock(seconds) == text


def test_estimates_have_two_digits() -> None:
    assert [live._rounded(n) for n in (7, 44, 123, 98765)] == [7, 44, 120, 99000]
