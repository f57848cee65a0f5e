"""Hide keys and passwords in texts that people read.

A server may quote a key in any form: as it is, percent-encoded, in base64, in hex, or cut. So the text is decoded in
all common ways, and a key is hidden wherever 8 characters of it follow each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from urllib.parse import unquote

from kabc.core.disguises import View, views

MARK = "***"
SHORTEST = 4  # characters of a key that is hidden; hiding less would spoil every message

_SHORTEST_PART = 8  # characters of a key that are hidden where the rest is missing
_SHORTEST_CODE = 4  # characters of a key that is looked for in decoded texts: less is in every second word
_LONGEST = 5_000  # characters of a text that are looked at; the rest is left out

Span = tuple[int, int, str]  # where a secret begins and ends, and what stands there instead


def hide(text: str, secrets: Iterable[str], mark: str = MARK) -> str:
    """The text without these secrets, in whatever common form they are there.

    Examples
    --------
    >>> from kabc.core.secrets import hide
    >>> hide("wrong key: my%2Fkey", ["my/key"])
    'wrong key: ***'
    """
    return hide_as(text, dict.fromkeys(secrets, mark))


def hide_as(text: str, marks: Mapping[str, str]) -> str:
    """The text with each secret replaced by a mark of its own."""
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    parts = [(_parts(secret), mark) for secret, mark in marks.items() if secret]
    if not any(len(text) >= len(part) for some, _ in parts for part in some):
        return text  # most texts of an answer are shorter than a key
    found: set[Span] = set()
    for view in views(text):
        decoded = view.text != text
        for some, mark in parts:
            found.update(_spans(view, (part for part in some if len(part) >= _SHORTEST_CODE or not decoded), mark))
    return _replaced(text, sorted(found))


def hide_values(text: str, variables: Mapping[str, str]) -> str:
    """The text with ${NAME} in place of the values of these variables.

    A value is a key if its name says so or if it looks like one: then parts of it and other forms are hidden too. Any
    other value is hidden as a whole, from 8 characters on: hiding "1" or "false" would spoil every message.

    Examples
    --------
    >>> from kabc.core.secrets import hide_values
    >>> hide_values("1 of 2 calls by my-secret in /data/runs", {"API_KEY": "my-secret", "N": "1", "DIR": "/data/runs"})
    '1 of 2 calls by ${API_KEY} in ${DIR}'
    """
    keys: dict[str, str] = {}
    for name, value in variables.items():
        mark = f"${{{name}}}"
        is_key = holds_key(name, value)
        keys |= dict.fromkeys(
            (one for one in ((value,) if is_key else url_secrets(value)) if len(one) >= SHORTEST), mark
        )
        if not is_key and len(value) >= _SHORTEST_PART:
            text = text.replace(value, mark)
    return hide_as(text, keys)


def holds_key(name: str, value: str) -> bool:
    """Whether a variable is a key, by its name or by its value."""
    return is_secret_name(name) or looks_secret(value)


def _replaced(text: str, found: list[Span]) -> str:
    parts, done = [], 0
    for start, end, mark in found:
        if start >= done:
            parts += [text[done:start], mark]
        done = max(done, end)  # spans may overlap: several forms of a key begin alike
    return "".join([*parts, text[done:]])


# ---------------------------------------------------------------- the forms of a key


def _spans(view: View, parts: Iterable[str], mark: str) -> Iterator[Span]:
    text = _lower(view.text)
    for part in parts:
        start = text.find(part)
        while start >= 0:
            yield *view.part(start, start + len(part)), mark
            start = text.find(part, start + 1)


def _parts(secret: str) -> set[str]:
    """What gives a key away: every part of it of 8 characters, forwards and backwards. A short key only as a whole."""
    in_bytes = secret.encode(errors="surrogatepass").decode("latin-1")
    words = {_lower(form) for text in (secret, in_bytes) for form in (text, re.sub(r"[\s+]", "", text)) if form}
    size = _SHORTEST_PART
    forwards = {word[i : i + size] for word in words for i in range(len(word) - size + 1)}
    return forwards | {part[::-1] for part in forwards} | {_lower(secret)}


def _lower(text: str) -> str:
    """Small letters, one for each: some have two."""
    return text.lower() if len(text.lower()) == len(text) else "".join(one.lower()[0] for one in text)


# ---------------------------------------------------------------- addresses

_SECRET_NAME = re.compile(
    r"pass|pwd|secret|token|auth(?!ors?\b)|cred|signature|session|cookie|jwt|bearer|api_?-?key|access_?-?key"
    r"|(?<![a-z])(key|sig|pin|sid|code)(?![a-z])|key$",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*://")
_USER = re.compile(r"([^/?#:@]*)(?::(?!\d+(?:[/?#]|$))([^@]*))?@")  # a password may hold / and ?, a port may not
_FIELD = re.compile(r"(?:^|(?<=[?&;#\s=]))([^=?&;#\s]+)\s*=\s*('(?:[^'\\]|\\.)*'|\"[^\"]*\"|[^&;#\s]*)")
_VARIABLE = re.compile(r"\$?\{\w*\}")


def hide_url(url: str) -> str:
    """An address without its passwords and keys. Also for texts such as "host=x password=y".

    Examples
    --------
    >>> from kabc.core.secrets import hide_url
    >>> hide_url("https://me:word@host/path?api_key=abc&n=3")
    'https://me:***@host/path?api_key=***&n=3'
    """
    return _replaced(url, sorted((start, end, MARK) for start, end in _secret_places(url)))


def url_secrets(url: str) -> tuple[str, ...]:
    """The passwords and keys in an address, as they stand there and decoded."""
    found = [url[start:end] for start, end in _secret_places(url)]
    return tuple(dict.fromkeys(text for raw in found for text in (raw, unquote(raw)) if text))


def _secret_places(url: str) -> Iterator[tuple[int, int]]:
    scheme = _SCHEME.match(url)
    begin = scheme.end() if scheme else 0
    web = scheme is not None and scheme.group().lower().startswith("http")
    user = _USER.match(url, begin) if scheme else None
    if user is not None:
        # a password with an @ in it: the last one before the path ends it
        end = max(user.end(), url.rfind("@", user.end(), _end_of_host(url, user.end())) + 1)
        begin, part = end, 2 if user.group(2) else 1
        if part == 2:
            yield user.start(2), end - 1
        elif user.group(1) and (web or looks_secret(user.group(1))):  # a key may stand where the user does
            yield user.span(1)
    path_end = min((at for sign in "?#" if (at := url.find(sign, begin)) >= 0), default=len(url))
    if web:
        yield from (part.span() for part in re.compile(r"[^/:]+").finditer(url, begin, path_end) if _random(part[0]))
    at = path_end if scheme else 0
    while field := _FIELD.search(url, at):
        name, value = unquote(field.group(1)), field.group(2)
        at = field.start(2)  # its value may be a field too
        if value and not _VARIABLE.fullmatch(value) and holds_key(name, unquote(value)):
            yield field.span(2)
            at = field.end()


def _end_of_host(url: str, begin: int) -> int:
    return min((at for sign in "/?#" if (at := url.find(sign, begin)) >= 0), default=len(url))


# ---------------------------------------------------------------- command lines

_WORD = re.compile(r"\S+")
_QUOTES = "'\"`()"
_SCHEMES = ("basic", "bearer", "digest", "token", "apikey")
_USER_OPTIONS = ("-u", "--user", "--proxy-user")
_NAME = re.compile(r"[A-Za-z][\w-]*")
_QUOTED = re.compile(
    r"""([\w.-]+)\\?["']?\s*[:=]\s*\\?(["'])(.*?)\\?\2""", re.DOTALL
)  # "name": "value", name = 'value'


