"""How many samples SRI and ADC take: calibrated on Gaussian noise, or proven. Symbols: see algorithm.py."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

from kabc.core.settings import positive_number
from kabc.strategies.peers.acb.quantiles import chi_quantile, product_quantile

Calibration = Literal["published", "corrected"]
_ROOM = 4  # factor on the candidates needed to pick an arm of every group


@dataclass(frozen=True, slots=True)
class Search:
    """One call of SRI: the gap that it looks for, how many samples it takes, and when it gives up."""

    delta: float
    gap: float
    stages: tuple[int, ...]
    n_max: int
    most_candidates: float = math.inf
    most_samples: float = math.inf


class Rule(ABC):
    """The rule that sets the numbers of samples."""

    halves: int

    @abstractmethod
    def search(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float, share: float) -> Search:
        """SRI(delta, Delta, theta)."""

    @abstractmethod
    def shares(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float) -> tuple[int, int]:
        """I and J of ADC(delta, Delta)."""

    def classification_budget(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float) -> int:
        """Samples that ADC(delta, Delta) takes."""
        i, j = self.shares(n_arms, n_groups, d, delta, gap)
        return self.halves * ((n_arms - n_groups) * i + n_groups * j)


class Calibrated(Rule):
    """Appendix A: quantiles of Gaussian noise, and means of whole samples (no halves). This is what the authors ran.

    "corrected" repairs two faults. (1) A mean must not be off by more than Delta/2 along the line of two centres. That
    takes 16 b^2 samples, but the paper prints 16 b. With few columns this term decides, and the printed number is wrong
    more often than delta. (2) The printed search only ends when it has K representatives, right or wrong. Here it ends
    after U candidates. Each test is false with probability delta/U instead of delta/K, so all together with delta.
    """

    halves = 1

    def __init__(self, calibration: Calibration) -> None:
        self.published = calibration == "published"

    def search(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float, share: float) -> Search:
        # the factor leaves room for candidates of new groups that are rejected by chance
        most = math.inf if self.published else math.ceil(_ROOM / share * math.log(n_groups / delta))
        tail = delta / (n_groups if self.published else most)
        n_max = _at_least_one(4 * (chi_quantile(tail, d) - d) / gap**2)
        few = share * n_groups / max(math.log(1 / delta), share * n_groups)  # K/U', U' = ln(1/delta)/theta; at most 1
        n_0 = math.ceil(few * n_max)
        r = math.ceil(math.log2(n_max / n_0))  # the last stage has n_max samples or more; with fewer it errs
        return Search(delta, gap, tuple(2**s * n_0 for s in range(r + 1)), n_max, most)

    def shares(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float) -> tuple[int, int]:
        from scipy.stats import norm

        tail = delta / (4 * n_groups * (n_arms - n_groups))
        line = 16 * float(norm.isf(tail)) ** (1 if self.published else 2)
        plane = 4 * math.sqrt(2) * product_quantile(tail, d)
        ratio = math.sqrt(n_groups / n_arms)
        return _at_least_one(max(line, plane * ratio) / gap**2), _at_least_one(max(line, plane / ratio) / gap**2)


class Proven(Rule):
    """The constants of the theorem. It leaves c_HW open. Means come in independent halves."""

    halves = 2

    def __init__(self, hanson_wright: float) -> None:
        self.hanson_wright = c = positive_number("hanson_wright", hanson_wright)
        self.c_1, self.c_2, self.c_3 = max(32.0**2, 8 * c), max(16 * math.sqrt(c / 2), 32 * math.sqrt(2)), 32 * 2**0.5
        self.c_4, self.c_5 = max(64.0, 4 * math.sqrt(2) * c), 8 * math.sqrt(c)
        self.c_6 = max(2048.0, 64 * c, 92 * math.sqrt(c))

    def search(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float, share: float) -> Search:
        most = math.ceil(8 / share * math.log(8 * n_groups / delta))  # U
        r = math.ceil(math.log2(math.log(4 * most / delta)))
        sizes = {
            s: math.ceil(
                max(self.c_1 * (2**s + math.log(12 * n_groups)), self.c_2 * math.sqrt(d * (2**s + math.log(6))))
                / gap**2
            )
            for s in range(1, r + 1)
        }
        n_max = max(sizes[r], math.ceil(self.c_3 * math.sqrt(d * math.log(2 * n_groups)) / gap**2))
        first = min(r, next((s for s, n in sizes.items() if n >= 2), r))  # s_0
        later = {s: n for s, n in sizes.items() if s > first}
        most_samples = (  # T_max
            2 * n_groups * (n_max + sum(later.values()))
            + 2 * most * sizes[first]
            + 2 * most * math.fsum(n / 2 ** (s - 4) for s, n in later.items())
        )
        return Search(delta, gap, (sizes[first], *later.values()), n_max, most, most_samples)

    def shares(self, n_arms: int, n_groups: int, d: int, delta: float, gap: float) -> tuple[int, int]:
        log_term = math.log(6 * n_arms * n_groups / delta)
        i = max(self.c_4 * log_term, self.c_5 * math.sqrt(d * n_groups / n_arms * log_term)) / gap**2
        j = max(self.c_4 * log_term, self.c_5 * math.sqrt(d * n_arms / n_groups * log_term)) / gap**2
        return _at_least_one(i), _at_least_one(j)

    def measure(self, n_groups: int, d: int, delta: float, gap: float) -> int:
        """n'_p: samples of each representative, used to estimate their smallest distance."""
        log_term = math.log(3 * n_groups**2 / delta)
        return math.ceil(self.c_6 * (log_term + math.sqrt(d * log_term)) / gap**2)


def _at_least_one(n: float) -> int:
    return max(1, math.ceil(n))
