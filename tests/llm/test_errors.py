"""Failures are sorted by what helps, in words that name provider, variable and next command."""

import msgspec
import pytest
from tests.llm.http_models import HELLO, KEY, NOW, model
from tests.llm.server import Turn, serving, whole

from assent.core.errors import ContextOverflow, ModelError, Unauthorized, Unavailable
from assent.core.text.secrets import remember_secrets
from assent.llm.errors import (
    ErrorContext,
    connection_error,
    http_status_error,
    retry_after,
    stream_error,
)
from assent.llm.wires.wire import ResponseFailed

WHO = ErrorContext("acme", "m-1", "https://acme.test/v1", "ACME_KEY", KEY)

OVERFLOWS = (
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
    "This model's maximum context length is 128000 tokens.",
    "Your input exceeds the context window of this model.",
    "the request exceeds the available context size. try increasing the context size",
    "Please reduce the length of the messages or completion.",
    "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
)
KINDS: dict[str, tuple[int, str, type[ModelError]]] = {
    "a bad request": (400, "temperature is wrong", ModelError),
    "a bad key": (401, "invalid x-api-key", Unauthorized),
    "no money": (402, "pay first", ModelError),
    "no right": (403, "not allowed", Unauthorized),
    "no model": (404, "model: m-1", ModelError),
    "a timeout": (408, "slow", Unavailable),
    "a conflict": (409, "locked", Unavailable),
    "too large": (413, "Request exceeds the maximum size", ContextOverflow),
    "too early": (425, "early", Unavailable),
    "too many": (429, "slow down", Unavailable),
    "too many, in words of length": (429, "tokens per minute: context window", Unavailable),
    "too many, no money": (429, "You exceeded your quota (insufficient_quota)", ModelError),
    "an error": (500, "oh", Unavailable),
    "a bad gateway": (502, "oh", Unavailable),
    "overloaded": (529, "Overloaded", Unavailable),
    "credit": (400, "Your credit balance is too low", ModelError),
    "a redirection": (302, "elsewhere", ModelError),
    **{words: (400, words, ContextOverflow) for words in OVERFLOWS},
}


def body(words: str) -> bytes:
    return msgspec.json.encode({"error": {"message": words, "type": "x_error"}})


@pytest.mark.parametrize(("status", "words", "kind"), KINDS.values(), ids=KINDS)
def test_an_answer_that_is_no_success(status: int, words: str, kind: type[ModelError]) -> None:
    error = http_status_error(WHO, status, {}, body(words), NOW)
    assert type(error) is kind
    assert words.rstrip(".") in error.message
    assert error.message.endswith(".")


IN_STREAM: dict[str, type[ModelError]] = {
    "overloaded_error": Unavailable,
    "rate_limit_exceeded": Unavailable,
    "server_error": Unavailable,
    "": Unavailable,
    "502": Unavailable,
    "401": Unauthorized,
    "authentication_error": Unauthorized,
    "context_length_exceeded": ContextOverflow,
    "invalid_request_error": ModelError,
    "insufficient_quota": ModelError,
}


IMAGE_WORDS = (
    "No endpoints found that support image input",
    "Invalid content type: image input is not supported by this model",
    "This model does not support image inputs",
    "model 'x' is unable to process: images are not supported",
    "The model does not have vision capabilities",
)


@pytest.mark.parametrize("words", IMAGE_WORDS)
@pytest.mark.parametrize("status", [400, 404, 415, 422])
def test_a_model_that_takes_no_image_is_told_apart(status: int, words: str) -> None:
    error = http_status_error(WHO, status, {}, body(words), NOW)
    assert "rejected an image for" in error.message
    assert error.next == "assent config set 'models.\"acme/m-1\".images' false"


@pytest.mark.parametrize("words", ["Invalid image: cannot be decoded", "Model not found", ""])
def test_what_else_is_said_of_images_is_another_error(words: str) -> None:
    error = http_status_error(WHO, 400, {}, body(words), NOW)
    assert "rejected an image" not in error.message


