"""Asking: one model behind one wire; sends a prompt and streams the answer as it is decoded."""

import time
from collections.abc import Callable, Generator, Iterator

import msgspec

from assent.core.errors import ModelError
from assent.core.llm.message import TextPart, ToolCall
from assent.core.llm.request import (
    ModelRequest,
    PartCompleted,
    RequestRetried,
    StopReason,
    StreamEnded,
    StreamEvent,
    StreamPaused,
)
from assent.models.cut import Cut, Cuttable
from assent.models.net.address import Address
from assent.models.net.client import HttpClient, Request, Response
from assent.models.net.reply import Broken
from assent.models.net.sse import Event, Events, TooLong
from assent.models.sorting import Who, broken, refused, reported, too_long
from assent.models.wires.meter import Meter, OverLimit
from assent.models.wires.wire import Decoder, Failed, Wire

ERROR_BODY = 64 << 10
ERROR_RECEIVED = 1 << 20  # bytes of it, packed, that may say nothing
OK = 200
SPOILED = 2  # answers in a row that are asked for anew because of a bad event; then it is left out
_NO_STREAM = ("text/html", "application/json", "text/xml", "application/xml")


class Door(msgspec.Struct, frozen=True):
    """Where a provider is, and what every request to it carries."""

    who: Who
    base: Address
    headers: dict[str, str]
    bearer: bool = True


class WireModel:
    """A model of a provider. Parts count only if `Stopped` follows: until then it may break off."""

    def __init__(
        self, wire: Wire, door: Door, client: HttpClient, now: Callable[[], float] = time.time
    ) -> None:
        self._wire = wire
        self._door = door
        self._client = client
        self._now = now
        self._spoiled = 0

    def stream(self, prompt: ModelRequest) -> Cuttable:
        """Asks; the request goes out when the first part is wanted."""
        return Cuttable(lambda cut: self._answer(prompt, cut))

    def connect_early(self) -> None:
        """Opens the connection that the first request will need."""
        self._client.connect_early(self._door.base)

    def _answer(self, prompt: ModelRequest, cut: Cut) -> Iterator[StreamEvent]:
        decoder = self._wire.decoder(f"call_{len(prompt.messages)}")
        response: Response | None = None
        try:
            response = self._client.send(self._request(prompt), cut)
            if response.again:
                yield RequestRetried(
                    1, 0.0, "The connection was closed before an answer; asked again."
                )
            spoken = yield from self._said(response, decoder)
            last, stopped = _end(decoder, spoken=spoken)
            cut.on_cancel(_nothing)
            self._client.keep(response)
            response = None
            yield from last
            yield stopped
        except (OverLimit, TooLong) as error:
            cut.raise_if_cancelled()
            yield from decoder.unfinished_parts()
            raise too_long(self._door.who, error) from None
        except (Broken, OSError, Failed, ModelError) as error:
            cut.raise_if_cancelled()
            raise self._told(error) from None
        finally:
            if response is not None:
                response.close()

    def _request(self, prompt: ModelRequest) -> Request:
        own = {"content-type": "application/json", "accept": "text/event-stream"}
        proof = self._wire.headers(self._door.who.key, bearer=self._door.bearer)
        headers = {**own, "user-agent": "assent", **proof, **self._door.headers}
        target = self._door.base.below(self._wire.path)
        return Request(target, headers, self._wire.body(prompt))

    def _said(self, response: Response, decoder: Decoder) -> Generator[StreamEvent, None, bool]:
        """Decodes a stream as far as it goes; returns whether a part of it speaks."""
        self._check(response)
        spoken, bad = False, 0
        for event in self._events(response, decoder):
            if event is None:
                yield StreamPaused()
                continue
            try:
                for part in decoder.feed(event):
                    spoken = spoken or _speaks(part)
                    yield part
            except (msgspec.MsgspecError, RecursionError):
                bad += 1
        if decoder.ended() is not None:
            self._judge(bad)
        return spoken

    def _events(self, response: Response, decoder: Decoder) -> Iterator[Event | None]:
        """Yields events as they come; None where the next one has to be waited for."""
        events, meter = Events(), Meter(self._wire.answer_limits)
        for burst in response.bursts():
            for event in (event for piece in burst for event in events.feed(piece)):
                yield event
                if decoder.done:
                    return
                meter.check_stream(events.count, response.link.reply.received)
            meter.check_stream(events.count, response.link.reply.received)
            yield None

    def _judge(self, bad: int) -> None:
        """Refuses an answer with an event that cannot be read, unless that is always so here."""
        self._spoiled = self._spoiled + 1 if bad else 0
        if bad and self._spoiled <= SPOILED:
            raise Broken("a part of the answer could not be read")

    def _check(self, response: Response) -> None:
        head = response.head
        kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
        if head.status == OK and kind not in _NO_STREAM:
            return
        body = _bounded(response)
        if head.status != OK:
            raise refused(self._door.who, head.status, head.headers, body, self._now())
        if kind == "application/json" and b'"error"' in body:
            raise refused(self._door.who, 500, {}, body, self._now())
        raise Broken(f"what came from {self._door.base.origin} is {kind}, not a stream of events")

    def _told(self, error: Exception) -> ModelError:
        who = self._door.who
        match error:
            case ModelError():
                return error
            case Failed():
                return reported(who, error)
            case Broken():
                return broken(who, str(error), fatal=error.fatal)
            case _:
                return broken(who, str(error))


def _end(decoder: Decoder, *, spoken: bool) -> tuple[list[StreamEvent], StreamEnded]:
    """Returns what is left of an answer, if it has an end and something was said."""
    ended = decoder.ended()
    if ended is None:
        raise Broken("the answer broke off before its end")
    last, stopped = [*ended[0]], ended[1]
    if (
        not spoken
        and not any(map(_speaks, last))
        and stopped.stop in (StopReason.END, StopReason.CALLS)
    ):
        raise Broken("the answer was empty")
    return last, stopped


def _speaks(part: StreamEvent) -> bool:
    return isinstance(part, PartCompleted) and isinstance(part.part, TextPart | ToolCall)


def _bounded(response: Response) -> bytes:
    """Returns the beginning of a body that may never end."""
    body = b""
    try:
        for piece in response.pieces():
            body += piece
            if len(body) >= ERROR_BODY or response.link.reply.received > ERROR_RECEIVED:
                break
    except Broken:
        pass  # what came so far says more than that the rest did not
    return body[:ERROR_BODY]


def _nothing() -> None:
    """Is what a cut does to an answer that is over."""
