"""One permutation test of each pair: the only batch method that certifies anything."""

from __future__ import annotations

from kabc.core.kernels import Kernel
from kabc.core.settings import whole_number
from kabc.strategies.answers import Status
from kabc.strategies.peers.pair_tests.permutation import PermutationKABC

SAMPLES_PER_ARM = 100  # arbitrary default of batch methods: none of them knows how many it needs


class MMDPermutation(PermutationKABC):
    """One permutation test of each pair on n samples of each arm. Pairs told apart are certified.

    The groups are the connected components of the other pairs. They are certified if there are exactly K of them.

    Parameters
    ----------
    n_arms, n_clusters, delta, kernel : N, K, error probability of all tests together, kernel.
    samples_per_arm : n.
    seed : seed of the relabellings.

    Cost: see `PermutationKABC`, with one round.
    """

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        kernel: Kernel,
        *,
        samples_per_arm: int = SAMPLES_PER_ARM,
        seed: int = 0,
    ) -> None:
        self.n = whole_number("samples_per_arm", samples_per_arm, 2)
        super().__init__(n_arms, n_clusters, delta, kernel, seed=seed)

    def _share(self, number: int) -> float:
        return self.delta

    def _first(self) -> int:
        return self.n

    def _conclusion(self, n_groups: int) -> Status | None:
        return super()._conclusion(n_groups) or "budget"

    def _words(self) -> tuple[str, tuple[str, ...]]:
        return "one permutation test of each pair", (
            f"tests {self.n} samples of each arm once",
            (
                "told apart when none of ceil(1/alpha) - 1 random relabellings of the pair's samples is as far "
                f"apart as they are, alpha = delta / {self.n_pairs} (union over pairs)"
            ),
        )
