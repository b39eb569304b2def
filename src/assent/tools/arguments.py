"""Decodes what a model sent into a tool's argument struct, and repairs unambiguous mistakes."""

import re
from typing import Any

import msgspec

from assent.core.errors import UsageError
from assent.core.json_depth import MAX_DEPTH, is_too_deep
from assent.core.llm import ToolCall
from assent.tools.schema import field_schema, required, schema
from assent.tools.tool import RawArguments, Tool

TOO_DEEP = f"they are nested more than {MAX_DEPTH} levels deep"
SHOWN = 200  # characters of what could not be read


def decode_arguments(tool: Tool, call: ToolCall) -> msgspec.Struct:
    """Returns a call's arguments; raises UsageError, naming the field, if they do not fit."""
    if call.args is None:
        raise _unreadable(tool, call.raw)
    if tool.schema is not None:
        return _free(tool, tool.schema, call.args)
    _check_names(tool, call.args)
    try:
        return msgspec.convert(call.args, tool.args, strict=False)
    except msgspec.ValidationError as error:
        first = error
    kinds = {name: field_schema(tool.args, name)["type"] for name in call.args}
    mended = {name: _mended(value, kinds[name]) for name, value in call.args.items()}
    try:
        return msgspec.convert(mended, tool.args, strict=False)
    except msgspec.ValidationError:
        raise _unfit(tool, first) from first


def _free(tool: Tool, schema: dict[str, Any], args: dict[str, Any]) -> RawArguments:
    """Returns arguments as they came; whether they fit in all is for the one who made the schema.

    A list or object that was sent as a string of JSON is read, where nothing else can be meant.
    """
    needed = schema.get("required", ())
    if missing := [f"`{name}` is missing" for name in needed if name not in args]:
        raise UsageError(f"{tool.name}: {', '.join(missing)}. Nothing was done.")
    fields = schema.get("properties", {})
    kinds = {name: _container_kind(fields.get(name)) for name in args}
    return RawArguments({name: _mended(value, kinds[name]) for name, value in args.items()})


def _container_kind(field: Any) -> str:
    kind = field.get("type") if isinstance(field, dict) else None
    return kind if kind in ("array", "object") else ""


def _check_names(tool: Tool, args: dict[str, Any]) -> None:
    known = tool.args.__struct_encode_fields__
    missing = [name for name in required(tool.args) if name not in args]
    unknown = [name for name in args if name not in known]
    wrong = [f"`{name}` is missing" for name in missing]
    wrong += [f"`{name}` is unknown" for name in unknown]
    if wrong:
        takes = ", ".join(schema(tool.args)["properties"]) or "no arguments"
        raise UsageError(f"{tool.name}: {', '.join(wrong)}. It takes {takes}. Nothing was done.")


def _mended(value: Any, kind: str) -> Any:
    """Reads a list or object that was sent as a string of JSON, and a number as its digits."""
    if kind == "string":
        return str(value) if type(value) is int else value
    if not kind or not isinstance(value, str) or value.strip()[:1] not in ("[", "{"):
        return value
    try:
        found = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
    return value if is_too_deep(found) else found


def _unfit(tool: Tool, error: msgspec.ValidationError) -> UsageError:
    words, _, place = str(error).partition(" - at ")
    where = f"`{place.strip('`').removeprefix('$.')}`: " if place else ""
    values = ", ".join(_values(tool, place))
    choice = f"; it is one of {values}" if values else ""
    return UsageError(f"{tool.name}: {where}{words}{choice}. Nothing was done; call it again.")


def _values(tool: Tool, place: str) -> list[str]:
    """Returns the values that may stand at a place such as `$.todos[0].status`, if few may."""
    first, *further = re.findall(r"\.(\w+)", place) or [""]
    found = field_schema(tool.args, first)
    for step in further:
        found = found.get("items", found).get("properties", {}).get(step, {})
    values: list[str] = found.get("enum", [])
    return values


def _unreadable(tool: Tool, raw: str) -> UsageError:
    try:
        found = msgspec.json.decode(raw)
        why = "they are no JSON object"
        if isinstance(found, dict) and is_too_deep(found):
            why = TOO_DEEP
    except RecursionError:
        why = TOO_DEEP
    except (msgspec.DecodeError, UnicodeError) as error:
        why = str(error)
    began = raw[:SHOWN] + ("..." if len(raw) > SHOWN else "")
    return UsageError(
        f"The arguments of {tool.name} could not be read: {why}. They began: {began!r}. "
        "Nothing was done; send them again as one JSON object."
    )
