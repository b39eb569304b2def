"""What turns changed, and what a turn that failed says, on the screen."""

from tests.cli.scripts import turn, write
from tests.tui.harness import Seat, Stage

from assent.render.lines import spans_text
from assent.render.review import NONE
from assent.tui.host import StartOptions
from assent.tui.panels.decision import TOO_NARROW
from assent.tui.panels.diff import DiffPanel

RAW = ("diff --git", "--- a/", "+++ b/", "@@ ", "index ")  # of a patch, and of no row


def undone_here(stage: Stage) -> None:
    """Undoes the last change, as another terminal would."""
    digest = stage.ok("undo", "--dry-run")["digest"]
    stage.ok("undo", "--digest", digest)


def test_f149_files_and_lines_of_each_turn_and_the_diff_of_one(stage: Stage) -> None:
    stage.put("a.txt", b"one\n")
    edit = ("edit", {"path": "a.txt", "old": "one", "new": "two"})
    stage.script(turn("", edit, write("b.txt", "b\n")), turn("Done."), turn("Nothing to do."))

    async def act(seat: Seat) -> None:
        await seat.say("Change it")
        await seat.say("Again")
        seat.app.run_slash("/diff turns")
        await seat.shows("1     2      +2 -1  Change it")
        seat.app.run_slash("/diff 1")
        for words in ("Turn 1: 2 files, +2 -1", "1   -one", "  1 +two", "create b.txt, +1 -0"):
            await seat.shows(words)
        assert not [raw for raw in RAW if raw in seat.text()]
        assert len(seat.app.screen_stack) == 1
        for wrong in ("/diff 9", "/diff 99999999999999999999"):
            seat.app.run_slash(wrong)
            await seat.shows("next: /diff turns")
            seat.app.run_slash("/clear")

    stage.show(act, StartOptions(mode="auto-edit"), (100, 50))


def test_without_a_plan_the_edits_of_the_session_are_shown_until_they_are_undone(
    stage: Stage,
) -> None:
    stage.put("a.txt", b"one\nsame\n")
    first = ("edit", {"path": "a.txt", "old": "one", "new": "two"})
    second = ("edit", {"path": "a.txt", "old": "two", "new": "three"})
    stage.script(turn("", first), turn("Done."), turn("", second, write("b.txt", "b\n")), turn("."))

    async def act(seat: Seat) -> None:
        await seat.say("Change it")
        await seat.say("Again")
        stage.ok("plan", "new", "other")
        seat.app.run_slash("/diff")
        await seat.shows("This session: 2 files, +2 -1")
        for words in ("1   -one", "  1 +three", "create b.txt, +1 -0"):
            await seat.shows(words)
        assert not [raw for raw in RAW if raw in seat.text()]
        seat.app.run_slash("/clear")
        undone_here(stage)
        seat.app.run_slash("/diff")
        await seat.shows("This session: 1 file, +1 -1")
        await seat.shows("  1 +two")

    stage.show(act, StartOptions(mode="auto-edit"), (100, 50))


def test_calls_show_what_they_changed_in_the_rows_of_a_review(stage: Stage) -> None:
    stage.put("a.py", b"total = 1 + rest\n")
    edit = ("edit", {"path": "a.py", "old": "1 +", "new": "2 +"})
    content = "".join(f"line {number}\n" for number in range(20))
    stage.script(turn("", edit, write("b.txt", content)), turn("Done."))

    async def act(seat: Seat) -> None:
        if seat.app.session_controller.record is None:
            await seat.say("Change it")
        await seat.shows("✓ edit a.py · +1 -1")
        for words in (
            "1   -total = 1 + rest",
            "  1 +total = 2 + rest",
            "1 +line 0",
            "12 more lines",
        ):
            await seat.shows(words)
        assert not [raw for raw in RAW if raw in seat.text()]
        await seat.press("ctrl+o")
        await seat.shows("20 +line 19")
        assert not [raw for raw in RAW if raw in seat.text()]

    stage.show(act, StartOptions(mode="auto-edit"), (100, 60))
    stage.show(act, StartOptions(going_on=True), (100, 60))


def test_calls_that_stage_show_each_what_they_changed(stage: Stage) -> None:
    stage.put("a.txt", b"one\n")
    first = ("edit", {"path": "a.txt", "old": "one", "new": "two"})
    second = ("edit", {"path": "a.txt", "old": "two", "new": "three"})
    stage.script(turn("", first), turn("", second), turn("Done."))

    async def act(seat: Seat) -> None:
        await seat.say("Change it")
        for words in ("1   -one", "  1 +two", "1   -two", "  1 +three", "· +1 -1 · staged"):
            await seat.shows(words)

    stage.show(act, size=(100, 50))


