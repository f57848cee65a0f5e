"""How people come in: a token for a cookie."""

from __future__ import annotations

from starlette.responses import JSONResponse, RedirectResponse, Response

from kabc.server.access import SESSION_SECONDS, Guest
from kabc.server.guard import address_of
from kabc.server.models.people import Done, Login, Visitor
from kabc.server.service import Call, Service


async def login(call: Call) -> Response:
    """A cookie for a token in the body."""
    from kabc import __version__

    asked: Login = call.body
    guest = await call.service.access.by_token(asked.token, address_of(call.request.scope))
    visitor = Visitor(scope=guest.scope, label=guest.label, version=__version__)
    return _with_cookie(call.service, guest, JSONResponse(visitor.model_dump()))


async def logout(call: Call) -> Response:
    """The cookie is void."""
    service = call.service
    service.access.close_session(call.request.cookies.get(service.cookie, ""))
    answer = JSONResponse(Done().model_dump())
    answer.delete_cookie(service.cookie, secure=service.secure, httponly=True, samesite="strict")
    return answer


async def by_address(service: Service, token: str, address: str) -> Response:
    """A cookie for a token in the address; then the address is left, so that it does not stay in sight."""
    guest = await service.access.by_token(token, address)
    return _with_cookie(service, guest, RedirectResponse("/", 303))


def _with_cookie(service: Service, guest: Guest, answer: Response) -> Response:
    answer.set_cookie(
        service.cookie,
        service.access.open_session(guest),
        max_age=round(SESSION_SECONDS),
        path="/",
        secure=service.secure,
        httponly=True,
        samesite="strict",
    )
    return answer
