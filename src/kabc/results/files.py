"""Results that outlive the run: one JSON file each."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kabc.core.errors import SettingsError
from kabc.core.files import write_text

if TYPE_CHECKING:
    from kabc.results.values import Result

OUTLIERS = "kabc outliers"  # the format of another kind of answer

_OLD_VERSION = 1
_STEP = 2**20  # bytes that are read at once
_MOST_BYTES = 2**30  # of a file; all pairs of 2,000 arms take a fifth of it
_LONGEST = 160  # characters of a reason
_CURE = "pass a file that --save or Result.save has written"


def save_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the result to one JSON file, whole or not at all."""
    write_json(path, result.to_dict(full=True))


def write_json(path: str | os.PathLike[str], document: dict[str, Any]) -> None:
    """Write a document to a file, whole or not at all."""
    write_text(path, _written(document))


def _written(document: dict[str, Any]) -> str:
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates, out of a file in another encoding
        return json.dumps(document, allow_nan=False, separators=(",", ":"))
    return text


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote, with this version of kabc or an older one.

    Names of arms that are texts, numbers, True, False, None or tuples of these keep their type, others are texts now.

    Examples
    --------
    >>> import kabc
    >>> arms = {"a": [0.1, 0.2] * 60, "b": [0.8, 0.9] * 60, "c": [0.2, 0.1] * 60}
    >>> result = kabc.cluster(arms, n_clusters=2, seed=0)
    >>> result.save("result.json")
    >>> kabc.load_result("result.json") == result
    True
    """
    read, where = read_json(path)
    return loaded(read, where)


load = load_result


def read_json(path: str | os.PathLike[str]) -> tuple[Any, str]:
    """What stands in a file that may be a saved answer, and what to call the file in errors."""
    where = repr(os.fspath(path))
    try:
        return json.loads(_content(path), parse_constant=_refuse), where
    except OSError as error:
        raise SettingsError(f"cannot read {where}: {error.strerror}; pass the path of a saved result") from error
    except UnicodeDecodeError:
        raise no_answer(where, "it is not a text in UTF-8") from None
    except (ValueError, MemoryError) as error:
        raise no_answer(where, f"it is no JSON file ({_short(error)})") from error
    except RecursionError:
        raise no_answer(where, "it is nested too deeply") from None


def _content(path: str | os.PathLike[str]) -> str:
    """The text of a file. One that begins like no saved answer is not read to its end, which it may not have."""
    parts: list[bytes] = []
    size = 0
    with Path(path).open("rb") as file:
        while part := file.read(_STEP):
            if not parts and not part.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"):
                raise ValueError("it does not begin with {")
            size += len(part)
            if size > _MOST_BYTES:
                raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
            parts.append(part)
    return b"".join(parts).decode("utf-8-sig")


def no_answer(where: str, why: str) -> SettingsError:
    """Why a file is not what was expected."""
    return SettingsError(f"{where} is not a saved answer of kabc: {why}; {_CURE}")


def loaded(read: Any, where: str) -> Result:
    """The result behind JSON values; `where` names their origin in errors."""
    from kabc.results.documents import result_of
    from kabc.results.schema import FORMAT, VERSION, Document
    from kabc.results.version1 import upgraded

    if isinstance(read, dict) and read.get("format") == OUTLIERS:
        raise SettingsError(
            f"{where} is an answer of kabc outliers, which has odd arms and no groups; kabc show prints it, "
            "kabc.OutliersResult.load reads it"
        )
    if not isinstance(read, dict) or read.get("format") != FORMAT:
        raise no_answer(where, "its format is another one")
    version = read.get("version")
    if type(version) is not int or not _OLD_VERSION <= version <= VERSION:
        raise SettingsError(
            f"{where} has version {_short(version)} of the format, this kabc reads {_OLD_VERSION} to {VERSION}; "
            "update kabc"
        )
    if version == VERSION:
        _expect_full(read, where)
    with damaged(where):
        today = upgraded(read) if version == _OLD_VERSION else read
        # pairs told apart are worked out from the evidence: a list of half a million need not be checked
        return result_of(Document.model_validate(today | {"told_apart": None}))


@contextmanager
def damaged(where: str) -> Iterator[None]:
    """Whatever is wrong with the values of a file, it is said in one way."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, MemoryError) as error:
        raise no_answer(where, f"it is damaged ({_reason(error)})") from error
    except RecursionError:
        raise no_answer(where, "it is nested too deeply") from None


def _expect_full(read: dict[str, Any], where: str) -> None:
    missing = [part for part in ("evidence", "rounds") if read.get(part) is None]
    if missing:
        raise SettingsError(
            f"{where} lacks {' and '.join(missing)}: it is the short form that --json prints; "
            "pass a file that --save or Result.save has written"
        )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _short(value: object) -> str:
    text = str(value) if isinstance(value, Exception) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _reason(error: Exception) -> str:
    from pydantic import ValidationError

    if isinstance(error, KeyError):
        return f"{error} is missing"
    if not isinstance(error, ValidationError):
        return _short(error)
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(_short(part).strip("'") for part in first["loc"][:3])
    return f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}"
