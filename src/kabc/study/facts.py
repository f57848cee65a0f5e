"""What is known of the arms of a run before they are drawn. Decisions are made with it, never with live arms.

A study keeps the facts of the first process that had the arms. Other processes must have the same arms.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from kabc.core.errors import ArmError, SettingsError
from kabc.core.words import counted

_WORDS = {
    "one_at_a_time": ("was drawn one sample at a time", "was drawn many samples at a time"),
    "paired": ("shared its inputs with other arms", "shared nothing with other arms"),
    "in_order": ("was a table or an array", "was no table and no array"),
    "in_blocks": ("could be cut into blocks", "could not be cut into blocks"),
}


@dataclass(frozen=True)
class ArmFacts:
    """One arm. `size`: samples that it can give in all, None: any number.

    `in_order`: its rows have an order of their own, which can be looked at. `in_blocks`: it gives whole blocks alone,
    once it is cut. `fingerprint` differs where its rows do; empty where it is not known. `recorded`: it has only
    samples of an earlier study, and their number depends on their values.
    """

    size: int | None = None
    one_at_a_time: bool = False
    paired: bool = False
    in_order: bool = False
    in_blocks: bool = False
    fingerprint: str = ""
    recorded: bool = False

    def expect_same(self, here: ArmFacts) -> None:
        """Refuse an arm that is another one than this."""
        if self.size != here.size:
            raise ArmError(
                f"it had {_rows(self.size)} when the study began, here it has {_rows(here.size)}; pass the same data, "
                "or use another study name"
            )
        for name, (true, false) in _WORDS.items():
            if getattr(self, name) != getattr(here, name):
                was = true if getattr(self, name) else false
                raise ArmError(f"it {was} when the study began, and this is not so here; pass the same kind of arm")
        if self.fingerprint and here.fingerprint and self.fingerprint != here.fingerprint:
            raise ArmError(
                "its rows are not those that the study began with; pass the same data, or use another study name"
            )


def _rows(size: int | None) -> str:
    return "no end" if size is None else counted(size, "row")


@dataclass(frozen=True)
class Facts:
    """All arms, and what is known of their samples, as for `kabc.arms.base.NamedArms`."""

    arms: tuple[ArmFacts, ...]
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    price: float = 0.0
    types: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, dict[float, str]] = field(default_factory=dict)
    source: str = ""

    def __len__(self) -> int:
        return len(self.arms)

    def expect_same(self, here: Facts, names: Sequence[Hashable]) -> None:
        """Refuse arms that are others than these."""
        if self.columns != here.columns:
            raise SettingsError(
                f"samples had the columns {list(self.columns)} when the study began, here they have "
                f"{list(here.columns)}; pass the same data, or use another study name"
            )
        for name, mine, other in zip(names, self.arms, here.arms, strict=True):
            try:
                mine.expect_same(other)
            except ArmError as error:
                raise error.of_arm(name) from None
