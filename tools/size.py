"""`make size`: statements and files of each room beside its budget, so that growth is seen before it lands.

A statement is an `ast.stmt`: lines could be cut by longer lines. Docstrings, templates and TypeScript stand beside, in
lines, so that nothing hides there. A room more than 15 % over its budget needs a sentence in `WHY`.
"""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent

# Statements for each room. `kabc` itself are the files that are no folder.
BUDGETS = {
    "kabc": 1_020,
    "maths": 2_730,
    "arms": 2_370,
    "strategies": 460,
    "strategies/groups": 2_600,
    "strategies/practical": 1_600,
    "run": 1_700,
    "study": 1_310,
    "result": 1_410,
    "report": 1_120,
    "server": 790,
    "cli": 930,
    "planning": 390,
    "testing": 300,
    "field": 3_400,
}
WHOLE = {"src/kabc": (21_500, 160), "field": (3_400, None)}  # statements, files
OVER = 1.15
WHY: dict[str, str] = {}  # room -> why it is larger
_FOLDED = {"strategies/groups", "strategies/practical"}


def room_of(path: Path) -> str:
    """The room that a file belongs to."""
    if path.parts[0] == "field":
        return "field"
    inside = path.parts[2:]  # below src/kabc
    if len(inside) == 1:
        return "kabc"
    two = "/".join(inside[:2])
    return two if two in _FOLDED else inside[0]


def counted(path: Path) -> tuple[int, int]:
    """Statements, and lines of docstrings."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = list(ast.walk(tree))
    docstrings = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, documented)]
    return sum(isinstance(node, ast.stmt) for node in nodes), sum(len(text.splitlines()) for text in docstrings)


def lines_of(names: list[Path], *suffixes: str) -> int:
    """Lines of the files of these kinds."""
    return sum(len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in names if name.suffix in suffixes)


def main() -> None:
    """Print the table."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [Path(line) for line in listed.splitlines()]
    code = [
        name
        for name in names
        if name.suffix == ".py" and name.parts[0] in ("src", "field") and "tests" not in name.parts
    ]
    files, statements, docstrings = Counter[str](), Counter[str](), Counter[str]()
    for name in code:
        room, found = room_of(name), counted(name)
        files[room] += 1
        statements[room] += found[0]
        docstrings[room] += found[1]
    print(f"{'room':22}{'files':>6}{'statements':>12}{'budget':>8}{'docstring lines':>17}")
    for room in sorted(statements, key=lambda room: -statements[room]):
        budget = BUDGETS.get(room)
        over = budget is not None and statements[room] > OVER * budget
        why = f"  over: {WHY.get(room, 'nobody has said why')}" if over else ""
        most = f"{budget:,}" if budget else "-"
        print(f"{room:22}{files[room]:6}{statements[room]:12,}{most:>8}{docstrings[room]:17,}{why}")
    for whole, (most, most_files) in WHOLE.items():
        rooms = [room for room in statements if (room == "field") == (whole == "field")]
        size, number = sum(statements[room] for room in rooms), sum(files[room] for room in rooms)
        print(f"{whole}: {size:,} statements (at most {most:,}), {number} files (at most {most_files or 'any number'})")
    templates = [name for name in names if name.parts[0] == "src"]
    page = [name for name in names if name.parts[0] == "web"]
    print(f"templates, styles and scripts of reports: {lines_of(templates, '.j2', '.html', '.css', '.js'):,} lines")
    print(f"page, in TypeScript and CSS: {lines_of(page, '.ts', '.tsx', '.css', '.html'):,} lines")


if __name__ == "__main__":
    main()
