"""How each strategy is set up on an instance: its best settings, and which of its assumptions the instance violates.

Strategies that group by means get samples in units of the largest standard deviation of each column, and sigma, the
largest one along any direction after that: what their noise assumption asks for. What they have to know of the truth
(gaps, shares, alphabets) they are told. Kernels are Hamming for alphabets, else Gaussian with the median heuristic on a
pilot, which is counted; batch heuristics have no proof to lose and take it from their own samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kabc.bench.instances import Instance
from kabc.core.errors import KabcError

Options = dict[str, Any]


class UnfitError(KabcError):
    """The strategy cannot be set up on the instance at all."""


@dataclass(frozen=True)
class Contestant:
    """One strategy in a comparison."""

    requires: frozenset[str] = frozenset()  # facts of an instance, see Instance.facts
    options: Callable[[Instance, int], Options] = lambda instance, seed: {}
    by_means: bool = False  # gets standardised samples
    one_round: bool = False  # the harness looks for the smallest number of samples that is enough
    own_kernel: bool = False  # from the samples that it clusters
    most_arms: float = math.inf  # beyond, one round takes longer than all others together

    def violated(self, instance: Instance) -> tuple[str, ...]:
        """Assumptions that do not hold on the instance."""
        return tuple(sorted(self.requires - instance.facts))


def _sigma(instance: Instance, seed: int) -> Options:
    if instance.sigma is None:
        raise UnfitError("there is no standard deviation")
    return {"sigma": instance.sigma}


def _smallest_gap(instance: Instance) -> float:
    if instance.gaps is None or instance.gaps.min() == 0:
        raise UnfitError("means do not differ, and it must be told by how much they do")
    return float(instance.gaps.min())


def _linear(instance: Instance, seed: int) -> Options:
    gap, gaps = _smallest_gap(instance), instance.gaps
    assert gaps is not None
    return _sigma(instance, seed) | {"distance_ratio": gap / float(gaps.max())}


def _acb(instance: Instance, seed: int) -> Options:
    return _dagger(instance, seed) | {"min_gap": _smallest_gap(instance)}


def _dagger(instance: Instance, seed: int) -> Options:
    return _sigma(instance, seed) | {"min_share": instance.min_share, "seed": seed}


def _star(instance: Instance, seed: int) -> Options:
    return _sigma(instance, seed) | {"hanson_wright": 1.0, "seed": seed}  # the smallest that anybody could hope for


def _one_column(instance: Instance, seed: int) -> Options:
    if "one column" not in instance.facts:
        raise UnfitError("samples have several columns")
    return _sigma(instance, seed)


def _two_groups(instance: Instance, seed: int) -> Options:
    if "two groups" not in instance.facts:
        raise UnfitError("there are not two groups")
    return _sigma(instance, seed) | {"seed": seed}


def _alphabet(instance: Instance, seed: int) -> Options:
    if instance.symbols is None:
        raise UnfitError("samples are not of a finite alphabet")
    return {"alphabet": instance.symbols}


def _seed(instance: Instance, seed: int) -> Options:
    return {"seed": seed}


_MEANS = frozenset({"normal", "means differ"})
_BY_KERNEL = Contestant()
_BOC = Contestant(_MEANS, _sigma, by_means=True)
_BATCH = Contestant(options=_seed, one_round=True, own_kernel=True)

CONTESTANTS: dict[str, Contestant] = {
    "anytime": Contestant(),
    "kabc": _BY_KERNEL,
    "kabc-tight": _BY_KERNEL,
    "kabc-witness": _BY_KERNEL,
    "kabc-manole-ramdas": _BY_KERNEL,
    "kabc-bernstein": _BY_KERNEL,
    "kabc-permutation": Contestant(options=_seed),
    "boc": _BOC,
    "boc-heuristic": _BOC,
    "boc-uniform": _BOC,
    "boc-linear": Contestant(_MEANS, _linear, by_means=True),
    "acb": Contestant(_MEANS, _acb, by_means=True),
    "acb-dagger": Contestant(_MEANS, _dagger, by_means=True),
    "acb-star": Contestant(_MEANS, _star, by_means=True),
    "atboc": Contestant(_MEANS, _sigma, by_means=True, most_arms=300),
    "ebc": Contestant(_MEANS, _sigma, by_means=True, most_arms=300),
    "lucbboc": _BOC,
    "boc-elim": Contestant(_MEANS | {"one column"}, _one_column, by_means=True),
    "tas-fw": Contestant(frozenset({"finite alphabet"}), _alphabet),
    "bandit-clustering": Contestant(_MEANS | {"two groups"}, _two_groups, by_means=True),
    "mmd-permutation": Contestant(options=_seed, one_round=True),
    "kernel-kmeans": _BATCH,
    "spectral": _BATCH,
    "mmd-linkage": _BATCH,
    "mmd-farthest": _BATCH,
}
