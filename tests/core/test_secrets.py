"""Secrets: no text that people read shows them, in whatever form they come."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kabc.core.secrets import (
    hide,
    hide_as,
    hide_url,
    hide_values,
    hide_words,
    is_secret_name,
    looks_secret,
    url_secrets,
    word_secrets,
)

KEY = 'sk-Zq7/w+E=9"uX&2bT4 v1'

FORMS = {
    "as it is": KEY,
    "quoted": quote(KEY, safe=""),
    "quoted, lower case": re.sub("%..", lambda code: code.group().lower(), quote(KEY, safe="")),
    "quoted as a form": quote_plus(KEY),
    "JSON": json.dumps(KEY),
    "hex": KEY.encode().hex(),
    "HEX": KEY.encode().hex().upper(),
    "HTML": html.escape(KEY),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 without padding": base64.b64encode(KEY.encode()).decode().rstrip("="),
    "urlsafe base64": base64.urlsafe_b64encode(KEY.encode()).decode(),
    "basic, one letter": base64.b64encode(f"u:{KEY}".encode()).decode(),
    "basic, two letters": base64.b64encode(f"me:{KEY}".encode()).decode(),
    "basic, key first": base64.b64encode(f"{KEY}:".encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_a_key_is_hidden_in_every_form(form: str) -> None:
    shown = hide(f"before <{form}> after", [KEY])
    assert shown.replace('"', "") == "before <***> after"


CODES = list(KEY.encode())
DISGUISES = {
    "small letters": KEY.lower(),
    "capitals": KEY.upper(),
    "without its beginning": KEY[4:],
    "without both ends": KEY[3:-3],
    "backwards": KEY[::-1],
    "letters apart": " ".join(KEY),
    "every byte quoted": "".join(f"%{code:02x}" for code in CODES),
    "quoted twice": quote(quote(KEY, safe=""), safe=""),
    "bytes of Python": "".join(f"\\x{code:02x}" for code in CODES),
    "JSON of JSON": json.dumps(json.dumps(KEY)),
    "every letter escaped": "".join(f"\\u{code:04x}" for code in CODES),
    "entities": "".join(f"&#{code};" for code in CODES),
    "entities in hex": "".join(f"&#x{code:x};" for code in CODES),
    "quoted-printable": "".join(f"={code:02X}" for code in CODES),
    "numbers": str(CODES)[1:-1],
    "hex with colons": KEY.encode().hex(":"),
    "hex with spaces": KEY.encode().hex(" ").upper(),
    "hex after another digit": "a" + KEY.encode().hex(),
    "base32": base64.b32encode(KEY.encode()).decode(),
    "base32 in small letters": base64.b32encode(b"me:" + KEY.encode()).decode().lower(),
    "base64 of base64": base64.b64encode(base64.b64encode(KEY.encode())).decode(),
    "base64 of UTF-16": base64.b64encode(KEY.encode("utf-16-le")).decode(),
    "base64, quoted": quote(base64.b64encode(KEY.encode()).decode(), safe=""),
    "base64 in JSON in JSON": json.dumps(json.dumps({"": base64.b64encode(KEY.encode()).decode()}))[7:-4],
    "base64 in two lines": base64.b64encode(b"x" * 40 + KEY.encode()).decode()[:64]
    + "\n"
    + base64.b64encode(b"x" * 40 + KEY.encode()).decode()[64:],
}


@pytest.mark.parametrize("form", DISGUISES.values(), ids=list(DISGUISES))
def test_a_key_is_hidden_in_disguise(form: str) -> None:
    shown = hide(f"before <{form}> after", [KEY])
    assert len(re.sub(r"[*\s\\\"]", "", shown)) <= len("before<>after") + 3, shown


def test_short_keys_and_long_texts_leave_other_words_alone() -> None:
    assert hide("three answers: internationalization, 0x3f", ["3"]) == "three answers: internationalization, 0x***f"
    assert hide("x" * 20_000, [KEY]) == "x" * 5_000 + "..."


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_the_first_characters_of_a_key_that_was_cut_are_hidden(form: str) -> None:
    for size in range(16, len(form)):
        assert form[:size] not in hide(f"cut: {form[:size]}", [KEY])
    assert hide(f"cut: {KEY[:8]}", [KEY]) == "cut: ***"


@given(st.text(min_size=1, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_no_text_around_it_shows_a_key(key: str, before: str, after: str) -> None:
    assert key not in hide(before + key + after, [key], mark="") or key in before + after


def test_a_key_may_have_a_mark_of_its_own_and_texts_without_it_stay() -> None:
    assert hide_as("one two one", {"one": "${A}", "two": "${B}"}) == "${A} ${B} ${A}"
    assert hide("nothing here", [KEY, ""]) == "nothing here"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/path?n=3", "https://host/path?n=3"),
        ("https://me:word@host/x", "https://me:***@host/x"),
        ("https://word@host:80/x", "https://***@host:80/x"),
        ("https://sk_live_abc:@host", "https://***:@host"),
        ("https://host:8080/a@b?c=d@e", "https://host:8080/a@b?c=d@e"),
        ("http://h/?key=abc&n=3&api_key=d#access_token=e", "http://h/?key=***&n=3&api_key=***#access_token=***"),
        ("http://h/?X-Amz-Signature=12&password=a%20b;sig=c", "http://h/?X-Amz-Signature=***&password=***;sig=***"),
        ("http://h/?q={prompt}&key=${K}&monkey_size=3", "http://h/?q={prompt}&key=${K}&monkey_size=3"),
        ("http://h/bot81732:AAF9x2Kd8sLm3Qw7Zt1x9/send", "http://h/bot81732:***/send"),
        ("http://h/?id=4f9a1c7e2b8d3f6a5c0e9d1b", "http://h/?id=***"),
        ("postgresql://me:p/a?s#w@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql://me:p@ss@host/db", "postgresql://me:***@host/db"),
        (
            "postgresql+psycopg://me@host/db?user=me&password=abc",
            "postgresql+psycopg://me@host/db?user=me&password=***",
        ),
        ("host=h user=me password='a b' dbname=x", "host=h user=me password=*** dbname=x"),
        ("sqlite:////tmp/test.db", "sqlite:////tmp/test.db"),
    ],
)
def test_an_address_is_shown_without_its_keys(url: str, shown: str) -> None:
    assert hide_url(url) == shown


def test_the_keys_of_an_address_are_known_as_they_stand_there_and_decoded() -> None:
    assert url_secrets("https://me:a%2Fb@host/?token=xyz&n=3") == ("a%2Fb", "a/b", "xyz")
    assert url_secrets("https://host/?n=3") == ()


@pytest.mark.parametrize(
    "text",
    [
        "Bearer abc",
        "Basic dXNlcjpwYXNz",
        "sk-abc",
        "ghp_abcdef",
        "9f86d081884c7d659a2feaa0c55ad015",
        "dGhpcyBpcyBhIHNlY3JldCBrZXkgMTIz",
    ],
)
def test_a_key_is_recognised_by_its_looks(text: str) -> None:
    assert looks_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "application/json",
        "application/vnd.github.v3+json; charset=utf-8",
        "python-requests/2.31.0",
        "2023-06-01",
        "------------------------",
        "prompt-caching-2024-07-31,output-128k-2025-02-19",
        "Bearer ${API_KEY}",
        "123e4567-e89b-12d3-a456-426614174000",
        "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101",
    ],
)
def test_other_texts_are_no_keys(text: str) -> None:
    assert not looks_secret(text)


def test_names_that_usually_hold_keys() -> None:
    assert all(map(is_secret_name, ["key", "X-Api-Key", "apikey", "Authorization", "Cookie", "sslpassword", "sig"]))
    assert not any(map(is_secret_name, ["monkey_size", "n", "Content-Type", "keyspace", "design", "User-Agent"]))


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("curl -u me:word http://x", "curl -u me:*** http://x"),
        ("curl -H 'Authorization: Bearer abc'", "curl -H 'Authorization: Bearer ***'"),
        ("curl -H 'Authorization:Basic abc'", "curl -H 'Authorization:Basic ***'"),
        ('curl -H "X-Api-Key: abc" http://me:word@x/', 'curl -H "X-Api-Key: ***" http://me:***@x/'),
        ("API_KEY=abc run --password hunter2 --api-key=abc", "API_KEY=*** run --password *** --api-key=***"),
        ("run --token $TOKEN --secret ${SECRET}", "run --token $TOKEN --secret ${SECRET}"),
        ("a='curl http://x/?token=abc'", "a='curl http://x/?token=***'"),
        ("echo sk-abcdefghijkl", "echo ***"),
        ("run --password 'four short words' --n 3", "run --password '***' --n 3"),
        ("curl -H 'X-Api-Key: two words' -H X-Api-Key:abc", "curl -H 'X-Api-Key: ***' -H X-Api-Key:***"),
        ("""curl -d '{"password": "a b", "n": 3}'""", """curl -d '{"password": "***", "n": 3}'"""),
        ('curl -d "{\\"token\\":\\"abc\\"}"', 'curl -d "{\\"token\\":\\"***\\"}"'),
        ("curl --user=me:word", "curl --user=me:***"),
        ("x=PGPASSWORD=abc ./run", "x=PGPASSWORD=*** ./run"),
        ("select * from t where password = 'a b' and n = 3", "select * from t where password = '***' and n = 3"),
        ("kabc run hosts.csv --arm key --values token,seconds", "kabc run hosts.csv --arm key --values token,seconds"),
        ("select host from runs where seconds > 3", "select host from runs where seconds > 3"),
        ("", ""),
    ],
)
def test_command_lines_are_shown_without_their_keys(line: str, shown: str) -> None:
    assert hide_words(line) == shown


def test_the_keys_of_a_command_line_are_known() -> None:
    assert word_secrets("run --token 'a b' -u me:word http://h/?key=c%20d") == ("a b", "word", "c%20d", "c d")


def test_values_of_variables_are_their_names() -> None:
    given = {"API_KEY": "wren-one", "PIN": "1234", "N": "1", "URL": "https://me:word@host", "MODE": "production"}
    assert hide_values("wren-one at https://me:word@host, 1234", given) == "${API_KEY} at ${URL}, ${PIN}"
    assert hide_values("WREN%2Done by word in 1 production", given) == "${API_KEY} by ${URL} in 1 ${MODE}"
    assert hide_values("https://other, 123, 1 of 11, prod", given) == "https://other, 123, 1 of 11, prod"
