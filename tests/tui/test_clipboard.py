"""Ctrl+V at the prompt: an image from the clipboard goes with the message."""

from pathlib import Path

from tests.cli.scripts import turn
from tests.llm.server import Turn, serving
from tests.llm.wire_responses import Reply
from tests.support.clipboards import JPEG, PNG, Clipboard
from tests.tui.harness import Seat, Stage
from tests.tui.test_attachments import attached
from tests.tui.test_queued_messages import YOLO, gated, waiting, working

from assent.core.llm import MAX_IMAGE_BYTES, ImagePart
from assent.sandbox.clipboard import ATTACH_A_FILE, NO_IMAGE, NO_PROGRAM, NOT_AN_IMAGE, TOO_LARGE
from assent.tui.host import StartOptions
from assent.tui.prompt.input import IMAGE_NOTE, NO_SHELL_IMAGE, TOO_MANY_IMAGES


def clipboard(stage: Stage, folder: Path, **more: float) -> Clipboard:
    """Installs a program that reads the clipboard of this stage."""
    program = Clipboard(folder / "desktop", **more)
    stage.env["PATH"] = f"{program.bin}:{stage.env['PATH']}"
    return program


def images(seat: Seat) -> list[ImagePart]:
    """Returns the images that the model is sent in the shown session."""
    record = seat.app.session_controller.record
    assert record is not None
    messages = seat.app.engine.sessions.transcript(record).messages
    return [part for each in messages for part in each.parts if isinstance(part, ImagePart)]


def test_an_image_in_the_clipboard_goes_with_the_message(stage: Stage, tmp_path: Path) -> None:
    clipboard(stage, tmp_path).put(image_png=PNG)
    stage.script(turn("I see."))

    async def act(seat: Seat) -> None:
        await seat.type("what is")
        await seat.press("ctrl+v")
        await seat.until(lambda: seat.app.prompt.text == "what is [image 1] ")
        await seat.shows(f"{IMAGE_NOTE}: [image 1] PNG, 1 KiB")
        await seat.type("here")
        await seat.press("enter")
        await seat.shows("I see.")
        await seat.rest()
        await seat.shows("Attached [image 1]")
        assert images(seat) == [ImagePart("image/png", PNG)]
        assert [(one.mention, one.kind, one.size) for one in attached(seat)] == [
            ("[image 1]", "image", len(PNG))
        ]
        assert IMAGE_NOTE not in seat.text()

    stage.show(act)


def test_backspace_removes_an_image_as_a_whole(stage: Stage, tmp_path: Path) -> None:
    clipboard(stage, tmp_path).put(image_png=PNG)
    stage.script(turn("Nothing to see."))

    async def act(seat: Seat) -> None:
        await seat.press("ctrl+v")
        await seat.until(lambda: seat.app.prompt.text == "[image 1] ")
        await seat.press("backspace", "tab")  # which expands pastes, and no image
        assert seat.app.prompt.text == "[image 1]"
        await seat.press("backspace")
        assert seat.app.prompt.text == ""
        await seat.type("hello")
        await seat.press("enter")
        await seat.shows("Nothing to see.")
        await seat.rest()
        assert images(seat) == []

    stage.show(act)


def test_what_cannot_be_attached_is_told_and_the_prompt_stays(stage: Stage, tmp_path: Path) -> None:
    program = clipboard(stage, tmp_path)
    stage.script(turn("Unused."))

    async def refused(seat: Seat, words: str) -> None:
        await seat.press("ctrl+v")
        await seat.shows(words)
        assert seat.app.prompt.text == "look"

    async def act(seat: Seat) -> None:
        await seat.type("look")
        program.put()
        await refused(seat, NO_IMAGE)
        program.put(image_png=b"text")
        await refused(seat, NOT_AN_IMAGE)
        program.put(image_png=PNG + bytes(MAX_IMAGE_BYTES))
        await refused(seat, TOO_LARGE)
        (program.bin / "wl-paste").unlink()
        seat.app.host.environment["PATH"] = str(program.bin)
        await refused(seat, NO_PROGRAM)
        await refused(seat, f"next: {ATTACH_A_FILE}")

    stage.show(act, size=(220, 50))


