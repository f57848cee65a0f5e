"""TaS-FW, reconstructed: Track-and-Stop by Frank-Wolfe for arms with a finite alphabet.

Yavas, Huang, Tan, Scarlett, A General Framework for Clustering and Distribution Matching with Bandit Feedback, IEEE
Trans. Inf. Theory 71(3), 2025. Its thresholds and step sizes were not at hand: the stopping rules are ours, with proofs
in docs/theory.md; steps are those of FWS (Wang, Tzeng, Proutiere, NeurIPS 2021), Frank-Wolfe for the same purpose.

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
| F(w, C')    | `_Game.costs`    | generalised Jensen-Shannon cost: sum over i of w_i KL(P_i, mean of its C' group)|
| f(w)        |                  | min of F(w, C') over C' other than C: what the best proportions make largest    |
| E_C', E_ij  |                  | evidence against the partition C', against "arms i and j are the same"          |

Q_i predicts each sample of arm i before it is seen: half by what arm i gave so far, half by its estimated group. For a
pair E_ij = Q_i Q_j / ML(n_i + n_j), and for arm i against the rest h of a set E_ih = Q_i KT(n_h) / ML(n_i + n_h): both
are at most a ratio of a probability to that under the truth if all these arms are the same, so Ville's inequality
holds. A class with few partitions is judged whole: E_C' is the mean of both over all arms and pairs that C' joins, and
the truth is one C', so nothing is paid for their number. A large class is judged by pairs, at N(N - 1)/2 over delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.arrays import Array, Counts, Index
from kabc.core.errors import SampleError, SettingsError
from kabc.core.evidence.pairs import Evidence
from kabc.core.partitions import Partition
from kabc.core.partitions.forced import Forced, forced_partition
from kabc.core.samples import as_points, describe
from kabc.core.settings import whole_number
from kabc.strategies.answers import Guarantee
from kabc.strategies.base import Request, Stepwise, all_arms, checked_samples

Task = Literal["clustering", "odd-arm", "matching-pairs"]
Sampling = Literal["frank-wolfe", "uniform"]

_MOST_GROUPS = 40_000  # partitions times K, up to which a class is judged whole: 1 to 10 milliseconds a round
_COUNTLESS = 10**12
_MOST_ODD = 100  # arms, of which one is odd, up to which it is judged whole: memory is N^3
_PLAYS = 32  # of fictitious play, where several alternatives are nearest
_ENOUGH = 50.0  # log evidence beyond the threshold, where it is capped
_AGAIN = 1.05  # a large class is searched for a new estimate when samples have grown by this


# ---------------------------------------------------------------- likelihoods


def log_likelihood(counts: NDArray[Any]) -> Array:  # (..., m) -> (...)
    """ln ML(n): sum of n_x ln(n_x / n), the log probability of the samples under their own pmf."""
    out: Array = _x_log_x(counts).sum(axis=-1) - _x_log_x(counts.sum(axis=-1))
    return out


def log_mixture(counts: NDArray[Any]) -> Array:  # (..., m) -> (...)
    """ln KT(n), the log probability of the samples in any fixed order, averaged over pmfs by Dirichlet(1/2, ...)."""
    from scipy.special import gammaln

    m = counts.shape[-1]
    symbols = (gammaln(counts + 0.5) - math.lgamma(0.5)).sum(axis=-1)
    out: Array = math.lgamma(m / 2) - gammaln(counts.sum(axis=-1) + m / 2) + symbols
    return out


def _x_log_x(x: NDArray[Any]) -> Array:
    positive = x > 0
    out: Array = np.where(positive, x * np.log(np.where(positive, x, 1)), 0.0)
    return out


# ---------------------------------------------------------------- classes of partitions


def class_size(task: Task, n_arms: int, n_groups: int) -> int:
    """How many partitions the task chooses from."""
    if task == "odd-arm":
        return n_arms
    if task == "clustering":
        return _stirling(n_arms, n_groups)
    pairs = n_arms - n_groups
    return math.comb(n_arms, 2 * pairs) * math.prod(range(1, 2 * pairs, 2))


def _stirling(n: int, k: int) -> int:
    """Partitions of n arms into k groups; no matter how many, beyond what is countless."""
    row = [1] + [0] * k
    for _ in range(n):
        row = [0] + [min(j * row[j] + row[j - 1], _COUNTLESS) for j in range(1, k + 1)]
    return row[k]


def partitions_of(task: Task, n_arms: int, n_groups: int) -> Index:  # -> (P, N)
    """All partitions of the class, as labels numbered by first appearance."""
    if task == "odd-arm":
        return np.array([Partition.of(row).labels for row in np.eye(n_arms, dtype=np.intp).tolist()], dtype=np.intp)
    if class_size(task, n_arms, n_groups) == 1:
        return _first_of(task, n_arms, n_groups)[None]
    largest = n_arms if task == "clustering" else 2
    return np.array(list(_growing([], [], n_arms, n_groups, largest)), dtype=np.intp)


def _growing(labels: list[int], sizes: list[int], n_arms: int, n_groups: int, largest: int) -> Iterator[list[int]]:
    """Labels of the arms so far, continued in every way that ends with n_groups groups, none above the largest."""
    left = n_arms - len(labels)
    room = sum(largest - size for size in sizes) + largest * (n_groups - len(sizes))
    if n_groups - len(sizes) > left or left > room:
        return
    if not left:
        yield labels
        return
    for group in range(min(len(sizes) + 1, n_groups)):
        grown = sizes + [0] * (group == len(sizes))
        if grown[group] < largest:
            grown[group] += 1
            yield from _growing([*labels, group], grown, n_arms, n_groups, largest)


# ---------------------------------------------------------------- proportions: Frank-Wolfe on f


@dataclass(frozen=True)
class _Game:
    """Alternatives to the estimate, each as the sets of arms that it joins; what it leaves apart costs nothing."""

    sets: Array  # (G, N), 0 or 1; the last one is empty where some alternatives join fewer sets than others
    alternatives: Index  # (A, k) numbers of sets
    pmfs: Array  # (N, m)

    def costs(self, shares: Array) -> Array:  # (N,) -> (A,)
        """F(w, C') = sum over groups of W_g H(mean pmf) - sum over i of w_i H(P_i)."""
        weighted = shares[:, None] * self.pmfs
        arms = _x_log_x(weighted).sum(axis=1) - _x_log_x(weighted.sum(axis=1))  # -w_i H(P_i)
        joined = -log_likelihood(self.sets @ weighted) + self.sets @ arms  # (G,)
        costs: Array = np.maximum(joined, 0.0)[self.alternatives].sum(axis=1)
        return costs

    def slopes(self, shares: Array, chosen: Index) -> Array:  # (N,), (J,) -> (J, N)
        """dF/dw_i = KL(P_i, mean pmf of its group in C'), by the envelope theorem."""
        slopes = np.zeros((len(chosen), len(shares)))
        entropies = _x_log_x(self.pmfs).sum(axis=1)  # -H(P_i)
        for group in self.alternatives[chosen].T:
            members = self.sets[group]  # (J, N)
            mean = (members * shares) @ self.pmfs
            mean /= np.maximum(mean.sum(axis=1, keepdims=True), 1e-300)
            log_mean = np.log(np.where(mean > 0, mean, 1.0))
            slopes += members * np.maximum(entropies - log_mean @ self.pmfs.T, 0.0)
        return slopes

    def direction(self, shares: Array, radius: float) -> Array:  # (N,) -> (N,)
        """z: where f rises fastest, as seen by all alternatives within the radius of the nearest one."""
        costs = self.costs(shares)
        near = np.flatnonzero(costs <= costs.min() + radius)
        slopes = self.slopes(shares, near)
        if slopes.max() <= 0:  # the estimate knows of no difference yet
            return np.full(len(shares), 1 / len(shares))
        return _fictitious_play(slopes - costs[near, None])


def _fictitious_play(payoff: Array) -> Array:  # (J, N) -> (N,)
    """Mixture of columns with about the largest smallest payoff: both sides answer what the other has played so far."""
    plays = 1 if len(payoff) == 1 else _PLAYS
    mixture, against, won = np.zeros(payoff.shape[1]), payoff.mean(axis=0), np.zeros(len(payoff))
    for _ in range(plays):
        column = int(against.argmax())
        mixture[column] += 1 / plays
        won += payoff[:, column]
        against = against + payoff[won.argmin()]
    return mixture


def frank_wolfe_step(game: _Game, shares: Array, t: int) -> Array:  # (N,) -> (N,)
    """x(t) = x(t-1) (t-1)/t + z/t; z is uniform where floor(t/N) is a perfect square."""
    n_arms = len(shares)
    block = t // n_arms
    if math.isqrt(block) ** 2 == block:
        step = np.full(n_arms, 1 / n_arms)
    else:
        step = game.direction(shares, t**-0.9 / n_arms)  # r_t
    mixed: Array = shares * ((t - 1) / t) + step / t
    return mixed


def _one_arm_moves(labels: Index) -> tuple[Array, Index]:  # (N,) -> (G, N), (G, 1)
    """Each arm joined with each foreign group from which a partition into K groups is left (as in BOC)."""
    members = (labels == np.arange(labels.max() + 1)[:, None]).astype(np.float64)  # (K, N)
    single = members.sum(axis=1) == 1
    arms, groups = np.nonzero((members.T == 0) & (~single[labels, None] | single))
    sets = members[groups]
    sets[np.arange(len(arms)), arms] = 1.0
    return sets, np.arange(len(arms))[:, None]


def _other_odd_arms(labels: Index) -> tuple[Array, Index]:  # (N,) -> (N - 1, N), (N - 1, 1)
    """Another arm alone, the odd one joined with the others."""
    alone = np.flatnonzero(labels == np.bincount(labels).argmax())  # all arms but the odd one
    return 1.0 - np.eye(len(labels))[alone], np.arange(len(alone))[:, None]


def _other_pairs(labels: Index) -> tuple[Array, Index]:  # (N,) -> (G, N), (A, 2)
    """A single arm paired with any arm, for which one pair is given up; or two pairs that exchange partners."""
    n_arms = len(labels)
    pairs = [g for g in Partition.of(labels.tolist()).groups if len(g) == 2]
    paired = {arm for pair in pairs for arm in pair}
    joins = [(i, j) for i in range(n_arms) for j in range(i) if i not in paired or j not in paired]
    alternatives = [(k, -1) for k in range(len(joins))]
    for number, (a, b) in enumerate(pairs):
        for c, d in pairs[:number]:
            for swap in (((a, c), (b, d)), ((a, d), (b, c))):
                alternatives.append((len(joins), len(joins) + 1))
                joins += swap
    sets = np.zeros((len(joins) + 1, n_arms))
    for k, pair in enumerate(joins):
        sets[k, list(pair)] = 1.0
    return sets, np.array(alternatives, dtype=np.intp)


_NEAREST: dict[Task, Callable[[Index], tuple[Array, Index]]] = {  # with pooled pmfs no other one is cheaper
    "clustering": _one_arm_moves,
    "odd-arm": _other_odd_arms,
    "matching-pairs": _other_pairs,
}


# ---------------------------------------------------------------- predictions: Q_i


class _Predictions:
    """ln Q_i of all arms: probabilities given to samples before they were seen, so any estimate may be used."""

    def __init__(self, n_arms: int) -> None:
        self._ways = np.zeros((n_arms, 2))  # by the arm's own samples, by those of its estimated group
        self.labels = np.arange(n_arms)  # before there is an estimate every arm is on its own

    def predict(self, arm: int, symbol: int, counts: Counts) -> None:  # (N, m)
        """Multiply Q_i by the probability of the symbol, before it is counted."""
        own, group = counts[arm], counts[self.labels == self.labels[arm]].sum(axis=0)
        for way, seen in enumerate((own, group)):
            self._ways[arm, way] += math.log((seen[symbol] + 0.5) / (seen.sum() + counts.shape[1] / 2))

    def log_q(self) -> Array:  # (N,)
        out: Array = np.logaddexp(*self._ways.T) - math.log(2)
        return out


def log_pairs(counts: Counts, log_q: Array, arms: Index) -> Array:  # (N, m), (N,), (A,) -> (A, N)
    """ln E_ij of these arms with all others."""
    found = log_q[arms, None] + log_q - log_likelihood(counts[arms, None] + counts)
    found[np.arange(len(arms)), arms] = -math.inf
    return found


# ---------------------------------------------------------------- small classes: every partition is judged


class _WholeClass:
    """Evidence against every partition of the class; the truth is one of them, so nothing is paid for their number."""

    rule = (
        "evidence against a pair being the same: Q_i Q_j / ML(n_i + n_j), ML the largest likelihood of pooled samples",
        "against arm i being the same as all of h: Q_i KT(n_h) / ML(n_i + n_h), KT the Krichevsky-Trofimov mixture",
        "against a partition: the mean of these over all pairs, and over all arms against the rest of their group",
        "a partition is ruled out when this reaches 1/delta; stops when one of the class is left",
        "and evidence against that one is at most 1, or when none is left",
    )

    def __init__(self, task: Task, n_arms: int, n_groups: int, delta: float) -> None:
        self._partitions = partitions_of(task, n_arms, n_groups)  # (P, N)
        self._contradicted_at = n_groups + 1 if task == "clustering" else 2
        self.log_threshold = -math.log(delta)
        self._sets, self._groups = _distinct_groups(self._partitions, n_groups)  # (G, N), (P, K)
        self._rests, self._rest_of, self._arm_of, self._set_of = _rests(self._sets)
        sizes = self._sets.sum(axis=1)[self._groups]  # (P, K)
        self._n_joined = np.where(sizes > 1, sizes, 0).sum(axis=1)
        self._n_pairs = (sizes * (sizes - 1) / 2).sum(axis=1)
        self._now = np.zeros(len(self._partitions))  # ln E_C'
        self._best = np.zeros(len(self._partitions))  # its running maximum
        self._told_in_round = np.zeros((n_arms, n_arms), dtype=np.int64)
        self._pairs = np.full((n_arms, n_arms), -math.inf)
        self.predictions = _Predictions(n_arms)
        self.labels = self._partitions[0]

    def absorb(self, counts: Counts, arms: Index, number: int) -> None:  # (N, m)
        """Judge the class anew."""
        likelihoods = log_likelihood(self._sets @ counts)  # (G,)
        self.labels = self.predictions.labels = self._partitions[likelihoods[self._groups].sum(axis=1).argmax()]
        before = np.count_nonzero(self._best >= self.log_threshold)
        self._now = self._log_evidence_now(counts, arms, likelihoods)
        self._best = np.maximum(self._best, self._now)
        if np.count_nonzero(self._best >= self.log_threshold) > before:
            new = (self.log_evidence() >= self.log_threshold) & (self._told_in_round == 0)
            self._told_in_round[new] = number

    def _log_evidence_now(self, counts: Counts, arms: Index, likelihoods: Array) -> Array:  # -> (P,)
        """ln E_C' = ln of (mean of E_ih + mean of E_ij) / 2, over all that C' joins."""
        log_q = self.predictions.log_q()
        self._pairs[arms] = log_pairs(counts, log_q, arms)
        self._pairs[:, arms] = self._pairs[arms].T
        rests = log_mixture(self._rests @ counts)[self._rest_of] + log_q[self._arm_of] - likelihoods[self._set_of]
        # Evidence is capped far above what is needed: sums are then safe, and less evidence is valid too.
        cap = self.log_threshold + _ENOUGH
        joins = np.bincount(self._set_of, np.exp(np.minimum(rests, cap) - cap), len(self._sets))  # (G,)
        pairs = ((self._sets @ np.exp(np.minimum(self._pairs, cap) - cap)) * self._sets).sum(axis=1) / 2  # (G,)
        mean = joins[self._groups].sum(axis=1) / self._n_joined + pairs[self._groups].sum(axis=1) / self._n_pairs
        return np.asarray(cap + np.log(np.maximum(mean / 2, 1e-300)))

    def game(self, pmfs: Array) -> _Game:  # (N, m)
        """All other partitions."""
        others = (self._partitions != self.labels).any(axis=1)
        return _Game(self._sets, self._groups[others], pmfs)

    @property
    def left(self) -> Index | None:  # (N,)
        """The only partition that is not ruled out."""
        open_ones = np.flatnonzero(self._best < self.log_threshold)
        return self._partitions[open_ones[0]] if len(open_ones) == 1 else None

    @property
    def doubted(self) -> bool:
        """Whether samples speak even against the best partition that is left: then the class may be wrong."""
        return bool(self._now[self._best < self.log_threshold].min(initial=math.inf) > 0)

    @property
    def contradicted(self) -> bool:
        return bool((self._best >= self.log_threshold).all())

    @property
    def n_groups_at_least(self) -> int:
        """If the class is ruled out, so is every partition that is coarser than one of it."""
        return self._contradicted_at if self.contradicted else 1

    @property
    def told_in_round(self) -> Counts:  # (N, N)
        """Pairs that no partition left in the class joins; nothing, if no partition is left."""
        return np.zeros_like(self._told_in_round) if self.contradicted else self._told_in_round.copy()

    def log_evidence(self) -> Array:  # (N, N)
        """Smallest evidence against the partitions that join a pair."""
        n_arms = self._partitions.shape[1]
        out = np.zeros((n_arms, n_arms))
        for i in range(n_arms):
            joined = self._partitions == self._partitions[:, i : i + 1]  # (P, N)
            out[i] = np.where(joined, self._best[:, None], np.inf).min(axis=0)
        out[np.arange(n_arms), np.arange(n_arms)] = -math.inf
        return out


def _distinct_groups(partitions: Index, n_groups: int) -> tuple[Array, Index]:  # (P, N) -> (G, N), (P, K)
    """Every set of arms that is a group of some partition, once; and which of them each partition consists of."""
    members = partitions[:, None, :] == np.arange(n_groups)[None, :, None]  # (P, K, N)
    sets, which = _distinct(members.reshape(-1, members.shape[2]))
    return sets, which.reshape(len(partitions), n_groups)


def _rests(sets: Array) -> tuple[Array, Index, Index, Index]:  # (G, N) -> (R, N), (S,), (S,), (S,)
    """Every set of two arms or more without one of its arms: distinct rests, and the rest, arm and set of each."""
    which, arms = np.nonzero((sets > 0) & (sets.sum(axis=1) > 1)[:, None])
    without = sets[which] > 0
    without[np.arange(len(arms)), arms] = False
    return *_distinct(without), arms, which


def _distinct(sets: NDArray[np.bool_]) -> tuple[Array, Index]:  # (S, N) -> (G, N), (S,)
    """Every set once, and which of them each one is."""
    _, first, inverse = np.unique(np.packbits(sets, axis=1), axis=0, return_index=True, return_inverse=True)
    return sets[first].astype(np.float64), inverse.reshape(-1).astype(np.intp)


# ---------------------------------------------------------------- large classes: every pair is judged


class _AllPairs:
    """Evidence against every pair; a partition is out when it joins a pair that was told apart."""

    rule = (
        "evidence against a pair: Q_i Q_j / ML(n_i + n_j), ML the largest likelihood of the pooled samples",
        "a pair is told apart when this reaches N(N - 1)/2 / delta; stops when one partition of the class is left",
        "and mean evidence against its pairs is at most 1, or when none is left",
    )

    def __init__(self, task: Task, n_arms: int, n_groups: int, delta: float) -> None:
        self._task = task
        self._n_groups = n_groups
        self._n_pairs = n_arms - n_groups  # of the task of that name
        self.log_threshold = math.log(math.comb(n_arms, 2) / delta)
        self.predictions = _Predictions(n_arms)
        self._now = np.full((n_arms, n_arms), -math.inf)  # ln E_ij
        self._best = self._now.copy()  # its running maximum
        self._told_in_round = np.zeros((n_arms, n_arms), dtype=np.int64)
        self._forced: Forced | None = None
        self._searched_at = 0
        self.labels = _first_of(task, n_arms, n_groups)
        self._near = _NEAREST[task](self.labels)

    def absorb(self, counts: Counts, arms: Index, number: int) -> None:  # (N, m)
        """Judge the pairs of the arms with new samples."""
        self._now[arms] = log_pairs(counts, self.predictions.log_q(), arms)
        self._now[:, arms] = self._now[arms].T
        self._best = np.maximum(self._best, self._now)
        new = (self._best >= self.log_threshold) & (self._told_in_round == 0)
        if new.any():
            self._told_in_round[new] = number
            earlier = () if self._forced is None else self._forced.representatives
            self._forced = forced_partition(self._told_in_round > 0, self._n_groups, representatives=earlier)
        n_samples = int(counts.sum())
        if n_samples >= _AGAIN * self._searched_at:
            self._searched_at = n_samples
            self.labels = self.predictions.labels = _SEARCHES[self._task](counts, self._n_groups)
            self._near = _NEAREST[self._task](self.labels)

    def game(self, pmfs: Array) -> _Game:  # (N, m)
        return _Game(*self._near, pmfs)

    @property
    def left(self) -> Index | None:  # (N,)
        """The only partition of the class that joins no pair told apart, once it is easy to see."""
        if self._task == "clustering":
            return self._forced.labels if self._forced is not None and self._forced.complete else None
        if self._task == "odd-arm":
            suspects = np.flatnonzero(self._suspects())
            return (np.arange(len(self.labels)) == suspects[0]).astype(np.intp) if len(suspects) == 1 else None
        i, j = np.nonzero(np.triu(self._told_in_round == 0, 1))
        labels = np.arange(len(self.labels))
        labels[j] = labels[i]
        return labels if len(i) == self._n_pairs and not self.contradicted else None

    def _suspects(self) -> NDArray[np.bool_]:  # (N,)
        """Arms that may be the odd one: those in every pair told apart."""
        told = self._told_in_round > 0
        return np.asarray(2 * told.sum(axis=1) == told.sum())

    @property
    def doubted(self) -> bool:
        """Whether samples speak even against the partition that is left: the mean of its pairs, as of a whole class."""
        labels = self.left
        if labels is None:
            return False
        joined = np.triu(labels[:, None] == labels, 1)
        return bool(joined.any() and np.exp(np.minimum(self._now[joined], self.log_threshold)).mean() > 1)

    @property
    def contradicted(self) -> bool:
        if self._task == "odd-arm":
            return not self._suspects().any()
        if self._forced is not None and self._forced.contradicted:
            return True
        may_join = (self._told_in_round == 0) & ~np.eye(len(self.labels), dtype=np.bool_)
        # too few arms are left that can have a partner
        return self._task == "matching-pairs" and int(may_join.any(axis=1).sum()) < 2 * self._n_pairs

    @property
    def n_groups_at_least(self) -> int:
        return 1 if self._forced is None else self._forced.n_groups_at_least

    @property
    def told_in_round(self) -> Counts:  # (N, N)
        return self._told_in_round.copy()

    def log_evidence(self) -> Array:  # (N, N)
        return self._best.copy()


def _first_of(task: Task, n_arms: int, n_groups: int) -> Index:  # -> (N,)
    """Some partition of the class."""
    if task != "matching-pairs":
        return np.minimum(np.arange(n_arms), n_groups - 1)
    pairs = n_arms - n_groups
    return np.concatenate([np.arange(2 * pairs) // 2, np.arange(pairs, n_groups)])


def _likeliest_odd_arm(counts: Counts, n_groups: int) -> Index:  # (N, m) -> (N,)
    """One arm alone, at the largest likelihood."""
    odd = int((log_likelihood(counts) + log_likelihood(counts.sum(axis=0) - counts)).argmax())
    return np.asarray(np.arange(len(counts)) == odd, dtype=np.intp)


def _agglomerated(counts: Counts, n_groups: int) -> Index:  # (N, m) -> (N,)
    """Join the two groups at the least loss of likelihood until K are left; then move single arms while it helps."""
    labels, pooled = np.arange(len(counts)), counts.copy()
    alive = list(range(len(counts)))
    losses = _losses(counts, counts)
    np.fill_diagonal(losses, np.inf)
    while len(alive) > n_groups:
        block = losses[np.ix_(alive, alive)]
        a, b = (alive[int(k)] for k in np.unravel_index(int(block.argmin()), block.shape))
        pooled[a] += pooled[b]
        labels[labels == b] = a
        alive.remove(b)
        losses[a, alive] = losses[alive, a] = _losses(pooled[a][None], pooled[alive])[0]
        losses[a, a] = np.inf
    return _settled(counts, np.searchsorted(alive, labels))


def _losses(x: Counts, y: Counts) -> Array:  # (a, m), (b, m) -> (a, b)
    """What the log likelihood loses when the samples must share one pmf."""
    apart = log_likelihood(x)[:, None] + log_likelihood(y)[None, :]
    return np.asarray(apart - log_likelihood(x[:, None, :] + y[None, :, :]))


def _settled(counts: Counts, labels: Index) -> Index:  # (N, m), (N,) -> (N,)
    """Move one arm at a time to the group where it costs least, at most N moves."""
    labels = labels.copy()
    n_groups = int(labels.max()) + 1
    for _ in range(len(labels)):
        members = labels == np.arange(n_groups)[:, None]  # (K, N)
        pooled = members.astype(np.int64) @ counts
        others = pooled[labels] - counts  # the arm's group without it
        stays = log_likelihood(pooled[labels]) - log_likelihood(others)
        goes = log_likelihood(pooled[None] + counts[:, None]) - log_likelihood(pooled)[None]  # (N, K)
        goes[np.arange(len(labels)), labels] = stays
        gains = np.where(members.sum(axis=1)[labels, None] > 1, goes - stays[:, None], 0.0)
        arm, group = np.unravel_index(int(gains.argmax()), gains.shape)
        if gains[arm, group] <= 1e-9:
            break
        labels[arm] = group
    return labels


def _nearest_pairs(counts: Counts, n_groups: int) -> Index:  # (N, m) -> (N,)
    """The N - K disjoint pairs that lose least likelihood, one after the other."""
    losses = _losses(counts, counts)
    np.fill_diagonal(losses, np.inf)
    labels = np.arange(len(counts))
    for _ in range(len(counts) - n_groups):
        a, b = np.unravel_index(int(losses.argmin()), losses.shape)
        labels[b] = a
        losses[[a, b]] = losses[:, [a, b]] = np.inf
    return np.array(Partition.of(labels.tolist()).labels, dtype=np.intp)


_SEARCHES: dict[Task, Callable[[Counts, int], Index]] = {
    "clustering": _agglomerated,
    "odd-arm": _likeliest_odd_arm,
    "matching-pairs": _nearest_pairs,
}


# ---------------------------------------------------------------- algorithm


class TaSFW(Stepwise):
    """Track-and-Stop by Frank-Wolfe, reconstructed: groups arms with a finite alphabet, wrong at most with delta.

    After the first round each sample is of the arm that is furthest behind the proportions that one step of
    Frank-Wolfe a sample improves. Symbols are what distinguishes samples: a row is a symbol, numbers have no order.

    Parameters
    ----------
    n_arms, n_clusters, delta : N, K, error probability.
    task : the class of partitions that the true one is known to be in. "clustering": all partitions into K groups;
        "odd-arm": one arm alone, all others the same (K = 2, N >= 3); "matching-pairs": N - K pairs of equal arms,
        no other two arms are the same, so groups have one arm or two.
    alphabet : m, the number of different samples that are possible; or all of them, one row each. An upper bound is
        valid too, and costs little.
    first : samples of each arm in the first round.
    batch : samples in every other round, together; more than 1 saves time, not samples.
    sampling : "frank-wolfe", or "uniform": the arm with the fewest samples is next.

    A class of up to 40,000 / K partitions is judged whole: one to ten milliseconds a round. A larger one is judged
    by pairs: O(N^2 K m) a round, and O(N^3 m) whenever samples have grown by a twentieth. Memory is O(N (N + m))
    beside the class.
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
        self.task = _checked_task(task, self.n_arms, self.n_clusters)
        if sampling not in get_args(Sampling):
            raise SettingsError(f"sampling must be 'frank-wolfe' or 'uniform', got {sampling!r}")
        self.sampling = sampling
        self.batch = whole_number("batch", batch, 1)
        self._symbols = _symbols(alphabet)
        self.n_symbols = len(self._symbols) or whole_number("alphabet", alphabet, 2)
        n_partitions = class_size(self.task, self.n_arms, self.n_clusters)
        few = n_partitions * self.n_clusters <= _MOST_GROUPS
        self.judged_whole = few and (self.task != "odd-arm" or self.n_arms <= _MOST_ODD)
        judge = _WholeClass if self.judged_whole else _AllPairs
        self._judge: _WholeClass | _AllPairs = judge(self.task, self.n_arms, self.n_clusters, self.delta)
        # --- state: what the next step needs, and what people look at
        self._next = all_arms(self.n_arms, whole_number("first", first, 1))
        self._counts = np.zeros((self.n_arms, self.n_symbols), dtype=np.int64)
        self._shares = np.full(self.n_arms, 1 / self.n_arms)
        self._status = "decided" if n_partitions == 1 else None  # nothing to find out

    # ------------------------------------------------------------ what to draw

    @property
    def n_groups_at_least(self) -> int:
        return self.n_clusters if self._status == "decided" else self._judge.n_groups_at_least

    def _request(self) -> Request:
        return self._next

    def _plan(self) -> Request:
        """The next samples: one step of Frank-Wolfe, and the arm furthest behind, for each."""
        held = self._counts.sum(axis=1).astype(np.float64)
        planned = np.zeros(self.n_arms, dtype=np.int64)
        if self.sampling == "frank-wolfe":
            game = self._judge.game(pooled_pmfs(self._counts, self._judge.labels))
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
                self._judge.predictions.predict(arm, symbol, self._counts)
                self._counts[arm, symbol] += 1
        self._judge.absorb(self._counts, arms, len(self._rounds) + 1)
        if self._judge.contradicted:
            self._status = "contradicted"
        elif self._judge.left is not None and not self._judge.doubted:
            self._status = "decided"
        self._close_round(int(self._counts.sum(axis=1).max()), self.n_groups_at_least)
        if not self.stopped:
            self._next = self._plan()

    def _coded(self, arm: int, points: Array, known: dict[tuple[float, ...], int]) -> list[int]:  # (n, d) -> n
        """Numbers of the symbols; new ones are added to those known."""
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

    # ------------------------------------------------------------ what people see

    def recommend(self) -> Partition:
        left = self._judge.left
        decided = self._status == "decided"
        labels = left if decided and left is not None else self._judge.labels
        return Partition.of(labels.tolist(), certified=decided)

    def evidence(self) -> Evidence:
        if not self._rounds:
            return Evidence.none(self.n_arms)
        told, held = self._judge.told_in_round, self._counts.sum(axis=1)
        limits = np.full(told.shape, self._judge.log_threshold)
        return Evidence.of_bets(told, held, np.maximum(self._judge.log_evidence(), 0.0), limits)

    def guarantee(self) -> Guarantee:
        return Guarantee(
            strategy=f"TaS-FW(delta = {self.delta:g}, K = {self.n_clusters}, {self.task}), a reconstruction",
            claim=f"with probability at least {1 - self.delta:g} the partition is right when it stops.",
            assumptions=(
                f"samples take at most {self.n_symbols} different values",
                "samples of an arm are independent and identically distributed, and independent of other arms",
                self._class_in_words(),
            ),
            rule=(
                "reconstructed from the abstract: the stopping rule and its constants are ours, and proven",
                f"the first round draws each arm, every other one {self.batch} sample(s): "
                + (
                    "the arm furthest behind the proportions of Frank-Wolfe is next"
                    if self.sampling == "frank-wolfe"
                    else "the arm with the fewest samples is next"
                ),
                "Q_i predicts each sample of arm i before it is seen: half by its own, half by its estimated group's",
                *self._judge.rule,
            ),
        )

    def _class_in_words(self) -> str:
        if self.task == "odd-arm":
            return "one arm differs from all others, which are the same"
        if self.task == "matching-pairs":
            return f"{self.n_arms - self.n_clusters} pairs of arms are the same, no other two arms are"
        return f"there are exactly {self.n_clusters} groups"


def pooled_pmfs(counts: Counts, labels: Index) -> Array:  # (N, m), (N,) -> (N, m)
    """P_i: the pmf of all samples of the arm's group."""
    pooled = np.zeros((int(labels.max()) + 1, counts.shape[1]))
    np.add.at(pooled, labels, counts)
    pmfs: Array = (pooled / pooled.sum(axis=1, keepdims=True))[labels]
    return pmfs


def _checked_task(task: Task, n_arms: int, n_groups: int) -> Task:
    if task not in get_args(Task):
        raise SettingsError(f"task must be one of {', '.join(map(repr, get_args(Task)))}, got {task!r}")
    if task == "odd-arm" and (n_groups != 2 or n_arms < 3):
        raise SettingsError(
            f"task 'odd-arm' is one arm against at least two others, got {n_arms} arms and n_clusters={n_groups}; "
            "pass n_clusters=2 and three arms or more"
        )
    if task == "matching-pairs" and 2 * (n_arms - n_groups) > n_arms:
        raise SettingsError(
            f"task 'matching-pairs' with {n_arms} arms in {n_groups} groups is {n_arms - n_groups} pairs, more than "
            f"there are arms for; pass n_clusters from {(n_arms + 1) // 2} to {n_arms}, the arms less the pairs"
        )
    return task


def _symbols(alphabet: object) -> dict[tuple[float, ...], int]:
    """Declared symbols with their numbers; none, where only their number is declared."""
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
