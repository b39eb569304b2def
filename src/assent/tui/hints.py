"""Translates commands in messages into slash commands and keys of this screen."""

import re
import shlex
from collections.abc import Iterable
from typing import Final

from assent.core.errors import AssentError
from assent.render.lines import GUTTER, Line, Style

SHELL: Final = "in a shell: "
SAY: Final = "describe the task"
SAY_NEXT: Final = "say what to do next"
# What a command begins with, and what does the same here; the longest beginning counts. {one} is
# the plan, run or session that it names, {all} everything after that beginning.
TABLE: Final[dict[str, str]] = {
    "--help": "/help",
    "--mode": "/mode {one}",
    "--model": "/model {one}",
    "-c": SAY_NEXT,
    "-c --model": "/model",
    "-p": SAY,
    "-r": "/resume {one}",
    "init": "/init",
    "plan": "/plans",
    "plan new": SAY,
    "plan write": "/edit",
    "plan show": "/review {one}",
    "plan history": "/history {one}",
    "stage list": "/diff",
    "stage remove": "/review, space on the operation",
    "propose": "/review {one}, key t",
    "review": "/review {one}",
    "diff": "/diff",
    "approve": "/review {one}, key 1",
    "reject": "/review {one}, key 2",
    "comment": "/review, key c",
    "rebase": "/review {one}, key b",
    "build": "/build {one}",
    "undo": "/undo {one}",
    "redo": "/redo {one}",
    "runs list": "/runs",
    "runs show": "/runs",
    "recover": "/recover",
    "recover --resume": "/recover, key 1",
    "recover --roll-back": "/recover, key 2",
    "recover --accept": "/recover, key 3",
    "sessions list": "/sessions",
    "sessions show": "/sessions",
    "sessions resume": "/resume {one}",
    "sessions fork": "/fork {one}",
    "sessions rename": "/rename TITLE",
    "sessions rewind": "/rewind",
    "sessions export": "/export",
    "sessions diff": "/diff turns",
    "sessions pause": "Esc, where it is running",
    "waiting": "/waiting",
    "questions": "/questions",
    "rules": "/rules {all}",
    "rules list": "/rules",
    "memory": "/memory {all}",
    "memory list": "/memory",
    "modes list": "/mode",
    "mcp list": "/mcp",
    "config list": "/config",
    "config get": "/config {one}",
    "config set": "/config set {all}",
    "config unset": "/config unset {one}",
    "login": "/login {one}",
    "agents list": "/agent",
    "models list": "/model",
    "status": "/status",
    "doctor": "/doctor",
    "demo": "/demo",
}
# Beginnings that mean something only a shell can do, though a shorter one does not.
ONLY_SHELL: Final = frozenset({"diff --live", "propose --portable", "doctor --strict"})
# What a step begins with that is typed into a shell, and is not a command of ours.
PROGRAMS: Final = frozenset({
    "$EDITOR", "chmod", "df", "dmesg", "export", "fuser", "git", "ls", "mkdir", "mv", "pip",
    "ps", "sudo", "ulimit",
})  # fmt: skip
_FILE: Final = re.compile(r"FILE|.*\.\w+")  # a bundle, which the screen does not open
_VALUED: Final = frozenset(
    {"--digest", "--note", "--session", "--model", "--goal", "--operation", "-p", "-m"}
)
_WAYS: Final = re.compile(r"^(assent recover)( --[a-z-]+(?:, or --[a-z-]+)+)")
_WHOLE: Final = re.compile(r"assent (.+?)(?=(?:: |, ).*$|\.?$)")
_QUOTED: Final = re.compile(r"`assent ([^`]+)`")
_LAST: Final = re.compile(r"(?P<lead>: +|^ *)assent (?=[a-z\"'-])(?P<rest>.+)$")
_OURS: Final[frozenset[Style]] = frozenset({"plain", "dim", "risk", "heading", "said"})


def next_on_screen(text: str) -> str:
    """Returns the next step of an error as one that works on this screen."""
    text = _WAYS.sub(r"\1", text)
    if text.partition(" ")[0] in PROGRAMS:
        return f"{SHELL}{text}"
    if not text.startswith("assent "):
        return with_screen_commands(text)
    return _WHOLE.sub(lambda found: screen_command(found[1]), text, count=1)


def with_screen_commands(text: str) -> str:
    """Returns one of our sentences with its commands replaced by those of this screen."""
    if "assent " not in text:
        return text
    text = _QUOTED.sub(_quoted, text)
    return _LAST.sub(_last, text)


def error_text(error: AssentError) -> str:
    """Returns an error followed by its next step."""
    step = f"Next: {next_on_screen(error.next)}" if error.next else ""
    return f"{with_screen_commands(error.message)} {step}".strip()


def lines_with_screen_commands(lines: Iterable[Line]) -> list[Line]:
    """Returns lines with commands that work here; text by others stays as it is."""
    return [_hinted(line) for line in lines]


def screen_command(command: str) -> str:
    """Returns the equivalent of a command here: a slash command, a key, or the shell command."""
    words = _words(command)
    beginning = _beginning(words)
    behind = words[len(beginning.split()) :]
    does = TABLE.get(beginning, "")
    one = _one(behind)
    helps = "--help" in behind
    if not does or helps or ("{one}" in does and _FILE.fullmatch(one)):
        return _said(words) or f"{SHELL}assent {command}"
    rest = command.split(maxsplit=len(beginning.split()))[len(beginning.split()) :]
    return " ".join(does.format(one=one, all="".join(rest)).split()).replace(" ,", ",")


def _beginning(words: list[str]) -> str:
    """Returns the longest prefix of a command that is in the table."""
    known = [" ".join(words[:count]) for count in (2, 1)]
    if known[0] in ONLY_SHELL:
        return ""
    return next((each for each in known if each in TABLE), "")


def _said(words: list[str]) -> str:
    """Returns the equivalent of a goal, which is not a command: sending it as a message."""
    return SAY if words and (" " in words[0] or words == ["GOAL"]) else ""


def _one(words: list[str]) -> str:
    """Returns the argument of a command, without its options."""
    if "--plan" in words[:-1]:
        return words[words.index("--plan") + 1]
    before = ["", *words]
    named = [
        word
        for word, option in zip(words, before, strict=False)
        if not word.startswith("-") and option not in _VALUED
    ]
    return named[0] if named else ""


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # an apostrophe
        return command.split()


def _last(found: re.Match[str]) -> str:
    """Translates the command at the end of a line; a line that only begins with our name stays."""
    if not found["lead"].strip() and not _beginning(_words(found["rest"])):
        return found[0]
    return found["lead"] + next_on_screen(f"assent {found['rest']}")


def _quoted(found: re.Match[str]) -> str:
    does = screen_command(found[1])
    if does.startswith(SHELL):
        return f"`{does.removeprefix(SHELL)}` in a shell"
    command, comma, key = does.partition(",")
    return f"`{command}`{comma}{key}" if does.startswith("/") else found[0]


def _hinted(line: Line) -> Line:
    if line.style not in _OURS or line.text.startswith(GUTTER) or "assent " not in line.text:
        return line
    return Line(line.style, with_screen_commands(line.text))
