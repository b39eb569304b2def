"""What a critic reads of a plan, and what its answer says about which lines.

A critic is a second model. Its answer is untrusted text: it decides nothing and changes nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from assent.core.plan.comment import PLAN, CommentAnchor, CommentTarget, Finding, Severity
from assent.core.text import counted

MAX_INPUT_CHARS: Final = 200_000  # of a plan that a critic reads, about 50,000 tokens
MAX_FINDINGS: Final = 20
MAX_FINDING_CHARS: Final = 1_000
NOT_SHOWN: Final = "(not shown: not text, empty, or a file that may not be read without asking)"
_SEVERITIES: Final[dict[str, Severity]] = {"low": "low", "medium": "medium", "high": "high"}
_FENCED: Final = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_FIRST_NUMBER: Final = re.compile(r"\s*(\d{1,7})")
_MAX_DIGITS: Final = 20  # of a number that means something here; a longer one takes long to read
MAX_ATTEMPTS: Final = 500  # objects of an answer that are looked at one by one


class CriticInput(msgspec.Struct, frozen=True):
    """A plan as a critic reads it: numbered lines; `unread` is how many did not fit."""

    text: str
    unread: int = 0


class Findings(msgspec.Struct, frozen=True):
    """The findings of an answer; `dropped` were too many, repeated, or could not be read."""

    findings: tuple[Finding, ...] = ()
    dropped: int = 0


LINES_CUT = "more lines are not shown: too long"


def critic_input(parts: Sequence[CommentTarget], most: int = MAX_INPUT_CHARS) -> CriticInput:
    """Returns a plan with the numbers that findings name, in about `most` characters.

    The text comes first, then each operation. What no longer fits is left out, and it says so.
    """
    pieces: list[str] = []
    unread, room = 0, most
    for at, part in enumerate(parts):
        if room <= 0:
            more = counted(len(parts) - at, "more operation")
            pieces.append(f"(too long: {more} not shown)")
            unread += sum(len(left.lines) for left in parts[at:])
            break
        heading = f"# {PLAN}" if not part.number else f"# operation {part.number}: {part.about}"
        lines = [f"{number} | {line}" for number, line in enumerate(part.lines, 1)]
        shown = _fitting(lines, room - len(heading))
        missing = len(lines) - len(shown)
        cut = [f"({missing} {LINES_CUT})"] if missing else []
        cut += [NOT_SHOWN] if not lines else []
        text = "\n".join([heading, *shown, *cut])
        pieces.append(text)
        unread += missing
        room = room - len(text) if not missing else 0
    return CriticInput("\n\n".join(pieces), unread)


def _fitting(lines: Sequence[str], room: int) -> Sequence[str]:
    size = 0
    for count, line in enumerate(lines):
        size += len(line) + 1
        if size > room:
            return lines[:count]
    return lines


def parse_findings(answer: str, parts: Sequence[CommentTarget]) -> Findings | None:
    """Returns what an answer says about a plan; None if it cannot be read.

    A line that does not exist ties a finding to its part as a whole; a part that does not exist,
    to the plan's text as a whole.
    """
    items, damaged = _items(answer)
    if items is None:
        return None
    found: dict[tuple[str, int, str], Finding] = {}
    for item in items:
        finding = _finding(item, parts) if isinstance(item, Mapping) else None
        if finding is None or len(found) == MAX_FINDINGS:
            continue
        found.setdefault((finding.anchor.operation, finding.anchor.first, finding.text), finding)
    if items and not found:
        return None
    return Findings(tuple(found.values()), len(items) - len(found) + damaged)


def _items(answer: str) -> tuple[Sequence[object] | None, int]:
    """Returns the objects of an answer, and how many of them are damaged.

    They are an array, one object, or any objects among other text.
    """
    for text in _candidates(answer):
        value = _decoded(text)
        if isinstance(value, Mapping) and isinstance(value.get("findings"), list):
            value = value["findings"]
        if isinstance(value, list):
            return value, 0
        if isinstance(value, Mapping):
            return [value], 0
    return _salvaged(answer)


def _salvaged(answer: str) -> tuple[Sequence[object] | None, int]:
    """Reads one object after the other, so that one that is damaged costs only itself."""
    found: list[object] = []
    damaged, at = 0, answer.find("{")
    for _ in range(MAX_ATTEMPTS):
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(answer, at)
        except (ValueError, RecursionError):
            damaged += answer.startswith('"', _after_blank(answer, at + 1))  # else it is prose
            end = at + 1
        else:
            found.append(value)
        at = answer.find("{", end)
    return found or None, damaged


def _after_blank(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _candidates(answer: str) -> Iterator[str]:
    """Yields what could be the JSON of an answer: models put words and fences around it."""
    yield answer.strip()
    yield from (found.strip() for found in _FENCED.findall(answer))
    first, last = answer.find("["), answer.rfind("]")
    if 0 <= first < last:
        yield answer[first : last + 1]


def _decoded(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MAX_DIGITS else None


# Not msgspec: for that a number out of range, or half of a surrogate pair, damages all of it.
_DECODER: Final = json.JSONDecoder(parse_int=_integer)


def _finding(item: Mapping[str, Any], parts: Sequence[CommentTarget]) -> Finding | None:
    said = item.get("text")
    # On one line: no finding can show lines that look like another comment.
    text = " ".join(said.split()) if isinstance(said, str) else ""
    if not text or any("\ud800" <= char <= "\udfff" for char in text):  # which cannot be stored
        return None
    if len(text) > MAX_FINDING_CHARS:
        text = f"{text[:MAX_FINDING_CHARS]}…"
    part = _part(item.get("on", PLAN), parts)
    line = _number(item.get("line")) if part is not None else 0
    part = part or parts[0]
    line = line if line <= len(part.lines) else 0
    quote = part.lines[line - 1 : line] if line else ()
    anchor = CommentAnchor(part.operation, line, line, quote, part.about, part.seen)
    return Finding(anchor, text, _SEVERITIES.get(str(item.get("severity", "")).lower(), ""))


def _part(on: object, parts: Sequence[CommentTarget]) -> CommentTarget | None:
    """Returns the part of that number or name: `plan`, an operation's number, or its file."""
    if on in (PLAN, None):
        return parts[0]
    if isinstance(on, float) and on.is_integer():
        on = int(on)
    number = str(on).lower().removeprefix("operation").strip()
    if number.isdecimal():
        return next((part for part in parts if number == str(part.number)), None)
    named = [part for part in parts if part.number and part.about.partition(" ")[2] == on]
    return named[0] if len(named) == 1 else None


def _number(value: object) -> int:
    """Returns the number of `3`, `"3"` or `"3-5"`; 0 for everything else."""
    found = _FIRST_NUMBER.match(str(value))
    return int(found[1]) if found else 0
