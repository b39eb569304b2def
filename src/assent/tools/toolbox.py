"""The toolbox: the one place where calls are settled, whoever makes them and whatever they name."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import msgspec

from assent.core.agent import Agent
from assent.core.errors import AssentError, UsageError
from assent.core.message import Call
from assent.core.model import Offer
from assent.core.operation import footprint
from assent.core.paths import shown
from assent.core.tool import (
    Action,
    Decision,
    Edit,
    Effect,
    Outcome,
    Posture,
    Present,
    Request,
    Verdict,
)
from assent.ports import Gate
from assent.tools.calling.aliases import meant
from assent.tools.calling.arguments import decoded
from assent.tools.calling.schema import offer
from assent.tools.calling.withheld import withheld
from assent.tools.tool import Around, Tool

Ask: TypeAlias = Callable[[Sequence[Request], Decision, Edit | None], str]
SIDE_BY_SIDE = (Action.READ, Action.SHELL, Action.FETCH)


class Settled(msgspec.Struct, frozen=True):
    """A call's outcome, the gate's decision if it got there, and the tool's own name."""

    outcome: Outcome
    decision: Decision | None
    tool: str


class Toolbox:
    """The tools of a session. Nothing runs that was not offered, or that the gate did not pass."""

    def __init__(self, tools: Sequence[Tool], gate: Gate, *, suggest: bool = False) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._gate = gate
        self._suggest = suggest
        self._offered: dict[tuple[str, ...], tuple[Offer, ...]] = {}
        self._asked: tuple[Posture, Agent, tuple[Offer, ...]] | None = None

    def offers(self, posture: Posture, agent: Agent) -> tuple[Offer, ...]:
        """Returns the tools that a model may see; the same ones are the same object."""
        if self._asked is None or self._asked[:2] != (posture, agent):
            absent = self.withheld(posture, agent)
            names = tuple(name for name in self._tools if name not in absent)
            if names not in self._offered:
                self._offered[names] = tuple(offer(self._tools[name]) for name in names)
            self._asked = (posture, agent, self._offered[names])
        return self._asked[2]

    def withheld(self, posture: Posture, agent: Agent) -> dict[str, str]:
        """Returns which tools are not offered, and why."""
        why = {n: self._withheld(tool, posture, agent) for n, tool in self._tools.items()}
        return {name: reason for name, reason in why.items() if reason}

    def name(self, call: Call) -> str:
        """Returns the name of the tool that a call means."""
        try:
            return meant(call, self._tools).tool
        except UsageError:
            return call.tool

    def reads(self, call: Call) -> bool:
        """Tells whether a call only reads, so that others may run at the same time."""
        tool = self._tools.get(self.name(call))
        return tool is not None and tool.action in SIDE_BY_SIDE

    def settle(self, call: Call, around: Around, agent: Agent, ask: Ask) -> Settled:
        """Brings a call to its outcome; only KeyboardInterrupt gets out."""
        try:
            call = meant(call, self._tools)
            tool = self._known(call, around.posture, agent)
            args = decoded(tool, call)
        except Exception as error:
            return Settled(_failed(call.tool, error), None, call.tool)
        shut = msgspec.structs.replace(around, readable=partial(self._readable, around))
        return self._judged(tool, args, shut, ask)

    def _known(self, call: Call, posture: Posture, agent: Agent) -> Tool:
        tool = self._tools.get(call.tool)
        if tool is None:
            names = ", ".join(each.name for each in self.offers(posture, agent))
            raise AssentError(f"There is no tool `{call.tool}`. There are: {names}.")
        if why := self._withheld(tool, posture, agent):
            raise AssentError(f"`{tool.name}` was not offered, so nothing was done. {why}")
        return tool

    def _withheld(self, tool: Tool, posture: Posture, agent: Agent) -> str:
        return withheld(tool, posture, agent, suggest=self._suggest)

    def _readable(self, around: Around, path: bytes) -> bool:
        """Tells whether a tool that goes through many files may open one of them unasked."""
        requests = (Request(Action.READ, shown(path)),)
        decision = self._gate.decide(requests, around.posture)
        return decision.verdict is Verdict.RUN and around.readable(path)

    def _judged(self, tool: Tool, args: msgspec.Struct, around: Around, ask: Ask) -> Settled:
        try:
            requests = tuple(tool.touches(args, around)) or (Request(tool.action, tool.name),)
            decision = self._gate.decide(requests, around.posture)
        except Exception as error:  # law 9: what cannot be judged is not done
            outcome = _failed(tool.name, error)
            return Settled(outcome, Decision(Verdict.DENY, outcome.text), tool.name)
        try:
            outcome = self._ran(tool, args, around, (requests, decision), ask)
        except _Refused as refused:
            outcome = _no(tool.name, refused.why)
        except Exception as error:
            outcome = _failed(tool.name, error)
        return Settled(outcome, decision, tool.name)

    def _ran(
        self,
        tool: Tool,
        args: msgspec.Struct,
        around: Around,
        judged: tuple[Sequence[Request], Decision],
        ask: Ask,
    ) -> Outcome:
        """Runs a call. Nothing happens by that: whether an edit may happen is asked with it."""
        doubts = self._doubts(*judged, around.posture)
        reads = [request for request in doubts if request.action is not Action.EDIT]
        self._ask(reads, around.posture, ask)
        outcome = tool.run(args, around)
        _check_effect(outcome.effect, judged[0])
        if not outcome.failed:
            edit = outcome.effect if isinstance(outcome.effect, Edit) else None
            edits = [request for request in doubts if request.action is Action.EDIT]
            self._ask(edits, around.posture, ask, edit)
        return outcome

    def _doubts(
        self, requests: Sequence[Request], decision: Decision, posture: Posture
    ) -> Sequence[Request]:
        """Returns the requests that a person is asked about; raises where nobody can allow them."""
        if decision.verdict in (Verdict.RUN, Verdict.STAGE):
            return ()
        if decision.verdict is not Verdict.ASK:
            raise _Refused(decision.reason or "The gate said no.")
        found = [r for r in requests if self._gate.decide((r,), posture).verdict is Verdict.ASK]
        return found or requests

    def _ask(
        self, doubts: Sequence[Request], posture: Posture, ask: Ask, edit: Edit | None = None
    ) -> None:
        if doubts and (answer := ask(doubts, self._gate.decide(doubts, posture), edit)):
            raise _Refused(f"The person did not say yes: {answer}")


