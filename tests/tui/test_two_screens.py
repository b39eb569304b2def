"""Two terminals on one workspace: what is decided in one is seen in the other at once."""

from collections.abc import Callable

import msgspec
import pytest
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed

from assent.tui.line_view import LineView
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.approval.state import ApprovalStage as At
from assent.tui.panels.feedback import FeedbackPanel
from assent.tui.panels.plan_list import PlanList
from assent.tui.panels.run import RunPanel
from assent.tui.panels.undo import RunsPanel, UndoPanel
from assent.tui.panels.waiting_list import WaitingList
from assent.tui.result_messages import decision_text

Elsewhere = Callable[[Stage, str], None]


def elsewhere(stage: Stage, *line: str) -> None:
    """Does something about the plan in another process."""
    answer = stage.process(*line, "--plan", "work")
    assert answer.code == 0, answer


def approve(stage: Stage, digest: str) -> None:
    elsewhere(stage, "approve", "--digest", digest)


def reject(stage: Stage, digest: str) -> None:
    elsewhere(stage, "reject", "--note", "Not so")


def build(stage: Stage, digest: str) -> None:
    elsewhere(stage, "approve", "--digest", digest, "--build")


def discard(stage: Stage, digest: str) -> None:
    elsewhere(stage, "plan", "delete")


def who(stage: Stage) -> str:
    """Who approves in another terminal of this machine, as the record names them."""
    events = stage.ok("log")["events"]
    return str(next(one for one in events if one["kind"] == "plan_created")["body"]["user"])


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (approve, "plan work was approved by {} (digest); /build work builds it."),
        (reject, "plan work was rejected by {} and is a draft again."),
        (build, "plan work was built, approved by {}"),
        (discard, "plan work was discarded by {}."),
    ],
)
def test_an_open_review_closes_and_says_who_decided(
    stage: Stage, act: Elsewhere, words: str
) -> None:
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        act(stage, digest)
        await seat.until(lambda: not seat.app.is_open(ApprovalPanel))
        await seat.rest()
        told = " ".join(seat.text().split())
        assert f"In another terminal, {words.format(who(stage))}" in told
        if act is build:
            assert f"approved by {who(stage)} (digest)." in told

    stage.show(sit, size=(200, 50))


