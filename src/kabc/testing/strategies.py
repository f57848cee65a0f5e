"""What every strategy must do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from itertools import count, islice
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import KabcError
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.strategies.answers import Round, Status
from kabc.strategies.base import Request, Strategy
from kabc.testing.error_law import most_errors, played, untruth

Samples = dict[int, NDArray[Any]]  # samples of each arm of a round, (count, d)
Draw = Callable[[int, int, np.random.Generator], NDArray[Any]]  # group, n, rng -> (n, d)


class StrategyConformance(ABC):
    """What every strategy must do. Subclass it as `TestMyStrategy` and write `make_strategy`.

    `make_strategy` must return a new strategy with the same settings each time. Your strategy must solve the two groups
    of `draw`, in at least one round. If it cannot, write `draw` too. A run may take at most `most_samples` samples.

    One test counts wrong answers. It makes `runs` runs with equal arms, and as many with groups that differ a little
    (`draw_close`). Each run takes at most `law_samples` samples. Use a small delta there: 0.1 tests more than 0.5.
    """

    most_samples = 100_000
    runs = 60
    law_samples = 400

    @abstractmethod
    def make_strategy(self) -> Strategy:
        """A new strategy, with the same settings each time."""

    def draw(self, arm: int, n: int, rng: np.random.Generator) -> NDArray[Any]:  # (n, d)
        """Samples of an arm, normal in the plane. The even arms are one group, the odd arms the other."""
        return rng.normal(8.0 * (arm % 2), 1.0, (n, 2))

    def draw_close(self, group: int, n: int, rng: np.random.Generator) -> NDArray[Any]:  # (n, d)
        """Samples of groups that differ a little: mostly like arm 0, sometimes like arm 1.

        Write it too if your strategy assumes more than independent samples, for example normal noise.
        """
        if type(self).draw is StrategyConformance.draw:
            return rng.normal(0.4 * group, 1.0, (n, 2))
        like_one = rng.random(n) < 0.05 * group
        rows = self.draw(0, n, rng)
        rows[like_one] = self.draw(1, n, rng)[like_one]
        return rows

    # ------------------------------------------------------------ runs

    def _answers(self, request: Request, number: int) -> Samples:  # each (count, d)
        """The samples told in that round. The same request gives the same samples."""
        return {arm: self.draw(arm, count, np.random.default_rng([number, arm])) for arm, count in request.items()}

    def _run(self, strategy: Strategy) -> Iterator[tuple[Request, Samples]]:
        """Yields each round of a whole run, after its tell."""
        told = 0
        for number in count():
            if strategy.stopped:
                return
            request = strategy.ask()
            _expect_request(request, strategy.n_arms)
            told += sum(request.values())
            assert told <= self.most_samples, f"it has not stopped within {self.most_samples} samples"
            samples = self._answers(request, number)
            strategy.tell(samples)
            yield request, samples

    def _runs(self) -> Iterator[tuple[Strategy, Strategy, Request, Samples]]:
        """The rounds of a run of two equal strategies. The second was told already, the first was not asked yet."""
        strategy, twin = self.make_strategy(), self.make_strategy()
        for number, (request, _) in enumerate(self._run(twin)):
            yield strategy, twin, request, self._answers(request, number)

    def _refuses(self, spoil: Callable[[Strategy, Samples], object]) -> None:
        """In the first two rounds, a faulty tell is refused and changes nothing. None skips a round."""
        for strategy, twin, request, samples in islice(self._runs(), 2):
            assert strategy.ask() == request
            wrong = spoil(strategy, samples)
            if wrong is not None:
                before = _looked_at(strategy)
                _refused(strategy, wrong)
                assert _looked_at(strategy) == before, "a refused tell changed what is seen"
                assert strategy.ask() == request, "a refused tell changed the request"
                _refused(strategy, wrong)
            strategy.tell(samples)  # without another ask
            assert _looked_at(strategy) == _looked_at(twin), "a refused tell changed what came after"

    # ------------------------------------------------------------ asking and looking

    def test_asking_twice_gives_the_same_request_and_changes_nothing(self) -> None:
        for strategy, twin, request, samples in self._runs():
            before = _looked_at(strategy)
            assert strategy.ask() == strategy.ask() == request
            assert _looked_at(strategy) == before
            strategy.tell(samples)
            assert _looked_at(strategy) == _looked_at(twin)

    def test_looking_changes_nothing(self) -> None:
        strategy, twin = self.make_strategy(), self.make_strategy()
        requests = []
        for request, _ in self._run(strategy):
            requests.append(request)
            assert _looked_at(strategy) == _looked_at(strategy)
        assert requests == [request for request, _ in self._run(twin)]  # its properties are never read
        assert _looked_at(strategy) == _looked_at(twin)

    def test_what_was_looked_at_does_not_change_later(self) -> None:
        strategy = self.make_strategy()
        seen = []
        for _ in self._run(strategy):
            evidence, rounds = strategy.evidence(), strategy.rounds
            seen.append((evidence, _numbers(evidence), rounds, len(rounds)))
        assert all(_numbers(evidence) == numbers for evidence, numbers, _, _ in seen)
        assert all(len(rounds) == length for _, _, rounds, length in seen)

    def test_requests_are_positive_whole_numbers_of_the_arms(self) -> None:
        for _ in self._run(self.make_strategy()):
            pass  # every request of a run is looked at

    def test_a_request_belongs_to_its_asker(self) -> None:
        for strategy, _, request, samples in self._runs():
            for _ in range(2):
                mine = strategy.ask()
                assert mine == request
                mine.clear()
            strategy.tell(samples)

    # ------------------------------------------------------------ telling

    def test_a_tell_without_an_ask_is_refused(self) -> None:
        strategy, _, request, samples = next(self._runs())
        before = _looked_at(strategy)
        _refused(strategy, samples)
        assert _looked_at(strategy) == before
        assert strategy.ask() == request
        strategy.tell(samples)

    def test_a_second_tell_needs_a_second_ask(self) -> None:
        strategy, twin, _, samples = next(self._runs())
        strategy.ask()
        strategy.tell(samples)
        _refused(strategy, samples)
        assert _looked_at(strategy) == _looked_at(twin)

    def test_a_tell_with_an_arm_missing_is_refused(self) -> None:
        self._refuses(lambda _, samples: dict(list(samples.items())[:-1]))

    def test_a_tell_of_an_arm_that_was_not_asked_for_is_refused(self) -> None:
        self._refuses(lambda strategy, samples: samples | {_other(strategy, samples): next(iter(samples.values()))})

    def test_too_few_samples_are_refused(self) -> None:
        self._refuses(lambda _, samples: _changed(samples, lambda rows: rows[:-1]))

    def test_too_many_samples_are_refused(self) -> None:
        self._refuses(lambda _, samples: _changed(samples, lambda rows: np.concatenate([rows, rows[:1]])))

    def test_samples_that_are_no_finite_numbers_are_refused(self) -> None:
        if self.draw(0, 1, np.random.default_rng(0)).dtype.kind != "f":
            return  # of texts and whole numbers all are samples
        for value in (np.nan, np.inf, -np.inf):
            self._refuses(partial(_ending_in, value))

    def test_another_number_of_columns_is_refused(self) -> None:
        def widened(strategy: Strategy, samples: Samples) -> object:
            if len(samples) == 1 and not strategy.n_samples:
                return None  # the very first arm: nothing to differ from
            return _changed(samples, lambda rows: np.concatenate([rows, rows[:, :1]], axis=1))

        self._refuses(widened)

    def test_what_is_no_mapping_is_refused(self) -> None:
        self._refuses(lambda _, samples: list(samples.values()))

    def test_told_arrays_are_not_changed_and_may_be_overwritten_afterwards(self) -> None:
        for strategy, twin, request, samples in self._runs():
            assert strategy.ask() == request
            copies = {arm: rows.copy() for arm, rows in samples.items()}
            strategy.tell(samples)
            assert all(np.array_equal(samples[arm], rows) for arm, rows in copies.items())
            for rows in samples.values():
                rows.fill(0)
            assert _looked_at(strategy) == _looked_at(twin)

    # ------------------------------------------------------------ whole runs

    def test_the_same_samples_give_the_same_requests_and_the_same_answer(self) -> None:
        for strategy, twin, request, samples in self._runs():  # in turns: what one is told does not reach the other
            assert strategy.ask() == request
            strategy.tell(samples)
            assert _looked_at(strategy) == _looked_at(twin)

    def test_a_log_of_samples_leads_back_to_where_it_was_written(self) -> None:
        strategy, log = self.make_strategy(), []
        for request, samples in self._run(strategy):
            log.append((request, samples, _looked_at(strategy)))
        again = self.make_strategy()
        for request, samples, seen in log:
            assert again.ask() == request
            again.tell(samples)
            assert _looked_at(again) == seen

    def test_it_stops_and_then_asks_for_nothing_and_takes_nothing(self) -> None:
        strategy = self.make_strategy()
        log = list(self._run(strategy))
        seen = _looked_at(strategy)
        assert strategy.ask() == {}
        for samples in ({}, log[-1][1]):
            _refused(strategy, samples)
        assert _looked_at(strategy) == seen

    def test_labels_are_numbered_by_first_appearance_and_are_k_groups_when_decided(self) -> None:
        strategy = self.make_strategy()
        for _ in self._run(strategy):
            found = strategy.recommend()
            assert len(found.labels) == strategy.n_arms
            assert found.labels == Partition.of(found.labels).labels
            assert found.n_groups == len(set(found.labels) - {-1})  # -1: in no group
        if strategy.status == "decided" and strategy.n_clusters is not None:
            assert found.n_groups == strategy.n_clusters

    def test_the_books_add_up(self) -> None:
        strategy, told = self.make_strategy(), 0
        before: tuple[Round, ...] = ()
        for request, _ in self._run(strategy):
            told += sum(request.values())
            rounds = tuple(strategy.rounds)
            assert strategy.n_samples == told == rounds[-1].n_samples
            assert rounds[:-1] == before, "each tell is one round more"
            assert rounds[-1].number > (before[-1].number if before else 0)
            before = rounds

    def test_evidence_is_of_pairs_and_what_is_told_apart_stays_told_apart(self) -> None:
        strategy = self.make_strategy()
        told, before = np.zeros(strategy.n_arms, dtype=np.int64), np.zeros((strategy.n_arms,) * 2, dtype=np.int64)
        for request, _ in self._run(strategy):
            told[list(request)] += list(request.values())
            evidence = strategy.evidence()
            pairs = evidence.told_in_round
            assert pairs.shape == before.shape
            assert np.array_equal(pairs, pairs.T)
            assert not pairs.diagonal().any()
            assert np.array_equal(pairs[before > 0], before[before > 0])
            assert set(np.unique(pairs).tolist()) <= {0, *(seen.number for seen in strategy.rounds)}
            assert evidence.counts.shape == told.shape
            assert (evidence.counts <= told).all()  # less where rounds are discarded
            before = pairs.copy()

    def test_the_least_number_of_groups_never_goes_down_and_fits_the_answer(self) -> None:
        strategy, before = self.make_strategy(), 1
        for _ in self._run(strategy):
            assert before <= strategy.n_groups_at_least <= strategy.n_arms
            before = strategy.n_groups_at_least
        if strategy.status == "decided":
            assert before <= strategy.recommend().n_groups

    def test_it_is_wrong_in_no_more_runs_than_delta_allows(self) -> None:
        n_arms, n_groups = self.make_strategy().n_arms, self.make_strategy().n_clusters or 2
        allowed = most_errors(self.runs, self.make_strategy().delta)
        if n_groups < n_arms:  # else the number of groups alone says that arms differ
            self._expect_errors(allowed, Partition((0,) * n_arms), lambda group, n, rng: self.draw(0, n, rng))
        truth = Partition.of([arm % n_groups for arm in range(n_arms)])
        self._expect_errors(allowed, truth, self.draw_close)

    def _expect_errors(self, allowed: int, truth: Partition, draw: Draw) -> None:
        wrong = []
        for run in range(self.runs):
            strategy = played(self.make_strategy(), partial(_drawn, draw, truth, run), self.law_samples)
            said = untruth(strategy, truth)
            wrong += [f"run {run}: {said}"] if said else []
        assert len(wrong) <= allowed, f"wrong in {len(wrong)} of {self.runs} runs, {allowed} are allowed; {wrong[0]}"

    def test_a_status_comes_with_the_end_and_only_what_is_decided_is_certified(self) -> None:
        strategy = self.make_strategy()
        assert strategy.status is None
        for _ in self._run(strategy):
            assert strategy.stopped == (strategy.status is not None)
            assert not strategy.recommend().certified or strategy.status == "decided"
        assert strategy.status in get_args(Status)


def _drawn(draw: Draw, truth: Partition, run: int, request: Request, number: int) -> Samples:
    """Samples of the true groups. They differ from run to run."""
    return {arm: draw(truth.labels[arm], n, np.random.default_rng([run, number, arm])) for arm, n in request.items()}


def _expect_request(request: Request, n_arms: int) -> None:
    assert request, "it has not stopped and asks for nothing"
    for arm, n in request.items():
        assert type(arm) is int, f"arms are numbers of type int, got {arm!r}"
        assert 0 <= arm < n_arms, f"arms are numbered from 0 to {n_arms - 1}, got {arm}"
        assert type(n) is int, f"samples are counted in numbers of type int, got {n!r} for arm {arm}"
        assert n > 0, f"at least one sample of an arm is asked for, got {n} for arm {arm}"


def _looked_at(strategy: Strategy) -> tuple[object, ...]:
    """Everything visible of a strategy without calling ask."""
    found = strategy.recommend()
    books = (strategy.n_samples, tuple(strategy.rounds), strategy.n_groups_at_least)
    answer = (strategy.stopped, strategy.status, found.labels, found.certified, strategy.guarantee())
    return (*books, *answer, *_numbers(strategy.evidence()))


def _numbers(evidence: Evidence) -> list[bytes]:
    return [np.asarray(getattr(evidence, field.name)).tobytes() for field in fields(evidence)]  # NaN equals NaN


def _refused(strategy: Strategy, samples: object) -> None:
    try:
        strategy.tell(samples)  # type: ignore[arg-type]
    except KabcError:
        return
    raise AssertionError("the tell was not refused")


def _changed(samples: Samples, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Samples:
    """A tell with faulty samples of the last arm. The samples before it must not have been stored."""
    last = list(samples)[-1]
    return samples | {last: change(samples[last])}


def _ending_in(value: float, _: Strategy, samples: Samples) -> Samples:
    def spoilt(rows: NDArray[Any]) -> NDArray[Any]:
        rows = rows.copy()
        rows[-1, -1] = value
        return rows

    return _changed(samples, spoilt)


def _other(strategy: Strategy, samples: Samples) -> int:
    """An arm that was not asked for. If all were, a number after the last arm."""
    return next(arm for arm in range(strategy.n_arms + 1) if arm not in samples)
