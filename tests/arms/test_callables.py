"""Functions as arms: they have no end."""

from __future__ import annotations

import numpy as np

from kabc.arms.base import Arm
from kabc.arms.callables import CallableArm, PairedArm
from kabc.testing import ArmConformance


class TestCallableArm(ArmConformance):
    def make_arm(self) -> Arm:
        return CallableArm(lambda n, rng: rng.normal(size=(n, 2)))


class TestPairedArm(ArmConformance):
    def make_arm(self) -> Arm:
        return PairedArm(lambda n, rng, shared: rng.normal(size=(n, 2)) + shared.normal(size=(n, 1)))


def test_a_function_has_no_end_and_gets_the_count_and_the_generator() -> None:
    seen: list[object] = []

    def draw(n: int, rng: np.random.Generator) -> list[float]:
        seen.extend([n, rng])
        return [1.0] * n

    arm, rng = CallableArm(draw), np.random.default_rng(0)
    assert arm.remaining is None
    assert arm.draw(4, rng) == [1.0] * 4
    assert seen == [4, rng]