class _Refused(Exception):
    """The gate or a person said no."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def _check_effect(effect: Effect | None, requests: Sequence[Request]) -> None:
    """Raises unless the gate has seen everything that the effect is about."""
    judged = {(request.action, request.resource) for request in requests}
    if isinstance(effect, Edit):
        paths = [path for op in effect.operations for path, *_ in footprint(op)]
        unseen = [p for p in paths if (Action.EDIT, shown(p)) not in judged]
        if unseen:
            raise AssentError(f"{shown(unseen[0])} was not announced to the gate.")
    elif effect is not None:
        needed = Action.PRESENT if isinstance(effect, Present) else Action.PLAN
        if needed not in {action for action, _ in judged}:
            raise AssentError("Its effect was not announced to the gate.")


def _no(tool: str, reason: str) -> Outcome:
    return Outcome(f"{reason} Nothing was done.", title=tool, failed=True)


def _failed(tool: str, error: Exception) -> Outcome:
    if not isinstance(error, AssentError):
        return _no(tool, f"`{tool}` failed: {type(error).__name__}: {error}.")
    return Outcome(f"{error.message}{_next(error.next)}", title=tool, failed=True)


def _next(step: str) -> str:
    """Says what to do next; a command of Assent's own is the person's to run, not the model's."""
    if step.startswith("assent "):
        return f" The person can run `{step}`."
    return f" Next: {step}" if step else ""
