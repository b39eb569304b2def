"""What came through a pipe and is not what a command reads: told with a way on."""

import shlex

import pytest
from tests.cli.harness import World

EMPTY, JUNK = b"", b"junk\n"
PLAN, YES = b'{"line":"bundle.1","x":1}\n', b'{"line":"approval.1","x":1}\n'
OTHER = b'{"payloadType":"x","payload":"e30=","signatures":[]}\n'
CONTENTS = {"empty": EMPTY, "junk": JUNK, "plan": PLAN, "yes": YES, "other": OTHER}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("line", ["verify -", "review -", "build -", "approve - --out yes.json"])
def test_bad_content_on_stdin_leads_on(world: World, line: str, content: bytes) -> None:
    error = world.no(7, *line.split(), stdin=content)
    assert error["error"] == "damaged"
    assert not error["message"].startswith("- ")
    program, *words = shlex.split(error["next"])
    assert program == "assent"
    assert words[-1] == "--help" or words == ["build", "FILE", "--approval", "FILE"]
    assert world.run(words[0], "--help").code == 0


def test_evidence_that_was_changed_leads_on_too(world: World) -> None:
    world.plan()
    world.write("a", b"a\n")
    world.build()
    signed = world.run("export").out
    changed = signed.replace(b'"keyid":"', b'"keyid":"0')
    for content in (signed[:-9], changed):
        error = world.no(7, "verify", "-", stdin=content)
        assert error["next"] == "assent verify --help"
    assert world.ok("verify", "-", stdin=signed)["outcome"] == "done"
