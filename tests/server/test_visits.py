"""Who gives way when more connections wait than may."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack

from kabc.server.visits import Lobby, allow_files


def test_the_address_with_most_of_them_loses_those_that_wait_longest() -> None:
    allow_files()

    async def run() -> None:
        with ExitStack() as stack:
            lobby = stack.enter_context(Lobby(socket.AF_INET, socket.SOCK_STREAM))
            lobby.bind(("127.0.0.1", 0))
            lobby.listen(8)
            for source in ["127.0.4.1"] * 5 + ["127.0.4.2"] * 1_005:
                stack.enter_context(socket.create_connection(lobby.getsockname(), None, (source, 0)))
                stack.enter_context(lobby.accept()[0])
            left = [address for (address, _), _ in lobby.visits]
            assert (left.count("127.0.4.1"), left.count("127.0.4.2")) == (5, 995)
            scope = {"client": next(iter(lobby.visits))[0], "server": lobby.getsockname()}
            with lobby.serving(scope):
                scope["let_in"]()
            for _ in range(2):  # one that was let in counts no more
                stack.enter_context(socket.create_connection(lobby.getsockname(), None, ("127.0.4.3", 0)))
                stack.enter_context(lobby.accept()[0])
            left = [address for (address, _), _ in lobby.visits]
            assert [left.count(f"127.0.4.{number}") for number in (1, 2, 3)] == [5, 994, 2]

    asyncio.run(run())