@pytest.mark.parametrize(("kind", "wanted"), IN_STREAM.items())
def test_an_error_in_the_middle(kind: str, wanted: type[ModelError]) -> None:
    assert type(stream_error(WHO, ResponseFailed(kind, "told"))) is wanted


BODIES: dict[bytes, str] = {
    b'{"error": {"message": "told", "code": "x"}}': "told (x)",
    b'{"type": "error", "error": {"type": "y", "message": "told"}}': "told (y)",
    b'[{"error": {"code": 400, "message": "told", "status": "BAD"}}]': "told",
    b'{"error": "told"}': "told",
    b'{"detail": "told"}': "told",
    b'{"message": "told"}': "told",
    b"<html><head><title>502  Bad\nGateway</title></head></html>": "502 Bad Gateway",
    b"told": "told",
    b"": "status 400",
    b"\xff": "\N{REPLACEMENT CHARACTER}",
    b"x" * 999: "x" * 300 + "…",
}


@pytest.mark.parametrize(("content", "words"), BODIES.items())
def test_the_words_are_found_in_any_body(content: bytes, words: str) -> None:
    told = http_status_error(WHO, 400, {}, content, NOW).message
    assert told == f"acme rejected the request (400): {words}."


def test_a_person_learns_which_variable_and_what_to_type() -> None:
    error = http_status_error(WHO, 401, {}, body(f"Incorrect key: {KEY}"), NOW)
    assert error.message == (
        "acme rejected the API key in ACME_KEY (401): Incorrect key: (API key) (x_error)."
    )
    assert error.next == "export ACME_KEY=..."
    keyless = ErrorContext("acme", "m-1", "https://acme.test/v1", "ACME_KEY")
    told = http_status_error(keyless, 401, {}, b"", NOW).message
    assert told == "acme needs an API key, but ACME_KEY is not set (401): status 401."
    error = http_status_error(WHO, 404, {}, b"", NOW)
    assert "acme: model m-1 not found at https://acme.test/v1" in error.message
    assert error.next == "assent models list"
    assert type(connection_error(WHO, "cut", fatal=True)) is ModelError


AFTER: dict[str, tuple[dict[str, str], float]] = {
    "seconds": ({"retry-after": "7"}, 7),
    "a fraction": ({"retry-after": "0.5"}, 0.5),
    "thousandths": ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
    "a date": ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30),
    "a date that is over": ({"retry-after": "Thu, 14 Jan 2027 08:00:00 GMT"}, 0),
    "nonsense": ({"retry-after": "soon"}, -1),
    "negative": ({"retry-after": "-7"}, -1),
    "nothing": ({}, -1),
}


@pytest.mark.parametrize(("headers", "seconds"), AFTER.values(), ids=AFTER)
def test_f112_how_long_to_wait(headers: dict[str, str], seconds: float) -> None:
    assert retry_after(headers, NOW) == seconds


def test_f112_an_overflow_is_told_at_once_and_never_tried_again() -> None:
    raw = whole(b"400 Bad", body(OVERFLOWS[0]))
    with serving(Turn(raw=raw)) as server:
        with pytest.raises(ContextOverflow):
            list(model(server, "anthropic").stream(HELLO))
        assert len(server.heard) == 1


def test_f92_keys_of_other_providers_and_forms_of_keys_are_not_repeated_from_a_body() -> None:
    form = "gsk_" + "Zq7Lr2Xv9Kb4Tn8Wp3Md6Hs1Jc5Fg0Ya"
    try:
        remember_secrets(["the-key-of-another"])
        error = http_status_error(
            WHO, 400, {}, body(f"You sent the-key-of-another and {form}."), NOW
        )
    finally:
        remember_secrets([])
    assert "the-key-of-another" not in error.message
    assert form not in error.message
