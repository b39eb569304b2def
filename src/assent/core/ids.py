"""Readable names of sessions and plans, and the text form of time-ordered ids."""

import re

from assent.core.errors import UsageError

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PLAN_NAME = re.compile(r"[a-z0-9_-]{1,80}")
_SESSION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

NO_WORDS = "untitled"
SLUG_LENGTH = 48
_WORD = re.compile(rf"[a-z0-9]{{1,{SLUG_LENGTH}}}")
NAME_LENGTH = 80
NAME_WORDS = 6


def format_id(milliseconds: int, noise: int) -> str:
    """Formats an id whose text order is its order in time: 48 bits of time, 80 random bits."""
    number = (milliseconds << 80) | (noise & ((1 << 80) - 1))
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def slug(text: str) -> str:
    """Makes a kebab-case session name from a goal: its first words, at most 48 characters."""
    kept: list[str] = []
    for word in _WORD.findall(text.casefold()):
        if len("-".join([*kept, word])) > SLUG_LENGTH:
            break
        kept.append(word)
    return "-".join(kept) or NO_WORDS


def plan_name(text: str) -> str:
    """Returns a valid plan name unchanged; raises UsageError for anything else."""
    if not _PLAN_NAME.fullmatch(text):
        raise UsageError(
            f"A plan name may contain only a-z, 0-9, _ and -, not {text!a}.",
            "assent plan new add_login --goal 'Let people log in'",
        )
    return text


def plan_name_of(goal: str) -> str:
    """Makes a plan's name from a goal: its first words, joined by underscores."""
    return "_".join(slug(goal).split("-")[:NAME_WORDS])


def session_name(text: str) -> str:
    """Returns a valid kebab-case session name unchanged; raises UsageError for anything else."""
    if not _SESSION.fullmatch(text) or len(text) > NAME_LENGTH:
        raise UsageError(
            f"A session name must be kebab-case (a-z and 0-9, joined by -), not {text!a}.",
            f"assent plan new NAME --session {slug(text)}",
        )
    return text
