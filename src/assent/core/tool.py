"""Tool calls: what a call accesses, what the gate decides, its effect and its outcome.

Texts that a model reads lose their advice about tools that it does not have.
"""

import re
from collections.abc import Collection, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from assent.core.llm import ImagePart, ToolCall
from assent.core.permission.mode import CustomMode, Mode, PlanShell
from assent.core.permission.rule import Grant
from assent.core.plan.operation import FileOperation
from assent.core.run.permit import PermitSource
from assent.core.session.agent import Agent
from assent.core.session.event import Question, Todo
from assent.core.session.record import SessionRecord

UNSTAGED = "removed"  # in the metadata of a call: ids of operations that it took out of a draft
MISSING_CAPABILITY = (
    "lacks"  # metadata of a call: what is missing on this machine, so that it was not made
)
MISSING_HELP = "help"  # beside it: the command, or else the sentence, that helps the user


class Action(StrEnum):
    """What a call does with a resource. The gate decides by it; a tool without one is an edit."""

    READ = "read"
    EDIT = "edit"
    SHELL = "shell"
    FETCH = "fetch"
    PLAN = "plan"  # the plan's text, todos, questions, facts: Assent's own, never the files
    PRESENT = "present"
    TASK = "task"  # a child session works on something
    TOOL = "tool"  # a plugin's or server's tool; it may change anything, as its effect is unknown
    OUTSIDE = "outside"  # a folder outside the workspace is looked into
    LOOP = "loop"  # the same thing once more
    SEEK = "seek"  # a tool that searches: what it is asked to find, usually not a path
    SKILL = "skill"  # the text of a skill is loaded


# The names of actions in OpenCode's tables, and so in ours. A tool may have its own name.
PERMISSIONS: dict[Action, str] = {
    Action.READ: "read",
    Action.EDIT: "edit",
    Action.SHELL: "bash",
    Action.FETCH: "webfetch",
    Action.PLAN: "plan",
    Action.PRESENT: "plan_exit",
    Action.TASK: "task",
    Action.TOOL: "tool",
    Action.OUTSIDE: "external_directory",
    Action.LOOP: "doom_loop",
    Action.SEEK: "seek",
    Action.SKILL: "skill",
}


class ResourceAccess(msgspec.Struct, frozen=True):
    """One action on one resource: a path of the workspace, a command line, a URL, a tool.

    `key` is the name that rules use for it, where that is not the action's own. `link` is the name
    by which it was reached through a symlink; rules ignore it. `stage`: the call wants this command
    line to be part of the plan; without it, plan mode stages none. `network`: with the network,
    where it is staged. `keep`: what it changes in a scratch copy is to be staged. `tries`: it runs
    in a rehearsal, so nothing is staged, and is judged as if it was. `deletes`: the edit removes
    the file.
    """

    action: Action
    resource: str
    key: str = ""
    link: str = ""
    stage: bool = False
    network: bool = False
    deletes: bool = False
    keep: bool = False
    tries: bool = False

    @property
    def permission(self) -> str:
        return self.key or PERMISSIONS[self.action]


class Verdict(StrEnum):
    """What may happen, from the freest to the strictest."""

    RUN = "run"
    STAGE = "stage"
    ASK = "ask"
    DENY = "deny"


class Decision(msgspec.Struct, frozen=True):
    """A verdict with the reason, and the layer and rule that led to it."""

    verdict: Verdict
    reason: str = ""
    # mode, defaults, user, project, agent, command line, grant, scope, loop, hook
    layer: str = "mode"
    rule: str = ""  # as text: `bash: git push * = deny`, or a grant's id
    lacks: str = ""  # what is missing on this machine, so that it is denied


VERDICTS_BY_STRICTNESS = (Verdict.RUN, Verdict.STAGE, Verdict.ASK, Verdict.DENY)


def strictest_decision(decisions: Sequence[Decision]) -> Decision:
    """Returns the strictest decision, the first of equals; deny if there is none (law 9)."""
    if not decisions:
        return Decision(Verdict.DENY, "The request does not say what it accesses.", "defaults")
    return max(decisions, key=lambda decision: VERDICTS_BY_STRICTNESS.index(decision.verdict))


class PermissionContext(msgspec.Struct, frozen=True):
    """Everything apart from the request itself that a permission decision depends on."""

    mode: Mode
    hosts: tuple[str, ...] = ()  # that may be fetched from while planning
    building: bool = False  # an approved plan of prose is being built,
    scope: tuple[str, ...] = ()  # which may touch these files without a question, and no others
    child: bool = False
    staging: bool = True  # plan.staging
    # Who asks: the session's agent, then for a child those of its parents; all must agree.
    agents: tuple[Agent, ...] = ()
    custom: tuple[CustomMode, ...] = ()  # the session's own mode and its parents'; all narrow
    auto: bool = False  # what would be asked runs; plan mode, denials and secrets stay as they are
    grants: tuple[Grant, ...] = ()  # remembered answers that count here
    deeper: bool = True  # a child may be started: the limit of depth is not reached
    opened: tuple[str, ...] = ()  # configuration of agents that this one call may change
    shell: PlanShell = "stage"  # plan.shell


