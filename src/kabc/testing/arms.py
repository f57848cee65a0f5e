"""What every arm must do."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from kabc.arms.base import Arm
from kabc.core.arrays import Array
from kabc.core.errors import KabcError
from kabc.core.samples import as_points


class ArmConformance(ABC):
    """What every arm must do. Subclass it as `TestMyArm` and write `make_arm`. It must return a new arm each time.

    Arms with an end need at least 5 samples.
    """

    @abstractmethod
    def make_arm(self) -> Arm:
        """A new arm, with the same settings each time."""

    def _draw(self, arm: Arm, n: int, seed: int = 0) -> Array:  # (n, d)
        return as_points(arm.draw(n, np.random.default_rng(seed)))

    def test_it_is_an_arm(self) -> None:
        assert isinstance(self.make_arm(), Arm)

    def test_it_gives_exactly_as_many_samples_as_asked_for_all_of_one_width(self) -> None:
        arm = self.make_arm()
        shapes = [self._draw(arm, n).shape for n in (1, 3)]
        assert [rows for rows, _ in shapes] == [1, 3]
        assert shapes[0][1] == shapes[1][1]

    def test_samples_are_finite_numbers(self) -> None:
        assert np.isfinite(self._draw(self.make_arm(), 5)).all()  # as_points accepts only numbers

    def test_what_remains_goes_down_by_what_was_drawn_or_there_is_no_end(self) -> None:
        arm = self.make_arm()
        before = arm.remaining
        self._draw(arm, 3)
        assert arm.remaining == (None if before is None else before - 3)

    def test_the_same_seed_gives_the_same_samples(self) -> None:
        assert np.array_equal(self._draw(self.make_arm(), 5, seed=7), self._draw(self.make_arm(), 5, seed=7))

    def test_the_order_of_an_arm_with_an_end_does_not_depend_on_how_it_is_cut(self) -> None:
        cut, whole = self.make_arm(), self.make_arm()
        if whole.remaining is None:
            return  # an arm without an end has no fixed order
        pieces: list[NDArray[np.float64]] = [self._draw(cut, 3, seed=1), self._draw(cut, 2, seed=2)]
        assert np.array_equal(np.concatenate(pieces), self._draw(whole, 5, seed=3))

    def test_an_arm_that_can_seek_gives_the_same_samples_in_whatever_order_they_are_asked_for(self) -> None:
        in_order, jumping = self.make_arm(), self.make_arm()
        if not hasattr(jumping, "seek"):
            return
        before = jumping.remaining
        pieces = [(0, 1), (1, 3), (4, 1)]  # start, count
        whole = [self._draw(in_order, count, seed=start) for start, count in pieces]
        for place in (2, 0, 1, 1, 2, 0):
            start, count = pieces[place]
            jumping.seek(start)
            assert jumping.remaining == (None if before is None else before - start)
            assert np.array_equal(self._draw(jumping, count, seed=start), whole[place])

    def test_it_never_makes_up_samples_beyond_its_end(self) -> None:
        arm = self.make_arm()
        if arm.remaining is None:
            return
        more = arm.remaining + 1
        try:
            rows = np.asarray(arm.draw(more, np.random.default_rng(0)))
        except KabcError:
            return
        assert len(rows) < more  # the loop refuses an answer with too few samples
