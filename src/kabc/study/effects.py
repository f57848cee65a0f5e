"""Whether the samples of one worker look different from those of the others. For people: it decides nothing.

Within each arm, the samples of a worker and those of all others are compared by betting (kabc.core.evidence.betting).
Arms are never mixed: an arm that one worker drew more often would look like a difference of workers. Each comparison
has an equal share of alpha. So if workers make no difference, anything is said at all with probability at most alpha.

| symbol | here      | meaning                                                                                     |
|--------|-----------|---------------------------------------------------------------------------------------------|
| x_k    | `mine`    | sample k of the worker; y_k, in `theirs`: one of the others, drawn at about the same time   |
| l      | `_scores` | score, learned from earlier samples of both                                                 |
| W_e    | `wealth`  | wealth of expert e: a feature map, a ridge and a strength; all have the same first share    |
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kabc.arms.values import category_code
from kabc.core.arrays import Array
from kabc.core.evidence.betting import log_product, mixture
from kabc.core.scores.discriminant import Moments, scorers_of
from kabc.core.scores.maps import FeatureMap, Levels, Products, Ranks, Scaled
from kabc.results.words import ratio
from kabc.storage.contract import Draw, Storage, Ticket

ALPHA = 0.01  # probability that anything is said if workers make no difference

_FIRST = 10  # samples of each side that scores are learned from before the first bet
_FEWEST = 2 * _FIRST  # samples of each side of a comparison
_MOST = 600  # samples of each side
_MOST_COLUMNS = 10
_MOST_COMPARISONS = 200  # the largest ones: it takes seconds, not minutes
_MOST_READ = 1_000_000  # numbers of a study that are read
_GROWTH = 1.5  # how much the samples grow from bet to bet
_STRENGTHS = (0.25, 0.5, 1.0)  # of bets


@dataclass(frozen=True)
class WorkerEffect:
    """Samples of an arm that a worker, or the workers of a host, drew look different from those of others."""

    arm: int
    worker: str
    evidence: float  # to 1


def worker_effects(storage: Storage, study: int) -> list[WorkerEffect]:
    """What speaks against "workers make no difference", the strongest first. It reads samples: it takes seconds."""
    groups = _groups(storage, study)
    if len(set(groups.values())) < 2:
        return []
    found = storage.summary(study)
    return effects_of(_first(storage.draws(study, 0, 2**31 - 1)), groups) if found.n_samples else []


def note_effects(storage: Storage, study: int, names: Sequence[object]) -> list[str]:
    """Look for effects, and note each in the study (kind "worker-effect"). Returns them in words."""
    lines = []
    for effect in worker_effects(storage, study):
        lines.append(effect_line(effect, names))
        body = {"arm": effect.arm, "worker": effect.worker, "evidence": effect.evidence, "line": lines[-1]}
        storage.add_note(study, "worker-effect", body)
    return lines


def effect_line(effect: WorkerEffect, names: Sequence[object]) -> str:
    """An effect in words."""
    return (
        f"samples drawn by {effect.worker} look different from those of other workers (arm {names[effect.arm]}; "
        f"evidence {ratio(effect.evidence)}): informational"
    )


def effects_of(draws: Iterable[tuple[Ticket, Draw]], groups: Mapping[str, str]) -> list[WorkerEffect]:
    """The same for these draws; `groups` has the host or whatever else stands for a worker."""
    rows: dict[int, list[tuple[str, Array]]] = {}  # arm -> who, (n, d)
    for ticket, draw in draws:
        rows.setdefault(ticket.arm, []).append((groups.get(draw.worker, draw.worker), _numbers(draw.rows)))
    compared = sorted(_comparisons(rows), key=lambda one: -min(len(one[2]), len(one[3])))[:_MOST_COMPARISONS]
    log_share = math.log(max(1, len(compared)) / ALPHA)
    found = []
    for arm, worker, mine, theirs in compared:
        log_evidence = difference(mine, theirs)
        if log_evidence >= log_share:
            found.append(WorkerEffect(arm, worker, math.exp(min(log_evidence, 600.0))))
    return sorted(found, key=lambda one: -one.evidence)


def difference(mine: Array, theirs: Array) -> float:  # (n, d), (m, d)
    """Log evidence against "both come from one distribution", the largest while it grew."""
    most = min(len(mine), len(theirs), _MOST)
    mine, theirs = _spread(mine, most), _spread(theirs, most)
    wealth: Array | None = None
    best, end = 0.0, _FIRST
    while end < most:
        begin, end = end, min(most, max(end + 1, int(_GROWTH * end)))
        scores = np.stack(list(_scores(mine, theirs, begin, end)))  # (E, 2, b)
        factors = log_product(scores[:, 0], scores[:, 1]).sum(axis=1)  # (E,)
        wealth = factors if wealth is None else wealth + factors
        best = max(best, float(mixture(wealth, np.full(len(wealth), -math.log(len(wealth))))))
    return best


def _scores(mine: Array, theirs: Array, begin: int, end: int) -> Iterator[Array]:  # E times (2, end - begin)
    """Scores of the samples from `begin` to `end`, learned from those before."""
    sides = np.repeat([0, 1], begin)
    past = np.concatenate([mine[:begin], theirs[:begin]])
    now = np.concatenate([mine[begin:end], theirs[begin:end]])
    highest = math.log1p(begin)  # samples of one value have no variance, and scores without a limit
    for fitted in (one.fitted(past) for one in _maps(past.shape[1])):
        learner = Moments(fitted, 2)
        learner.absorb(fitted(past), sides)
        features = fitted(now)
        for scorer in scorers_of([learner], np.arange(2), np.arange(2), 2):
            both = scorer.scores(features)
            score = np.clip(both[:, 0] - both[:, 1], -highest, highest).reshape(2, -1)
            yield from (strength * score for strength in _STRENGTHS)


def _maps(columns: int) -> tuple[FeatureMap, ...]:
    return (Scaled(), Products(Ranks()) if columns <= _MOST_COLUMNS else Ranks(), Levels())


# ---------------------------------------------------------------- who is compared with whom


def _groups(storage: Storage, study: int) -> dict[str, str]:
    """What stands for each worker: its host where there are several, else its own name."""
    hosts = {worker.name: str(worker.facts.get("host") or worker.name) for worker in storage.workers(study)}
    return hosts if len(set(hosts.values())) > 1 else {name: name for name in hosts}


def _comparisons(rows: Mapping[int, list[tuple[str, Array]]]) -> Iterator[tuple[int, str, Array, Array]]:
    """Arm, worker, its samples and those of others; of two workers only one: the other says the same."""
    for arm, drawn in rows.items():
        width = drawn[0][1].shape[1]
        alike = [(who, part) for who, part in drawn if part.shape[1] == width]
        counts: Counter[str] = Counter()
        for who, part in alike:
            counts[who] += len(part)
        total = sum(counts.values())
        chosen = [who for who, n in counts.items() if min(n, total - n) >= _FEWEST]
        if len(counts) == 2:
            chosen = sorted(chosen, key=lambda who: counts[who])[:1]
        for worker in chosen:
            mine, theirs = ([part for who, part in alike if (who == worker) is own] for own in (True, False))
            yield arm, worker, np.concatenate(mine), np.concatenate(theirs)


def _first(draws: Iterable[tuple[Ticket, Draw]]) -> Iterator[tuple[Ticket, Draw]]:
    """The first draws of a study, as many as fit into memory and time."""
    left = _MOST_READ
    for ticket, draw in draws:
        yield ticket, draw
        left -= draw.rows.size
        if left < 0:
            return


def _spread(rows: Array, n: int) -> Array:  # (m, d) -> (n, d)
    """As many rows, evenly from first to last: both sides then cover the same time."""
    return rows[np.linspace(0, len(rows) - 1, n).astype(np.intp)]


def _numbers(rows: NDArray[np.generic]) -> Array:  # (n,) or (n, d) -> (n, at most 10)
    """Rows as numbers; each text becomes a number of its own."""
    table = rows.reshape(len(rows), -1)[:, :_MOST_COLUMNS]
    if table.dtype.kind in "biuf":
        return table.astype(np.float64)
    return np.array([[_number(value) for value in row] for row in table.tolist()])


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else category_code(str(value))
