"""The application: endpoints, the page, and how a request is let in, read, answered or refused."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from kabc.core.errors import KabcError
from kabc.core.words import shown
from kabc.report.style import STYLE
from kabc.server.access import Guest
from kabc.server.doors import by_address
from kabc.server.endpoints import ENDPOINTS, Endpoint
from kabc.server.errors import RefusedError, code_of
from kabc.server.guard import Guard, address_of
from kabc.server.openapi import document
from kabc.server.service import Call, Service
from kabc.server.visits import Lobby

log = logging.getLogger("kabc.server")

STATIC = Path(__file__).parent / "static"
_HEADER = "x-kabc"  # a foreign page cannot send it without asking first, and the answer is no
_BODY_SECONDS = 30.0  # in which a body must be there
_SAFE = ("GET", "HEAD")
_BEYOND = 2**63  # an id that no store has

Answering = Callable[[Request], Awaitable[ASGIApp]]


def make_app(service: Service, hosts: Collection[str], lobby: Lobby) -> Starlette:
    """The application for a service, which answers to these names (with their ports) those who come in here."""

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        await service.close()

    paths = dict.fromkeys(one.path for one in ENDPOINTS)
    routes: list[BaseRoute] = [_Door(service, path, [one for one in ENDPOINTS if one.path == path]) for path in paths]
    described = document(ENDPOINTS)

    async def openapi(_: Request) -> ASGIApp:
        return JSONResponse(described)

    async def page(request: Request) -> ASGIApp:
        token = request.query_params.get("token")
        if token is not None:
            return await by_address(service, token, address_of(request.scope))
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    async def style(_: Request) -> ASGIApp:
        return Response(STYLE, media_type="text/css")

    routes += [_Plain("/openapi.json", openapi), _Plain("/", page), _Plain("/static/report.css", style)]
    routes.append(Mount("/static", StaticFiles(directory=STATIC)))
    guard = Middleware(Guard, hosts=hosts, lobby=lobby, secure=service.secure)
    return Starlette(routes=routes, middleware=[guard], lifespan=life, exception_handlers={HTTPException: _unknown})


async def _unknown(request: Request, error: Exception) -> Response:
    code = error.status_code if isinstance(error, HTTPException) else 404
    return JSONResponse({"error": "there is nothing here; see /openapi.json" if code == 404 else str(error)}, code)


class _Id(Convertor[int]):
    """The number of a study. One that is too long for a store is not read: it is not known yet who asks."""

    regex = "[0-9]+"

    def convert(self, value: str) -> int:
        return int(value) if len(value) < 20 else _BEYOND


register_url_convertor("id", _Id())


class _Plain(Route):
    """An address that needs no token: it has no data."""

    def __init__(self, path: str, answer: Answering) -> None:
        async def serve(request: Request) -> Any:
            return await _answered(request, path, answer)

        super().__init__(path, serve, methods=["GET"])


class _Door(Route):
    """An address of the API, with all its methods."""

    def __init__(self, service: Service, path: str, endpoints: list[Endpoint]) -> None:
        by_method = {one.method: one for one in endpoints}

        async def serve(request: Request) -> Any:
            endpoint = by_method["GET" if request.method == "HEAD" else request.method]
            return await _answered(request, path, lambda asked: _served(service, endpoint, asked))

        super().__init__(path.replace("{study}", "{study:id}"), serve, methods=list(by_method))


# ---------------------------------------------------------------- refusing


async def _answered(request: Request, path: str, answer: Answering) -> ASGIApp:
    """The answer, or what is wrong in one line. Logged is the address as the table has it: never what was sent."""
    try:
        return await answer(request)
    except KabcError as error:
        code, retry = code_of(error), getattr(error, "retry", None)
        log.warning("refused, %d: %s %s from %s", code, request.method, path, address_of(request.scope))
        headers = {} if retry is None else {"retry-after": str(retry)}
        if code == 401:
            headers["www-authenticate"] = "Bearer"
        return JSONResponse({"error": shown(str(error))}, code, headers)
    except ClientDisconnect:
        return Response(status_code=400)
    except Exception as error:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        where = "" if frame is None else f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}"
        # neither its words nor a traceback: they may quote what was sent
        log.error("a fault, 500: %s %s: %s at %s", request.method, path, type(error).__name__, where)  # noqa: TRY400
        return JSONResponse({"error": "a fault of kabc; the log of the server says where"}, 500)


# ---------------------------------------------------------------- serving


async def _served(service: Service, endpoint: Endpoint, request: Request) -> ASGIApp:
    call = Call(service, request, await _guest(service, endpoint, request), request.path_params.get("study", 0))
    if call.study >= _BEYOND:
        raise RefusedError(404, "there is no such study")
    if endpoint.query is not None:
        call.query = _checked(lambda form: form.model_validate(_query(request)), endpoint.query, "query")
    elif request.query_params:
        raise RefusedError(400, "this address takes nothing behind a question mark")
    if endpoint.body is not None:
        body = await _body(request, endpoint.most)
        call.body = _checked(lambda form: form.model_validate_json(body), endpoint.body, "body")
    found = await endpoint.handler(call)
    if isinstance(found, BaseModel):
        found = found.model_dump_json()
    return Response(found, media_type="application/json") if isinstance(found, str) else found


async def _guest(service: Service, endpoint: Endpoint, request: Request) -> Guest | None:
    """Who asks, if they may."""
    if request.method not in _SAFE and endpoint.scope is None:
        _expect_own_page(request)
    if endpoint.scope is None:
        return None
    access = service.access
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    cookie = request.cookies.get(service.cookie)
    if kind:
        if kind.lower() != "bearer" or not token.strip():
            raise RefusedError(401, "send Authorization: Bearer TOKEN")
        guest = await access.by_token(token, address_of(request.scope))
    elif cookie:
        guest = await access.by_cookie(cookie)
        if request.method not in _SAFE:
            _expect_own_page(request)
    elif access.anyone is not None:
        guest = access.anyone
    else:
        raise RefusedError(401, "a token is needed: open the printed address, or send Authorization: Bearer TOKEN")
    if not guest.may(endpoint.scope):
        raise RefusedError(403, f"this needs a token of scope {endpoint.scope}, and yours has {guest.scope}")
    request.scope["let_in"]()
    return guest


def _expect_own_page(request: Request) -> None:
    """A cookie goes with every request of a browser, also with one that a foreign page made up."""
    if _HEADER not in request.headers:
        raise RefusedError(403, "send the header X-Kabc: 1 with requests that change something, or a bearer token")


def _query(request: Request) -> dict[str, str]:
    pairs = request.query_params.multi_items()
    if len({name for name, _ in pairs}) != len(pairs):
        raise RefusedError(400, "a name stands twice behind the question mark")
    return dict(pairs)


async def _body(request: Request, most: int) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedError(415, "send JSON, with Content-Type: application/json")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise RefusedError(413, f"a body has at most {most:,} bytes here")
    found = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for part in request.stream():
                found += part
                if len(found) > most:
                    raise RefusedError(413, f"a body has at most {most:,} bytes here")
    except TimeoutError:
        raise RefusedError(408, f"the body was not there after {_BODY_SECONDS:g} seconds") from None
    return bytes(found)


def _checked(read: Callable[[type[Any]], Any], form: type[Any], what: str) -> Any:
    try:
        return read(form)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))[:200]
        raise RefusedError(400, f"{what}{f', {where}' if where else ''}: {first['msg'][:300]}") from None
