from __future__ import annotations

import math
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kabc.core.arrays import Array
from kabc.core.embeddings import embed
from kabc.core.embeddings.features import ArmSums, FeatureSums, RandomFeatures
from kabc.core.errors import KernelBoundsError, SampleError, SettingsError
from kabc.core.kernels import Function, Gaussian, Hamming, Kernel, Laplace, Linear, Matern

FINITE = [RandomFeatures(Gaussian(1.5), n_features=64), RandomFeatures(Gaussian(1.0) + Matern(2.0), 64), Linear(1e7)]
finite = pytest.mark.parametrize("kernel", FINITE, ids=repr)


def normal(*sizes: int, dim: int = 2, seed: int = 0, offset: float = 0.0) -> list[Array]:
    """Arms of normal samples, each wider than the one before."""
    rng = np.random.default_rng(seed)
    return [offset + (1 + i) * rng.normal(size=(n, dim)) for i, n in enumerate(sizes)]


def of_samples(kernel: Any, samples: list[Array]) -> FeatureSums:
    return FeatureSums(kernel, len(samples)).extended(samples)


def assert_same(a: FeatureSums, b: FeatureSums, tolerance: float = 1e-8) -> None:
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_allclose(a.variances(), b.variances(), rtol=1e-9, atol=tolerance)
    np.testing.assert_allclose(a.squared_distances(), b.squared_distances(), rtol=1e-9, atol=tolerance)


# ---------------------------------------------------------------- random features


def test_random_features_are_a_kernel_of_their_own() -> None:
    kernel = RandomFeatures(Gaussian(1.0) + Laplace(1.0), n_features=32)
    assert (kernel.supremum, kernel.infimum, kernel.range) == (2.0, -2.0, 4.0)
    assert kernel.translation_invariant and not kernel.characteristic
    points = normal(20)[0]
    assert kernel.features(points).shape == (20, 32)
    np.testing.assert_array_equal(kernel.diagonal(points), np.full(20, 2.0))


@pytest.mark.parametrize("base", [Gaussian(0.7), Laplace(2.0), Gaussian(1.0) + Matern(3.0)], ids=repr)
@pytest.mark.parametrize("dim", [1, 3, 20])
def test_it_is_the_mean_cosine_of_its_frequencies(base: Kernel, dim: int) -> None:
    kernel = RandomFeatures(base, n_features=50)
    (x, y), w = normal(6, 9, dim=dim), kernel.spectrum(dim)
    assert w.shape == (25, dim)
    expected = base.supremum * np.cos((x[:, None] - y[None]) @ w.T).mean(axis=2)
    np.testing.assert_allclose(kernel(x, y), expected, atol=1e-6)


