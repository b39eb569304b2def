"""The event stream: nothing is lost or repeated, whoever did it, and a slow reader harms nobody."""

import http.client
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zlib import MAX_WBITS, decompressobj

import msgspec
from tests.cli.harness import World
from tests.cli.scripts import turn
from tests.web.harness import WAIT_S, Client, Served, served
from tests.web.test_sessions import idle, script, start

from assent.core.text.secrets import redaction_text

GZIP = MAX_WBITS + 16  # how zlib is told that a head of gzip comes first


class Stream:
    """An open stream of events."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.last = 0

    def event(self) -> tuple[str, dict[str, Any]]:
        """Returns the next event: its kind and its data."""
        kind = ""
        while True:
            line = self._response.readline()
            assert line, "the stream ended"
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                self.last = int(value)
            elif name == "event":
                kind = value
            elif name == "data":
                return kind, msgspec.json.decode(value)

    def until(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """Returns the events up to one of a kind, with it."""
        found = [self.event()]
        while found[-1][0] != kind:
            found.append(self.event())
        return found


@contextmanager
def stream(client: Client, query: str = "", **headers: str) -> Iterator[Stream]:
    connection = http.client.HTTPConnection(client.address, timeout=WAIT_S)
    connection.request("GET", f"/api/v1/events{query}", headers={**client.headers, **headers})
    try:
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Stream(response)
    finally:
        connection.close()


def test_f92_what_a_model_says_in_pieces_is_masked_as_a_whole(world: World) -> None:
    key = "AKIA" + "Z7Q4X2M9K1B8W3LP"
    script(world, turn(f"Use {key} here.", fault="drip"))
    with served(world) as server:
        browser = server.browser()
        with stream(browser) as heard:
            start(browser)
            events = heard.until("message_finished")
    pieces = [row["body"]["text"] for kind, row in events if kind == "delta"]
    assert "".join(pieces) == f"Use {redaction_text('AWS access key')} here."
    assert key not in repr(events)


def test_a_turn_is_heard_live_and_what_is_recorded_comes_again(world: World) -> None:
    write = ("write", {"path": "a.txt", "content": "x\n"})
    script(world, turn("Hello there", write), turn("It is planned."))
    with served(world) as server:
        browser = server.browser()
        with stream(browser) as heard:
            session = start(browser)["session"]
            events = heard.until("message_finished")
        kinds = [kind for kind, _ in events]
        assert "delta" in kinds
        assert "turn_ended" in kinds
        seen = [row["seq"] for kind, row in events if kind != "delta"]
        assert seen == sorted(set(seen))
        first = seen[0]
        with stream(browser, f"?after={first - 1}") as again:
            recorded = again.until("message_finished")
        assert [row["seq"] for _, row in recorded] == seen
        middle = str(seen[len(seen) // 2])
        with stream(browser, **{"Last-Event-ID": middle}) as resumed:
            rest = resumed.until("message_finished")
        assert [row["seq"] for _, row in rest] == seen[len(seen) // 2 + 1 :]
        slug = browser.get(f"/sessions/{session}")["slug"]
        with stream(browser, f"?after=0&session={session}") as mine:
            own = mine.until("message_finished")
        assert {row["session"] for _, row in own} == {session, slug}
        assert "plan_created" in {kind for kind, _ in own}


def test_what_the_command_line_does_appears(server: Served) -> None:
    viewer = server.token("viewer")
    with stream(viewer) as heard:
        server.world.plan()
        events = heard.until("plan_created")
        server.world.write("a.txt", b"a\n")
        server.world.propose()
        heard.until("plan_proposed")
        workspace = events[-1][1]["workspace"]
    (known,) = viewer.get("/workspaces")["workspaces"]
    assert workspace == known["workspace"]


def test_only_served_workspaces_and_never_who_has_access(server: Served, world: World) -> None:
    other = World(world.base / "other")
    other.env["XDG_STATE_HOME"] = world.env["XDG_STATE_HOME"]
    viewer = server.token("viewer")
    with stream(viewer) as heard:
        other.plan("elsewhere")
        server.token("author", "second")
        server.world.plan("here")
        events = heard.until("plan_created")
    assert all("access" not in kind for kind, _ in events)
    assert events[-1][1]["body"]["name"] == "here"


def test_bad_positions_and_nobody(server: Served) -> None:
    viewer = server.token("viewer")
    assert viewer.get("/events?after=x", 400)["error"] == "usage"
    for bad in ("abc", "-1", "9" * 5000):
        reply = viewer.request("GET", "/api/v1/events", headers={"Last-Event-ID": bad})
        assert reply.status == 400
    for unknown in ("workspace=nope", "session=nope", f"workspace={server.world.root}"):
        assert viewer.get(f"/events?{unknown}", 404)["error"] == "not_found"
    assert server.nobody.get("/events", 401)["error"] == "not_logged_in"


def test_a_reader_who_never_reads_slows_nobody(world: World) -> None:
    script(world, *(turn("word " * 2000) for _ in range(8)))
    with served(world) as server:
        browser = server.browser()
        host, _, port = browser.address.partition(":")
        idle_readers = [socket.create_connection((host, int(port))) for _ in range(20)]
        try:
            head = "".join(f"{name}: {value}\r\n" for name, value in browser.headers.items())
            asked = f"GET /api/v1/events?after=0 HTTP/1.1\r\nHost: {browser.address}\r\n{head}\r\n"
            for each in idle_readers:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                each.sendall(asked.encode())
            session = start(browser)["session"]
            for n in range(7):
                browser.post(f"/sessions/{session}/messages", {"text": f"again {n}"}, 202)
            assert idle(browser, session)["turns"] == 8
        finally:
            for each in idle_readers:
                each.close()


def test_f28_a_stream_tells_when_the_file_of_a_plan_changes(server: Served) -> None:
    """Changed, replaced or removed, by any program."""
    world, browser = server.world, server.browser()
    plan = world.plan()["plan_id"]
    file = world.text()
    with stream(browser, f"?plan={plan}") as one, stream(browser, f"?plan={plan}") as other:
        for each in (one, other):
            kind, row = each.event()
            assert (kind, row["body"]) == ("plan_file", {"plan_id": plan})
        file.write_text("# Changed\n", encoding="utf-8")
        for each in (one, other):
            each.until("plan_file")
        fresh = file.with_name("fresh")
        fresh.write_text("# Replaced\n", encoding="utf-8")
        fresh.replace(file)
        one.until("plan_file")
        file.unlink()
        one.until("plan_file")
    assert browser.get("/events?plan=none", 404)["error"] == "not_found"


def pieces(
    client: Client, version: str, query: str = "", accepted: str = "identity"
) -> Iterator[bytes]:
    """Yields what a stream of events sends, read byte by byte as the version of HTTP frames it."""
    headers = {**client.headers, "Accept-Encoding": accepted}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    asked = f"GET /api/v1/events{query} HTTP/{version}\r\nHost: {client.address}\r\n{head}\r\n"
    host, _, port = client.address.partition(":")
    with socket.create_connection((host, int(port)), WAIT_S) as sock, sock.makefile("rb") as answer:
        sock.sendall(asked.encode())
        told = b"".join(iter(answer.readline, b"\r\n")).lower()
        assert told.startswith(b"http/1.1 200 ")
        assert (b"transfer-encoding: chunked" in told) == (version == "1.1")
        assert (b"content-encoding: gzip" in told) == (accepted == "gzip")
        assert b"vary: accept-encoding" in told
        yield b""
        while version == "1.0":
            yield answer.readline()
        while True:
            size = int(answer.readline(), 16)
            assert size  # the stream goes on
            yield answer.read(size)
            assert answer.read(2) == b"\r\n"


def test_chunks_that_are_sent_at_once_are_framed_as_all_others(world: World) -> None:
    script(world, *(turn("Hello there") for _ in "123"))
    heard: dict[str, bytes] = {}
    with served(world) as server:
        browser = server.browser()
        streams = {version: pieces(browser, version) for version in ("1.0", "1.1")}
        for version, sent in streams.items():
            heard[version] = next(sent)
        for number in (1, 2, 3):
            idle(browser, start(browser)["session"])
            for version, sent in streams.items():
                while heard[version].count(b"event: message_finished\n") < number:
                    heard[version] += next(sent)
        for sent in streams.values():
            sent.close()  # type: ignore[attr-defined]
    recorded = {version: re.findall(rb"id: \d+", sent) for version, sent in heard.items()}
    assert recorded["1.0"] == recorded["1.1"][: len(recorded["1.0"])]
    assert len(recorded["1.0"]) > 20


def test_a_stream_in_gzip_says_the_same_and_may_begin_at_any_time(world: World) -> None:
    script(world, *(turn("Hello there") for _ in "123"))
    with served(world) as server:
        browser = server.browser()
        plain, packed = pieces(browser, "1.1"), pieces(browser, "1.1", accepted="gzip")
        heard = next(plain) + next(packed)
        unpacked, decoder = b"", decompressobj(GZIP)
        for number in (1, 2, 3):
            idle(browser, start(browser)["session"])
            end = b"event: message_finished\n"
            while heard.count(end) < number or not heard.endswith(b"\n\n"):
                heard += next(plain)
            while len(unpacked) < len(heard):  # while the stream is open, all of it can be read
                unpacked += decoder.decompress(next(packed))
        assert rows(unpacked) == rows(heard)
        late, decoder, again = pieces(browser, "1.1", "?after=0", "gzip"), decompressobj(GZIP), b""
        while again.count(end) < 3:
            again += decoder.decompress(next(late))
        assert rows(again)[-len(rows(heard)) :] == rows(heard)


def rows(heard: bytes) -> list[bytes]:
    """Returns the recorded events of a stream; what comes between them depends on the time."""
    return re.findall(rb"id: \d+\nevent: \w+\ndata: .*\n\n", heard)
