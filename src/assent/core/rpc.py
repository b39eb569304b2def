"""JSON-RPC 2.0 as lines: what is asked, what comes back, and what is neither."""

from typing import Any, TypeAlias

import msgspec

from assent.core.nesting import DEEPEST, is_deep

TOO_DEEP = f"it is nested more than {DEEPEST} levels deep"
UNKNOWN_METHOD = -32601


class Garbage(Exception):
    """A line that is no JSON-RPC."""


class Reply(msgspec.Struct, frozen=True):
    id: int
    result: Any


class Fault(msgspec.Struct, frozen=True):
    """The other side could not do it. Without an id it could not even read the question."""

    id: int | None
    code: int
    message: str


class Asked(msgspec.Struct, frozen=True):
    """The other side wants to know something itself."""

    id: int | str
    method: str


class Noticed(msgspec.Struct, frozen=True):
    method: str


Heard: TypeAlias = Reply | Fault | Asked | Noticed


def asking(id: int, method: str, params: object) -> bytes:
    """Returns a question as a line."""
    return _line({"id": id, "method": method, "params": params})


def noticing(method: str, params: object) -> bytes:
    """Returns something that needs no answer."""
    return _line({"method": method, "params": params})


def answering(asked: Asked) -> bytes:
    """Returns our answer to the other side: that we are there, and nothing else."""
    if asked.method == "ping":
        return _line({"id": asked.id, "result": {}})
    wrong = {"code": UNKNOWN_METHOD, "message": f"{asked.method} is not known here."}
    return _line({"id": asked.id, "error": wrong})


def heard(line: bytes) -> Heard:
    """Reads a line; raises Garbage."""
    try:
        found = msgspec.json.decode(line)
        if is_deep(found):
            raise Garbage(TOO_DEEP)
        return _heard(found)
    except RecursionError:
        raise Garbage(TOO_DEEP) from None
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError) as error:
        raise Garbage(str(error)) from error


def _heard(found: Any) -> Heard:
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise Garbage("it is no JSON-RPC 2.0")
    if isinstance(method := found.get("method"), str):
        known = found.get("id")
        return Asked(known, method) if isinstance(known, int | str) else Noticed(method)
    if "error" in found:
        fault = {"id": None, "code": 0, "message": "", **_members(found["error"])}
        return msgspec.convert({**fault, "id": found.get("id")}, Fault)
    if "result" not in found:
        raise Garbage("it is neither an answer nor a question")
    return msgspec.convert(found, Reply)


def _members(error: object) -> dict[str, Any]:
    return error if isinstance(error, dict) else {}


def _line(members: dict[str, object]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **members})
