"""Tool aliases: names of tools that models know from other programs, and what they mean here.

An alias only renames. What it becomes is offered, judged and refused like any other call.
"""

from collections.abc import Mapping

from assent.core.errors import UsageError
from assent.core.llm import ToolCall
from assent.tools.argument_aliases import ARGUMENTS, Args, normalized_name, translate_arguments
from assent.tools.tool import Tool

# By name in small letters without `_` and `-`: `write_file`, `WriteFile` and `writeFile` are one.
ALIASES: dict[str, str] = {
    alias: tool
    for tool, names in {
        "read": "readfile view viewfile viewimage cat openfile fileread readtextfile",
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
        "replacestringinfile updatefile",
        "multi_edit": "",
        "patch": "applypatch applydiff",
        "delete": "deletefile removefile remove rm",
        "move": "movefile renamefile rename mv",
        "notebook_edit": "editnotebook",
        "write_plan": "saveplan",
        "todo": "todowrite writetodos updatetodos updateplan updatetodolist managetodolist",
        "question": "askuserquestion askuser ask askfollowupquestion askquestion requestuserinput",
        "present_plan": "exitplan exitplanmode planexit submitplan",
        "enter_plan": "enterplanmode planenter",
        "remember": "savememory memory addmemory",
        "task": "agent subagent delegate delegatetoagent delegatetask newtask spawnagent "
        "runsubagent launchagent dispatchagent",
    }.items()
    for alias in (tool.replace("_", ""), *names.split())
}

UNSUPPORTED: dict[str, str] = {
    "websearch": "There is no search of the web. If you know the address, use `fetch`.",
    "googlewebsearch": "There is no search of the web. If you know the address, use `fetch`.",
    "todoread": "The list of todos is shown to you as it is; `todo` replaces it.",
    "python": "`shell` runs programs: while planning those that only read, else what is allowed.",
    "killshell": "No command runs in the background. `shell` returns when it is done.",
    "bashoutput": "No command runs in the background. `shell` returns when it is done.",
    "taskoutput": "What a task in the background came to is told to you by a message; go on.",
    "agentoutput": "What a task in the background came to is told to you by a message; go on.",
    "agentoutputtool": "What a task in the background came to is told to you by a message; go on.",
    "insert": "Use `edit`: put the line before the place, and what follows it, into `old`.",
    "undoedit": "The person undoes what was applied. Use `edit` to change a file again.",
}

EDITOR_COMMANDS = {"view": "read", "create": "write", "str_replace": "edit"}
EDITOR_TOOLS = ("strreplaceeditor", "strreplacebasededittool", "texteditor")


def aliases_of(tool: str) -> list[str]:
    """Returns the aliases of a tool."""
    return [alias for alias, name in ALIASES.items() if name == tool]


def is_reserved_name(name: str) -> bool:
    """Tells whether a name already means something here, spelled in whatever way."""
    short = normalized_name(name)
    return short in ALIASES or short in UNSUPPORTED or short in EDITOR_TOOLS


def resolve_alias(call: ToolCall, tools: Mapping[str, Tool]) -> ToolCall:
    """Returns the call under the names that the tool has here.

    What nobody knows stays as it is; what is known and has no counterpart raises UsageError.
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
    """Tells what `edit_file` and its kin want: some replace text, some the whole file."""
    if "edits" in args:
        return "multi_edit"
    names = {ARGUMENTS.get(normalized_name(name), (name,))[0] for name in args}
    return "write" if "content" in names and "old" not in names else "edit"
