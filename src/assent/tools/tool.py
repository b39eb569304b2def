"""What a tool is, and how a model sees it: its description and the schema of its arguments."""

import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from assent.core.decoding import MAX_DEPTH, convert, is_too_deep
from assent.core.errors import UsageError
from assent.core.llm import ToolCall, ToolDefinition
from assent.core.session.agent import Agent
from assent.core.session.transcript import DRAFT_TOOLS
from assent.core.tool import (
    Action,
    PermissionContext,
    ResourceAccess,
    ToolOutcome,
    without_missing_tools,
)
from assent.ports import OutsideFiles, PageFetcher, ProcessRunner, ReadOnlyShell
from assent.tools.overlay import Overlay


class ToolContext(msgspec.Struct, frozen=True):
    """What a call may read; nothing here writes."""

    overlay: Overlay
    open_process: Callable[[], ProcessRunner]  # most calls start no program
    open_shell: Callable[[], ReadOnlyShell]
    fetch: PageFetcher
    posture: PermissionContext
    root: bytes  # of the workspace, absolute
    plan: bytes = b""  # the plan file's path in the workspace
    plan_text: Callable[[], bytes] = bytes
    plan_dir: bytes = b".opencode/plans"
    private: tuple[bytes, ...] = ()  # further places of Assent's own in the workspace
    seen: Mapping[str, str] = {}  # digests of files as the model last saw them, by path
    readable: Callable[[bytes], bool] = lambda path: True  # without asking a person
    outside: OutsideFiles | None = None
    absent: frozenset[str] = frozenset()  # tools that the model does not have here
    judged: tuple[ResourceAccess, ...] = ()  # what the gate has seen of this call, once it may run
    session: str = ""
    kinds: tuple[str, ...] | None = None  # of sub-agents that there are; None: it is not known
    # Waits for an outcome that only others can bring about, for as long as the user waits.
    attend: Callable[[Callable[[], ToolOutcome]], ToolOutcome] = lambda work: work()
    # Returns a kept output of this session or its parents by its id; None: they have none such.
    output: Callable[[str], bytes | None] = lambda output: None
    on_demand: tuple[str, ...] = ()  # tools that the model can ask for, where a call may do that
    # Whether a program can be started at once; the first one after a boot waits for a self-test.
    is_tested: Callable[[], bool] = lambda: True
    # Returns the context of a call that names an option; None: there are no options here.
    option_context: "Callable[[str], ToolContext] | None" = None
    # Digests of files as the model saw them earlier, where it knows that changes were taken back.
    seen_before: Mapping[str, Collection[str]] = {}
    is_piece: bool = False  # of a call that stands for several
    in_copy: bool = False  # the gate has decided that its command runs in the scratch copy

    def of_call(self, args: msgspec.Struct | None) -> "ToolContext":
        """Returns the context of a call: of the draft that it names, or this one."""
        if not isinstance(args, OptionArgs) or args.option is None:
            return self
        if self.option_context is None or self.posture.mode != "plan":
            raise UsageError("option: plans have options only in plan mode. Nothing was done.")
        return self.option_context(args.option)

    @property
    def process(self) -> ProcessRunner:
        """What starts programs."""
        return self.open_process()

    @property
    def shell(self) -> ReadOnlyShell:
        """What runs command lines that only read."""
        return self.open_shell()


# A field that is understood, because other families of tools have it, and not offered.
HIDDEN_FIELD: Final = msgspec.Meta(extra={"offered": False})
# A field that is only about staging in plan mode; elsewhere it is understood and not offered.
PLAN_FIELD: Final = msgspec.Meta(extra={"offered": "plan"})
# What a tool on demand is for, where its name says it.
SELF_EXPLAINING: Final = "as named"
# How a paragraph of a description begins that is only about planning.
PLANNING: Final = "Plan mode: "


