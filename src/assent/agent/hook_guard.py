"""Runs the user's hooks around tool calls, messages, answers and compactions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from assent.agent.services import AgentServices
from assent.core.errors import Refused
from assent.core.hook import (
    ADDED_BY_HOOK,
    AFTER_TOOL,
    BEFORE_COMPACT,
    BEFORE_TOOL,
    PROMPT,
    RESPONSE,
)
from assent.core.llm import TextPart, ToolCall
from assent.core.session.event import MessageAdded, SessionEvent
from assent.core.session.record import SessionRecord
from assent.core.tool import Decision, GuardedCall, ToolOutcome, Verdict
from assent.ports import HookRunner


class HookGuard:
    """Implements ports.CallGuard. Hooks can only deny, or add text; they cannot allow anything."""

    def __init__(self, hooks: HookRunner, warn: Callable[[str], object]) -> None:
        self._hooks = hooks
        self._warn = warn
        self._words: dict[str, str] = {}  # said before a call, by its id

    def before(self, attempt: GuardedCall) -> Decision | None:
        if attempt.decision.verdict is Verdict.DENY:
            return None
        heard = self._hooks.fire(BEFORE_TOOL, _facts(attempt))
        if heard.objection:
            reason = f"Denied by a hook: {_sentence(heard.objection)}"
            return Decision(Verdict.DENY, reason, "hook", f"{BEFORE_TOOL}: {attempt.tool}")
        if heard.words:
            self._words[attempt.call.id] = heard.words
        return None

    def after(self, attempt: GuardedCall, outcome: ToolOutcome) -> ToolOutcome:
        told = {**_facts(attempt), "result": outcome.text, "failed": outcome.failed}
        heard = self._hooks.fire(AFTER_TOOL, told)
        for warning in heard.warnings:
            self._warn(warning)
        before = self._words.pop(attempt.call.id, "")
        words = [hook_message(text) for text in (before, heard.words) if text]
        if not words:
            return outcome
        return msgspec.structs.replace(outcome, text="\n".join([outcome.text, *words]))

    def turn_end_reason(self) -> str:
        return ""  # a hook objects to calls, never to a turn


def hook_message(text: str) -> str:
    """Returns what a hook said, as it is added to the result of a call."""
    return f"[Message from a user hook: {text}]"


def fire_prompt_hooks(
    services: AgentServices, session: str, mode: str, agent: str, text: str
) -> list[SessionEvent]:
    """Runs the hooks for a user's message, and returns the text they add for the model.

    Raises Refused if one objects; then the message is not sent.
    """
    told = {"session": session, "agent": agent, "mode": mode, "prompt": text}
    heard = services.ports.hooks.fire(PROMPT, told)
    services.projections.warnings += heard.warnings
    if heard.objection:
        raise Refused(
            f"A hook blocked this message; it was not sent to the model: {heard.objection}"
        )
    if not heard.words:
        return []
    words = (TextPart(f"{ADDED_BY_HOOK}{heard.words}"),)
    return [MessageAdded(services.ports.clock.new_id(), agent, words, synthetic="hook")]


def fire_response_hooks(
    services: AgentServices,
    record: SessionRecord,
    model: str,
    text: str,
    calls: Sequence[ToolCall],
) -> None:
    """Tells hooks about a model's answer; they can only add warnings."""
    made = [{"call": one.id, "tool": one.tool, "arguments": one.args} for one in calls]
    told = {**_session_fields(record), "model": model, "response": text, "calls": made}
    services.projections.warnings += services.ports.hooks.fire(RESPONSE, told).warnings


def fire_compact_hooks(
    services: AgentServices, record: SessionRecord, size: Mapping[str, int], *, asked: bool
) -> str:
    """Tells hooks about a compaction; returns what they add to the summary's instructions.

    Raises Refused if one objects.
    """
    cause = "user" if asked else "auto"
    told = {**_session_fields(record), **size, "cause": cause}
    heard = services.ports.hooks.fire(BEFORE_COMPACT, told)
    services.projections.warnings += heard.warnings
    if not heard.objection:
        return heard.words
    blocked = f"A hook blocked the compaction of this session: {_sentence(heard.objection)}"
    if not asked:
        services.projections.warnings.append(blocked)
    raise Refused(f"{blocked} Nothing was changed.")


def _session_fields(record: SessionRecord) -> dict[str, Any]:
    return {"session": record.session, "agent": record.agent, "mode": record.mode}


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _facts(attempt: GuardedCall) -> dict[str, Any]:
    """Returns the facts about a call that hooks receive."""
    touched = [
        {"action": str(one.action), "permission": one.permission, "resource": one.resource}
        for one in attempt.requests
    ]
    return {
        "session": attempt.session,
        "agent": attempt.agent,
        "mode": attempt.mode,
        "call": attempt.call.id,
        "tool": attempt.tool,
        "arguments": attempt.call.args,
        "touched": touched,
        "verdict": str(attempt.decision.verdict),
        "reason": attempt.decision.reason,
    }
