"""How a command ends: exit codes, one-line errors, strict JSON."""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Any

from kabc.core.words import did_you_mean, shown

if TYPE_CHECKING:
    from kabc.results.outliers import OutliersResult
    from kabc.results.values import Result

DECIDED = 0
FAULT = 1
BAD_INPUT = 2
UNDECIDED = 3
CONTRADICTED = 4
CHANGED = 5
DOUBTFUL = 6

_OF_VERDICT = {"same": DECIDED, "different": CHANGED, "open": UNDECIDED}
_OF_ODD_ONES = {"odd": CHANGED, "none": DECIDED, "open": UNDECIDED, "doubtful": DOUBTFUL}
_OF_STATUS = {"decided": DECIDED, "contradicted": CONTRADICTED, "doubtful": DOUBTFUL}

# names of Python settings in messages; what stands in quotes is a name or a value of somebody's own
_BARE = re.compile(r"(?<!['\"])\b(n_clusters|n_arms|max_samples|min_separation|strategy_options|check_k)\b(?:=None)?")
_WITH_EQUALS = (
    r"\b(this|same_as|tolerance|fdr|arm|values|types|missing|order|where|block|wide|gap|pilot|seed|workers|delta"
    r"|on_failure|measure|timeout|warmup)="
)
_FLAG = re.compile(_WITH_EQUALS + r"(?:True|None|(?=[\s,;:)]|$))")
_VALUED = re.compile(_WITH_EQUALS)
# a setting that was left out, in what a study asks for
_LEFT_OUT = re.compile(r"\b(asks for|this call for|or pass) (\w+)=None\b")
_GLUED = re.compile(r"(--(?:clusters|max-samples|min-separation|option|check-k))=(?=\S)")
# keys of a file
_KEY = re.compile(r"\b(rate|concurrency|max_wait|price|max_spend|value|prompts|headers|body)=(?=[\s,;:.)]|$)")
_TYPES = re.compile(r"--types \{(?P<column>'[^']*'|\"[^\"]*\"): '(?P<kind>\w+)'\}")
# a tolerance for several columns or quantiles
_ENTRY = re.compile(r"'([^']*)': '?([\w.% ]+)'?")
_MAPPING = re.compile(rf"\{{{_ENTRY.pattern}(?:, {_ENTRY.pattern})*\}}")
_ADVICE = {
    "Try a larger number of groups.": "Try a larger --clusters.",
    "block='auto'": "--block auto",
    "watch=False": "--no-watch",
    "use kabc.cluster with a tolerance": "use kabc run --tolerance",
    "ask kabc.cluster or kabc.check, which know quantiles": "ask kabc run or kabc check, which know quantiles",
    "kabc show prints it, kabc.OutliersResult.load reads it": "kabc show prints it",
    ", a function from a pool of samples to a changed pool,": "",
    "to compare two arms use kabc.cluster": "to compare two arms use kabc run or kabc check",
    ", or pass a kernel with a fixed bandwidth": "",
    "declare the bandwidth, e.g. kabc.Gaussian(bandwidth=1.0)": "use --strategy anytime, which needs no kernel",
}
_TOKEN = re.compile(r"kabc_[\w-]{43}")  # of a server, typed where no token belongs
_NO_COMMAND = re.compile(r"No such command '(.*?)'")
_SPELLED = {"n_clusters": "--clusters", "n_arms": "the number of arms", "strategy_options": "--option"}


def for_the_shell(message: str) -> str:
    """The message with Python settings replaced by command-line options."""
    text = message
    for python, shell in _ADVICE.items():
        text = text.replace(python, shell)
    text = _LEFT_OUT.sub(lambda found: f"{found[1]} no {_option(found[2])}", text)
    text = _BARE.sub(lambda found: _option(found[1]), text)
    text = _GLUED.sub(r"\1 ", text)
    text = _FLAG.sub(lambda found: _option(found[1]), text)
    text = _KEY.sub(r"\1", text)
    text = _VALUED.sub(lambda found: _option(found[1]) + " ", text)
    # last, because a column may have the name of a setting
    text = _TYPES.sub(lambda found: "--types " + quote(f"{found['column'][1:-1]}={found['kind']}"), text)
    return _MAPPING.sub(lambda found: quote(", ".join(f"{one[0]}={one[1]}" for one in _ENTRY.findall(found[0]))), text)


def unreadable(error: Any) -> str:
    """What is wrong with the words of a command, and which word was meant. Typer says this in its own ways."""
    context = getattr(error, "ctx", None)
    command = getattr(context, "command", None)
    path = getattr(context, "command_path", "") or "kabc"
    help_ = f"(see {path} --help)"
    wrong = getattr(error, "option_name", "")
    if wrong and hasattr(error, "possibilities"):  # not: an option without its value
        known = [name for one in command.params for name in one.opts if name.startswith("--")] if command else []
        return f"there is no option {wrong}; {did_you_mean(wrong, [*known, '--help'])}{help_}"
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    unknown = _NO_COMMAND.match(message)
    if unknown:
        commands = list(getattr(command, "commands", ()))
        near = did_you_mean(unknown[1], commands)
        return f"there is no command {unknown[1]}; {near}there are {', '.join(commands)} {help_}"
    return f"{message} {help_}"


def _option(name: str) -> str:
    return _SPELLED.get(name, "--" + name.replace("_", "-"))


def of_odd_ones(result: OutliersResult) -> int:
    """The exit code of odd ones out."""
    return _OF_ODD_ONES[result.status]


def of_result(result: Result) -> int:
    """The exit code of an answer."""
    if result.verdict is not None and result.status != "doubtful":
        return _OF_VERDICT[result.verdict]
    return of_status(result.status)


def of_status(status: object) -> int:
    """The exit code of a run that ended so."""
    return _OF_STATUS.get(str(status), UNDECIDED)


def print_json(facts: Mapping[str, Any]) -> None:
    """Print one JSON document on standard output. NaN and infinity are errors, as in the JSON standard."""
    text = json.dumps(facts, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:  # then as escapes, which every encoding has
        text = json.dumps(facts, indent=2, allow_nan=False)
    print(text)


def print_anything() -> None:
    """From now on standard output takes every character; those that its encoding lacks are written as escapes."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def printed(write: Callable[[], None]) -> str:
    """Print to the end, through to whoever reads. Returns what went wrong; a reader that has left is no problem."""
    try:
        write()
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError) as error:  # ValueError: standard output is closed
        sys.stdout = None  # what is left in its buffer would fail again at exit
        return "" if isinstance(error, BrokenPipeError) else f"cannot write to standard output: {error}"
    except Exception as error:
        return f"cannot print the answer: {type(error).__name__}: {error}"
    return ""


def warn(lines: Iterable[str]) -> None:
    """Print on standard error what people should know before samples are drawn."""
    with suppress(OSError):
        for line in lines:
            print(f"kabc: warning: {' '.join(for_the_shell(line).split())}", file=sys.stderr)


def print_trace() -> None:
    """Print where the error that is being handled came from."""
    with suppress(OSError):
        print(_TOKEN.sub("kabc_***", traceback.format_exc()), end="", file=sys.stderr)


def fail(message: str, code: int, *, as_json: bool) -> int:
    """Print what is wrong in one line for people, and as JSON on request. Returns the exit code."""
    line = shown(_TOKEN.sub("kabc_***", " ".join(message.split())))
    with suppress(OSError):  # nobody is there to read it; the exit code is left
        print(f"kabc: error: {line}", file=sys.stderr)
    if as_json:
        printed(lambda: print_json({"error": line}))
    return code
