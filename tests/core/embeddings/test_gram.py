"""Exact kernel sums: every way of computing them gives the double sum of the paper, to 1e-6 in squared distances."""

from __future__ import annotations

import math
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import kabc.core.embeddings
from kabc.core.arrays import Array
from kabc.core.embeddings import gram
from kabc.core.embeddings.gram import Engine, GramSums, block_sums
from kabc.core.errors import SampleError
from kabc.core.kernels import (
    Function,
    Gaussian,
    Hamming,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Matern,
    RationalQuadratic,
)
from tests import literal

ENGINES: tuple[Engine, ...] = ("numpy", "numba")
SIZES = (1, 3, 70, 130, 17)  # below and above a tile, a stretch and a float32 sum
MEMORY = 200e6


def looped(d: int) -> list[Kernel]:
    """The kernels that have a compiled loop, with bandwidths that suit standard normal samples."""
    h = math.sqrt(d)
    rational = [RationalQuadratic(h, alpha) for alpha in (0.5, 1.0, 1.5, 2.0)]
    return [
        Gaussian(h),
        Laplace(d, "l1"),
        Laplace(h, "l2"),
        Matern(h, 1.5),
        Matern(h, 2.5),
        InverseMultiquadric(h),
        *rational,
    ]


def normal(seed: int, sizes: Sequence[int], d: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.normal(0.3 * i / math.sqrt(d), 1.0, (n, d)) for i, n in enumerate(sizes)]


def everyone(n: int) -> NDArray[np.intp]:
    return np.argwhere(np.ones((n, n), dtype=bool))


def double_sums(kernel: Kernel, left: Sequence[NDArray[Any]], right: Sequence[NDArray[Any]]) -> Array:
    return np.array([kernel(x, y).sum() for x in left for y in right])


def distances(kernel: Kernel, arms: Sequence[NDArray[Any]]) -> Array:
    """Eq. empdist by double sums in float64."""
    inner = np.array([[kernel(x, y).mean() for y in arms] for x in arms])
    own = np.diagonal(inner)
    return np.asarray(own[:, None] - 2 * inner + own[None, :])


def embedded(kernel: Kernel, arms: Sequence[NDArray[Any]], engine: Engine = "auto") -> GramSums:
    return GramSums(kernel, len(arms), engine=engine).extended(arms)


def counting(n_values: list[int]) -> Function:
    """A Gaussian kernel that writes down how many values were asked of it."""

    def function(x: Array, y: Array) -> Array:
        n_values.append(len(x) * len(y))
        return Gaussian(1.0)(x, y)

    return Function(function, characteristic=True)


# ---------------------------------------------------------------- the same numbers


@pytest.mark.parametrize("d", [1, 2, 8, 9, 33, 60])
@pytest.mark.parametrize("engine", ENGINES)
def test_block_sums_are_double_sums_for_every_kernel_dimension_and_count(engine: Engine, d: int) -> None:
    arms = normal(d, SIZES, d)
    sizes = np.outer(SIZES, SIZES).ravel()
    for kernel in looped(d):
        error = np.abs(block_sums(kernel, arms, arms, everyone(5), engine) - double_sums(kernel, arms, arms)) / sizes
        assert error.max() < 2.5e-7, kernel


def spread_wide(arms: list[Array], rng: np.random.Generator) -> list[Array]:
    return [x + rng.integers(-1, 2, (len(x), 1)) * 30 for x in arms]


HARD: dict[str, Callable[[list[Array], np.random.Generator], list[Array]]] = {
    "far from zero": lambda arms, _: [x + 1e5 for x in arms],
    "a few huge values": lambda arms, rng: [np.where(rng.random((len(x), 1)) < 0.1, 1e6 * x, x) for x in arms],
    "clusters of huge values": lambda arms, rng: [np.where(rng.random((len(x), 1)) < 0.3, 1e6 + x, x) for x in arms],
    "Cauchy": lambda arms, rng: [rng.standard_cauchy(x.shape) for x in arms],
    "arms far apart": lambda arms, _: [x + 1e3 * i for i, x in enumerate(arms)],
    "wide arms": spread_wide,
    "nearly constant": lambda arms, _: [1e-9 * x + 0.3 * i for i, x in enumerate(arms)],
}


