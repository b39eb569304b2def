"""Hostile calls in plan mode: every name and alias, with every trick; the disk never changes."""

import itertools
from pathlib import Path

import pytest
from tests.tools.call_harness import PLAN, Desk, on_disk

from assent.core.paths import refuse_own_paths
from assent.core.permission.mode import Mode
from assent.core.plan.operation import footprint
from assent.core.tool import CommandEffect, EditEffect, PermissionContext, Verdict
from assent.tools.aliases import ALIASES, EDITOR_TOOLS, UNSUPPORTED
from assent.tools.dispatcher import ToolCallResult
from assent.tools.registry import TOOLS

NAMES = sorted(
    {*[tool.name for tool in TOOLS], *ALIASES, *UNSUPPORTED, *EDITOR_TOOLS, "mcp__x__write"}
)
PATHS = [
    "a.txt", "../outside.txt", "/etc/passwd", "out/x", "link", "loop", ".git/config",
    ".GIT/hooks/x", "sub/.git/config", "git~1/x", ".g\u200cit/config", ".opencode/assent/log.db",
    ".opencode/assent.toml", ".opencode/plans/quiet-owl/sibling.md", PLAN,
    f"{PLAN}/../../../../a.txt", ".", "", "\0", "a.txt\0.md", "~/.ssh/id_rsa", "$HOME/x", "*",
    ".env", "a" * 5000, "\ud800", "-rf", "a.txt/", "d",
]  # fmt: skip
TEXTS = ["x", "", "x" * 1_100_000, "\0", "\ud800"]
COMMANDS = [
    "rm -rf .", "cat > a.txt", "echo x >> a.txt", "python3 -c 'open(\"a.txt\",\"w\")'",
    "git commit", "git diff --output=a.txt", "sed -i s/a/b/ a.txt", "find . -delete", "ls; touch z",
    "tee a.txt", "cat <(touch z)", "ls & touch z", "ls\ntouch z", "cd .. && rm -r ws",
    "assent approve",
]  # fmt: skip

NEVER = ("rm -rf .", "find . -delete", "assent approve")  # whoever would say yes


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    (tmp_path / "outside.txt").write_bytes(b"outside")
    for path in ("a.txt", ".git/config", "sub/.git/config", ".env", "d/b", PLAN):
        desk.put(path, "secret old\n")
    desk.put(".opencode/plans/quiet-owl/sibling.md", "other\n")
    root = desk.place.root
    (root / "out").symlink_to(tmp_path)
    (root / "link").symlink_to(tmp_path / "outside.txt")
    (root / "loop").symlink_to("loop")
    desk.answer = "no"
    return desk


def arguments(path: str, text: str) -> dict[str, object]:
    """Returns arguments of every family; each tool takes those that it knows."""
    patch = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** Delete File: a.txt\n*** End Patch"
    pieces = [{"old": "old", "new": text, "old_string": "old", "new_string": text}]
    return {
        "path": path, "file_path": path, "content": text, "file_text": text, "old": "old",
        "new": text, "old_string": "old", "new_string": text, "edits": pieces, "patch": patch,
        "input": patch, "to": path, "command": COMMANDS[len(path) % len(COMMANDS)], "cell": "0",
        "source": text, "text": text, "plan": text, "url": "http://localhost/x", "todos": [],
        "questions": [], "fact": text, "pattern": path, "query": path, "name": path,
    }  # fmt: skip


def fitting(name: str, wanted: dict[str, object]) -> dict[str, object]:
    target = ALIASES.get(name, name)
    fields = next((t.args.__struct_encode_fields__ for t in TOOLS if t.name == target), ())
    return {field: wanted[field] for field in fields if field in wanted}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "posture", [PermissionContext("plan"), PermissionContext("plan", staging=False, child=True)]
)
def test_f13_no_call_in_plan_mode_edits_anything_but_the_draft(
    desk: Desk, name: str, posture: PermissionContext
) -> None:
    desk.posture = posture
    before = on_disk(desk.place.root.parent)
    tried: list[dict[str, object]] = []
    for path, text in itertools.product(PATHS, TEXTS):
        wanted = arguments(path, text)
        _check(desk.settle(name, **wanted), posture)
        fits = fitting(name, wanted)
        if fits not in tried:  # a tool that takes neither a path nor a text is called once
            tried.append(fits)
            _check(desk.settle(name, **fits), posture)
        desk.place.operations = []
    assert on_disk(desk.place.root.parent) == before


def _check(settled: ToolCallResult, posture: PermissionContext) -> None:
    """Fails for what was not staged, or an edit that is about something of Assent's or git's."""
    effect = settled.outcome.effect
    if not isinstance(effect, EditEffect | CommandEffect):
        return
    assert posture.staging
    assert settled.decision is not None
    assert settled.decision.verdict is Verdict.STAGE
    if isinstance(effect, CommandEffect):
        return
    for touched, *_ in [step for op in effect.operations for step in footprint(op)]:
        refuse_own_paths(touched, b".opencode/plans")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["shell", "Bash", "exec", "run_terminal_cmd"])
@pytest.mark.parametrize("stage", [True, False])
def test_f13_no_command_that_writes_is_run(
    desk: Desk, name: str, command: str, stage: bool
) -> None:
    """It is staged as it stands if the call says so, and not even then if nobody should run it."""
    settled = desk.settle(name, command=command, stage=stage)
    refused = command in NEVER or not stage
    assert settled.decision is not None
    assert settled.decision.verdict is (Verdict.DENY if refused else Verdict.STAGE)
    assert settled.outcome.failed is refused
    assert settled.outcome.effect == (None if refused else CommandEffect(command))
    advised = "`stage: true`" in settled.outcome.text
    assert advised is (command not in NEVER and not stage)
    assert desk.place.process.ran == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "posture",
    [
        PermissionContext("plan", staging=False),
        PermissionContext("plan", staging=False, child=True),
    ],
)
def test_f13_where_nothing_is_staged_a_command_that_writes_is_refused(
    desk: Desk, posture: PermissionContext, command: str
) -> None:
    desk.posture = posture
    settled = desk.settle("shell", command=command)
    assert settled.outcome.failed
    assert settled.decision is not None
    assert settled.decision.verdict is Verdict.DENY
    assert desk.place.process.ran == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("mode", ["ask", "auto-edit"])
def test_f13_outside_plan_mode_a_command_that_writes_waits_for_a_yes(
    desk: Desk, mode: Mode, command: str
) -> None:
    desk.posture, desk.answer = PermissionContext(mode), "no."
    settled = desk.settle("shell", command=command)
    assert settled.outcome.failed
    assert settled.decision is not None
    assert settled.decision.verdict in (Verdict.ASK, Verdict.DENY)
    desk.answer = ""
    agreed = desk.settle("shell", command=command).outcome
    assert agreed.effect == (None if agreed.failed else CommandEffect(command))
    assert desk.place.process.ran == []  # a tool wishes; the engine runs it


def test_a_draft_is_no_way_around_the_gate_either(desk: Desk) -> None:
    desk.failing("move", path=".env", to="notes.txt")
    desk.failing("read", path=".env")
    desk.failing("edit", path=".env", old="old", new="new")
    assert "secret" not in desk.failing("edit", path=".env", old="nothing like it", new="x")
    desk.failing("patch", patch="--- a/.env\n+++ b/x\n@@ -1 +1 @@\n-secret old\n+secret\n")
    assert desk.place.operations == []
