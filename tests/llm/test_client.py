"""Connections are kept, replaced when they died, ended at once when asked, and never doubled."""

import threading
from contextlib import closing

import pytest
from tests.llm.http_models import HELLO, NAMES, client, insecure, model, parts, shown
from tests.llm.server import Server, Turn, serving, whole
from tests.llm.wire_responses import Reply

from assent.core.errors import Interrupted, Unavailable
from assent.core.llm import RequestRetried, RetrySettings, StreamDelta, StreamEvent, TextPart
from assent.llm.errors import RetryingModel
from assent.llm.http_client import HttpClient, HttpRequest, parse_url
from assent.llm.http_response import HttpError
from assent.ports.cancellation import CancelToken

PATIENCE_S = 60


@pytest.mark.parametrize("wire", NAMES)
def test_one_connection_serves_all_steps(wire: str) -> None:
    with serving() as server:
        asked = model(server, wire)
        for _ in range(5):
            assert parts(list(asked.stream(HELLO))) == [TextPart("Hello there.")]
        assert [heard.connection for heard in server.heard] == [1] * 5


def test_a_connection_is_opened_ahead() -> None:
    with serving() as server:
        asked = model(server, "chat")
        asked.connect_early()
        assert parts(list(asked.stream(HELLO))) == [TextPart("Hello there.")]
        assert [heard.connection for heard in server.heard] == [1]


def test_a_connection_that_died_in_between_is_replaced() -> None:
    with serving(Turn(close=True), Turn()) as server:
        asked = model(server, "chat")
        for _ in range(3):
            assert parts(list(asked.stream(HELLO))) == [TextPart("Hello there.")]
        assert [heard.connection for heard in server.heard] == [1, 2, 2]


def test_a_kept_connection_that_dies_at_once_is_tried_once_more() -> None:
    with serving(Turn(), Turn(fault="reset_before"), Turn()) as server:
        asked = model(server, "chat")
        list(asked.stream(HELLO))
        assert parts(list(asked.stream(HELLO))) == [TextPart("Hello there.")]
        assert [heard.connection for heard in server.heard] == [1, 1, 2]


def test_a_fresh_connection_that_dies_is_not_tried_again_by_itself() -> None:
    with serving(Turn(fault="reset_before")) as server:
        with pytest.raises(Unavailable, match="closed the connection without a response"):
            list(model(server, "chat").stream(HELLO))
        assert len(server.heard) == 1


def test_an_answer_that_was_begun_is_not_asked_for_twice() -> None:
    with serving(Turn(), Turn(fault="cut"), Turn()) as server:
        asked = model(server, "chat")
        list(asked.stream(HELLO))
        with pytest.raises(Unavailable, match="in the middle of the response"):
            list(asked.stream(HELLO))
        assert len(server.heard) == 2


def test_an_answer_whose_head_broke_off_is_not_asked_for_twice() -> None:
    with serving(Turn(), Turn(raw=b"HTTP/1.1 200 OK\r\n", close=True), Turn()) as server:
        asked = model(server, "chat")
        list(asked.stream(HELLO))
        with pytest.raises(Unavailable, match="ended without a response"):
            list(asked.stream(HELLO))
        assert len(server.heard) == 2


def test_a_silent_server_is_given_up() -> None:
    with serving(Turn(fault="stall")) as server:
        with pytest.raises(Unavailable, match="no data for 0\\.2 seconds"):
            list(model(server, "chat", client(idle_s=0.2)).stream(HELLO))
        assert server.arrived.acquire(timeout=PATIENCE_S)
        assert len(server.heard) == 1


def test_nobody_there() -> None:
    with serving() as server:
        gone = server.url
    target = parse_url(gone, "url")
    with pytest.raises(HttpError, match="cannot be reached"):
        client().send(HttpRequest(target, {}), CancelToken())


@pytest.mark.parametrize("wire", NAMES)
def test_closing_from_another_thread_ends_the_request_at_once(wire: str) -> None:
    with serving(Turn(Reply("Hello there, world."), "stall")) as server:
        stream = model(server, wire).stream(HELLO)
        got: list[StreamEvent] = []
        begun, caught = threading.Event(), []

        def read() -> None:
            try:
                for answer in stream:
                    got.append(answer)
                    begun.set()
            except Interrupted as error:
                caught.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        if wire != "responses":  # which says its first words in the second half
            assert begun.wait(PATIENCE_S)
        assert server.arrived.acquire(timeout=PATIENCE_S)
        stream.close()
        reader.join(PATIENCE_S)
        assert not reader.is_alive()
        assert len(caught) == 1


