"""Schemas: a tool's arguments as the JSON schema that models are shown, as short as it can be.

msgspec could make one; its module costs more at the start than all of this, and says more.
"""

from collections.abc import Collection
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from assent.core.llm import ToolDefinition
from assent.core.text.tool_mentions import without_missing_tools
from assent.tools.description import description
from assent.tools.tool import Tool

# A field that is understood, because other families of tools have it, and not offered.
HIDDEN_FIELD: Final = msgspec.Meta(extra={"offered": False})

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}


def tool_definition(tool: Tool, absent: Collection[str] = ()) -> ToolDefinition:
    """Returns a tool as a model gets to see it, beside others than the absent ones."""
    own = tool.schema if tool.schema is not None else schema(tool.args)
    return ToolDefinition(tool.name, without_missing_tools(description(tool), absent), own)


@cache
def schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Returns the JSON schema of a struct, with everything in its place instead of references."""
    offered = {name: _kind(hint) for name, hint in _hints(struct) if not _is_unoffered(hint)}
    found: dict[str, Any] = {"type": "object", "properties": offered}
    if needed := required(struct):
        found["required"] = list(needed)
    return found


def field_schema(struct: type[msgspec.Struct], field: str) -> dict[str, Any]:
    """Returns the JSON schema of one field, offered or not; nothing if there is none."""
    hints = dict(_hints(struct))
    return _kind(hints[field]) if field in hints else {}


def required(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """Returns the names of the fields that have no default."""
    fields, defaults = struct.__struct_encode_fields__, struct.__struct_defaults__
    missing = len(fields) - len(defaults)
    absent = [value is msgspec.NODEFAULT for value in defaults]
    return tuple(
        name for name, needed in zip(fields, [True] * missing + absent, strict=True) if needed
    )


def _hints(struct: type[msgspec.Struct]) -> list[tuple[str, Any]]:
    hints = get_type_hints(struct, include_extras=True)
    kinds = [hints[name] for name in struct.__struct_fields__]
    return list(zip(struct.__struct_encode_fields__, kinds, strict=True))


def _is_unoffered(hint: Any) -> bool:
    return HIDDEN_FIELD in getattr(hint, "__metadata__", ())


def _kind(kind: Any) -> dict[str, Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if origin is Annotated:
        return _kind(inner[0]) | _said(inner[1:])
    if origin in (Union, UnionType):
        (only,) = [each for each in inner if each is not NoneType]
        return _kind(only)
    if origin is Literal:
        return {"type": "string", "enum": list(inner)}
    if origin in (list, tuple):
        return {"type": "array", "items": _kind(inner[0])}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return schema(kind)
    raise TypeError(f"{kind!r} has no schema here; add it to {__name__}.")


def _said(metadata: tuple[Any, ...]) -> dict[str, Any]:
    words = [meta.description for meta in metadata if isinstance(meta, msgspec.Meta)]
    return {"description": words[0]} if words else {}
