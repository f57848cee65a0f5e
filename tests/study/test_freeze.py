"""A frozen state goes on exactly as the one that was frozen; what is damaged or made up is refused."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kabc
from kabc.core.kernels import Gaussian
from kabc.running.record import Kept, Tracer
from kabc.running.strings import Strings
from kabc.running.watch import Watch
from kabc.storage.errors import StorageError
from kabc.strategies import Strategy, strategies
from kabc.strategies.gate.strategy import Gate
from kabc.study import freeze as freezing
from kabc.study.freeze import NotFrozenError, digest_of, freeze, thaw
from tests.testing.test_strategies import MAKERS, by_name, drawn

MARK = "a study"


def tolerant(**settings: Any) -> Strategy:
    return kabc.strategies.entry_of("tolerance").build(4, settings.pop("n_clusters", None), 0.5, None, settings)


MORE: dict[str, Callable[[], Strategy]] = {
    "anytime, K unknown": lambda: kabc.AnytimeKABC(4, None, 0.1),
    "anytime, blocks": lambda: kabc.AnytimeKABC(4, 2, 0.1, block=3),
    "anytime, many arms": lambda: kabc.AnytimeKABC(70, 3, 0.1, seed=4),
    "anytime, paired": lambda: kabc.AnytimeKABC(4, 2, 0.1, paired=True),
    "tolerance and K": lambda: tolerant(n_clusters=2, tolerance="0.5 sd"),
    "tolerance, quantiles": lambda: tolerant(tolerance={"p50": 1, "p90": 2}),
    "gate": lambda: Gate(2, None, 0.1, tolerance="0.5 sd"),
    "kabc, features": lambda: kabc.KABC(4, 2, 0.1, kabc.RandomFeatures(Gaussian(2.0)), keep_samples=True),
}
ALL = [*strategies(), *MAKERS, *MORE]


def made(name: str) -> Strategy:
    if name in MORE:
        return MORE[name]()
    return MAKERS[name](0.5) if name in MAKERS else by_name(name, 0.5)


def told(name: str, strategy: Strategy, number: int) -> dict[int, NDArray[Any]]:
    """What one round is told: groups that are close, so that no run ends at once."""

    def one(arm: int, count: int) -> NDArray[Any]:
        rng = np.random.default_rng([number, arm])
        if name in MORE:
            return rng.normal(1.0 * (arm % 2), 1.0, (count, 1 if "quantiles" in name else 2))
        return drawn(name, (0.0, 1.0), arm, count, rng)

    return {arm: one(arm, count) for arm, count in strategy.ask().items()}


def seen(strategy: Strategy) -> bytes:
    """All that can be seen of it, to the last bit."""
    looked = (strategy.ask(), strategy.evidence(), strategy.recommend(), tuple(strategy.rounds), strategy.guarantee())
    return freeze((*looked, strategy.status, strategy.n_groups_at_least, strategy.n_samples), MARK)


@pytest.mark.parametrize("name", ALL)
def test_a_thawed_strategy_goes_on_exactly_as_the_one_that_was_frozen(name: str) -> None:
    strategy = made(name)
    when = int(np.random.default_rng(ALL.index(name)).integers(0, 8))
    for number in range(when):
        if not strategy.stopped:
            strategy.tell(told(name, strategy, number))
    twin: Strategy = thaw(freeze(strategy, MARK), MARK)
    assert type(twin) is type(strategy)
    assert seen(twin) == seen(strategy)
    for number in range(when, when + 6):
        if strategy.stopped:
            break
        samples = told(name, strategy, number)
        strategy.tell(samples)
        twin.tell(samples)
        assert seen(twin) == seen(strategy)
    assert freeze(twin, MARK) == freeze(strategy, MARK)


def test_what_a_run_keeps_beside_its_strategy_goes_on_as_well() -> None:
    rng = np.random.default_rng(0)
    strategy = kabc.AnytimeKABC(3, 2, 0.1)
    books = (Watch(3, seed=5), Kept(3), Tracer(3), Strings({"value": "category"}))

    def hear(state: tuple[Watch, Kept, Tracer, Strings], rows: list[NDArray[Any]], texts: list[str]) -> None:
        watch, kept, tracer, strings = state
        for arm, one in enumerate(rows):
            watch.hear(arm, one)
            kept.add(arm, one)
        tracer.add(sum(map(len, rows)), strategy.evidence())
        if not strings.decided:
            strings.decide([texts])
        strings.numbers(texts)

    def looked(state: tuple[Watch, Kept, Tracer, Strings]) -> bytes:
        watch, kept, tracer, strings = state
        found = (watch.assumptions("abc"), watch.lines("abc"), kept.by_name("abc"), tracer.trace(), strings.notes)
        return freeze((*found, strings.encoder and strings.encoder.levels), MARK)

    hear(books, [rng.normal(size=(30, 2)) for _ in range(3)], ["red", "blue"] * 4)
    twins = thaw(freeze(books, MARK), MARK)
    for _ in range(3):
        rows, texts = [rng.normal(size=(400, 2)).cumsum(axis=0) for _ in range(3)], ["red", "green"] * 9
        hear(books, rows, texts)
        hear(twins, rows, texts)
        assert looked(twins) == looked(books)
    assert books[0].assumptions("abc")  # there was something to find


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    "value",
    [
        None,
        (True, False, 0, -1, 2**200, "", "a\nb\x00\ud800", 0.1, -0.0, float("inf"), b"", b"\x00\xff"),
        [(), [], {}, set(), frozenset({1, "x", (2, 3)}), deque([1, 2], maxlen=2)],
        {(1, "a"): {"b": None}, frozenset({1}): 2, 1.5: 3, None: 4, b"x": 5},
        [np.float64(0.1), np.int32(-7), np.bool_(True), np.str_("text"), np.datetime64("NaT")],
    ],
)
def test_values_come_back_as_they_were(value: object) -> None:
    back = thaw(freeze(value, MARK), MARK)
    assert back == value or "NaT" in repr(value)
    assert repr(back) == repr(value)


def test_arrays_come_back_with_their_types_their_order_in_memory_and_as_writeable_as_before() -> None:
    base = np.arange(24.0).reshape(2, 3, 4)
    fixed = np.arange(3)
    fixed.flags.writeable = False
    odd = [
        base,
        base.T,
        base.transpose(1, 0, 2),
        base[:, ::2],
        base[::-1],
        np.asfortranarray(base[0]),
        np.zeros((0, 3)),
    ]
    odd += [np.zeros((0, 3)), np.array("x"), np.array(["a", "bcd"]), np.array([None, "a", (1, 2)], dtype=object), fixed]
    back = thaw(freeze(odd, MARK), MARK)
    for one, two in zip(odd, back, strict=True):
        assert np.array_equal(one, two)
        assert (one.dtype, one.shape, one.flags.writeable) == (two.dtype, two.shape, two.flags.writeable)
        order = [np.argsort([-abs(stride) for stride in array.strides], kind="stable").tolist() for array in (one, two)]
        assert order[0] == order[1] or not one.size
    assert back[0] is not back[1]
    assert not np.shares_memory(back[0], base)


def test_what_is_held_twice_is_one_thing_and_circles_close() -> None:
    shared, circle = np.zeros(2), [1]
    circle.append(circle)  # type: ignore[arg-type]
    one, two, ring = thaw(freeze([{"a": shared}, (shared,), circle], MARK), MARK)
    assert one["a"] is two[0]
    assert ring[1] is ring


def test_values_that_are_nested_deeper_than_calls_can_be_are_no_problem() -> None:
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    back, depth = thaw(freeze(deep, MARK), MARK), 0
    while back:
        back, depth = back[0], depth + 1
    while deep:  # Python would end them one within the other
        deep = deep[0]
    assert depth == 50_000


def test_a_random_generator_goes_on_where_it_was_and_spawns_the_same_children() -> None:
    rng = np.random.default_rng([3, 4])
    rng.integers(0, 9, dtype=np.int32)  # half of a word is kept for the next call
    rng.spawn(2)
    twin = thaw(freeze(rng, MARK), MARK)
    assert twin.integers(0, 1 << 31, 5, dtype=np.int32).tolist() == rng.integers(0, 1 << 31, 5, dtype=np.int32).tolist()
    assert twin.spawn(1)[0].random() == rng.spawn(1)[0].random()


@pytest.mark.parametrize(
    "value",
    [lambda: 1, print, np.random.Generator(np.random.MT19937(0)), object(), ValueError("x"), kabc.KABC, range(3)],
)
def test_what_is_no_plain_state_is_not_frozen(value: object) -> None:
    with pytest.raises(NotFrozenError):
        freeze([1, value], MARK)


def test_a_function_of_your_own_is_not_frozen() -> None:
    kernel = kabc.Function(lambda x, y: x @ y.T, supremum=1.0, infimum=-1.0)
    with pytest.raises(NotFrozenError, match="function"):
        freeze(kabc.KABC(4, 2, 0.1, kernel), MARK)


# ---------------------------------------------------------------- other versions, damage, and what was made up


def test_a_state_of_other_code_or_of_another_study_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    content = freeze([1], MARK)
    assert thaw(content, "another study") is None
    monkeypatch.setattr(freezing, "code_fingerprint", lambda: "other code")
    assert thaw(content, MARK) is None


def test_every_changed_byte_is_seen() -> None:
    content = freeze(made("kabc-tight"), MARK)
    line_end = content.index(b"\n")
    for at in [*range(line_end + 1, len(content), 37), len(content) - 1]:
        with pytest.raises(StorageError, match="damaged"):
            thaw(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :], MARK)
    for end in (0, 10, line_end, line_end + 1, len(content) - 1):
        with pytest.raises(StorageError, match="damaged"):
            thaw(content[:end], MARK)


def forged(nodes: object, blobs: tuple[bytes, ...] = (), sizes: list[list[int]] | None = None) -> bytes:
    """A snapshot made by hand, with a right sum."""
    parts = [json.dumps(nodes).encode(), *blobs]
    body = b"".join(parts)
    head = {"code": freezing.code_fingerprint(), "mark": MARK, "sum": hashlib.sha256(body).hexdigest()}
    head["sizes"] = sizes or [[len(part)] * 2 for part in parts]  # type: ignore[assignment]
    return json.dumps(head).encode() + b"\n" + body


def an_object(name: str, names: list[str] | None = None, values: list[Any] | None = None) -> list[Any]:
    return [[1, "object", name, names or [], values or []], [0, "tuple", [[1]]]]


def test_a_snapshot_made_by_hand_is_read() -> None:
    assert thaw(forged([[1, "list", [1, "a"]], [0, "tuple", [[1]]]]), MARK) == [1, "a"]
    assert thaw(forged(an_object("kabc.strategies.kabc:Schedule", ["n_arms"], [7])), MARK).n_arms == 7


@pytest.mark.parametrize(
    "name",
    [
        "os:_wrap_close",
        "subprocess:Popen",
        "builtins:object",
        "kabc.arms.commands:CommandArm",
        "kabc.cli.app:app",
        "kabc.__main__:x",
        "kabc.core.files:Path",
        "kabc.core.errors:KabcError",
        "kabc.core.samples:as_rows",
        "kabc.strategies.kabc:KABC.__init__",
        "kabc.strategies.kabc:KABC.__class__",
        "kabc.strategies.base:Stepwise",
        "kabc.strategies.nowhere:X",
        "kabc.strategies.kabc.:KABC",
        "kabc.core.kernels.stationary:np.ndarray",
        "../x:y",
        "",
    ],
)
def test_a_class_that_is_not_a_record_of_ours_is_refused(name: str) -> None:
    with pytest.raises(StorageError, match="damaged"):
        thaw(forged(an_object(name)), MARK)


SCHEDULE = "kabc.strategies.kabc:Schedule"


@pytest.mark.parametrize(
    ("nodes", "blobs"),
    [
        (an_object(SCHEDULE, ["__class__"], [1]), ()),
        (an_object(SCHEDULE, ["unknown"], [1]), ()),
        (an_object(SCHEDULE, ["n_arms"], []), ()),
        (an_object("kabc.strategies.kabc:KABC", ["__dict__"], [1]), ()),
        ([[0, "tuple", [[1]]], [1, "tuple", [[0]]]], ()),  # a circle of tuples
        ([[0, "tuple", [[5]]]], ()),
        ([[0, "tuple", [[-1]]]], ()),
        ([[0, "tuple", [[True]]]], ()),
        ([[0, "tuple", [[0, 0]]]], ()),
        ([[0, "tuple", [{}]]], ()),
        ([[1, "list", []], [1, "list", []]], ()),
        ([[0, "__init__", []]], ()),
        ([[0, ["list"], []]], ()),
        ([[1, "dict", [1], []], [0, "tuple", [[1]]]], ()),
        ([[1, "list", []], [2, "set", [[1]]], [0, "tuple", [[2]]]], ()),
        ([[1, "array", "<f8", [10**15], [0], True, 0], [0, "tuple", [[1]]]], (b"12345678",)),
        ([[1, "array", "<f8", [-1], [0], True, 0], [0, "tuple", [[1]]]], (b"12345678",)),
        ([[1, "array", "<f8", [1], [1], True, 0], [0, "tuple", [[1]]]], (b"12345678",)),
        ([[1, "array", "|O8", [1], [0], True, 0], [0, "tuple", [[1]]]], (b"12345678",)),
        ([[1, "array", "<U0", [10**15], [0], True, 0], [0, "tuple", [[1]]]], (b"",)),
        ([[1, "array", "<f8", [1], [0], True, -1], [0, "tuple", [[1]]]], (b"12345678",)),
        ([[1, "array", "<f8", [1], [0], True, 9], [0, "tuple", [[1]]]], (b"12345678",)),
        ([[1, "objects", [10**15], []], [0, "tuple", [[1]]]], ()),
        ([[1, "scalar", "<f8", "zz"], [0, "tuple", [[1]]]], ()),
        ([[1, "seeds", [1], [], 10**12, 0], [0, "tuple", [[1]]]], ()),
        ([[1, "generator", {"bit_generator": "MT19937"}, [1]], [0, "tuple", [[1]]]], ()),
        ([[1, "named", "kabc.strategies.kabc:Schedule", []], [0, "tuple", [[1]]]], ()),
        ([], ()),
        ({}, ()),
        (3, ()),
    ],
)
def test_nodes_that_cannot_be_are_refused(nodes: object, blobs: tuple[bytes, ...]) -> None:
    with pytest.raises(StorageError, match="damaged"):
        thaw(forged(nodes, blobs), MARK)


def test_sizes_that_cannot_be_are_refused_before_memory_is_taken() -> None:
    bomb = zlib.compress(bytes(50_000_000))
    for sizes in ([[1 << 40, len(bomb)]], [[1000, len(bomb)]], [[-1, -1]], [[10, 10], [10, 10]]):
        with pytest.raises(StorageError, match="damaged"):
            thaw(forged(None, (bomb,), [[4, 4], *sizes]), MARK)


def test_json_that_is_nested_without_end_is_refused() -> None:
    with pytest.raises(StorageError, match="damaged"):
        thaw(b"[" * 200_000, MARK)
    deep = b"[" * 200_000 + b"]" * 200_000
    head = {"code": freezing.code_fingerprint(), "mark": MARK, "sizes": [[len(deep)] * 2]}
    head["sum"] = hashlib.sha256(deep).hexdigest()
    with pytest.raises(StorageError, match="damaged"):
        thaw(json.dumps(head).encode() + b"\n" + deep, MARK)


def test_contents_that_are_kept_elsewhere_are_named_and_not_written() -> None:
    samples = np.random.default_rng(0).normal(size=(5_000, 3))
    state = {"samples": samples, "turned": samples.T, "sums": samples.sum(axis=0)}
    frozen = freeze(state, "x", {digest_of(samples.tobytes())})
    assert len(frozen) < 2_000
    back = thaw(frozen, "x", (one.tobytes() for one in (state["sums"], samples)))
    for name, value in state.items():
        assert np.array_equal(back[name], value), name
    assert back["samples"].flags.writeable


@pytest.mark.parametrize("elsewhere", [[], [b"12345678"]])
def test_a_state_whose_samples_are_gone_is_damaged(elsewhere: list[bytes]) -> None:
    samples = np.arange(3.0)
    frozen = freeze({"samples": samples}, "x", {digest_of(samples.tobytes())})
    with pytest.raises(StorageError, match="the snapshot is damaged"):
        thaw(frozen, "x", elsewhere)
