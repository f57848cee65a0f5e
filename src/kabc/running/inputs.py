"""The first argument of `kabc.cluster`: arms, or a table that holds their samples."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from kabc.core.errors import SettingsError
from kabc.core.kernels import Hamming, Kernel
from kabc.running.engines.base import Engine
from kabc.running.sources import Arms


class Frame(Protocol):
    """A data frame of any library."""

    @property
    def columns(self) -> Any:
        """Names of its columns."""


TableLike = str | os.PathLike[str] | Sequence[str] | Frame


@dataclass(frozen=True)
class Reading:
    """How to read a table: columns of arms, samples and order, types of columns, missing values."""

    arm: str | None
    values: str | Sequence[str] | None
    types: Mapping[str, str] | None
    missing: str | None
    order: str | None = None
    where: str | None = None

    def opened(
        self,
        source: Arms | TableLike,
        by_kernel: bool,
        seed: int,
        *,
        texts: bool = False,
        engine: Engine | None = None,
    ) -> Arms:
        """The arms of a table, or the arms as they were given; these may have `types` if they may return `texts`.

        `engine` reads the table if it can: where it is.
        """
        if not self.is_table(source):
            self._refuse(("types",) if texts else ())
            return cast(Arms, source)
        from kabc.arms.tables import table_arms

        spread = None if engine is None else engine.parts_of(source, self._needed)
        if spread is not None:
            self._refuse_on_a_cluster()
        arms = table_arms(
            cast(Any, source) if spread is None else spread[0],
            arm=self.arm,
            values=self.values,
            types=cast(Any, self.types),  # table_arms checks it, and names what is allowed
            missing=cast(Any, self.missing or "raise"),
            text="characters" if by_kernel else "features",
            seed=seed,
            order=self.order,
            where=self.where,
            parts=None if spread is None else spread[1],
        )
        for line in arms.warnings:
            warnings.warn(line, UserWarning, stacklevel=4)  # the line that calls kabc.cluster
        return arms

    def is_table(self, source: object) -> bool:
        """Whether the source holds samples of all arms, and is no collection of arms."""
        if isinstance(source, str | os.PathLike):
            return True
        if isinstance(source, Mapping | np.ndarray):
            return False
        if isinstance(source, Sequence):  # file names, if arm= says that it is a table
            return self.arm is not None and bool(source) and all(isinstance(one, str | os.PathLike) for one in source)
        return hasattr(type(source), "columns")  # of the type: polars warns where a lazy frame is asked for its columns

    @property
    def _needed(self) -> list[str] | None:
        """The columns that are read; None: all of them."""
        if self.arm is None or self.values is None:
            return None
        return [self.arm, *([self.values] if isinstance(self.values, str) else self.values)]

    def _refuse_on_a_cluster(self) -> None:
        for name, cure in (("order", "sort the table"), ("where", "filter the data frame")):
            if getattr(self, name) is not None:
                raise SettingsError(
                    f"{name}={getattr(self, name)!r} needs all rows in one place, and the executor reads this table in "
                    f"parts; {cure}, or leave executor= out"
                )

    def _refuse(self, allowed: Sequence[str]) -> None:
        for name in ("arm", "values", "types", "missing", "order", "where"):
            if name not in allowed and getattr(self, name) is not None:
                raise SettingsError(
                    f"{name}={getattr(self, name)!r} is for a table; leave it out, or pass a data frame or the path of "
                    "a file as the first argument"
                )


def suitable_kernel(arms: object) -> Kernel | None:
    """Hamming if no column is a number: texts and categories can only be equal or not. Else None."""
    kinds = set(getattr(arms, "types", {}).values())
    return Hamming() if kinds and "number" not in kinds else None
