"""Who may come in: tokens, the cookies that browsers get for them, and a limit on wrong ones.

A token is 256 random bits, so its SHA-256 is enough to recognise it, and gives nothing away. The token that is printed
when the server starts is known to this process alone. All others are in the store, as hashes.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from kabc.core.errors import SettingsError
from kabc.server.errors import RefusedError
from kabc.storage.contract import Scope, Storage

SESSION_SECONDS = 12 * 3600.0
_FRESH = 1.0  # seconds for which the tokens of the store are not read again: so long a revoked one may live
_MOST_WRONG = 10  # tokens from one address
_WRONG_SECONDS = 60.0
_MOST_ADDRESSES = 10_000
_MOST_SESSIONS = 10_000
_FORM = re.compile(r"kabc_[A-Za-z0-9_-]{43}")
_ALLOWS: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "tell": frozenset({"tell"}),
    "admin": frozenset({"read", "tell", "admin"}),
}


def new_token() -> str:
    """A token that nobody can guess."""
    return f"kabc_{secrets.token_urlsafe(32)}"


def token_of(text: str, what: str = "the token") -> str:
    """The token in a text, without white space around it. A text that is none is refused, and never shown."""
    token = text.strip()
    if _FORM.fullmatch(token):
        return token
    if len(token.splitlines()) > 1:
        why = f"has {len(token.splitlines())} lines"
    elif not token.startswith("kabc_"):
        why = "does not begin with kabc_"
    elif len(token) != 48:
        why = f"has {len(token)} characters"
    else:
        why = "has a character that no token has"
    raise SettingsError(f"{what} {why}; it is kabc_ and 43 letters, digits, - or _: give it as it was printed, alone")


def digest_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Guest:
    """Somebody who came in."""

    label: str
    scope: Scope
    digest: str = ""  # of the token; empty: without one

    def may(self, scope: Scope) -> bool:
        """Whether this needs no other token."""
        return scope in _ALLOWS[self.scope]


def guests(storage: Storage) -> dict[str, Guest]:
    """Who has a token of the store that is good now, by its digest."""
    now = storage.now()
    good = [one for one in storage.tokens() if one.expires is None or one.expires > now]
    return {one.digest: Guest(one.label, one.scope, one.digest) for one in good}


class Access:
    """All tokens and sessions of a server. To be used in its event loop.

    Parameters
    ----------
    read : callable
        Reads the tokens of the store: `guests`, in a thread.
    printed : str or None
        The token that is printed at the start; it may do everything. None: who has no token may read.
    clock : callable
        Seconds.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[Mapping[str, Guest]]],
        printed: str | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._clock = read, clock
        self._own = {} if printed is None else {digest_of(printed): Guest("printed", "admin", digest_of(printed))}
        self.anyone = Guest("anyone", "read") if printed is None else None
        self._known: dict[str, Guest] = {}
        self._reading, self._fresh_until = asyncio.Lock(), -_FRESH
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()  # digest of it -> of its token, until when
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()  # address -> times

    # ------------------------------------------------------------ tokens

    async def _guest(self, digest: str, *, new: bool = False) -> Guest | None:
        """Who has the token of this digest. `new`: it may have been made just now."""
        began = self._clock()
        if began >= self._fresh_until or (new and digest not in self._known):
            async with self._reading:
                if self._fresh_until < began + _FRESH:  # nobody else has read it meanwhile
                    self._known = self._own | dict(await self._read())
                    self._fresh_until = self._clock() + _FRESH
        return self._known.get(digest)

    async def by_token(self, text: str, address: str) -> Guest:
        """Who has this token. One that is wrong is refused; after ten from an address it is not even said why.

        A good one is always taken: wrong ones of others at the same address, as behind a proxy, shut nobody out. To
        look takes one hash, and all who ask at the same time share one reading of the store.
        """
        why = "the token is wrong, revoked or expired; see kabc serve token create"
        try:
            found = await self._guest(digest_of(token_of(text)), new=True)
        except SettingsError as error:
            found, why = None, str(error)
        if found is not None:
            return found
        if self._too_many(address):
            raise RefusedError(429, "too many wrong tokens from this address; wait a minute", round(_WRONG_SECONDS))
        self._count(address)
        raise RefusedError(401, why)

    async def still(self, guest: Guest) -> bool:
        """Whether the token of somebody who came in is still good."""
        return not guest.digest or await self._guest(guest.digest) is not None

    # ------------------------------------------------------------ sessions

    def open_session(self, guest: Guest) -> str:
        """The value of a cookie."""
        cookie = secrets.token_urlsafe(32)
        self._sessions[digest_of(cookie)] = guest.digest, self._clock() + SESSION_SECONDS
        while len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    async def by_cookie(self, cookie: str) -> Guest:
        """Whose cookie it is. It ends with its token, and with this server.

        A void one is no wrong token: after a restart every open page has one. Nobody can guess 256 bits.
        """
        digest, until = self._sessions.get(digest_of(cookie), ("", 0.0))
        found = await self._guest(digest) if digest and self._clock() < until else None
        if found is not None:
            return found
        self._sessions.pop(digest_of(cookie), None)
        raise RefusedError(401, "the session is over; open the printed address again, or give a token")

    def close_session(self, cookie: str) -> None:
        """The cookie opens nothing any more."""
        self._sessions.pop(digest_of(cookie), None)

    # ------------------------------------------------------------ wrong ones

    def _too_many(self, address: str) -> bool:
        times = self._wrong.get(address)
        if times is None:
            return False
        while times and times[0] < self._clock() - _WRONG_SECONDS:
            times.popleft()
        return len(times) >= _MOST_WRONG

    def _count(self, address: str) -> None:
        self._wrong.setdefault(address, deque(maxlen=_MOST_WRONG)).append(self._clock())
        self._wrong.move_to_end(address)
        while len(self._wrong) > _MOST_ADDRESSES:
            self._wrong.popitem(last=False)
