"""Undo and redo on the screen: shown first, with a digest of their own, agreed to like a plan."""

from collections.abc import Awaitable, Callable

from tests.cli.scripts import PLANS, turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import LONG, Reader, proposed

from assent.core.plan.record import PlanState
from assent.tui.host import StartOptions
from assent.tui.panels.approval.state import READ_ON
from assent.tui.panels.approval.state import ApprovalStage as At
from assent.tui.panels.undo import ONLY_ONE, RunsPanel, UndoPanel

Act = Callable[[Reader], Awaitable[None]]


def read_by(act: Act) -> Callable[[Seat], Awaitable[None]]:
    async def sit(seat: Seat) -> None:
        await act(Reader(seat))

    return sit


def built(stage: Stage, name: str = "work", **files: bytes) -> str:
    """Builds a plan that writes files, and returns the id of its run."""
    digest = proposed(stage, name, **files)["digest"]
    run: str = stage.ok("approve", "--digest", digest, "--build")["run"]
    return run


async def opened(reader: Reader, panel: UndoPanel) -> None:
    reader.app.open_panel(panel)
    await reader.seat.until(lambda: reader.app.screen is panel)
    await reader.seat.until(lambda: panel.listening)


async def shown(reader: Reader, panel: UndoPanel) -> None:
    await opened(reader, panel)
    await reader.reads()


def there(stage: Stage) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in stage.root.glob("*.txt")}


def test_an_undo_is_shown_with_its_digest_and_applied_after_a_yes(stage: Stage) -> None:
    run = built(stage)
    digest = stage.ok("undo", "--dry-run")["digest"]

    async def act(reader: Reader) -> None:
        await shown(reader, UndoPanel())
        await reader.seat.shows(f"Undo of plan work · {digest[:12]}")
        assert run not in reader.seat.text().split("\n")[1]
        await reader.press("1")
        await reader.seat.shows(READ_ON)
        assert reader.at() is At.READING
        await reader.to_the_end()
        await reader.press("1", "enter")
        assert reader.at() is At.READING
        assert there(stage) == {"short.txt": b"short\n", "long.txt": LONG}
        await reader.press("1")
        await reader.seat.shows(digest)
        await reader.press("y")
        await reader.seat.until(lambda: there(stage) == {})
        await reader.seat.rest()
        assert reader.app.engine.history.undone(run) == "all"

    stage.show(read_by(act))
    assert stage.ok("runs", "list")["runs"][0]["kind"] == "undo"


def test_an_undo_that_leaves_denied_paths_alone_says_so_before_and_after(stage: Stage) -> None:
    built(stage)
    rule = '[permission.edit]\n"long.txt" = "deny"\n'
    stage.config.write_text(stage.config.read_text("utf-8") + rule, encoding="utf-8")

    async def act(reader: Reader) -> None:
        await shown(reader, UndoPanel())
        await reader.seat.shows("skipped: long.txt: A rule from")
        await reader.seat.shows("denied")
        await reader.to_the_end()
        await reader.press("1", "y")
        await reader.seat.until(lambda: there(stage) == {"long.txt": LONG})
        await reader.seat.rest()
        await reader.seat.shows("partly done")

    stage.show(read_by(act))
    row = stage.ok("runs", "list")["runs"][0]
    assert (row["kind"], row["outcome"]) == ("undo", "partial")


def test_f141_a_redo_is_shown_and_applied_like_an_undo(stage: Stage) -> None:
    built(stage)
    stage.ok("undo", "--digest", stage.ok("undo", "--dry-run")["digest"])
    digest = stage.ok("redo", "--dry-run")["digest"]

    async def act(reader: Reader) -> None:
        await shown(reader, UndoPanel(again=True))
        await reader.seat.shows(f"Redo of plan work · {digest[:12]}")
        await reader.seat.shows("1 redo (rest first)")
        await reader.to_the_end()
        await reader.press("1")
        await reader.seat.shows(digest)
        await reader.seat.shows("y redo now")
        await reader.press("y")
        await reader.seat.until(lambda: there(stage) == {"short.txt": b"short\n", "long.txt": LONG})
        await reader.seat.rest()

    stage.show(read_by(act))