class OptionArgs(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of a call that changes a draft; a model that offers several plans says which."""

    option: Annotated[str | None, HIDDEN_FIELD] = None  # its label; None: the one named last


class RawArguments(msgspec.Struct, frozen=True):
    """Arguments as they came, for a tool whose schema is not known beforehand."""

    values: dict[str, Any]


class Tool(msgspec.Struct, frozen=True):
    """One tool; its description for the model is the Markdown file next to it."""

    name: str
    args: type[msgspec.Struct]
    touches: Callable[[Any, ToolContext], Sequence[ResourceAccess]]
    run: Callable[[Any, ToolContext], ToolOutcome]
    action: Action = Action.EDIT  # what is not declared counts as changing files
    only: str = ""  # offered while planning ("plan"), or only outside it ("build")
    text: str = ""  # its description, if no file next to it has one
    schema: dict[str, Any] | None = None  # a server's own; then `args` is `Free`
    title: Callable[[Any], str] = lambda args: ""  # of a call, where a person tells calls by it
    on_demand: str = ""  # what it is for, in 1 to 4 words: then it is offered when it is asked for
    withheld: tuple[str, ...] = ()  # arguments that settings make useless, so none is offered them
    includes: tuple[str, ...] = ()  # arguments that stand for a call of the tool of their name
    # The calls that a call stands for, by their arguments; each is judged and run by itself.
    pieces: Callable[[Any], Sequence[dict[str, Any]]] = lambda args: ()


# As plugins know them from before `assent.plugins`.
Around, Free = ToolContext, RawArguments


# How a model sees a tool: its description and the JSON schema of its arguments.
#
# The arguments that a model sent are decoded here, and unambiguous mistakes are corrected. msgspec
# could make the schemas, but importing its module takes longer than all of this, and its schemas
# are longer.


# Descriptions: what a model reads about a tool, from the Markdown file next to its module.


_kept: dict[tuple[str, str], str] = {}


def description(tool: Tool) -> str:
    """Returns a tool's description; it is read once, when the tool is first offered."""
    if tool.text:
        return tool.text
    key = tool.args.__module__, tool.name
    if key not in _kept:
        _kept[key] = _read(*key)
    return _kept[key]


def _read(module: str, name: str) -> str:
    """Reads the file that is named like the module, or like the tool if a module has several."""
    spec = sys.modules[module].__spec__
    assert spec is not None
    assert spec.origin is not None
    read: Callable[[str], bytes] = spec.loader.get_data  # type: ignore[union-attr]
    try:
        content = read(f"{spec.origin.removesuffix('.py')}.md")
    except FileNotFoundError:
        content = read(f"{spec.origin.rpartition('/')[0]}/{name}.md")
    return content.decode("utf-8").strip()


PRESENT_PLAN: Final = "present_plan"
_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}


# How a model sees the arguments that name options, once it wants to offer several plans.
OPTION_SCHEMA: Final = {"type": "string", "description": "label of the option's draft"}
OPTIONS_SCHEMA: Final = {
    "type": "array",
    "items": {"type": "string"},
    "description": "labels of 2 or 3 options",
}


def tool_definition(
    tool: Tool,
    absent: Collection[str] = (),
    note: str = "",
    *,
    options: bool = False,
    planning: bool = True,
) -> ToolDefinition:
    """Returns a tool as a model sees it, with a note and without references to absent tools.

    `options`: with the arguments that name options. `planning`: with what is about planning; where
    the tools of a draft are absent, nothing can be staged, and nothing is said about that.
    """
    stages = planning and not {*DRAFT_TOOLS} <= {*absent}
    own = tool.schema if tool.schema is not None else schema(tool.args, planning=stages)
    # What an argument has another tool do cannot be had where that tool cannot.
    withheld = {*tool.withheld, *({*tool.includes} & {*absent})}
    if withheld:
        fields = {name: one for name, one in own["properties"].items() if name not in withheld}
        own = {**own, "properties": fields}
    if options and tool.schema is None:
        own = _with_options(tool, own)
    told = without_missing_tools(_fitting(description(tool), planning=stages), absent)
    return ToolDefinition(tool.name, f"{told} {note}" if note else told, own)


def _fitting(text: str, *, planning: bool) -> str:
    """Returns a description without what is only about planning, or as it is."""
    parts = text.split("\n\n")
    found = [part.removeprefix(PLANNING) for part in parts if planning or PLANNING not in part]
    return " ".join(each if each is text else each[:1].upper() + each[1:] for each in found)


def _with_options(tool: Tool, own: dict[str, Any]) -> dict[str, Any]:
    fields = tool.args.__struct_encode_fields__
    more: dict[str, Any] = {}
    if tool.name == PRESENT_PLAN and "options" in fields:
        more["options"] = OPTIONS_SCHEMA
    if issubclass(tool.args, OptionArgs):
        more["option"] = OPTION_SCHEMA
    return {**own, "properties": {**own["properties"], **more}} if more else own


