"""What every test may rely on: Ctrl-C works, and nothing runs before the first test."""

from __future__ import annotations

import gc
import os
import platform
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

# Recorded runs are compared to six digits, and BLAS rounds differently on each kind of processor. So all x86 processors
# use one kind of kernel here. It must be set before numpy is loaded.
if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

import numpy as np
import pytest
from hypothesis import Phase, settings

from kabc.strategies.base import Stepwise
from tests.postgres import postgres
from tests.seeds.sitecustomize import REFUSED

__all__ = ["postgres"]  # a fixture: a server is started by the first test that asks for it

os.environ[REFUSED] = "1"
np.random.bit_generator.randbits = secrets.randbits  # type: ignore[attr-defined]  # if numpy was loaded before
_SEEDS = str(Path(__file__).parent / "seeds")
if _SEEDS not in os.environ.get("PYTHONPATH", ""):  # for processes that tests start
    os.environ["PYTHONPATH"] = os.pathsep.join([_SEEDS, *filter(None, [os.environ.get("PYTHONPATH")])])

# No test asserts a time: Hypothesis would, 200 ms for an example, which a busy machine exceeds. Nor does it roll dice.
settings.register_profile("kabc", deadline=None, derandomize=True)
settings.load_profile("kabc")
# For tests.mutations: the first failure is enough, and it is not remembered.
settings.register_profile(
    "mutants", deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)


def pytest_configure() -> None:
    # A background job (`nohup make test &`) starts with SIGINT ignored, and so would every process that tests start:
    # tests of Ctrl-C would wait for ever. A handler is not inherited, so this one line cures the children too.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Refuse strategies that run while tests are collected: every worker would run them again."""
    ask = Stepwise.ask

    def refuse(self: Stepwise) -> NoReturn:
        pytest.fail("a strategy runs while tests are collected; run it in a fixture, or in a cached function")

    Stepwise.ask = refuse  # type: ignore[method-assign]
    try:
        return (yield)
    finally:
        Stepwise.ask = ask  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Only tests that are marked may draw fresh seeds, here and in processes that they start, in their fixtures too."""
    if item.get_closest_marker("fresh_seed"):
        del os.environ[REFUSED]
    try:
        return (yield)
    finally:
        os.environ[REFUSED] = "1"


def pytest_collection_finish() -> None:
    """Thousands of tests are in memory until the end: Python need not look through them for garbage again and again."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """For `-n auto`: half as many again as processors, as a third of the time tests wait for servers and clocks."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)
