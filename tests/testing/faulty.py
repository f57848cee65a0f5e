"""A sound strategy, and strategies with one fault each that a test of the contract must catch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc import Partition
from kabc.core.evidence.pairs import Evidence
from kabc.core.kernels import Kernel
from kabc.core.samples import as_points
from kabc.strategies.answers import Guarantee, Round, Status
from kabc.strategies.base import Request, checked_samples


class Sound:
    """Three rounds of two samples of each of four arms, grouped by means above and below 4; faults are added to it.

    Nothing is certified where all means are on one side.
    """

    n_arms, n_clusters, delta = 4, 2, 0.5
    kernel: Kernel | None = None
    last = 3
    cut = 4.0

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
        return ("decided" if self.parted else "stopped") if self.stopped else None

    @property
    def parted(self) -> bool:
        return len(set((self.sums > self.cut * len(self.rounds)).tolist())) > 1

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
        high = self.sums > self.cut * number
        apart = (high[:, None] != high) & (number > 1)
        self.told = np.where(apart & (self.told == 0), number, self.told)

    def recommend(self) -> Partition:
        high = self.sums > self.cut * len(self.rounds)
        return Partition.of(high.tolist(), certified=self.stopped and self.parted)

    def evidence(self) -> Evidence:
        counts = np.full(self.n_arms, 2 * len(self.rounds))
        return Evidence.of_bets(self.told.copy(), counts, np.zeros((4, 4)), np.ones((4, 4)))

    def guarantee(self) -> Guarantee:
        return Guarantee("sound", "none", (), ())


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
    numbers: ClassVar[Iterator[int]] = itertools.count(1)  # dice that never show the same

    def __init__(self) -> None:
        super().__init__()
        self.dice = next(self.numbers)

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


class PartsEqualArms(Sound):
    delta, cut = 0.1, 0.0  # the means of equal arms lie on both sides


class CertifiesWhatIsCloseToo(PartsEqualArms):
    """Tells no pair apart, and certifies all the same."""

    def evidence(self) -> Evidence:
        return Evidence.none(self.n_arms)

    @property
    def n_groups_at_least(self) -> int:
        return 1


class CountsTooManyGroups(CertifiesWhatIsCloseToo):
    @property
    def n_groups_at_least(self) -> int:
        return 3

    def recommend(self) -> Partition:
        return Partition((0, 1, 0, 1))