def hide_words(text: str) -> str:
    """A command line or a query without passwords and keys, as far as they can be recognised.

    Hidden are passwords in addresses, values of options, headers and fields with a name such as "password" or
    "api-key", and words that look like keys. Variables such as $KEY stay.

    Examples
    --------
    >>> from kabc.core.secrets import hide_words
    >>> hide_words("curl -u me:word -H 'Authorization: Bearer abc' https://x/?key=1 --retry 3")
    "curl -u me:*** -H 'Authorization: Bearer ***' https://x/?key=*** --retry 3"
    """
    return _replaced(text, sorted((start, end, MARK) for start, end in _word_places(text)))


def word_secrets(text: str) -> tuple[str, ...]:
    """The passwords and keys in a command line, as they stand there and decoded."""
    found = [text[start:end].strip(_QUOTES) for start, end in _word_places(text)]
    return tuple(dict.fromkeys(one for raw in found for one in (raw, unquote(raw)) if one))


def _word_places(text: str) -> Iterator[tuple[int, int]]:
    for field in _QUOTED.finditer(text):
        if is_secret_name(field[1]) and field[3] and not field[3].startswith("$"):
            yield field.span(3)
    before, told, quote = "", False, ""  # the word before, whether it says that a key follows, and in which quotes
    done = 0
    for word in _WORD.finditer(text):
        start, end = word.span()
        if start < done:
            continue
        opened = word[0][0] if word[0][0] in "'\"" else ""
        start += len(word[0]) - len(word[0].lstrip(_QUOTES))
        end -= len(word[0]) - len(word[0].rstrip(_QUOTES))
        inside = text[start:end]
        name, _, value = inside.partition(":")
        user = before in _USER_OPTIONS or name.partition("=")[0] in _USER_OPTIONS
        if told and inside.lower() in _SCHEMES:
            continue
        if told and inside and not inside.startswith("$") and inside != "=":
            done = end = max(end, text.find(opened or quote, start) if opened or quote else 0)  # it may be many words
            yield start, end
        elif value and (user or (_NAME.fullmatch(name) and is_secret_name(name))) and value.lower() not in _SCHEMES:
            yield end - len(value), end
        else:
            yield from ((start + a, start + b) for a, b in _secrets_in(inside))
        option = inside.startswith("-") and "=" not in inside
        told = (option or inside.endswith((":", "="))) and is_secret_name(inside.strip("-:="))
        told = told or inside.lower().rpartition(":")[2] in _SCHEMES[:2]
        before, quote = inside, opened


