"""Change one rule of the guarantee at a time: the test that is named for it must fail.

    make mutants
    .venv/bin/python -m tests.mutations core/evidence strategies/anytime/claims.py      # some modules only

The package is copied, one text in it is replaced, and the test runs on the copy. Prints a table, and exits with 1 if a
mutant survives or cannot be made.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutations.all import MUTANTS
from tests.mutations.mutants import Mutant

ROOT = Path(__file__).parents[2]
_FAILED = 1  # pytest's exit code: tests ran, and some failed


def main(paths: Sequence[str]) -> int:
    chosen = [mutant for mutant in MUTANTS if not paths or mutant.module.startswith(tuple(paths))]
    if not chosen:
        print(f"no mutant is in {', '.join(paths)}; give modules or folders relative to src/kabc", file=sys.stderr)
        return 2
    code, output = tested(None, chosen)
    if code:
        print(f"the tests do not pass without any mutant:\n{output}", file=sys.stderr)
        return 1
    survived = [mutant for mutant in chosen if not killed(mutant)]
    print(f"{len(chosen)} mutants, {len(survived)} survived")
    return 1 if survived else 0


def killed(mutant: Mutant) -> bool:
    """Whether the test of the mutant fails."""
    began = time.monotonic()
    try:
        code, output = tested(mutant, [mutant])
    except ValueError as error:
        code, output = 0, str(error)
    verdict = {_FAILED: "killed", 0: "SURVIVED"}.get(code, f"BROKEN ({code})")
    print(f"{verdict:10} {time.monotonic() - began:5.1f} s  {mutant.module}: {mutant.why} ({mutant.test})", flush=True)
    if code != _FAILED:
        print(output, file=sys.stderr)
    return code == _FAILED


def tested(mutant: Mutant | None, chosen: Sequence[Mutant]) -> tuple[int, str]:
    """Exit code and output of pytest on a copy of the package: the tests of the chosen mutants, with one applied."""
    with tempfile.TemporaryDirectory(prefix="kabc-mutant-") as folder:
        # Copies keep their times, so __pycache__ still serves for every file except the changed one.
        shutil.copytree(ROOT / "src" / "kabc", Path(folder) / "kabc")
        if mutant is not None:
            path = Path(folder) / "kabc" / mutant.module
            path.write_text(mutant.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutants", "--tb=line"]
        tests = dict.fromkeys(f"tests/{one.test}" for one in chosen)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
