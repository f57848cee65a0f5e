"""`kabc serve token`: made once, shown once, kept as hashes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from kabc.cli import main
from kabc.server.access import digest_of
from kabc.storage.opening import open_storage


@pytest.fixture
def place(folder: Path) -> str:
    path = str(folder / "kabc.db")
    open_storage(path).close()
    return path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["serve", "token", *words])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_a_token_is_shown_once_and_kept_as_a_hash(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "create", "host 7", "--scope", "tell", "--days", "2", "--storage", place)
    token = out.removesuffix("\n")
    assert code == 0 and re.fullmatch(r"kabc_[\w-]{43}", token)
    assert "of host 7: tell, until" in err and token not in err
    store = open_storage(place)
    (kept,) = store.tokens()
    store.close()
    assert (kept.label, kept.scope, kept.digest) == ("host 7", "tell", digest_of(token))
    assert kept.expires == kept.created + 2 * 86_400
    assert token.encode() not in Path(place).read_bytes()
    code, out, _ = said(capsys, "list", "--storage", place)
    assert code == 0 and out.startswith(f"{kept.id}  tell   host 7, made 20") and token not in out


def test_tokens_are_listed_and_revoked_as_json(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(said(capsys, "create", "ann", "--storage", place, "--json")[1])
    assert (made["scope"], made["expires"]) == ("read", None)
    (listed,) = json.loads(said(capsys, "list", "--storage", place, "--json")[1])["tokens"]
    assert listed == {name: value for name, value in made.items() if name != "token"}
    assert json.loads(said(capsys, "revoke", str(made["id"]), "--storage", place, "--json")[1]) == {
        "revoked": made["id"]
    }
    code, _, err = said(capsys, "revoke", str(made["id"]), "--storage", place)
    assert (code, "there is no token" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "why"),
    [(("create", "x", "--scope", "root"), "--scope is read, tell, admin"), (("create", "\n"), "the name of a token")],
)
def test_what_is_no_token_is_refused(
    place: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    code, _, err = said(capsys, *words, "--storage", place)
    assert code == 2 and why in err


def test_serving_a_store_that_is_not_there_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--storage", str(folder / "none.db")]) == 2
    assert "there is no store" in capsys.readouterr().err


def test_without_its_libraries_serve_names_the_extra(place: str) -> None:
    from tests.test_extras import bare

    done: subprocess.CompletedProcess[str] = bare(
        "import importlib.util as util; found = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'uvicorn' else found(name, *rest)\n"
        "from kabc.cli import main; sys.exit(main())",
        *("serve", "--storage", place),
        without=(),
    )
    assert done.returncode == 2
    assert "kabc serve needs uvicorn; pip install 'kabc[server]'" in done.stderr