class GuardedCall(msgspec.Struct, frozen=True):
    """A call as guards and hooks see it: who makes it, what it touches, what the gate said."""

    session: str
    agent: str
    mode: str
    call: ToolCall
    tool: str
    requests: tuple[ResourceAccess, ...]
    decision: Decision


class EditEffect(msgspec.Struct, frozen=True):
    """Exact changes to files, and the new contents by digest."""

    operations: tuple[FileOperation, ...]
    contents: dict[str, bytes] = {}


class PlanTextEffect(msgspec.Struct, frozen=True):
    """A plan's whole text; without a name that of the session's plan."""

    text: str
    name: str = ""


class TodosEffect(msgspec.Struct, frozen=True):
    todos: tuple[Todo, ...]


class QuestionsEffect(msgspec.Struct, frozen=True):
    """Questions of the model to the user."""

    questions: tuple[Question, ...]


class PresentPlanEffect(msgspec.Struct, frozen=True):
    """Freezes the plan and shows it to the user; it ends the turn."""

    options: tuple[str, ...] = ()  # labels of several plans to choose from
    rehearse: bool = False  # tries it in a scratch copy first, and shows nothing that fails


class OptionsEffect(msgspec.Struct, frozen=True):
    """Lists the plans to choose from; `drop` is the label of a draft to discard."""

    drop: str = ""


class UnstageEffect(msgspec.Struct, frozen=True):
    """Takes operations out of the draft, by their ids."""

    ids: tuple[str, ...]


class DraftEffect(msgspec.Struct, frozen=True):
    """Lists the operations of the draft; with their diffs, for paths that the model may read."""

    diff: bool = False
    paths: frozenset[bytes] = frozenset()


class RehearseEffect(msgspec.Struct, frozen=True):
    """Tries the draft in a scratch copy, where nothing real changes."""

    commands: tuple[str, ...] = ()  # chosen by the model; none: those that verify plans here


class EnterPlanEffect(msgspec.Struct, frozen=True):
    """Switches to plan mode; the user is asked."""

    reason: str = ""


class MemoryEffect(msgspec.Struct, frozen=True):
    """Something to remember about this workspace in every later session."""

    text: str


class CommandEffect(msgspec.Struct, frozen=True):
    """A command line that may change files; confined unless the user allows otherwise."""

    line: str
    folder: bytes = b""  # in the workspace
    seconds: float = 0  # most of them; 0: as many as the settings allow
    subject: str = ""  # what it is for, in the model's words
    network: bool = False  # where it is staged: it needs the network
    at_end: bool = False  # where it is staged: it stays behind what is staged later


class ScratchCommandEffect(msgspec.Struct, frozen=True):
    """A command line for the session's scratch copy, where it changes nothing real.

    `keep` are globs of the changes that are staged; none: nothing is.
    """

    line: str
    folder: bytes = b""  # in the workspace
    seconds: float = 0  # most of them; 0: as many as the settings allow
    keep: tuple[str, ...] = ()


class TaskEffect(msgspec.Struct, frozen=True):
    """Work for a child session: a new one, or an earlier one of the session by its id."""

    prompt: str
    title: str
    agent: str
    session: str = ""  # resume this one
    background: bool = False


Effect: TypeAlias = (
    EditEffect
    | PlanTextEffect
    | TodosEffect
    | QuestionsEffect
    | PresentPlanEffect
    | OptionsEffect
    | UnstageEffect
    | DraftEffect
    | RehearseEffect
    | EnterPlanEffect
    | MemoryEffect
    | CommandEffect
    | ScratchCommandEffect
    | TaskEffect
)


class FileBlock(msgspec.Struct, frozen=True):
    """Lines of a file in the text of a result, which need not be sent if they are already shown."""

    path: str
    first: int
    text: str
    header: str = ""  # the line before them that says which they are

    @property
    def shown(self) -> str:
        """The lines with their header, as they are in the result."""
        return f"{self.header}\n{self.text}" if self.header else self.text


class ToolOutcome(msgspec.Struct, frozen=True):
    """The result of a call, as text for the model, and the effect that it requests.

    Nothing has happened yet when a tool returns it: the engine carries effects out (law 1).
    """

    text: str
    title: str = ""
    failed: bool = False
    effect: Effect | None = None
    images: tuple[ImagePart, ...] = ()
    metadata: dict[str, Any] = {}
    rest: bytes = b""  # the whole output where `text` is only its beginning; kept in the store
    blocks: tuple[FileBlock, ...] = ()  # in the order of `text`


