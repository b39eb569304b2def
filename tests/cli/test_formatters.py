"""F67 from outside: formatters run confined, and their output is what is approved and applied."""

import pytest
from tests.cli.harness import World
from tests.cli.scripts import PRESENT, WRITE_PLAN, Talker, turn, write
from tests.sandbox.profiles import needs_bubblewrap

FORMAT = """
[format]
"*.txt" = ["tr", "a-z", "A-Z"]
"*.bad" = ["false"]
"""


@pytest.fixture
def talker(world: World) -> Talker:
    made = Talker(world)
    world.config.write_text(world.config.read_text("utf-8") + FORMAT, encoding="utf-8")
    return made


@needs_bubblewrap
def test_f67_the_bytes_on_disk_are_the_formatted_ones_that_were_approved(talker: Talker) -> None:
    files = (write("hello.txt", "hello\n"), write("a.bad", "as it is\n"))
    talker.script(turn("", WRITE_PLAN, *files), turn("", PRESENT))
    digest = talker.json("Greet", code=3)["digest"]
    shown = talker.world.ok("diff")["diff"]
    assert "+HELLO" in shown
    assert "+as it is" in shown
    row = talker.world.ok("approve", "--digest", digest, "--build")
    assert row["outcome"] == "done"
    assert (talker.world.root / "hello.txt").read_bytes() == b"HELLO\n"
    assert (talker.world.root / "a.bad").read_bytes() == b"as it is\n"


@needs_bubblewrap
def test_f67_a_permitted_edit_is_formatted_too(talker: Talker) -> None:
    talker.script(turn("", write("hello.txt", "hello\n")), turn("Done."))
    assert talker.say("Greet", "--mode", "auto-edit").code == 0
    assert (talker.world.root / "hello.txt").read_bytes() == b"HELLO\n"


def test_f67_a_project_names_no_formatter(talker: Talker) -> None:
    talker.world.config.write_text("", encoding="utf-8")
    talker.world.put(".opencode/assent.toml", FORMAT.encode())
    talker.script(turn("", write("hello.txt", "hello\n")), turn("Done."))
    answer = talker.say("Greet", "--mode", "auto-edit")
    assert (talker.world.root / "hello.txt").read_bytes() == b"hello\n"
    assert b"format" in answer.err
