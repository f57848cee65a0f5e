"""TaS-FW, reconstructed: Track-and-Stop by Frank-Wolfe for arms with a finite alphabet.

Yavas, Huang, Tan, Scarlett, A General Framework for Clustering and Distribution Matching with Bandit Feedback, IEEE
Trans. Inf. Theory 71(3), 2025. Its thresholds and step sizes were not available. The stopping rules are our own, with
proofs in docs/theory.md, section 16.6. The steps are those of FWS (Wang, Tzeng, Proutiere, NeurIPS 2021).

| symbol      | here             | meaning                                                                         |
|-------------|------------------|---------------------------------------------------------------------------------|
| N, K, m     |                  | arms, groups, symbols of the alphabet                                           |
| t, n_i      | `counts`  (N, m) | samples so far; how often arm i gave each symbol                                |
| n_g         |                  | the sum of n_i over a set g of arms                                             |
| ML(n)       | `log_likelihood` | largest probability of samples with counts n, over all pmfs                     |
| KT(n)       | `log_mixture`    | their probability, averaged over pmfs (Krichevsky and Trofimov)                 |
| C           | `labels`         | estimate: partition of the class with the largest product of ML(n_g)            |
| P_i         | `pmfs`    (N, m) | pooled pmf of the group of arm i in C                                           |
| w, x        | `shares`  (N,)   | proportions of samples, and those that are tracked                              |
| F(w, C')    | `Game.costs`     | generalised Jensen-Shannon cost: sum over i of w_i KL(P_i, mean of its C' group)|
| f(w)        |                  | min of F(w, C') over C' other than C: what the best proportions make largest    |
| E_C', E_ij  |                  | evidence against the partition C', against "arms i and j are the same"          |

Q_i predicts each sample of arm i before it is seen: half by what arm i gave so far, half by its estimated group. For a
pair E_ij = Q_i Q_j / ML(n_i + n_j). For arm i against the rest h of a set E_ih = Q_i KT(n_h) / ML(n_i + n_h). If all
these arms are the same, both are at most a ratio of two probabilities of the samples, with the true probability as the
denominator. So Ville's inequality holds. A class with few partitions is judged as a whole: E_C' is the mean of both
over all arms and pairs that C' joins. Only one C' is true, so their number costs nothing. A large class is judged by
pairs, with the threshold N(N - 1)/2 / delta.

classes.py has the classes of partitions, likelihoods.py Q, ML and KT, frank_wolfe.py the proportions, judges.py the
evidence and the stopping rules, search.py the estimate in a large class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array
from kabc.core.errors import SampleError, SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.samples import as_points, describe
from kabc.core.settings import whole_number
from kabc.core.words import counted, plural
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples
from kabc.strategies.guesses import agreeing
from kabc.strategies.peers.tas_fw.classes import Task, checked_task, class_size
from kabc.strategies.peers.tas_fw.frank_wolfe import frank_wolfe_step
from kabc.strategies.peers.tas_fw.judges import AllPairs, WholeClass
from kabc.strategies.peers.tas_fw.likelihoods import pooled_pmfs
from kabc.strategies.wording import exactly, wrong_at_most

Sampling = Literal["frank-wolfe", "uniform"]
_MOST_GROUPS = 40_000  # partitions times K, up to which a class is judged whole: 1 to 10 milliseconds a round
_MOST_ODD = 100  # arms of the task 'odd-arm' up to which the class is judged whole: memory is N^3


class TaSFW(Stepwise):
    """Track-and-Stop by Frank-Wolfe, reconstructed: groups arms with a finite alphabet, wrong with at most delta.

    After the first round every sample comes from the arm that is furthest behind the tracked proportions. Before each
    sample, one step of Frank-Wolfe improves these proportions. A symbol is a row of a sample. The order of numbers has
    no meaning.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    task : the class of partitions that contains the true one. "clustering": all partitions into K groups. "odd-arm":
        one arm differs and all others are the same (K = 2, N >= 3). "matching-pairs": N - K pairs of equal arms, and no
        other two arms are the same. So groups have one or two arms.
    alphabet : m, the number of possible different samples; or all of them, one row each. An upper bound is also valid
        and costs little.
    first : samples of each arm in the first round.
    batch : samples in every later round, of all arms together; more than 1 saves time, not samples.
    sampling : "frank-wolfe", or "uniform": the arm with the fewest samples is next.

    A class of up to 40,000 / K partitions is judged as a whole, in one to ten milliseconds per round. A larger one is
    judged by pairs: O(N^2 K m) per round, and O(N^3 m) whenever samples have grown by 5 %. Memory is O(N (N + m)), plus
    that of the class.
    """

    kernel = None
    one_blas_thread = True

    def __init__(
        self,
        n_arms: int,
        n_clusters: int,
        delta: float,
        *,
        task: Task = "clustering",
        alphabet: int | Sequence[Any] | NDArray[Any] | None = None,
        first: int = 1,
        batch: int = 1,
        sampling: Sampling = "frank-wolfe",
    ) -> None:
        super().__init__(n_arms, delta)
        self.n_clusters = whole_number("n_clusters", n_clusters, 1, self.n_arms)
        self.task = checked_task(task, self.n_arms, self.n_clusters)
        if sampling not in get_args(Sampling):
            raise SettingsError(f"sampling must be 'frank-wolfe' or 'uniform', got {sampling!r}")
        self.sampling = sampling
        self.batch = whole_number("batch", batch, 1)
        self._symbols = _symbols(alphabet)
        self.n_symbols = len(self._symbols) or whole_number("alphabet", alphabet, 2)
        n_partitions = class_size(self.task, self.n_arms, self.n_clusters)
        few = n_partitions * self.n_clusters <= _MOST_GROUPS
        self.judged_whole = few and (self.task != "odd-arm" or self.n_arms <= _MOST_ODD)
        judge = WholeClass if self.judged_whole else AllPairs
        self.judge: WholeClass | AllPairs = judge(self.task, self.n_arms, self.n_clusters, self.delta)
        # --- state: what the next step needs, and what users can read
        self._next = all_arms(self.n_arms, whole_number("first", first, 1))
        self._counts = np.zeros((self.n_arms, self.n_symbols), dtype=np.int64)
        self._shares = np.full(self.n_arms, 1 / self.n_arms)
        self._status = "decided" if n_partitions == 1 else None  # nothing to find out

    # ------------------------------------------------------------ what to draw

    @property
    def n_groups_at_least(self) -> int:
        return self.n_clusters if self._status == "decided" else self.judge.n_groups_at_least

    def _request(self) -> Request:
        return self._next

    def _plan(self) -> Request:
        """The next samples. For each: one step of Frank-Wolfe, then the arm furthest behind."""
        held = self._counts.sum(axis=1).astype(np.float64)
        planned = np.zeros(self.n_arms, dtype=np.int64)
        if self.sampling == "frank-wolfe":
            game = self.judge.game(pooled_pmfs(self._counts, self.judge.labels))
        for t in range(self._n_samples + 1, self._n_samples + self.batch + 1):
            if self.sampling == "frank-wolfe":
                self._shares = frank_wolfe_step(game, self._shares, t)
            arm = int((held / self._shares).argmin())  # C-tracking: x is the average of all z
            held[arm] += 1
            planned[arm] += 1
        return {arm: int(planned[arm]) for arm in np.flatnonzero(planned).tolist()}

    # ------------------------------------------------------------ what was drawn

    def tell(self, samples: Mapping[int, ArrayLike]) -> None:
        columns = len(next(iter(self._symbols))) if self._symbols else None
        rows = checked_samples(samples, self._asked, None, columns)
        assert self._asked is not None
        known = dict(self._symbols)
        codes = [self._coded(arm, points, known) for arm, points in zip(self._asked, rows, strict=True)]
        # Nothing above changed the state; nothing below can fail.
        self._symbols = known
        arms = np.array(list(self._asked), dtype=np.intp)
        self._take(rows)
        for arm, symbols in zip(arms.tolist(), codes, strict=True):
            for symbol in symbols:
                self.judge.predictions.predict(arm, symbol, self._counts)
                self._counts[arm, symbol] += 1
        self.judge.absorb(self._counts, arms, len(self._rounds) + 1)
        if self.judge.contradicted:
            self._status = "contradicted"
        elif self.judge.left is not None and not self.judge.doubted:
            self._status = "decided"
        self._close_round(int(self._counts.sum(axis=1).max()), self.n_groups_at_least)
        if not self.stopped:
            self._next = self._plan()

    def _coded(self, arm: int, points: Array, known: dict[tuple[float, ...], int]) -> list[int]:  # (n, d) -> n
        """Numbers of the symbols. New symbols are added to the known ones."""
        complete = len(self._symbols) == self.n_symbols
        codes = []
        for row in map(tuple, points.tolist()):
            if row not in known and len(known) == self.n_symbols:
                raise SampleError(
                    f"{describe(row)} is "
                    + ("not in the alphabet" if complete else "one symbol more than the alphabet allows")
                    + f" of {self.n_symbols}; declare all samples that are possible, with alphabet="
                ).of_arm(arm)
            codes.append(known.setdefault(row, len(known)))
        return codes

    # ------------------------------------------------------------ what users see

    def recommend(self) -> Partition:
        left = self.judge.left
        decided = self._status == "decided"
        if decided and left is not None:
            return Partition.of(left.tolist(), certified=True)
        guess = Partition.of(self.judge.labels.tolist())
        return agreeing(guess, self.evidence(), self.n_groups_at_least, self.n_clusters)

    def evidence(self) -> Evidence:
        if not self._rounds:
            return Evidence.none(self.n_arms)
        told, held = self.judge.told_in_round, self._counts.sum(axis=1)
        limits = np.full(told.shape, self.judge.log_threshold)
        return Evidence.of_bets(told, held, np.maximum(self.judge.log_evidence(), 0.0), limits)

    def guarantee(self) -> Guarantee:
        return Guarantee(
            strategy=f"TaS-FW (a reconstruction), delta = {self.delta:g}, K = {self.n_clusters}, {self.task}",
            claim=wrong_at_most(self.delta, self._class_in_words(), self._status == "decided"),
            assumptions=(
                f"samples take at most {self.n_symbols} different values",
                "samples of an arm are independent and identically distributed, and independent of other arms",
                self._class_in_words(),
            ),
            rule=(
                "reconstructed from the abstract: the stopping rule is not the authors'; it is proven here",
                f"the first round draws each arm, every later one {counted(self.batch, 'sample')} in all",
                (
                    "the arm furthest behind the proportions of Frank-Wolfe is next"
                    if self.sampling == "frank-wolfe"
                    else "the arm with the fewest samples is next"
                ),
                "Q_i predicts each sample of arm i before it is seen: half by the arm's past, half by its group's",
                *self.judge.rule,
            ),
        )

    def _class_in_words(self) -> str:
        if self.task == "odd-arm":
            return "one arm differs from all others and these are the same"
        if self.task == "matching-pairs":
            pairs = self.n_arms - self.n_clusters
            return f"{counted(pairs, 'pair')} of arms {plural(pairs, 'is')} the same and no other two arms are"
        return exactly(self.n_clusters)


def _symbols(alphabet: object) -> dict[tuple[float, ...], int]:
    """Declared symbols with their numbers. Empty if the user declared only how many there are."""
    if alphabet is None:
        raise SettingsError(
            "alphabet is needed: how many different samples are possible, or all of them, e.g. alphabet=2 or "
            "alphabet=[0, 1]; bin continuous samples first, or use 'anytime', which needs no alphabet"
        )
    if not isinstance(alphabet, (Sequence, np.ndarray)) or isinstance(alphabet, str):
        return {}
    rows = list(map(tuple, as_points(np.asarray(alphabet)).tolist()))
    symbols = {row: number for number, row in enumerate(rows)}
    if len(symbols) < max(2, len(rows)):
        raise SettingsError(
            f"alphabet must hold at least two symbols, each once, got {describe(alphabet)}; "
            "one row, or one number, is one symbol"
        )
    return symbols
