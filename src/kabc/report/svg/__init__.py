"""Pictures of the report as SVG. They contain only numbers, classes of the style sheet, and escaped texts.

Shapes repeat what colours say, because the report is also printed in grey and read by people who see few colours.
"""

from kabc.report.svg.axes import draw_counts, draw_trace
from kabc.report.svg.canvas import clean, colour_of, number, ticks
from kabc.report.svg.columns import draw_column, draw_odd
from kabc.report.svg.pairs import draw_pairs
from kabc.report.svg.planes import draw_arm_map, draw_graph
from kabc.report.svg.verdicts import draw_verdicts

__all__ = [
    "clean",
    "colour_of",
    "draw_arm_map",
    "draw_column",
    "draw_counts",
    "draw_graph",
    "draw_odd",
    "draw_pairs",
    "draw_trace",
    "draw_verdicts",
    "number",
    "ticks",
]
