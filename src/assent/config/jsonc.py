"""Parses JSON with comments and trailing commas, as in OpenCode's files."""

import re
from typing import Any

import msgspec

from assent.core.json_depth import is_too_deep

# Strings come first, so that nothing inside one is taken for a comment or a comma. Patterns are
# compiled when the first file needs them.
_TOKEN = (
    r'(?s)(?P<string>"(?:[^"\\]|\\.)*+")|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<open>/\*)|(?P<comma>,)'
)
_CLOSES = r"\s*[}\]]"


class BadJson(Exception):
    """A text is not valid JSON, even without comments; says why."""


def read_jsonc(content: bytes) -> dict[str, Any]:
    """Returns the object in a file; raises BadJson."""
    try:
        text = content.decode("utf-8-sig")
        found = msgspec.json.decode(without_comments(text))
    except UnicodeDecodeError as error:
        raise BadJson(f"byte {error.start} is not UTF-8") from None
    except msgspec.DecodeError as error:
        raise BadJson(f"it is not valid JSON: {error}") from None
    except RecursionError:
        raise BadJson("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise BadJson("it is not a JSON object")
    if is_too_deep(found):
        raise BadJson("it is nested too deeply")
    return found


def without_comments(text: str) -> str:
    """Returns a text of the same length in which comments and trailing commas are blank."""
    bare = re.sub(_TOKEN, _blanked, text)
    return re.sub(_TOKEN, lambda token: _needed(token, bare), bare)


def _blanked(token: re.Match[str]) -> str:
    if token["open"]:
        raise BadJson("it has an unclosed comment")
    return re.sub(r"[^\n]", " ", token[0]) if token["comment"] else token[0]


def _needed(token: re.Match[str], text: str) -> str:
    if not token["comma"] or not re.compile(_CLOSES).match(text, token.end()):
        return token[0]
    at = token.start()
    while at and text[at - 1].isspace():
        at -= 1
    follows_value = (text[at - 1] if at else "") not in (*"{[,:", "")
    return " " if follows_value else token[0]
