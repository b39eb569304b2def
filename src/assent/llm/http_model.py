"""A model with an HTTP API: sends a prompt and streams the decoded answer."""

import time
from collections.abc import Callable, Generator, Iterator

import msgspec

from assent.core.errors import ModelError
from assent.core.llm import (
    ModelRequest,
    PartCompleted,
    RequestRetried,
    StopReason,
    StreamEnded,
    StreamEvent,
    StreamPaused,
    TextPart,
    ToolCall,
)
from assent.llm.errors import (
    ErrorContext,
    connection_error,
    http_status_error,
    response_too_long,
    stream_error,
)
from assent.llm.http_client import HttpClient, HttpRequest, HttpResponse, HttpUrl
from assent.llm.http_response import HttpError, SseEvent, SseEventTooLong, SseParser
from assent.llm.limits import MAX_BAD_ANSWERS, MAX_ERROR_BYTES, MAX_ERROR_RECEIVED_BYTES
from assent.llm.wires.wire import (
    ResponseFailed,
    ResponseLimitExceeded,
    ResponseMeter,
    StreamDecoder,
    WireProtocol,
)
from assent.ports.cancellation import CancellableModelStream, CancelToken

OK = 200
_NO_STREAM = ("text/html", "application/json", "text/xml", "application/xml")


class ProviderEndpoint(msgspec.Struct, frozen=True):
    """The URL of a provider, and the headers of every request to it."""

    who: ErrorContext
    base: HttpUrl
    headers: dict[str, str]
    bearer: bool = True


class HttpModel:
    """A model of a provider; its parts count only if `StreamEnded` follows."""

    def __init__(
        self,
        wire: WireProtocol,
        door: ProviderEndpoint,
        client: HttpClient,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._wire = wire
        self._door = door
        self._client = client
        self._now = now
        self._spoiled = 0

    def stream(self, prompt: ModelRequest) -> CancellableModelStream:
        """Starts an answer; the request is sent when the first part is read."""
        return CancellableModelStream(lambda token: self._answer(prompt, token))

    def connect_early(self) -> None:
        """Opens the connection that the first request will need."""
        self._client.connect_early(self._door.base)

    def _answer(self, prompt: ModelRequest, token: CancelToken[str]) -> Iterator[StreamEvent]:
        decoder = self._wire.decoder(f"call_{len(prompt.messages)}")
        response: HttpResponse | None = None
        try:
            response = self._client.send(self._request(prompt), token)
            if response.again:
                yield RequestRetried(
                    1,
                    0.0,
                    "The connection was closed before a response; the request was sent again.",
                )
            spoken = yield from self._said(response, decoder)
            last, stopped = _end(decoder, spoken=spoken)
            token.detach()  # else the next request on this connection would be ended
            self._client.keep(response)
            response = None
            yield from last
            yield stopped
        except (ResponseLimitExceeded, SseEventTooLong) as error:
            token.raise_if_cancelled()
            yield from decoder.unfinished_parts()
            raise response_too_long(self._door.who, error) from None
        except (HttpError, OSError, ResponseFailed, ModelError) as error:
            token.raise_if_cancelled()
            raise self._told(error) from None
        finally:
            if response is not None:
                response.close()

    def _request(self, prompt: ModelRequest) -> HttpRequest:
        own = {"content-type": "application/json", "accept": "text/event-stream"}
        proof = self._wire.headers(self._door.who.key, bearer=self._door.bearer)
        headers = {**own, "user-agent": "assent", **proof, **self._door.headers}
        target = self._door.base.below(self._wire.path)
        return HttpRequest(target, headers, self._wire.body(prompt))

    def _said(
        self, response: HttpResponse, decoder: StreamDecoder
    ) -> Generator[StreamEvent, None, bool]:
        """Decodes a stream as far as it goes; returns whether it has any content."""
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

    def _events(self, response: HttpResponse, decoder: StreamDecoder) -> Iterator[SseEvent | None]:
        """Yields events as they come; None if the next one must be waited for."""
        events, meter = SseParser(), ResponseMeter(self._wire.answer_limits)
        for burst in response.bursts():
            for event in (event for piece in burst for event in events.feed(piece)):
                yield event
                if decoder.done:
                    return
                meter.check_stream(events.count, response.link.reply.received)
            meter.check_stream(events.count, response.link.reply.received)
            yield None

    def _judge(self, bad: int) -> None:
        """Refuses an answer with an unreadable event, unless this server always sends them."""
        self._spoiled = self._spoiled + 1 if bad else 0
        if bad and self._spoiled <= MAX_BAD_ANSWERS:
            raise HttpError("part of the response could not be read")

    def _check(self, response: HttpResponse) -> None:
        head = response.head
        kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
        if head.status == OK and kind not in _NO_STREAM:
            return
        body = _bounded(response)
        if head.status != OK:
            raise http_status_error(self._door.who, head.status, head.headers, body, self._now())
        if kind == "application/json" and b'"error"' in body:
            raise http_status_error(self._door.who, 500, {}, body, self._now())
        raise HttpError(f"{self._door.base.origin} sent {kind}, not an event stream")

    def _told(self, error: Exception) -> ModelError:
        who = self._door.who
        match error:
            case ModelError():
                return error
            case ResponseFailed():
                return stream_error(who, error)
            case HttpError():
                return connection_error(who, str(error), fatal=error.fatal)
            case _:
                return connection_error(who, str(error))


def _end(decoder: StreamDecoder, *, spoken: bool) -> tuple[list[StreamEvent], StreamEnded]:
    """Returns the rest of an answer, if it has an end and any content."""
    ended = decoder.ended()
    if ended is None:
        raise HttpError("the response ended early")
    last, stopped = [*ended[0]], ended[1]
    if (
        not spoken
        and not any(map(_speaks, last))
        and stopped.stop in (StopReason.END, StopReason.CALLS)
    ):
        raise HttpError("the response was empty")
    return last, stopped


def _speaks(part: StreamEvent) -> bool:
    return isinstance(part, PartCompleted) and isinstance(part.part, TextPart | ToolCall)


def _bounded(response: HttpResponse) -> bytes:
    """Returns the beginning of a body of unknown length."""
    body = b""
    try:
        for piece in response.pieces():
            body += piece
            if (
                len(body) >= MAX_ERROR_BYTES
                or response.link.reply.received > MAX_ERROR_RECEIVED_BYTES
            ):
                break
    except HttpError:
        pass  # what came so far says more than that the rest did not
    return body[:MAX_ERROR_BYTES]
