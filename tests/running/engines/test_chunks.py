"""Chunks: draws that are the same wherever they run, errors that arrive, and how many draws go into one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from kabc import ArmError
from kabc.arms.callables import CallableArm, PairedArm
from kabc.running.engines.chunks import Job, Pace, drawn, drawn_here
from kabc.storage.contract import Ticket
from kabc.study.facts import ArmFacts, Facts
from kabc.study.tickets import generators_of, keys_of
from tests.running.engines.deadly import Counting, Living, one_too_many, raises, raises_oddly

JOB = Job(0, 5, 7, ((0, 3),))


def test_a_job_draws_what_the_generators_of_its_ticket_give() -> None:
    for paired, several in ((False, False), (True, False), (False, True), (True, True)):
        facts = Facts((ArmFacts(), ArmFacts(paired=paired, one_at_a_time=several)))
        ticket = Ticket(1, round=4, place=0, arm=1, piece=2, start=0, count=3)
        usual = [rng.random() for rng in generators_of(ticket, 7, facts)]
        job = Job(1, 3, 7, keys_of(ticket, facts))
        if paired:
            found = job.draw(PairedArm(lambda n, rng, shared: [rng.random(), shared.random()]))
        else:
            found = job.draw(CallableArm(lambda n, rng: [rng.random()]))
        assert found == usual


def test_sent_or_not_a_chunk_draws_the_same() -> None:
    arm = Living(1.5)
    sent, here = drawn({0: pickle.dumps(arm)}, [JOB, JOB]), drawn_here([arm], [JOB, JOB])
    assert all(np.array_equal(sent.get(place), here.get(place)) for place in (0, 1))
    assert sent.seconds > 0.0 and sent.n_tried == 2


def test_a_sent_arm_keeps_nothing_from_one_draw_to_the_next() -> None:
    answers = drawn({0: pickle.dumps(Counting())}, [JOB, JOB])
    assert [np.asarray(answers.get(place)).tolist() for place in (0, 1)] == [[1.0] * 5] * 2


def test_an_error_ends_a_chunk_and_what_came_before_it_counts() -> None:
    arms = {0: pickle.dumps(Living(0.0)), 1: pickle.dumps(CallableArm(raises))}
    answers = drawn(arms, [JOB, Job(1, 5, 7, ((1, 3),)), JOB])
    assert answers.n_tried == 2 and len(np.asarray(answers.get(0))) == 5
    with pytest.raises(ValueError, match="no sample today") as caught:
        answers.get(1)
    assert "in raises" in caught.value.__notes__[0]  # where it happened


def test_an_error_that_cannot_be_sent_arrives_as_text() -> None:
    answers = drawn({0: pickle.dumps(CallableArm(raises_oddly))}, [JOB])
    with pytest.raises(RuntimeError, match="OddError: odd"):
        pickle.loads(pickle.dumps(answers)).get(0)


def test_rows_are_counted_where_they_are_drawn() -> None:
    answers = drawn({0: pickle.dumps(CallableArm(one_too_many))}, [JOB])
    with pytest.raises(ArmError, match="returned 6 samples when asked for 5"):
        answers.get(0)


def test_the_first_draws_go_alone_and_quick_ones_together() -> None:
    pace = Pace()
    assert pace.draws(1000, 0, 4) == 1 and pace.chunks(4) == 4
    pace.heard(1, 0.005)
    assert 20 <= pace.draws(1000, 0, 4) <= 100  # 0.1 to 0.5 seconds
    assert pace.chunks(4) == 8


def test_slow_draws_go_one_at_a_time_to_those_who_are_idle() -> None:
    pace = Pace()
    pace.heard(1, 120.0)
    assert pace.draws(1000, 0, 4) == 1 and pace.chunks(4) == 4


def test_few_draws_are_shared_out_evenly() -> None:
    pace = Pace()
    pace.heard(100, 0.001)
    assert pace.draws(10, 0, 4) == pace.draws(7, 3, 4) == pace.draws(1, 9, 4) == 3
    assert pace.draws(10**6, 0, 4) == 1000


def test_chunks_become_smaller_until_sending_them_would_take_longer_than_drawing() -> None:
    pace, waiting, sizes = Pace(), 400, []
    pace.heard(1, 0.005)
    while waiting:
        sizes.append(min(waiting, pace.draws(waiting, 400 - waiting, 4)))
        waiting -= sizes[-1]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] >= 20 and min(sizes[:-1]) == 10  # 50 ms
