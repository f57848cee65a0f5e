"""What numba keeps on disk is used again only as long as no file has changed. Without numba loops are plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kabc.core.arrays import Array
from kabc.strategies.peers.compiled import compiled

HELPER = "def helper(x):\n    return x + {n}\n"
LOOP = "from helper_file import helper\n\n\ndef loop(x):\n    return 2 * helper(x)\n"
CALL = (
    "from helper_file import helper; from loop_file import loop; from kabc.strategies.peers.compiled import compiled; "
    "print(compiled(loop, using=(helper,))[0](1))"
)


def printed(folder: Path) -> str:
    """What a fresh process computes."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", CALL], capture_output=True, text=True, check=True, env=env)
    return done.stdout.strip()


def test_a_changed_helper_in_another_file_is_compiled_again(tmp_path: Path) -> None:
    """numba itself only looks at the file of the function that it compiles."""
    (tmp_path / "loop_file.py").write_text(LOOP)
    (tmp_path / "helper_file.py").write_text(HELPER.format(n=1))
    assert printed(tmp_path) == "4"
    (tmp_path / "helper_file.py").write_text(HELPER.format(n=10))
    assert printed(tmp_path) == "22"


def test_without_numba_a_division_by_zero_is_infinite_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def inverse(x: Array) -> Any:
        return 1 / x[0]

    monkeypatch.setitem(sys.modules, "numba", None)
    (loop,) = compiled(inverse, using=())
    assert loop(np.zeros(1)) == np.inf
