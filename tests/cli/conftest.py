from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kabc.cli import live, main


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        def refuse(name: str) -> float:
            raise AssertionError(f"{name} is no strict JSON")

        return json.loads(self.out, parse_constant=refuse)


Call = Callable[..., Answer]


@pytest.fixture
def kabc(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command line, in this process; it shows no progress, however busy the machine is."""
    monkeypatch.setattr(live, "_QUIET_SECONDS", math.inf)

    def call(*words: object) -> Answer:
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Answer(code, out, err)

    return call


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four machines, two groups: a and c, b and d; 60 rows each."""
    path = tmp_path_factory.mktemp("data") / "machines.csv"
    rng = np.random.default_rng(0)
    rows = [
        f"{name},{rng.normal(6.0 * (name in 'bd'), 1.0):.6f},{rng.normal():.6f}" for name in "abcd" for _ in range(60)
    ]
    path.write_text("\n".join(["machine,vibration,temp", *rows]) + "\n", encoding="utf-8")
    return path
