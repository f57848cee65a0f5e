"""Who is there."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kabc.server.models.base import Body, Model
from kabc.storage.contract import Scope


class Login(Body):
    """A token, in exchange for a cookie."""

    token: str = Field(min_length=1, max_length=200)


class Visitor(Model):
    """Who the server takes the caller for."""

    scope: Scope = Field(description="what the caller may do: read; tell: draw for studies; admin: everything")
    label: str = Field(description="whose token it is")
    version: str = Field(description="of kabc")


class Done(Model):
    """It is done."""

    done: Literal[True] = True
