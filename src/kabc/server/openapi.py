"""The OpenAPI document, made from the table of endpoints and the models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from kabc.server.models.base import Problem

if TYPE_CHECKING:
    from kabc.server.endpoints import Endpoint

_REFERENCE = "#/components/schemas/{model}"
_NEEDED: dict[str, list[dict[str, list[str]]]] = {"yes": [{"bearer": []}, {"cookie": []}], "no": [{}]}


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """As OpenAPI 3.1 describes it."""
    from kabc import __version__

    known = tuple(endpoints)
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [(Problem, "serialization")]
    for one in known:
        wanted += [(one.answer, "serialization")] if one.answer is not None else []
        wanted += [(one.body, "validation")] if one.body is not None else []
    unique = list(dict.fromkeys(wanted))
    references, definitions = models_json_schema(unique, ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for one in known:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, references)
    return {
        "openapi": "3.1.0",
        "info": {"title": "kabc serve", "version": __version__, "description": "Studies over HTTP. See docs/serve.md."},
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "kabc",
                    "description": "its name has the port; requests that change something need X-Kabc: 1 too",
                },
            },
        },
    }


def _operation(one: Endpoint, references: Any) -> dict[str, Any]:
    def schema(model: type[BaseModel], mode: Literal["serialization", "validation"]) -> Any:
        return references[model, mode]

    answer: Any = {"type": "string"} if one.answer is None else schema(one.answer, "serialization")
    problem = {"application/json": {"schema": schema(Problem, "serialization")}}
    found: dict[str, Any] = {
        "summary": one.does,
        "operationId": one.handler.__name__,
        "security": _NEEDED["no" if one.scope is None else "yes"],
        "x-scope": one.scope,
        "parameters": [*_in_path(one), *_in_query(one)],
        "responses": {
            "200": {"description": one.does, "content": {one.kind: {"schema": answer}}},
            "4XX": {"description": "refused", "content": problem},
            "5XX": {"description": "a fault, or the store is away", "content": problem},
        },
    }
    if one.body is not None:
        content = {"application/json": {"schema": schema(one.body, "validation")}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _in_path(one: Endpoint) -> list[dict[str, Any]]:
    if "{study}" not in one.path:
        return []
    return [{"name": "study", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}]


def _in_query(one: Endpoint) -> list[dict[str, Any]]:
    if one.query is None:
        return []
    described = one.query.model_json_schema()
    required = described.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in described["properties"].items()
    ]