def _secrets_in(word: str) -> Iterator[tuple[int, int]]:
    """Where the secrets of one word are: in an address, behind the sign of a field, or all of it."""
    scheme = re.search(r"[A-Za-z][\w+.-]*://", word)
    begin = scheme.start() if scheme else 0
    places = [(begin + a, begin + b) for a, b in _secret_places(word[begin:])]
    if not places and not scheme and not word.startswith(("-", "$", "/", ".")) and looks_secret(word):
        places = [(0, len(word))]
    yield from places


# ---------------------------------------------------------------- what looks like a key

_KNOWN = re.compile(
    r"\b(?:(?:Bearer|Basic|Token|ApiKey|Digest)\s+(?!\$\{)\S|sk-\w|[spr]k_(?:live|test)_|gh[a-z]_\w|github_pat_|glpat-"
    r"|xox[a-z]-|AKIA[A-Z0-9]{8}|AIza[\w-]{10}|hf_\w{10}|eyJ[\w-]{10})"
)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_LONG = 20  # characters of a random word; shorter ones are often ids


def is_secret_name(name: str) -> bool:
    """Whether a field, header or parameter of this name usually holds a key or a password."""
    return bool(_SECRET_NAME.search(name))


def looks_secret(text: str) -> bool:
    """Whether a text holds what looks like a key: a known beginning, or a long random word."""
    return bool(_KNOWN.search(text)) or any(_random(word) for word in re.split(r"[^\w-]+", text))


def _random(word: str) -> bool:
    """Whether letters and digits change too often for a name or a date."""
    if len(word) < _LONG or _UUID.fullmatch(word):
        return False
    kinds = ["0" if one.isdigit() else "A" if one.isupper() else "a" for one in word if one.isalnum()]
    changes = sum(a != b for a, b in pairwise(kinds))
    often = 1 / 4 if kinds.count("0") > 2 else 2 / 5  # names in CamelCase change with every word
    return changes >= max(1, often * len(kinds))
