"""What the record of stored and sent shapes says: tags, field names, types, error words.

Nothing in it names a class or a module of the package, so that both may be renamed; a changed tag,
field, type or word is a changed format. After such a change, on purpose, write the record anew:

    .venv/bin/python -m tests.record.tags

Structs are found, not listed: every tagged one, and every type that the package decodes into.
"""

import ast
import importlib
import inspect
import json
import pkgutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import msgspec
from msgspec import inspect as shape

import assent
from assent.app.models import AvailableModel
from assent.cli.text_plan_build import RefusedCall
from assent.config.custom_commands import CommandFile
from assent.config.front_matter import AgentFile
from assent.config.keyring import KeyFile, SystemFile
from assent.core import decoding
from assent.core.errors import AssentError
from assent.core.event import Event
from assent.core.llm import MessagePart
from assent.core.plan.operation import Operation
from assent.core.run.journal import JournalEntry, RunStep, StepProgress
from assent.doctor.report import DoctorReport
from assent.render.run_stream import RunStream
from assent.tools.registry import TOOLS

Json = dict[str, Any]

RECORD = Path(__file__).with_name("tags.json")
COMMAND = ".venv/bin/python -m tests.record.tags"

# What a tag is of; a tagged struct that is in none of them stands under the field of its tag.
KINDS = {
    "event": Event,
    "journal entry": JournalEntry,
    "operation": Operation,
    "message part": MessagePart,
}
# Read from files by functions that take the type as an argument, so that no call names it.
READ = (AgentFile, CommandFile, KeyFile, SystemFile)
# Only ever shown: as the JSON of a command.
SHOWN = (DoctorReport, AvailableModel, RefusedCall)

# Which of their arguments is the type.
NAMES_TYPE = {
    decoding.json_decoder.__name__: 0,
    decoding.msgpack_decoder.__name__: 0,
    decoding.decode_json.__name__: 1,
    decoding.convert.__name__: 1,
}

SIMPLE = {
    shape.AnyType: "any",
    shape.NoneType: "null",
    shape.BoolType: "bool",
    shape.IntType: "int",
    shape.FloatType: "float",
    shape.StrType: "str",
    shape.BytesType: "bytes",
    shape.RawType: "raw",
}
LISTS = (shape.ListType, shape.VarTupleType, shape.SetType, shape.FrozenSetType)


def main() -> None:
    """Writes the record anew."""
    RECORD.write_text(written(current()), encoding="utf-8")


