"""Pictures of the values of a column, as SVG: group by group, or one arm against all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kabc.report.odd_ones import OddArm
from kabc.report.svg.canvas import LETTER, WIDTH, Canvas, colour_of, fitting, number, stroke_of, ticks, written
from kabc.report.values import Column


def draw_column(column: Column, groups: Sequence[int]) -> str:
    """One row for each group: how often each value occurs. Numbers also have a strip with the quantiles."""
    left, height, top = 52.0, 40.0, 6.0
    bottom = top + len(groups) * height
    long = bool(column.levels) and max(map(len, column.levels)) * LETTER > (WIDTH - left) / len(column.levels)
    canvas = Canvas(WIDTH, bottom + (62 if long else 20))
    tallest = max(float(column.shares.max()), 1e-9)
    step = (WIDTH - left - 8) / column.shares.shape[1]
    if column.band is not None:
        low, high = (_place(column, end, left) for end in column.band)
        tip = f"the tolerance: {number(column.band[0])} to {number(column.band[1])}"
        canvas.add("rect", "band", tip=tip, x=low, y=top, width=max(high - low, 0.6), height=bottom - top)
    for row, group in enumerate(groups):
        base = top + (row + 1) * height - 9
        canvas.text(0, base, f"group {group + 1}", "t")
        canvas.line(left, base, WIDTH - 8, base, "grid")
        for place, share in enumerate(column.shares[row].tolist()):
            if share > 0:
                tall = max(share / tallest * (height - 14), 0.6)
                gap = step * 0.12 if column.levels else 0.0
                tip = f"group {group + 1}, {column.levels[place]}: {share:.1%}" if column.levels else ""
                x = left + place * step + gap
                canvas.add("rect", colour_of(group), tip=tip, x=x, y=base - tall, width=step - 2 * gap, height=tall)
        if not column.levels:
            _quantiles(canvas, column, row, left, base + 4)
    _value_axis(canvas, column, left, bottom, long)
    return canvas.picture(_summary(column, groups))


def _place(column: Column, value: float, left: float) -> float:
    low, high = float(column.edges[0]) / 2, float(column.edges[-1]) / 2  # halves: the difference is always finite
    return left + float(np.clip((value / 2 - low) / (high - low), 0, 1)) * (WIDTH - left - 8)


def _quantiles(canvas: Canvas, column: Column, row: int, left: float, y: float) -> None:
    if np.isnan(column.quantiles[row]).any():  # this group has no value
        return
    low, lower, middle, upper, high = (_place(column, float(value), left) for value in column.quantiles[row])
    canvas.line(low, y, high, y, "whisker")
    canvas.line(lower, y, upper, y, "box")
    canvas.line(middle, y - 4, middle, y + 4, "median")


def _value_axis(canvas: Canvas, column: Column, left: float, y: float, turned: bool) -> None:
    step = (WIDTH - left - 8) / column.shares.shape[1]
    for place, (level, short) in enumerate(zip(column.levels, fitting(column.levels, 70), strict=True)):
        x = left + (place + 0.5) * step
        if turned:
            turn = f"rotate(-40 {written(x)} {written(y + 10)})"
            canvas.add("text", "s", short, level, x=x, y=y + 10, text_anchor="end", transform=turn)
        else:
            canvas.text(x, y + 12, level, "s", "middle")
    if not column.levels:
        for tick in ticks(float(column.edges[0]), float(column.edges[-1])):
            x = _place(column, tick, left)
            canvas.line(x, y, x, y + 4, "axis")
            canvas.text(x, y + 15, number(tick), "s", "middle")


def _summary(column: Column, groups: Sequence[int]) -> str:
    if column.levels:
        parts = [
            f"group {g + 1} mostly {column.levels[int(np.argmax(s))]}"
            for g, s in zip(groups, column.shares, strict=True)
        ]
    else:
        parts = [
            f"group {g + 1} median {q[2]:.4g}" for g, q in zip(groups, column.quantiles, strict=True) if q[2] == q[2]
        ]
    if column.band is not None:
        parts.append(f"tolerance around the median of the largest group {column.band[0]:.4g} to {column.band[1]:.4g}")
    return f"Values of {column.name}: " + ", ".join(parts)


# ------------------------------------------------------------ one arm against all others

_ODD_WIDTH, _ODD_HEIGHT = 260.0, 92.0


def draw_odd(arm: OddArm) -> str:
    """The values of all other arms as a grey area, and those of the arm as a coloured outline over it."""
    column = arm.column
    left, right, bottom, top = 4.0, _ODD_WIDTH - 4, _ODD_HEIGHT - 18, 8.0
    canvas = Canvas(_ODD_WIDTH, _ODD_HEIGHT)
    tallest = max(float(column.shares.max()), 1e-9)
    mine, others = (bottom - column.shares[row] / tallest * (bottom - top) for row in (0, 1))
    step = (right - left) / column.shares.shape[1]
    gap = step * 0.1 if column.levels else 0.0
    canvas.add("path", "others", d=_outline(others.tolist(), left, bottom, step, gap))
    canvas.add("path", f"mine {stroke_of(arm.group)}", d=_outline(mine.tolist(), left, bottom, step, gap))
    canvas.line(left, bottom, right, bottom, "axis")
    if column.levels:
        shorts = fitting(column.levels, max(step - 2, 12.0))
        for place, (level, short) in enumerate(zip(column.levels, shorts, strict=True)):
            canvas.text(left + (place + 0.5) * step, bottom + 12, short, "s", "middle", tip=level)
    else:
        low, high = float(column.edges[0]), float(column.edges[-1])
        for tick in ticks(low, high, 4):
            x = left + (tick / 2 - low / 2) / (high / 2 - low / 2) * (right - left)
            anchor = "start" if x < left + 12 else "end" if x > right - 12 else "middle"
            canvas.line(x, bottom, x, bottom + 3, "axis")
            canvas.text(x, bottom + 13, number(tick), "s", anchor)
    return canvas.picture(f"{column.name} of {arm.name} against all other arms: {'; '.join(arm.effects)}")


def _outline(tops: Sequence[float], left: float, bottom: float, step: float, gap: float) -> str:
    """Steps from the left to the right; with a gap, single bars."""
    if gap:
        ends = f"h{written(step - 2 * gap)}V{written(bottom)}"
        return "".join(
            f"M{written(left + i * step + gap)} {written(bottom)}V{written(y)}{ends}" for i, y in enumerate(tops)
        )
    return (
        f"M{written(left)} {written(bottom)}"
        + "".join(f"V{written(y)}H{written(left + (i + 1) * step)}" for i, y in enumerate(tops))
        + f"V{written(bottom)}"
    )
