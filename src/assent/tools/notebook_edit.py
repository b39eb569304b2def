"""notebook_edit: replaces, inserts or deletes a cell of a notebook.

No other byte of the file changes.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from assent.core.decoding import MAX_DEPTH, decode_json, is_too_deep
from assent.core.digest import sha256
from assent.core.errors import NotFound, UsageError
from assent.core.paths import one_line
from assent.core.text import counted
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.file_edit import (
    EditedFile,
    decode_text,
    edit_access,
    edit_outcome,
    edit_target,
    encode_text,
    load_file,
    read_access,
)
from assent.tools.tool import OptionArgs, Tool, ToolContext

# JSON spans: where the values of a JSON text stand, so that only one value's bytes change.


JsonSpan: TypeAlias = tuple[int, int]
_TOKEN = r'\s*([{}\[\],:]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}\[\],:"]+)'
_OPENING, _CLOSING = "{[", "}]"


def members(text: str, start: int) -> dict[str, JsonSpan]:
    """Returns the span of each value of the object that begins at a position."""
    found: dict[str, JsonSpan] = {}
    spans = _values(text, _opened(text, start, "{"))
    for key in spans:
        name = decode_json(text[key[0] : key[1]], str)
        value = next(spans, None)
        if value is None:
            raise _broken(key[1])
        found[name] = value
    return found


def elements(text: str, start: int) -> list[JsonSpan]:
    """Returns the span of each element of the array that begins at a position."""
    return list(_values(text, _opened(text, start, "[")))


def _opened(text: str, start: int, sign: str) -> int:
    token = _token().match(text, start)
    if token is None or token[1] != sign:
        raise _broken(start)
    return token.end()


def _values(text: str, at: int) -> Iterator[JsonSpan]:
    """Yields the values up to the end of the open object or array; keys are values too."""
    depth, begun = 0, 0
    match = _token().match
    while (token := match(text, at)) is not None:
        at, sign = token.end(), token[1]
        if sign in _OPENING:
            begun = token.start(1) if not depth else begun
            depth += 1
        elif sign in _CLOSING:
            if not depth:
                return
            depth -= 1
            if not depth:
                yield (begun, at)
        elif not depth and sign not in ",:":
            yield (token.start(1), at)
    raise _broken(at)


@cache
def _token() -> re.Pattern[str]:
    return re.compile(_TOKEN, re.DOTALL)


def _broken(at: int) -> UsageError:
    return UsageError(f"The notebook is not valid JSON near character {at}.")


ENDING = b".ipynb"
TOO_DEEP = f"The notebook is nested more than {MAX_DEPTH} levels deep. Nothing was changed."
RESULT_TEXTS = {"replace": "replaced", "insert": "inserted", "delete": "deleted"}


class NotebookEditArgs(OptionArgs, frozen=True):
    path: Annotated[str, msgspec.Meta(description="notebook")]
    cell: Annotated[str, msgspec.Meta(description="id or number from 0; insert: after it")] = ""
    source: Annotated[str, msgspec.Meta(description="new content")] = ""
    action: Annotated[
        Literal["replace", "insert", "delete"], msgspec.Meta(description="default: replace")
    ] = "replace"
    kind: Annotated[
        Literal["code", "markdown"] | None, msgspec.Meta(description="of a new cell")
    ] = None


def touches(args: NotebookEditArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    path = edit_target(args.path, context)
    return (edit_access(path), read_access(path))


def run(args: NotebookEditArgs, context: ToolContext) -> ToolOutcome:
    """Returns the notebook with one cell changed."""
    path = edit_target(args.path, context)
    if not path.lower().endswith(ENDING):
        raise UsageError(f"{one_line(path)} is not a notebook (.ipynb). Use `edit`.")
    before, content = load_file(path, context)
    text, form = decode_text(content, one_line(path))
    _check(text)
    top = members(text, 0)
    if "cells" not in top:
        raise UsageError(
            f"{one_line(path)} has no cells in notebook format 4. Nothing was changed."
        )
    cells = elements(text, top["cells"][0])
    at = _index(args, text, cells)
    after = {"replace": _replaced, "insert": _inserted, "delete": _deleted}[args.action](
        text, cells, at, args
    )
    _check(after)
    words = f"cell {at} {RESULT_TEXTS[args.action]}."
    return edit_outcome([EditedFile(path, before, encode_text(after, form, one_line(path)), words)])


def _check(text: str) -> None:
    try:
        found = msgspec.json.decode(text.encode("utf-8", "surrogateescape"))
    except msgspec.DecodeError as error:
        raise UsageError(
            f"The notebook is not valid JSON: {error}. Nothing was changed."
        ) from error
    except RecursionError:
        raise UsageError(TOO_DEEP) from None
    if is_too_deep(found):
        raise UsageError(TOO_DEEP)


def _index(args: NotebookEditArgs, text: str, cells: list[JsonSpan]) -> int:
    """Returns the index of a cell; for an insertion, where it will be."""
    after = args.action == "insert"
    if after and not (args.cell and cells):
        return 0
    ids = [_value(text, cell, "id") for cell in cells]
    if args.cell in ids:
        return ids.index(args.cell) + after
    if args.cell.isdecimal() and int(args.cell) < len(cells):
        return int(args.cell) + after
    raise NotFound(
        f"cell: {args.cell!r} not found; the notebook has {counted(len(cells), 'cell')}. "
        "Nothing was changed."
    )


def _value(text: str, cell: JsonSpan, name: str) -> Any:
    span = members(text, cell[0]).get(name)
    return msgspec.json.decode(text[span[0] : span[1]]) if span else None


def _replaced(text: str, cells: list[JsonSpan], at: int, args: NotebookEditArgs) -> str:
    fields = members(text, cells[at][0])
    if "source" not in fields:
        raise UsageError(f"cell {args.cell} has no source. Nothing was changed.")
    start, end = fields["source"]
    as_list = text[start] == "["
    changes = [((start, end), _source(args.source, as_list, _indent(text, start), _unit(text)))]
    if args.kind and "cell_type" in fields:
        changes.append((fields["cell_type"], f'"{args.kind}"'))
    for (first, last), put in sorted(changes, reverse=True):
        text = text[:first] + put + text[last:]
    return text


def _deleted(text: str, cells: list[JsonSpan], at: int, args: NotebookEditArgs) -> str:
    if len(cells) == 1:
        return text[: cells[0][0]].rstrip() + text[cells[0][1] :].lstrip()
    if at:
        return text[: cells[at - 1][1]] + text[cells[at][1] :]
    return text[: cells[0][0]] + text[cells[1][0] :]


def _inserted(text: str, cells: list[JsonSpan], at: int, args: NotebookEditArgs) -> str:
    like = cells[min(at, len(cells) - 1)] if cells else None
    made = _cell(text, like, at, args)
    if like is None:
        opening = text.index("[", members(text, 0)["cells"][0]) + 1
        return text[:opening] + made + text[opening:]
    between = ("\n" + _indent(text, like[0])) if _unit(text) else " "
    if at < len(cells):
        return f"{text[: like[0]]}{made},{between}{text[like[0] :]}"
    return f"{text[: like[1]]},{between}{made}{text[like[1] :]}"


def _cell(text: str, like: JsonSpan | None, at: int, args: NotebookEditArgs) -> str:
    """Returns a new cell in the style of the others: with an id if they have one."""
    kind, unit = args.kind or "code", _unit(text)
    indent = _indent(text, like[0]) if like else ""
    inner = indent + unit
    fields = {"cell_type": f'"{kind}"'}
    if kind == "code":
        fields["execution_count"] = "null"
    if like and "id" in members(text, like[0]):
        fields["id"] = f'"{sha256(f"{at}{args.source}{len(text)}".encode())[:8]}"'
    fields["metadata"] = "{}"
    if kind == "code":
        fields["outputs"] = "[]"
    fields["source"] = _source(args.source, True, inner, unit)
    if not unit:
        return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}"
    rows = ",\n".join(f'{inner}"{name}": {value}' for name, value in fields.items())
    return f"{{\n{rows}\n{indent}}}"


def _source(source: str, as_list: bool, indent: str, unit: str) -> str:
    """Writes a cell's text in the form that the cell has: one string, or a list of lines."""
    if not as_list:
        return _json(source)
    rows = [_json(line) for line in source.splitlines(keepends=True)]
    if not rows or not unit:
        return f"[{', '.join(rows)}]"
    inside = f",\n{indent}{unit}".join(rows)
    return f"[\n{indent}{unit}{inside}\n{indent}]"


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Returns the indentation of the notebook; empty if it is on one line."""
    first, _, rest = text.partition("\n")
    return rest[: len(rest) - len(rest.lstrip(" \t"))] if first.strip() == "{" else ""


NOTEBOOK_EDIT = Tool(
    "notebook_edit", NotebookEditArgs, touches, run, Action.EDIT, on_demand="cells"
)
