"""The gate: judges every request by the mode, the scope and the name of what it is about."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from assent.core.errors import Refused
from assent.core.plan import Scope
from assent.core.secret_names import why_secret
from assent.core.tool import Action, Decision, Posture, Request, Verdict
from assent.gate.careful import careful
from assent.gate.hosts import host_of, is_near

STRICTNESS = (Verdict.RUN, Verdict.STAGE, Verdict.ASK, Verdict.DENY)
EDITS = {
    "plan": Decision(Verdict.STAGE, "Plan mode stages edits for approval."),
    "ask": Decision(Verdict.ASK, "Ask mode asks before each edit."),
    "auto-edit": Decision(Verdict.RUN),
    "yolo": Decision(Verdict.RUN),
}
FETCHES = {
    "ask": Decision(Verdict.ASK, "Ask mode asks before anything is fetched."),
    "auto-edit": Decision(Verdict.ASK, "Auto-edit mode asks before anything is fetched."),
    "yolo": Decision(Verdict.RUN),
}
NO_STAGING = Decision(
    Verdict.DENY,
    "Staging is off (`plan.staging`): while planning, nothing is written but the plan, with "
    "`write_plan`.",
)

Rule: TypeAlias = Callable[[str, Posture], Decision]


class ModeGate:
    """Implements ports.Gate. It looks at nothing but the request and the posture.

    `reads` returns the files that a command line opens, or raises Refused if it does not only
    read. It comes by the door because its tables are large and few sessions need them at once.
    """

    def __init__(self, reads: Callable[[str], Sequence[str]]) -> None:
        self._reads = reads
        self._rules: dict[Action, Rule] = {
            Action.READ: _read,
            Action.EDIT: _edit,
            Action.SHELL: self._shell,
            Action.FETCH: _fetch,
            Action.PLAN: _plan,
            Action.PRESENT: _present,
        }

    def decide(self, requests: Sequence[Request], posture: Posture) -> Decision:
        """Returns the strictest verdict that any of the requests gets."""
        try:
            found = [self._rules[each.action](each.resource, posture) for each in requests]
            return _strictest(found)
        except Refused as refused:
            return Decision(Verdict.DENY, refused.message, "defaults")
        except Exception as error:  # law 9: a gate that fails says no
            return Decision(Verdict.DENY, f"It could not be judged: {error!r}.", "defaults")

    def _shell(self, text: str, posture: Posture) -> Decision:
        files = [_read(file, posture) for file in self._reads(text)]
        return _strictest([Decision(Verdict.RUN), *files])


def _strictest(decisions: Sequence[Decision]) -> Decision:
    if not decisions:
        return Decision(Verdict.DENY, "It does not say what it touches.", "defaults")
    return max(decisions, key=lambda decision: STRICTNESS.index(decision.verdict))


def _read(path: str, posture: Posture) -> Decision:
    why = _secret(path)
    if not why:
        return Decision(Verdict.RUN)
    return Decision(Verdict.ASK, f"{path} may hold secrets: {why}", "defaults")


def _secret(path: str) -> str:
    return why_secret(path.encode("utf-8", "surrogateescape"))


def _edit(path: str, posture: Posture) -> Decision:
    if posture.mode == "plan":
        return EDITS["plan"] if posture.staging else NO_STAGING
    if not posture.building:
        return _auto_edit(path) if posture.mode == "auto-edit" else EDITS[posture.mode]
    if posture.scope and Scope(posture.scope).covers(path):
        return Decision(Verdict.RUN, "The approved plan's scope covers it.", "scope")
    return Decision(Verdict.ASK, f"{path} is outside the scope of the approved plan.", "scope")


def _auto_edit(path: str) -> Decision:
    """Files that hold secrets, or that other programs obey, are no everyday edits."""
    why = careful(path) or ("it may hold secrets" if _secret(path) else "")
    if not why:
        return EDITS["auto-edit"]
    return Decision(Verdict.ASK, f"Auto-edit mode asks before {path} changes: {why}.")


def _fetch(url: str, posture: Posture) -> Decision:
    host = host_of(url)
    if host in [allowed.lower() for allowed in posture.hosts]:
        return Decision(Verdict.RUN, f"{host} is allowed by `fetch.hosts`.", "user")
    if posture.mode == "plan":
        reason = f"While planning, {host} may not be fetched from: it is not in `fetch.hosts`."
        return Decision(Verdict.DENY, reason)
    if is_near(host):
        reason = f"{host} is this machine or a private network."
        return Decision(Verdict.ASK, reason, "defaults")
    return FETCHES[posture.mode]


def _plan(what: str, posture: Posture) -> Decision:
    return Decision(Verdict.RUN)


def _present(what: str, posture: Posture) -> Decision:
    if posture.mode != "plan":
        return Decision(Verdict.DENY, "Only plan mode has a plan to present.")
    if posture.child:
        return Decision(Verdict.DENY, "Only the session that the person talks to presents a plan.")
    return Decision(Verdict.RUN)
