"""A gate: is this arm the same as a reference, within a tolerance? Goes on until that is certified, or refuted.

| symbol | here      | meaning                                                                     |
|--------|-----------|-----------------------------------------------------------------------------|
| 0, 1   |           | the reference, and the arm that is checked                                  |
| theta  |           | distance of the mean features of the two                                    |
| eps    | `eps`     | the tolerance, as such a distance                                           |
| z      |           | features of a sample of 1 minus features of a sample of 0, both new         |

With enough samples any two builds differ, so a difference alone ends nothing. It ends as

- same, when theta < eps is certified;
- different, when the two are told apart and theta >= eps is certified. Near the tolerance that takes very many samples:
  so also when they are told apart, equal arms would have been certified by now, and the estimate of theta is clearly
  above eps; after four times as many samples, when it is above.

Errors: `shares.py`. Proofs: docs/theory.md, section 26.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from kabc.core.arrays import Array
from kabc.core.evidence.pairs import Evidence
from kabc.core.evidence.verdicts import DIFFERENT, OPEN, SAME, Verdicts
from kabc.core.kernels import Kernel
from kabc.core.scores.maps import FeatureMap
from kabc.core.settings import positive_number, whole_number
from kabc.core.tolerances import Equivalents, Tolerance, parse
from kabc.strategies.answers import Guarantee
from kabc.strategies.anytime import pace
from kabc.strategies.anytime.batches import Batch
from kabc.strategies.anytime.inference import Inference
from kabc.strategies.anytime.learning import Learning
from kabc.strategies.base import checked_samples, in_blocks
from kabc.strategies.gate import words
from kabc.strategies.gate.base import CLEARLY, PATIENCE, TwoArms
from kabc.strategies.gate.margins import Margins
from kabc.strategies.gate.shares import GateShares
from kabc.strategies.tolerance.reading import by_distance
from kabc.strategies.tolerance.ruler import Ruler, ruler_of

LINGER = 2.5  # times the samples that tell two live arms apart: then a drift that did it has most likely been seen
PILOT, FEWEST = 60, 10  # samples of each arm in the pilot; fewer where there are not as many


class Gate(TwoArms):
    """Arm 1 against arm 0, the reference: the same within a tolerance, or different.

    Parameters are those of `ToleranceKABC`, and `linger`. An arm that drifts is told apart from another one before its
    own samples show the drift. So of live arms "different" is said after `linger` times the samples that told them
    apart.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.strategies.gate import Gate
    >>> gate = Gate(2, None, 0.05, tolerance="0.5 sd")
    >>> rng = np.random.default_rng(0)
    >>> while not gate.stopped:
    ...     gate.tell({arm: rng.normal(0.1 * arm, 1.0, n) for arm, n in gate.ask().items()})
    >>> gate.verdict
    'same'
    """

    one_blas_thread = True

    def __init__(
        self,
        n_arms: int,
        n_clusters: int | None,
        delta: float,
        *,
        tolerance: object,
        columns: Sequence[str] = (),
        kernel: Kernel | None = None,
        maps: Sequence[FeatureMap] | None = None,
        seed: int = 0,
        block: int = 1,
        categories: Sequence[str] = (),
        linger: float = 1.0,
    ) -> None:
        super().__init__(n_arms, n_clusters, delta)
        self.linger = positive_number("linger", linger)
        self._enough = False  # a difference was large for long enough; live arms may linger after that
        self._told_after = 0  # samples (blocks) of each arm when the two were told apart; 0: they were not yet
        self.block = whole_number("block", block, 1)
        self.kernel = kernel
        self.tolerance = tolerance
        self._columns, self._categories = tuple(columns), tuple(categories)
        if self._columns or not isinstance(tolerance, Mapping):
            by_distance(
                parse(tolerance, self._columns or ("value",), categories)
            )  # refuse nonsense before a sample is drawn
        self._seed = whole_number("seed", seed, 0)
        self.shares = GateShares(self.delta)
        learning = Learning(2, maps, self.block)
        self._found = Inference(None, self.shares.different, np.arange(2), learning, check=None, stalling=None)
        self._ruler: Ruler | None = None
        self._units: Equivalents | None = None
        self._margins: Margins | None = None

    def _parsed(self) -> Tolerance:
        return by_distance(parse(self.tolerance, self._columns, self._categories))

    # ------------------------------------------------------------ rounds

    def _first(self) -> tuple[int, int]:
        return PILOT, FEWEST

    def _next(self) -> int:
        return pace.block(int(self._found.learning.counts[0]))

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        found, learning = self._found, self._found.learning
        rows = checked_samples(samples, self._asked, None, learning.columns)
        blocks = in_blocks(rows, self.block)
        lesson = learning.read(Batch.of((0, 1), blocks))
        ruler, units = self._ruler_from(blocks) if self._ruler is None else (self._ruler, self._units)
        reference, this = (ruler.of(one) for one in blocks)
        # Nothing above changed the state; nothing below can fail.
        if self._margins is None:  # the pilot is not tested
            self._ruler, self._units, self._margins = ruler, units, Margins(self.shares, ruler)
        else:
            self._margins.bet(this - reference)
            if learning.scorers:
                found.bet(lesson)
        self._take(rows)
        learning.absorb(lesson)
        found.conclude(len(self._rounds) + 1)
        if self.differ and not self._told_after:
            self._told_after = int(learning.counts[0])
        if self._settled():
            self._status = "decided"
        self._close_round(int(learning.counts.max()), self.n_groups_at_least)
        if not self.stopped:
            found.rescore()

    def _ruler_from(self, pilot: Sequence[Array]) -> tuple[Ruler, Equivalents]:  # two arrays (n, block x d)
        if not self._columns:
            d = pilot[0].shape[1] // self.block
            self._columns = ("value",) if d == 1 else tuple(f"column {i + 1}" for i in range(d))
        return ruler_of(
            pilot,
            self._parsed(),
            self._columns,
            kernel=self.kernel,
            log_inverse_alpha=self.shares.same_limits[0],
            seed=self._seed,
            block=self.block,
            categories=self._categories,
        )

    # ------------------------------------------------------------ what follows

    @property
    def differ(self) -> bool:
        """Whether the two are certified to differ, by however little."""
        told = bool(self._found.wealth.all_apart()[0, 1])
        return told or (self._margins is not None and self._margins.apart() > 0)

    @property
    def verdict(self) -> str:
        """What a gate says if it ends now: "same", "different" or "open"."""
        if self._margins is None:
            return OPEN
        if self._margins.are_same:
            return SAME
        above = self._enough or max(self._margins.apart(), self._margins.estimate) >= self._margins.eps
        return DIFFERENT if above and self.differ else OPEN

    def _settled(self) -> bool:
        """Whether more samples are not worth their price."""
        verdict, margins = self.verdict, self._margins
        if margins is None or verdict != DIFFERENT:
            return verdict == SAME
        assert self._ruler is not None
        waited = margins.n / self._ruler.needed(self.shares.same_limits[0], 1)
        clear = margins.estimate >= margins.eps + CLEARLY * margins.error
        self._enough |= margins.apart() >= margins.eps or waited >= PATIENCE or (waited >= 1 and clear)
        # before that, a drift might have made the difference, and would not show yet
        return self._enough and bool(self._found.learning.counts[0] >= self.linger * self._told_after)

    @property
    def forecast(self) -> Array | None:  # (2,)
        """About how many more samples of each arm certify that they are the same; None if they seem not to be."""
        if self._margins is None or self._ruler is None:
            return None
        eps, n = self._margins.eps, self._margins.n
        seems = self._margins.estimate if self.differ else 0.0
        if seems >= eps:
            return None
        within, left = self._margins.within(), 1 - seems / eps
        total = self._ruler.needed(self.shares.same_limits[0], 1) / left**2  # a bet on sameness is tuned for the end
        if math.isfinite(within):  # what is above the distance shrinks as the root of n grows
            total = min(max(total, (1 + pace.GROWTH) * n), n * ((within - seems) / (eps - seems)) ** 2)
        return np.full(2, max(total - n, 1.0) * self.block)

    # ------------------------------------------------------------ what people see

    def evidence(self) -> Evidence:
        return self._found.wealth.evidence(self._found.learning.counts * self.block, copied=True)

    def verdicts(self) -> Verdicts | None:
        """What is proven; None before the pilot."""
        margins, units = self._margins, self._units
        if margins is None or units is None:
            return None
        square = 1.0 - np.eye(2)
        above, below = np.where(square > 0, margins.within(), 0.0), square * margins.apart()
        return Verdicts(
            tolerance=self._parsed().words,
            unit=units.unit,
            eps=margins.eps,
            equivalents=tuple(one.words for one in units.columns),
            verdicts=np.where(square > 0, self.verdict, SAME),
            same_within=units.in_units(above),
            apart_at_least=units.in_units(below),
            same_distance=above,
            apart_distance=below,
        )

    def guarantee(self) -> Guarantee:
        said = self._parsed().words if self._columns else str(self.tolerance)
        return words.guarantee(self.shares, said, self.block)