def test_a_shell_line_takes_no_image_and_a_message_not_without_end(
    stage: Stage, tmp_path: Path
) -> None:
    program = clipboard(stage, tmp_path)
    program.put(image_png=PNG + bytes(MAX_IMAGE_BYTES - len(PNG)))
    stage.script(turn("Unused."))

    async def act(seat: Seat) -> None:
        await seat.type("!ls ")
        await seat.press("ctrl+v")
        await seat.shows(NO_SHELL_IMAGE)
        assert seat.app.prompt.text == "!ls "
        await seat.press("ctrl+c", "ctrl+v", "ctrl+v")
        await seat.until(lambda: seat.app.prompt.text == "[image 1] [image 2] ")
        await seat.press("ctrl+v")
        await seat.shows(TOO_MANY_IMAGES)
        assert seat.app.prompt.text == "[image 1] [image 2] "

    stage.show(act, size=(220, 50))


def test_the_screen_takes_keys_while_the_clipboard_is_read(stage: Stage, tmp_path: Path) -> None:
    clipboard(stage, tmp_path, delay=600)

    async def act(seat: Seat) -> None:
        await seat.press("ctrl+v")
        await seat.shows("Reading the clipboard")
        await seat.type("still here")
        assert seat.app.prompt.text == "still here"
        await seat.shows("wl-paste did not answer in time")
        assert seat.app.prompt.text == "still here"

    stage.show(act)


def test_what_was_cut_is_inserted_until_the_message_is_sent(stage: Stage, tmp_path: Path) -> None:
    clipboard(stage, tmp_path).put(image_jpeg=JPEG)
    stage.script(turn("Fine."))

    async def act(seat: Seat) -> None:
        await seat.type("these words")
        await seat.press("ctrl+x")
        assert seat.app.prompt.text == ""
        await seat.press("ctrl+v")
        assert seat.app.prompt.text.strip() == "these words"
        await seat.press("enter")
        await seat.shows("Fine.")
        await seat.rest()
        await seat.press("ctrl+v")
        await seat.until(lambda: seat.app.prompt.text == "[image 1] ")

    stage.show(act)


def test_an_image_waits_with_its_message_and_comes_back_with_it(
    stage: Stage, tmp_path: Path
) -> None:
    stage.config.write_text(YOLO + stage.config.read_text("utf-8"), encoding="utf-8")
    clipboard(stage, tmp_path).put(image_png=PNG)
    gated(stage, turn("Both done."))

    async def act(seat: Seat) -> None:
        await working(seat)
        await seat.press("ctrl+v")
        await seat.until(lambda: seat.app.prompt.text == "[image 1] ")
        await seat.press("enter")
        await seat.until(lambda: waiting(seat) == ["[image 1] "])
        record = seat.app.session_controller.record
        assert record is not None
        (queued,) = seat.app.engine.message_queues.queue(record).waiting
        assert [one.images for one in queued.attached] == [(ImagePart("image/png", PNG),)]
        await seat.press("up")
        await seat.until(lambda: seat.app.prompt.text == "[image 1] ")
        await seat.shows(IMAGE_NOTE)
        assert waiting(seat) == []
        await seat.type("look")
        await seat.press("enter")
        await seat.until(lambda: waiting(seat) == ["[image 1] look"])
        stage.put("go", b"")
        await seat.shows("Both done.")
        await seat.rest()
        assert images(seat) == [ImagePart("image/png", PNG)]

    stage.show(act)


def test_a_model_that_cannot_see_is_offered_no_image(stage: Stage, tmp_path: Path) -> None:
    program = clipboard(stage, tmp_path)
    program.put(image_png=PNG)
    with serving(Turn(Reply("I see nothing."))) as server:
        config = f'[providers.test]\nbase_url = "{server.url}/v1"\n'
        config += '[models."test/blind"]\nimages = false\n'
        stage.config.write_text(stage.config.read_text("utf-8") + config, encoding="utf-8")

        async def act(seat: Seat) -> None:
            await seat.press("ctrl+v")
            await seat.shows("test/blind cannot see images.")
            await seat.shows("next: /model")
            assert seat.app.prompt.text == ""
            assert program.calls == []
            seat.app.say("Look at @shot.png")
            await seat.shows("the message was not sent to it")
            await seat.shows("next: /model")
            await seat.rest()
            assert [one.line for one in server.heard if one.line.startswith("POST")] == []

        stage.put("shot.png", PNG)
        stage.show(act, StartOptions(model="test/blind"), size=(160, 40))
