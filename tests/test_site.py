"""The documentation site: every page is in it, every link leads somewhere, and nothing is fetched from a network."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def part(name: str) -> ModuleType:
    """A part of the site's own code, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_site_is_read_without_a_warning(tmp_path: Path) -> None:
    """Pages outside all lists, dead links and anchors, formulas and docstrings that cannot be read are warnings."""
    words = ["-m", "sphinx", "-b", "dummy", "-W", "--keep-going", "-q", "-d", str(tmp_path / "cache")]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, *words, str(DOCS), str(tmp_path)], env=alone, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_page_has_a_link_on_the_first_page_or_in_its_lists() -> None:
    listed = set()
    for page in (DOCS / "index.md", DOCS / "reference" / "api.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            lines = [line.split("<")[-1].rstrip(">") for line in block.splitlines() if line and line[0] != ":"]
            listed |= {(page.parent / f"{line}.md").relative_to(DOCS).as_posix() for line in lines}
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert listed == pages - {"README.md", "index.md"}


def test_the_list_for_code_hosts_names_every_page_that_is_written_by_hand() -> None:
    listed = set(re.findall(r"\]\(([^)#]+)", (DOCS / "README.md").read_text(encoding="utf-8")))
    assert {page.name for page in DOCS.glob("*.md")} - {"README.md", "index.md"} <= listed


def test_commands_settings_and_fields_are_taken_from_the_code() -> None:
    reference = part("reference")
    assert "## `kabc run`" in reference.commands() and "`--tolerance" in reference.commands()
    assert "Example: `kabc study stop nightly --storage kabc.db`\n" in reference.commands()  # copied as it stands
    assert "* `run`: Draw samples until the groups are known, and print them.\n" in reference.commands()  # not cut
    assert "| `delta` | number, more than 0, at most 1 | `0.05` |" in reference.settings()
    assert "## `[http]`" in reference.settings()
    assert "| `status` |" in reference.fields()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "other.html").write_text('<h1 id="here">', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ('<script src="https://cdn.example/x.js">', "loads https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//fonts.example/x">', "loads //fonts.example/x"),
        ('<a href="gone.html">', "gone.html, which is not there"),
        ('<a href="other.html#gone">', "other.html#gone, which is not there"),
    ],
)
def test_what_a_page_would_fetch_and_dead_links_are_found(page: str, problem: str, site: Path) -> None:
    (site / "page.html").write_text(page, encoding="utf-8")
    (found,) = part("offline").problems(site)
    assert problem in found


def test_links_inside_the_site_and_links_to_read_elsewhere_are_fine(site: Path) -> None:
    text = '<a href="other.html#here"><a href="https://arxiv.org/abs/2601.07535"><script src="other.html"><a href="#">'
    (site / "page.html").write_text(text, encoding="utf-8")
    assert list(part("offline").problems(site)) == []


def test_a_formula_becomes_mathml_and_a_wrong_one_is_refused() -> None:
    mathml = part("mathml")
    assert mathml.mathml(r"\frac12 \tag{3}", display=True).count("(3)") == 1
    with pytest.raises(mathml.LatexError, match="Unknown command"):
        mathml.mathml(r"\nothinglikeit", display=False)


def test_the_picture_is_small_moves_and_shows_its_end_to_whoever_wants_no_motion() -> None:
    picture = (DOCS / "images" / "deciding.svg").read_text(encoding="utf-8")
    assert len(picture) < 500_000
    assert "@keyframes" in picture and "prefers-reduced-motion" in picture and "prefers-color-scheme" in picture
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
