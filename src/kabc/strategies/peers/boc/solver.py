"""The best proportions of samples for an estimate: w* and lambda* by an interior point method.

The symbols are those of strategy.py. Everything here is plain Python; loops.py compiles it.
"""

from __future__ import annotations

import math

import numpy as np

from kabc.core.arrays import Array, Counts

_NEAREST = 1e-10  # relative to the largest squared distance of two centres; smaller ones do not change the shares
_NEWTON_STEPS = 100  # about 15 are taken, 30 at most in thousands of random instances


def proportions(labels: Counts, centres: Array) -> Array:  # (M,), (K, d) -> (M,)
    """lambda*_m = w*(c_m) / n(c_m)."""
    sizes = np.zeros(len(centres), dtype=np.int64)
    for arm in range(len(labels)):
        sizes[labels[arm]] += 1
    shares = _solved(squared_gaps(centres), sizes, len(labels) > len(centres))
    out = np.empty(len(labels))
    for arm in range(len(labels)):
        out[arm] = shares[labels[arm]] / sizes[labels[arm]]
    return out


def can_move(sizes: Counts, a: int, b: int, spare: bool) -> bool:  # (K,)
    """Whether a partition into K groups is left when an arm of group a moves to group b.

    The paper asks for n(a) > 1. This misses the case of two groups with one arm each. They can be joined if another
    group has at least two arms, because splitting that group costs nothing. Without this case the rule is not
    delta-PAC: with means 0, 0, 10, 10.01 and K = 3 it was wrong in 92 of 200 runs at delta = 0.1. If at most one group
    is a single arm, as in all instances of the paper, nothing changes.
    """
    return a != b and (sizes[a] > 1 or (sizes[a] == 1 and sizes[b] == 1 and spare))


def squared_gaps(centres: Array) -> Array:  # (K, d) -> (K, K)
    """||mu(k) - mu(k')||^2."""
    k = len(centres)
    out = np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            out[a, b] = squared_distance(centres, a, centres, b)
    return out


def squared_distance(x: Array, i: int, y: Array, j: int) -> float:
    """The squared distance of row i of x and row j of y."""
    total = 0.0
    for column in range(x.shape[1]):
        total += (x[i, column] - y[j, column]) ** 2
    return total


def _solved(gaps: Array, sizes: Counts, spare: bool) -> Array:  # (K, K), (K,) -> (K,)
    """w* by an interior point method, to 1e-11.

    The problem does not change if w is scaled: minimise the sum of w, where n(k)/w(k) + 1/w(k') <= gap(k, k') for all
    k, k' for which an arm of k can move to k'. In y = 1/w the constraints are linear, and the sum of 1/y is convex.
    Slacks s and multipliers z follow the central path z s = mu. Each step is a Newton step for y and z at once, with
    one change: 2 sqrt(A'z) / y^2 replaces the second derivative 2/y^3. Both are equal at the solution, where A'z =
    1/y^2. But one step corrects a 1/y that is far too small; Newton's method takes one for every factor of 1.5.
    """
    n_constraints, y, s, z = _start(gaps, sizes, spare)
    if n_constraints == 0:
        return _scaled(y)
    step = 0.0
    for _ in range(_NEWTON_STEPS):
        gap, total, worst, multiplied = _progress(y, s, z, sizes)
        if gap <= 1e-12 * total and worst <= 1e-10:
            break
        # after a full step aim further, but only as far as rounding leaves the slacks exact
        mu = max((0.1 if step < 0.9 else 0.01) * gap, 3e-13 * total) / n_constraints
        move = _newton_step(y, s, z, sizes, mu, multiplied)
        step = _follow(y, s, z, sizes, mu, move)
    return _scaled(y)


def _start(gaps: Array, sizes: Counts, spare: bool) -> tuple[int, Array, Array, Array]:  # -> n, (K,), (K, K), (K, K)
    """Number of constraints, a feasible y, slacks, multipliers. Without constraints all arms are treated alike."""
    n_groups, n_constraints, farthest, total = len(sizes), 0, 0.0, 0.0
    y, s, z = np.full(n_groups, np.inf), np.zeros((n_groups, n_groups)), np.zeros((n_groups, n_groups))
    for a in range(n_groups):
        for b in range(n_groups):
            farthest = max(farthest, gaps[a, b])
    for a in range(n_groups):
        for b in range(n_groups):
            if can_move(sizes, a, b, spare) and sizes[b] > 0 and 0 < farthest < np.inf:
                n_constraints += 1
                s[a, b] = max(gaps[a, b], _NEAREST * farthest)
                y[a] = min(y[a], s[a, b] / (2.1 * sizes[a]))  # each side takes nearly half of the constraint
                y[b] = min(y[b], s[a, b] / 2.1)
    for a in range(n_groups):
        if n_constraints == 0 and sizes[a] > 0:
            y[a] = 1 / sizes[a]
        total += 1 / y[a]
    for a in range(n_groups):
        for b in range(n_groups):
            if s[a, b] > 0:
                s[a, b] -= sizes[a] * y[a] + y[b]
                z[a, b] = total / (n_constraints * s[a, b])
    return n_constraints, y, s, z