@pytest.mark.parametrize("hard", HARD.values(), ids=HARD)
@pytest.mark.parametrize("d", [1, 2, 12])
@pytest.mark.parametrize("engine", ENGINES)
def test_no_data_cost_digits_of_squared_distances(
    engine: Engine, d: int, hard: Callable[[list[Array], np.random.Generator], list[Array]]
) -> None:
    arms = hard(normal(1, (130, 70, 64, 2), d), np.random.default_rng(2))
    for kernel in looped(d):
        error = np.abs(embedded(kernel, arms, engine).squared_distances() - distances(kernel, arms))
        assert error.max() < 1e-6, kernel


@pytest.mark.parametrize("engine", ENGINES)
def test_sums_products_and_declared_kernels_have_block_sums_too(engine: Engine) -> None:
    arms = normal(3, SIZES, 2)
    gaussians = Gaussian(2.0) * Gaussian(3.0) * Gaussian(1.5)
    mixed = Gaussian(1.0) + Laplace(2.0) + Matern(1.0) * RationalQuadratic(2.0, alpha=0.7)
    for kernel in (gaussians, mixed, counting([]), RationalQuadratic(1.0, alpha=0.7)):
        found = block_sums(kernel, arms, arms, everyone(5), engine)
        assert np.allclose(found, double_sums(kernel, arms, arms), rtol=1e-6), kernel


def test_a_kernel_derived_from_a_known_one_keeps_its_own_profile() -> None:
    class Squared(Gaussian):
        def profile(self, t: NDArray[Any]) -> NDArray[Any]:
            return super().profile(2 * t)

    arms = normal(4, SIZES, 2)
    for engine in ENGINES:
        found = block_sums(Squared(1.0), arms, arms, everyone(5), engine)
        assert np.allclose(found, double_sums(Squared(1.0), arms, arms))


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    from kabc.core.embeddings import _loops

    arms = normal(5, (300, 5, 1100, 64), 12)
    how = _loops.recipe(Gaussian(3.0))
    assert how is not None
    one, *others = (_loops.sums(how, arms, arms, everyone(4), threads) for threads in (1, 2, 5))
    assert one is not None
    assert all(other is not None and (other == one).all() for other in others)


def test_small_panels_and_short_lists_of_pairs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from kabc.core.embeddings import _loops

    arms = normal(6, (50, 1, 200, 30), 3)
    expected = double_sums(Gaussian(1.0), arms, arms)
    for name, value in (("_PANEL_ROWS", 61), ("_BLOCK_ROWS", 20), ("_PAIRS", 3)):
        monkeypatch.setattr(_loops, name, value)
    monkeypatch.setattr(gram, "_PAIRS", 5)
    assert np.allclose(block_sums(Gaussian(1.0), arms, arms, everyone(4), "numba"), expected, rtol=1e-6)
    for engine in ENGINES:
        found = embedded(Gaussian(1.0), arms, engine).squared_distances()
        assert np.abs(found - distances(Gaussian(1.0), arms)).max() < 1e-6


@pytest.mark.parametrize("engine", ENGINES)
def test_values_too_large_to_square_are_infinitely_far_and_never_nan(engine: Engine) -> None:
    arms = [
        np.array([[1e308], [-1e308], [0.0]]),
        np.array([[1e300], [1e300], [1.0]]),
        np.array([[1e200], [1e19], [1e-300]]),
    ]
    for kernel in looped(1):
        found = embedded(kernel, arms, engine).squared_distances()
        assert np.abs(found - distances(kernel, arms)).max() < 1e-6, kernel


