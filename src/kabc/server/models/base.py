"""What all forms share: kinds of values, and how much may be sent."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from kabc.results.name_forms import Part

Id = Annotated[int, Field(ge=1, le=2**63 - 1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]

SMALL_BODY = 2**14  # bytes of a request
LARGE_BODY = 2**24  # of one with samples, or with facts of many arms


class Model(Part):
    """What the server says. It may have more fields in later versions."""


class Body(Model):
    """What is sent to the server: fields that are not described are refused."""

    model_config = ConfigDict(extra="forbid")


class Query(BaseModel):
    """What stands behind the question mark: texts that become numbers."""

    model_config = ConfigDict(extra="forbid")


class Problem(Model):
    """What is wrong, in one line. The code of the answer says of which kind it is."""

    error: str
