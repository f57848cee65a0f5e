"""The list of strategies: those of kabc, those that people register, and those that come with installed packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kabc.core.errors import SettingsError
from kabc.core.kernels import Kernel
from kabc.core.words import did_you_mean
from kabc.strategies.anytime.strategy import AnytimeKABC
from kabc.strategies.base import Strategy
from kabc.strategies.entry import StrategyEntry
from kabc.strategies.kabc import KABC
from kabc.strategies.plugins import installed_entries
from kabc.strategies.tolerance.either import tolerance_strategy

IID = "samples of an arm are independent and identically distributed"
INDEPENDENT = "arms are independent of each other"
EMBEDDINGS_DIFFER = "groups differ in the mean embedding of the kernel"

_PAPER = "Thuot, Vogt, Ghoshdastidar, Verzelen (2026), arXiv 2601.07535"
_ENDS = "the number of groups, a largest number of samples, or a smallest separation"

PRODUCT: tuple[StrategyEntry, ...] = (
    StrategyEntry(
        name="anytime",
        make=AnytimeKABC,
        paper="this package (docs/anytime.md): KABC's question answered by betting",
        assumptions=(IID, INDEPENDENT),
        guarantee="proven",
        needs=("the number of groups, if it is known",),
    ),
    StrategyEntry(
        name="tolerance",
        make=tolerance_strategy,
        paper="this package (docs/tolerance.md): same within a tolerance, without the number of groups",
        assumptions=(IID, INDEPENDENT),
        guarantee="proven",
        needs=("a tolerance: the smallest difference that matters",),
    ),
    StrategyEntry(
        name="kabc",
        make=KABC,
        needs_kernel=True,
        paper=f"{_PAPER}, as published",
        assumptions=(IID, EMBEDDINGS_DIFFER),
        guarantee="proven",
        needs=(_ENDS, "a kernel (else a pilot)"),
    ),
    StrategyEntry(
        name="kabc-tight",
        make=KABC.tight,
        needs_kernel=True,
        paper=f"{_PAPER}, with every improvement that keeps its proof (docs/theory.md)",
        assumptions=(IID, INDEPENDENT, EMBEDDINGS_DIFFER),
        guarantee="proven",
        needs=(_ENDS, "a kernel (else a pilot)"),
    ),
)


class Registry:
    """Strategies by name. Built-in names cannot be taken by others; installed ones are loaded when they are needed."""

    def __init__(self) -> None:
        self._built_in: dict[str, StrategyEntry] = {}
        self.registered: dict[str, StrategyEntry] = {}  # in this process alone
        self._installed: dict[str, StrategyEntry] | None = None  # None: not looked for yet
        self._renamed: dict[str, str] = {}

    def include(self, entries: Iterable[StrategyEntry], renamed: Mapping[str, str] | None = None) -> None:
        """Strategies of kabc, and what to write instead of names that are gone."""
        self._built_in |= {entry.name: entry for entry in entries}
        self._renamed |= renamed or {}

    def register(self, entry: StrategyEntry, *, replace: bool = False) -> None:
        """Add a strategy for the rest of this process; it hides an installed one of the same name."""
        if not isinstance(entry, StrategyEntry):
            raise SettingsError(
                f"register_strategy takes a kabc.StrategyEntry, got {entry!r}; "
                "e.g. StrategyEntry(name='energy', make=Energy)"
            )
        self._expect_free(entry, "choose another name")
        if self.registered.get(entry.name, entry) != entry and not replace:
            raise SettingsError(
                f"a strategy {entry.name!r} is registered already; choose another name, or pass replace=True"
            )
        self.registered[entry.name] = entry

    def _expect_free(self, entry: StrategyEntry, cure: str) -> None:
        if entry.name in self._built_in or entry.name in self._renamed:
            raise SettingsError(f"the name {entry.name!r} belongs to a strategy of kabc; {cure}")

    def all(self) -> dict[str, StrategyEntry]:
        """All there are, by name."""
        return self._built_in | self._from_packages() | self.registered

    def __getitem__(self, name: str) -> StrategyEntry:
        for known in (self._built_in, self.registered):
            if name in known:
                return known[name]
        if name in self._renamed:
            raise SettingsError(f"there is no strategy {name!r} any more; use {self._renamed[name]}")
        everything = self.all()
        if name not in everything:
            raise SettingsError(
                f"there is no strategy {name!r}; {did_you_mean(name, everything)}there are {', '.join(everything)}"
            )
        return everything[name]

    def _from_packages(self) -> dict[str, StrategyEntry]:
        if self._installed is None:
            found: dict[str, StrategyEntry] = {}
            origin: dict[str, str] = {}
            for package, entry in installed_entries():
                self._expect_free(entry, f"ask the authors of {package} to rename theirs, or uninstall {package}")
                if entry.name in found:
                    raise SettingsError(
                        f"two installed packages have a strategy {entry.name!r}: {origin[entry.name]} and {package}; "
                        "uninstall one of them"
                    )
                found[entry.name], origin[entry.name] = entry, package
            self._installed = found
        return self._installed


REGISTRY = Registry()
REGISTRY.include(PRODUCT)


def register_strategy(entry: StrategyEntry, *, replace: bool = False) -> None:
    """Add a strategy to the list, for the rest of this process.

    Parameters
    ----------
    entry : StrategyEntry
        Its name must be free.
    replace : bool
        Whether it may take the place of one that was registered before. Those of kabc stay.

    Examples
    --------
    >>> import kabc
    >>> kabc.register_strategy(kabc.StrategyEntry(name="mine", make=kabc.AnytimeKABC))
    >>> kabc.cluster([[0.1] * 60, [0.9] * 60], 2, strategy="mine", seed=0).certified
    True
    """
    REGISTRY.register(entry, replace=replace)


register = register_strategy


def strategies() -> dict[str, StrategyEntry]:
    """All strategies by name: those of kabc, installed ones, registered ones."""
    return REGISTRY.all()


def entry_of(name: str) -> StrategyEntry:
    """The strategy of that name; an unknown one is refused with the names there are."""
    return REGISTRY[name]


def needs_kernel(name: str) -> bool:
    """Whether the strategy of that name tests with a kernel; an unknown name is refused."""
    return entry_of(name).needs_kernel


def make_strategy(
    name: str,
    n_arms: int | None,
    n_clusters: int | None,
    delta: float,
    kernel: Kernel | None,
    options: Mapping[str, Any] | None = None,
) -> Strategy:
    """The strategy of that name; its own checks refuse bad values."""
    return entry_of(name).build(n_arms, n_clusters, delta, kernel, options)
