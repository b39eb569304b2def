"""`@path` at the prompt of the screen: completed, attached, asked about, and shown."""

from collections.abc import Awaitable, Callable

from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.test_question import asked, press
from textual.events import Paste

from assent.core.session.event import AttachedFile, FilesAttached

Act = Callable[[Seat], Awaitable[None]]
SECRET = b"KEY=hunter2\n"


def attached(seat: Seat) -> list[AttachedFile]:
    """Returns what became of each `@` in the shown session."""
    record = seat.app.session_controller.record
    assert record is not None
    events = [one.event for one in seat.app.engine.sessions.events(record)]
    return [file for event in events if isinstance(event, FilesAttached) for file in event.files]


def told(seat: Seat) -> str:
    """Returns all that the model reads in the shown session."""
    record = seat.app.session_controller.record
    assert record is not None
    return str(seat.app.engine.sessions.transcript(record).messages)


def test_f138_a_completed_file_is_attached_and_shown(stage: Stage) -> None:
    stage.put("src/a.py", b"print('a')\n")
    stage.script(turn("It prints."))

    async def act(seat: Seat) -> None:
        await seat.type("see @src/a")
        await seat.shows("▸ src/a.py")
        await seat.press("tab", "enter")
        await seat.shows("It prints.")
        await seat.rest()
        await seat.shows("Attached src/a.py (11 bytes)")
        assert [(file.path, file.text) for file in attached(seat)] == [("src/a.py", "print('a')")]
        assert "attached by the user:\\nprint" in told(seat)

    stage.show(act)


def test_f138_a_definition_is_found_by_its_name_and_attached_alone(stage: Stage) -> None:
    stage.put("src/shop.py", b"OTHER = 1\n\n\nclass Cart:\n    rows = 2\n\n\nLAST = 3\n")
    stage.script(turn("It has rows."))

    async def act(seat: Seat) -> None:
        await seat.type("see @Car")
        await seat.shows("class · src/shop.py:4")
        await seat.until(lambda: seat.app.prompt.completions[0].label == "Cart")
        await seat.press("tab")
        assert seat.app.prompt.text == "see @src/shop.py#Cart "
        await seat.press("enter")
        await seat.shows("It has rows.")
        await seat.rest()
        (file,) = attached(seat)
        assert (file.mention, file.path) == ("src/shop.py#Cart", "src/shop.py")
        assert "rows = 2" in file.text
        assert "OTHER" not in file.text
        assert "LAST" not in file.text

    stage.show(act)


def test_f138_folders_are_completed_and_lines_are_attached_by_number(stage: Stage) -> None:
    stage.put("src/long.txt", b"".join(b"line %d\n" % at for at in range(100)))
    stage.script(turn("Both."))

    async def act(seat: Seat) -> None:
        await seat.type("see @sr")
        await seat.until(lambda: [one.text for one in seat.app.prompt.completions][:1] == ["src/"])
        await seat.press("tab")
        assert seat.app.prompt.text == "see @src/ "
        await seat.type("and @src/long.txt#3-4 and @src/long.txt#nothing")
        await seat.press("enter")
        await seat.shows("Both.")
        await seat.rest()
        folder, lines, none = attached(seat)
        assert (folder.kind, "long.txt" in folder.text) == ("folder", True)
        assert "line 2\nline 3" in lines.text
        assert "line 4" not in lines.text
        assert none.kind in ("refused", "missing")

    stage.show(act)


def test_f138_a_part_of_a_secret_is_asked_about_like_the_whole(stage: Stage) -> None:
    stage.put(".env", SECRET)
    stage.script(turn("Then without it."))

    async def act(seat: Seat) -> None:
        await asked(seat, "read @.env#1-1 now")
        await seat.shows("Allow reading .env")
        await press(seat, "n", "enter")
        await seat.shows("Then without it.")
        await seat.rest()
        assert "hunter2" not in told(seat)

    stage.show(act)