@pytest.mark.parametrize("base", [Gaussian(1.0), Laplace(2.0), Laplace(2.0, norm="l2"), Matern(1.0)], ids=repr)
@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("n_features", [600, 6000, 60_000])
def test_it_comes_as_near_to_its_base_as_independent_blocks_must(base: Kernel, dim: int, n_features: int) -> None:
    x, y = normal(10, 10, dim=dim)
    kernel = RandomFeatures(base, n_features=n_features, seed=1)
    # Hoeffding for independent blocks of dim frequencies with values in [-1, 1], at 1e-9 for all 100 pairs together
    bound = math.sqrt(2 * math.log(2 * 100 / 1e-9) / (n_features // 2 // dim))
    assert np.abs(kernel(x, y) - base(x, y)).max() <= bound


def test_the_error_falls_with_the_number_of_features() -> None:
    x, y = normal(20, 20, dim=3)
    exact = Gaussian(1.5)(x, y)

    def error(n_features: int) -> float:
        blocks = [RandomFeatures(Gaussian(1.5), n_features, seed)(x, y) for seed in range(20)]
        return float(np.sqrt(np.mean([(block - exact) ** 2 for block in blocks])))

    errors = [error(n_features) for n_features in (32, 128, 512, 2048)]
    assert all(1.5 < before / after < 2.7 for before, after in pairwise(errors))  # 1/sqrt(D)


def test_orthogonal_frequencies_beat_independent_ones() -> None:
    dim, n = 8, 64
    x, y = normal(20, 20, dim=dim)
    exact = Gaussian(4.0)(x, y)

    def squared_error(w: Array) -> float:
        return float(np.mean((np.cos((x[:, None] - y[None]) @ w.T).mean(axis=2) - exact) ** 2))

    rng = np.random.default_rng(0)
    orthogonal = np.mean([squared_error(RandomFeatures(Gaussian(4.0), 2 * n, s).spectrum(dim)) for s in range(30)])
    independent = np.mean([squared_error(rng.normal(size=(n, dim)) / 4) for _ in range(30)])
    assert orthogonal < independent / 2


def test_frequencies_are_fixed_by_seed_and_dimension_alone() -> None:
    kernel = RandomFeatures(Gaussian(1.0), 64, seed=3)
    first = kernel.features(normal(5)[0])
    kernel.features(normal(500, seed=9, offset=1e3)[0])
    kernel.features(normal(5, dim=3)[0])
    np.testing.assert_array_equal(RandomFeatures(Gaussian(1.0), 64, seed=3).features(normal(5)[0]), first)
    assert not np.allclose(RandomFeatures(Gaussian(1.0), 64, seed=4).features(normal(5)[0]), first)
    assert not np.allclose(kernel.spectrum(3)[:, :2], kernel.spectrum(2))


def test_frequencies_handed_out_cannot_change_the_kernel() -> None:
    kernel = RandomFeatures(Gaussian(1.0), 8)
    before = kernel.features(np.ones((1, 2)))
    kernel.spectrum(2)[:] = 0.0
    np.testing.assert_array_equal(kernel.features(np.ones((1, 2))), before)


def test_a_sample_at_the_end_of_float64_has_features_all_the_same() -> None:
    features = RandomFeatures(Laplace(1e-3), 64).features(np.array([[1e308, -1e308], [0.0, 0.0]]))
    np.testing.assert_allclose(np.square(features).sum(axis=1), 1, atol=1e-6)


def test_it_reads_samples_as_its_base_does() -> None:
    with pytest.raises(SampleError, match="nan in row 0"):
        RandomFeatures(Gaussian(1.0)).coerce([math.nan])


def test_it_survives_pickling_and_reads_well() -> None:
    kernel = RandomFeatures(Gaussian(1.0), n_features=np.int64(16), seed=2)  # type: ignore[arg-type]
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy == kernel and hash(copy) == hash(kernel)
    np.testing.assert_array_equal(copy.spectrum(4), kernel.spectrum(4))
    assert repr(kernel) == "RandomFeatures(kernel=Gaussian(bandwidth=1.0), n_features=16, seed=2)"


def cosine(x: NDArray[Any], y: NDArray[Any]) -> Array:
    return np.asarray(np.cos(x[:, :1] - y[:, 0]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_features": 7}, "n_features must be even, got 7"),
        ({"n_features": 0}, "n_features must be a whole number of at least 2, got 0"),
        ({"n_features": -4}, "got -4"),
        ({"n_features": 64.0}, r"got 64\.0"),
        ({"n_features": True}, "got True"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": None}, "got None"),
        ({"kernel": Linear(1.0)}, r"must be translation invariant, got Linear\(radius=1.0\); use it exactly"),
        ({"kernel": Hamming()}, "must be translation invariant, got Hamming"),
        ({"kernel": Function(cosine, infimum=-1.0)}, "must be translation invariant, got Function"),
        ({"kernel": Gaussian(1.0) * Hamming()}, "must be translation invariant"),
        ({"kernel": "gaussian"}, "got 'gaussian'"),
        ({"kernel": RandomFeatures(Gaussian(1.0))}, "has no spectral density"),
        ({"kernel": Gaussian(1.0) + RandomFeatures(Gaussian(1.0))}, "has no spectral density"),
    ],
)
def test_bad_settings_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        RandomFeatures(**({"kernel": Gaussian(1.0)} | arguments))


# ---------------------------------------------------------------- sums


@finite
@pytest.mark.parametrize("sizes", [(300, 300, 300), (2, 129, 500), (128, 256, 3)])
def test_distances_and_variances_are_those_of_the_kernel(kernel: Any, sizes: tuple[int, ...]) -> None:
    samples = normal(*sizes)
    sums = of_samples(kernel, samples)
    inner = np.array([[kernel(a, b).mean() for b in samples] for a in samples])
    own = np.diagonal(inner)
    np.testing.assert_allclose(sums.squared_distances(), own[:, None] + own - 2 * inner, atol=1e-6)  # eq. empdist
    n = np.array(sizes)
    diagonal = np.array([kernel.diagonal(a).sum() for a in samples])
    np.testing.assert_allclose(sums.variances(), (diagonal - n * own) / (n - 1), rtol=1e-6, atol=1e-6)  # eq. empvar
    np.testing.assert_array_equal(sums.counts, n)
    assert sums.counts.dtype == np.int64


@pytest.mark.parametrize("base", [Gaussian(1.5), Laplace(1.5), Matern(3.0)], ids=repr)
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_float32_features_agree_with_the_float64_formula(base: Kernel, offset: float) -> None:
    kernel, samples = RandomFeatures(base, 256), normal(1000, 700, 1200, dim=3, offset=offset)
    phases = [x @ kernel.spectrum(3).T for x in samples]
    means = np.array([np.concatenate([np.cos(p).mean(axis=0), np.sin(p).mean(axis=0)]) for p in phases]) / math.sqrt(
        128
    )
    expected = np.square(means[:, None] - means[None]).sum(axis=2)
    np.testing.assert_allclose(of_samples(kernel, samples).squared_distances(), expected, atol=1e-6)


def test_an_offset_of_the_data_hardly_moves_distances() -> None:
    kernel = RandomFeatures(Gaussian(1.5))
    near, far = (of_samples(kernel, normal(500, 500, offset=offset)) for offset in (0.0, 2.0**20))
    np.testing.assert_allclose(far.squared_distances(), near.squared_distances(), atol=1e-6)
    np.testing.assert_allclose(far.variances(), near.variances(), atol=1e-6)


def test_linear_distances_keep_their_digits_far_from_zero() -> None:
    kernel, samples = Linear(1e9), normal(400, 400, offset=1e8)
    sums = of_samples(kernel, samples)
    expected = np.square(samples[0].mean(axis=0) - samples[1].mean(axis=0)).sum()
    assert sums.squared_distances()[0, 1] == pytest.approx(expected, rel=1e-5)


@finite
def test_a_distance_to_itself_is_exactly_zero_and_none_is_negative(kernel: Any) -> None:
    samples = normal(50, 60)
    squared = of_samples(kernel, [samples[0], samples[1], samples[0]]).squared_distances()
    np.testing.assert_array_equal(np.diagonal(squared), 0.0)
    np.testing.assert_array_equal(squared, squared.T)
    assert squared.min() >= 0 and squared[0, 2] < 1e-9 < squared[0, 1]


@finite
def test_equal_samples_have_no_variance(kernel: Any) -> None:
    variances = of_samples(kernel, [np.ones((300, 2)), *normal(10)]).variances()
    assert 0 <= variances[0] < 1e-7 < variances[1]


@finite
def test_some_rows_and_columns_are_a_part_of_all_distances(kernel: Any) -> None:
    sums = of_samples(kernel, normal(20, 30, 40, 50))
    everything, rows, cols = sums.squared_distances(), np.array([3, 0]), np.array([1, 3, 2])
    np.testing.assert_allclose(sums.squared_distances(rows, cols), everything[np.ix_(rows, cols)], atol=1e-12)
    np.testing.assert_allclose(sums.squared_distances(rows=rows), everything[rows], atol=1e-12)
    np.testing.assert_allclose(sums.squared_distances(cols=cols), everything[:, cols], atol=1e-12)
    assert sums.squared_distances(rows, cols)[0, 1] == 0.0


@finite
@given(
    sizes=st.lists(st.tuples(st.integers(1, 140), st.integers(1, 140)), min_size=2, max_size=4),
    offset=st.sampled_from([0.0, 1e5]),
)
@settings(max_examples=15, deadline=None)
def test_streamed_or_merged_sums_are_those_of_one_pass(
    kernel: Any, sizes: list[tuple[int, int]], offset: float
) -> None:
    n_arms, tolerance = len(sizes), 1e-6 if isinstance(kernel, RandomFeatures) else 1e-4  # 1e-14 of squares near 1e10
    first, second = (normal(*part, seed=seed, offset=offset) for seed, part in enumerate(zip(*sizes, strict=True)))
    one_pass = of_samples(kernel, [np.concatenate(pair) for pair in zip(first, second, strict=True)])
    assert_same(of_samples(kernel, first).extended(second), one_pass, tolerance)
    assert_same(of_samples(kernel, first) + of_samples(kernel, second), one_pass, tolerance)
    rows = FeatureSums(kernel, n_arms).extended(first)
    for arm, points in enumerate(second):
        for row in points:
            rows = rows.extended([row[None] if other == arm else np.empty((0, 2)) for other in range(n_arms)])
    assert_same(rows, one_pass, tolerance)


@finite
def test_merging_does_not_depend_on_order_and_the_empty_sum_is_neutral(kernel: Any) -> None:
    a, b = of_samples(kernel, normal(10, 20)), of_samples(kernel, normal(30, 5, seed=1))
    empty = FeatureSums(kernel, 2)
    assert_same(a + b, b + a, 0.0)
    assert_same(a + empty, a, 0.0)
    assert_same(empty + a, a, 0.0)
    np.testing.assert_array_equal((empty + empty).counts, [0, 0])


@finite
def test_extending_and_merging_leave_the_old_sums_alone(kernel: Any) -> None:
    samples = normal(10, 20)
    kept = [points.copy() for points in samples]
    sums = of_samples(kernel, samples)
    counts, variances, squared = sums.counts, sums.variances(), sums.squared_distances()
    sums.extended(normal(7, 8, seed=1))
    _ = sums + of_samples(kernel, normal(7, 8, seed=2))
    sums.counts[:] = 0
    np.testing.assert_array_equal(sums.counts, counts)
    np.testing.assert_array_equal(sums.variances(), variances)
    np.testing.assert_array_equal(sums.squared_distances(), squared)
    np.testing.assert_array_equal(np.concatenate(samples), np.concatenate(kept))


@finite
def test_sums_survive_pickling_and_do_not_grow_with_samples(kernel: Any) -> None:
    small, large = (of_samples(kernel, normal(n, n)) for n in (10, 5000))
    large.squared_distances()
    copy = pickle.loads(pickle.dumps(large))
    assert_same(copy, large, 0.0)
    assert_same(copy + small, large + small, 0.0)
    assert len(pickle.dumps(of_samples(kernel, normal(5000, 5000)))) == len(pickle.dumps(small))


@finite
def test_sums_of_some_arms_merge_to_those_of_one_pass(kernel: Any) -> None:
    samples = normal(300, 0, 20, 1)
    cuts = {0: (130, 0, 0, 1), 1: (131, 0, 0, 1), 2: (131, 0, 0, 1), 3: (300, 0, 20, 1)}  # the third part has no row
    parts, done = [], (0, 0, 0, 0)
    for upto in cuts.values():
        rows = [points[a:b] for points, a, b in zip(samples, done, upto, strict=True)]
        owners = np.repeat(np.arange(4), [len(points) for points in rows])
        cut = len(owners) // 3  # in two pieces, in the middle of an arm
        points = np.concatenate(rows)
        pieces = [(owners[:cut], points[:cut]), (owners[cut:], points[cut:])]
        parts.append(ArmSums.of_rows(kernel, np.unique(owners), pieces))
        done = upto
    assert [part.arms.tolist() for part in parts] == [[0, 3], [0], [], [0, 2]]
    one_pass = of_samples(kernel, samples)
    for merged in ((parts[0] + parts[1]) + (parts[2] + parts[3]), parts[3] + parts[2] + parts[1] + parts[0]):
        assert merged.arms.tolist() == [0, 2, 3]
        found = FeatureSums.of_arms(kernel, 4, [merged])
        np.testing.assert_array_equal(found.counts, one_pass.counts)
        np.testing.assert_allclose(found._sums, one_pass._sums, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(found._squares, one_pass._squares, rtol=1e-12)
        assert found.columns == 2
        twice = FeatureSums.of_arms(kernel, 4, [merged + merged])
        np.testing.assert_array_equal(twice.counts, 2 * one_pass.counts)
        np.testing.assert_array_equal(twice._sums, 2 * found._sums)
        np.testing.assert_array_equal(twice._squares, 2 * found._squares)
    halves = FeatureSums.of_arms(kernel, 4, [parts[1], parts[2], parts[3], parts[0]])
    np.testing.assert_allclose(halves._sums, one_pass._sums, rtol=1e-12, atol=1e-9)


def test_sums_of_different_kernels_or_arms_do_not_merge() -> None:
    sums = FeatureSums(RandomFeatures(Gaussian(1.0), 64, seed=0), 3)
    with pytest.raises(SettingsError, match=r"seed=0\) with 3 arms and .*seed=1\) with 3 arms"):
        _ = sums + FeatureSums(RandomFeatures(Gaussian(1.0), 64, seed=1), 3)
    with pytest.raises(SettingsError, match=r"with 3 arms and .* with 2 arms"):
        _ = sums + FeatureSums(sums.kernel, 2)


@finite
def test_samples_with_other_columns_are_refused(kernel: Any) -> None:
    sums = of_samples(kernel, normal(5, 5))
    with pytest.raises(SampleError, match=r"have 3 columns, those before have 2"):
        sums.extended(normal(5, 5, dim=3))
    with pytest.raises(SampleError, match=r"have 3 columns, those before have 2"):
        _ = sums + of_samples(kernel, normal(5, 5, dim=3))


def test_every_arm_needs_its_array() -> None:
    with pytest.raises(SampleError, match=r"one array for each of 3 arms, got 2 arrays"):
        FeatureSums(Linear(1.0), 3).extended(normal(5, 5))


def test_arms_with_too_few_samples_are_named() -> None:
    sums = FeatureSums(Linear(100.0), 3).extended([np.ones((2, 1)), np.empty((0, 1)), np.ones((1, 1))])
    assert sums.squared_distances(np.array([0]), np.array([2])).item() == 0.0
    with pytest.raises(SampleError, match=r"arm 1: 0 samples, at least 1"):
        sums.squared_distances()
    with pytest.raises(SampleError, match=r"arm 1: 0 samples, at least 2"):
        sums.variances()
    with pytest.raises(SampleError, match=r"arm 0: 0 samples"):
        FeatureSums(Linear(1.0), 2).squared_distances()


@pytest.mark.parametrize("n_arms", [0, -1, 2.0, "3", None])
def test_the_number_of_arms_is_a_whole_number(n_arms: Any) -> None:
    with pytest.raises(SettingsError, match="n_arms must be a whole number of at least 1, got"):
        FeatureSums(Linear(1.0), n_arms)


def test_a_kernel_without_features_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"needs a kernel with features, got Gaussian.*wrap it"):
        FeatureSums(Gaussian(1.0), 2)  # type: ignore[arg-type]


# ---------------------------------------------------------------- the choice


def test_kernels_with_features_are_embedded_as_vectors_and_others_exactly() -> None:
    samples = normal(40, 50)
    features = embed(RandomFeatures(Gaussian(2.0), 4096), 2).extended(samples)
    exact = embed(Gaussian(2.0), 2).extended(samples)
    assert isinstance(features, FeatureSums) and isinstance(embed(Linear(1.0), 2), FeatureSums)
    assert not isinstance(exact, FeatureSums)
    np.testing.assert_array_equal(features.counts, exact.counts)
    np.testing.assert_allclose(features.squared_distances(), exact.squared_distances(), atol=0.05)
    np.testing.assert_allclose(features.variances(), exact.variances(), atol=0.05)


def test_means_of_the_linear_kernel_are_means_of_samples() -> None:
    kernel, samples = Linear(radius=100.0), normal(30, 40)
    squared = embed(kernel, 2).extended([kernel.coerce(points) for points in samples]).squared_distances()
    assert squared[0, 1] == pytest.approx(np.square(samples[0].mean(axis=0) - samples[1].mean(axis=0)).sum())
    with pytest.raises(KernelBoundsError, match="norm 300"):
        kernel.coerce([300.0])
