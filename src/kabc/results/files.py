"""Results that outlive the run: one JSON file each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kabc.core.errors import SettingsError
from kabc.core.files import write_text

if TYPE_CHECKING:
    from kabc.results.values import Result

_OLD_VERSION = 1


def save_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the result to one JSON file, whole or not at all."""
    write_text(path, _written(result.to_dict(full=True)))


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
    try:
        read = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise SettingsError(f"cannot read {str(path)!r}: {error.strerror}; pass the path of a saved result") from error
    except ValueError as error:
        raise SettingsError(f"{str(path)!r} is no JSON file ({error}); pass the path of a saved result") from error
    except RecursionError:
        raise SettingsError(f"{str(path)!r} is nested too deeply; pass the path of a saved result") from None
    return loaded(read, repr(str(path)))


def loaded(read: Any, where: str) -> Result:
    """The result behind JSON values; `where` names their origin in errors."""
    from kabc.results.documents import result_of
    from kabc.results.schema import FORMAT, VERSION, Document
    from kabc.results.version1 import upgraded

    if not isinstance(read, dict) or read.get("format") != FORMAT:
        raise SettingsError(f"{where} is no result of kabc; pass a file that Result.save has written")
    version = read.get("version")
    if type(version) is not int or not _OLD_VERSION <= version <= VERSION:
        raise SettingsError(
            f"{where} has version {_short(version)} of the format, this kabc reads {_OLD_VERSION} to {VERSION}; "
            "update kabc (pip install --upgrade kabc)"
        )
    if version == VERSION:
        _expect_full(read, where)
    try:
        today = upgraded(read) if version == _OLD_VERSION else read
        # pairs told apart are worked out from the evidence: a list of half a million need not be checked
        return result_of(Document.model_validate(today | {"told_apart": []}))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SettingsError(f"{where} is damaged ({_reason(error)}); save the result again") from error


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
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _reason(error: Exception) -> str:
    from pydantic import ValidationError

    if isinstance(error, KeyError):
        return f"{error} is missing"
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"][:3]))
    return f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}"