@pytest.mark.parametrize("engine", ENGINES)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_distances_and_variances_are_never_negative_nor_nan(engine: Engine, data: st.DataObject) -> None:
    numbers = st.floats(-1e300, 1e300) | st.sampled_from([0.0, 1.0, 1e6, 1e-300])
    columns = data.draw(st.sampled_from([1, 9]))
    row = st.lists(numbers, min_size=columns, max_size=columns)
    arms = [np.array(data.draw(st.lists(row, min_size=2, max_size=5))) for _ in range(3)]
    embedding = embedded(data.draw(st.sampled_from(looped(columns))), arms, engine)
    assert (embedding.squared_distances() >= 0).all()
    assert (embedding.variances() >= 0).all()


# ---------------------------------------------------------------- equations of the paper


@pytest.mark.parametrize("engine", ENGINES)
def test_distances_and_variances_are_eq_empdist_and_eq_empvar(engine: Engine) -> None:
    arms = normal(7, (20, 20, 20), 2)
    g = literal.gaussian(1.3)
    embedding = embedded(Gaussian(1.3), arms, engine)
    points = [x.tolist() for x in arms]
    squared = [[literal.squared_distance(g, x, y) for y in points] for x in points]
    assert np.allclose(embedding.squared_distances(), squared, atol=1e-6)
    assert np.allclose(embedding.variances(), [literal.variance(g, x) for x in points], atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n", [2, 3, 300])
def test_constant_arms_have_no_variance_and_the_distance_of_two_points(n: int, engine: Engine) -> None:
    arms = [np.full((n, 2), value) for value in (0.1, 0.1, 0.7, 1e9)]
    for kernel in looped(2):
        embedding = embedded(kernel, arms, engine)
        values = kernel(*(np.array([x[0] for x in arms]),) * 2)
        assert (embedding.variances() == 0).all()
        assert np.abs(embedding.squared_distances() - (2 - 2 * values)).max() < 1e-6
        assert embedding.squared_distances()[0, 1] == 0


# ---------------------------------------------------------------- samples that come in parts


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(0, 12), min_size=4, max_size=4), max_size=4), st.lists(st.booleans(), min_size=4))
def test_samples_in_parts_give_what_samples_at_once_give(cuts: list[list[int]], looks: list[bool]) -> None:
    arms = normal(8, (12, 12, 12, 12), 2)
    edges = np.vstack([np.zeros(4, dtype=int), np.sort(np.array(cuts, dtype=int).reshape(-1, 4), axis=0), [12] * 4])
    embedding = GramSums(Gaussian(1.0), 4)
    for k, (start, stop) in enumerate(pairwise(edges)):
        embedding = embedding.extended([x[a:b] for x, a, b in zip(arms, start, stop, strict=True)])
        if looks[k % len(looks)] and (stop > 0).all():  # what is asked for in between must not matter
            embedding.squared_distances(np.array([k % 4]), np.array([0, 2]))
    assert embedding.counts.tolist() == [12] * 4
    whole = embedded(Gaussian(1.0), arms)
    assert np.allclose(embedding.squared_distances(), whole.squared_distances(), atol=1e-7)
    assert np.allclose(embedding.variances(), whole.variances(), atol=1e-7)


def test_only_requested_pairs_and_new_samples_are_computed() -> None:
    n_values: list[int] = []
    embedding = embedded(counting(n_values), normal(9, (10, 20, 30, 40), 1))
    n_values.clear()  # of the diagonal
    embedding.squared_distances(np.array([1]), np.array([3]))
    assert sum(n_values) == 20 * 20 + 20 * 40 + 40 * 40
    embedding.squared_distances(np.array([3]), np.array([1]))
    embedding.squared_distances(np.array([1, 3]), np.array([1]))
    assert sum(n_values) == 20 * 20 + 20 * 40 + 40 * 40
    longer = embedding.extended(normal(10, (10, 5, 0, 0), 1))
    n_values.clear()
    longer.squared_distances(np.array([1]), np.array([3]))
    assert sum(n_values) == 5 * 25 + 20 * 5 + 5 * 40


