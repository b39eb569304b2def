"""Provider errors: what failed and what to do, and the retries of temporary ones."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from assent.core.errors import AnswerTooLong, ContextOverflow, ModelError, Unauthorized, Unavailable
from assent.core.llm import ModelRequest, RequestRetried, RetrySettings, StreamEnded, StreamEvent
from assent.core.text.secrets import redact
from assent.llm.limits import MAX_MESSAGE_CHARS, MAX_RETRY_AFTER_S
from assent.llm.wires.wire import ResponseFailed
from assent.ports import Model
from assent.ports.cancellation import CancellableModelStream, CancelToken

NO_WAIT = -1.0
LIST = "assent models list"

_OVERFLOW = (
    r"(?i)context_length_exceeded|exceed_context_size|prompt is too long|input is too long"
    r"|(maximum|max|available) context|context (length|window|limit|size)|exceeds the context"
    r"|reduce the length|too many (input )?tokens|maximum number of (input )?tokens"
    r"|input (token|length).{0,40}exceed|request_too_large"
)
_NO_MONEY = (
    r"(?i)insufficient_quota|credit balance|insufficient (balance|credits|funds)|billing_error"
)
_NO_IMAGES = (
    r"(?i)images?\b.{0,40}(not (be )?(support|allow|accept|available)|unsupported)"
    r"|no .{0,40}image input|(not|n't) (support|accept|have) .{0,30}(image|vision)"
    r"|(unsupported|unknown) .{0,60}image|multimodal .{0,30}not"
)
_NOT_SEEN = {400, 404, 415, 422}
_RETRY = {408, 409, 425, 429, *range(500, 600)}
_REASONS = {
    408: "timed out",
    409: "is busy with another request",
    429: "is rate limiting requests",
    503: "is unavailable",
    529: "is overloaded",
}

# Kinds of errors that come in the middle of an answer, as the status they would have come with.
_KINDS = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
}
_PAYMENT, _MISSING, _TOO_LARGE, _MANY = 402, 404, 413, 429

SECRET = 8  # characters: a shorter key occurs in ordinary words, and protects nothing


class ErrorContext(msgspec.Struct, frozen=True):
    """The provider in the wording of messages; the key is known so that it is never shown."""

    provider: str
    model: str
    origin: str = ""
    key_env: str = ""
    key: str = ""
    stored: bool = False  # by `assent login`, not in the environment


def http_status_error(
    who: ErrorContext, status: int, headers: Mapping[str, str], body: bytes, now: float
) -> ModelError:
    """Returns the error for a response without success."""
    words = _words(who, _message(body), f"status {status}")
    return _sorted(who, status, words, _overflow_in(body), retry_after(headers, now))


def stream_error(who: ErrorContext, failed: ResponseFailed) -> ModelError:
    """Returns the error for a failure in the middle of an answer."""
    status = _KINDS.get(failed.kind, 500)
    if failed.kind.isdecimal() and len(failed.kind) == len("500"):
        status = int(failed.kind)
    text = f"{failed.kind} {failed}"
    words = _words(who, str(failed), failed.kind or "an error without a message")
    return _sorted(who, status, words, bool(re.search(_OVERFLOW, text)), NO_WAIT)


def connection_error(who: ErrorContext, reason: str, *, fatal: bool = False) -> ModelError:
    """Returns the error for a connection or an answer that failed."""
    told = f"Request to {who.provider} failed: {_words(who, reason, reason)}."
    if fatal:
        return ModelError(told, LIST)
    return Unavailable(told, f"assent models ask {who.provider}/{who.model} 'Are you there?'")


def response_too_long(who: ErrorContext, over: Exception) -> AnswerTooLong:
    """Returns the error that an answer is larger than the settings allow; a retry cannot help."""
    setting = getattr(over, "setting", "")
    told = f"The response of {who.provider}/{who.model} was cut off: {over}."
    raised = f" To allow larger responses, raise {setting} in your user config."
    return AnswerTooLong(told + (raised if setting else ""))


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """Returns how many seconds the server asks to wait; negative if it does not say."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
            return float(value) * scale
    try:
        moment = datetime.strptime(headers.get("retry-after", ""), "%a, %d %b %Y %H:%M:%S GMT")
    except ValueError:
        return NO_WAIT
    return max(0.0, moment.replace(tzinfo=UTC).timestamp() - now)


def _sorted(who: ErrorContext, status: int, words: str, too_long: bool, after: float) -> ModelError:
    if re.search(_NO_MONEY, words) or status == _PAYMENT:
        return ModelError(f"{who.provider}: quota exhausted or payment required: {words}.", LIST)
    if status != _MANY and (too_long or status == _TOO_LARGE):
        return ContextOverflow(
            f"The conversation is longer than the context of {who.model}: {words}."
        )
    if status in (401, 403):
        return _unauthorized(who, status, words)
    if status in _RETRY:
        reason = _REASONS.get(status, "returned an error")
        return Unavailable(f"{who.provider} {reason} ({status}): {words}.", "", after)
    if status in _NOT_SEEN and re.search(_NO_IMAGES, words):
        name = f"{who.provider}/{who.model}"
        told = f"{who.provider} rejected an image for {who.model} ({status}): {words}."
        return ModelError(told, f"assent config set 'models.\"{name}\".images' false")
    if status == _MISSING:
        told = f"{who.provider}: model {who.model} not found at {who.origin}: {words}."
        return ModelError(told, LIST)
    return ModelError(f"{who.provider} rejected the request ({status}): {words}.", LIST)