def test_f138_an_image_whose_path_is_pasted_is_attached(stage: Stage) -> None:
    stage.put("my shot.png", b"\x89PNG\r\n\x1a\nand what is in it")
    stage.put("no.png", b"only text\n")
    stage.script(turn("I see."))

    async def act(seat: Seat) -> None:
        await seat.type("see ")
        seat.app.post_message(Paste(f"'{stage.root}/my shot.png'"))
        await seat.until(lambda: seat.app.prompt.text == f'see @"{stage.root}/my shot.png" ')
        seat.app.post_message(Paste(f"{stage.root}/no.png"))
        await seat.until(lambda: "no.png" in seat.app.prompt.text)
        await seat.press("enter")
        await seat.shows("I see.")
        await seat.rest()
        # What it is, is told by its first bytes and not by its name.
        assert [file.kind for file in attached(seat)] == ["image", "file"]
        assert [len(file.images) for file in attached(seat)] == [1, 0]
        await seat.type("!ls ")
        seat.app.post_message(Paste(f"{stage.root}/no.png"))
        await seat.until(lambda: seat.app.prompt.text == f"!ls {stage.root}/no.png")

    stage.show(act)


def test_f138_a_secret_is_asked_about_and_a_yes_attaches_it(stage: Stage) -> None:
    stage.put(".env", SECRET)
    stage.script(turn("I have it."))

    async def act(seat: Seat) -> None:
        await asked(seat, "read @.env now")
        await seat.shows("Allow reading .env?")
        assert "hunter2" not in seat.text()
        await press(seat, "y", "enter", "ctrl+y")  # Enter takes the yes back
        assert attached(seat) == []
        await press(seat, "y", "ctrl+y")
        await seat.shows("I have it.")
        await seat.rest()
        assert [file.kind for file in attached(seat)] == ["file"]

    stage.show(act)


def test_f138_a_no_leaves_it_out_and_the_message_is_answered(stage: Stage) -> None:
    stage.put(".env", SECRET)
    stage.script(turn("Then without it."))

    async def act(seat: Seat) -> None:
        await asked(seat, "read @.env now")
        await press(seat, "n", "enter")
        await seat.shows("Then without it.")
        await seat.rest()
        await seat.shows("@.env was not attached")
        assert [file.kind for file in attached(seat)] == ["refused"]
        assert "hunter2" not in told(seat)

    stage.show(act)


def test_f138_a_file_that_is_not_there_is_text_with_a_note(stage: Stage) -> None:
    stage.script(turn("Who?"))

    async def act(seat: Seat) -> None:
        await seat.say("ask @bob")
        await seat.shows("Not a file here, sent as text: @bob")
        assert "attached" not in told(seat)

    stage.show(act)


def test_f138_what_is_hidden_in_a_long_paste_attaches_nothing(stage: Stage) -> None:
    stage.put("a.py", b"print('a')\n")
    stage.script(turn("Fine."))

    async def act(seat: Seat) -> None:
        await seat.type("what is this? ")
        await seat.pilot.pause()
        editor = seat.app.prompt._editor
        await editor.on_paste(Paste("see @a.py\n" * 30))
        await seat.shows("[pasted:")
        await seat.press("enter")
        await seat.shows("Fine.")
        await seat.rest()
        assert "see @a.py" in told(seat)
        assert attached(seat) == []

    stage.show(act)


def test_f138_in_arguments_of_a_custom_command_only_what_was_typed_attaches(stage: Stage) -> None:
    own = stage.config.parent / "commands" / "look.md"
    own.parent.mkdir()
    own.write_text("Look at this: $ARGUMENTS", encoding="utf-8")
    stage.put("a.py", b"print('a')\n")
    stage.put("b.py", b"print('b')\n")
    stage.script(turn("Fine."))

    async def act(seat: Seat) -> None:
        await seat.until(lambda: seat.app.own_commands != ())
        await seat.type("/look at @b.py and ")
        await seat.pilot.pause()
        editor = seat.app.prompt._editor
        await editor.on_paste(Paste("see @a.py\n" * 30))
        await seat.shows("[pasted:")
        await seat.press("enter")
        await seat.shows("Fine.")
        await seat.rest()
        assert "Look at this: at @b.py and see @a.py" in told(seat)
        assert [file.path for file in attached(seat)] == ["b.py"]

    stage.show(act)
