"""What the person did stands in the conversation, in their words, with what came of it."""

import pytest
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader

from assent.core.plan.comment import Feedback
from assent.core.plan.operation import DeleteFile, FileState, Operation
from assent.render.lines import Line
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.panel import ConfirmPanel
from assent.tui.panels.run import RunPanel
from assent.tui.panels.session_list import RewindPanel
from assent.tui.panels.undo import UndoPanel
from assent.tui.result_messages import (
    approved_lines,
    feedback_sent_lines,
    operation_names,
    run_ended_lines,
)


def gone(*names: str) -> list[Operation]:
    return [DeleteFile(name.encode(), FileState("0" * 64, 1, 0o644)) for name in names]


def told(seat: Seat) -> list[str]:
    return [line.text for sheet in seat.app.conversation.sections for line in sheet.lines]


def test_a_yes_says_without_what_and_with_which_words() -> None:
    assert approved_lines((), "") == [Line("said", "You approved the plan.")]
    assert approved_lines(gone("a.yml"), "Later\nplease\n") == [
        Line("said", "You approved the plan without delete a.yml, with a note:"),
        Line("said", "  Later"),
        Line("said", "  please"),
    ]


def test_a_no_says_what_should_be_different() -> None:
    assert feedback_sent_lines(Feedback(notes="Smaller"), 2) == [
        Line("said", "You rejected the plan, with 2 comments:"),
        Line("said", "  Smaller"),
    ]
    assert feedback_sent_lines(Feedback(), 1) == [
        Line("said", "You rejected the plan, with 1 comment.")
    ]


def test_a_run_says_what_it_changed_and_what_takes_it_back() -> None:
    assert run_ended_lines("build", "done", gone("a", "b")) == [
        Line("heading", "Build: done."),
        Line("plain", "delete a, delete b."),
        Line("dim", "/undo reverts it."),
    ]
    assert run_ended_lines("build", "nothing", ()) == [Line("heading", "Build: nothing to do.")]
    assert operation_names(gone(*"abcdef")) == "delete a, delete b, delete c, delete d and 2 more"


def test_the_conversation_tells_what_was_typed_approved_and_built(stage: Stage) -> None:
    write = {"tool": "write", "args": {"path": "a.txt", "content": "hello\n"}}
    plan = {"tool": "write_plan", "args": {"text": "# A\n\nGoal.\n"}}
    stage.script(
        {"text": "Planned.", "calls": [write, plan]}, {"calls": [{"tool": "present_plan"}]}
    )

    async def act(seat: Seat) -> None:
        await seat.type("/cost")
        await seat.press("enter")
        await seat.until(lambda: "  /cost" in told(seat))
        await seat.say("Do it")
        await seat.until(lambda: isinstance(seat.app.screen, ApprovalPanel))
        reader = Reader(seat)
        await reader.reads()
        await reader.to_the_end()
        await reader.press("1", "y")
        await seat.until(lambda: isinstance(seat.app.screen, RunPanel))
        await seat.rest()
        lines = told(seat)
        at = lines.index("  You approved the plan.")
        after = [line for line in lines[at + 1 :] if line.strip()]
        assert after[:3] == ["  Build: done.", "  create a.txt.", "  /undo reverts it."]

    stage.show(act)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("", "everything was undone."),
        ("echo x > b.txt", "all recorded changes were undone, except as listed below."),
    ],
    ids=["files", "a command"],
)
def test_only_where_commands_were_involved_it_is_said_that_a_record_is_taken_back(
    stage: Stage, script: str, words: str
) -> None:
    stage.plan()
    stage.write("a.txt", b"a\n")
    if script:
        stage.ok("stage", "run", "--no-sandbox", "--script", script)
    stage.build()

    async def act(seat: Seat) -> None:
        reader = Reader(seat)
        seat.app.open_panel(UndoPanel())
        await seat.opened(UndoPanel)
        await reader.reads()
        await reader.to_the_end()
        await reader.press("1", "y")
        await seat.opened(RunPanel)
        await seat.rest()
        watched = seat.app.run_controller.watched
        assert watched is not None
        assert watched.lines()[0].text == f"Done: {words}"
        assert not list(stage.root.glob("*.txt"))

    stage.show(act)


def test_what_was_withdrawn_is_marked_and_turns_are_counted(stage: Stage) -> None:
    stage.script({"text": "One."}, {"text": "Two."})

    async def act(seat: Seat) -> None:
        await seat.say("First")
        await seat.say("Second")
        seat.app.run_slash("/rewind")
        await seat.opened(RewindPanel)
        await seat.press("enter")
        await seat.opened(ConfirmPanel)
        await seat.press("ctrl+y")
        await seat.shows("Rewound.")
        await seat.rest()
        lines = told(seat)
        assert any(
            "The model no longer sees this message and what followed: Second" in x for x in lines
        )
        assert "> Second" not in lines
        assert "  Rewound." in lines
        assert "  1 turn since then." in lines

    stage.show(act)


def test_words_of_several_lines_are_shown_as_lines(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.add_note("one\ntwo\n")
        assert told(seat)[-2:] == ["  one", "  two"]

    stage.show(act)
