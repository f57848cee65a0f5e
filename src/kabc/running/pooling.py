"""The two arms of a check: a reference, which may be a pool of several arms, and the arm that is checked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

from kabc.arms.base import Arm, NamedArms, as_arm
from kabc.arms.pooled import PooledDraws, PooledRows, pooled
from kabc.core.errors import SettingsError
from kabc.core.words import counted
from kabc.results.gate import pool_name
from kabc.results.values import Assumption
from kabc.running.sources import ArmLike, Arms, Sources
from kabc.running.watch import Watch
from kabc.study.tickets import rng_of


def pooled_sources(
    opened: Arms,
    given: Sequence[tuple[Hashable, ArmLike]],
    this: Hashable,
    reference: Sequence[Hashable],
    seed: int,
    *,
    watch: bool,
) -> tuple[Sources, Watch | None]:
    """The reference and this arm, in this order, and who watches them.

    `given` are the arms that were opened, with their names.
    """
    made = _made(given, {this, *reference}, seed)
    for name, arm in made.items():
        if getattr(arm, "paired", False):
            raise SettingsError(
                "its samples share their prompts or inputs with those of other arms (paired), and a check takes them "
                "as independent; leave out paired="
            ).of_arm(name)
    pool = made[reference[0]] if len(reference) == 1 else _pooled(made, reference, seed)
    about = opened if isinstance(opened, NamedArms) else NamedArms({})
    two = cast("dict[str, Arm]", {pool_name(this, reference): pool, this: made[this]})
    notes = (*about.notes, *_pool_notes(pool))
    both = NamedArms(two, notes, about.columns, about.price, about.types, about.levels, source=about.source)
    sources = Sources(both, None, seed)
    if not watch:
        return sources, None
    several = isinstance(pool, PooledRows | PooledDraws)
    return sources, PoolWatch(cast(Any, pool), seed) if several else Watch(len(sources), seed)


def _made(given: Sequence[tuple[Hashable, ArmLike]], wanted: set[Hashable], seed: int) -> dict[Hashable, Arm]:
    """The arms that are drawn. Their rows are shuffled with keys that no draw has."""
    keyed = enumerate(given)
    return {name: as_arm(name, source, rng_of(seed, 0, 0, i + 1)) for i, (name, source) in keyed if name in wanted}


def _pooled(made: Mapping[Hashable, Arm], reference: Sequence[Hashable], seed: int) -> PooledRows | PooledDraws:
    return pooled({name: made[name] for name in reference}, rng_of(seed, 0, 0, 0))


def _pool_notes(pool: object) -> tuple[str, ...]:
    if isinstance(pool, PooledRows):
        return (f"reference: all rows of {counted(len(pool.parts), 'arm')} together, in random order",)
    if isinstance(pool, PooledDraws):
        return (f"reference: each sample comes from one of {counted(len(pool.parts), 'arm')}, chosen at random",)
    return ()


class PoolWatch(Watch):
    """Watches each arm of a pool by itself, and the arm that is checked."""

    def __init__(self, pool: PooledRows | PooledDraws, seed: int) -> None:
        super().__init__(len(pool.parts) + 1, seed)
        self._pool = pool
        pool.hear = self._listen

    def look(self, arms: Sequence[Arm], block: int = 1) -> None:
        """Look at the own order of the parts, before the first round."""
        pool: Any = arms[0]  # cut into blocks, where there are blocks
        super().look([*pool.parts, arms[1]], block)

    def hear(self, arm: int, samples: Any) -> None:
        """The next samples of the arm that is checked; those of the pool are heard part by part."""
        if arm == 1:
            self._listen(len(self._pool.parts), samples)

    def assumptions(
        self, names: Sequence[Hashable], columns: Sequence[str] = (), types: Mapping[str, str] | None = None
    ) -> tuple[Assumption, ...]:
        """What the samples refute; of a part of the pool, it is said of the pool."""
        found = super().assumptions([*map(_Part, self._pool.names), names[1]], columns, types)
        return tuple(
            Assumption(names[0], f"{one.what} ({one.arm.name})", one.evidence) if isinstance(one.arm, _Part) else one
            for one in found
        )


class _Part:
    """An arm of the pool: never the same as the arm that is checked, whatever their names are."""

    def __init__(self, name: Hashable) -> None:
        self.name = name
