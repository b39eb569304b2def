"""A model that never stops talking: the turn ends with one error, in little memory."""

import sys
from typing import Any

import msgspec
import pytest
from tests.cli.harness import Answer, World
from tests.cli.scripts import ALONE
from tests.llm.endless_responses import HEAD, KINDS, endless, event
from tests.llm.http_models import NAMES
from tests.llm.server import Server, Turn, serving
from tests.llm.wire_responses import Reply

# The program, and what it held at most; the number of `getrusage` is that of its parent, too.
MEASURED = """
import atexit, sys
where = sys.argv.pop(1)
def tell():
    peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    open(where, "w").write(peak[0].split()[1])
atexit.register(tell)
from assent.cli import main
main()
"""
MB = 1024  # of the kB in which it is told
FORMS = ("text", "json", "stream-json")
LIMITS = """
[answer]
text_mb = 1
reasoning_mb = 1
arguments_mb = 1
calls = 50
events = 20000
"""


def say(
    world: World, server: Server, wire: str, form: str = "text", limits: str = LIMITS
) -> tuple[Answer, int]:
    """Says something to a server that speaks that wire; returns the most memory as well, in kB."""
    base = server.url if wire == "anthropic" else f"{server.url}/v1"
    provider = f'[providers.far]\nbase_url = "{base}"\nwire = "{wire}"\n'
    world.config.write_text(f"{provider}{limits}", encoding="utf-8")
    told = world.base / "peak"
    line = [sys.executable, "-c", MEASURED, str(told), "-p", "--model", "far/m", "Hello"]
    answer = world.start([*line, "--output-format", form], env=ALONE)
    return answer, int(told.read_text("utf-8"))


def rows(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.ok("log", "--json")["events"]
    return found


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How much memory an ordinary answer takes, in kB."""
    world = World(tmp_path_factory.mktemp("usual"))
    with serving(Turn(Reply("Hello there."))) as server:
        answer, peak = say(world, server, "chat")
    assert (answer.code, answer.out) == (0, b"Hello there.\n")
    return peak


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wire", NAMES)
def test_an_endless_answer_ends_the_turn_in_little_memory(
    world: World, usual: int, wire: str, kind: str
) -> None:
    with serving(endless(wire, kind)) as server:
        answer, peak = say(world, server, wire)
        assert len(server.heard) == 1  # nobody asked again
    assert answer.code == 1
    assert b"The response of far/m was cut off: more than" in answer.err
    assert b"Traceback" not in answer.err
    assert peak - usual < 40 * MB  # some copies of a megabyte, and what Python keeps for itself
    ended = [row["body"] for row in rows(world) if row["kind"] == "turn_ended"]
    assert [body["why"] for body in ended] == ["failed"]
    if kind == "text":
        assert answer.out.startswith(b"spam spam")
        assert (1 << 20) - 2000 < len(answer.out) < (1 << 20) + 2000


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("piece", ["ab", "spam " * 2000])
def test_no_form_of_output_keeps_more_than_was_said(
    world: World, usual: int, form: str, piece: str
) -> None:
    """Also where it comes in very small pieces, or in very large ones."""
    with serving(endless("chat", "text", piece)) as server:
        answer, peak = say(world, server, "chat", form)
    assert answer.code == 1
    assert peak - usual < 40 * MB
    if form == "text":
        return
    last = msgspec.json.decode(answer.out.splitlines()[-1])
    result = last["body"] if form == "stream-json" else last
    assert (result["exit"], result["error"], result["why"]) == (1, "answer_too_long", "failed")
    assert result["result"].startswith(piece)


def test_what_was_said_before_the_limit_is_stored_and_calls_have_an_end(world: World) -> None:
    """The next turn can go on from it."""
    said = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
        {"type": "content_block_delta", "index": 0, "delta": {"text": "First. "}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1,
         "content_block": {"type": "tool_use", "id": "c1", "name": "read"}},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"path": "a"}'}},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text"}},
    ]  # fmt: skip
    more = event({"type": "content_block_delta", "index": 2, "delta": {"text": "more " * 100}})
    without_end = Turn(raw=HEAD + b"".join(map(event, said)), forever=more * 50)
    with serving(without_end, Turn(Reply("Here I am again."))) as server:
        answer, _ = say(world, server, "anthropic", limits="[answer]\ntext_mb = 0.05\n")
        assert answer.code == 1
        events = rows(world)
        kinds = [row["kind"] for row in events if row["kind"] in ("part_said", "step_ended",
                 "call_ended", "turn_ended", "step_retried")]  # fmt: skip
        assert kinds == ["part_said"] * 3 + ["step_ended", "call_ended", "turn_ended"]
        again = world.process("-c", "-p", "Go on", env=ALONE)
        assert (again.code, again.out) == (0, b"Here I am again.\n")
        told = server.heard[1].json["messages"]
    assert [message["role"] for message in told][:3] == ["user", "assistant", "user"]
    assert told[1]["content"][0] == {"type": "text", "text": "First. "}
    assert "The call was not run" in str(told[2]["content"])
