"""Arms that are functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import isfunction

import numpy as np
from numpy.typing import ArrayLike

Paired = Callable[[int, np.random.Generator, np.random.Generator], ArrayLike]


@dataclass(frozen=True)
class CallableArm:
    """A function draw(n, rng) that returns n independent samples, (n,) or (n, d)."""

    function: Callable[[int, np.random.Generator], ArrayLike]

    @property
    def remaining(self) -> None:
        return None

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        try:
            return self.function(n, rng)
        except TypeError as error:
            inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            if inside or not isfunction(self.function):
                raise
            raise TypeError(f"{error}; write lambda n, rng: ..., or def draw(n, rng)") from error


@dataclass(frozen=True)
class PairedArm:
    """A function draw(n, rng, shared) whose k-th sample shares its input with the k-th samples of the other arms.

    The input of sample k comes from `shared` alone, a generator that gives the same to all arms of a round. All other
    randomness comes from `rng`. Inputs must be drawn at random, each anew: then samples of an arm are independent.

    Examples
    --------
    Three builds, measured on the same random inputs:

    >>> import kabc
    >>> from kabc.arms.callables import PairedArm
    >>> def build(slower):
    ...     def draw(n, rng, shared):
    ...         size = shared.lognormal(0.0, 2.0, n)  # of the inputs: they differ far more than the builds
    ...         return size + slower + rng.normal(0.0, 0.1, n)
    ...     return PairedArm(draw)
    >>> arms = {"old": build(0.0), "new": build(0.2), "fixed": build(0.0)}
    >>> kabc.cluster(arms, n_clusters=2, seed=0).groups
    (('old', 'fixed'), ('new',))
    """

    function: Paired
    paired = True

    @property
    def remaining(self) -> None:
        return None

    def draw(self, n: int, rng: np.random.Generator, shared: np.random.Generator | None = None) -> ArrayLike:
        return self.function(n, rng, rng.spawn(1)[0] if shared is None else shared)