def test_what_is_decided_before_the_screen_first_looked_closes_the_review_too(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        await Reader(seat).open()
        seat.app.status_poller._stamp = ()  # as it is at the start
        approve(stage, digest)
        await seat.until(lambda: not seat.app.is_open(ApprovalPanel))

    stage.show(sit)


def test_what_is_decided_while_the_review_is_read_closes_it_too(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        panel = reader.panel
        shown = panel.standing
        panel.standing = msgspec.structs.replace(shown, stage=At.LOADING)
        approve(stage, digest)
        stamp = seat.app.engine.stamp()
        await seat.until(lambda: seat.app.status_poller._stamp == stamp)
        await seat.rest()
        assert not panel.is_over
        panel.show(panel.line_view.sections, shown)  # what was read before
        await seat.until(lambda: not seat.app.is_open(ApprovalPanel))

    stage.show(sit)


def test_words_that_are_being_written_are_kept_when_the_plan_is_decided_elsewhere(
    stage: Stage,
) -> None:
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await reader.press("2")
        form = await seat.opened(FeedbackPanel)
        await seat.type("litres")
        approve(stage, digest)
        await seat.until(lambda: reader.app.screen_stack[1].is_over)  # type: ignore[attr-defined]
        assert seat.app.screen is form
        await seat.press("escape")
        await seat.until(lambda: not seat.app.is_open(ApprovalPanel))
        assert seat.app.prompt.text == "litres"

    stage.show(sit)


def test_nothing_closes_because_of_what_this_screen_reads_itself(stage: Stage) -> None:
    proposed(stage)

    async def sit(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        stage.process("plan", "new", "other", "--goal", "Something else")
        stage.process("plan", "use", "work")
        stamp = seat.app.engine.stamp()
        await seat.until(lambda: seat.app.status_poller._stamp == stamp)
        await seat.rest()
        assert isinstance(seat.app.screen, ApprovalPanel)

    stage.show(sit)


def test_status_line_and_side_area_follow_also_after_another_plan_was_chosen(stage: Stage) -> None:
    stage.script({"text": "Well."})
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        await seat.say("Look around")
        record = seat.app.engine.plans.find("work")
        seat.app.plan_chosen(record, None)
        await seat.until(lambda: "in review" in status(seat))
        await seat.until(lambda: "Waiting for approval" in seat.text())
        approve(stage, digest)
        await seat.until(lambda: "approved" in status(seat))
        await seat.until(lambda: "Approved, not built" in seat.text())
        elsewhere(stage, "build")
        await seat.until(lambda: "Built" in seat.text())
        assert "approved" not in status(seat)

    stage.show(sit, size=(200, 50))


def test_a_plan_that_is_chosen_before_anything_was_said_is_followed(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        seat.app.plan_chosen(seat.app.engine.plans.find("work"), None)
        await seat.until(lambda: "Waiting for approval" in seat.text())
        approve(stage, digest)
        await seat.until(lambda: "Approved, not built" in seat.text())
        await seat.until(lambda: "approved" in status(seat))

    stage.show(sit, size=(200, 50))


@pytest.mark.parametrize(("command", "kind"), [("/plans", PlanList), ("/waiting", WaitingList)])
def test_open_lists_follow(stage: Stage, command: str, kind: type[PlanList | WaitingList]) -> None:
    digest = proposed(stage)["digest"]

    async def sit(seat: Seat) -> None:
        seat.app.run_slash(command)
        panel = await seat.opened(kind)
        before = panel._all
        assert before
        approve(stage, digest)
        await seat.until(lambda: panel._all != before)
        elsewhere(stage, "build")
        if kind is WaitingList:
            await seat.until(lambda: not panel._all)
        else:
            await seat.until(lambda: panel._all[0].cells[1] == "Built")

    stage.show(sit)


def test_what_the_screen_says_to_type_builds_the_plan_that_it_is_about(stage: Stage) -> None:
    digest = proposed(stage, four=b"4\n")["digest"]
    stage.plan("two")
    stage.write("two.txt", b"2\n")
    stage.approve()

    async def sit(seat: Seat) -> None:
        await Reader(seat).open(seat.app.engine.plans.find("work").plan_id)
        approve(stage, digest)
        await seat.until(lambda: not seat.app.is_open(ApprovalPanel))
        await seat.shows("/build work builds it")
        seat.app.run_slash("/build work")
        await seat.opened(RunPanel)
        await seat.rest()
        assert stage.files().keys() == {b"four.txt"}

    stage.show(sit, size=(200, 50))


def test_a_yes_on_this_screen_names_the_plan_too(stage: Stage) -> None:
    proposed(stage, four=b"4\n")

    async def sit(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await reader.to_the_end()
        await reader.press("1", "o")
        await reader.closed()
        assert "Plan work approved, not built yet: /build work" in seat.text()

    stage.show(sit, size=(200, 50))


def test_what_is_not_approved_leads_to_its_own_review(stage: Stage) -> None:
    proposed(stage)
    stage.plan("two")

    async def sit(seat: Seat) -> None:
        seat.app.run_slash("/build work")
        await seat.shows("next: /review work")

    stage.show(sit)


def built(stage: Stage, name: str, path: str) -> str:
    stage.plan(name)
    stage.write(path, b"new\n")
    return str(stage.build()["run"])


def undo(stage: Stage, verb: str = "undo") -> str:
    """Undoes in another process; returns the run that did it."""
    wanted = stage.ok(verb, "--dry-run")["digest"]
    answer = stage.process(verb, "--digest", wanted, "--json")
    assert answer.code == 0, answer
    return str(answer.json["run"])


def test_an_open_list_of_runs_follows_and_stays_at_its_run(stage: Stage) -> None:
    first = built(stage, "one", "a")
    proposed(stage, b=b"2\n")

    async def sit(seat: Seat) -> None:
        seat.app.run_slash("/runs")
        panel = await seat.opened(RunsPanel)
        await seat.shows("done")
        assert panel._names == [first]
        approve(stage, stage.ok("status")["plan"]["digest"])
        elsewhere(stage, "build")
        await seat.until(lambda: len(panel._names) == 2)
        paper = panel.query_one(LineView)
        assert paper.position is not None
        assert paper.position.key == first
        undo(stage)
        await seat.shows("done, undone")
        assert len(panel._names) == 3
        assert paper.position.key == first
        await seat.press("enter")
        await seat.until(lambda: isinstance(seat.app.screen, UndoPanel))
        await seat.shows("Undo of plan one")

    stage.show(sit, size=(200, 50))


def test_an_open_undo_closes_and_says_who_undid_it(stage: Stage) -> None:
    run = built(stage, "one", "a")

    async def sit(seat: Seat) -> None:
        seat.app.run_slash("/undo")
        await seat.opened(UndoPanel)
        undo(stage)
        await seat.until(lambda: not seat.app.is_open(UndoPanel))
        await seat.rest()
        told = " ".join(seat.text().split())
        assert f"plan one was undone, approved by {who(stage)}" in told
        assert run not in told
        seat.app.run_slash("/redo")
        await seat.opened(UndoPanel)
        undo(stage, "redo")
        await seat.until(lambda: not seat.app.is_open(UndoPanel))
        await seat.rest()
        assert "plan one was redone, approved by" in " ".join(seat.text().split())

    stage.show(sit, size=(400, 50))


def test_an_undo_that_others_were_faster_with_does_not_speak_of_changed_files(stage: Stage) -> None:
    built(stage, "one", "a")

    async def sit(seat: Seat) -> None:
        seat.app.run_slash("/undo")
        panel = await seat.opened(UndoPanel)
        undo(stage)
        panel._take_back()  # before the screen has looked
        await seat.until(lambda: not seat.app.is_open(UndoPanel))
        await seat.rest()
        told = " ".join(seat.text().split())
        assert "plan one was undone, approved by" in told
        assert "Files changed" not in told
        assert stage.files() == {}

    stage.show(sit, size=(400, 50))


def test_an_undo_stays_open_while_others_do_something_else(stage: Stage) -> None:
    first = built(stage, "one", "a")
    built(stage, "two", "b")

    async def sit(seat: Seat) -> None:
        seat.app.run_slash(f"/undo {first}")
        panel = await seat.opened(UndoPanel)
        undo(stage)
        stamp = seat.app.engine.stamp()
        await seat.until(lambda: seat.app.status_poller._stamp == stamp)
        await seat.rest()
        assert seat.app.screen is panel
        assert not panel.is_over

    stage.show(sit)


def test_an_open_review_of_what_was_built_says_that_it_was_undone(stage: Stage) -> None:
    built(stage, "one", "a")

    async def sit(seat: Seat) -> None:
        reader = Reader(seat)
        for verb, what in (("undo", "undone"), ("redo", "redone")):
            await reader.open()
            undo(stage, verb)
            await seat.until(lambda: not seat.app.is_open(ApprovalPanel))
            await seat.rest()
            told = " ".join(seat.text().split())
            assert f"plan one was {what}, approved by" in told

    stage.show(sit, size=(400, 50))


def test_the_side_area_says_undone_as_the_status_line_does(stage: Stage) -> None:
    built(stage, "one", "a")

    async def sit(seat: Seat) -> None:
        seat.app.plan_chosen(seat.app.engine.plans.find("one"), None)
        await seat.until(lambda: "Built" in seat.text())
        assert "Built, undone" not in seat.text()
        undo(stage)
        await seat.until(lambda: "Built, undone" in seat.text())
        await seat.until(lambda: "undone" in status(seat))

    stage.show(sit, size=(200, 50))


def test_while_nothing_is_recorded_nobody_looks(stage: Stage) -> None:
    proposed(stage)

    async def sit(seat: Seat) -> None:
        await seat.rest()
        lookout = seat.app.status_poller
        await seat.until(lambda: lookout._stamp == seat.app.engine.stamp())
        await seat.rest()
        looked = lookout._looked
        for _ in range(50):
            lookout.watch()
        assert (lookout.looking, lookout._looked) == (False, looked)

    stage.show(sit)


def test_what_decides_nothing_says_nothing(stage: Stage) -> None:
    proposed(stage)
    with stage.here():
        engine = stage.host().engine()
        record = engine.plans.find()
        assert decision_text(record, ()) == ""
        events = [one.event for one in engine.log()]
        assert decision_text(record, events) == ""
        engine.close()


def status(seat: Seat) -> str:
    return seat.text().split("\n")[-1]
