"""What numba keeps on disk must be thrown away when any file that it was compiled from has changed.

numba looks at the file of the compiled function alone, not at the files of functions that it calls. The name of a
function is part of its key on disk, so a stamp of all files goes into the name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def stamp(files: Iterable[str | Path]) -> str:
    """Changes with the name, size or date of any of the files."""
    known = [(path.name, path.stat()) for path in sorted({Path(file) for file in files}) if path.is_file()]
    lines = [f"{name} {facts.st_size} {facts.st_mtime_ns}" for name, facts in known]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
