"""Calls on their way: what a tool touches, what the gate says to it, and what came of it."""

from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from assent.core.message import Image
from assent.core.mode import Mode
from assent.core.operation import FileOperation
from assent.core.session_event import Question, Todo


class Action(StrEnum):
    """What a call does with a resource. The gate decides by it; a tool without one is an edit."""

    READ = "read"
    EDIT = "edit"
    SHELL = "shell"
    FETCH = "fetch"
    PLAN = "plan"  # the plan's text, todos, questions, facts: Assent's own, never the files
    PRESENT = "present"


class Request(msgspec.Struct, frozen=True):
    """One action on one resource: a path of the workspace, a command line or a URL."""

    action: Action
    resource: str


class Verdict(StrEnum):
    """What may happen, from the freest to the strictest."""

    RUN = "run"
    STAGE = "stage"
    ASK = "ask"
    DENY = "deny"


class Decision(msgspec.Struct, frozen=True):
    """A verdict with the reason, and the layer that led to it."""

    verdict: Verdict
    reason: str = ""
    layer: str = "mode"  # mode, defaults, agent, user, project, scope


class Posture(msgspec.Struct, frozen=True):
    """Everything that decides besides the request itself."""

    mode: Mode
    hosts: tuple[str, ...] = ()  # that may be fetched from while planning
    building: bool = False  # an approved plan of prose is being built,
    scope: tuple[str, ...] = ()  # which may touch these files without a question, and no others
    child: bool = False
    staging: bool = True  # plan.staging


class Edit(msgspec.Struct, frozen=True):
    """Exact changes to files, and the new contents by digest."""

    operations: tuple[FileOperation, ...]
    contents: dict[str, bytes] = {}


class PlanText(msgspec.Struct, frozen=True):
    """A plan's whole text; without a name that of the session's plan."""

    text: str
    name: str = ""


class TodoList(msgspec.Struct, frozen=True):
    todos: tuple[Todo, ...]


class Questions(msgspec.Struct, frozen=True):
    """What the model wants to know from the person."""

    questions: tuple[Question, ...]


class Present(msgspec.Struct, frozen=True):
    """The wish to freeze the plan and show it to the person; it ends the turn."""


class EnterPlan(msgspec.Struct, frozen=True):
    """The wish to go back to planning; the person is asked."""

    reason: str = ""


class Fact(msgspec.Struct, frozen=True):
    """Something to remember about this workspace in every later session."""

    text: str


Effect: TypeAlias = Edit | PlanText | TodoList | Questions | Present | EnterPlan | Fact


class Outcome(msgspec.Struct, frozen=True):
    """What came of a call, in words for the model, and the effect that it wishes for.

    Nothing has happened yet when a tool returns it: the engine carries effects out (law 1).
    """

    text: str
    title: str = ""
    failed: bool = False
    effect: Effect | None = None
    images: tuple[Image, ...] = ()
    metadata: dict[str, Any] = {}
    rest: bytes = b""  # the whole output where `text` is only its beginning; kept in a file


class Carried(msgspec.Struct, frozen=True):
    """What became of an effect."""

    text: str
    failed: bool = False
    ends: bool = False  # the turn is over with it
    metadata: dict[str, Any] = {}