def _unauthorized(who: ErrorContext, status: int, words: str) -> Unauthorized:
    if not who.key:
        name = who.key_env or "a key"
        told = f"{who.provider} needs an API key, but {name} is not set ({status}): {words}."
    elif status == 401:  # noqa: PLR2004 (the other is 403)
        told = f"{who.provider} rejected {_key_words(who)} ({status}): {words}."
    else:
        key = _key_words(who)
        told = f"{key[0].upper()}{key[1:]} has no access to {who.model} ({status}): {words}."
    if who.stored or not who.key:
        return Unauthorized(told, f"assent login {who.provider}")
    return Unauthorized(told, f"export {who.key_env}=..." if who.key_env else LIST)


def _key_words(who: ErrorContext) -> str:
    return "the stored API key" if who.stored else f"the API key in {who.key_env}"


def _overflow_in(body: bytes) -> bool:
    return re.search(_OVERFLOW, body.decode("utf-8", "replace")) is not None


def _message(body: bytes) -> str:
    """Returns the message in an error's body, wherever this provider puts it."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return _plain(body)
    if isinstance(found, list) and found:
        found = found[0]
    inner = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(inner, dict):
        kind = inner.get("code") if isinstance(inner.get("code"), str) else inner.get("type")
        message = inner.get("message") or inner.get("detail") or ""
        return f"{message} ({kind})" if kind and message else str(message or kind or "")
    return str(inner or "")


def _plain(body: bytes) -> str:
    """Returns the text of a page, without its markup."""
    text = body.decode("utf-8", "replace")
    title = re.search(r"<title>(.*?)</title>", text, re.I | re.S)
    return title[1] if title else re.sub(r"<[^>]*>", " ", text)


def _words(who: ErrorContext, message: str, otherwise: str) -> str:
    """Returns a server's message as one short line without any key."""
    told = " ".join(message.split()) or otherwise
    if len(who.key) >= SECRET:
        told = told.replace(who.key, "(API key)")
    told = redact(told)  # and of other keys, too: a proxy may repeat what it was sent
    told = told if len(told) <= MAX_MESSAGE_CHARS else told[:MAX_MESSAGE_CHARS] + "…"
    return told.rstrip(".")


# Retries model requests after temporary errors, and reports each retry.


class RetryingModel:
    """A model whose requests are retried when that may help.

    Everything is passed on at once, so that completed parts can be stored while the rest is
    streaming. After `RequestRetried` everything from the attempt before it is void, parts and
    deltas alike: only what follows the last one counts, and only if `StreamEnded` comes.
    """

    def __init__(
        self,
        model: Model,
        settings: RetrySettings,
        sleep: Callable[[CancelToken[str], float], object] = CancelToken.wait,
        random: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._model = model
        self._settings = settings
        self._sleep = sleep
        self._random = random

    def stream(self, prompt: ModelRequest) -> CancellableModelStream:
        return CancellableModelStream(lambda token: self._tried(prompt, token))

    def _tried(self, prompt: ModelRequest, token: CancelToken[str]) -> Iterator[StreamEvent]:
        for attempt in range(1, max(1, self._settings.tries) + 1):
            try:
                yield from self._once(prompt, token)
                return
            except Unavailable as error:
                wait = self._wait(attempt, error.after)
                if attempt >= self._settings.tries or wait > MAX_RETRY_AFTER_S:
                    raise self._given_up(error, attempt) from None
                reason = error.message
            yield RequestRetried(attempt, wait, reason)
            self._sleep(token, wait)
            token.raise_if_cancelled()

    def _once(self, prompt: ModelRequest, token: CancelToken[str]) -> Iterator[StreamEvent]:
        """Passes on one attempt, up to its end."""
        answers = self._model.stream(prompt)
        token.attach(answers.close)
        try:
            for answer in answers:
                yield answer
                if isinstance(answer, StreamEnded):
                    return
        finally:
            answers.close()
        raise Unavailable("The response ended early.")

    def _wait(self, attempt: int, asked: float) -> float:
        """Returns the wait: it doubles with each attempt, with some jitter."""
        if asked > 0:
            return asked
        usual = min(self._settings.max_s, self._settings.first_s * 2.0 ** (attempt - 1))
        return float(usual * (1 - 0.25 * self._random()))

    def _given_up(self, error: Unavailable, attempts: int) -> Unavailable:
        if attempts == 1 and error.after <= MAX_RETRY_AFTER_S:
            return error
        tried = (
            f"Tried {attempts} times."
            if attempts > 1
            else ("The requested pause is too long to wait for.")
        )
        return Unavailable(f"{error.message} {tried}", error.next, error.after)
