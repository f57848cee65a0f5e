"""Six studies that were killed half-way, and the answers that they came to.

`OPENBLAS_CORETYPE=Haswell python -m tests.blackbox.golden_studies` begins them, kills their processes, keeps the stores
in tests/golden/blackbox/studies, finishes copies of them, and records the answers. Record again only for a change that
is meant to end the studies of the version before, and say so.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kabc
from tests.blackbox.golden_data import SCRIPT, Draw, line, normal, words
from tests.blackbox.golden_runs import numbers
from tests.blackbox.shell import KABC, Served, environment, serving
from tests.postgres import new_database, running_server
from tests.processes import running

KEPT = Path(__file__).parent.parent / "golden" / "blackbox" / "studies"
ANSWERS = KEPT / "answers.json"


@dataclass(frozen=True)
class Begun:
    """A study, where it is kept, and the draw at which its process is killed."""

    place: str  # "sqlite", "postgres" or "server": there a worker draws by commands
    arms: dict[str, Any] = field(repr=False)
    settings: dict[str, Any]
    killed_at: int


STUDIES = {
    "groups": Begun("sqlite", line(6, 3, 1.5), {"n_clusters": 3, "seed": 1}, 60),
    "categories": Begun(
        "sqlite",
        {"a": words([0.8, 0.1, 0.1]), "b": words([0.5, 0.1, 0.4]), "c": words([0.8, 0.1, 0.1])},
        {"n_clusters": 2, "seed": 2},
        20,
    ),
    "tolerance": Begun(
        "sqlite", {"a": normal(100, 5), "b": normal(100, 5), "c": normal(108, 5)}, {"tolerance": "4%", "seed": 3}, 8
    ),
    "no K": Begun("postgres", line(5, 3, 2.0), {"max_samples": 900, "seed": 4}, 60),
    "published": Begun("postgres", line(4, 2, 3.0), {"n_clusters": 2, "strategy": "kabc-tight", "seed": 5}, 7),
    "over a server": Begun(
        "server",
        {f"arm {i}": f"{sys.executable} draw.py {1.5 * (i % 2)} 0" for i in range(4)},
        {"n_clusters": 2, "seed": 6},
        40,
    ),
}


def mortal(arms: dict[str, Draw], calls: int) -> dict[str, Draw]:
    """Arms whose process is killed, as by the machine, at this call of any of them."""
    made = 0

    def killing(draw: Draw) -> Draw:
        def drawn(n: int, rng: np.random.Generator) -> NDArray[Any]:
            nonlocal made
            made += 1
            if made == calls:
                os.kill(os.getpid(), signal.SIGKILL)
            return draw(n, rng)

        return drawn

    return {name: killing(draw) for name, draw in arms.items()}


def begin(name: str, store: str) -> None:
    """Create the study, and die while it runs."""
    study = STUDIES[name]
    kabc.create_study(name, study.arms, storage=store, **study.settings).run(mortal(study.arms, study.killed_at))


@contextmanager
def worker(name: str, folder: Path, server: Served) -> Iterator[subprocess.Popen[str]]:
    """A worker that draws by commands for a study of this server."""
    (folder / "draw.py").write_text(SCRIPT, encoding="utf-8")
    arms = [f"--command={arm}={command}" for arm, command in STUDIES[name].arms.items()]
    command = [KABC, "worker", "--server", server.address, "--study", name, *arms, "--warmup", "0", "--quiet"]
    token = environment({"KABC_TOKEN": server.token("tell")})
    with running(command, env=token, cwd=folder, stdout=subprocess.DEVNULL) as process:
        yield process


def died(name: str, store: str) -> None:
    """Begin a study in a process of its own, which is killed."""
    done = subprocess.run([sys.executable, "-m", "tests.blackbox.golden_studies", name, store], check=False)
    assert done.returncode == -signal.SIGKILL, done


def half_way(name: str, folder: Path, url: str) -> Path:
    """Begin a study and kill it: the file in which it is kept."""
    study = STUDIES[name]
    kept = KEPT / (f"{name}.sql" if study.place == "postgres" else f"{name}.db")
    if study.place == "postgres":
        place = new_database(url)
        died(name, place)
        dumped = subprocess.run(["pg_dump", "--no-owner", place], capture_output=True, text=True, check=True)
        kept.write_text(dumped.stdout, encoding="utf-8")
        return kept
    store = folder / f"{name}.db"
    if study.place == "server":
        created = kabc.create_study(name, list(study.arms), storage=store, **study.settings)
        with serving(folder, store=store) as server, worker(name, folder, server):
            while sum(created.result().samples_per_arm.values()) < study.killed_at:
                time.sleep(0.2)
    else:
        died(name, str(store))
    with sqlite3.connect(store) as database:
        database.execute("VACUUM INTO ?", [str(kept)])
    return kept


def finished(name: str, folder: Path, new: Callable[[], str]) -> kabc.Result:
    """The answer of the study, finished in a copy of its store; `new` gives an empty database of PostgreSQL."""
    study = STUDIES[name]
    if study.place == "postgres":
        place = new()
        text = (KEPT / f"{name}.sql").read_text(encoding="utf-8")
        load = ["psql", "-q", "-v", "ON_ERROR_STOP=1", place]
        subprocess.run(load, input=text, text=True, check=True, stdout=subprocess.DEVNULL)
        return kabc.load_study(name, place).run(study.arms)
    store = folder / f"{name}.db"
    shutil.copy(KEPT / store.name, store)
    if study.place == "sqlite":
        return kabc.load_study(name, store).run(study.arms)
    with serving(folder, store=store) as server, worker(name, folder, server) as process:
        assert process.wait(120) == 0
    return kabc.load_study(name, store).result()


def main() -> None:
    """Begin, kill and finish them all."""
    if sys.argv[1:]:
        begin(*sys.argv[1:])
    else:
        record()


def record() -> None:
    """Keep the stores and the answers."""
    shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True)
    answers = {}
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other, running_server() as postgres:
        for name in STUDIES:
            half_way(name, Path(one), postgres.url)
            result = finished(name, Path(other), lambda: new_database(postgres.url))
            answers[name] = numbers(result)
            print(f"{name}: {str(result).splitlines()[0]}", flush=True)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in answers.items())
    ANSWERS.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
