"""The page that is shipped is the one that its source makes."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kabc.server.app import STATIC

WEB = Path(__file__).parents[2] / "web"
VITE = WEB / "node_modules" / "vite" / "bin" / "vite.js"


def test_a_new_bundle_is_the_committed_one(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not VITE.exists():
        pytest.skip("no node here, or nothing installed: npm install --no-save in web/ does that")
    subprocess.run(
        [node, VITE, "build", "--logLevel", "error", "--outDir", tmp_path, "--emptyOutDir"], cwd=WEB, check=True
    )
    made = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    there = {one.name: one.read_bytes() for one in STATIC.iterdir()}
    assert made == there, "the page is older than its source: npm run build in web/"


def test_the_page_is_small_and_loads_only_what_is_shipped() -> None:
    scripts = b"".join(one.read_bytes() for one in sorted(STATIC.glob("*.js")))
    assert len(gzip.compress(scripts)) < 150_000
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    loaded = set(re.findall(r'(?:src|href)="([^"]+)"', page)) - {"data:,", "/static/report.css"}
    assert loaded == {f"/static/{name}" for name in ("page.js", "watcher.js", "page.css")}
    assert all((STATIC / one.rpartition("/")[2]).exists() for one in loaded)
    assert "<script>" not in page and "style=" not in page


def test_the_lock_file_names_no_place_to_download_from() -> None:
    packages = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert packages
    assert not [name for name, facts in packages.items() if "resolved" in facts]
    assert all("integrity" in facts for name, facts in packages.items() if name)
