"""What those who steer ask for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kabc.server.models.base import Body


class Steer(Body):
    """What to do with a study."""

    action: Literal["pause", "resume", "stop", "raise-budget"]
    max_samples: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        default=None, description="of raise-budget: the new limit; null: none"
    )


class Delete(Body):
    """A study is deleted if its name is typed again."""

    name: str = Field(max_length=200)
