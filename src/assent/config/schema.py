"""What is wrong with a table of settings: which key, in which line, and what would be right."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from assent.config.settings import ORIGIN, OUTSIDE_PATH
from assent.config.toml_edit import Path, dotted_key, line_of
from assent.core.errors import nearest

# What a text must be to match a pattern.
PATTERNS = {
    OUTSIDE_PATH: "a text in quotes that begins with / or ~/",
    ORIGIN: "an address such as https://assent.example, without a path",
}


MAX_NAMED = 12  # settings that are listed where none is like a wrong one
# What is chosen on the screen and remembered there, though people look for it here.
ON_SCREEN = {"theme": "/theme on the screen chooses and remembers it"}


class SettingProblem(msgspec.Struct, frozen=True):
    """One setting that cannot be used, and why."""

    path: Path
    why: str


def explained(text: str, table: dict[str, Any], kind: Any, otherwise: str) -> str:
    """Returns why a table cannot be used, with line, key, valid values and the nearest key."""
    problem = next(setting_problems(table, kind), None)
    return otherwise if problem is None else problem_text(text, problem)


def problem_text(text: str, problem: SettingProblem) -> str:
    """Returns what is wrong with a setting in a text, with its line and key."""
    return f"{line_text(text, problem.path)}{key_text(problem.path)} {problem.why}"


def line_text(text: str, path: Path) -> str:
    """Returns which line sets a key, as the beginning of a message; empty if none does."""
    line = line_of(text, path)
    return f"line {line}: " if line else ""


def setting_problems(table: dict[str, Any], kind: Any) -> Iterator[SettingProblem]:
    """Yields each setting of a table that does not have the form that it must have."""
    return _problems(table, inspect.type_info(kind), ())


def _problems(value: Any, kind: inspect.Type, path: Path) -> Iterator[SettingProblem]:
    if isinstance(kind, inspect.Metadata):
        yield from _problems(value, kind.type, path)
    elif isinstance(kind, inspect.StructType) and isinstance(value, dict):
        yield from _in_struct(value, kind, path)
    elif isinstance(kind, inspect.DictType) and isinstance(value, dict):
        for key, of in value.items():
            yield from _problems(of, kind.value_type, (*path, key))
    elif isinstance(kind, inspect.VarTupleType) and isinstance(value, list):
        for at, of in enumerate(value):
            yield from _problems(of, kind.item_type, (*path, at))
    elif isinstance(kind, inspect.UnionType):
        found = [[*_problems(value, one, path)] for one in kind.types]
        if all(found):
            deeper = [each for of_one in found for each in of_one if each.path != path]
            yield from deeper or [SettingProblem(path, _must_be(kind, value))]
    elif not _fits(value, kind):
        yield SettingProblem(path, _must_be(kind, value))


def _must_be(kind: inspect.Type, value: Any) -> str:
    """Returns what a setting must be, and which word a wrong one was probably meant to be."""
    near = nearest(value, _words(kind)) if isinstance(value, str) else ""
    return f"must be {wanted(kind, value)}" + (f" (did you mean {near}?)" if near else "")


def _words(kind: inspect.Type) -> Iterator[str]:
    """Yields the words that a setting takes."""
    match kind:
        case inspect.LiteralType():
            yield from (each for each in kind.values if isinstance(each, str) and each)
        case inspect.UnionType():
            for one in kind.types:
                yield from _words(one)
        case inspect.Metadata():
            yield from _words(kind.type)
        case _:
            pass


def wanted(kind: inspect.Type, value: Any = None) -> str:
    """Returns which values a setting takes, as people read it; a limit that `value` exceeds."""
    match kind:
        case inspect.Metadata():
            return wanted(kind.type)
        case inspect.LiteralType():
            return f"one of {', '.join(filter(None, map(str, kind.values)))}"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() | inspect.FloatType():
            word = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
            return word + _limits_text(kind, value)
        case inspect.StrType():
            return PATTERNS[kind.pattern] if kind.pattern else "a text in quotes"
        case inspect.VarTupleType():
            return f"a list ({wanted(kind.item_type)} each)"
        case inspect.NoneType():
            return ""
        case inspect.UnionType():
            return " or ".join(filter(None, map(wanted, kind.types)))
        case _:
            return "a table"


def _limits_text(kind: inspect.IntType | inspect.FloatType, value: Any) -> str:
    """Returns the limits of a number: the lower one, and the upper one where it is exceeded."""
    if kind.le is not None and isinstance(value, int | float) and value > kind.le:
        return f" of at most {kind.le:,}"
    if kind.ge is not None:
        return f" of at least {kind.ge:g}"
    return "" if kind.gt is None else f" greater than {kind.gt:g}"


def key_text(path: Path) -> str:
    """Returns a key as messages name it."""
    texts = [f"[{part}]" if isinstance(part, int) else f".{dotted_key((part,))}" for part in path]
    return "".join(texts).removeprefix(".")


def _in_struct(
    value: dict[str, Any], kind: inspect.StructType, path: Path
) -> Iterator[SettingProblem]:
    fields = {field.encode_name: field for field in kind.fields}
    for key, of in value.items():
        if key in fields:
            yield from _problems(of, fields[key].type, (*path, key))
        else:
            near = nearest(key, fields) or nearest(key, _nested(kind))
            yield SettingProblem((*path, key), _unknown(key, near, [*fields], path))
    missing = [name for name, field in fields.items() if field.required and name not in value]
    if missing:
        yield SettingProblem(path, f"lacks {missing[0]}")


def _nested(kind: inspect.StructType) -> Iterator[str]:
    """Yields the settings of the tables in a table, with the names of both."""
    for table in kind.fields:
        if isinstance(table.type, inspect.StructType):
            yield from (f"{table.encode_name}.{of.encode_name}" for of in table.type.fields)


def _unknown(key: str, near: str, keys: list[str], path: Path) -> str:
    if key in ON_SCREEN:
        return f"is not a setting; {ON_SCREEN[key]}"
    if near:
        before = f"{key_text(path)}." if path else ""
        return f"is not a setting (did you mean {before}{near}?)"
    shown, more = sorted(keys), len(keys) - MAX_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"is not a setting; valid here: {', '.join(shown[:MAX_NAMED])}{rest}"


def _fits(value: Any, kind: inspect.Type) -> bool:
    """Tells whether a single value has the type and the limits of a setting."""
    match kind:
        case inspect.AnyType():
            return True
        case inspect.NoneType():
            return value is None
        case inspect.LiteralType():
            return value in kind.values
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            return isinstance(value, int) and not isinstance(value, bool) and _within(value, kind)
        case inspect.FloatType():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return number and _within(value, kind)
        case inspect.StrType():
            return isinstance(value, str) and re.search(kind.pattern or "", value) is not None
        case _:
            return False


def _within(value: float, kind: inspect.IntType | inspect.FloatType) -> bool:
    bounds = (
        kind.ge is None or value >= kind.ge,
        kind.gt is None or value > kind.gt,
        kind.le is None or value <= kind.le,
        kind.lt is None or value < kind.lt,
    )
    return all(bounds)
