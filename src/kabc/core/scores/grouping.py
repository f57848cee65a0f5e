"""The likeliest groups of arms by their whitened means, as many spaces see them: linkage, then exchanges.

| symbol | here       | meaning                                                                                        |
|--------|------------|------------------------------------------------------------------------------------------------|
| z_i    | `points`   | whitened mean of arm i, measured from the mean of all arms                                     |
| n_i    | `weights`  | its samples; z_i has a covariance of about I / n_i around the mean of its group                |
| S_g    |            | sum of n_i z_i over the arms of group g; `squares` are the squares of its length               |
| W_g    | `totals`   | sum of n_i over the arms of group g                                                            |
| N_g    | `sizes`    | number of arms of group g                                                                      |
| pi     | `prior`    | probability of the groups: half of it for each arm in any group, half for sizes equally likely |

With the best mean of each group the log likelihood is 1/2 sum_g |S_g|^2 / W_g up to a constant; log pi is added. Ward's
linkage and average linkage give a start each. As long as the sum grows by moving one arm to another group, the best
such move is made (Hartigan's exchanges). The better end counts. Without the second half of pi one arm alone among many
would seldom be found, as there are so many more ways to make groups of equal size.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from kabc.core.arrays import Array, Index, Mask
from kabc.core.scores.linkage import distances, linked

_LITTLE = 1e-9  # a smaller gain may be rounding
_LARGEST = 600.0  # exp of little more is no number


def likeliest(products: Array, weights: Array, n_groups: int) -> Index:  # (S, n, n), (n,) -> (S, n)
    """Groups of the points of each space, at most `n_groups`: fewer if there are not so many different points.

    `products` are those of the points with each other. They may be measured from any point: one between them is best.
    """
    n_spaces, n = products.shape[:2]
    if n <= n_groups:
        return np.tile(np.arange(n), (n_spaces, 1))
    by_ward, by_average = np.split(linked(distances(products), n_groups, "ward", "average"), 2)
    other = np.flatnonzero(_differ(by_ward, by_average))
    both = np.concatenate([products, products[other]]) * np.multiply.outer(weights, weights)
    books = _Books(both, weights, np.concatenate([by_ward, by_average[other]]), n_groups)
    books.exchange()
    found, values = books.labels[:n_spaces], books.values()
    better = values[n_spaces:] > values[other] + _LITTLE
    found[other[better]] = books.labels[n_spaces:][better]
    return found


def likeliest_in_all(
    products: Array, trust: Array, weights: Array, starts: Index, n_groups: int
) -> tuple[Index, float]:  # (S, n, n), (S,), (n,), (T, n) -> (n,)
    """Groups as all spaces see them together, the best that exchanges reach from these starts; and the odds against.

    Log likelihoods are averaged, each space with its trust. The odds are those of all groups that one move, or two arms
    that change places, would make.
    """
    trusted = (trust @ products.reshape(len(trust), -1)).reshape(products.shape[1:]) * np.multiply.outer(
        weights, weights
    )
    starts = np.array(sorted(set(map(tuple, starts.tolist()))), dtype=np.intp)
    books = _Books(np.broadcast_to(trusted, (len(starts), *trusted.shape)), weights, starts, n_groups)
    books.exchange()
    values = books.values()
    best = int((values >= values.max() - _LITTLE).argmax())  # rounding must not choose how groups are numbered
    return books.labels[best], books.odds_against(best)


def _differ(some: Index, others: Index) -> Mask:  # (S, n), (S, n) -> (S,)
    """Whether groups differ, however they are numbered."""
    together = (labels[:, :, None] == labels[:, None] for labels in (some, others))
    return np.asarray(np.logical_xor(*together).any(axis=(1, 2)))


@lru_cache(maxsize=64)
def _log_factorials(n: int) -> Array:  # (n + 1,)
    return np.array([math.lgamma(size + 1) for size in range(n + 1)])


class _Books:
    """Groups in each space, and what their likelihood needs."""

    def __init__(self, products: Array, weights: Array, labels: Index, n_groups: int) -> None:
        n = len(weights)
        members = (labels[:, :, None] == np.arange(n_groups)).astype(np.float64)  # (S, n, K)
        self.labels = labels  # (S, n)
        self._products, self._weights = products, weights  # (S, n, n): n_i n_j <z_i, z_j>; (n,)
        self._own = np.diagonal(products, axis1=1, axis2=2)  # (S, n)
        self._sums = products @ members  # (S, n, K), over the arms of each group
        self._squares = (members * self._sums).sum(axis=1)  # (S, K)
        self._totals, self._sizes = weights @ members, members.sum(axis=1)  # (S, K)
        self._gained: list[tuple[Index, Array]] = []  # spaces that arms were moved in, and what moves would gain there
        self._factorials = _log_factorials(n)
        self._any = -n * math.log(n_groups) - math.log(2)
        self._by_size = math.lgamma(n_groups) - math.lgamma(n + n_groups) - math.log(2)

    def values(self) -> Array:  # (S,)
        """The sum that exchanges make as large as they can."""
        fit = 0.5 * (self._squares / np.maximum(self._totals, 1.0)).sum(axis=1)
        return np.asarray(fit + self._prior(self._ways(self._sizes)))

    def exchange(self) -> None:
        """Move single arms until nothing is gained, the best move in each space at a time."""
        spaces = np.arange(len(self.labels))
        for _ in range(2 * self.labels.shape[1]):  # seldom more than a few
            gains = self._gains(spaces)
            self._gained.append((spaces, gains))
            flat = gains.reshape(len(spaces), -1)
            best = flat.argmax(axis=1)
            better = flat[np.arange(len(spaces)), best] > _LITTLE
            spaces = spaces[better]
            if not len(spaces):
                return
            self._move(spaces, *np.divmod(best[better], self._totals.shape[1]))
        self._gained.append((spaces, self._gains(spaces)))

    def _gains(self, spaces: Index) -> Array:  # (S',) -> (S', n, K)
        """Twice what the sum gains if each arm moves to each group; an arm that is alone stays."""
        labels, own = self.labels, self._own
        sums, sizes, squares, totals = self._sums, self._sizes, self._squares, self._totals
        if len(spaces) < len(labels):
            labels, own = labels[spaces], own[spaces]
            sums, sizes, squares, totals = (one[spaces] for one in (sums, sizes, squares, totals))
        (n_spaces, n, n_groups), weights = sums.shape, self._weights
        at = labels + n_groups * np.arange(n_spaces)[:, None]  # the own group of each arm, (S', n)
        fits = squares / np.maximum(totals, 1.0)
        alone = sizes.take(at) < 2
        rest = squares.take(at) - 2 * sums.take(labels + n_groups * np.arange(n_spaces * n).reshape(n_spaces, n)) + own
        left = fits.take(at) - rest / np.where(alone, 1.0, totals.take(at) - weights)
        left[alone] = np.inf
        gains = squares[:, None] + own[:, :, None] + 2 * sums
        gains /= totals[:, None] + weights[:, None]
        gains -= left[:, :, None]
        # the rest depends on the two groups alone: (S', K, K), from the first to the second
        ways, more = self._ways(sizes)[:, None, None], np.log(sizes + 1)
        change = self._prior(ways + more[:, None] - np.log(np.maximum(sizes, 1))[:, :, None]) - self._prior(ways)
        change = 2 * change - fits[:, None]
        change.reshape(n_spaces, -1)[:, :: n_groups + 1] = -np.inf
        gains += change.reshape(-1, n_groups).take(at, axis=0)
        return np.asarray(gains)

    def odds_against(self, space: int) -> float:
        """The sum of exp of what is gained by each move of an arm and by each swap of two: not much, at the best."""
        moves = next(gains[spaces == space] for spaces, gains in reversed(self._gained) if (spaces == space).any())
        moves, swaps = (np.exp(np.minimum(gains / 2, _LARGEST)) for gains in (moves, self._swaps(space)))
        return float(moves.sum() + swaps.sum() / 2)

    def _swaps(self, space: int) -> Array:  # -> (n, n)
        """Twice what the sum gains if two arms of different groups change places."""
        labels, weights, own = self.labels[space], self._weights, self._own[space]
        squares, totals = self._squares[space][labels], self._totals[space][labels]
        sums = self._sums[space][:, labels]  # of each arm with the group of each other arm
        # the group of the row's arm, without this arm and with the other one
        after = squares[:, None] + own[:, None] + own - 2 * sums.diagonal()[:, None] + 2 * sums.T
        after = (after - 2 * self._products[space]) / (totals[:, None] - weights[:, None] + weights)
        gains = after - (squares / totals)[:, None]
        alone = self._sizes[space][labels] < 2  # two such groups would only change their numbers
        same = (labels[:, None] == labels) | (alone[:, None] & alone)
        return np.asarray(np.where(same, -np.inf, gains + gains.T))

    def _ways(self, sizes: Array) -> Array:  # (S', K) -> (S',)
        """Log of the product of N_g!."""
        return np.asarray(self._factorials.take(sizes.astype(np.intp)).sum(axis=1))

    def _prior(self, ways: Array) -> Array:
        """Log of the probability of groups."""
        return np.asarray(np.logaddexp(self._any, self._by_size + ways))

    def _move(self, spaces: Index, arms: Index, groups: Index) -> None:  # (S',) each
        """Move one arm in each of these spaces."""
        for group, sign in ((self.labels[spaces, arms], -1.0), (groups, 1.0)):
            self._squares[spaces, group] += 2 * sign * self._sums[spaces, arms, group] + self._own[spaces, arms]
            self._sums[spaces, :, group] += sign * self._products[spaces, :, arms]
            self._totals[spaces, group] += sign * self._weights[arms]
            self._sizes[spaces, group] += sign
        self.labels[spaces, arms] = groups