def test_one_operation_is_taken_back_and_the_rest_stays(stage: Stage) -> None:
    run = built(stage)

    async def act(reader: Reader) -> None:
        await shown(reader, UndoPanel())
        whole = reader.panel.digest()
        await reader.press("right_square_bracket", "i")
        await reader.seat.until(lambda: reader.panel.digest() != whole)
        await reader.reads()
        await reader.seat.shows(ONLY_ONE)
        await reader.press("w")
        await reader.seat.until(lambda: reader.panel.digest() == whole)
        await reader.reads()
        await reader.press("right_square_bracket", "i")
        await reader.seat.until(lambda: reader.panel.digest() != whole)
        await reader.reads()
        await reader.to_the_end()
        await reader.press("1", "y")
        await reader.seat.until(lambda: len(there(stage)) == 1)
        await reader.seat.rest()
        assert reader.app.engine.history.undone(run) == "some"

    stage.show(read_by(act))


def test_another_run_is_chosen_from_the_list(stage: Stage) -> None:
    built(stage, one=b"one\n")
    built(stage, "more", two=b"two\n")

    async def act(reader: Reader) -> None:
        panel = UndoPanel()
        await shown(reader, panel)
        await reader.seat.shows("Undo of plan more")
        await reader.press("h")
        await reader.seat.until(lambda: isinstance(reader.app.screen, RunsPanel))
        await reader.seat.shows("1 operation")
        await reader.seat.press("down", "enter")
        await reader.seat.until(lambda: reader.app.screen is panel)
        await reader.seat.shows("Undo of plan work")

    stage.show(read_by(act))


def test_files_that_changed_since_are_left_alone_and_said_first(stage: Stage) -> None:
    built(stage)
    (stage.root / "short.txt").write_bytes(b"mine\n")

    async def act(reader: Reader) -> None:
        await shown(reader, UndoPanel())
        await reader.seat.shows("Not undone")
        await reader.seat.shows("skipped: short.txt")
        await reader.to_the_end()
        await reader.press("1", "y")
        await reader.seat.until(lambda: there(stage) == {"short.txt": b"mine\n"})
        await reader.seat.rest()

    stage.show(read_by(act))


def test_what_changes_while_it_is_read_is_shown_anew_and_nothing_is_taken_back(
    stage: Stage,
) -> None:
    built(stage)

    async def act(reader: Reader) -> None:
        await shown(reader, UndoPanel())
        await reader.to_the_end()
        await reader.press("1")
        (stage.root / "short.txt").write_bytes(b"mine\n")
        await reader.press("y")
        await reader.reads()
        await reader.seat.shows("Files changed during review; nothing was applied.")
        assert not reader.panel.standing.read or reader.panel.line_view.reached_end
        assert there(stage) == {"short.txt": b"mine\n", "long.txt": LONG}

    stage.show(read_by(act))


def test_without_a_run_that_is_said_in_the_conversation_and_no_panel_stays(stage: Stage) -> None:
    stage.plan("work")

    async def act(reader: Reader) -> None:
        reader.app.run_slash("/undo")
        await reader.seat.shows("No run to undo.")
        await reader.closed()

    stage.show(read_by(act))


def test_f128_an_undo_on_the_screen_restores_the_todos_that_stood_before_the_run(
    stage: Stage,
) -> None:
    def todo(status: str) -> tuple[str, dict[str, object]]:
        return "todo", {"todos": [{"content": "Greet", "status": status}]}

    first, present = PLANS
    stage.script(
        turn("", todo("pending")), first, present, turn("", todo("completed")), turn("Ok.")
    )

    async def act(reader: Reader) -> None:
        def todos() -> list[str]:
            return [each.status for each in reader.app.engine.sessions.last().todos]

        await reader.seat.say("Greet the world")
        await reader.reads()
        await reader.to_the_end()
        await reader.press("1", "y")
        await reader.seat.until(lambda: reader.record.state is PlanState.COMPLETED)
        await reader.seat.rest()
        await reader.press("escape")
        await reader.seat.say("Well done")
        assert todos() == ["completed"]
        await shown(reader, UndoPanel())
        await reader.to_the_end()
        await reader.press("1", "y")
        await reader.seat.until(lambda: todos() == ["pending"])
        await reader.seat.rest()

    stage.show(read_by(act), StartOptions(mode="plan"))
