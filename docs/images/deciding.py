"""The picture of the README: a run that decides itself. `python docs/images/deciding.py` writes deciding.svg beside it.

Eight sensors of `make demo`; four report the wrong sign. It is a real run with a fixed seed. The picture moves by CSS
alone. Where nothing moves, on paper or if the reader wants no motion, it shows the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kabc
from kabc.core.arrays import Array
from kabc.demo import DELTA, SEED, Sampler, stories
from kabc.report.style import DARK, LIGHT
from kabc.running.snapshots import Snapshot

ROUND, END = 0.5, 5.0  # seconds that a round and the answer are shown
CELL, LEFT, TOP, WIDTH, HEIGHT = 36, 100, 96, 800, 440
BARS, SCALE = 490, 13  # where bars begin; units of a sample
COLOURS = ("page", "ink", "soft", "edge", "grid", "apart", "together", "g0", "g1")


@dataclass(frozen=True)
class Frame:
    """What is known after a round."""

    strength: Array  # (N, N), 1 is the threshold
    told_apart: NDArray[np.bool_]  # (N, N)
    counts: Sequence[int]  # samples of each arm
    words: str


def run() -> tuple[list[str], list[Frame], kabc.Result]:
    """Names in the order of the arms, all rounds, and the answer."""
    _, sensors = stories()
    arms = {name: Sampler(sensors.pools[pool]) for name, pool in sensors.truth(SEED).items()}
    frames: list[Frame] = []

    def heard(seen: Snapshot) -> None:
        evidence = seen.strategy.evidence()
        apart = int(evidence.told_apart.sum()) // 2
        words = f"round {seen.number}: {seen.n_samples} samples, {apart} of {seen.n_pairs} pairs told apart"
        counts = [arm.count for arm in arms.values()]
        frames.append(Frame(np.nan_to_num(evidence.strength), evidence.told_apart, counts, words))

    result = kabc.cluster(arms, len(sensors.pools), DELTA, seed=SEED, progress=False, on_round=heard)
    return list(arms), frames, result


def moving(name: str, states: Sequence[str], *, steps: bool = False) -> str:
    """Keyframes through the states, one a round; the last one stays until the picture starts again."""
    total = ROUND * len(states) + END
    marks = [(f"{100 * ROUND * place / total:.4g}%", state) for place, state in enumerate(states)]
    kept = [mark for place, mark in enumerate(marks) if place == 0 or not steps or mark[1] != marks[place - 1][1]]
    body = "".join(f"{at}{{{state}}}" for at, state in [*kept, ("100%", states[-1])])
    timing = "step-end" if steps else "ease-out"
    return f"@keyframes {name}{{{body}}}#{name}{{{states[-1]};animation:{name} {total:g}s {timing} infinite}}"


def cells(names: Sequence[str], order: Sequence[int], frames: Sequence[Frame]) -> Iterable[tuple[str, str]]:
    """The map of pairs: a square for each, which grows with the evidence. Gives an element and its motion."""
    for row, a in enumerate(order):
        for column, b in enumerate(order[:row]):
            x, y = LEFT + CELL * column, TOP + CELL * row
            states = [_square(float(frame.strength[a, b]), bool(frame.told_apart[a, b])) for frame in frames]
            frame = f'<rect class="frame" x="{x + 2}" y="{y + 2}" width="{CELL - 4}" height="{CELL - 4}"/>'
            square = (
                f'<rect id="p{a}-{b}" class="pair" x="{x + 4}" y="{y + 4}" width="{CELL - 8}" height="{CELL - 8}"/>'
            )
            yield frame + square, moving(f"p{a}-{b}", states)


def _square(strength: float, apart: bool) -> str:
    side = 1.0 if apart else 0.85 * min(1.0, max(0.0, strength)) ** 0.5
    return f"transform:scale({side:.3g});fill:var(--{'apart' if apart else 'together'})"


def bars(names: Sequence[str], order: Sequence[int], frames: Sequence[Frame]) -> Iterable[tuple[str, str]]:
    """A bar for each arm: its samples so far."""
    for row, arm in enumerate(order):
        y = TOP + CELL * row
        most = frames[-1].counts[arm]
        yield f'<text x="{LEFT - 12}" y="{y + 23}" text-anchor="end">{escape(names[arm])}</text>', ""
        yield f'<text class="soft" x="{BARS - 12}" y="{y + 23}" text-anchor="end">{escape(names[arm])}</text>', ""
        states = [f"transform:scaleX({frame.counts[arm] / most:.3g})" for frame in frames]
        bar = f'<rect id="n{arm}" class="bar" x="{BARS}" y="{y + 9}" width="{SCALE * most}" height="{CELL - 18}"/>'
        yield bar, moving(f"n{arm}", states)


def groups(result: kabc.Result, order: Sequence[int], n_rounds: int) -> Iterable[tuple[str, str]]:
    """The answer: the names in the colours of their groups, which appear at the end."""
    hidden, shown = "opacity:0", "opacity:1"
    marks = [
        f'<text class="g{result.labels[arm]}" x="{WIDTH - 24}" text-anchor="end" y="{TOP + CELL * row + 23}">'
        f"group {result.labels[arm] + 1}</text>"
        for row, arm in enumerate(order)
    ]
    answer = escape(str(result).splitlines()[0])
    line = f'<text class="answer" x="{LEFT - 76}" y="{HEIGHT - 18}">{answer}</text>'
    states = [hidden] * (n_rounds - 1) + [shown]
    yield f'<g id="answer">{line}{"".join(marks)}</g>', moving("answer", states, steps=True)


def words(frames: Sequence[Frame]) -> Iterable[tuple[str, str]]:
    """A line for each round but the last, one at a time."""
    for place, frame in enumerate(frames[:-1]):
        states = ["opacity:1" if place == other else "opacity:0" for other in range(len(frames))]
        text = f'<text id="w{place}" x="{LEFT - 76}" y="{HEIGHT - 18}">{escape(frame.words)}</text>'
        yield text, moving(f"w{place}", states, steps=True)


def picture() -> str:
    """All of it as SVG."""
    names, frames, result = run()
    order = sorted(range(len(names)), key=lambda arm: (result.labels[arm], arm))
    parts = [
        *cells(names, order, frames),
        *bars(names, order, frames),
        *words(frames),
        *groups(result, order, len(frames)),
    ]
    light, dark = (";".join(f"--{name}:{colours[name]}" for name in COLOURS) for colours in (LIGHT, DARK))
    style = (
        f"svg{{{light};font:15px system-ui,sans-serif}}@media(prefers-color-scheme:dark){{svg{{{dark}}}}}"
        "text{fill:var(--ink)}.soft,.small{fill:var(--soft)}.title{font-weight:600;font-size:18px}"
        ".answer{font-weight:600;font-size:14.5px}.page{fill:var(--page);stroke:var(--edge)}"
        ".frame{fill:none;stroke:var(--grid)}.pair{transform-box:fill-box;transform-origin:center}"
        ".bar{fill:var(--soft);transform-box:fill-box;transform-origin:left}.g0{fill:var(--g0)}.g1{fill:var(--g1)}"
        + "".join(motion for _, motion in parts)
        + "@media(prefers-reduced-motion:reduce){*{animation:none!important}}"
    )
    x = LEFT - 76
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>Eight sensors; pairs are told apart until two groups are proven</title><style>{style}</style>"
        f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>'
        f'<text class="title" x="{x}" y="36">Eight sensors. Same mean, same variance. Which are the same?</text>'
        f'<text class="small" x="{x}" y="72">evidence of each pair; full: told apart</text>'
        f'<text class="small" x="{BARS}" y="72">samples drawn</text>'
        f"{''.join(element for element, _ in parts)}</svg>\n"
    )


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), encoding="utf-8")
