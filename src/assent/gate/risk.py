"""Risk: how much could go wrong with some requests, low, medium or high, and why (F90)."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, get_args

from assent.core.command_line import CommandLine
from assent.core.session_event import Level
from assent.core.tool import Action, Request
from assent.gate.careful import careful
from assent.gate.hosts import host_of, is_near
from assent.gate.matter import secret

Risk: TypeAlias = tuple[Level, tuple[str, ...]]
Line: TypeAlias = Callable[[str], CommandLine]
Look: TypeAlias = Callable[[Request, Line], Risk]
LEVELS: tuple[Level, ...] = get_args(Level)
LOW: Risk = ("low", ())


def risk(requests: Sequence[Request], line: Line) -> Risk:
    """Returns the highest level of all, and every reason for a level above low, once."""
    return highest([LOOKS[request.action](request, line) for request in requests])


def highest(found: Sequence[Risk]) -> Risk:
    """Returns several risks as one."""
    level, _ = max((LOW, *found), key=lambda one: LEVELS.index(one[0]))
    return level, tuple(dict.fromkeys(why for _, reasons in found for why in reasons))


def _read(request: Request, line: Line) -> Risk:
    if why := secret(request.resource):
        return "high", (f"{request.resource} may hold secrets: {why}",)
    return LOW


def _edit(request: Request, line: Line) -> Risk:
    path = request.resource
    if why := careful(path):
        return "high", (f"{path} changes: {why}.",)
    if secret(path):
        return "high", (f"{path} changes, and it may hold secrets.",)
    return "medium", (f"{path} changes.",)


def _shell(request: Request, line: Line) -> Risk:
    found = line(request.resource)
    if found.danger:
        return "high", (found.danger, *found.reasons)
    twice = {f"It writes {path}." for path in found.writes}  # and that it changes is said below
    reasons = tuple(reason for reason in found.reasons if reason not in twice)
    own: Risk = (found.risk, reasons)
    if not found.certain:
        own = "high", (*reasons, "Not every command in this line could be told apart.")
    reads = [_read(Request(Action.READ, path), line) for path in found.reads or ()]
    writes = [_edit(Request(Action.EDIT, path), line) for path in found.writes]
    return highest([own, *reads, *writes])


def _fetch(request: Request, line: Line) -> Risk:
    host = host_of(request.resource)
    if is_near(host):
        return "high", (f"{host} is this machine or a private network.",)
    return "medium", (f"{host} learns what is asked for.",)


def _tool(request: Request, line: Line) -> Risk:
    return "high", (f"What {request.resource} changes is unknown.",)


def _outside(request: Request, line: Line) -> Risk:
    return "medium", (f"{request.resource} is outside the workspace.",)


def _loop(request: Request, line: Line) -> Risk:
    return "medium", ("The model may be stuck.",)


def _none(request: Request, line: Line) -> Risk:
    return LOW


LOOKS: dict[Action, Look] = {
    Action.READ: _read,
    Action.EDIT: _edit,
    Action.SHELL: _shell,
    Action.FETCH: _fetch,
    Action.PLAN: _none,
    Action.PRESENT: _none,
    Action.TASK: _none,
    Action.TOOL: _tool,
    Action.OUTSIDE: _outside,
    Action.LOOP: _loop,
    Action.SEEK: _none,
}
