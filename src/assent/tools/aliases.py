"""Aliases: names of tools and arguments that models know from elsewhere, and what they mean here.

An alias only renames. What it becomes is offered, judged and refused like any other call.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias, get_args, get_type_hints

import msgspec

from assent.core.errors import UsageError
from assent.core.message import Call
from assent.tools.tool import Tool

Args: TypeAlias = dict[str, Any]

# By name in small letters without `_` and `-`: `write_file`, `WriteFile` and `writeFile` are one.
ALIASES: dict[str, str] = {
    alias: tool
    for tool, names in {
        "read": "readfile view viewfile cat openfile fileread readtextfile",
        "list": "ls listdir listdirectory listfiles",
        "glob": "filesearch findfiles findpath",
        "grep": "grepsearch searchfilecontent searchfiles ripgrep rg searchtext",
        "search": "codebasesearch searchcodebase codesearch symbolsearch searchsymbols",
        "git": "",
        "shell": "bash exec execcommand executecommand runcommand runterminalcmd runinterminal "
        "runshellcommand terminal localshell sh",
        "fetch": "webfetch fetchurl readurl openurl",
        "write": "writefile createfile filewrite savefile writetofile",
        "edit": "editfile fileedit strreplace searchreplace replace replaceinfile updatefile",
        "multi_edit": "",
        "patch": "applypatch applydiff",
        "delete": "deletefile removefile remove rm",
        "move": "movefile renamefile rename mv",
        "notebook_edit": "editnotebook",
        "write_plan": "saveplan",
        "todo": "todowrite writetodos updatetodos updateplan updatetodolist managetodolist",
        "question": "askuserquestion askuser ask askfollowupquestion askquestion",
        "present_plan": "exitplan exitplanmode planexit submitplan",
        "enter_plan": "enterplanmode planenter",
        "remember": "savememory memory addmemory",
    }.items()
    for alias in (tool.replace("_", ""), *names.split())
}

REFUSED: dict[str, str] = {
    "websearch": "There is no search of the web. If you know the address, use `fetch`.",
    "googlewebsearch": "There is no search of the web. If you know the address, use `fetch`.",
    "todoread": "The list of todos is shown to you as it is; `todo` replaces it.",
    "python": "No program is run for you but commands that only read: use `shell`.",
    "killshell": "No command runs in the background. `shell` returns when it is done.",
    "bashoutput": "No command runs in the background. `shell` returns when it is done.",
    "insert": "Use `edit`: put the line before the place, and what follows it, into `old`.",
    "undoedit": "The person undoes what was applied. Use `edit` to change a file again.",
}

# Names of arguments from elsewhere, with what they may be called here; the first that fits counts.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    alias: tuple(names)
    for names, aliases in (
        (
            ("path",),
            "file_path filepath file filename file_name target_file notebook_path dir directory "
            "folder dir_path directory_path relative_workspace_path absolute_path source src from "
            "source_path old_path",
        ),
        (("to",), "destination dest target new_path destination_path"),
        (("old",), "old_string old_str old_text find search oldText"),
        (("new",), "new_string new_str new_text replace replacement newText"),
        (("content", "text", "source", "fact"), "file_text contents content text body code"),
        (("text", "fact"), "plan memory"),
        (("source",), "new_source"),
        (("cell",), "cell_id cell_number cell_index"),
        (("kind", "type"), "cell_type"),
        (("action", "mode"), "edit_mode"),
        (("command",), "cmd script commandline"),
        (("patch",), "input diff patch_text patchText"),
        (("pattern", "name"), "query regex pattern symbol"),
        (("include", "pattern"), "glob glob_pattern include_pattern file_pattern"),
        (("context",), "-C context_lines"),
        (("offset",), "start_line"),
        (("limit",), "head_limit max_results line_limit"),
        (("replace_all",), "replaceAll allow_multiple"),
        (("multiple",), "multiSelect multi_select"),
        (("todos",), "items todoList"),
        (("content",), "step task title"),
        (("url",), "uri address"),
    )
    for alias in aliases.split()
}
_NOISE = (
    "description explanation instructions instruction activeForm active_form timeout timeout_ms "
    "is_background run_in_background requires_approval expected_replacements allowedPrompts id "
    "priority workdir follow_up prompt output_mode -n -i multiline view_range"
)
NOISE = frozenset(_NOISE.split())
COMMANDS = {"view": "read", "create": "write", "str_replace": "edit"}
EDITORS = ("strreplaceeditor", "strreplacebasededittool", "texteditor")


def key(name: str) -> str:
    """Returns a name as the tables have it."""
    return name.replace("_", "").replace("-", "").lower()


def other_names(tool: str) -> list[str]:
    """Returns the aliases of a tool."""
    return [alias for alias, name in ALIASES.items() if name == tool]


def meant(call: Call, tools: Mapping[str, Tool]) -> Call:
    """Returns the call under the names that the tool has here.

    What nobody knows stays as it is; what is known and has no counterpart raises UsageError.
    """
    name, args = call.tool, call.args
    if name not in tools:
        name, args = _understood(name, args)
    if name in tools and args is not None:
        args = _renamed(tools[name].args, FIXES.get(name, dict)(args))
    return Call(call.id, name, args, call.raw)


def _understood(name: str, args: Args | None) -> tuple[str, Args | None]:
    short = key(name)
    if short in EDITORS and args is not None:
        args = dict(args)
        command = str(args.pop("command", ""))
        _refuse(key(command))
        return COMMANDS.get(command, name), args
    _refuse(short)
    target = ALIASES.get(short, name)
    if target == "edit" and args is not None:
        target = _kind_of_edit(args)
    return target, args


def _refuse(short: str) -> None:
    if short in REFUSED:
        raise UsageError(f"{REFUSED[short]} Nothing was done.")


def _kind_of_edit(args: Args) -> str:
    """Tells what `edit_file` and its kin want: some replace text, some the whole file."""
    if "edits" in args:
        return "multi_edit"
    whole = any("content" in ARGUMENTS.get(name, (name,))[:1] for name in args)
    return "write" if whole and "old" not in _plain_names(args) else "edit"


def _plain_names(args: Args) -> set[str]:
    return {ARGUMENTS.get(name, (name,))[0] for name in args}


def _renamed(struct: type[msgspec.Struct], args: Args) -> Args:
    """Renames arguments, also in lists of structs; what is not understood stays, to be named."""
    fields, found = struct.__struct_encode_fields__, {}
    for name, value in args.items():
        free = [field for field in fields if field not in args and field not in found]
        options = [to for to in ARGUMENTS.get(name, ()) if to in free]
        own = name in fields or not options
        if own and name not in fields and name in NOISE:
            continue
        found[name if own else options[0]] = value
    for name, inner in _lists(struct).items():
        if isinstance(found.get(name), list):
            found[name] = [_renamed(inner, v) if isinstance(v, dict) else v for v in found[name]]
    return found


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


def _todo(args: Args) -> Args:
    return {"todos": args["plan"]} if isinstance(args.get("plan"), list) else args


def _question(args: Args) -> Args:
    """Makes a list of a single question that was sent without one, and labels of words."""
    asked = args.get("questions", [args] if "question" in args else None)
    if not isinstance(asked, list):
        return args
    return {"questions": [_labelled(each) if isinstance(each, dict) else each for each in asked]}


def _labelled(question: Args) -> Args:
    options = question.get("options")
    if not isinstance(options, list):
        return question
    return question | {"options": [{"label": o} if isinstance(o, str) else o for o in options]}


def _present(args: Args) -> Args:
    if str(args.get("plan", "")).strip():
        raise UsageError(
            "The plan's text was not taken in: write it with `write_plan`, then call "
            "`present_plan` without it. Nothing was done."
        )
    return {}


FIXES: dict[str, Callable[[Args], Args]] = {
    "todo": _todo,
    "question": _question,
    "present_plan": _present,
}
