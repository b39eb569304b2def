"""Law 8: what cannot be stored is not shown; drafting and undoing go on when the disk does."""

import errno
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from tests.crash.rig import Rig
from tests.crash.stories import BY_NAME, Story

from assent.app.engine import Engine
from assent.core.errors import IllegalState, StoreError
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.testing.call_trace import CallTrigger, fail_with


def _cases(*names: str) -> list[ParameterSet]:
    return [
        pytest.param(BY_NAME[name], code, sticky, id=f"{name}-{errno.errorcode[code]}")
        for name in names
        for code, sticky in ((errno.ENOSPC, False), (errno.EIO, True))
    ]


@pytest.mark.parametrize(("story", "code", "sticky"), _cases("replace", "odd_bytes"))
def test_a_draft_survives_every_failing_call_of_the_contents(
    story: Story, code: int, sticky: bool, quick_path: Path
) -> None:
    rig = Rig(quick_path, Story("nothing", story.start, (), story.start), b"# Later\n")
    for at in count():
        rig.restore(rig.approved)
        drafting = _Drafting(story)
        fired = _failed(rig, drafting.go_on, _fault(at, code, sticky=sticky))
        assert rig.tree() == story.start
        engine = rig.open()
        proposed = drafting.go_on(engine)
        approved = engine.approvals.approve(proposed, proposed.digest, "", "test")
        assert drive_to_end(engine.runs.build(approved.plan_id)).outcome == "done"
        assert rig.tree() == story.finish
        if not fired:
            assert at > 30
            return


@pytest.mark.parametrize(("story", "code", "sticky"), _cases("odd_bytes", "eight_operations"))
def test_an_undo_survives_every_failing_call_of_the_contents(
    story: Story, code: int, sticky: bool, quick_path: Path
) -> None:
    rig = Rig(quick_path, story)
    rig.build()
    built = rig.save()

    def undo(engine: Engine) -> None:
        drive_to_end(engine.undo.apply(engine.undo.preview(), "test"))

    for at in count():
        rig.restore(built)
        fired = _failed(rig, undo, _fault(at, code, sticky=sticky))
        assert rig.tree() in (story.start, story.finish)
        if rig.tree() == story.finish:
            undo(rig.open())
        assert rig.tree() == story.start
        if not fired:
            assert at > 15
            return


class _Drafting:
    """Stages a story step by step and proposes it; after an error the same step comes again."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._done = 0

    def go_on(self, engine: Engine) -> PlanRecord:
        try:
            engine.plans.new("again", "crash", "try it")
        except IllegalState:
            engine.plans.use("crash/again")  # its file was there before the error
        for step in self._story.steps[self._done :]:
            step(engine.drafts, engine.plans.find("crash/again"))
            self._done += 1
        return engine.approvals.propose(engine.plans.find("crash/again"))


def _failed(rig: Rig, work: Callable[[Engine], object], fault: CallTrigger) -> bool:
    """Does the work with a fault in it; tells whether the fault fired."""
    with suppress(StoreError):
        work(rig.open(fault))
    return bool(fault.fired)


def _fault(at: int, code: int, *, sticky: bool) -> CallTrigger:
    return CallTrigger(lambda name: name.startswith("blobs."), at, fail_with(code), sticky=sticky)