def written(record: Json) -> str:
    return json.dumps(record, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


@cache
def current() -> Json:
    """Returns what the record has to say of the package as it is."""
    shapes = Shapes([*tagged(), *decoded(), *READ, *SHOWN])
    return {
        "tagged": shapes.tagged(),
        "records": shapes.records(),
        "tools": {tool.name: shapes.fields(tool.args) for tool in TOOLS},
        "errors": errors(),
        "progress": progress(),
    }


@cache
def modules() -> tuple[ModuleType, ...]:
    """Imports the whole package."""
    found = pkgutil.walk_packages(assent.__path__, f"{assent.__name__}.")
    return (assent, *[importlib.import_module(each.name) for each in found])


def tagged() -> list[type[msgspec.Struct]]:
    """Returns every struct of the package that has a tag."""
    modules()
    return [each for each in _below(msgspec.Struct) if each.__struct_config__.tag is not None]


def decoded() -> list[Any]:
    """Returns every type that a call in the package names to decode into, or to convert to."""
    return [
        kind
        for module in modules()
        for named in _named_types(module)
        if (kind := _value(named, module)) is not None
    ]


def implicit_tags() -> list[str]:
    """Returns where a struct gets its tag by anything but words that stand in its own line."""
    return [
        f"{path.name}: {node.name}"
        for path in sorted(Path(assent.__path__[0]).rglob("*.py"))
        for node in _nodes(path, "tag")
        if isinstance(node, ast.ClassDef)
        for given in node.keywords
        if given.arg == "tag"
        and not (isinstance(given.value, ast.Constant) and isinstance(given.value.value, str))
    ]


def errors() -> Json:
    """Returns every error's word with its exit code, the word above it, and what it is made of."""
    modules()
    found: dict[str, Json] = {}
    every: list[type[AssentError]] = [AssentError, *_below(AssentError)]
    for error in every:
        row = found.setdefault(error.word, {"exit": error.exit, "under": None, "fields": []})
        if row["exit"] != error.exit:
            raise AssertionError(f"The word {error.word} has two exit codes.")
        above = next((base.word for base in error.__mro__[1:] if issubclass(base, AssentError)), "")
        if above not in ("", error.word):
            row["under"] = above
        if "word" in vars(error):
            row["fields"] = _made_of(error)
    return found


def progress() -> list[str]:
    """Returns the words for the steps of a run, in the order of their definition, in a stream."""
    lines = [line for step in RunStep for line in RunStream().take(StepProgress(step, 0, 1))]
    return [str(row["step"]) for _, row in lines]


class Shapes:
    """Structs by what is stored of them: found from some types on, and described in plain words."""

    def __init__(self, types: Iterable[Any]) -> None:
        self._structs: dict[type, shape.StructType] = {}
        for info in shape.multi_type_info(types):
            self._visit(info)
        self._labels = self._labelled()

    def tagged(self) -> Json:
        """Returns what has a tag, by kind and tag."""
        found: dict[str, Json] = defaultdict(dict)
        for kind, info in self._structs.items():
            if info.tag is None:
                continue
            group = found[self._group(kind, info)]
            if str(info.tag) in group:
                raise AssertionError(f"Two structs of one kind have the tag {info.tag}.")
            group[str(info.tag)] = self._told(info)
        return found

    def records(self) -> Json:
        """Returns what has none, by the names of its fields."""
        return {
            self._labels[kind]: self._told(info)
            for kind, info in self._structs.items()
            if info.tag is None
        }

    def fields(self, struct: type[msgspec.Struct]) -> list[str]:
        """Returns the fields of any other struct; what it holds in its own words."""
        (info,) = shape.multi_type_info([struct])
        assert isinstance(info, shape.StructType)
        return [_line(field, self._inline(field.type)) for field in info.fields]

    def _visit(self, info: shape.Type) -> None:
        if isinstance(info, shape.StructType):
            if info.cls in self._structs:
                return
            self._structs[info.cls] = info
        for inner in _inside(info):
            self._visit(inner)

    def _group(self, kind: type, info: shape.StructType) -> str:
        named = [name for name, union in KINDS.items() if kind in get_args(union)]
        return named[0] if named else f"by its {info.tag_field!r}"

    def _labelled(self) -> dict[type, str]:
        """Names every struct: by its tag, or else by its first fields; equals are numbered."""
        labels: dict[type, str] = {}
        alike: dict[str, dict[str, list[type]]] = defaultdict(lambda: defaultdict(list))
        for kind, info in self._structs.items():
            if info.tag is None:
                surface = json.dumps([_line(each, _surface(each.type)) for each in info.fields])
                alike[_names(info)][surface].append(kind)
            else:
                labels[kind] = f"<{info.tag}>"
        for names, surfaces in alike.items():
            for number, surface in enumerate(sorted(surfaces), 1):
                label = names if number == 1 else f"{names} ({number})"
                labels |= dict.fromkeys(surfaces[surface], label)
        return labels

    def _told(self, info: shape.StructType) -> Json:
        told: Json = {"fields": [_line(each, self._word(each.type)) for each in info.fields]}
        if info.array_like:
            told["array"] = True
        if info.forbid_unknown_fields:
            told["other fields"] = "refused"
        if info.cls.__struct_config__.omit_defaults:
            told["defaults"] = "left out"
        return told

    def _word(self, info: shape.Type) -> str:
        return _described(info, lambda struct: self._labels[struct.cls])

    def _inline(self, info: shape.Type) -> str:
        def told(struct: shape.StructType) -> str:
            lines = [_line(each, self._inline(each.type)) for each in struct.fields]
            return f"({', '.join(lines)})"

        return _described(info, told)


def _line(field: shape.Field, kind: str) -> str:
    return f"{field.encode_name}: {kind}{'' if field.required else ' = default'}"


def _names(info: shape.StructType) -> str:
    """Returns the names of a record's fields, of many the first and how many there are."""
    names = [field.encode_name for field in info.fields]
    few = 5
    rest = f", ... {len(names)} fields" if len(names) > few else ""
    return f"{{{', '.join(names[:few])}{rest}}}"


def _surface(info: shape.Type) -> str:
    return _described(info, lambda struct: f"<{struct.tag}>" if struct.tag else _names(struct))


def _described(info: shape.Type, struct: Any) -> str:
    """Returns a type in words that any reader of JSON knows; `struct` has those for structs."""

    def word(inner: shape.Type) -> str:
        return _described(inner, struct)

    match info:
        case shape.StructType():
            return str(struct(info))
        case shape.Metadata():
            return word(info.type)
        case shape.LiteralType() | shape.EnumType():
            return " | ".join(sorted(_values(info)))
        case shape.UnionType():
            parts = [_values(each) or [word(each)] for each in info.types]
            return " | ".join(sorted(word for part in parts for word in part))
        case shape.TupleType():
            return f"[{', '.join(map(word, info.item_types))}]"
        case shape.DictType():
            return f"{{{word(info.key_type)}: {word(info.value_type)}}}"
        case _ if isinstance(info, LISTS):
            return f"[{word(info.item_type)}, ...]"
        case _:
            return SIMPLE[type(info)]


def _values(info: shape.Type) -> list[str]:
    """Returns the values that a type lists, if it does."""
    match info:
        case shape.LiteralType():
            return [repr(value) for value in info.values]
        case shape.EnumType():
            return [repr(each.value) for each in info.cls]
        case _:
            return []


def _inside(info: shape.Type) -> Iterator[shape.Type]:
    """Yields the types that a type is made of."""
    match info:
        case shape.StructType():
            yield from [field.type for field in info.fields]
        case shape.Metadata():
            yield info.type
        case shape.UnionType():
            yield from info.types
        case shape.TupleType():
            yield from info.item_types
        case shape.DictType():
            yield from (info.key_type, info.value_type)
        case _ if isinstance(info, LISTS):
            yield info.item_type
        case _:
            pass


def _below(root: type[Any]) -> list[type[Any]]:
    """Returns every class of the package that has a class among those above it."""
    own = f"{assent.__name__}."
    found = [inner for each in root.__subclasses__() for inner in (each, *_below(each))]
    return [each for each in dict.fromkeys(found) if each.__module__.startswith(own)]


def _made_of(error: type[AssentError]) -> list[str]:
    """Returns what an error takes, and what its class says of it besides word and exit code."""
    takes = [name for name in inspect.signature(error.__init__).parameters if name != "self"]
    says = [
        name
        for base in error.__mro__
        if issubclass(base, AssentError)
        for name, value in vars(base).items()
        if not name.startswith("_") and not callable(value) and name not in ("word", "exit")
    ]
    return sorted([*takes, *says])


def _nodes(path: Path, word: str) -> Iterator[ast.AST]:
    """Returns the nodes of a module's source, of one that has a word in it at all."""
    source = path.read_text("utf-8")
    return ast.walk(ast.parse(source)) if word in source else iter(())


def _named_types(module: ModuleType) -> Iterator[ast.expr]:
    """Yields what stands for the type in calls that decode or convert."""
    for node in _nodes(Path(module.__file__ or ""), decoding.__name__):
        at = NAMES_TYPE.get(ast.unparse(node.func), -1) if isinstance(node, ast.Call) else -1
        if isinstance(node, ast.Call) and 0 <= at < len(node.args):
            yield node.args[at]


def _value(expression: ast.expr, module: ModuleType) -> Any:
    """Returns what an expression means in a module; None where it is an argument's name."""
    code = compile(ast.Expression(expression), module.__name__, "eval")
    try:
        return eval(code, vars(module))
    except NameError:
        return None


if __name__ == "__main__":
    main()
