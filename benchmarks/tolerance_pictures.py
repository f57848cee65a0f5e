"""Draws what tolerances look like on latencies, for docs/tolerance.md, and prints each of them in all other units.

    python benchmarks/tolerance_pictures.py [docs/images/tolerances.png]

The pool is 20,000 draws of a log-normal law: median 20 ms, standard deviation about 6 ms. It needs kabc[plot].
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

import kabc
from kabc.core.kernels import median_distance
from kabc.core.tolerances import Tolerance, equivalents, parse
from kabc.report.style import LIGHT

SAID = ("2%", "0.2 sd", "0.8 sd", "1% outliers")
COLUMN = "latency in ms"


def main(target: str = "docs/images/tolerances.png") -> None:
    pool = np.random.default_rng(0).lognormal(np.log(20), 0.3, (20_000, 1))
    kernel = kabc.RandomFeatures(kabc.Gaussian(median_distance(pool)), n_features=256)
    figure = Figure(figsize=(9.0, 5.6), layout="constrained")
    axes = figure.subplots(2, 2)
    bins = np.arange(0, 151, 0.8)
    for ax, said in zip(axes.ravel(), SAID, strict=True):
        tolerance = parse(said, [COLUMN])
        assert isinstance(tolerance, Tolerance)
        back = equivalents(tolerance, pool, kernel.features, [COLUMN])
        print(f"{said:12} kernel distance {back.eps:.4f}   {back.columns[0].words}")
        changed = tolerance.changes(pool)[0][:, 0]
        weights = [np.full(len(values), 100 / len(values)) for values in (pool[:, 0], changed)]
        ax.hist(pool[:, 0], bins, weights=weights[0], color=LIGHT["edge"], label="pilot samples")
        ax.hist(
            changed,
            bins,
            weights=weights[1],
            histtype="step",
            color=LIGHT["apart"],
            linewidth=1.4,
            label="after the change",
        )
        ax.set_title(f"{said}   (kernel distance {back.eps:.3f})", fontsize=11, color=LIGHT["ink"])
        ax.set_xlabel(COLUMN)
        ax.set_ylabel("% of samples")
        ax.spines[["top", "right"]].set_visible(False)
        if "outliers" not in said:
            ax.set_xlim(0, 60)
        else:
            place = float(changed.max())
            ax.annotate(
                "1 % of the samples",
                (place, 1.0),
                (place, 3.2),
                ha="right",
                arrowprops={"arrowstyle": "->"},
                fontsize=9,
            )
    axes[0, 0].legend(frameon=False)
    figure.savefig(target, dpi=130)


if __name__ == "__main__":
    main(*sys.argv[1:])
