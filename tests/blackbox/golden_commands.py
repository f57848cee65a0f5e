"""Commands at the shell, and what they print, write and exit with.

`OPENBLAS_CORETYPE=Haswell python -m tests.blackbox.golden_commands` records them in tests/golden/blackbox.
Record again only what a change is meant to change, and say so.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.blackbox.golden_data import make_files
from tests.blackbox.shell import shell

GOLDEN = Path(__file__).parent.parent / "golden" / "blackbox" / "commands.json"

_HOSTS = "hosts.parquet --arm host --values latency --seed 0"
_CHECKED = "--save check.json --report check.html"
_DRAW = f"{sys.executable} draw.py"
_THREE = [f"--command=a={_DRAW} 0 0", f"--command=b={_DRAW} 0 0", f"--command=c={_DRAW} 4 0"]
_SOURCE = [*_THREE, "--warmup", "0", "--seed", "1", "--quiet", "--workers", "2"]

# In this order, in one folder: later commands read what earlier ones wrote.
_LINES: dict[str, str | list[str]] = {
    "run": f"run {_HOSTS} --clusters 2 --save run.json --report run.html --title Hosts",
    "run, JSON": f"run {_HOSTS} --clusters 2 --json",
    "run, certificate": f"run {_HOSTS} --clusters 2 --certificate",
    "run, tolerance": f"run {_HOSTS} --tolerance 10% --save tolerance.json --report tolerance.html",
    "run, no K": f"run {_HOSTS} --max-samples 600 --save open.json --report open.html",
    "run, wide": "run wide.csv --wide --clusters 2 --seed 0",
    "run, SQL": [
        *("run", "--sql", "SELECT host, latency FROM calls", "--database", "sqlite:///hosts.sqlite"),
        *("--arm", "host", "--clusters", "2", "--seed", "0"),
    ],
    "run, query of files": [
        *("run", "--sql", "SELECT host, latency FROM 'hosts.parquet'", "--database", "duckdb:///:memory:"),
        *("--arm", "host", "--clusters", "2", "--seed", "0"),
    ],
    "run, settings": "run --config hosts.toml",
    "run, timings": "run timings.json --clusters 2 --seed 0",
    "run, commands": ["run", *_SOURCE, "--clusters", "2", "--save", "commands.json", "--report", "commands.html"],
    "run, a command that fails": ["run", f"--command=x={_DRAW} 0 0.5", *_SOURCE[:-2], "--clusters", "2"],  # one by one
    "run, failures encoded": [
        *(
            "run",
            f"--command=x={_DRAW} 0 0.5",
            *_SOURCE,
            "--clusters",
            "3",
            "--on-failure",
            "encode",
            "--save",
            "encoded.json",
        ),
    ],
    "run, published rule": f"run {_HOSTS} --clusters 2 --strategy kabc-tight --option keep_samples=true",
    "check, different": f"check {_HOSTS} --this=host_1 --same-as=host_0 --tolerance 5% {_CHECKED}",
    "check, JSON": f"check {_HOSTS} --this=host_2 --same-as=host_0 --tolerance 20% --json",
    "check, JUnit": f"check {_HOSTS} --this=host_2 --same-as=host_0 --tolerance 20% --junit check.xml",
    "outliers": f"outliers {_HOSTS} --tolerance 20% --save outliers.json",
    "outliers, JSON": f"outliers {_HOSTS} --tolerance 20% --json",
    "plan, gap": "plan --gap 2 --arms 6 --clusters 2 --seed 0",
    "plan, pilot": f"plan {_HOSTS} --clusters 2 --price 0.01",
    "plan, tolerance": f"plan {_HOSTS} --tolerance 10% --json",
    "show": "show run.json",
    "show, JSON": "show tolerance.json --json",
    "compare": "compare run.json run.json",
    "compare, other question": "compare run.json tolerance.json",
    "study": f"run {_HOSTS} --clusters 2 --storage kabc.db --study nightly --max-samples 100",
    "study, list": "study list --storage kabc.db",
    "study, result": "study result nightly --storage kabc.db --save study.json",
    "study, raise-budget": "study raise-budget nightly none --storage kabc.db",
    "study, goes on": f"run {_HOSTS} --clusters 2 --storage kabc.db --study nightly",
    "study, export": "study export nightly nightly.csv --storage kabc.db",
    "study, no such": "study status nihgtly --storage kabc.db",
    "no such file": "run hots.parquet --arm host --seed 0",
    "no such column": "run hosts.parquet --arm hots --seed 0",
    "no such arm": "check hosts.parquet --arm host --this=hos --same-as=host_0 --tolerance 5% --seed 0",
    "no such option": "run hosts.parquet --arm host --cluster 2 --seed 0",
    "a bad value": f"run {_HOSTS} --clusters 1",
    "no tolerance": "check hosts.parquet --arm host --this=host_1 --seed 0",
    "nothing to do": "run",
}
COMMANDS = {name: line.split() if isinstance(line, str) else line for name, line in _LINES.items()}
FILES = ["run.json", "tolerance.json", "open.json", "commands.json", "encoded.json", "check.json", "outliers.json"]
REPORTS = ["run.html", "tolerance.html", "open.html", "commands.html", "check.html"]


def told(folder: Path) -> dict[str, Any]:
    """What each command says, and the files at the end."""
    make_files(folder)
    env = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100", "NO_COLOR": "1", "KABC_STORAGE": None}
    found: dict[str, Any] = {}
    for name, words in COMMANDS.items():
        said = shell(*(word.replace("host_", "host ") for word in words), folder=folder, env=env)
        found[name] = {"code": said.code, "out": plain(said.out, folder), "err": plain(said.err, folder)}
    for name in FILES:
        found[name] = settled(json.loads((folder / name).read_text(encoding="utf-8")))
    for name in REPORTS:
        found[name] = seen(folder / name)
    found["check.xml"] = plain((folder / "check.xml").read_text(encoding="utf-8"), folder)
    return found


def plain(text: str, folder: Path) -> str:
    """Text without what is another one each time: places, clocks, processes."""
    text = text.replace(sys.executable, "PYTHON").replace(str(folder), "FOLDER")
    text = re.sub(r'"(seconds|written|created|at|version|cpu_seconds)": [^,\n}]+', r'"\1": 0', text)
    text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?(Z| UTC|\+00:00)?", "TIME", text)
    text = re.sub(r"changed \d+ s ago", "changed just now", text)
    text = re.sub(r"^\d[\d.,]* m?s$", "TIME", text, flags=re.MULTILINE)
    text = re.sub(r"kabc \d+\.\d+\.\w+(\.dev\d+)?", "kabc VERSION", text)
    return re.sub(r'time="[\d.]+"', 'time="0"', text)


def settled(value: Any, name: str = "") -> Any:
    """A saved answer without clocks and versions; numbers with nine digits."""
    if name in ("seconds", "written", "created", "version", "origin", "cpu_seconds"):
        return None
    if isinstance(value, dict):
        return {key: settled(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [settled(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def seen(page: Path) -> list[str]:
    """The words of a report in their order, without its pictures, styles and scripts."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", text, flags=re.DOTALL)
    lines = (" ".join(line.split()) for line in re.sub(r"<[^>]+>", "\n", text).splitlines())
    return [plain(line, page.parent) for line in lines if line]


def main() -> None:
    """Record them all."""
    with tempfile.TemporaryDirectory() as folder:
        found = told(Path(folder))
    for name, one in found.items():
        print(name, one["code"] if isinstance(one, dict) and "code" in one else "")
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one, ensure_ascii=False)}" for name, one in found.items())
    GOLDEN.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
