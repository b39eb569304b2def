"""Commands of planning sessions in scratch copies: conflicts, joining, cancelling, checks."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest
from tests.cli.harness import World, _environment
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.copies import settle
from tests.support.session import OpenGate, planned, tooling
from tests.support.threads import PATIENCE_S

from assent.agent.effects import EffectDone, EffectRequest, EffectRunner
from assent.agent.scratch_commands import CONFLICT_ADVICE, NOT_KEPT, STILL_RUNS, names_ignored
from assent.agent.services import ToolEnvironment
from assent.app.composition import open_engine
from assent.app.engine import Engine
from assent.app.scratch import open_scratch
from assent.core.llm import StreamDelta, ToolCall
from assent.core.scratch import CHANGED_FILE, DIFFERS, ScratchResult
from assent.core.session.record import SessionRecord
from assent.core.text.secrets import redact
from assent.core.tool import (
    Action,
    Decision,
    PermissionContext,
    ResourceAccess,
    ScratchCommandEffect,
    Verdict,
)
from assent.sandbox.scratch.scratch import LocalScratchCopy

pytestmark = needs_bubblewrap
PLANNING = PermissionContext("plan", shell="rehearse")


class PrivateGate(OpenGate):
    """Implements ports.Gate: one file may be changed and not be read."""

    def decide(self, requests: Sequence[ResourceAccess], posture: PermissionContext) -> Decision:
        if any((one.action, one.resource) == (Action.READ, "private.txt") for one in requests):
            return Decision(Verdict.DENY, "It is private.")
        return super().decide(requests, posture)


class Planning:
    """A session in plan mode, with a real scratch copy."""

    def __init__(self, world: World, engine: Engine) -> None:
        self.world, self.engine = world, engine
        self.record = planned(engine, engine.sessions.start("Try", "plan"))
        copies = open_scratch(str(world.root))
        self.tools: ToolEnvironment = msgspec.structs.replace(
            tooling(),
            plan_shell="rehearse",
            open_copy=lambda name, permissions: copies.open(name),
        )

    def started(
        self, line: str, *keep: str, record: SessionRecord | None = None, **more: Any
    ) -> Iterator[object]:
        effect = ScratchCommandEffect(line, keep=keep, **more)
        decision = Decision(Verdict.STAGE if keep else Verdict.RUN)
        now = record or self.engine.sessions.load(self.record.session)
        call = ToolCall("c1", "shell", {"command": line})
        wish = EffectRequest(now, call, effect, decision, "", planning=True, permissions=PLANNING)
        return EffectRunner(self.engine._services, self.tools).run_effect(wish)

    def run(
        self, line: str, *keep: str, meanwhile: Callable[[], object] = lambda: None, **more: Any
    ) -> EffectDone:
        """Runs a line to its end; `meanwhile` is called at its first output."""
        return finished(self.started(line, *keep, **more), meanwhile)

    def staged(self) -> list[bytes]:
        """The paths in drafts of any plan."""
        plans = self.engine.plans
        return [op.path for plan in plans.all() for op in plans.operations(plan)]  # type: ignore[union-attr]


def finished(work: Iterator[object], meanwhile: Callable[[], object] = lambda: None) -> EffectDone:
    told = False
    while True:
        try:
            part = next(work)
        except StopIteration as end:
            done: EffectDone = end.value
            return done
        if isinstance(part, StreamDelta) and not told:
            told = True
            meanwhile()


@pytest.fixture
def planning(tmp_path: Path) -> Iterator[Planning]:
    world = World(tmp_path)
    world.put("a.txt", b"one\n")
    world.put("b.txt", b"one\n")
    world.put("sub/c.txt", b"one\n")
    settle()
    with _environment(world.env):
        engine, _ = open_engine(str(world.root))
        try:
            yield Planning(world, engine)
        finally:
            engine.close()


def text(done: EffectDone) -> str:
    return done.carried.text


WAITS = "echo begun; sleep 1; echo two > a.txt; echo two > b.txt"


@pytest.mark.parametrize("keep", ["**", "a.txt"])
def test_f14_a_path_that_the_person_changed_while_it_ran_is_a_conflict(
    planning: Planning, keep: str
) -> None:
    done = planning.run(WAITS, keep, meanwhile=lambda: planning.world.put("a.txt", b"mine\n"))
    assert done.carried.failed
    assert NOT_KEPT.format(why=f"conflict: a.txt ({CHANGED_FILE})") in text(done)
    assert "-mine\n+two\n" in text(done)
    assert text(done).endswith(CONFLICT_ADVICE)
    assert planning.staged() == []
    assert (planning.world.root / "a.txt").read_bytes() == b"mine\n"


def test_f14_a_version_that_the_model_may_not_read_is_not_shown(planning: Planning) -> None:
    line = "echo begun; sleep 1; echo theirs > private.txt; echo two > a.txt"

    def both() -> None:
        planning.world.put("private.txt", b"canary\n")
        planning.world.put("a.txt", b"mine\n")

    planning.tools = msgspec.structs.replace(planning.tools, gate=PrivateGate())
    done = planning.run(line, "**", meanwhile=both)
    assert "conflict: a.txt" in text(done)
    assert "-mine\n+two\n" in text(done)
    assert "canary" not in text(done)


def test_f14_secrets_in_the_versions_of_a_conflict_are_masked(planning: Planning) -> None:
    key = "sk-ant-" + "a1B2c3D4" * 5
    mine = f"key={key}\n".encode()
    planning.tools = msgspec.structs.replace(planning.tools, redact=redact)
    done = planning.run(WAITS, "**", meanwhile=lambda: planning.world.put("a.txt", mine))
    assert "-key=" in text(done)
    assert key not in text(done)


def test_f14_a_path_that_is_not_kept_is_no_conflict(planning: Planning) -> None:
    done = planning.run(WAITS, "b.txt", meanwhile=lambda: planning.world.put("a.txt", b"mine\n"))
    assert not done.carried.failed, text(done)
    assert planning.staged() == [b"b.txt"]


class LateChange:
    """Implements ScratchCopy by another: the person saves a file once changes were read."""

    def __init__(self, copy: LocalScratchCopy, save: Callable[[], object]) -> None:
        self._copy, self._save = copy, save

    def __getattr__(self, name: str) -> Any:
        return getattr(self._copy, name)

    def changes(self) -> ScratchResult:
        found = self._copy.changes()
        self._save()
        return found


def test_f14_a_change_after_the_command_is_a_conflict_too(planning: Planning) -> None:
    copies = open_scratch(str(planning.world.root))
    save = partial(planning.world.put, "a.txt", b"mine\n")
    planning.tools = msgspec.structs.replace(
        planning.tools, open_copy=lambda name, _: LateChange(copies.open(name), save)
    )
    done = planning.run("echo two > a.txt", "**")
    assert NOT_KEPT.format(why=f"conflict: a.txt ({DIFFERS})") in text(done)
    assert planning.staged() == []


def test_f14_a_draft_that_changed_meanwhile_is_a_conflict(planning: Planning) -> None:
    planning.run("echo draft > a.txt", "a.txt")
    plan = planning.engine.plans.find()
    stage = planning.engine.drafts.write

    def other() -> None:
        stage(planning.engine.plans.find(plan.plan_id), b"a.txt", [b"other\n"], None)

    done = planning.run("echo begun; cat a.txt; sleep 0.5; echo two > a.txt", "**", meanwhile=other)
    assert "conflict: a.txt" in text(done)
    assert planning.staged() == [b"a.txt"]


def test_f14_a_command_joins_one_that_still_runs_and_keeps_nothing(planning: Planning) -> None:
    first = planning.started("echo begun > left.txt; echo begun; sleep 60")
    record = planning.engine.sessions.load(planning.record.session)
    assert isinstance(next(first), StreamDelta)
    try:
        done = planning.run("cat left.txt; echo two > a.txt", "**", record=record)
    finally:
        first.close()  # type: ignore[attr-defined]
    assert "The draft may be newer." in text(done)
    assert "begun\n" in text(done)
    assert f"Nothing was staged: {STILL_RUNS}." in text(done)
    assert planning.staged() == []
    again = planning.run("ls left.txt; true")
    assert "No such file" in text(again)


def test_f14_two_sessions_never_share_a_copy(planning: Planning) -> None:
    other = planning.engine.sessions.start("Other", "plan")
    first = planning.started("echo begun > left.txt; echo begun; sleep 60")
    assert isinstance(next(first), StreamDelta)
    try:
        done = planning.run("ls left.txt; echo two > a.txt", "a.txt", record=other)
    finally:
        first.close()  # type: ignore[attr-defined]
    assert "No such file" in text(done)
    assert "newer" not in text(done)
    assert planning.staged() == [b"a.txt"]
    names = {info.name for info in open_scratch(str(planning.world.root)).infos()}
    assert names == {planning.record.session, other.session}


@pytest.mark.parametrize("keep", [(), ("**",)])
def test_f113_a_command_ends_once_the_turn_is_cancelled(
    planning: Planning, keep: tuple[str, ...]
) -> None:
    cancelled: list[str] = []
    planning.tools = msgspec.structs.replace(
        planning.tools, cancel_reason=lambda: "".join(cancelled)
    )
    ends: list[EffectDone] = []

    def work() -> None:
        line = "echo begun; sleep 600; echo two > a.txt"
        ends.append(planning.run(line, *keep, meanwhile=lambda: cancelled.append("interrupted")))

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    [done] = ends
    assert done.carried.failed
    assert "It was stopped early: " in text(done)
    assert "nothing real changed" in text(done)
    assert planning.staged() == []
    later = planning.run("true > x")
    assert "nothing was done" in text(later)


def test_f14_the_next_command_sees_what_was_kept(planning: Planning) -> None:
    planning.run("echo two > a.txt", "**")
    done = planning.run("cat a.txt; true > z")
    assert text(done).startswith("two\n")
    assert "with the staged changes" in text(done)


@pytest.mark.parametrize("where", ["..", "/etc", "sub/../.."])
def test_f14_a_command_starts_in_the_workspace(planning: Planning, where: str) -> None:
    done = planning.run("pwd; true > x", folder=where.encode())
    assert done.carried.failed
    assert "the workspace." in text(done)
    assert "scratch" not in done.carried.metadata


def test_f14_outside_plan_mode_and_without_the_setting_nothing_runs_in_a_copy(
    planning: Planning,
) -> None:
    planning.tools = msgspec.structs.replace(planning.tools, plan_shell="stage")
    assert text(planning.run("true > x")) == "Nothing was run: there is no scratch copy here."


@pytest.mark.parametrize(
    ("glob", "named"),
    [
        ("dist/**", True), ("./dist/a", True), ("poetry.lock", True), ("dist", True),
        ("**", False), ("*", False), ("**/dist/**", False), ("*.log", False),
        ("{a,dist}/**", False), ("", False), ("d?st/**", False), ("[d]ist/**", False),
    ],
)  # fmt: skip
def test_f14_a_glob_names_what_is_ignored_if_it_begins_with_a_name(glob: str, named: bool) -> None:
    assert names_ignored(glob) == named
