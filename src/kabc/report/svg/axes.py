"""Pictures with an axis of samples, as SVG."""

from __future__ import annotations

import math

import numpy as np

from kabc.report.counts import SampleCounts
from kabc.report.svg.canvas import WIDTH, Canvas, colour_of, fitting, number, room_for, ticks
from kabc.report.trace import EvidenceTrace, power_of_two


def draw_trace(trace: EvidenceTrace) -> str:
    """Lines over samples, with a logarithmic axis (powers of two). The threshold is a separate line."""
    left, top, right, bottom = 34.0, 20.0, WIDTH - 8, 226.0
    canvas = Canvas(WIDTH, 282)
    end = float(trace.n_samples[-1])
    reached = max((float(np.nanmax(line.strength, initial=0.0)) for line in trace.lines), default=0.0)
    lowest, highest = -4, int(np.clip(math.ceil(math.log2(max(reached, 1.0))), 1, 4))  # powers of two
    octaves = highest - lowest
    for power in range(lowest, highest + 1):
        y = bottom - (power - lowest) / octaves * (bottom - top)
        canvas.line(left, y, right, y, "grid" if power else "threshold")
        canvas.text(left - 5, y + 3, power_of_two(power), "s", "end")
    canvas.text(left, top - 8, "evidence / threshold", "s")
    for tick in ticks(0, end):
        x = left + tick / end * (right - left)
        canvas.line(x, bottom, x, bottom + 4, "axis")
        canvas.text(x, bottom + 15, number(tick), "s", "middle")
    canvas.text(right, bottom + 28, "samples of all arms", "s", "end")
    for line in trace.lines:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (np.log2(np.clip(line.strength, 2.0**lowest, 2.0**highest)) - lowest) / octaves
        known = ~np.isnan(share)
        xs = left + trace.n_samples[known] / end * (right - left)
        ys = bottom - share[known] * (bottom - top)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs.tolist(), ys.tolist(), strict=True))
        css = "l-together" if line.together else "l-apart"
        canvas.add("polyline", css, tip=f"{line.first} and {line.second}", points=path)
    legend = (("l-apart", "different groups"), ("l-together", "one group"), ("threshold", "threshold"))
    x = left
    for css, text in legend:
        canvas.line(x, bottom + 46, x + 22, bottom + 46, css)
        canvas.text(x + 27, bottom + 49.5, text, "s")
        x += 48 + len(text) * 5.2
    above = sum(not line.together and float(np.nanmax(line.strength, initial=0.0)) > 1 for line in trace.lines)
    return canvas.picture(
        f"Evidence of {len(trace.lines)} pairs over {end:,.0f} samples; {above} crossed the threshold"
    )


def draw_counts(counts: SampleCounts) -> str:
    """One bar for each arm. Or for each group: a bar up to the median, and a whisker from smallest to largest."""
    names = counts.nodes.names
    room, height = room_for(names, 136.0), 16.0
    shorts = fitting(names, room - 8)
    canvas = Canvas(WIDTH, len(names) * height + 4)
    scale = (WIDTH - room - 92) / max(int(counts.most.max()), 1)
    for row, (name, group) in enumerate(zip(names, counts.nodes.groups, strict=True)):
        y = row * height + 2
        least, median, most = int(counts.least[row]), float(counts.median[row]), int(counts.most[row])
        canvas.text(room - 5, y + 11, shorts[row], "t", "end", tip=name)
        canvas.add("rect", colour_of(group), x=room, y=y + 2, width=max(median * scale, 1), height=height - 5)
        if least < most:
            middle = y + height / 2
            canvas.line(room + least * scale, middle, room + most * scale, middle, "whisker")
        said = f"{least:,}" if least == most else f"{number(median)} ({least:,} to {most:,})"
        canvas.text(room + most * scale + 5, y + 11, said, "s")
    return canvas.picture(f"Samples of each {'group' if counts.nodes.are_groups else 'arm'}")