def test_closing_ends_the_pause_before_another_try() -> None:
    with serving(Turn(fault="server_error")) as server:
        patient = RetryingModel(model(server, "chat"), RetrySettings(first_s=60, max_s=60))
        stream = patient.stream(HELLO)
        retried = next(stream)
        assert isinstance(retried, RequestRetried)
        closing = threading.Timer(0.05, stream.close)
        closing.start()
        with pytest.raises(Interrupted):
            next(stream)
        closing.join()
        assert len(server.heard) == 1


def test_closing_before_the_first_part_asks_nobody() -> None:
    with serving() as server:
        stream = model(server, "chat").stream(HELLO)
        stream.close()
        with pytest.raises(Interrupted):
            next(stream)
        assert server.heard == []


def test_closing_in_the_middle_closes_the_connection() -> None:
    with serving(Turn(Reply("Hello there.")), Turn()) as server:
        asked = model(server, "chat")
        stream = asked.stream(HELLO)
        assert next(stream) == StreamDelta("text", "Hello ")
        stream.close()
        with pytest.raises(Interrupted):
            next(stream)
        list(asked.stream(HELLO))
        assert [heard.connection for heard in server.heard] == [1, 2]


def test_a_late_close_does_not_touch_the_kept_connection() -> None:
    with serving() as server:
        asked = model(server, "chat")
        first = asked.stream(HELLO)
        assert shown(list(first)) == "Hello there."
        first.close()
        assert list(first) == []
        list(asked.stream(HELLO))
        assert [heard.connection for heard in server.heard] == [1, 1]


def test_plain_http_goes_through_a_proxy_with_the_whole_url() -> None:
    body = whole(b"200 OK", b"hello", b"Content-Type: text/plain")
    with serving(Turn(raw=body)) as proxy:
        environment = {"http_proxy": f"http://me:secret@127.0.0.1:{proxy.port}"}
        http = client(environment=environment)
        target = parse_url("http://model.test:99/v1/things", "url")
        response = http.send(HttpRequest(target, {"a": "b"}, [b"{", b"}"]), CancelToken())
        assert b"".join(response.pieces()) == b"hello"
        response.close()
        (heard,) = proxy.heard
    assert heard.line == "POST http://model.test:99/v1/things HTTP/1.1"
    assert heard.headers["host"] == "model.test:99"
    assert heard.headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"


def test_a_proxy_may_refuse_to_connect() -> None:
    with serving(Turn(raw=whole(b"403 Forbidden", b"no"))) as proxy:
        http = client(environment={"HTTPS_PROXY": proxy.url})
        request = HttpRequest(parse_url("https://model.test/v1", "url"), {})
        with pytest.raises(HttpError, match=r"refused the connection to model\.test:443") as caught:
            http.send(request, CancelToken())
        assert caught.value.fatal
        assert [heard.line for heard in proxy.heard] == ["CONNECT model.test:443 HTTP/1.1"]


def test_an_endless_error_page_is_cut() -> None:
    raw = b"HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\n\r\n" + b"x" * (1 << 20)
    with serving(Turn(raw=raw)) as server:
        with pytest.raises(Unavailable) as caught:
            list(model(server, "chat").stream(HELLO))
        assert len(caught.value.message) < 500


def test_threads_share_a_client() -> None:
    with serving() as server:
        asked = model(server, "anthropic", http := HttpClient(insecure, {}))
        said: list[list[object]] = []
        threads = [threading.Thread(target=_ask, args=(server, http, said)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert said == [[TextPart("Hello there.")]] * 8
        assert parts(list(asked.stream(HELLO))) == [TextPart("Hello there.")]
        http.close()


def _ask(server: Server, http: HttpClient, said: list[list[object]]) -> None:
    said.append([*parts(list(model(server, "anthropic", http).stream(HELLO)))])


def test_a_connection_that_was_idle_for_long_is_not_used_again() -> None:
    with serving() as server:
        with closing(HttpClient(insecure, {}, kept_s=0)) as http:
            asked = model(server, "chat", http)
            for _ in range(2):
                assert parts(list(asked.stream(HELLO))) == [TextPart("Hello there.")]
        assert [heard.connection for heard in server.heard] == [1, 2]


def test_a_client_keeps_as_many_connections_as_it_may() -> None:
    with serving() as server:
        with closing(HttpClient(insecure, {}, most_kept=1)) as http:
            asked = model(server, "chat", http)
            streams = [asked.stream(HELLO) for _ in range(2)]
            for stream in streams:
                next(stream)
            for stream in streams:
                list(stream)
            list(asked.stream(HELLO))
            list(asked.stream(HELLO))
        assert [heard.connection for heard in server.heard] == [1, 2, 2, 2]
