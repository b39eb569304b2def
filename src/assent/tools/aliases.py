"""Aliases: tools and arguments that models know from other programs, translated to ours.

An alias only renames: its target is offered, judged and refused like any other call.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias, get_args, get_type_hints

import msgspec

from assent.core.decoding import is_too_deep
from assent.core.errors import UsageError
from assent.core.llm import ToolCall
from assent.tools.outcome import quote_argument
from assent.tools.read import piece
from assent.tools.tool import Tool

# Argument translations: converts values that mean something else in other programs' tools.
#
# Each takes what was sent and returns it in the tool's own words; None if it makes no sense, so
# that it is refused by its name.


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
    """Returns `"true"` and `"false"` as booleans, and all else as it is."""
    return {"true": True, "false": False}.get(value.lower(), value) if _is_text(value) else value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _items(value: Any) -> Any:
    """Parses a list that was sent as a JSON string."""
    if not _is_text(value) or not value.lstrip().startswith("["):
        return value
    try:
        found = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
    return value if is_too_deep(found) else found


def _command(value: Any) -> TranslatedArgs | None:
    """Returns a list of words as a command line; for a shell's `-c`, the script itself."""
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
    """Parses a time limit: a thousand or more can only mean milliseconds."""
    number = float(value) if re.fullmatch(r"\d+(\.\d+)?", str(value)) else 0.0
    return {"timeout": number / MILLI if number >= MILLI else number} if number else None


def _milliseconds(value: Any) -> TranslatedArgs | None:
    number = float(value) if re.fullmatch(r"\d+(\.\d+)?", str(value)) else 0.0
    return {"timeout": number / MILLI} if number else None


def _subject(value: Any) -> TranslatedArgs | None:
    return {"subject": value} if _is_text(value) else None


def _view_range(value: Any) -> TranslatedArgs | None:
    match _items(value):
        case [int(first), int(last)]:
            return {"offset": first, "end_line": last}
        case _:
            return None


def _several_paths(value: Any) -> TranslatedArgs | None:
    match _items(value):
        case [str(first), *others]:
            return {**piece(first), **({"more": others} if others else {})}
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
    ("shell", "seconds"): _seconds,
    ("shell", "timeoutms"): _milliseconds,
    ("shell", "description"): _subject,
    ("read", "viewrange"): _view_range,
    ("read", "paths"): _several_paths,
    ("read", "files"): _several_paths,
    ("grep", "headlimit"): _unlimited,
    ("grep", "casesensitive"): _unless("ignore_case"),
    ("grep", "isregexp"): _unless("literal"),
    ("grep", "isregex"): _unless("literal"),
    ("grep", "namesonly"): _names_only,
    ("search", "targetdirectories"): _only_folder,
    ("list", "recursive"): _flat,
    ("edit", "expectedreplacements"): _all_of_them,
    ("todo", "status"): _status,
}


def _read(args: TranslatedArgs) -> TranslatedArgs:
    """Drops the line range if the whole file is requested."""
    if parse_bool(args.get("should_read_entire_file")) is not True:
        return args
    lines = ("should_read_entire_file", "offset", "limit")
    rest = {n: value for n, value in args.items() if n not in lines and "line" not in n}
    return {**rest, "lines": "1-"}


def _edit(args: TranslatedArgs) -> TranslatedArgs:
    """Makes a list of a single edit, and gives the edits of a list the path that is beside it."""
    if "edits" not in args:
        option = {"option": args["option"]} if "option" in args else {}
        return {"edits": [{name: args[name] for name in args if name != "option"}], **option}
    edits = _items(args["edits"])
    if not isinstance(edits, list):
        return args
    shared = {name: value for name, value in args.items() if _is_path(name)}
    rest = {name: value for name, value in args.items() if name not in shared}
    listed = [{**shared, **each} if isinstance(each, dict) else each for each in edits]
    return {**rest, "edits": listed}


def _is_path(name: str) -> bool:
    return name == "path" or "path" in ARGUMENTS.get(normalized_name(name), ())


def _todo(args: TranslatedArgs) -> TranslatedArgs:
    """Accepts a list that is called a plan, and items that only have a description."""
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
            "The plan's text was not saved: write it with `write_plan`, then call `present_plan` "
            "without it. Nothing was done."
        )
    return {name: args[name] for name in ("rehearse", "options") if name in args}


def _notebook(args: TranslatedArgs) -> TranslatedArgs:
    """Converts the older `cell_number`, which is the position an inserted cell will have."""
    number = str(args.get("cell_number", ""))
    if args.get("edit_mode") != "insert" or not number.isdecimal():
        return args
    rest = {name: value for name, value in args.items() if name != "cell_number"}
    return rest | {"cell": str(int(number) - 1) if int(number) else ""}


