"""Reports and pictures. Some modules compute what a picture shows; others draw it."""

from kabc.report.apart_graph import ApartGraph, apart_graph
from kabc.report.arm_map import ArmMap, arm_map
from kabc.report.counts import SampleCounts, sample_counts
from kabc.report.html import report_html, write_report
from kabc.report.odd_ones import OddOnes, odd_ones
from kabc.report.pair_map import PairMap, group_map, pair_map
from kabc.report.trace import EvidenceTrace, evidence_trace
from kabc.report.values import GroupValues, group_values
from kabc.report.verdict_map import VerdictMap, verdict_map

__all__ = [
    "ApartGraph",
    "ArmMap",
    "EvidenceTrace",
    "GroupValues",
    "OddOnes",
    "PairMap",
    "SampleCounts",
    "VerdictMap",
    "apart_graph",
    "arm_map",
    "evidence_trace",
    "group_map",
    "group_values",
    "odd_ones",
    "pair_map",
    "report_html",
    "sample_counts",
    "verdict_map",
    "write_report",
]