def _scaled(y: Array) -> Array:  # (K,) -> (K,)
    """w = 1/y, scaled to sum 1."""
    total = 0.0
    for a in range(len(y)):
        total += 1 / y[a]
    out = np.zeros(len(y))
    for a in range(len(y)):
        out[a] = 1 / (y[a] * total)
    return out


def _progress(y: Array, s: Array, z: Array, sizes: Counts) -> tuple[float, float, float, Array]:  # ..., (K,)
    """Duality gap, objective, largest violation of A'z = 1/y^2, and A'z."""
    gap, total, worst, multiplied = 0.0, 0.0, 0.0, np.zeros(len(y))
    for a in range(len(y)):
        total += 1 / y[a]
        for b in range(len(y)):
            gap += z[a, b] * s[a, b]
            multiplied[a] += sizes[a] * z[a, b]
            multiplied[b] += z[a, b]
    for a in range(len(y)):
        if y[a] < np.inf:
            worst = max(worst, abs(multiplied[a] * y[a] ** 2 - 1))
    return gap, total, worst, multiplied


def _newton_step(y: Array, s: Array, z: Array, sizes: Counts, mu: float, multiplied: Array) -> Array:  # -> (K,)
    """Change of y towards z s = mu: the Newton system with s and z eliminated, of size K."""
    hessian, move = np.zeros((len(y), len(y))), np.zeros(len(y))
    for a in range(len(y)):
        move[a] = 1 / y[a] ** 2
        hessian[a, a] = (
            2 * math.sqrt(multiplied[a]) / y[a] ** 2 if y[a] < np.inf else 1.0
        )  # a group without arms keeps its y
    for a in range(len(y)):
        for b in range(len(y)):
            if s[a, b] > 0:
                stiffness, pull = z[a, b] / s[a, b], mu / s[a, b]
                hessian[a, a] += sizes[a] ** 2 * stiffness
                hessian[b, b] += stiffness
                hessian[a, b] += sizes[a] * stiffness
                hessian[b, a] += sizes[a] * stiffness
                move[a] -= sizes[a] * pull
                move[b] -= pull
    _solve(hessian, move)
    return move


def _solve(matrix: Array, right: Array) -> None:  # (K, K), (K,)
    """Solve in place by Cholesky's decomposition."""
    n = len(right)
    for i in range(n):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = math.sqrt(max(value, 1e-300)) if i == j else value / matrix[j, j]
    for i in range(n):
        for j in range(i):
            right[i] -= matrix[i, j] * right[j]
        right[i] /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            right[i] -= matrix[j, i] * right[j]
        right[i] /= matrix[i, i]


def _follow(y: Array, s: Array, z: Array, sizes: Counts, mu: float, move: Array) -> float:
    """Go along the step as far as everything stays positive. Returns the part of the step that was taken."""
    step = 1.0
    ds, dz = np.zeros((len(y), len(y))), np.zeros((len(y), len(y)))
    for a in range(len(y)):
        if move[a] < -0.7 * y[a]:
            step = min(step, -0.7 * y[a] / move[a])
        for b in range(len(y)):
            if s[a, b] > 0:
                ds[a, b] = -(sizes[a] * move[a] + move[b])
                dz[a, b] = (mu - z[a, b] * (s[a, b] + ds[a, b])) / s[a, b]
                if ds[a, b] < 0:
                    step = min(step, -0.99 * s[a, b] / ds[a, b])
                if dz[a, b] < 0:
                    step = min(step, -0.99 * z[a, b] / dz[a, b])
    for a in range(len(y)):
        y[a] += step * move[a]
        for b in range(len(y)):
            s[a, b] += step * ds[a, b]
            z[a, b] += step * dz[a, b]
    return step


# what `proportions` uses
HELPERS = (squared_gaps, squared_distance, can_move, _solved, _start, _progress, _newton_step, _solve, _follow, _scaled)
