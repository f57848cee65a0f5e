"""All strategies side by side on instances whose truth is known; `kabc bench` on the command line."""

from __future__ import annotations

from kabc.bench.harness import Plan, Store, compare
from kabc.bench.instances import Instance, load_instances
from kabc.bench.laws import Law, categories, gaussian, mixture, pool, scipy_law
from kabc.bench.suites import INSTANCES, SUITES
from kabc.bench.tables import Row, as_markdown, as_text, summarise

__all__ = [
    "INSTANCES",
    "SUITES",
    "Instance",
    "Law",
    "Plan",
    "Row",
    "Store",
    "as_markdown",
    "as_text",
    "categories",
    "compare",
    "gaussian",
    "load_instances",
    "mixture",
    "pool",
    "scipy_law",
    "summarise",
]
