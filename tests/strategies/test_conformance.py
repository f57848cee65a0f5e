"""Every strategy keeps the contract of `Strategy`, and the tests of the contract catch those that do not."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from kabc import KABC, Cluster, Gaussian, Hamming, KabcError, Partition
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import Kernel
from kabc.core.samples import as_points
from kabc.strategies import STRATEGIES, Strategy, make_strategy, needs_kernel
from kabc.strategies.answers import Guarantee, Round, Status
from kabc.strategies.base import Request, checked_samples
from kabc.testing import StrategyConformance

_ONE_ROUND = {"samples_per_arm": 6}

# Every strategy must be here, with the options that it needs for four arms in two groups (and in DRAWS, maybe).
OPTIONS: dict[str, dict[str, Any]] = {
    "anytime": {},
    "kabc": {},
    "kabc-tight": {},
    "kabc-witness": {},
    "kabc-manole-ramdas": {},
    "kabc-bernstein": {},
    "kabc-permutation": {},
    "kernel-kmeans": _ONE_ROUND,
    "spectral": _ONE_ROUND,
    "mmd-linkage": _ONE_ROUND,
    "mmd-farthest": _ONE_ROUND,
    "mmd-permutation": _ONE_ROUND,
    "boc": {},
    "boc-heuristic": {},
    "boc-uniform": {},
    "boc-linear": {"distance_ratio": 0.5},
    "acb": {"min_gap": 7.0},
    "acb-dagger": {},
    "acb-star": {"hanson_wright": 0.01},
    "atboc": {},
    "lucbboc": {},
    "boc-elim": {},
    "ebc": {},
    "tas-fw": {"alphabet": 3},
    "bandit-clustering": {},
}


def by_name(name: str) -> Strategy:
    kernel = Gaussian(2.0) if needs_kernel(name) else None
    return make_strategy(name, 4, 2, 0.5, kernel, OPTIONS[name])


# arms for strategies that the default ones of the plane do not suit
DRAWS: dict[str, Callable[[int, int, np.random.Generator], NDArray[Any]]] = {
    "boc-elim": lambda arm, n, rng: rng.normal(8.0 * (arm % 2), 1.0, (n, 1)),
    "tas-fw": lambda arm, n, rng: rng.choice([[0.0, 1.0], [1.0, 2.0]][arm % 2], (n, 1), p=[0.9, 0.1]),
}

MAKERS: dict[str, Callable[[], Strategy]] = {
    "Cluster": lambda: Cluster(4, 6, 0.5, Gaussian(2.0)),
    "Cluster.for_separation": lambda: Cluster.for_separation(4, 3.0, 0.5, Gaussian(2.0)),
    "KABC with kept samples": lambda: KABC(4, 2, 0.5, Gaussian(2.0), keep_samples=True),
    "KABC by representatives": lambda: KABC.tight(4, 2, 0.5, Gaussian(2.0), comparisons="representatives"),
}


def test_no_strategy_is_missing() -> None:
    assert set(OPTIONS) == set(STRATEGIES)


class TestEveryStrategy(StrategyConformance):
    name = ""

    @pytest.fixture(autouse=True, params=[*OPTIONS, *MAKERS])
    def _named(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param

    def make_strategy(self) -> Strategy:
        return MAKERS[self.name]() if self.name in MAKERS else by_name(self.name)

    def draw(self, arm: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return DRAWS.get(self.name, super().draw)(arm, n, rng)

    def test_a_pickled_run_goes_on_as_before(self) -> None:
        strategy = self.make_strategy()
        for number in range(20):
            if strategy.stopped:
                break
            samples = self._answers(strategy.ask(), number)
            copy: Strategy = pickle.loads(pickle.dumps(strategy))
            strategy.tell(samples)
            copy.tell(samples)
            assert copy.ask() == strategy.ask()
            assert copy.recommend() == strategy.recommend()


class TestAStrategyOfTexts(StrategyConformance):
    def make_strategy(self) -> Strategy:
        return KABC.tight(4, 2, 0.5, Hamming())

    def draw(self, arm: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return rng.choice([["red", "high"], ["blue", "low"]][arm % 2], (n, 1))


# ---------------------------------------------------------------- strategies with a fault


class Sound:
    """Three rounds of two samples of each of four arms, grouped by means above and below 4; faults are added to it."""

    n_arms, n_clusters, delta = 4, 2, 0.5
    kernel: Kernel | None = None
    last = 3

    def __init__(self) -> None:
        self.asked: Request | None = None
        self.sums = np.zeros(self.n_arms)
        self.told = np.zeros((self.n_arms, self.n_arms), dtype=np.int64)
        self.rounds: tuple[Round, ...] = ()
        self.columns: int | None = None

    @property
    def stopped(self) -> bool:
        return len(self.rounds) >= self.last

    @property
    def status(self) -> Status | None:
        return "decided" if self.stopped else None

    @property
    def n_samples(self) -> int:
        return sum(self.request.values()) * len(self.rounds)

    @property
    def n_groups_at_least(self) -> int:
        return 2 if self.told.any() else 1

    @property
    def request(self) -> Request:
        return dict.fromkeys(range(self.n_arms), 2)

    def ask(self) -> Request:
        self.asked = {} if self.stopped else self.request
        return dict(self.asked)

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        rows = checked_samples(samples, self.asked, None, self.columns)
        self.asked, self.columns = None, rows[0].shape[1]
        self.sums = self.sums + np.array([points.mean() for points in rows])
        number = len(self.rounds) + 1
        self.rounds += (Round(number, self.delta, 2 * number, 8 * number, 2),)
        high = self.sums > 4 * number
        apart = (high[:, None] != high) & (number > 1)
        self.told = np.where(apart & (self.told == 0), number, self.told)

    def recommend(self) -> Partition:
        return Partition.of((self.sums > 4 * len(self.rounds)).tolist(), certified=self.stopped)

    def evidence(self) -> Evidence:
        counts = np.full(self.n_arms, 2 * len(self.rounds))
        return Evidence.of_bets(self.told.copy(), counts, np.zeros((4, 4)), np.ones((4, 4)))

    def guarantee(self) -> Guarantee:
        return Guarantee("sound", "none", (), ())


class TestASoundStrategy(StrategyConformance):
    def make_strategy(self) -> Strategy:
        return Sound()


class AsksForMoreEachTime(Sound):
    def ask(self) -> Request:
        self.more = getattr(self, "more", 1) + 1
        self.asked = dict.fromkeys(range(self.n_arms), self.more)
        return dict(self.asked)


class IsChangedByLooking(Sound):
    looks = 2

    @property
    def request(self) -> Request:
        return dict.fromkeys(range(self.n_arms), self.looks)

    def evidence(self) -> Evidence:
        self.looks += 1
        return super().evidence()


class ShowsItsOwnArrays(Sound):
    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        mine = self.told
        super().tell(samples)
        mine[:] = self.told
        self.told = mine

    def evidence(self) -> Evidence:
        counts = np.full(self.n_arms, 2 * len(self.rounds))
        return Evidence.of_bets(self.told, counts, np.zeros((4, 4)), np.ones((4, 4)))


class CountsArmsFromTheEnd(Sound):
    @property
    def request(self) -> Request:
        return dict.fromkeys(range(-self.n_arms, 0), 2)


class AsksInNumpy(Sound):
    @property
    def request(self) -> Request:
        return dict.fromkeys(range(self.n_arms), np.int64(2))  # type: ignore[arg-type]


class AsksForNoneOfAnArm(Sound):
    @property
    def request(self) -> Request:
        return {0: 2, 1: 0, 2: 2, 3: 2}


class LendsItsRequest(Sound):
    def ask(self) -> Request:
        super().ask()
        assert self.asked is not None
        return self.asked


class Mends(Sound):
    """A wrong tell is mended instead of refused."""

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        super().tell(self.mended(samples) if self.asked else samples)

    def mended(self, samples: Any) -> dict[int, ArrayLike]:
        return {arm: self.points(as_points(rows)) for arm, rows in samples.items()}

    def points(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows


class AsksItself(Sound):
    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        self.ask()
        super().tell(samples)


class IsToldAgain(Sound):
    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        asked = self.asked
        super().tell(samples)
        self.asked = asked


class FillsInMissingArms(Mends):
    def mended(self, samples: Any) -> dict[int, ArrayLike]:
        return {arm: samples.get(arm, [[0.0, 0.0]] * 2) for arm in range(self.n_arms)}


class DropsOtherArms(Mends):
    def mended(self, samples: Any) -> dict[int, ArrayLike]:
        return {arm: rows for arm, rows in samples.items() if arm in self.request}


class DrawsUp(Mends):
    def points(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows[[0, -1]]


class CutsOff(Mends):
    def points(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows[:2]


class TakesNothingForZero(Mends):
    def mended(self, samples: Any) -> dict[int, ArrayLike]:
        return {arm: np.nan_to_num(rows) for arm, rows in samples.items()}


class CutsColumns(Mends):
    def points(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows[:, :2]


class NumbersTheRows(Mends):
    def mended(self, samples: Any) -> dict[int, ArrayLike]:
        return dict(samples) if isinstance(samples, Mapping) else dict(enumerate(samples))


class TakesInBeforeItRefuses(Sound):
    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        self.sums = self.sums + 4.0
        super().tell(samples)
        self.sums = self.sums - 4.0


class ForgetsItsRequestWhenItRefuses(Sound):
    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        asked, self.asked = self.asked, None
        checked_samples(samples, asked, None, self.columns)
        self.asked = asked
        super().tell(samples)


class KeepsTheCallersArrays(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Mapping[int, Any]] = []

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        super().tell(samples)
        self.kept.append(samples)

    def recommend(self) -> Partition:
        means = [sum(np.mean(told[arm]) for told in self.kept) for arm in range(self.n_arms)]
        return Partition.of([mean > 4 * len(self.kept) for mean in means], certified=self.stopped)


class CentresTheCallersArrays(Sound):
    def tell(self, samples: Mapping[int, Any]) -> None:
        super().tell(samples)
        for rows in samples.values():
            rows -= rows.mean()


class SharesItsState(Sound):
    tells: ClassVar[list[int]] = []

    @property
    def request(self) -> Request:
        return dict.fromkeys(range(self.n_arms), 2 + len(self.tells))

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        super().tell(samples)
        self.tells.append(1)


class RollsDice(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.dice = int(np.random.default_rng().integers(1, 10_000))

    @property
    def request(self) -> Request:
        return dict.fromkeys(range(self.n_arms), self.dice)


class NeverStops(Sound):
    last = 10**9


class AsksForNothing(Sound):
    @property
    def request(self) -> Request:
        return {}


class AsksOnAfterItsEnd(Sound):
    def ask(self) -> Request:
        self.asked = self.request
        return dict(self.asked)


class TakesMoreAfterItsEnd(Sound):
    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        if not self.stopped:
            super().tell(samples)


class FindsTooManyGroups(Sound):
    def recommend(self) -> Partition:
        return Partition((0, 1, 2, 1), certified=self.stopped)


class ForgetsAnArm(Sound):
    def recommend(self) -> Partition:
        found = super().recommend()
        return Partition(found.labels[:-1], found.certified) if self.stopped else found


class CountsRounds(Sound):
    @property
    def n_samples(self) -> int:
        return len(self.rounds)


class RemembersItsLastRound(Sound):
    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        super().tell(samples)
        self.rounds = (*self.rounds[:-2], *self.rounds[-1:], *self.rounds[-2:-1])


class SaysMore(Sound):
    """Evidence with another matrix."""

    def evidence(self) -> Evidence:
        seen = super().evidence()
        ones = np.ones((4, 4))
        return Evidence.of_bets(self.pairs(seen.told_in_round), self.counts(seen.counts), ones, ones)

    def pairs(self, told: NDArray[np.int64]) -> NDArray[np.int64]:
        return told

    def counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return counts


class TellsOneWay(SaysMore):
    def pairs(self, told: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.triu(told)


class TellsAnArmFromItself(SaysMore):
    def pairs(self, told: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.full_like(told, told.max())


class TakesBack(SaysMore):
    def pairs(self, told: NDArray[np.int64]) -> NDArray[np.int64]:
        return told * np.int64(len(self.rounds) == 2)


class NamesARoundThatWasNot(SaysMore):
    def pairs(self, told: NDArray[np.int64]) -> NDArray[np.int64]:
        return 7 * told


class CountsTwice(SaysMore):
    def counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return 2 * counts


class LosesAGroup(Sound):
    @property
    def n_groups_at_least(self) -> int:
        return 2 if len(self.rounds) == 1 else 1


class CertifiesTooManyGroups(Sound):
    @property
    def n_groups_at_least(self) -> int:
        return 3


class HasAWordOfItsOwn(Sound):
    @property
    def status(self) -> Any:
        return "finished" if self.stopped else None


class HasAStatusTooSoon(Sound):
    @property
    def status(self) -> Status | None:
        return "decided" if self.rounds else None


class CertifiesAGuess(Sound):
    @property
    def status(self) -> Status | None:
        return "stopped" if self.stopped else None


FAULTS: dict[str, list[type[Sound]]] = {
    "asking_twice_gives_the_same_request_and_changes_nothing": [AsksForMoreEachTime],
    "looking_changes_nothing": [IsChangedByLooking],
    "what_was_looked_at_does_not_change_later": [ShowsItsOwnArrays],
    "requests_are_positive_whole_numbers_of_the_arms": [CountsArmsFromTheEnd, AsksInNumpy, AsksForNoneOfAnArm],
    "a_request_belongs_to_its_asker": [LendsItsRequest],
    "a_tell_without_an_ask_is_refused": [AsksItself],
    "a_second_tell_needs_a_second_ask": [AsksItself, IsToldAgain],
    "a_tell_with_an_arm_missing_is_refused": [FillsInMissingArms, TakesInBeforeItRefuses],
    "a_tell_of_an_arm_that_was_not_asked_for_is_refused": [DropsOtherArms, ForgetsItsRequestWhenItRefuses],
    "too_few_samples_are_refused": [DrawsUp, TakesInBeforeItRefuses],
    "too_many_samples_are_refused": [CutsOff, ForgetsItsRequestWhenItRefuses],
    "samples_that_are_no_finite_numbers_are_refused": [TakesNothingForZero, TakesInBeforeItRefuses],
    "another_number_of_columns_is_refused": [CutsColumns, ForgetsItsRequestWhenItRefuses],
    "what_is_no_mapping_is_refused": [NumbersTheRows, TakesInBeforeItRefuses],
    "told_arrays_are_not_changed_and_may_be_overwritten_afterwards": [KeepsTheCallersArrays, CentresTheCallersArrays],
    "the_same_samples_give_the_same_requests_and_the_same_answer": [SharesItsState, RollsDice],
    "a_log_of_samples_leads_back_to_where_it_was_written": [SharesItsState, RollsDice],
    "it_stops_and_then_asks_for_nothing_and_takes_nothing": [
        NeverStops,
        AsksForNothing,
        AsksOnAfterItsEnd,
        TakesMoreAfterItsEnd,
    ],
    "labels_are_numbered_by_first_appearance_and_are_k_groups_when_decided": [FindsTooManyGroups, ForgetsAnArm],
    "the_books_add_up": [CountsRounds, RemembersItsLastRound],
    "evidence_is_of_pairs_and_what_is_told_apart_stays_told_apart": [
        TellsOneWay,
        TellsAnArmFromItself,
        TakesBack,
        NamesARoundThatWasNot,
        CountsTwice,
    ],
    "the_least_number_of_groups_never_goes_down_and_fits_the_answer": [LosesAGroup, CertifiesTooManyGroups],
    "a_status_comes_with_the_end_and_only_what_is_decided_is_certified": [
        HasAWordOfItsOwn,
        HasAStatusTooSoon,
        CertifiesAGuess,
    ],
}


@pytest.fixture(autouse=True)
def _nothing_shared() -> Iterator[None]:
    yield
    SharesItsState.tells.clear()


def test_every_test_of_the_contract_has_a_fault_that_it_catches() -> None:
    assert {f"test_{truth}" for truth in FAULTS} == {name for name in dir(StrategyConformance) if "test_" in name}


@pytest.mark.parametrize(("truth", "fault"), [(truth, fault) for truth in FAULTS for fault in FAULTS[truth]])
def test_a_fault_is_caught(truth: str, fault: type[Sound]) -> None:
    class Faulty(StrategyConformance):
        most_samples = 1_000_000 if fault is not NeverStops else 1_000

        def make_strategy(self) -> Strategy:
            return fault()

    with pytest.raises((AssertionError, KabcError)):
        getattr(Faulty(), f"test_{truth}")()
