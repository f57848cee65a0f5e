"""What kabc does alone. Everything else names the extra that brings it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.seeded_runs import GOLDEN

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# what the extras bring, and what else may be in the same environment
OPTIONAL: tuple[str, ...] = (
    "numba",
    "duckdb",
    "narwhals",
    "pyarrow",
    "sqlalchemy",
    "httpx",
    "psycopg",
    "matplotlib",
    "plotly",
)
OPTIONAL += ("starlette", "uvicorn", "dask", "distributed", "ray", "cloudpickle")
OPTIONAL += ("sklearn", "pandas", "polars", "IPython", "ipywidgets")


def bare(code: str, *words: object, without: Sequence[str] = OPTIONAL) -> subprocess.CompletedProcess[str]:
    """Run it in a process that cannot import those libraries. Every warning is an error there."""
    hidden = f"import sys; sys.modules.update(dict.fromkeys({without!r}))\n"
    command = [sys.executable, "-W", "error", "-c", hidden + code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=200)


def at_the_shell(*words: object) -> subprocess.CompletedProcess[str]:
    return bare("from kabc.cli import main; sys.exit(main())", *words)


def test_numba_comes_with_an_extra_and_all_brings_every_extra() -> None:
    assert not [one for one in PROJECT["dependencies"] if one.startswith(("numba", "llvmlite"))]
    assert [re.split(r"\W", one)[0] for one in EXTRAS["fast"]] == ["numba"]
    (everything,) = EXTRAS["all"]
    engines = {"dask", "ray"}  # who has a cluster has its library; hundreds of MB for nobody else
    assert set(re.findall(r"\w+", everything)) == {"kabc", *EXTRAS} - {"all"} - engines


def test_every_extra_that_is_named_exists_and_the_documentation_names_them_all() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = {path: path.read_text(encoding="utf-8") for path in [*pages, *(ROOT / "src").rglob("*.py")]}
    for path, text in texts.items():
        for named in re.findall(r"kabc\[([\w,]+)\]", text):
            assert set(named.split(",")) <= set(EXTRAS), path
    for page in ("README.md", "docs/install.md"):
        assert all(f"`{extra}`" in texts[ROOT / page] for extra in EXTRAS), page


def test_the_ten_lines_of_the_readme_run_without_any_extra() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    done = bare(block)
    assert done.returncode == 0, done.stderr
    (claimed,) = re.findall(r"^print\(result\)  # (.*)$", block, re.MULTILINE)
    assert done.stdout.startswith(claimed.partition("...")[0])
    assert "press 3" in done.stdout


def test_commands_are_compared_saved_shown_and_reported_without_any_extra(tmp_path: Path) -> None:
    saved, report = tmp_path / "answer.json", tmp_path / "report.html"
    options = [f"--command={name}=echo $(( KABC_SEED % 256 + {shift} ))" for name, shift in (("a", 0), ("b", 900))]
    ran = at_the_shell("run", *options, "--clusters", 2, "--seed", 1, "--save", saved, "--report", report)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("2 groups")
    assert "2 groups" in report.read_text(encoding="utf-8")
    shown = at_the_shell("show", saved)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("2 groups")


HTTP = '[http]\nvalue = "x"\n[http.endpoints]\na = "http://127.0.0.1:9/"\nb = "http://127.0.0.1:9/"\n'


@pytest.mark.parametrize(
    "words",
    [
        ("{}/rows.csv", "--arm", "host"),
        ("{}/rows.parquet", "--arm", "host"),
        ("--sql", "select 1", "--database", "sqlite:///{}/rows.db", "--arm", "host"),
        ("--config", "{}/http.toml"),
    ],
)
def test_a_source_that_needs_an_extra_says_which_one(words: tuple[str, ...], tmp_path: Path) -> None:
    files = {"rows.csv": "host,ms\na,1\nb,2\n", "rows.parquet": "PAR1", "rows.db": "", "http.toml": HTTP}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = at_the_shell("run", *(word.format(tmp_path) for word in words), "--clusters", 2, "--seed", 1)
    assert done.returncode == 2, done
    assert re.fullmatch(r"kabc: error: .* needs? .*; pip install 'kabc\[data\]'\n", done.stderr), done.stderr


GIVEN = "from kabc.core.embeddings.block_sums import block_sums; import numpy; x = numpy.ones((1, 1))\n"
GIVEN += "import kabc; arms = [lambda n, rng, m=m: rng.normal(m, 1, n) for m in (0, 9)]\n"


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("kabc.cluster(arms, 2, seed=0).plot('map')", "plot"),
        ("kabc.cluster(arms, 2, seed=0, strategy='spectral', strategy_options={'samples_per_arm': 9})", "sklearn"),
        ("from kabc.sklearn import KernelClusterer", "sklearn"),
        ("block_sums(kabc.Gaussian(1.0), [x], [x], [[0, 0]], 'numba')", "fast"),
    ],
)
def test_python_that_needs_an_extra_says_which_one(code: str, extra: str) -> None:
    done = bare(GIVEN + code)
    assert done.returncode == 1
    assert re.search(rf"pip install (--upgrade )?'kabc\[{extra}\]'$", done.stderr.strip()), done.stderr


# Every strategy whose loops numba compiles. The seeded runs of the golden file are made with numba.
COMPILED = ["boc/line", "boc-heuristic/line", "boc-linear/line", "boc-uniform/line", "boc-elim/line"]
COMPILED += ["atboc/line", "ebc/line", "lucbboc/line", "lucbboc/plane", "boc/plane"]


def test_without_numba_every_loop_gives_the_same_samples_evidence_and_labels() -> None:
    code = (
        "import json; from tests.seeded_runs import outcome, seeded_runs; runs = seeded_runs()\n"
        "print(json.dumps({name: outcome(runs[name].result()) for name in sys.argv[1:]}))"
    )
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    done = bare("sys.path.insert(0, '.'); " + code, *COMPILED)
    assert done.returncode == 0, done.stderr
    for name, found in json.loads(done.stdout).items():
        for one in (found, golden[name]):
            one["strength"] = [value for value in one["pairs"].pop("strength") if value is not None]
        assert found.pop("strength") == pytest.approx(golden[name].pop("strength"), rel=1e-6), name
        assert found == golden[name], name
