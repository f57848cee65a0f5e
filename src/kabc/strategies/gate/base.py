"""What gates have in common: two arms that are drawn equally often, to the last row that both have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from kabc.core.errors import SettingsError
from kabc.core.evidence.verdicts import DIFFERENT
from kabc.core.kernels import Kernel
from kabc.core.partitions import Partition
from kabc.strategies.base import Request, Stepwise, arms_given

CLEARLY = 2.0  # standard errors of an estimate that is clearly above the tolerance
PATIENCE = 4.0  # times the samples that certify equal arms, until an estimate that is above it is enough


class TwoArms(Stepwise):
    """Arm 0 is the reference, arm 1 is checked."""

    stops_by_itself = True
    n_clusters: int | None = None
    kernel: Kernel | None = None

    def __init__(self, n_arms: int, n_clusters: int | None, delta: float) -> None:
        super().__init__(n_arms, delta)
        if self.n_arms != 2 or n_clusters is not None:
            raise SettingsError(f"a gate has two arms and no number of groups, got {n_arms} arms, K = {n_clusters}")
        self._dry: frozenset[int] = frozenset()
        self._most: int | None = None  # samples of the next round, where a pool is nearly empty

    @property
    @abstractmethod
    def differ(self) -> bool:
        """Whether the two are certified to differ, by however little."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """What a gate says if it ends now: "same", "different" or "open"."""

    @abstractmethod
    def _first(self) -> tuple[int, int]:
        """Samples (blocks) of each arm in the first round: usually, and where there are few rows."""

    @abstractmethod
    def _next(self) -> int:
        """Samples (blocks) of each arm in a later round."""

    @property
    def n_groups_at_least(self) -> int:
        return 2 if self.differ else 1

    def _request(self) -> Request:
        return dict.fromkeys((0, 1), self._wanted())

    def _wanted(self) -> int:
        wanted = self._next() if self._rounds else self._first()[0]
        return wanted if self._most is None else min(wanted, self._most)

    def set_aside(self, arms: Iterable[int]) -> None:
        """Ask for fewer samples, as a pool has not as many. When it is empty, both arms are set aside."""
        if not arms_given(arms, self.n_arms) or self.stopped:
            return
        self._asked = None
        wanted, fewest = self._wanted(), 1 if self._rounds else self._first()[1]
        if wanted <= fewest:
            self._dry = frozenset((0, 1))
        else:  # a small first round leaves samples for the next
            self._most = max(fewest, wanted // (2 if self._rounds else 4))

    @property
    def arms_set_aside(self) -> frozenset[int]:
        """Both, when one of them is empty: there is nothing to compare with a single arm."""
        return self._dry

    def recommend(self) -> Partition:
        decided = self._status == "decided"
        return Partition.of([0, int(self.verdict == DIFFERENT if decided else self.differ)], certified=decided)
