"""All strategies side by side on instances whose truth is known; `kabc bench` on the command line."""

from __future__ import annotations

from kabc.bench.contest import Contest, run_contest
from kabc.bench.instances import Instance, load_instances
from kabc.bench.laws import Law, categories, gaussian, mixture, pool, scipy_law
from kabc.bench.runlog import RunLog
from kabc.bench.suites import INSTANCES, SUITES
from kabc.bench.tables import Row, as_markdown, as_text, summarise

__all__ = [
    "INSTANCES",
    "SUITES",
    "Contest",
    "Instance",
    "Law",
    "Row",
    "RunLog",
    "as_markdown",
    "as_text",
    "categories",
    "gaussian",
    "load_instances",
    "mixture",
    "pool",
    "run_contest",
    "scipy_law",
    "summarise",
]
