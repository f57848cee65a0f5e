"""What is known of the arms of a run before they are drawn. Decisions are made with it, never with live arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ArmFacts:
    """One arm. `size`: samples that it can give in all, None: any number.

    `in_order`: its rows have an order of their own, which can be looked at. `in_blocks`: it gives whole blocks alone,
    once it is cut. `recorded`: it has only samples of an earlier study, and their number depends on their values.
    """

    size: int | None = None
    one_at_a_time: bool = False
    paired: bool = False
    in_order: bool = False
    in_blocks: bool = False
    recorded: bool = False


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
