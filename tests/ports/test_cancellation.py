"""The cancel token, alone: which reason counts, who is woken, and what waits for whom."""

from collections.abc import Iterator
from threading import Event, Thread

import pytest
from tests.support.threads import PATIENCE_S

from assent.core.errors import Interrupted
from assent.core.llm import PartCompleted, StopReason, StreamEnded, StreamEvent, TextPart
from assent.ports.cancellation import (
    REQUEST_ENDED,
    CancellableModelStream,
    CancelRegistry,
    CancelToken,
)

STILL_S = 0.05  # long enough for a thread that does not wait to get past a lock


def test_the_first_reason_counts_and_each_cancellation_wakes() -> None:
    token, woken = CancelToken[str](), list[str | None]()
    assert (token.reason, token.is_cancelled, token.wait(0)) == (None, False, False)
    token.attach(lambda: woken.append(token.reason))
    token.cancel("first")
    token.cancel("second")
    assert woken == ["first", "first"]
    assert (token.reason, token.is_cancelled, token.wait(PATIENCE_S)) == ("first", True, True)


def test_what_is_attached_to_a_cancelled_token_is_woken_at_once() -> None:
    token, woken = CancelToken[str](), list[int]()
    token.cancel("before it began")
    token.attach(lambda: woken.append(1))
    with token.attached(lambda: woken.append(2)):
        assert woken == [1, 2]
    token.cancel("again")
    assert woken == [1, 2]


def test_a_reason_that_is_a_sentence_can_be_raised() -> None:
    token = CancelToken[str]()
    token.raise_if_cancelled()
    token.cancel("The person stopped it.")
    with pytest.raises(Interrupted, match="The person stopped it"):
        token.raise_if_cancelled()


def test_after_its_end_work_cannot_be_cancelled() -> None:
    token, woken = CancelToken[str](), list[int]()
    token.attach(lambda: woken.append(1))
    token.close()
    token.cancel("too late")
    assert (token.reason, woken) == (None, [])


@pytest.mark.parametrize("leave", [CancelToken.detach, CancelToken.close])
def test_whoever_leaves_waits_for_a_wake_that_is_under_way(leave: object) -> None:
    assert callable(leave)
    token, begun, go_on, left = CancelToken[str](), Event(), Event(), Event()
    order: list[str] = []

    def wake() -> None:
        begun.set()
        assert go_on.wait(PATIENCE_S)
        order.append("woken")

    def leaving() -> None:
        leave(token)
        order.append("left")
        left.set()

    token.attach(wake)
    cancelling = Thread(target=token.cancel, args=("now",), daemon=True)
    cancelling.start()
    assert begun.wait(PATIENCE_S)
    Thread(target=leaving, daemon=True).start()
    assert not left.wait(STILL_S)
    assert token.reason == "now"  # which can be read meanwhile
    go_on.set()
    assert left.wait(PATIENCE_S)
    cancelling.join(PATIENCE_S)
    assert order == ["woken", "left"]


def test_a_wake_may_detach_itself() -> None:
    token = CancelToken[str]()
    token.attach(token.detach)
    token.cancel("now")
    token.attach(token.close)
    assert token.is_cancelled


def test_a_registry_cancels_the_work_of_a_name_while_it_lasts() -> None:
    running = CancelRegistry[str]()
    assert not running.cancel("nobody is there", "a")
    with running.registered("a") as token, running.registered("b") as other:
        assert running.cancel("stop", "a")
        assert (token.reason, other.reason) == ("stop", None)
        assert (running.is_cancelled("a"), running.is_cancelled("b")) == (True, False)
    assert not running.is_cancelled("a")
    with running.registered("a") as token:
        assert token.reason is None


END = StreamEnded(StopReason.END)


def said(token: CancelToken[str]) -> Iterator[StreamEvent]:
    yield PartCompleted(TextPart("Hello"))
    token.wait(PATIENCE_S)
    token.raise_if_cancelled()
    yield END


def test_a_stream_that_waits_is_interrupted_and_one_that_is_over_is_not() -> None:
    stream = CancellableModelStream(said)
    assert next(stream) == PartCompleted(TextPart("Hello"))
    stream.close()
    with pytest.raises(Interrupted, match=REQUEST_ENDED):
        next(stream)
    whole = CancellableModelStream(lambda token: iter([END]))
    assert next(whole) == END
    whole.close()
    with pytest.raises(StopIteration):
        next(whole)
