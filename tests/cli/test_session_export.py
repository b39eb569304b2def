"""Sessions written to files: only where nothing is, and exactly what would be printed."""

import msgspec
import pytest
from tests.cli.harness import World
from tests.cli.scripts import Talker, turn
from tests.support.clipboards import PNG

from assent.core.session.event import AttachedFile
from assent.render.log import attachment_problems


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_f147_a_session_is_written_to_a_file_that_is_not_there(world: World, form: str) -> None:
    talker = Talker(world)
    talker.script(turn("Hello."))
    talker.say("Say hello")
    printed = world.run("sessions", "export", "--format", form).out
    row = world.ok("sessions", "export", "--format", form, "--out", "told")
    written = (world.root / "told").read_bytes()
    assert row["size"] == len(written)
    if form == "json":
        assert msgspec.json.decode(written) == msgspec.json.decode(printed)
    else:
        assert written == printed
    refused = world.no(7, "sessions", "export", "--format", form, "--out", "told")
    assert "Nothing was written." in refused["message"]
    assert (world.root / "told").read_bytes() == written
    assert "does not exist" in world.no(2, "sessions", "export", "--out", "no/told")["message"]


def test_a_document_names_the_images_of_a_session(world: World) -> None:
    world.put("shot.png", PNG)
    talker = Talker(world)
    talker.script(turn("A cat."))
    talker.say("Look at @shot.png and @notes")
    document = world.run("sessions", "export", "--format", "markdown").out.decode()
    heading, _, attached = document.partition("## Attached\n")[2].partition("~~~~\n")
    assert heading.strip() == ""
    assert attached.partition("\n~~~~")[0].split("\n") == [
        f"shot.png (image/png, {len(PNG)} bytes)",
        *attachment_problems([AttachedFile("notes", "missing")]),
    ]
    shown = world.run("sessions", "show").out.decode()
    assert f"shot.png (image/png, {len(PNG)} bytes)" in shown
    events = world.ok("sessions", "export")["events"]
    [(image, _)] = [each["body"]["files"] for each in events if each["kind"] == "files_attached"]
    assert (image["path"], image["kind"], image["size"]) == ("shot.png", "image", len(PNG))
    assert [each["media_type"] for each in image["images"]] == ["image/png"]
