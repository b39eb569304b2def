"""Argument aliases: arguments that models know from other programs, mapped to our tools' own.

What has a counterpart is renamed or translated, what changes nothing is dropped, and all else is
refused by its name: nothing is left out silently that would change what a call means.
"""

from functools import cache
from typing import Any, TypeAlias, get_args, get_type_hints

import msgspec

from assent.core.errors import UsageError
from assent.tools.argument_translations import TOOL_TRANSLATIONS, TRANSLATIONS, parse_bool
from assent.tools.tool import Tool

Args: TypeAlias = dict[str, Any]

# By `key`: what an argument may be called here; the first name that fits counts.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    alias: tuple(names.split())
    for names, aliases in (
        (
            "path folder",
            "filepath file filename targetfile notebookpath dir directory folder dirpath "
            "directorypath targetdirectory relativeworkspacepath absolutepath source src from "
            "sourcepath oldpath",
        ),
        ("folder", "workdir cwd workingdirectory path"),
        ("to", "destination dest target newpath destinationpath"),
        ("old", "oldstring oldstr oldtext find search"),
        ("new", "newstring newstr newtext replace replacement"),
        ("content text source fact label", "filetext contents content text body code"),
        ("text fact", "plan memory"),
        ("source", "newsource"),
        ("cell", "cellid cellindex cellnumber"),
        ("kind", "celltype"),
        ("action mode", "editmode"),
        ("command", "cmd script commandline"),
        ("patch", "input diff patchtext"),
        ("pattern name", "query regex pattern symbol"),
        ("include pattern", "glob globpattern includepattern filepattern"),
        ("exclude", "excludepattern"),
        ("file_type", "type filetype"),
        ("show", "outputmode"),
        ("ignore_case", "-i caseinsensitive"),
        ("literal", "fixedstrings isliteral"),
        ("context", "-C contextlines"),
        ("before", "-B beforecontext"),
        ("after", "-A aftercontext"),
        ("offset", "startline startlineoneindexed"),
        ("end_line", "endlineoneindexedinclusive"),
        ("limit", "headlimit maxresults linelimit"),
        ("replace_all", "allowmultiple"),
        ("multiple", "multiselect"),
        ("todos", "items todolist"),
        ("content header description", "step title"),
        ("content header prompt", "task"),
        ("prompt", "objective message instructions"),
        ("agent", "subagenttype agentname agenttype subagent"),
        ("session", "taskid sessionid agentid resume"),
        ("background", "runinbackground"),
        ("url", "uri address"),
    )
    for alias in aliases.split()
}

_HARMLESS = (
    "description explanation instructions instruction activeform timeout timeoutms prompt -n "
    "requiresapproval requireuserapproval allowedprompts id priority login shell yieldtimems "
    "justification maxoutputtokens securityrisk linecount"
)
IGNORED_ARGUMENTS = frozenset(_HARMLESS.split())
# What changes nothing while it has one of these values.
IGNORED_VALUES: dict[str, tuple[object, ...]] = {
    "runinbackground": (False,),
    "isbackground": (False,),
    "background": (False,),
    "tty": (False,),
    "isinput": (False,),
    "withescalatedpermissions": (False,),
    "dangerouslydisablesandbox": (False,),
    "sandboxpermissions": ("use_default",),
    "multiline": (False,),
    "offset": (0,),
    "noignore": (False,),
    "respectgitignore": (True,),
    "casesensitive": (True,),
    "recursive": (True,),
    "merge": (False,),
    "overwrite": (True,),
    "format": ("text", "markdown"),
    "shouldreadentirefile": (False,),
}
_BACKGROUND = "no command runs in the background; leave it out, and `shell` returns when it is done"
_CONFINED = "only the person decides what confines a command; leave it out"
_IGNORED = "what git ignores is left out; `read` shows a file or folder of that kind by its path"
UNSUPPORTED_ARGUMENTS: dict[str, str] = {
    "runinbackground": _BACKGROUND,
    "isbackground": _BACKGROUND,
    "background": _BACKGROUND,
    "withescalatedpermissions": _CONFINED,
    "dangerouslydisablesandbox": _CONFINED,
    "sandboxpermissions": _CONFINED,
    "env": "a command gets no variables here; leave it out",
    "multiline": "a match lies in one line; look for one of the lines",
    "noignore": _IGNORED,
    "respectgitignore": _IGNORED,
    "viewrange": "it is two numbers of lines, such as [1, 40]; or use `offset` and `limit`",
    "merge": "the list is replaced as a whole; send all of it",
    "codeedit": "send the text that is there as `old` and what takes its place as `new`",
    "diff": "`patch` takes a diff; here send `old` and `new`",
    "workdir": "give a path that begins with it",
    "cwd": "give a path that begins with it",
    "format": "a page comes as text; leave it out",
}


def normalized_name(name: str) -> str:
    """Returns a name as the tables have it: `filePath` and `file_path` are one, `-A` is itself."""
    if name.startswith("-"):
        return name
    return name.replace("_", "").replace("-", "").lower()


def translate_arguments(tool: Tool, args: Args) -> Args:
    """Returns arguments under the names that a tool has; raises UsageError for one it cannot do."""
    if tool.schema is not None:
        return args
    whole = TOOL_TRANSLATIONS.get(tool.name)
    return _translated(tool.name, tool.args, whole(args) if whole else args)


def _translated(tool: str, struct: type[msgspec.Struct], args: Args) -> Args:
    """Does it for a struct of the tool, also in lists of structs."""
    found: Args = {}
    for name, value in args.items():
        found |= _said(tool, struct, name, value, {*args, *found})
    for name, inner in _lists(struct).items():
        if isinstance(found.get(name), list):
            each = found[name]
            found[name] = [_translated(tool, inner, v) if isinstance(v, dict) else v for v in each]
    return found


def _said(tool: str, struct: type[msgspec.Struct], name: str, value: Any, taken: set[str]) -> Args:
    """Returns what one argument says here; what nobody knows stays, to be named later."""
    short, fields = normalized_name(name), struct.__struct_encode_fields__
    translate = TRANSLATIONS.get((tool, short))
    meant = translate(value) if translate else None
    if meant is not None:
        return meant if not {*meant} & taken - {name} else {name: value}
    if name in fields:
        return {name: value}
    names = [field for field in fields if normalized_name(field) == short] + [
        *ARGUMENTS.get(short, ())
    ]
    free = [field for field in names if field in fields and field not in taken]
    if free:
        return {free[0]: value}
    if short in IGNORED_ARGUMENTS or _is_harmless(short, value):
        return {}
    if short in UNSUPPORTED_ARGUMENTS and not any(field in fields for field in names):
        raise UsageError(f"{tool}: `{name}`: {UNSUPPORTED_ARGUMENTS[short]}. Nothing was done.")
    return {name: value}


def _is_harmless(short: str, value: Any) -> bool:
    known = IGNORED_VALUES.get(short, ())
    return any(
        type(each) is type(parse_bool(value)) and each == parse_bool(value) for each in known
    )


@cache
def _lists(struct: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct]]:
    """Returns the fields that are lists of structs."""
    hints = get_type_hints(struct)
    inner = {name: get_args(hint)[:1] for name, hint in hints.items()}
    return {
        name: kinds[0]
        for name, kinds in inner.items()
        if kinds and isinstance(kinds[0], type) and issubclass(kinds[0], msgspec.Struct)
    }
