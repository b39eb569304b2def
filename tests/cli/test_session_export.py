"""Sessions written to files: only where nothing is, and exactly what would be printed."""

import msgspec
import pytest
from tests.cli.harness import World
from tests.cli.scripts import Talker, turn


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
