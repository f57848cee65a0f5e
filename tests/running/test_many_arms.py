"""Many arms: memory grows with their number, not with its square, and the answer is as certain as that of few."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

N_ARMS = 5_000
MB = 300  # a matrix of all pairs takes 200 as numbers, and there were several

CHILD = """
import json, resource, sys
from pathlib import Path
import numpy as np
import kabc
from kabc.core.scores.maps import Scaled
import scipy.cluster.hierarchy, scipy.optimize, scipy.spatial.distance, scipy.special, pydantic  # noqa: F401

def arm(mean):
    return lambda n, rng: rng.normal(mean, 1.0, n)

n_arms, mb = int(sys.argv[1]), int(sys.argv[2])
held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + mb * 10**6, resource.RLIM_INFINITY))
seen = []
result = kabc.cluster(
    [arm(9.0 * (i % 4)) for i in range(n_arms)], 4, seed=0, watch=False, progress=False,
    strategy_options={"maps": [Scaled()]}, on_round=lambda now: seen.append((now.n_open, now.n_told_apart)),
)
result.save("many.json")
text = str(kabc.load_result("many.json").certificate())
told = result.evidence.among([0, 1, 2, 3, n_arms - 1]).told_apart
print(json.dumps({
    "status": result.status, "right": result.labels == tuple(i % 4 for i in range(n_arms)),
    "per_arm": result.n_samples / n_arms, "open": seen[-1][0], "told": told.tolist(), "said": text,
}))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the limit is set from what Linux says")
def test_many_arms_are_grouped_looked_at_saved_and_read_within_a_memory_limit(tmp_path: Path) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CHILD, str(N_ARMS), str(MB)]
    answer = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert answer.returncode == 0, answer.stderr[-2000:]
    found = json.loads(answer.stdout)
    assert (found["status"], found["right"], found["open"]) == ("decided", True, 0)
    assert found["per_arm"] < 12
    assert not any(found["told"][i][i] for i in range(5))
    assert "5,000 arms" in found["said"]
