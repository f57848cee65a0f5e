"""The stamp of files changes with any of them."""

from __future__ import annotations

import os
from pathlib import Path

from kabc.core.compiling import stamp


def test_a_stamp_changes_with_the_size_or_date_of_any_file(tmp_path: Path) -> None:
    files = [tmp_path / "a.py", tmp_path / "b.py"]
    for file in files:
        file.write_text("x = 1\n")
        os.utime(file, (1_000, 1_000))
    before = stamp(files)
    assert stamp(reversed(files)) == before
    files[1].write_text("x = 12\n")
    os.utime(files[1], (1_000, 1_000))
    longer = stamp(files)
    os.utime(files[1], (1_001, 1_001))
    assert len({before, longer, stamp(files)}) == 3


def test_the_compiled_loop_is_named_after_all_files_of_its_folder() -> None:
    from kabc.core.embeddings.loops import blocks

    folder = Path(blocks.__file__).parent
    run: object = blocks.run
    assert run.py_func.__qualname__ == f"run_{stamp(folder.glob('*.py'))}"  # type: ignore[attr-defined]
