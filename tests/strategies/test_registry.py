"""One list of strategies, open to others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest

import kabc
from kabc import AnytimeKABC, SettingsError, StrategyEntry
from kabc.strategies import entry_of, make_strategy, needs_kernel, strategies
from kabc.strategies.entry import GuaranteeKind
from kabc.strategies.registry import PRODUCT, REGISTRY, Registry

RECONSTRUCTIONS = {"atboc", "ebc", "lucbboc", "boc-elim", "tas-fw"}
GROUPS = {"red": [0.1, 0.2] * 60, "blue": [0.8, 0.9] * 60}


@pytest.fixture(autouse=True)
def _nothing_stays_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(REGISTRY, "registered", {})


def mine(name: str = "mine", **facts: object) -> StrategyEntry:
    return StrategyEntry(name=name, make=AnytimeKABC, **facts)  # type: ignore[arg-type]


# ---------------------------------------------------------------- what there is


def test_every_entry_says_where_it_comes_from_what_it_assumes_and_what_it_needs() -> None:
    for name, entry in strategies().items():
        assert name == entry.name
        assert entry.paper and entry.assumptions and entry.needs
        assert entry.guarantee in get_args(GuaranteeKind)


def test_the_product_comes_first() -> None:
    product = ["anytime", "tolerance", "kabc", "kabc-tight"]
    assert list(strategies())[:4] == [entry.name for entry in PRODUCT] == product


def test_a_reconstruction_says_so_in_its_title() -> None:
    assert {name for name, entry in strategies().items() if entry.reconstruction} == RECONSTRUCTIONS
    for name, entry in strategies().items():
        assert entry.title == (f"{name} (reconstruction)" if name in RECONSTRUCTIONS else name)
    assert mine(title="Mine", reconstruction=True).title == "Mine (reconstruction)"


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("distributional-kmeans", "use 'kernel-kmeans' with the option start='k-means\\+\\+'"),
        ("boc-uniform-heuristic", "use 'boc-uniform' with the option threshold='heuristic'"),
        ("kabc-manole-ramdas-tight", "use 'kabc-manole-ramdas'"),
    ],
)
def test_a_name_that_is_gone_says_what_to_write(name: str, cure: str) -> None:
    with pytest.raises(SettingsError, match=cure):
        entry_of(name)
    with pytest.raises(SettingsError, match="belongs to a strategy of kabc"):
        kabc.register_strategy(mine(name))


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(SettingsError, match=r"no strategy 'anytme'; did you mean 'anytime'\? there are anytime, tol"):
        needs_kernel("anytme")


# ---------------------------------------------------------------- registering


def test_a_registered_strategy_runs_by_its_name() -> None:
    kabc.register_strategy(mine())
    assert "mine" in strategies()
    found, usual = (kabc.cluster(GROUPS, 2, strategy=name, seed=0, watch=False) for name in ("mine", "anytime"))
    assert found.certified
    assert found.labels == usual.labels
    assert found.n_samples == usual.n_samples


def test_a_name_is_taken_only_once() -> None:
    kabc.register_strategy(mine())
    kabc.register_strategy(mine())  # the same again is no harm
    other = mine(paper="another")
    with pytest.raises(SettingsError, match=r"'mine' is registered already; .* replace=True"):
        kabc.register_strategy(other)
    kabc.register_strategy(other, replace=True)
    assert entry_of("mine") == other


@pytest.mark.parametrize("name", ["anytime", "boc"])
def test_a_name_of_kabc_is_never_free(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name!r} belongs to a strategy of kabc; choose another name"):
        kabc.register_strategy(mine(name), replace=True)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda: mine(""), "name must be a word"),
        (lambda: mine("two words"), "name must be a word"),
        (lambda: mine("a,b"), "name must be a word"),
        (lambda: StrategyEntry(name="mine", make="AnytimeKABC"), "make of strategy 'mine' must be"),  # type: ignore[arg-type]
        (lambda: mine(guarantee="sure"), "guarantee of strategy 'mine' must be one of 'proven'"),
        (lambda: kabc.register_strategy(AnytimeKABC), "takes a kabc.StrategyEntry"),  # type: ignore[arg-type]
    ],
)
def test_bad_entries_are_refused(bad: object, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        bad()  # type: ignore[operator]


def test_made_by_name_is_made_by_class() -> None:
    assert isinstance(make_strategy("anytime", 4, 2, 0.1, None), AnytimeKABC)


# ---------------------------------------------------------------- installed packages


def test_installed_strategies_are_loaded_only_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def found() -> Iterator[tuple[str, StrategyEntry]]:
        looked.append(1)
        yield "a-package", mine("theirs")

    monkeypatch.setattr("kabc.strategies.registry.installed_entries", found)
    fresh = Registry()
    fresh.include(PRODUCT)
    assert fresh["anytime"].name == "anytime"
    assert not looked
    assert fresh["theirs"].name == "theirs"
    assert "theirs" in fresh.all()
    assert len(looked) == 1


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["anytime"],
            "'anytime' belongs to a strategy of kabc; ask the authors of p0 to rename theirs, or uninstall p0",
        ),
        (["x", "x"], "two installed packages have a strategy 'x': p0 and p1; uninstall one of them"),
    ],
)
def test_installed_names_that_clash_are_refused_each_time(
    names: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [(f"p{number}", mine(name, paper=str(number))) for number, name in enumerate(names)]
    monkeypatch.setattr("kabc.strategies.registry.installed_entries", lambda: iter(entries))
    fresh = Registry()
    fresh.include(PRODUCT)
    for _ in range(2):
        with pytest.raises(SettingsError, match=message):
            fresh.all()
    assert fresh["anytime"].make is AnytimeKABC
