"""`kabc.cluster` with random arms and settings, good and bad."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.strategies import strategies
from tests.fuzz.harness import Ended, Record, every_part, expect_sound, fuzzed
from tests.fuzz.invariants import expect_plain, expect_whole

HOSTILE_NAMES = [
    "",
    " ",
    "x\ny",
    "\x1b[2J",
    "\u202ex",
    "\ud800",
    "n" * 3000,
    0,
    -1,
    1.5,
    float("nan"),
    None,
    True,
    (1, ("a",)),
    b"x",
]
HOSTILE_NUMBERS = [
    0,
    -1,
    1,
    2.0,
    1e-320,
    1e308,
    float("nan"),
    float("inf"),
    10**400,
    "2",
    None,
    True,
    2j,
    [],
    np.int8(2),
]
KERNELS: list[Any] = [
    None,
    kabc.Gaussian(1.0),
    kabc.Laplace(2.0),
    kabc.Linear(20.0),
    kabc.Hamming(),
    kabc.RationalQuadratic(1.0),
    lambda rows: kabc.Gaussian(float(np.std(rows)) or 1.0),
    3,
]

NEEDED: dict[Any, dict[str, Any]] = {
    "acb": {"min_gap": 1.0},
    "acb-star": {"hanson_wright": 1.0},
    "boc-linear": {"distance_ratio": 0.1},
    "tas-fw": {"alphabet": [0, 1, 2, 3]},
}


def one_of(rng: np.random.Generator, options: list[Any]) -> Any:
    return options[rng.integers(len(options))]


def good_values(rng: np.random.Generator, kind: int, shift: float, n: int, d: int) -> Any:
    size = (n, d) if d > 1 or rng.random() < 0.3 else n
    match kind:
        case 0:
            return rng.normal(shift, 1.0, size)
        case 1:
            return rng.integers(0, 3, size) + round(shift)
        case 2:
            return np.full(size, shift)
        case 3:
            return rng.standard_cauchy(size) + shift
        case 4:
            return rng.normal(shift, 1.0, size).astype(np.float16)
        case 5:
            return rng.random(size) < 0.5 + 0.1 * (shift > 0)
        case _:
            return (rng.normal(shift, 1.0, size) * 10.0 ** rng.integers(-300, 300)).astype(np.longdouble)


def bad_values(rng: np.random.Generator, n: int) -> Any:
    when = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    return one_of(
        rng,
        [
            *(np.full(n, bad) for bad in (np.nan, np.inf, 1e308, 1j)),
            *(
                [bad] * n
                for bad in (None, "x", b"x", Decimal("0.1"), Fraction(1, 3), 10**400, when, object(), [1, [2]])
            ),
            *(np.zeros((n, 2, 2)), np.zeros((n, 0)), np.zeros(n + 1), np.array(3.0), [[1]] * (n - 1) + [[1, 2]]),
            *(np.ma.masked_array(np.zeros(n), np.arange(n) % 2 == 0), np.zeros(n, "M8[s]"), np.zeros(n, "i4,f4")),
            *(None, 3, "text", {}, {1.0}, iter([1.0] * n)),
        ],
    )


def an_arm(rng: np.random.Generator, kind: int, d: int, bad: bool) -> Any:
    shift = float(one_of(rng, [0, 0, 3, 9]))
    if rng.random() < 0.4:
        rows = int(one_of(rng, [1, 5, 40, 100, 300]))
        return bad_values(rng, rows) if bad else good_values(rng, kind, shift, rows, d)
    when = rng.integers(1, 40)
    calls = [0]

    def draw(n: int, random: np.random.Generator) -> Any:
        calls[0] += 1
        if bad and calls[0] >= when:
            return bad_values(random, n) if when % 3 else 1 / 0
        return good_values(random, kind, shift, n, d)

    return draw


def some_arms(rng: np.random.Generator, bad: bool) -> Any:
    n = int(rng.choice([0, 1, 2, 3, 4, 6, 15], p=[0.01, 0.02, 0.2, 0.3, 0.3, 0.15, 0.02]))
    kind, d = int(rng.integers(7)), int(rng.choice([1, 1, 1, 2, 5]))
    arms = [an_arm(rng, kind, d, bad and rng.random() < 0.4) for _ in range(n)]
    if rng.random() < 0.3:
        return arms
    names = [one_of(rng, HOSTILE_NAMES) if rng.random() < 0.2 else f"arm {i}" for i in range(n)]
    return dict(zip(names, arms, strict=True))


def settings_of(rng: np.random.Generator, bad: bool) -> dict[str, Any]:
    chosen = one_of(rng, [None, "anytime", "anytime", "kabc", "kabc-tight", *strategies()])
    given: dict[str, Any] = {
        "n_clusters": one_of(rng, [None, 2, 2, 2, 3]),
        "delta": one_of(rng, [0.05, 0.3, 1.0, 1e-9]),
        "strategy": chosen,
        "max_samples": int(rng.integers(1, 1500)),
        "seed": int(rng.integers(2**32)),
    }
    if chosen == "kabc-permutation":
        given["delta"] = max(given["delta"], 0.05)  # a tiny one asks for millions of shuffles: minutes, and no fault
    if chosen in NEEDED:
        given["strategy_options"] = NEEDED[chosen]
    if rng.random() < 0.3:
        given["kernel"] = one_of(rng, KERNELS[:-1])
    if rng.random() < 0.1:
        given["block"] = one_of(rng, [1, 2, 7, "auto"])
    if rng.random() < 0.1:
        given["workers"] = 2
    if not bad:
        return given
    for _ in range(int(rng.integers(1, 3))):
        name = one_of(
            rng,
            [
                "n_clusters",
                "delta",
                "strategy",
                "max_samples",
                "seed",
                "kernel",
                "block",
                "workers",
                "pilot",
                "min_separation",
                "strategy_options",
                "check_k",
                "watch",
                "arm",
                "values",
                "types",
                "missing",
                "order",
                "names",
                "executor",
                "on_worker_loss",
            ],
        )
        given[name] = one_of(
            rng, [*HOSTILE_NUMBERS, "nothing", {}, {"x": 1}, {"sigma": -1}, object, [1, 2], KERNELS[1]]
        )
    if not isinstance(given["max_samples"], int) or given["max_samples"] > 3000:
        given["n_clusters"] = 2  # something must end it
        given["max_samples"] = min(given["max_samples"], 3000) if isinstance(given["max_samples"], float) else "many"
    return given


def one_case(rng: np.random.Generator) -> Ended:
    """A quarter of the cases has bad arms, a quarter bad settings."""
    kind = rng.random()
    arms, given = some_arms(rng, kind < 0.25), settings_of(rng, 0.25 <= kind < 0.5)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = kabc.cluster(arms, progress=False, **given)
        except kabc.KabcError as error:
            expect_plain(error)
            return "refused"
        most = given["max_samples"] if type(given["max_samples"]) is int else None
        expect_whole(result, most=most, strategy=given["strategy"] or "", report=bool(rng.random() < 0.1))
    return "answered"


@every_part
@pytest.mark.timeout(1800)
def test_every_run_ends_in_a_whole_answer_or_is_refused_by_name(part: int, record_property: Record) -> None:
    expect_sound(fuzzed("cluster", 3000, one_case, part), 0.1, record_property)
