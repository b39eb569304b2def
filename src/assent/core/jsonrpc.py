"""JSON-RPC 2.0 as lines: encodes requests, notifications and responses, and decodes messages."""

from typing import Any, TypeAlias

import msgspec

from assent.core.decoding import TOO_DEEP, convert, is_too_deep

UNKNOWN_METHOD = -32601


class InvalidJsonRpc(Exception):
    """A line that is not JSON-RPC."""


class RpcResponse(msgspec.Struct, frozen=True):
    id: int
    result: Any


class RpcError(msgspec.Struct, frozen=True):
    """An error response. Without an id, the other side could not read the request."""

    id: int | None
    code: int
    message: str


class RpcRequest(msgspec.Struct, frozen=True):
    """A request from the other side."""

    id: int | str
    method: str


class RpcNotification(msgspec.Struct, frozen=True):
    method: str


RpcMessage: TypeAlias = RpcResponse | RpcError | RpcRequest | RpcNotification


def encode_request(id: int, method: str, params: object) -> bytes:
    """Returns a request as a line."""
    return _line({"id": id, "method": method, "params": params})


def encode_notification(method: str, params: object) -> bytes:
    """Returns a notification, which gets no response, as a line."""
    return _line({"method": method, "params": params})


def encode_response(asked: RpcRequest) -> bytes:
    """Returns the response to a request: a result for `ping`, an error for anything else."""
    if asked.method == "ping":
        return _line({"id": asked.id, "result": {}})
    wrong = {"code": UNKNOWN_METHOD, "message": f"Unknown method: {asked.method}."}
    return _line({"id": asked.id, "error": wrong})


def decode_message(line: bytes) -> RpcMessage:
    """Decodes a line; raises InvalidJsonRpc."""
    try:
        found = msgspec.json.decode(line)
        if is_too_deep(found):
            raise InvalidJsonRpc(TOO_DEEP)
        return _heard(found)
    except RecursionError:
        raise InvalidJsonRpc(TOO_DEEP) from None
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError) as error:
        raise InvalidJsonRpc(str(error)) from error


def _heard(found: Any) -> RpcMessage:
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise InvalidJsonRpc("it is not JSON-RPC 2.0")
    if isinstance(method := found.get("method"), str):
        known = found.get("id")
        return (
            RpcRequest(known, method) if isinstance(known, int | str) else RpcNotification(method)
        )
    if "error" in found:
        error = found["error"]
        told = error if isinstance(error, dict) else {}
        fault = {"id": None, "code": 0, "message": "", **told}
        return convert({**fault, "id": found.get("id")}, RpcError)
    if "result" not in found:
        raise InvalidJsonRpc("it is neither a response nor a request")
    return convert(found, RpcResponse)


def _line(members: dict[str, object]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **members})
