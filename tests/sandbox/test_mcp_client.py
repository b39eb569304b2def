"""Servers of tools: real ones that work, and real ones that are dead, slow, or make no sense."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.sandbox.profiles import left_over

from assent.core.errors import AssentError, Refused
from assent.core.mcp import McpResult, McpTool
from assent.core.tool import mcp_tool_name
from assent.sandbox.mcp_client import McpClient, StdioTransport

PROGRAM = str(Path(__file__).with_name("serving.py"))
PICTURE = "[image, image/png, 4 characters; not shown]"

Make = Callable[..., McpClient]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes servers that count in tmp_path, and ends them all."""
    made: list[McpClient] = []

    def one(behaviour: str = "", timeout_s: float = 60, start_s: float = 60) -> McpClient:
        words = (sys.executable, "-I", "-S", PROGRAM, str(tmp_path), behaviour)
        argv = [os.fsencode(word) for word in words]
        start = partial(StdioTransport, argv, {"PATH": os.defpath}, b"/")
        made.append(McpClient("stub", start, timeout_s, start_s=start_s))
        return made[-1]

    yield one
    for server in made:
        server.close()
    assert left_over(str(tmp_path)) == []


def noted(folder: Path, name: str) -> list[str]:
    path = folder / name
    return path.read_text("utf-8").splitlines() if path.exists() else []


def peek(server: McpClient) -> McpTool:
    return server.tools()[0]


def test_nothing_starts_before_it_is_needed(make: Make, tmp_path: Path) -> None:
    server = make()
    assert noted(tmp_path, "starts") == []
    assert [each.name for each in server.tools()] == ["peek", "poke"]
    server.tools()
    assert len(noted(tmp_path, "starts")) == 1
    heard = ["initialize", "notifications/initialized", "tools/list"]
    assert noted(tmp_path, "heard") == heard


def test_a_call_and_its_answer(make: Make, tmp_path: Path) -> None:
    server = make()
    found = server.call(peek(server), {"path": "a"})
    assert found == McpResult(f"peek: a\n{PICTURE}")
    assert server.call(peek(server), {"path": "nowhere"}).failed
    assert noted(tmp_path, "calls") == ["peek a", "peek nowhere"]


def test_a_list_in_pages(make: Make) -> None:
    assert [each.name for each in make("paged").tools()] == ["peek", "poke"]


def test_it_is_answered_and_late_answers_are_passed_over(make: Make, tmp_path: Path) -> None:
    server = make("asks")
    for path in ("a", "b"):
        assert server.call(peek(server), {"path": path}).text == f"peek: {path}\n{PICTURE}"
    assert noted(tmp_path, "heard").count("answer") >= 2


def test_noise_on_stderr_stops_nobody(make: Make) -> None:
    server = make("noisy")
    assert server.call(peek(server), {"path": "a"}) == McpResult(f"peek: a\n{PICTURE}")


def test_a_refusal_is_told_and_the_server_goes_on(make: Make, tmp_path: Path) -> None:
    server = make("fault")
    for _ in range(2):
        with pytest.raises(AssentError) as caught:
            server.call(peek(server), {"path": "a"})
        assert caught.value.message == "MCP server stub returned an error: out of paper (-32000)."
    assert len(noted(tmp_path, "starts")) == 1


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (
            "dead",
            'MCP server stub failed: it exited. Last error output: "no licence today". It was '
            "stopped.",
        ),
        ("silent", "MCP server stub timed out. It was stopped."),
        (
            "garbage",
            "MCP server stub sent an invalid message: JSON is malformed: invalid character (byte "
            "0). It was stopped.",
        ),
        (
            "old",
            "MCP server stub sent an invalid message: it uses the unsupported protocol version "
            "'1999-01-01'. It was stopped.",
        ),
    ],
)
def test_one_that_cannot_even_begin(make: Make, behaviour: str, message: str) -> None:
    with pytest.raises(AssentError) as caught:
        make(behaviour, start_s=0.2 if behaviour == "silent" else 60).tools()
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("dies", 'failed: it exited. Last error output: "it hurts". It was stopped.'),
        ("slow", "timed out. It was stopped."),
        ("flood", "failed: It sent more than 8388608 bytes in one line. It was stopped."),
    ],
)
def test_one_that_fails_in_a_call_is_started_anew(
    make: Make, tmp_path: Path, behaviour: str, message: str
) -> None:
    server = make(behaviour, timeout_s=0.3 if behaviour == "slow" else 60)
    tool = peek(server)
    unknown = "What it did before that is unknown."
    for _ in range(2):
        with pytest.raises(AssentError) as caught:
            server.call(tool, {"path": "a"})
        assert caught.value.message == f"MCP server stub {message} {unknown}"
    assert len(noted(tmp_path, "starts")) == 2
    assert set(noted(tmp_path, "calls")) <= {"peek a"}


def test_a_program_that_is_not_there() -> None:
    server = McpClient("stub", lambda: StdioTransport([b"/no/such"], {}, b"/"), 5)
    with pytest.raises(
        AssentError, match="MCP server stub could not be started: /no/such: No such file"
    ):
        server.tools()


def test_f15_a_tool_that_changed_is_not_called(make: Make, tmp_path: Path) -> None:
    server = make("changing")
    tool = peek(server)
    server.call(tool, {"path": "a"})
    with pytest.raises(Refused) as caught:
        server.call(tool, {"path": "b"})
    now = peek(server)
    assert (now.name, now.digest != tool.digest) == (tool.name, True)
    assert f"its digest is now {now.digest}. Nothing was done." in caught.value.message
    assert noted(tmp_path, "calls") == ["peek a"]


def test_f15_a_digest_names_name_description_and_schema() -> None:
    one = McpTool("a", "b", {"x": 1, "y": 2})
    others = [
        McpTool("A", "b", {"x": 1, "y": 2}),
        McpTool("a", "B", {"x": 1, "y": 2}),
        McpTool("a", "b", {"x": 1, "y": 3}),
    ]
    assert McpTool("a", "b", {"y": 2, "x": 1}).digest == one.digest
    assert one.digest not in [other.digest for other in others]


def test_names_that_models_can_call() -> None:
    assert mcp_tool_name("my server", "do/it.now") == "my_server_do_it_now"
    assert len(mcp_tool_name("s" * 50, "t" * 50)) == 64


def test_a_server_that_asks_on_and_on_and_reads_nothing_is_given_up(tmp_path: Path) -> None:
    """What waits for it is bounded, although it is always busy."""
    flood = (
        'import sys\nline = \'{"jsonrpc": "2.0", "id": "%s", "method": "x"}\' % ("i" * 100000)\n'
        "while True: print(line)"
    )
    words = (sys.executable, "-I", "-S", "-c", flood)
    start = partial(
        StdioTransport, [os.fsencode(word) for word in words], {"PATH": os.defpath}, b"/"
    )
    server = McpClient("stub", start, 60, start_s=60)
    with pytest.raises(AssentError, match="It keeps sending requests but does not read"):
        server.tools()


def test_a_server_that_says_one_line_for_ever_is_given_up() -> None:
    flood = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    words = (sys.executable, "-I", "-S", "-c", flood)
    start = partial(
        StdioTransport, [os.fsencode(word) for word in words], {"PATH": os.defpath}, b"/"
    )
    server = McpClient("stub", start, 60, start_s=60)
    with pytest.raises(AssentError, match="bytes in one line"):
        server.tools()
