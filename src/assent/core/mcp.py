"""MCP tools: how a server describes a tool, and what it answers to a call."""

from typing import Any, Final

import msgspec

from assent.core.digest import sha256
from assent.core.jsonrpc import InvalidJsonRpc
from assent.core.text import counted
from assent.core.tool import MAX_TOOL_NAME

PROTOCOL_VERSION: Final = "2025-06-18"  # the version of the protocol that is spoken here
VERSIONS: Final = ("2024-11-05", "2025-03-26", PROTOCOL_VERSION, "2025-11-25")
MAX_SCHEMA: Final = 64 << 10  # bytes of a schema that a model is shown


class McpTool(msgspec.Struct, frozen=True):
    """A tool as its server describes it. What it claims about its own effects is not read."""

    name: str
    description: str
    schema: dict[str, Any]

    @property
    def digest(self) -> str:
        """Identifies exactly this tool: permission for it covers no other of the same name."""
        told = [self.name, self.description, self.schema]
        return sha256(msgspec.json.encode(told, order="sorted"))


class KnownMcpTool(msgspec.Struct, frozen=True):
    """A tool of a server, under the name that models use, and whether it counts as read-only."""

    server: str
    name: str
    served: McpTool
    reads: bool
    void: bool = False  # it was to count as reading, and has changed since


class McpResult(msgspec.Struct, frozen=True):
    """What a server answered to a call."""

    text: str
    failed: bool = False


def initialize_params(version: str) -> dict[str, Any]:
    """Returns the parameters of `initialize`; the client offers no capabilities."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "assent", "version": version},
    }


def has_tools(result: Any) -> bool:
    """Tells from the result of `initialize` whether a server has tools; raises InvalidJsonRpc."""
    said = _object(result)
    if said.get("protocolVersion") not in VERSIONS:
        raise InvalidJsonRpc(
            f"it uses the unsupported protocol version {said.get('protocolVersion')!r}"
        )
    return "tools" in _object(said.get("capabilities"))


def parse_tools(result: Any) -> tuple[list[McpTool], str]:
    """Returns a page of tools, and the cursor of the next one; raises InvalidJsonRpc."""
    said = _object(result)
    found = said.get("tools")
    if not isinstance(found, list):
        raise InvalidJsonRpc("its tool list is not a list")
    cursor = said.get("nextCursor")
    return [_served(each) for each in found], cursor if isinstance(cursor, str) else ""


def parse_result(result: Any) -> McpResult:
    """Returns a result as text; other content is only described. Raises InvalidJsonRpc."""
    said = _object(result)
    parts = said.get("content", [])
    if not isinstance(parts, list):
        raise InvalidJsonRpc("its result has no content list")
    texts = [_text(_object(part)) for part in parts]
    if not texts and "structuredContent" in said:
        texts = [msgspec.json.encode(said["structuredContent"]).decode()]
    return McpResult("\n".join(texts), said.get("isError") is True)


def _served(found: Any) -> McpTool:
    said = _object(found)
    name, schema = said.get("name"), _object(said.get("inputSchema", {}))
    if not isinstance(name, str) or not name:
        raise InvalidJsonRpc("one of its tools has no name")
    if len(msgspec.json.encode(schema)) > MAX_SCHEMA:
        raise InvalidJsonRpc(
            f"the schema of its tool {name[:MAX_TOOL_NAME]!a} is longer than {MAX_SCHEMA} bytes"
        )
    words = said.get("description", "")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise InvalidJsonRpc(f"the schema of its tool {name[:MAX_TOOL_NAME]!a} is not valid")
    whole = {**schema, "type": "object", "properties": properties}
    return McpTool(name, words if isinstance(words, str) else "", whole)


def _text(part: dict[str, Any]) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[Link to {uri}]"
        case {"type": str(kind), "mimeType": str(media), **rest}:
            size = counted(len(str(rest.get("data", ""))), "character")
            return f"[{kind}, {media}, {size}; not shown]"
        case _:
            return f"[{part.get('type', 'something')}; not shown]"


def _object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InvalidJsonRpc("it did not send an object")
    return found
