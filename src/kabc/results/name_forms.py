"""Names of arms and counts in JSON. They stand apart from the form of a result, which takes long to load."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]


class Part(BaseModel):
    """Values have the type that is written here: no text is read as a number. Unknown fields are left aside."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False, extra="ignore")


class TupleName(Part):
    """A name that is a tuple in Python."""

    tuple: list[Name]


class ObjectName(Part):
    """A name of another Python type. It comes back as a text."""

    text: str
    type: str = Field(description="the Python type that it had, for people")


Name = str | bool | int | float | TupleName | ObjectName | None
