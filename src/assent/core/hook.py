"""Hooks as data: which program runs on which event, and what its exit status means."""

from typing import Final

import msgspec

from assent.core.permission.rule import wildcard_matches
from assent.core.shell.process import ProcessResult

ADDED_BY_HOOK = "Added by a user hook: "  # what a hook says is given to a model behind this


BEFORE_TOOL: Final = "before_tool"
AFTER_TOOL: Final = "after_tool"
PROMPT: Final = "prompt"
RESPONSE: Final = "response"
BEFORE_WRITE: Final = "before_write"
BEFORE_COMPACT: Final = "before_compact"
PLAN_PROPOSED: Final = "plan_proposed"
PLAN_APPROVED: Final = "plan_approved"
RUN_FINISHED: Final = "run_finished"

VERSION: Final = 1  # of the object that a hook reads
EXIT_OBJECTS: Final = 2  # the exit code that denies

# Where a denial counts, where a hook's output reaches the model, and where a failure denies.
_CAN_OBJECT: Final = (BEFORE_TOOL, PROMPT, BEFORE_WRITE, BEFORE_COMPACT)
_CAN_SPEAK: Final = (BEFORE_TOOL, AFTER_TOOL, PROMPT, BEFORE_COMPACT)
_FAILS_CLOSED: Final = {BEFORE_TOOL: "The tool call", BEFORE_WRITE: "The change"}


class Hook(msgspec.Struct, frozen=True):
    """A program that runs on an event; `tool` names tools, with `*`, `?` and `|`."""

    on: str
    run: tuple[str, ...]
    tool: str = "*"
    timeout_s: float = 10
    confined: bool = True

    @property
    def name(self) -> str:
        return self.run[0] if self.run else "(nothing)"

    def matches(self, on: str, tool: str) -> bool:
        """Tells whether this hook is for an event; the tool matters only for tool call events."""
        if on != self.on:
            return False
        if on not in (BEFORE_TOOL, AFTER_TOOL):
            return True
        return any(wildcard_matches(tool, pattern.strip()) for pattern in self.tool.split("|"))


class HookOutput(msgspec.Struct, frozen=True):
    """What one hook returned: an objection, text for the model, or a warning for the user."""

    objection: str = ""
    words: str = ""
    warning: str = ""


def hook_failure(hook: Hook, why: str) -> HookOutput:
    """Returns the output for a hook that failed; before a call or a change it denies (law 9)."""
    told = f"The hook {hook.name} ({hook.on}) {why}"
    if what := _FAILS_CLOSED.get(hook.on):
        return HookOutput(f"{told} {what} was denied because the hook could not check it.")
    return HookOutput(warning=told)


def hook_output(hook: Hook, end: ProcessResult, output: bytes, errors: bytes) -> HookOutput:
    """Returns what the exit status of a hook's program means."""
    if end.cut == "start":
        return hook_failure(hook, "could not be started.")
    if end.cut:
        return hook_failure(hook, f"was stopped: it reached its limit of {end.cut}.")
    try:
        words, reason = output.decode("utf-8").strip(), errors.decode("utf-8").strip()
    except UnicodeDecodeError:
        return hook_failure(hook, "returned output that is not valid UTF-8.")
    if end.code == EXIT_OBJECTS and hook.on in _CAN_OBJECT:
        return HookOutput(
            reason or words or f"The hook {hook.name} denied this and gave no reason."
        )
    if end.code:
        first = f' Error output: "{reason.splitlines()[0][:200]}".' if reason else ""
        return hook_failure(hook, f"exited with code {end.code}.{first}")
    return HookOutput(words=words if hook.on in _CAN_SPEAK else "")
