"""The API as an OpenAPI 3.1 document, generated from the table of endpoints and their types."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from assent import __version__
from assent.core.errors import AssentError
from assent.render.rows import Row
from assent.web.endpoint import API, Endpoint, Nothing
from assent.web.errors import STATUSES
from assent.web.event_feed import EventQuery

REFERENCE: Final = "#/components/schemas/{name}"
JSON: Final = "application/json"
HTML: Final = "text/html"
FORM: Final = "application/x-www-form-urlencoded"
EVENTS: Final = "text/event-stream"
ABOUT: Final = (
    "Assent over HTTP: the same engine and the same JSON as on the command line. "
    "People log in with a one-time code and use a cookie; programs use a token. "
    "Long work answers 202 and reports by events."
)
ERROR: Final = {
    "type": "object",
    "description": "What happened, and what to do next; some errors list choices in more members.",
    "required": ["error", "message", "next"],
    "properties": {
        "error": {
            "type": "string",
            "enum": sorted({*STATUSES, AssentError.word}),
            "description": "A word for programs; docs/api.md has the status of each.",
        },
        "message": {"type": "string"},
        "next": {"type": "string", "description": "A command or a request; may be empty."},
    },
}
CSRF: Final = {
    "name": "x-assent-csrf",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "`csrf` of GET /access. A change by cookie needs it; one by token does not.",
}

# Which statuses an endpoint can have, by what it takes; the words of each are those of STATUSES.
ALWAYS: Final = (400, 401, 403, 503)
BY_REFERENCE: Final = (404, 409, 422)  # it names something that may be missing, stale or damaged
CHANGES: Final = (404, 409, 413, 422, 423)


def document(endpoints: Sequence[Endpoint]) -> Row:
    """Returns the document of the whole API."""
    types = {kind for each in endpoints for kind in (each.body, each.query, each.answer)}
    kinds = types | {EventQuery}
    ordered = sorted(kinds - {Nothing}, key=lambda kind: kind.__name__)
    _, schemas = msgspec.json.schema_components(ordered, ref_template=REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(f"{API}{each.path}", {})[each.method.lower()] = _operation(each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Assent", "version": __version__, "description": ABOUT},
        "servers": [{"url": "/", "description": "Where this document came from"}],
        "tags": [{"name": name} for name in sorted({_tag(each) for each in endpoints})],
        "security": [{"cookie": []}, {"token": []}],
        "paths": {**paths, f"{API}/events": _events(schemas), **_logins()},
        "components": {
            "schemas": {**schemas, "Error": ERROR},
            "securitySchemes": {
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "assent-PORT",
                    "description": "From POST /login; PORT is the server's.",
                },
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "From `assent serve token`.",
                },
            },
        },
    }


def statuses(endpoint: Endpoint) -> list[int]:
    """Returns the statuses of the errors that an endpoint can answer."""
    found = {*ALWAYS}
    if "{" in endpoint.path or "workspace" in _fields(endpoint.query):
        found |= {*BY_REFERENCE}
    if endpoint.method != "GET":
        found |= {*CHANGES}
    return sorted(found)


def error_words(status: int) -> list[str]:
    """Returns the error words that have a status."""
    return sorted(word for word, its in STATUSES.items() if its == status)


def needs(endpoint: Endpoint) -> str:
    """Says who may call an endpoint."""
    if endpoint.decides:
        return f"{endpoint.role}; a token only with `serve.token_may_decide`"
    return endpoint.role


def _operation(endpoint: Endpoint, schemas: Mapping[str, Any]) -> Row:
    about = inspect.getdoc(endpoint.run) or endpoint.summary
    row: Row = {
        "operationId": endpoint.operation_id,
        "tags": [_tag(endpoint)],
        "summary": endpoint.summary,
        "description": f"{about}\n\nRole: {needs(endpoint)}.",
        "parameters": [
            *_path_parameters(endpoint.path),
            *_query_parameters(endpoint.query, schemas),
            *([CSRF] if endpoint.method != "GET" else []),
        ],
        "responses": {
            str(endpoint.status): {
                "description": about.partition("\n")[0],
                "content": {JSON: {"schema": _answer(endpoint)}},
            },
            **_errors(statuses(endpoint)),
        },
    }
    if endpoint.body is not Nothing:
        schema = {"$ref": REFERENCE.format(name=endpoint.body.__name__)}
        row["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return row


def _answer(endpoint: Endpoint) -> Row:
    if endpoint.answer is Nothing:
        return {"type": "object"}
    return {"$ref": REFERENCE.format(name=endpoint.answer.__name__)}


def _events(schemas: Mapping[str, Any]) -> Row:
    """The stream of events; it is not a row of the table because it never ends."""
    about = (
        "What happens, as server-sent events: recorded events have their position in the log as "
        "`id`, and live text of models has none. A client that was too slow gets the event "
        "`resume`, and connects again with `Last-Event-ID`: nothing is lost and nothing is sent "
        "twice. Comments keep a silent connection open."
    )
    resumed = {
        "name": "last-event-id",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
        "description": "The last `id` that was received; it counts more than `after`.",
    }
    stream = {"schema": {"type": "string", "description": "Server-sent events"}}
    row = {
        "operationId": "get_events",
        "tags": ["events"],
        "summary": "What happens, live",
        "description": f"{about}\n\nRole: viewer.",
        "parameters": [*_query_parameters(EventQuery, schemas), resumed],
        "responses": {
            "200": {"description": "Events, until the client leaves", "content": {EVENTS: stream}},
            **_errors((*ALWAYS, 404)),
        },
    }
    return {"get": row}


def _logins() -> Row:
    """Login and logout, which are forms for people."""
    page: Row = {HTML: {"schema": {"type": "string"}}}
    text = {"type": "string"}

    def form(about: str, **fields: Mapping[str, str]) -> Row:
        schema = {"type": "object", "properties": fields}
        return {"description": about, "content": {FORM: {"schema": schema}}}

    def pages(done: str, *failed: int) -> Row:
        told = {"description": "The form again, with what went wrong", "content": page}
        refused = {"403": _refusal(page)}
        return {
            "200": {"description": done, "content": page},
            **dict.fromkeys(map(str, failed), told),
            **refused,
        }

    login = {
        "get": {
            "operationId": "get_login",
            "tags": ["login"],
            "summary": "The form for a one-time code",
            "security": [],
            "responses": pages("The form"),
        },
        "post": {
            "operationId": "post_login",
            "tags": ["login"],
            "summary": "Exchange a one-time code for a cookie",
            "description": "A code works once and for five minutes; see `assent serve code`.",
            "security": [],
            "requestBody": form(
                "The code, and from another machine the password",
                code=text, password=text,
            ),
            "responses": pages("Logged in; the answer sets the cookie", 400, 401, 413, 429, 503),
        },
    }  # fmt: skip
    logout = {
        "post": {
            "operationId": "post_logout",
            "tags": ["login"],
            "summary": "End your own login",
            "security": [{"cookie": []}],
            "requestBody": form("The CSRF token, unless the header has it", csrf=text),
            "parameters": [CSRF],
            "responses": pages("Logged out; the cookie is gone", 400, 401, 413, 503),
        }
    }
    return {"/login": login, "/logout": logout}


def _refusal(page: Row) -> Row:
    """What another host or origin gets, in either form."""
    schema = {"$ref": REFERENCE.format(name="Error")}
    return {"description": _words(403), "content": {**page, JSON: {"schema": schema}}}


def _errors(found: Iterable[int]) -> dict[str, Row]:
    schema = {"$ref": REFERENCE.format(name="Error")}
    return {
        str(status): {"description": _words(status), "content": {JSON: {"schema": schema}}}
        for status in sorted(set(found))
    }


def _words(status: int) -> str:
    return ", ".join(f"`{word}`" for word in error_words(status))


def _tag(endpoint: Endpoint) -> str:
    return endpoint.path.split("/")[1]


def _path_parameters(path: str) -> list[Row]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string"},
            "description": f"Which {name}; its full id.",
        }
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _query_parameters(query: type, schemas: Mapping[str, Any]) -> Iterator[Row]:
    if query is Nothing:
        return
    found = schemas[query.__name__]
    for name, schema in found["properties"].items():
        needed = name in found.get("required", ())
        yield {"name": name, "in": "query", "required": needed, "schema": schema}


def _fields(query: type) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(query)]