def test_what_is_asked_for_in_parts_is_part_of_the_whole() -> None:
    arms = normal(11, SIZES, 2)
    whole = embedded(Gaussian(1.0), arms).squared_distances()
    embedding = embedded(Gaussian(1.0), arms)
    for rows, cols in (([4], [0, 1, 2]), ([2, 0], [2, 3]), ([0, 1, 2, 3, 4], [4]), ([3], [])):
        i, j = np.array(rows, dtype=np.intp), np.array(cols, dtype=np.intp)
        assert np.allclose(embedding.squared_distances(i, j), whole[np.ix_(i, j)], atol=1e-12)
    assert np.allclose(embedding.squared_distances(), whole, atol=1e-12)


def test_arms_in_another_order_have_the_same_distances_in_that_order() -> None:
    arms = normal(12, SIZES, 3)
    order = np.array([3, 0, 4, 2, 1])
    for engine in ENGINES:
        squared = embedded(Gaussian(1.5), arms, engine).squared_distances()
        found = embedded(Gaussian(1.5), [arms[arm] for arm in order], engine).squared_distances()
        assert np.allclose(found, squared[np.ix_(order, order)], atol=1e-6)
        assert (squared == squared.T).all()


def test_an_embedding_is_unchanged_when_it_is_extended() -> None:
    arms, more, other = normal(13, (9, 8, 7), 2), normal(14, (4, 0, 6), 2), normal(15, (1, 2, 3), 2)
    old = embedded(Gaussian(1.0), arms)
    asked_before = old.squared_distances(np.array([0]), np.array([1]))
    first, second = old.extended(more), old.extended(other)
    for embedding, new in ((first, more), (second, other)):
        expected = distances(Gaussian(1.0), [np.concatenate(parts) for parts in zip(arms, new, strict=True)])
        assert np.allclose(embedding.squared_distances(), expected, atol=1e-6)
    assert old.counts.tolist() == [9, 8, 7]
    assert (old.squared_distances(np.array([0]), np.array([1])) == asked_before).all()
    assert np.allclose(old.squared_distances(), distances(Gaussian(1.0), arms), atol=1e-6)


def test_samples_told_may_be_overwritten_afterwards() -> None:
    arms = normal(16, (5, 5), 1)
    embedding = embedded(Gaussian(1.0), arms)
    expected = distances(Gaussian(1.0), arms)
    for x in arms:
        x[:] = 0
    assert np.allclose(embedding.squared_distances(), expected, atol=1e-6)


def test_wrong_samples_are_refused() -> None:
    embedding = embedded(Gaussian(1.0), normal(17, (5, 5), 2))
    with pytest.raises(SampleError, match="one array for each of 2 arms, got 3"):
        embedding.extended(normal(18, (1, 1, 1), 2))
    with pytest.raises(SampleError, match="samples have 2 and 3 columns"):
        embedding.extended(normal(18, (1, 1), 3))


# ---------------------------------------------------------------- equal rows


@pytest.mark.parametrize("d", [1, 3])
def test_equal_rows_are_evaluated_once_and_give_the_same_sums(d: int) -> None:
    rng = np.random.default_rng(19)
    arms = [rng.integers(0, 4, (n, d)).astype(float) for n in (150, 90, 200, 1)]
    n_values: list[int] = []
    found = block_sums(counting(n_values), arms, arms, everyone(4))
    assert sum(n_values) <= (4**d) ** 2
    assert np.allclose(found, double_sums(Gaussian(1.0), arms, arms), rtol=1e-12)


def test_equal_strings_are_evaluated_once_whatever_their_lengths() -> None:
    rng = np.random.default_rng(20)
    kernel = Hamming()
    arms = [kernel.coerce(rng.choice(words, (200, 2))) for words in (["a", "b"], ["a", "longer", "b"], ["c", "longer"])]
    assert len({x.dtype for x in arms}) == 2
    assert np.allclose(block_sums(kernel, arms, arms, everyone(3)), double_sums(kernel, arms, arms), rtol=1e-12)
    assert np.allclose(embedded(kernel, arms).squared_distances(), distances(kernel, arms), atol=1e-12)


