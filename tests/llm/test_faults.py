"""Every fault of a server is survived, on every wire, and nothing is said or called twice."""

from collections.abc import Iterator

import pytest
from tests.llm.http_models import HELLO, KEY, NAMES, client, model, parts, pausing, retrying, shown
from tests.llm.server import FAULTS, Turn, serving
from tests.llm.wire_responses import Reply

from assent.core.errors import ModelError, Unavailable
from assent.core.llm import (
    ModelRequest,
    PartCompleted,
    RequestRetried,
    StopReason,
    StreamDelta,
    StreamEnded,
    StreamEvent,
    TextPart,
    ToolCall,
)
from assent.llm.scripted import ModelScript, ScriptedModel, ScriptedTurn
from assent.ports import Model, ModelStream
from assent.ports.cancellation import CancellableModelStream

STATUSES = {  # faults that come with a status, and the beginning of what is said of them
    "rate_limit": "test is rate limiting requests (429): ",
    "rate_limit_after": "test is rate limiting requests (429): ",
    "server_error": "test returned an error (500): ",
    "overloaded": "test is overloaded (529): ",
    "error_event": "test ",  # each wire has another status
}
ANSWER = Reply("Hello there.", "Let me think.", (("call_1", "read", '{"path": "a.py"}'),))
SHORT_S = 0.2


def test_there_are_fourteen() -> None:
    assert len(FAULTS) == 14


@pytest.mark.parametrize("wire", NAMES)
@pytest.mark.parametrize("fault", FAULTS)
def test_f112_a_fault_is_survived_without_a_doubled_call_or_text(fault: str, wire: str) -> None:
    with serving(Turn(ANSWER, fault), Turn(ANSWER)) as server:
        # Whoever is silent is given up soon; on a busy machine, the next one needs its time.
        impatient = model(server, wire, client(SHORT_S)) if fault == "stall" else None
        patient = model(server, wire)
        waits: list[float] = []

        def pause(seconds: float) -> None:
            waits.append(seconds)
            assert server.arrived.acquire(timeout=60)  # what is asked next is answered next

        asked = pausing(First(impatient or patient, patient), pause)
        answers = list(asked.stream(HELLO))
        said = [part for part in parts(answers) if isinstance(part, TextPart | ToolCall)]
        assert said == [TextPart("Hello there."), ToolCall("call_1", "read", {"path": "a.py"})]
        assert isinstance(answers[-1], StreamEnded)
        assert answers[-1].stop is StopReason.CALLS
        tries = 1 if fault == "drip" else 2
        assert len(server.heard) == tries
        retries = [answer for answer in answers if isinstance(answer, RequestRetried)]
        assert [(retry.attempt, retry.wait) for retry in retries] == [
            (1, 7.0 if fault == "rate_limit_after" else 2.0)
        ] * (tries - 1)
        assert waits == [retry.wait for retry in retries]
        last = answers.index(retries[-1]) if retries else 0
        assert shown(answers[last:]) == "Hello there."


@pytest.mark.parametrize("wire", NAMES)
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in ("drip", "stall")])
def test_a_fault_that_stays_is_an_error_that_tells_it(fault: str, wire: str) -> None:
    with serving(Turn(ANSWER, fault)) as server:
        waits: list[float] = []
        asked = retrying(model(server, wire), waits, tries=3)
        stream = asked.stream(HELLO)
        if fault == "malformed_event":
            assert parts(list(stream))[-1] == ToolCall("call_1", "read", {"path": "a.py"})
            assert len(server.heard) == 3
            return
        with pytest.raises(Unavailable) as caught:
            list(stream)
        assert len(server.heard) == 3
        assert caught.value.message.startswith(STATUSES.get(fault, "Request to test failed: "))
        assert caught.value.message.endswith(" Tried 3 times.")
        assert KEY not in caught.value.message + caught.value.next


def test_f112_waits_double_up_to_a_limit() -> None:
    with serving(Turn(fault="server_error")) as server:
        waits: list[float] = []
        with pytest.raises(Unavailable):
            list(retrying(model(server, "chat"), waits, tries=7).stream(HELLO))
    assert waits == [2, 4, 8, 16, 30, 30]


def test_f112_waits_are_up_to_a_quarter_shorter_by_chance() -> None:
    with serving(Turn(fault="server_error")) as server:
        waits: list[float] = []
        with pytest.raises(Unavailable):
            list(retrying(model(server, "chat"), waits, tries=3, chance=0.5).stream(HELLO))
    assert waits == [1.75, 3.5]


def test_a_pause_that_is_too_long_is_told_and_not_waited_for() -> None:
    class Far:
        def stream(self, prompt: ModelRequest) -> object:
            raise Unavailable("Come back tomorrow.", "", 86_400)

    waits: list[float] = []
    with pytest.raises(
        Unavailable, match=r"tomorrow\. The requested pause is too long to wait for\."
    ):
        list(retrying(Far(), waits).stream(HELLO))  # type: ignore[arg-type]
    assert waits == []


def test_what_cannot_be_mended_is_not_tried_again() -> None:
    class Wrong:
        asked = 0

        def stream(self, prompt: ModelRequest) -> object:
            Wrong.asked += 1
            raise ModelError("No.")

    with pytest.raises(ModelError, match="No"):
        list(retrying(Wrong(), []).stream(HELLO))  # type: ignore[arg-type]
    assert Wrong.asked == 1


def test_a_part_passes_at_once_and_is_void_after_a_retry() -> None:
    script = ModelScript((ScriptedTurn(text="Half."),))
    broken = Broken([PartCompleted(TextPart("Half.")), PartCompleted(ToolCall("1", "read", {}))])
    answers = list(retrying(First(broken, ScriptedModel(script, "s")), []).stream(HELLO))
    told = [answer for answer in answers if not isinstance(answer, StreamDelta)]
    assert told[:2] == [PartCompleted(TextPart("Half.")), PartCompleted(ToolCall("1", "read", {}))]
    assert told[2:4] == [RequestRetried(1, 2.0, "It broke."), PartCompleted(TextPart("Half."))]
    assert parts(answers) == [TextPart("Half.")]


class Broken:
    """A model whose answer breaks off after some parts."""

    def __init__(self, said: list[StreamEvent]) -> None:
        self._said = said

    def stream(self, prompt: ModelRequest) -> CancellableModelStream:
        return CancellableModelStream(lambda cut: self._answer())

    def _answer(self) -> Iterator[StreamEvent]:
        yield from self._said
        raise Unavailable("It broke.")


class First:
    """Asks one model first, then always another."""

    def __init__(self, first: Model, then: Model) -> None:
        self._waiting = [first, then]

    def stream(self, prompt: ModelRequest) -> ModelStream:
        model = self._waiting.pop(0) if len(self._waiting) > 1 else self._waiting[0]
        return model.stream(prompt)


@pytest.mark.parametrize("name", NAMES)
def test_f112_a_request_that_is_sent_again_at_once_is_told_too(name: str) -> None:
    """A kept connection that turns out to be closed needs no wait, and is an event all the same."""
    with serving(Turn(), Turn(fault="reset_before"), Turn()) as server:
        asked = model(server, name)
        first, second = list(asked.stream(HELLO)), list(asked.stream(HELLO))
    told = [
        [each for each in answers if isinstance(each, RequestRetried)]
        for answers in (first, second)
    ]
    assert told[0] == []
    assert [(each.attempt, each.wait) for each in told[1]] == [(1, 0.0)]
