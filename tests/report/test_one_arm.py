"""A report where only one arm was measured."""

from __future__ import annotations

import numpy as np

from kabc.report.arm_map import classical_scaling


def test_one_arm_has_a_place() -> None:
    places, shown = classical_scaling(np.zeros((1, 1)))
    assert places.tolist() == [[0.0, 0.0]]
    assert shown == 1.0