def test_rows_without_repeats_are_recognised_on_few_of_them() -> None:
    arms = normal(21, (400, 400), 1)
    n_values: list[int] = []
    block_sums(counting(n_values), arms, arms, everyone(2))
    assert sum(n_values) == 800**2


# ---------------------------------------------------------------- engines, memory


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("sizes", "d"), [((6000, 5000), 1), ((1100, 30), 4000), ((5,) * 700, 1)])
def test_memory_is_bounded_whatever_the_shape(engine: Engine, sizes: tuple[int, ...], d: int) -> None:
    # a matrix of all kernel values would take 1 GB; an arm of 35 MB is more than a panel; 700 arms are 490,000 pairs
    sizes = (200, 30) if (engine, d) == ("numpy", 4000) else sizes  # slow there, and there are no panels
    arms = normal(22, sizes, d)
    embedded(Gaussian(1.0), [x[:3] for x in arms[:2]], engine).squared_distances()  # imports are not counted
    embedding = embedded(Gaussian(math.sqrt(d)), arms, engine)
    tracemalloc.start()
    try:
        embedding.squared_distances()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEMORY


def test_large_calls_use_the_loop_and_small_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []
    loop = gram._loop_sums

    def spy(kernel: Kernel, left: Any, right: Any, pairs: Any, required: bool) -> Array | None:
        used.append(len(pairs))
        return loop(kernel, left, right, pairs, required)

    monkeypatch.setattr(gram, "_loop_sums", spy)
    monkeypatch.setattr(gram, "_LOOP_FROM", 200 * 200)
    arms = normal(23, (100, 200), 2)
    block_sums(Gaussian(1.0), arms, arms, np.array([[0, 1]]))
    assert not used
    block_sums(Gaussian(1.0), arms, arms, np.array([[1, 1]]))
    assert used


def test_without_numba_large_calls_use_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    arms = normal(24, (100, 200), 2)
    monkeypatch.setattr(gram, "_LOOP_FROM", 0)
    monkeypatch.delattr(kabc.core.embeddings, "_loops", raising=False)
    monkeypatch.setitem(sys.modules, "kabc.core.embeddings._loops", None)
    found = block_sums(Gaussian(1.0), arms, arms, everyone(2))
    assert (found == block_sums(Gaussian(1.0), arms, arms, everyone(2), "numpy")).all()
    with pytest.raises(ImportError):
        block_sums(Gaussian(1.0), arms, arms, everyone(2), "numba")


def test_numba_is_imported_by_large_calls_only() -> None:
    program = (
        "import sys, numpy as np; from kabc.core.embeddings.gram import GramSums;"
        "from kabc.core.kernels import Gaussian;"
        "x = np.random.default_rng(0).normal(size=(2, 300, 1));"
        "GramSums(Gaussian(1.0), 2).extended(list(x)).squared_distances(); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_disk_that_cannot_be_written_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import CompileResultCacheImpl

    from kabc.core.embeddings import _loops

    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])

    def doubled(x: float) -> float:
        return 2 * x

    assert _loops._compiled(cache=True)(doubled)(21.0) == 42.0


def test_no_two_compiled_functions_share_a_name() -> None:
    # compiled code that is kept on disk is linked by name
    from kabc.core.embeddings import _loops

    names = [value.py_func.__qualname__ for value in vars(_loops).values() if hasattr(value, "py_func")]
    assert len(names) > 20
    assert len(set(names)) == len(names)


def test_the_order_of_columns_in_memory_does_not_matter() -> None:
    from kabc.core.embeddings import _loops

    arms = normal(25, SIZES, 3)
    loop: Any = _loops._run
    columns_first = [np.asfortranarray(x) for x in arms]
    expected = block_sums(Gaussian(1.0), arms, arms, everyone(5), "numba")
    compiled = len(loop.signatures)
    assert (block_sums(Gaussian(1.0), columns_first, columns_first, everyone(5), "numba") == expected).all()
    assert len(loop.signatures) == compiled
