"""What pictures of pairs have in common: a square of cells with names at its sides, and frames around groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kabc.report.svg.canvas import WIDTH, Canvas, fitting, room_for, written


@dataclass(frozen=True)
class Square:
    """Where the cells are: n rows of a side each, after the room for names."""

    n: int
    room: float
    cell: float

    @classmethod
    def of(cls, names: Sequence[str], room: float) -> Square:
        """Cells that are as large as the picture allows. `room` is the most that names get."""
        own = room_for(names, room)
        return cls(len(names), own, float(np.clip((WIDTH - own - 1) / len(names), 13.0, 34.0)))

    @property
    def end(self) -> float:
        """The lower edge of the cells, and the right one."""
        return self.room + self.n * self.cell

    def canvas(self, below: float) -> Canvas:
        """A canvas with this room below the cells."""
        return Canvas(max(WIDTH, self.end + 1), self.end + below)

    def at(self, place: int) -> float:
        """Where a row or column begins."""
        return self.room + place * self.cell

    def write_names(self, canvas: Canvas, names: Sequence[str]) -> None:
        """Names on the left and, turned, on top."""
        for row, (name, short) in enumerate(zip(names, fitting(names, self.room - 8), strict=True)):
            middle = self.at(row) + 0.5 * self.cell
            canvas.text(self.room - 4, middle + 3.5, short, "t", "end", tip=name)
            turned = f"rotate(-90 {written(middle + 3.5)} {written(self.room - 4)})"
            canvas.add("text", "t", short, name, x=middle + 3.5, y=self.room - 4, transform=turned)

    def write_own(self, canvas: Canvas, row: int, group: int) -> None:
        """The number of a group, counted from 0, on the diagonal."""
        x = self.at(row) + self.cell / 2
        canvas.text(x, x + 3.5, str(group + 1), "t own", "middle")

    def frame(self, canvas: Canvas, start: int, end: int) -> None:
        """A frame around the cells of a group."""
        side = (end - start) * self.cell
        canvas.add("rect", "frame", x=self.at(start), y=self.at(start), width=side, height=side)
