"""Values that come again bit for bit in one arm alone are doubted; where they repeat by themselves they are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kabc

Draw = Callable[[int, np.random.Generator], NDArray[np.float64]]
Make = Callable[[np.random.Generator], Draw]

MODES: dict[str, dict[str, Any]] = {
    "K": {"n_clusters": 2},
    "no K": {},
    "tolerance": {"tolerance": "0.5 sd"},
}


def honest(rng: np.random.Generator) -> Draw:
    return lambda n, of_run: of_run.normal(size=n)


def reseeds(rng: np.random.Generator) -> Draw:
    """The same seed at each call, so the same first values."""
    seed = int(rng.integers(1 << 32))
    return lambda n, of_run: np.random.default_rng(seed).normal(size=n)


def constant(rng: np.random.Generator) -> Draw:
    value = rng.normal()
    return lambda n, of_run: np.full(n, value)


def stream(values: Iterator[float]) -> Draw:
    return lambda n, of_run: np.array([next(values) for _ in range(n)])


def cached(rng: np.random.Generator) -> Draw:
    def values() -> Iterator[float]:
        value = rng.normal()
        while True:
            yield value
            value = value if rng.random() < 0.8 else rng.normal()

    return stream(values())


def times(count: int) -> Make:
    return lambda rng: stream(value for _ in iter(int, 1) for value in [rng.normal()] * count)


FAULTS: dict[str, tuple[Make, int]] = {  # and how many of four arms have it
    "one arm reseeds itself": (reseeds, 1),
    "two arms reseed themselves": (reseeds, 2),
    "all arms reseed themselves": (reseeds, 4),
    "one value for ever": (constant, 1),
    "cache": (cached, 1),
    "each value 3 times": (times(3), 1),
    "each value 10 times": (times(10), 1),
}


def four_arms(make: Make, n_faulty: int, seed: int) -> dict[str, Draw]:
    rngs = np.random.default_rng(seed).spawn(4)
    return {f"arm {i}": (make if i < n_faulty else honest)(rng) for i, rng in enumerate(rngs)}


def is_wrong(result: kabc.Result) -> bool:
    """All laws are equal, and somebody who reads the answer believes otherwise."""
    told = bool(result.evidence.n_told_apart) or result.n_groups_at_least > 1 or result.certified
    return told and result.status != "doubtful" and not result.assumptions


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", FAULTS)
def test_arms_of_one_law_are_not_told_apart_by_copies(fault: str, mode: str) -> None:
    make, n_faulty = FAULTS[fault]
    runs = 10 if mode == "K" else 2
    wrong = 0
    for seed in range(runs):
        arms = four_arms(make, n_faulty, seed)
        wrong += is_wrong(kabc.cluster(arms, **MODES[mode], seed=seed, max_samples=400, progress=False))
    assert wrong <= runs // 10  # 5 of 100 are allowed, and 0 of 100 were measured


@pytest.mark.parametrize("make", [reseeds, constant])
def test_the_first_line_says_which_arm_and_what_to_do(make: Make, tmp_path: Path) -> None:
    result = kabc.cluster(four_arms(make, 1, 0), 2, seed=0, max_samples=400, progress=False)
    assert max(result.samples_per_arm.values()) < 20  # decided early, and doubted as early
    assert result.status == "doubtful"
    (found,) = result.assumptions
    assert found.arm == "arm 0"
    first = str(result).splitlines()[0]
    assert first.startswith("Doubtful: in arm 0 values repeat bit for bit (")
    assert "a seed, a cache?), so nothing is certified (" in first
    assert "Draw each sample anew: no own seed, no cache, no copied row; or watch=False if values are meant to" in first
    assert "doubt: arm 0: values repeat bit for bit" in str(result)
    assert "(a heuristic)" in str(result)
    assert result.n_groups_at_least == 1
    assert result.conditional_on.startswith("no sample is a copy of one before")
    result.save(tmp_path / "answer.json")
    assert kabc.load(tmp_path / "answer.json") == result


def test_values_that_are_meant_to_repeat_can_be_said_to() -> None:
    result = kabc.cluster(four_arms(constant, 1, 0), 2, seed=0, max_samples=400, watch=False, progress=False)
    assert result.status == "decided"


def test_a_check_an_outlier_search_and_a_study_doubt_it_too(tmp_path: Path) -> None:
    arms = four_arms(constant, 1, 0)
    checked = kabc.check(arms, this="arm 0", tolerance="0.5 sd", seed=0, max_samples=400, progress=False)
    assert checked.verdict == "open"
    assert [one.arm for one in checked.assumptions] == ["arm 0"]
    found = kabc.outliers(arms, seed=0, max_samples=400, progress=False)
    assert found.status == "doubtful"
    assert "arm 0: values repeat bit for bit" in str(found)
    study = kabc.create_study(
        "study", arms=list(arms), n_clusters=2, seed=0, max_samples=400, storage=tmp_path / "kabc.db"
    )
    assert study.run(arms, progress=False).status == "doubtful"


def test_copied_rows_of_one_table_among_others_are_doubted() -> None:
    rng = np.random.default_rng(0)
    tables = {
        "a": rng.normal(size=200),
        "b": rng.permutation(np.repeat(rng.normal(size=100), 2)),
        "c": rng.normal(size=200),
    }
    result = kabc.cluster(tables, 2, seed=0, max_samples=60, progress=False)
    assert [one.arm for one in result.assumptions] == ["b"]


# ------------------------------------------------------------ values that repeat by themselves


def law(draw: Callable[[np.random.Generator, int], Any]) -> Draw:
    return lambda n, rng: np.asarray(draw(rng, n), dtype=np.float64)


def rounded(mean: float, spread: float, digits: int) -> Draw:
    return law(lambda rng, n: np.round(rng.normal(mean, spread, n), digits))


def rain(share: float, scale: float = 1.0) -> Draw:
    """Many values are the same one: 0, which may be shifted with the others."""
    return law(
        lambda rng, n: (np.where(rng.random(n) < share, 0.0, rng.exponential(5.0, n)) - 1.2345 * (scale != 1)) / scale
    )


HONEST: dict[str, tuple[Draw, Draw]] = {  # the first arm, and the two others
    "rounded, narrow beside wide": (rounded(100, 0.05, 2), rounded(100, 5, 2)),
    "rounded far more narrowly": (rounded(100, 0.02, 2), rounded(100, 500, 2)),
    "counts": (law(lambda rng, n: rng.poisson(3, n)), law(lambda rng, n: rng.poisson(10_000, n))),
    "whole milliseconds": (
        law(lambda rng, n: np.floor(rng.exponential(20, n))),
        law(lambda rng, n: np.floor(rng.exponential(2000, n))),
    ),
    "ticks of a clock": (
        law(lambda rng, n: np.floor(rng.exponential(5e-6, n) * 3e6) / 3e6),
        law(lambda rng, n: np.floor(rng.exponential(5e-3, n) * 3e6) / 3e6),
    ),
    "0 and 1": (law(lambda rng, n: rng.random(n) < 0.02), law(lambda rng, n: rng.random(n) < 0.5)),
    "a status code": (law(lambda rng, n: np.full(n, 200)), law(lambda rng, n: rng.choice([200, 404, 500], n))),
    "zeros in one arm": (rain(0.3), rain(0.0)),
    "zeros, standardised, in all": (rain(0.6, 3.3221), rain(0.4, 3.3221)),
    "a time limit": (
        law(lambda rng, n: np.minimum(rng.exponential(40, n), 30.0)),
        law(lambda rng, n: rng.exponential(3, n)),
    ),
    "constants": (law(lambda rng, n: np.zeros(n)), law(lambda rng, n: np.ones(n))),
    "single precision": (
        law(lambda rng, n: np.round(rng.normal(100, 0.05, n), 2).astype(np.float32)),
        law(lambda rng, n: np.round(rng.normal(100, 5, n), 2).astype(np.float32)),
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_repeats_by_itself_is_not_doubted(name: str) -> None:
    first, other = HONEST[name]
    for seed in range(3):
        for most in (30, 120):
            result = kabc.cluster([first, other, other], 2, seed=seed, max_samples=most, progress=False)
            assert not any("repeat" in one.what for one in result.assumptions)


def test_texts_and_categories_are_not_doubted() -> None:
    """An endpoint at temperature 0 gives one text, and that is what it is."""

    def talks(n: int, rng: np.random.Generator) -> list[str]:
        return [
            f"the answer is {rng.integers(10**9)}, or so I believe after {rng.integers(10**9)} steps" for _ in range(n)
        ]

    texts = {"cold": lambda n, rng: ["the answer is 42, and I am quite sure of that"] * n, "warm": talks, "hot": talks}
    colours = {
        "red": lambda n, rng: rng.choice(["red", "reddish"], n),
        "blue": lambda n, rng: rng.choice([f"blue {i}" for i in range(40)], n),
        "green": lambda n, rng: ["green"] * n,
    }
    rows = {"arm": np.repeat(["a", "b", "c"], 60), "said": np.repeat(["yes", "no", "perhaps"], 60)}
    for arms, more in ((texts, {}), (colours, {"types": {"value": "category"}}), (frame(rows), {"arm": "arm"})):
        result = kabc.cluster(arms, 2, seed=0, max_samples=60, progress=False, **more)
        assert not any("repeat" in one.what for one in result.assumptions)


def frame(columns: dict[str, Any]) -> Any:
    import polars

    return polars.DataFrame(columns)


def test_failures_that_are_values_are_no_copies(tmp_path: Path) -> None:
    """A missing value becomes 0 with a mark, in all rows of an arm."""
    rng = np.random.default_rng(0)
    rows = frame({"arm": np.repeat(["fails", "a", "b"], 60), "seconds": [*[None] * 60, *rng.exponential(size=120)]})
    result = kabc.cluster(rows, 2, arm="arm", missing="encode", seed=0, max_samples=60, progress=False)
    assert result.assumptions == ()


# ------------------------------------------------------------ few samples


def test_a_contradiction_after_few_samples_says_so_too() -> None:
    """More groups than asked for are certified: that rests on the same samples as a decision."""
    arms = [lambda n, rng, mean=mean: rng.normal(mean, 1.0, n) for mean in (0.0, 30.0, 60.0, 90.0)]
    result = kabc.cluster(arms, 2, seed=0, progress=False)
    assert result.status == "contradicted"
    assert "few samples: only a strong dependence or drift would show in " in str(result).splitlines()[1]
