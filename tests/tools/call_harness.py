"""A desk: calls go through the real toolbox and gate, and what they wish for joins the draft."""

import os
from pathlib import Path

import msgspec
from tests.tools.read_harness import Place

from assent.core.llm import ToolCall
from assent.core.permission.rule import PermissionPolicy
from assent.core.plan.draft import stage
from assent.core.session.agent import Agent
from assent.core.session.question import PermissionAnswer
from assent.core.shell.process import SandboxState
from assent.core.tool import Decision, EditEffect, PermissionContext, ResourceAccess, ToolOutcome
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.read_only.classifier import files_read_by
from assent.permissions.gate import RuleGate
from assent.tools.dispatcher import ToolCallResult, ToolDispatcher, ToolPermissionRequest
from assent.tools.registry import TOOLS
from assent.tools.tool import ToolContext

PLAN = ".opencode/plans/quiet-owl/quiet-owl.md"
AGENT = Agent("plan")


class Desk:
    """A workspace and a toolbox. `answer` is what the person says: nothing is a yes."""

    def __init__(
        self,
        base: Path,
        posture: PermissionContext | None = None,
        hold: SandboxState = SandboxState.OFF,
    ) -> None:
        self.place = Place(base, hold)
        self.posture = posture or PermissionContext("plan")
        self.toolbox = ToolDispatcher(
            TOOLS, RuleGate(PermissionPolicy(), classify_command_line, files_read_by), suggest=True
        )
        self.agent = AGENT
        self.answer = ""
        self.asked: list[tuple[tuple[ResourceAccess, ...], Decision]] = []
        self.shown: list[EditEffect | None] = []  # what each question showed
        self.seen: dict[str, str] = {}
        self.plan_text = b"# Plan\n"

    @property
    def around(self) -> ToolContext:
        return msgspec.structs.replace(
            self.place.around,
            posture=self.posture,
            plan=PLAN.encode(),
            plan_text=lambda: self.plan_text,
            seen=self.seen,
        )

    def settle(self, tool: str, **args: object) -> ToolCallResult:
        return self.settle_call(ToolCall("c1", tool, dict(args)))

    def settle_call(self, call: ToolCall) -> ToolCallResult:
        prepared = self.toolbox.prepare(call, self.around, self.agent)
        settled = self.toolbox.run_call(prepared, self.around, self._ask)
        effect = settled.outcome.effect
        if isinstance(effect, EditEffect):
            for content in effect.contents.values():
                self.place.blobs.keep([content])
            self.place.operations = list(stage(self.place.operations, effect.operations))
        return settled

    def call(self, tool: str, **args: object) -> ToolOutcome:
        """Settles a call that must work."""
        outcome = self.settle(tool, **args).outcome
        assert not outcome.failed, outcome.text
        return outcome

    def failing(self, tool: str, **args: object) -> str:
        """Settles a call that must not work and leave nothing; returns what the model is told."""
        before = list(self.place.operations)
        outcome = self.settle(tool, **args).outcome
        assert outcome.failed, outcome.text
        assert outcome.effect is None
        assert self.place.operations == before
        return outcome.text

    def content(self, path: str) -> bytes:
        """Returns a file as it is with the draft."""
        return self.place.overlay.content(path.encode())

    def put(self, path: str, content: str | bytes = "") -> Path:
        return self.place.put(path, content)

    def _ask(self, doubt: ToolPermissionRequest) -> PermissionAnswer:
        self.asked.append((doubt.requests, doubt.decision))
        self.shown.append(doubt.edit)
        return PermissionAnswer(yes=not self.answer, why=self.answer)


def on_disk(root: Path) -> dict[str, tuple[bytes, int]]:
    """Returns every file and symlink below a folder, with its content and mode."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            found[str(path.relative_to(root))] = (content, path.lstat().st_mode)
    return found