class EffectResult(msgspec.Struct, frozen=True):
    """The result of an effect."""

    text: str
    failed: bool = False
    ends: bool = False  # the turn is over with it
    metadata: dict[str, Any] = {}


class SessionCommandRequest(msgspec.Struct, frozen=True):
    """A command of a call, with the permission that covers it."""

    session: SessionRecord
    call: str
    command: CommandEffect
    source: PermitSource
    detail: str
    confined: bool = True
    seconds: float = 120  # the user's limit; the call may want less


MAX_TOOL_NAME: Final = 64  # characters of a tool's name, as models' servers allow


def mcp_tool_name(server: str, tool: str) -> str:
    """Returns the name under which a model can call a server's tool."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", f"{server}_{tool}")[:MAX_TOOL_NAME]


# As plugins know them from before `assent.plugins`.
Edit, Outcome, Request = EditEffect, ToolOutcome, ResourceAccess


# Removes advice about tools that a model does not have from texts that it reads.


# Every tool of Assent's own, offered or not.
TOOL_NAMES: Final = (
    "read", "list", "glob", "grep", "search", "git", "shell", "fetch", "write", "edit",
    "patch", "delete", "move", "notebook_edit", "write_plan", "todo", "question",
    "remember", "task", "present_plan", "options", "unstage", "draft", "rehearse", "enter_plan",
    "more_tools",
)  # fmt: skip
_TEXTS: Final = 64  # that are remembered without the tools they name
_MARKER: Final = r"\s*(?:\d+\.|[-*])\s+|\s*"  # of an item in a list
_SENTENCE: Final = r"(?<=[.!?])\s+"
_TURNS: Final = r"[:;] | \("  # where the reason ends and the advice begins


def missing_tools(offered: Collection[str]) -> frozenset[str]:
    """Returns Assent's own tools that are not among these."""
    return frozenset(TOOL_NAMES) - frozenset(offered)


def mentions_tool(text: str, tools: Collection[str]) -> bool:
    """Tells whether a text names one of some tools: in backticks, or by a name of two words."""
    return bool(tools) and _mention(frozenset(tools)).search(text) is not None


def without_missing_tools(text: str, absent: Collection[str]) -> str:
    """Returns one of Assent's texts without advice about tools that are not offered.

    In a list only their names are removed; otherwise the advice is removed and its reason stays.
    """
    return _without_tools(text, frozenset(absent))


@lru_cache(_TEXTS)  # the same few at every step
def _without_tools(text: str, absent: frozenset[str]) -> str:
    if not mentions_tool(text, absent):
        return text
    lines = [_fitting(line, absent) for line in text.split("\n")]
    return "\n".join(line for line in lines if line is not None)


def _fitting(line: str, absent: frozenset[str]) -> str | None:
    """Returns a line without its advice; None if there was nothing else in it."""
    if not mentions_tool(line, absent):
        return line
    marker = re.match(_MARKER, line)
    begin = marker[0] if marker else ""
    sentences = [_sentence(each, absent) for each in re.split(_SENTENCE, line[len(begin) :])]
    kept = " ".join(filter(None, sentences))
    return begin + kept if kept else None


def _sentence(sentence: str, absent: frozenset[str]) -> str:
    """Returns a sentence up to where it names such a tool; nothing, if that says nothing."""
    sentence = re.sub(_LISTED, lambda found: _listed(found[0], absent), sentence)
    found = _mention(absent).search(sentence)
    if found is None:
        return sentence
    turns = [turn.start() for turn in re.finditer(_TURNS, sentence[: found.start() + 1])]
    return f"{sentence[: turns[-1]]}." if turns else ""


def _listed(listed: str, absent: frozenset[str]) -> str:
    """Returns an enumeration of tools without those; the same where no other would be left."""
    tools = re.findall(r"`(\w+)`", listed)
    left = [f"`{tool}`" for tool in tools if tool not in absent]
    if not left or len(left) == len(tools):
        return listed
    last = " or " if " or " in listed else " and "
    return last.join(filter(None, [", ".join(left[:-1]), left[-1]]))


_TOOL: Final = f"`(?:{'|'.join(TOOL_NAMES)})`"
_LISTED: Final = rf"{_TOOL}(?:(?:, | and | or ){_TOOL})+"


@cache
def _mention(tools: frozenset[str]) -> re.Pattern[str]:
    quoted = "|".join(sorted(map(re.escape, tools)))
    whole = "|".join(sorted(re.escape(tool) for tool in tools if "_" in tool))
    return re.compile(rf"`(?:{quoted})`" + (rf"|\b(?:{whole})\b" if whole else ""))
