"""The API as an OpenAPI 3.1 document, generated from the table of endpoints and their types."""

import inspect
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from assent import __version__
from assent.render.rows import Row
from assent.web.endpoint import API, Endpoint, Nothing
from assent.web.errors import STATUSES

REFERENCE: Final = "#/components/schemas/{name}"
ERROR: Final = {
    "type": "object",
    "required": ["error", "message", "next"],
    "properties": {
        "error": {"type": "string", "enum": sorted(STATUSES)},
        "message": {"type": "string"},
        "next": {"type": "string"},
    },
}


def document(endpoints: Sequence[Endpoint]) -> Row:
    """Returns the document of the whole API."""
    kinds = {each.body for each in endpoints} | {each.query for each in endpoints}
    ordered = sorted(kinds - {Nothing}, key=lambda kind: kind.__name__)
    _, schemas = msgspec.json.schema_components(ordered, ref_template=REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(f"{API}{each.path}", {})[each.method.lower()] = _operation(each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Assent", "version": __version__},
        "paths": paths,
        "security": [{"cookie": []}, {"token": []}],
        "components": {
            "schemas": {**schemas, "Error": ERROR},
            "securitySchemes": {
                "cookie": {"type": "apiKey", "in": "cookie", "name": "assent-PORT"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> Row:
    about = inspect.getdoc(endpoint.run) or endpoint.summary
    needs = f"Needs the role {endpoint.role}."
    if endpoint.decides:
        needs += " A token may do this only with `serve.token_may_decide = true`."
    row: Row = {
        "operationId": endpoint.operation_id,
        "summary": endpoint.summary,
        "description": f"{about}\n\n{needs}",
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint, schemas)],
        "responses": {
            str(endpoint.status): {
                "description": "The answer",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "default": {
                "description": "An error: what happened, and what to do next",
                "content": {
                    "application/json": {"schema": {"$ref": REFERENCE.format(name="Error")}}
                },
            },
        },
    }
    if endpoint.body is not Nothing:
        name = endpoint.body.__name__
        schema = {"$ref": REFERENCE.format(name=name)}
        row["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return row


def _path_parameters(endpoint: Endpoint) -> list[Row]:
    names = re.findall(r"\{(\w+)\}", endpoint.path)
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]


def _query_parameters(endpoint: Endpoint, schemas: dict[str, Any]) -> list[Row]:
    if endpoint.query is Nothing:
        return []
    found = schemas[endpoint.query.__name__]
    return [
        {
            "name": name,
            "in": "query",
            "required": name in found.get("required", ()),
            "schema": schema,
        }
        for name, schema in found["properties"].items()
    ]
