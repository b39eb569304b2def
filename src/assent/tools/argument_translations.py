"""Argument translations: converts values that mean something else in other programs' tools.

Each takes what was sent and returns it in the tool's own words; None if it makes no sense, so that
it is refused by its name.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from assent.core.errors import UsageError
from assent.core.json_depth import is_too_deep
from assent.tools.command_output import quote_argument

TranslatedArgs: TypeAlias = dict[str, Any]
Translation: TypeAlias = Callable[[Any], TranslatedArgs | None]

UNLIMITED = 1_000_000
MILLI = 1000
SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/usr/bin/bash")
SCRIPT = ("-c", "-lc", "-ic", "-cl")
STATUSES = {"not-started": "pending", "in-progress": "in_progress", "canceled": "cancelled"}
_PLAIN = r"[\w@%+:,./-]+"
_SUGGESTED = r"(?s)<suggest[^>]*>(.*?)</suggest>"


def parse_bool(value: Any) -> Any:
    """Returns `"true"` and `"false"` as what they mean, and all else as it is."""
    return {"true": True, "false": False}.get(value.lower(), value) if _is_text(value) else value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _items(value: Any) -> Any:
    """Reads a list that was sent as a string of JSON."""
    if not _is_text(value) or not value.lstrip().startswith("["):
        return value
    try:
        found = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
    return value if is_too_deep(found) else found


def _command(value: Any) -> TranslatedArgs | None:
    """Writes a list of words as a line that means them; of a shell's own script, the script."""
    if not isinstance(value, list) or not value or not all(map(_is_text, value)):
        return None
    match value:
        case [shell, option, script] if shell in SHELLS and option in SCRIPT:
            return {"command": script}
        case _:
            pass
    words = [w if re.fullmatch(_PLAIN, w, re.ASCII) else quote_argument(w) for w in value]
    return {"command": " ".join(words)}


def _seconds(value: Any) -> TranslatedArgs | None:
    """Reads a time limit: a thousand or more can only be meant as milliseconds."""
    number = float(value) if re.fullmatch(r"\d+(\.\d+)?", str(value)) else 0.0
    return {"seconds": number / MILLI if number >= MILLI else number} if number else None


def _milliseconds(value: Any) -> TranslatedArgs | None:
    number = float(value) if re.fullmatch(r"\d+(\.\d+)?", str(value)) else 0.0
    return {"seconds": number / MILLI} if number else None


def _subject(value: Any) -> TranslatedArgs | None:
    return {"subject": value} if _is_text(value) else None


def _view_range(value: Any) -> TranslatedArgs | None:
    match _items(value):
        case [int(first), int(last)]:
            return {"offset": first, "end_line": last}
        case _:
            return None


def _unlimited(value: Any) -> TranslatedArgs | None:
    return {"limit": UNLIMITED} if value in (0, "0") else None


def _unless(field: str) -> Translation:
    return lambda value: {field: not parse_bool(value)} if type(parse_bool(value)) is bool else None


def _names_only(value: Any) -> TranslatedArgs:
    return {"show": "files_with_matches"} if parse_bool(value) else {}


def _only_folder(value: Any) -> TranslatedArgs | None:
    match _items(value):
        case []:
            return {}
        case [str(only)]:
            return {"path": only}
        case _:
            return None


def _flat(value: Any) -> TranslatedArgs | None:
    return {"depth": 1} if parse_bool(value) is False else None


def _all_of_them(value: Any) -> TranslatedArgs | None:
    count = int(value) if str(value).isdecimal() else 0
    return {"replace_all": count > 1} if count else None


def _status(value: Any) -> TranslatedArgs | None:
    return {"status": STATUSES[value]} if _is_text(value) and value in STATUSES else None


TRANSLATIONS: Mapping[tuple[str, str], Translation] = {
    ("shell", "command"): _command,
    ("shell", "cmd"): _command,
    ("shell", "timeout"): _seconds,
    ("shell", "timeoutms"): _milliseconds,
    ("shell", "description"): _subject,
    ("read", "viewrange"): _view_range,
    ("grep", "headlimit"): _unlimited,
    ("grep", "casesensitive"): _unless("ignore_case"),
    ("grep", "isregexp"): _unless("literal"),
    ("grep", "isregex"): _unless("literal"),
    ("grep", "namesonly"): _names_only,
    ("search", "targetdirectories"): _only_folder,
    ("list", "recursive"): _flat,
    ("edit", "expectedreplacements"): _all_of_them,
    ("multi_edit", "expectedreplacements"): _all_of_them,
    ("todo", "status"): _status,
}


def _read(args: TranslatedArgs) -> TranslatedArgs:
    """Leaves out which lines were meant if the whole file is."""
    if parse_bool(args.get("should_read_entire_file")) is not True:
        return args
    lines = ("should_read_entire_file", "offset", "limit")
    return {n: value for n, value in args.items() if n not in lines and "line" not in n}


def _todo(args: TranslatedArgs) -> TranslatedArgs:
    """Takes in a list that is called a plan, and items that are only described."""
    if isinstance(args.get("plan"), list):
        args = {"todos" if name == "plan" else name: value for name, value in args.items()}
    listed = {name: value for name, value in args.items() if isinstance(value, list)}
    return args | {name: [_described(each) for each in value] for name, value in listed.items()}


def _described(item: Any) -> Any:
    if not isinstance(item, dict) or {"content", "step", "task", "title"} & item.keys():
        return item
    return {"content" if name == "description" else name: value for name, value in item.items()}


def _question(args: TranslatedArgs) -> TranslatedArgs:
    """Makes a list of a single question that was sent without one, and labels of words."""
    asked = _items(args.get("questions", [args] if "question" in args else None))
    if not isinstance(asked, list):
        return args
    return {"questions": [_labelled(each) if isinstance(each, dict) else each for each in asked]}


def _labelled(question: TranslatedArgs) -> TranslatedArgs:
    offered = question.get("options", question.get("follow_up"))
    rest = {name: value for name, value in question.items() if name != "follow_up"}
    options = _items(offered)
    if _is_text(options):
        options = [words.strip() for words in re.findall(_SUGGESTED, options)]
    if not isinstance(options, list):
        return rest
    return rest | {"options": [{"label": o} if _is_text(o) else o for o in options]}


def _present(args: TranslatedArgs) -> TranslatedArgs:
    if str(args.get("plan", "")).strip():
        raise UsageError(
            "The plan's text was not taken in: write it with `write_plan`, then call "
            "`present_plan` without it. Nothing was done."
        )
    return {}


def _notebook(args: TranslatedArgs) -> TranslatedArgs:
    """Counts as the older family does: its `cell_number` is where an inserted cell will stand."""
    number = str(args.get("cell_number", ""))
    if args.get("edit_mode") != "insert" or not number.isdecimal():
        return args
    rest = {name: value for name, value in args.items() if name != "cell_number"}
    return rest | {"cell": str(int(number) - 1) if int(number) else ""}


TOOL_TRANSLATIONS: Mapping[str, Callable[[TranslatedArgs], TranslatedArgs]] = {
    "read": _read,
    "todo": _todo,
    "question": _question,
    "present_plan": _present,
    "notebook_edit": _notebook,
}
