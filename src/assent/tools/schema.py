"""Schemas: a tool's arguments as the JSON schema that models are shown, as short as it can be.

msgspec could make one; its module costs more at the start than all of this, and says more.
"""

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from assent.core.model import Offer
from assent.tools.description import description
from assent.tools.tool import Tool

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}


def offer(tool: Tool) -> Offer:
    """Returns a tool as a model gets to see it."""
    return Offer(tool.name, description(tool), schema(tool.args))


@cache
def schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Returns the JSON schema of a struct, with everything in its place instead of references."""
    fields = struct.__struct_encode_fields__
    hints = get_type_hints(struct, include_extras=True)
    kinds = [hints[name] for name in struct.__struct_fields__]
    found: dict[str, Any] = {
        "type": "object",
        "properties": {name: _kind(kind) for name, kind in zip(fields, kinds, strict=True)},
    }
    if needed := required(struct):
        found["required"] = list(needed)
    return found


def required(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """Returns the names of the fields that have no default."""
    fields, defaults = struct.__struct_encode_fields__, struct.__struct_defaults__
    missing = len(fields) - len(defaults)
    absent = [value is msgspec.NODEFAULT for value in defaults]
    return tuple(
        name for name, needed in zip(fields, [True] * missing + absent, strict=True) if needed
    )


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
