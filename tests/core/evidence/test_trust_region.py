"""The largest value of <w, b> + w'Cw over unit vectors: against a general solver, in closed form, and from above."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from kabc.core.arrays import Array
from kabc.core.evidence.trust_region import largest

KINDS = [
    *("general", "no C", "no b", "hard case", "nearly hard"),
    *("one eigenvalue", "two eigenvalues", "indefinite", "low rank"),
]


def problem(kind: str, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    b = rng.normal(size=n) * 10 ** rng.uniform(-2, 2)
    directions, _ = np.linalg.qr(rng.normal(size=(n, n)))
    eigenvalues = np.sort(rng.gamma(1, size=n)) * 10 ** rng.uniform(-1, 1)
    if kind == "no C":
        eigenvalues[:] = 0
    elif kind == "no b":
        b[:] = 0
    elif kind in ("hard case", "nearly hard"):
        b *= 0.1 / np.linalg.norm(b)
        eigenvalues[-1] += 1
        b -= directions[:, -1] * (directions[:, -1] @ b) * (1 if kind == "hard case" else 1 - 1e-7)
    elif kind == "one eigenvalue":
        eigenvalues[:] = 2
    elif kind == "two eigenvalues":
        eigenvalues[: n // 2], eigenvalues[n // 2 :] = 1, 3
    elif kind == "indefinite":
        eigenvalues -= 1
    elif kind == "low rank":
        eigenvalues[:-1] = 0
    C = (directions * eigenvalues) @ directions.T
    return b, (C + C.T) / 2


def by_general_solver(b: Array, C: Array, rng: np.random.Generator) -> float:
    """The best of many runs of BFGS over u, with w = u / |u|."""

    def negative(u: Array) -> tuple[float, Array]:
        length = np.linalg.norm(u)
        w = u / length
        slope = b + 2 * C @ w
        return -float(w @ b + w @ C @ w), -(slope - w * (w @ slope)) / length

    starts = [b + 1e-9, *np.linalg.eigh(C)[1].T, *rng.normal(size=(6, len(b)))]
    return max(-minimize(negative, u, jac=True, method="BFGS", options={"gtol": 1e-12}).fun for u in starts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_it_is_what_a_general_solver_finds(kind: str, n: int) -> None:
    rng = np.random.default_rng([n, KINDS.index(kind)])
    for _ in range(4):
        b, C = problem(kind, n, rng)
        assert largest(b, C) == pytest.approx(by_general_solver(b, C, rng), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("t", [0.0, 1e-12, 0.3, 1.999, 2.0, 5.0, 1e9])
def test_the_hard_case_in_closed_form(t: float) -> None:
    # max over angles of t cos + sin^2: at cos = t / 2 if that is possible
    expected = 1 + t * t / 4 if t <= 2 else t
    assert largest(np.array([t, 0.0]), np.diag([0.0, 1.0])) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_no_unit_vector_is_above_it(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for n in (1, 4, 40):
        b, C = problem(kind, n, rng)
        w = rng.normal(size=(2000, n))
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        for _ in range(20):  # and none that these climb to
            value = w @ b + np.einsum("wi,ij,wj->w", w, C, w)
            scale = float(np.linalg.norm(b) + np.linalg.norm(C))
            assert largest(b, C) >= value.max() - 1e-14 * n * scale
            w = w + 0.3 * (b + 2 * w @ C) / max(scale, 1e-9)
            w /= np.linalg.norm(w, axis=1, keepdims=True)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("kind", KINDS)
def test_the_scale_does_not_matter(kind: str, scale: float) -> None:
    b, C = problem(kind, 6, np.random.default_rng(3))
    assert largest(scale * b, scale * C) / scale == pytest.approx(largest(b, C), rel=1e-12)


@pytest.mark.parametrize("ratio", [1e-200, 1e-12, 1e12, 1e200])
def test_one_part_may_be_far_larger_than_the_other(ratio: float) -> None:
    b, C = problem("general", 5, np.random.default_rng(4))
    top, length = np.linalg.eigvalsh(C)[-1], np.linalg.norm(b)
    value = float(largest(ratio * b, C))
    assert max(top, ratio * length) * (1 - 1e-13) <= value <= (top + ratio * length) * (1 + 1e-13)


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(5)
    problems = [problem(kind, 8, rng) for kind in KINDS]
    b, C = (np.stack(part) for part in zip(*problems, strict=True))
    together = largest(b.reshape(3, 3, 8), C.reshape(3, 3, 8, 8))
    assert together.shape == (3, 3)
    np.testing.assert_allclose(together.ravel(), [largest(*one) for one in problems], rtol=1e-13)