@cache
def schema(struct: type[msgspec.Struct], *, planning: bool = True) -> dict[str, Any]:
    """Returns the JSON schema of a struct, without references; with what is about planning."""
    hidden = (HIDDEN_FIELD,) if planning else (HIDDEN_FIELD, PLAN_FIELD)
    offered = {
        name: _kind(hint)
        for name, hint in _hints(struct)
        if not any(each in hidden for each in getattr(hint, "__metadata__", ()))
    }
    found: dict[str, Any] = {"type": "object", "properties": offered}
    if needed := required(struct):
        found["required"] = list(needed)
    return found


def field_schema(struct: type[msgspec.Struct], field: str) -> dict[str, Any]:
    """Returns the JSON schema of one field, offered or not; empty if there is no such field."""
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


def _kind(kind: Any) -> dict[str, Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if origin is Annotated:
        return _kind(inner[0]) | _said(inner[1:])
    if origin in (Union, UnionType):
        if str in inner and NoneType not in inner:
            return {"type": "string"}  # the rest is understood, too; not all providers take unions
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
    metas = [meta for meta in metadata if isinstance(meta, msgspec.Meta)]
    words = [meta.description for meta in metas if meta.description]
    other = [meta.extra_json_schema for meta in metas if meta.extra_json_schema]
    return {**(other[0] if other else {}), **({"description": words[0]} if words else {})}


# Decodes what a model sent into a tool's argument struct, and repairs unambiguous mistakes.


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
        return convert(call.args, tool.args, strict=False)
    except msgspec.ValidationError as error:
        first = error
    kinds = {name: field_schema(tool.args, name)["type"] for name in call.args}
    mended = {name: _mended(value, kinds[name]) for name, value in call.args.items()}
    try:
        return convert(mended, tool.args, strict=False)
    except msgspec.ValidationError:
        raise _unfit(tool, first) from first


def _free(tool: Tool, schema: dict[str, Any], args: dict[str, Any]) -> RawArguments:
    """Returns arguments as they came; only the author of the schema can validate them fully.

    A list or object that was sent as a JSON string is parsed, if nothing else can be meant.
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
    """Parses a list or object that was sent as a JSON string, and a number sent as digits."""
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
    choice = f"; use one of {values}" if values else ""
    return UsageError(f"{tool.name}: {where}{words}{choice}. Nothing was done; call it again.")


def _values(tool: Tool, place: str) -> list[str]:
    """Returns the allowed values at a path such as `$.todos[0].status`, if there are few."""
    first, *further = re.findall(r"\.(\w+)", place) or [""]
    found = field_schema(tool.args, first)
    for step in further:
        found = found.get("items", found).get("properties", {}).get(step, {})
    values: list[str] = found.get("enum", [])
    return values


def _unreadable(tool: Tool, raw: str) -> UsageError:
    try:
        found = msgspec.json.decode(raw)
        why = "they are not a JSON object"
        if isinstance(found, dict) and is_too_deep(found):
            why = TOO_DEEP
    except RecursionError:
        why = TOO_DEEP
    except (msgspec.DecodeError, UnicodeError) as error:
        why = str(error)
    began = raw[:SHOWN] + ("..." if len(raw) > SHOWN else "")
    return UsageError(
        f"The arguments of {tool.name} could not be parsed: {why}. They start with: {began!r}. "
        "Nothing was done; send them again as one JSON object."
    )


# Which tools a model is offered, as dispatchers that are alike found out.


MAX_OFFERS = 8  # sets of tools that are kept, each of an agent in a mode


class ToolSets(msgspec.Struct, frozen=True):
    """The tools that a model cannot have, with the reasons, and those that it has to ask for."""

    unavailable: dict[str, str]
    on_demand: tuple[str, ...] = ()


class ToolOffers:
    """What dispatchers with the same tools, rules and settings found out about their offers."""

    def __init__(self) -> None:
        self.made: dict[tuple[str, frozenset[str], str, bool, bool], ToolDefinition] = {}
        self.offered: dict[object, tuple[ToolDefinition, ...]] = {}
        self._sets: tuple[tuple[PermissionContext, Agent, int, ToolSets, frozenset[str]], ...] = ()

    def find(
        self, permissions: PermissionContext, agent: Agent, tools: int
    ) -> tuple[ToolSets, frozenset[str]] | None:
        """Returns the sets of an agent, and which built-in tools it lacks, if they are known."""
        for known in self._sets:
            if known[2] == tools and known[1] == agent and known[0] == permissions:
                return known[3], known[4]
        return None

    def keep(
        self,
        permissions: PermissionContext,
        agent: Agent,
        tools: int,
        found: tuple[ToolSets, frozenset[str]],
    ) -> None:
        self._sets = ((permissions, agent, tools, *found), *self._sets[: MAX_OFFERS - 1])
