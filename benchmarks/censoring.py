"""What a redraw after a worker's death does to the data: equal arms whose slow draws are their large values.

    python benchmarks/censoring.py [--runs 500] [--share 0.1] [--workers 2] [--json]

All arms have the same distribution. A sample is a time. The workers of half of the arms are killed by every draw that
takes longer than the rest, a share of all draws; the workers of the others never are. Leases, deaths and policies are
those of a study in memory; only the clock is simulated: a dead worker's lease lapses at once. A split is a pair that is
told apart. It is false with each policy but "encode": there a lost draw is a value, and losing more draws is a
difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import kabc
from kabc.storage.contract import Draw, Failure, NewTicket, Ticket
from kabc.storage.memory import MemoryStorage
from kabc.study.policies import OnWorkerLoss, fate, loss_message

DELTA, MOST_PER_ARM, N_ARMS = 0.05, 300, 4
POLICIES: dict[str, OnWorkerLoss | None] = {"default": None, "raise": "raise", "redraw": "redraw", "encode": "encode"}


class Fleet:
    """Workers that draw for a study, one ticket at a time. Those of the second half of the arms die of slow draws."""

    def __init__(self, on_loss: OnWorkerLoss | None, share: float, seed: int) -> None:
        self.storage = MemoryStorage()
        self.study = self.storage.create_study("censored", {}, {}).id
        self.on_loss, self.rng = on_loss, np.random.default_rng(seed)
        self.slow = float(np.quantile(np.exp(np.random.default_rng(0).normal(size=100_000)), 1 - share))
        self.redrawn = self.died = 0

    def round(self, number: int, request: dict[int, int]) -> dict[int, Any] | None:
        """The samples of a round, (count, 2) each: the time, and whether the draw was lost. None: it failed."""
        order = self.rng.permutation(np.repeat(list(request), list(request.values()))).tolist()
        tickets = [NewTicket(arm, order[:place].count(arm), 0, 1) for place, arm in enumerate(order)]
        self.storage.open_round(self.study, number, tickets)
        while leased := self.storage.exchange(self.study, self.worker, want=1, seconds=0.0).leased:
            done = self.served(leased[0])
            if done is None:  # its lease lapses, and another worker comes
                self.died += 1
                continue
            self.storage.exchange(self.study, self.worker, [done])
            if isinstance(done, Failure):
                return None
        drawn: dict[int, list[Any]] = {arm: [] for arm in request}
        for ticket, draw in self.storage.draws(self.study, number, number):
            drawn[ticket.arm].append(draw.rows)
        return {arm: np.concatenate(rows) for arm, rows in drawn.items()}

    @property
    def worker(self) -> str:
        """The worker that lives now."""
        return f"worker {self.died}"

    def served(self, ticket: Ticket) -> Draw | Failure | None:
        """What comes of a lease; None: the death of its worker."""
        deaths = self.storage.deaths(self.study).get(ticket.arm, 0)
        do = fate(ticket, deaths, self.on_loss)
        if do == "fail":
            return Failure(ticket.id, ticket.lease, self.worker, loss_message(deaths))
        self.redrawn += do == "draw" and ticket.deaths > 0
        time = float(np.exp(self.rng.normal()))
        if do == "draw" and ticket.arm >= N_ARMS // 2 and time > self.slow:
            return None
        row = [0.0, 1.0] if do == "encode" else [time, 0.0]
        return Draw(ticket.id, ticket.lease, self.worker, np.array([row]), 0.0, 1.0)


def run(policy: str, share: float, seed: int) -> dict[str, Any]:
    """One study of equal arms, without a number of groups."""
    fleet = Fleet(POLICIES[policy], share, seed)
    strategy = kabc.AnytimeKABC(N_ARMS, None, DELTA, seed=seed)
    number, ended = 0, "no more learned"
    while not strategy.stopped:
        request = strategy.ask()
        if max(strategy.evidence().counts[list(request)]) + max(request.values()) > MOST_PER_ARM:
            ended = "budget"
            break
        samples = fleet.round(number, request)
        if samples is None:
            ended = "failed"
            break
        strategy.tell(samples)
        number += 1
        if strategy.evidence().told_in_round.any():
            ended = "split"
            break
    return {
        "policy": policy,
        "seed": seed,
        "ended": ended,
        "samples": strategy.n_samples,
        "redrawn": fleet.redrawn,
        "split": bool(strategy.evidence().told_in_round.any()),
    }


def table(rows: Sequence[dict[str, Any]], share: float) -> str:
    """The runs of each policy in one line."""
    lines = [
        f"{N_ARMS} equal arms, the slowest {share:.0%} of the draws of 2 of them kill their worker, delta {DELTA:.0%}",
        f"{'policy':<10}{'runs':>6}{'splits':>8}{'share':>8}{'failed':>8}{'samples':>9}{'redrawn':>9}",
    ]
    for policy in POLICIES:
        mine = [row for row in rows if row["policy"] == policy]
        if not mine:
            continue
        splits, failed = (sum(row["ended"] == what for row in mine) for what in ("split", "failed"))
        samples, redrawn = (np.mean([row[what] for row in mine]) for what in ("samples", "redrawn"))
        lines.append(
            f"{policy:<10}{len(mine):>6}{splits:>8}{splits / len(mine):>8.1%}{failed:>8}{samples:>9.0f}{redrawn:>9.1f}"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Run all policies and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(given.workers) as pool:
        for policy in given.policies.split(","):
            rows += pool.map(partial(run, policy, given.share), range(given.runs), chunksize=5)
            sys.stderr.write(f"{policy}: {given.runs} runs done\n")
    print(json.dumps(rows) if given.json else table(rows, given.share))


if __name__ == "__main__":
    main()
