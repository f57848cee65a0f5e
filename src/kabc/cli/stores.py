"""Stores and studies as commands name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

import typer

from kabc.core.errors import SettingsError

if TYPE_CHECKING:
    from kabc.config.models import Config
    from kabc.storage.contract import Storage

OF_STUDIES = ("storage", "study", "on_worker_loss")  # settings of a run that is kept
VARIABLE = "KABC_STORAGE"  # in the environment others do not see a password, in a command line they do

StorageOption = Annotated[
    str | None,
    typer.Option(
        "--storage", metavar="FILE|URL", help=f"Where studies are kept: a file, or a URL. Default: {VARIABLE}."
    ),
]
StudyOption = Annotated[
    str | None,
    typer.Option(
        "--study", metavar="NAME", help="Keep the run in --storage by this name. The same line again goes on with it."
    ),
]
Name = Annotated[str, typer.Argument(metavar="STUDY", help="Its name (see kabc study list).")]


def storage_named(given: str | None) -> str:
    """What was given, or else what the environment says."""
    import os

    found = given or os.environ.get(VARIABLE)
    if not found:
        raise SettingsError(f"give --storage, the file or the URL where studies are kept, or set {VARIABLE}")
    return found


def study_asked(config: Config) -> tuple[str, str] | None:
    """Where a run is kept, and its name; None for a run that is not kept."""
    if config.study is None:
        if config.storage is not None:
            raise SettingsError("--storage is where a study is kept; give its name too, with --study")
        return None
    return storage_named(config.storage), config.study


def files_of(config: Config) -> list[Path]:
    """The file in which a run is kept, if it is."""
    asked = study_asked(config)
    return [] if asked is None else file_as_list(asked[0])


def file_as_list(storage: str | None) -> list[Path]:
    """The file of the store, which no command may write over."""
    file = file_of(storage_named(storage))
    return [] if file is None else [file]


def file_of(storage: str) -> Path | None:
    """The file of a store; None if a server has it."""
    scheme, sign, rest = storage.partition("://")
    if not sign:
        return Path(storage)
    if scheme.split("+")[0] != "sqlite":
        return None
    return Path(unquote(rest.partition("?")[0].removeprefix("/")))


def expect_whole(source: str) -> None:
    """Refuse a table of samples where a whole study is asked for."""
    if source.lower().endswith((".csv", ".parquet")):
        raise SettingsError(f"{source} has samples alone; kabc study export NAME FILE.kabcstudy writes a whole study")


@contextmanager
def opened(given: str | None, *, new: bool = False) -> Iterator[Storage]:
    """The store, closed at the end. A file that is not there is refused, unless it may be new."""
    storage = storage_named(given)
    file = file_of(storage)
    if not new and file is not None and not file.exists():  # checked here: it needs no library
        raise SettingsError(f"there is no store {file}; check --storage, or make one: kabc run ... --study NAME")
    from kabc.storage.opening import open_storage

    with closing(open_storage(storage, create=new)) as store:
        yield store
