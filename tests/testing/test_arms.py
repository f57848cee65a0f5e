"""The test of `seek` catches arms with a fault."""

from __future__ import annotations

import numpy as np
import pytest

from kabc.arms.base import Arm
from kabc.arms.pools import PoolArm
from kabc.core.errors import KabcError
from kabc.testing import ArmConformance


class _Pool(PoolArm):
    def __init__(self) -> None:
        super().__init__("x", np.arange(9.0), np.random.default_rng(0))


class Stays(_Pool):
    def seek(self, start: int) -> None:
        pass


class GoesForwardOnly(_Pool):
    def seek(self, start: int) -> None:
        super().seek(max(start, self._used))


class CountsFromWhereItIs(_Pool):
    def seek(self, start: int) -> None:
        super().seek(min(self._used + start, 9))


@pytest.mark.parametrize("fault", [Stays, GoesForwardOnly, CountsFromWhereItIs])
def test_a_seek_with_a_fault_is_caught(fault: type[_Pool]) -> None:
    class Faulty(ArmConformance):
        def make_arm(self) -> Arm:
            return fault()

    with pytest.raises((AssertionError, KabcError)):
        Faulty().test_an_arm_that_can_seek_gives_the_same_samples_in_whatever_order_they_are_asked_for()