TOOL_TRANSLATIONS: Mapping[str, Callable[[TranslatedArgs], TranslatedArgs]] = {
    "read": _read,
    "edit": _edit,
    "todo": _todo,
    "question": _question,
    "present_plan": _present,
    "notebook_edit": _notebook,
}


# Argument aliases: arguments that models know from other programs, mapped to our tools' own.
#
# What has a counterpart is renamed or translated, what changes nothing is dropped, and all else is
# refused by its name: nothing is left out silently that would change what a call means.


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
_BACKGROUND = (
    "commands do not run in the background; omit it, and `shell` returns when the command ends"
)
_CONFINED = "only the user decides how a command is sandboxed; omit it"
_IGNORED = "git-ignored files are excluded; use `read` with the path of such a file or folder"
UNSUPPORTED_ARGUMENTS: dict[str, str] = {
    "runinbackground": _BACKGROUND,
    "isbackground": _BACKGROUND,
    "background": _BACKGROUND,
    "withescalatedpermissions": _CONFINED,
    "dangerouslydisablesandbox": _CONFINED,
    "sandboxpermissions": _CONFINED,
    "env": "environment variables cannot be set here; omit it",
    "multiline": "a match is within one line; search for one of the lines",
    "noignore": _IGNORED,
    "respectgitignore": _IGNORED,
    "viewrange": "it must be two line numbers, such as [1, 40]; or use `offset` and `limit`",
    "merge": "the whole list is replaced; send all of it",
    "codeedit": "send the existing text as `old` and its replacement as `new`",
    "diff": "`patch` takes a diff; here send `old` and `new`",
    "workdir": "use a path that starts with it",
    "cwd": "use a path that starts with it",
    "format": "pages are returned as text; omit it",
}


def normalized_name(name: str) -> str:
    """Returns a name as in the tables: `filePath` and `file_path` are the same, `-A` is itself."""
    if name.startswith("-"):
        return name
    return name.replace("_", "").replace("-", "").lower()


def translate_arguments(tool: Tool, args: Args) -> Args:
    """Returns arguments under the tool's own names; raises UsageError for an unsupported one."""
    if tool.schema is not None:
        return args
    whole = TOOL_TRANSLATIONS.get(tool.name)
    return _translated(tool.name, tool.args, whole(args) if whole else args)


def _translated(tool: str, struct: type[msgspec.Struct], args: Args) -> Args:
    """Translates the arguments of a struct of the tool, also in lists of structs."""
    found: Args = {}
    for name, value in args.items():
        found |= _said(tool, struct, name, value, {*args, *found})
    for name, inner in _lists(struct).items():
        if isinstance(found.get(name), list):
            each = found[name]
            found[name] = [_translated(tool, inner, v) if isinstance(v, dict) else v for v in each]
    return found


@cache
def _fields_by_name(struct: type[msgspec.Struct]) -> Mapping[str, tuple[str, ...]]:
    """Returns the fields of a struct by their names as in the tables."""
    found: dict[str, tuple[str, ...]] = {}
    for field in struct.__struct_encode_fields__:
        short = normalized_name(field)
        found[short] = (*found.get(short, ()), field)
    return found


def _said(tool: str, struct: type[msgspec.Struct], name: str, value: Any, taken: set[str]) -> Args:
    """Returns the translation of one argument; an unknown one stays, to be reported later."""
    short, fields = normalized_name(name), struct.__struct_encode_fields__
    translate = TRANSLATIONS.get((tool, short))
    meant = translate(value) if translate else None
    if meant is not None:
        return meant if not {*meant} & taken - {name} else {name: value}
    if name in fields:
        return {name: value}
    names = [*_fields_by_name(struct).get(short, ()), *ARGUMENTS.get(short, ())]
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


# Tool aliases: names of tools that models know from other programs, and what they mean here.
#
# An alias only renames. What it becomes is offered, judged and refused like any other call.