def test_a_secret_that_is_written_is_masked_below_its_call(stage: Stage) -> None:
    secret = "sk-ant-api03-" + "A1b2C3d4" * 10
    stage.script(turn("", write("b.txt", f"key = {secret}\n")), turn("Done."))

    async def act(seat: Seat) -> None:
        await seat.say("Write it")
        await seat.shows("1 +key = ")
        assert secret[:30] not in seat.text()

    stage.show(act, StartOptions(mode="auto-edit"), (120, 50))


def test_long_edits_of_a_session_are_in_the_panel_of_a_diff(stage: Stage) -> None:
    content = "".join(f"line {number}\n" for number in range(90))
    stage.script(turn("", write("a.py", content)), turn("Done."))

    async def act(seat: Seat) -> None:
        await seat.say("Write it")
        seat.app.run_slash("/diff")
        await seat.opened(DiffPanel)
        await seat.shows("Changes of this session")
        await seat.press("end")
        await seat.shows("90 +line 89")

    stage.show(act, StartOptions(mode="auto-edit"))


def test_what_changed_within_a_line_is_marked_in_the_conversation(stage: Stage) -> None:
    stage.put("a.py", b"total = 1 + rest\n")
    edit = ("edit", {"path": "a.py", "old": "1 +", "new": "2 +"})
    stage.script(turn("", edit), turn("Done."))

    async def act(seat: Seat) -> None:
        await seat.say("Change it")
        seat.app.run_slash("/diff 1")
        await seat.shows("Turn 1: 1 file")
        lines = [line for one in seat.app.conversation.sections for line in one.lines]
        texts = [line for line in lines if line.text.endswith("+total = 2 + rest")]
        (added,) = [line for line in texts if line.spans]  # not the row of the call itself
        assert spans_text(added.spans) == added.text
        assert [span.text for span in added.spans if span.changed] == ["2"]

    stage.show(act, StartOptions(mode="auto-edit"), (100, 50))


def test_the_diff_of_a_plan_is_side_by_side_where_there_is_room(stage: Stage) -> None:
    stage.put("a.py", b"a = 1\nb = 2\n")
    stage.plan("work", "Do the work")
    stage.write("a.py", b"a = 3\nb = 2\n")
    stage.ok("propose")

    def beside(seat: Seat) -> bool:
        return any("a = 1" in line and "a = 3" in line for line in seat.text().split("\n"))

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/diff")
        await seat.opened(DiffPanel)
        await seat.until(lambda: beside(seat))
        assert "d columns" in seat.text()
        assert not [raw for raw in RAW if raw in seat.text()]
        await seat.press("d")
        await seat.until(lambda: not beside(seat))
        assert not seat.app.choices.side_by_side
        await seat.resize(120, 40)
        await seat.press("d")
        await seat.shows(TOO_NARROW)
        await seat.resize(150, 40)
        await seat.press("d")
        await seat.until(lambda: beside(seat))
        await seat.resize(120, 40)
        await seat.until(lambda: not beside(seat))
        assert "d columns" not in seat.text()
        await seat.press("escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)
        seat.app.run_slash("/diff")
        await seat.shows("1. write a.py")
        await seat.shows("+a = 3")
        assert len(seat.app.screen_stack) == 1

    stage.show(act, size=(150, 40))


def test_a_long_diff_is_in_a_panel_and_no_diff_says_so(stage: Stage) -> None:
    stage.plan("work", "Do the work")

    async def act(seat: Seat) -> None:
        seat.app.run_slash("/diff")
        await seat.shows(NONE)
        stage.write("a.py", b"".join(b"line %d\n" % number for number in range(90)))
        seat.app.run_slash("/diff")
        await seat.opened(DiffPanel)
        await seat.shows("Staged changes")
        await seat.press("end")
        await seat.shows("90 +line 89")

    stage.show(act)


def test_a_turn_that_fails_says_so_once_with_the_next_step(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.say("Say hello")
        await seat.say("And more")
        await seat.shows("next: add a turn to the")
        text = " ".join(seat.text().split())
        assert text.count("Turn failed.") == 1, text
        assert text.count("has 1 turn, but turn 2 was requested.") == 1, text
        assert "next: add a turn to the script" in text

    stage.show(act)
