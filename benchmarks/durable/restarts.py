"""A PostgreSQL server that stops at once, without a word, and comes back."""

from __future__ import annotations

import random
import time

from benchmarks.durable.accidents import until_drawing
from benchmarks.durable.kills import Bench, Whole, together
from benchmarks.durable.seen import Seen
from tests.postgres import Server


def restarts(bench: Bench, right: Whole, server: Server, workers: int, count: int, seed: int) -> Seen:
    """So many immediate shutdowns during one run with several workers. Nobody starts anything again by hand."""
    rng, name = random.Random(seed), f"restarts-{workers}"
    processes = bench.start(name, workers)
    until_drawing(bench, name)  # a server that is away when a store is opened is an error, and said at once
    done = 0
    while done < count and any(process.is_alive() for process in processes):
        time.sleep(rng.uniform(0.1, 0.8))
        if not any(process.is_alive() for process in processes):
            break
        server.restart(after=rng.uniform(0, 0.3))
        done += 1
    codes = together(processes)
    wrong = bench.left(name).faults(right.left) + (["exit code"] if any(codes) else [])
    said = f"{wrong or 'the same answer'}; the workers waited and went on by themselves"
    return Seen("server stopped at once, in one run", f"PostgreSQL, {workers} workers", done, done * (not wrong), said)
