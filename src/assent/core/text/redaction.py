"""Redaction: replaces secrets in text that models, logs and faces get to see (F92)."""

import re
from collections.abc import Iterable
from typing import Final

from assent.core.text.secrets import (
    SECRET_GUESSES,
    SECRET_PATTERNS,
    SecretPattern,
    looks_like_secret,
    may_hold_secret,
)

MIN_SECRET_CHARS: Final = (
    8  # characters: a shorter value stands in ordinary words, and guards nothing
)
PASSES: Final = 3  # what ends beside one secret may begin to look like another
CONFIGURED_KEY: Final = "a key of yours"

_NAMED: Final = "password in a settings file"
# What is not worth a risk in a review, because no file holds it, but stands in outputs.
_ECHOED: Final = (
    SecretPattern(
        "API key",
        ("authorization", "api-key"),
        r"(?:authorization|api-key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
        r"(?:bearer |basic |token )?([^\s\"',;\[]{16,400})",
        folded=True,
    ),
    SecretPattern(
        "AWS secret key",
        ("aws_secret_access_key",),
        r"aws_secret_access_key[\"']?\s{0,9}[:=]\s{0,9}[\"']?([a-z0-9/+]{40})(?![a-z0-9/+])",
        folded=True,
    ),
    # As in a settings file, but behind the number or name that a tool puts before a line.
    SecretPattern(
        _NAMED,
        ("passw", "secret", "token", "key"),
        r"(?m)(?:PASSWORD|PASSWD|SECRET|TOKEN|API_KEY|ACCESS_KEY)"
        r"[A-Z0-9_]{0,40}=([^\s\"'$(]{12,200})$",
    ),
)
_PRIVATE: Final = "private key"
_PLAIN_PATTERNS: Final = tuple(form for form in SECRET_PATTERNS if form.name != _PRIVATE)
_VALUE_PATTERNS: Final = (*[form for form in SECRET_GUESSES if form.name != _NAMED], *_ECHOED)
_ALL_MARKS: Final = tuple(
    {mark.lower() for form in SECRET_PATTERNS + _VALUE_PATTERNS for mark in form.marks}
)
_NAMES: Final = tuple({form.name for form in SECRET_PATTERNS + _VALUE_PATTERNS} | {CONFIGURED_KEY})

# A whole key or, where the output was cut, its beginning. Each unit goes on where the one before
# it ended and takes nothing back, so that a search is linear on any text.
_BEGIN: Final = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_END: Final = r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_WHOLE_KEY: Final = rf"{_BEGIN}(?:[^-]++|-(?!----))*+{_END}"
_CUT_KEY: Final = rf"{_BEGIN}(?:(?:\\[nr]|[\s\d:|+>]){{0,24}}+[A-Za-z0-9+/=]{{30,}}+)++"
_MATERIAL: Final = r"[A-Za-z0-9+/=]{32}"


def redact(text: str) -> str:
    """Returns a text in which every secret is replaced by words that name its kind."""
    for own in _OWN:
        text = own.without_values(text)
    for _ in range(PASSES):
        found = _masked_once(text)
        if found == text:
            break
        text = found
    return text


def remember_secrets(values: Iterable[str]) -> None:
    """Has `masked` hide these values, too, instead of those that it was told before.

    Every face masks, and no face knows the configured keys: whoever reads the configuration does.
    """
    _OWN[:] = [Redactor(values)]


class Redactor:
    """Masks forms of secrets, and values that are known to be secret."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = {value for value in values if len(value) >= MIN_SECRET_CHARS}
        # What stands in our own words would be masked again and again.
        usable = [
            value for value in known if not any(value in redaction_text(name) for name in _NAMES)
        ]
        self._values = sorted(usable, key=lambda value: (-len(value), value))

    def __call__(self, text: str) -> str:
        """Returns a text without secrets."""
        return redact(self.without_values(text))

    def without_values(self, text: str) -> str:
        """Returns a text without the values that are known."""
        for value in self._values:
            if value in text:
                text = text.replace(value, redaction_text(CONFIGURED_KEY))
        return text


_OWN: Final[list[Redactor]] = []


def redaction_text(name: str) -> str:
    """Returns the words that stand in a secret's place."""
    return f"[masked: {name}]"


def _masked_once(text: str) -> str:
    low = _lowered(text)
    if not may_hold_secret(low, _ALL_MARKS):
        return text
    if "PRIVATE KEY" in text:
        text = re.sub(_WHOLE_KEY, _key, text)
        text = re.sub(_CUT_KEY, redaction_text(_PRIVATE), text)
    for form in _PLAIN_PATTERNS:
        if may_hold_secret(text, form.marks):
            text = re.sub(form.pattern, redaction_text(form.name), text)
    for form in _VALUE_PATTERNS:
        if may_hold_secret(low, form.marks):
            text = _without_values(text, form)
    return text


def _key(found: re.Match[str]) -> str:
    """Returns the mask of a private key; marks with nothing between them are no key."""
    return redaction_text(_PRIVATE) if re.search(_MATERIAL, found[0]) else found[0]


def _without_values(text: str, form: SecretPattern) -> str:
    """Masks the values, and nothing around them, that look like secrets."""
    where = _lowered(text) if form.folded else text
    pieces: list[str] = []
    end = 0
    for found in re.finditer(form.pattern, where):
        if looks_like_secret(found[1]):
            pieces += [text[end : found.start(1)], redaction_text(form.name)]
            end = found.end(1)
    return "".join([*pieces, text[end:]])


def _lowered(text: str) -> str:
    """Returns a text in lower case in which every character stands where it stood."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return re.sub("[A-Z]+", lambda found: found[0].lower(), text)