# By name in small letters without `_` and `-`: `write_file`, `WriteFile` and `writeFile` are one.
ALIASES: dict[str, str] = {
    alias: tool
    for tool, names in {
        "read": "readfile readfiles readmanyfiles view viewfile viewimage cat openfile "
        "fileread readtextfile",
        "list": "ls listdir listdirectory listfiles",
        "glob": "filesearch findfiles findpath",
        "grep": "grepsearch grepfiles searchfilecontent searchfiles ripgrep rg searchtext",
        "search": "codebasesearch searchcodebase codesearch symbolsearch searchsymbols",
        "git": "",
        "shell": "bash exec execcommand executecommand runcommand runterminalcmd runinterminal "
        "runshellcommand terminal localshell sh",
        "fetch": "webfetch fetchurl readurl openurl",
        "write": "writefile createfile filewrite savefile writetofile",
        "edit": "editfile fileedit strreplace searchreplace replace replaceinfile "
        "replacestringinfile updatefile multiedit",
        "patch": "applypatch applydiff",
        "delete": "deletefile removefile remove rm",
        "move": "movefile renamefile rename mv",
        "notebook_edit": "editnotebook",
        "write_plan": "saveplan",
        "todo": "todowrite writetodos updatetodos updateplan updatetodolist managetodolist",
        "question": "askuserquestion askuser ask askfollowupquestion askquestion requestuserinput",
        "present_plan": "exitplan exitplanmode planexit submitplan",
        "options": "",
        "unstage": "unstageoperations removeoperations",
        "draft": "showdraft",
        "rehearse": "rehearseplan",
        "enter_plan": "enterplanmode planenter",
        "remember": "savememory memory addmemory",
        "task": "agent subagent delegate delegatetoagent delegatetask newtask spawnagent "
        "runsubagent launchagent dispatchagent",
        "more_tools": "",
    }.items()
    for alias in (tool.replace("_", ""), *names.split())
}

UNSUPPORTED: dict[str, str] = {
    "websearch": "Web search is not available. If you know the URL, use `fetch`.",
    "googlewebsearch": "Web search is not available. If you know the URL, use `fetch`.",
    "todoread": "The current todo list is already shown to you; `todo` replaces it.",
    "python": "Use `shell` to run programs.",
    "killshell": "Commands do not run in the background. `shell` returns when the command ends.",
    "bashoutput": "Commands do not run in the background. `shell` returns when the command ends.",
    "taskoutput": "You get the result of a background task as a message; continue.",
    "agentoutput": "You get the result of a background task as a message; continue.",
    "agentoutputtool": "You get the result of a background task as a message; continue.",
    "insert": "Use `edit`: put the line before the place and the line after it into `old`.",
    "undoedit": "Only the user can undo applied changes. Use `edit` to change a file again.",
}

EDITOR_COMMANDS = {"view": "read", "create": "write", "str_replace": "edit"}
SKILL = "skill"  # a tool that is there only where there are skills
EDITOR_TOOLS = ("strreplaceeditor", "strreplacebasededittool", "texteditor")


_ALIASES_OF: dict[str, list[str]] = {}
for _alias, _tool in ALIASES.items():
    _ALIASES_OF.setdefault(_tool, []).append(_alias)


def aliases_of(tool: str) -> list[str]:
    """Returns the aliases of a tool."""
    return _ALIASES_OF.get(tool, [])


def is_reserved_name(name: str) -> bool:
    """Tells whether a name is already in use here, however it is spelled."""
    short = normalized_name(name)
    return short in ALIASES or short in UNSUPPORTED or short in (*EDITOR_TOOLS, SKILL)


def resolve_alias(call: ToolCall, tools: Mapping[str, Tool]) -> ToolCall:
    """Returns the call under the tool's own names.

    An unknown tool stays as it is; a known one without a counterpart raises UsageError.
    """
    name, args = call.tool, call.args
    if name not in tools:
        name, args = _understood(name, args)
    if name in tools and args is not None:
        args = translate_arguments(tools[name], args)
    return ToolCall(call.id, name, args, call.raw)


def _understood(name: str, args: Args | None) -> tuple[str, Args | None]:
    short = normalized_name(name)
    if short in EDITOR_TOOLS and args is not None:
        args = dict(args)
        command = str(args.pop("command", ""))
        _refuse(normalized_name(command))
        return EDITOR_COMMANDS.get(command, name), args
    _refuse(short)
    target = ALIASES.get(short, name)
    if target == "edit" and args is not None:
        target = _kind_of_edit(args)
    return target, args


def _refuse(short: str) -> None:
    if short in UNSUPPORTED:
        raise UsageError(f"{UNSUPPORTED[short]} Nothing was done.")


def _kind_of_edit(args: Args) -> str:
    """Tells what `edit_file` and similar calls want: to replace text, or the whole file."""
    if "edits" in args:
        return "edit"
    names = {ARGUMENTS.get(normalized_name(name), (name,))[0] for name in args}
    return "write" if "content" in names and "old" not in names else "edit"
