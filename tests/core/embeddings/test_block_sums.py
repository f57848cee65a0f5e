"""Every way of computing kernel sums gives the double sum of the paper, to 1e-6 in squared distances."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import kabc.core.embeddings
from kabc.core.arrays import Array
from kabc.core.embeddings.block_sums import Engine, block_sums
from kabc.core.errors import SettingsError
from kabc.core.kernels import Gaussian, Kernel, Laplace, Matern, RationalQuadratic
from tests.core.embeddings.examples import (
    ENGINES,
    SIZES,
    counting,
    distances,
    double_sums,
    embedded,
    everyone,
    looped,
    normal,
)
from tests.seeded_runs import seeded_runs

sums = importlib.import_module("kabc.core.embeddings.block_sums")  # the function hides its module


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


def test_large_calls_use_the_loop_and_small_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []
    loop = sums._loop_sums

    def spy(kernel: Kernel, left: Any, right: Any, pairs: Any, required: bool) -> Array | None:
        used.append(len(pairs))
        found: Array | None = loop(kernel, left, right, pairs, required)
        return found

    monkeypatch.setattr(sums, "_loop_sums", spy)
    monkeypatch.setattr(sums, "_LOOP_FROM", 200 * 200)
    arms = normal(23, (100, 200), 2)
    block_sums(Gaussian(1.0), arms, arms, np.array([[0, 1]]))
    assert not used
    block_sums(Gaussian(1.0), arms, arms, np.array([[1, 1]]))
    assert used


def test_without_numba_large_calls_use_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    arms = normal(24, (100, 200), 2)
    monkeypatch.setattr(sums, "_LOOP_FROM", 0)
    monkeypatch.delattr(kabc.core.embeddings, "loops", raising=False)
    monkeypatch.setitem(sys.modules, "kabc.core.embeddings.loops", None)
    found = block_sums(Gaussian(1.0), arms, arms, everyone(2))
    assert (found == block_sums(Gaussian(1.0), arms, arms, everyone(2), "numpy")).all()
    with pytest.raises(SettingsError):
        block_sums(Gaussian(1.0), arms, arms, everyone(2), "numba")


def test_a_run_of_the_published_rule_is_the_same_with_and_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "_LOOP_FROM", 0)
    run = seeded_runs()["kabc/fixed kernel"]
    compiled = run.result()
    monkeypatch.setitem(sys.modules, "kabc.core.embeddings.loops", None)
    monkeypatch.delattr(kabc.core.embeddings, "loops")
    plain = run.result()
    assert (plain.labels, plain.samples_per_arm) == (compiled.labels, compiled.samples_per_arm)
    assert (plain.evidence.told_in_round == compiled.evidence.told_in_round).all()
    assert plain.evidence.strength == pytest.approx(compiled.evidence.strength, abs=1e-6)
    assert (plain.evidence.strength != compiled.evidence.strength).any()  # they were two ways indeed


def test_numba_is_imported_by_large_calls_only() -> None:
    program = (
        "import sys, numpy as np; from kabc.core.embeddings.gram import GramSums;"
        "from kabc.core.kernels import Gaussian;"
        "x = np.random.default_rng(0).normal(size=(2, 300, 1));"
        "GramSums(Gaussian(1.0), 2).extended(list(x)).squared_distances(); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
