"""Many arms: memory grows with their number, not with its square, and the answer is as certain as that of few."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

N_ARMS = 20_000
MB = 500  # a matrix of all pairs takes 400 as yes or no, 3,200 as numbers; all below takes about 340

CHILD = """
import json, resource, sys
from pathlib import Path
import kabc
from kabc.core.scores.maps import Scaled
from kabc.report.html import report_html
from kabc.server import answers, parts, views
import scipy.cluster.hierarchy, scipy.optimize, scipy.spatial.distance, scipy.special, pydantic  # noqa: F401

def arm(mean):
    return lambda n, rng: rng.normal(mean, 1.0, n)

n_arms, mb = int(sys.argv[1]), int(sys.argv[2])
held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + mb * 10**6, resource.RLIM_INFINITY))
seen, said = [], {}

def listen(now):
    seen.append((now.n_open, now.n_told_apart, now.n_groups_at_least, now.forecast, len(now.labels)))

def run(**limits):
    arms = [arm(9.0 * (i % 4)) for i in range(n_arms)]
    options = {"maps": [Scaled()]}
    return kabc.cluster(arms, 4, seed=0, progress=False, strategy_options=options, on_round=listen, **limits)

def shown(result):
    # what the page of `kabc serve` asks for, as it asks for it
    one, other = result.text_names[17], result.text_names[-1]
    answers._short(result).model_dump_json()
    views.pairs(result, 1, one, 0, 50).model_dump_json()
    views.arms(result, 1, "", 0, 50).model_dump_json()
    views.samples(result, 1, one, other).model_dump_json()
    return {name: len(parts.part(result, 1, name).model_dump_json()) for name in parts._SECTIONS}

part_way = run(watch=False, max_samples=4 * n_arms)
shown(part_way)
result = run(watch=False)
lengths = shown(result)
result.save("many.json")
text = str(kabc.load_result("many.json").certificate())
same = kabc.compare(part_way, result).text() and result._repr_html_()
report = report_html(result)
told = result.evidence.among([0, 1, 2, 3, n_arms - 1]).told_apart
print(json.dumps({
    "status": result.status, "right": result.labels == tuple(i % 4 for i in range(n_arms)), "lengths": lengths,
    "per_arm": result.n_samples / n_arms, "open": seen[-1][0], "told": told.tolist(), "said": text,
    "part_way": part_way.status, "report": len(report), "forecast": max(one[3] or 0 for one in seen),
}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the limit is set from what Linux says")
def test_many_arms_are_grouped_looked_at_reported_saved_and_served_within_a_memory_limit(tmp_path: Path) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CHILD, str(N_ARMS), str(MB)]
    answer = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert answer.returncode == 0, answer.stderr[-2000:]
    found = json.loads(answer.stdout)
    assert (found["status"], found["right"], found["open"]) == ("decided", True, 0)
    assert found["part_way"] == "budget"
    assert found["per_arm"] < 12
    assert found["forecast"] > 0
    assert not any(found["told"][i][i] for i in range(5))
    assert "20,000 arms" in found["said"]
    assert 100_000 < found["report"] < 500 * N_ARMS  # so much for each arm, not for each pair
    assert all(length < 500 * N_ARMS for length in found["lengths"].values())
