"""Secrets in text: patterns of keys and passwords, a search for them, and redaction (F92)."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import log2
from typing import Final

import msgspec


class SecretPattern(msgspec.Struct, frozen=True):
    """A form of secret: its name, literals of which one must occur, and the pattern to search."""

    name: str
    marks: tuple[str, ...]
    pattern: str
    folded: bool = False  # looked for in lower case, because ignoring case is far slower
    needs: tuple[str, ...] = ()  # of each, one character must occur; that is found out fastest


# Each begins where its run of characters begins, so that a search is linear on any text.
SECRET_PATTERNS: Final = (
    SecretPattern("AWS access key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b(?<!EXAMPLE)"),
    SecretPattern(
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})\b",
    ),
    SecretPattern("GitLab token", ("glpat-",), r"(?<![\w-])glpat-[\w-]{20,}"),
    SecretPattern(
        "Slack token",
        ("xox", "hooks.slack.com/"),
        r"(?<![\w-])xox[abeoprs]-[A-Za-z0-9-]{10,}"
        r"|hooks\.slack\.com/services/T\w{1,40}/B\w{1,40}/\w{16,}",
    ),
    SecretPattern(
        "Google key",
        ("AIza", "GOCSPX-"),
        r"(?<![\w-])(?:AIza[\w-]{35}|GOCSPX-[\w-]{20,40})(?![\w-])",
    ),
    SecretPattern(
        "private key",
        ("PRIVATE KEY",),
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    ),
    SecretPattern(
        "API key",
        ("gsk_", "xai-", "hf_", "SG."),
        r"\b(?:gsk|hf)_[A-Za-z0-9]{20,}|(?<![\w-])xai-[\w-]{20,}"
        r"|(?<![\w.-])SG\.[\w-]{16,}\.[\w-]{16,}",
    ),
    SecretPattern("DigitalOcean token", ("_v1_",), r"\bdo[opr]_v1_[0-9a-f]{32,}"),
    SecretPattern("age key", ("AGE-SECRET-KEY-1",), r"\bAGE-SECRET-KEY-1[0-9A-Za-z]{40,}"),
    SecretPattern("payment key", ("k_live_",), r"\b[sr]k_live_[0-9A-Za-z]{20,}"),
    SecretPattern(
        "package registry token",
        ("npm_", "pypi-"),
        r"\bnpm_[A-Za-z0-9]{36}\b|(?<![\w-])pypi-AgEIcHlwaS5vcmc[\w-]{40,}",
    ),
    SecretPattern(
        "JSON web token", ("eyJ",), r"(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"
    ),
)
# Here the form alone proves little: the value, group 1, must also look random.
SECRET_GUESSES: Final = (
    # What must not stand before it is looked for afterwards, because a plain beginning is fast.
    SecretPattern("API key", ("sk-",), r"sk-(?<![\w-]sk-)([\w-]{20,})", needs=("-",)),
    SecretPattern(
        "password in a URL", ("://",), r"://[^/\s:@]{1,80}:([^/\s:@]{8,80})@", needs=("@",)
    ),
    SecretPattern(
        "password",
        ("passw", "pwd", "secret", "token", "key"),
        r"(?:passw(?:or)?d|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)"
        r"[\"']?\s{0,9}(?::=|=>|=|:)\s{0,9}[\"']([^\"'\s]{8,200})[\"']",
        folded=True,
        needs=("\"'", "=:"),
    ),
    SecretPattern(
        "password in a settings file",
        ("passw", "secret", "token", "key"),
        r"(?m)^(?:export )?[A-Z0-9_]{0,40}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_KEY|ACCESS_KEY)"
        r"[A-Z0-9_]{0,40}=([^\s\"'$(]{12,200})$",
        needs=("=",),
    ),
)


def _gated(marks: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Sorts marks by a character that they need and that few texts have: that is found faster."""
    found: dict[str, tuple[str, ...]] = {}
    for mark in marks:
        gate = next((rare for rare in "_-/jJzxKkwAG" if rare in mark), "")
        found[gate] = (*found.get(gate, ()), mark)
    return found


_MARKS: Final = _gated({mark for form in SECRET_PATTERNS for mark in form.marks})
_GUESS_MARKS: Final = _gated(
    {mark for form in SECRET_GUESSES for mark in form.marks}
)  # in lower case

_PLACEHOLDER: Final = (
    r"(?i)example|sample|change.?me|placeholder|dummy|fake|redacted|your|xxx|\.\.\.|\*\*\*|test|passw"
    r"|^[<{$%]|\$\{|\{\{|environ|getenv|process\.env|secrets\.|vault|12345"
)
_RANDOM: Final = 3.0  # bits for each character; English words have less, keys have more


def find_secret(text: str) -> str | None:
    """Names the first secret found in a text, or returns None."""
    if _may_hold_one(text, _MARKS):
        for form in SECRET_PATTERNS:
            if may_hold_secret(text, form.marks) and re.search(form.pattern, text):
                return form.name
    likely = [form for form in SECRET_GUESSES if _has_all(text, form.needs)]
    return _guessed(text, likely) if likely else None


def _guessed(text: str, forms: Iterable[SecretPattern]) -> str | None:
    low = text.lower()
    if not _may_hold_one(low, _GUESS_MARKS):
        return None
    for form in forms:
        where = low if form.folded else text
        if not may_hold_secret(low, form.marks):
            continue
        if any(looks_like_secret(found[1]) for found in re.finditer(form.pattern, where)):
            return form.name
    return None


def _has_all(text: str, needs: Iterable[str]) -> bool:
    for chars in needs:  # noqa: SIM110 - all() takes longer
        if not may_hold_secret(text, chars):
            return False
    return True


def _may_hold_one(text: str, gated: Mapping[str, tuple[str, ...]]) -> bool:
    for gate, marks in gated.items():  # noqa: SIM110 - any() takes longer
        if gate in text and may_hold_secret(text, marks):
            return True
    return False


def may_hold_secret(text: str, marks: Iterable[str]) -> bool:
    """Tells quickly whether a text could contain a secret; most text cannot."""
    for mark in marks:  # noqa: SIM110 - any() takes three times as long
        if mark in text:
            return True
    return False


def looks_like_secret(value: str) -> bool:
    """Tells whether a value looks like a secret and not like a name, a word or a placeholder."""
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return mixed and not re.search(_PLACEHOLDER, value) and _entropy(value) >= _RANDOM


def _entropy(value: str) -> float:
    counts = Counter(value).values()
    return -sum(count / len(value) * log2(count / len(value)) for count in counts)


# Redaction: replaces secrets in text that models, logs and faces get to see (F92).


MIN_SECRET_CHARS: Final = (
    8  # characters: a shorter value occurs in ordinary words, and protects nothing
)
PASSES: Final = 3  # text next to one secret may then look like another
CONFIGURED_KEY: Final = "configured API key"

_NAMED: Final = "password in a settings file"
# What is not worth a risk in a review, because no file contains it, but occurs in outputs.
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
    # As in a settings file, but after the number or name that a tool puts before a line.
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
_LOW_MARKS: Final = {
    mark.lower() for form in SECRET_PATTERNS + _VALUE_PATTERNS for mark in form.marks
}
_ALL_MARKS: Final = _gated(
    # Whoever has no `key` has no `api-key`.
    mark
    for mark in _LOW_MARKS
    if not any(other in mark for other in _LOW_MARKS - {mark})
)
SHORTEST: Final = 14  # characters: no pattern matches less
_NAMES: Final = tuple({form.name for form in SECRET_PATTERNS + _VALUE_PATTERNS} | {CONFIGURED_KEY})

# A whole key or, where the output was cut, its beginning. What follows is read piece by piece, each
# from where the one before it ended, so that a search is linear on any text.
_BEGIN: Final = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_END: Final = r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_BETWEEN_LINES: Final = r"(?:\\[nr]|[\s\d:|+>]){0,24}"  # of a key in a quote, a string or a listing
_LINE: Final = r"[A-Za-z0-9+/=]{30,}"
_DASHES: Final = "-----"
_MATERIAL: Final = r"[A-Za-z0-9+/=]{32}"


def redact(text: str) -> str:
    """Returns a text in which every secret is replaced by a text that names its kind."""
    for own in (*_OWN, *_READ):
        text = own.without_values(text)
    if len(text) < SHORTEST:  # as most texts of an event are
        return text
    for _ in range(PASSES):
        found = _masked_once(text)
        if found == text:
            break
        text = found
    return text


def remember_secrets(values: Iterable[str]) -> None:
    """Makes `redact` hide these values, too, instead of those remembered before.

    Every face redacts, but only the code that reads the configuration knows the configured keys.
    """
    _OWN[:] = [Redactor(values)]


def remember_read_key(key: str) -> None:
    """Makes `redact` hide a key that was read from where it is stored, for good."""
    _READ[:] = [*_READ, Redactor([key])]


class Redactor:
    """Redacts patterns of secrets, and values that are known to be secret."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = {value for value in values if len(value) >= MIN_SECRET_CHARS}
        # A value that occurs in our own mask texts would be masked again and again.
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
_READ: Final[list[Redactor]] = []


def redaction_text(name: str) -> str:
    """Returns the text that replaces a secret."""
    return f"[masked: {name}]"


def _masked_once(text: str) -> str:
    low = _lowered(text)
    if not _may_hold_one(low, _ALL_MARKS):
        return text
    if "PRIVATE KEY" in text:
        text = _without_keys(_without_keys(text, _end_of_whole), _end_of_cut)
    for form in _PLAIN_PATTERNS:
        if may_hold_secret(text, form.marks):
            text = re.sub(form.pattern, redaction_text(form.name), text)
    for form in _VALUE_PATTERNS:
        if may_hold_secret(low, form.marks):
            text = _without_values(text, form)
    return text


def _without_keys(text: str, end_of: Callable[[str, int], int]) -> str:
    """Masks private keys; `end_of` returns where the key ends whose content begins there, or -1."""
    pieces: list[str] = []
    done = 0
    for begin in re.finditer(_BEGIN, text):
        end = end_of(text, begin.end()) if begin.start() >= done else -1
        if end >= 0:
            pieces += [text[done : begin.start()], redaction_text(_PRIVATE)]
            done = end
    return "".join([*pieces, text[done:]])


def _end_of_whole(text: str, start: int) -> int:
    """Returns the end of a key that is complete; marks with nothing between them are not a key."""
    dashes = text.find(_DASHES, start)
    end = re.compile(_END).match(text, dashes) if dashes >= 0 else None
    return end.end() if end and re.compile(_MATERIAL).search(text, start, dashes) else -1


def _end_of_cut(text: str, start: int) -> int:
    """Returns the end of the lines that are left of a key."""
    between, line, end = re.compile(_BETWEEN_LINES), re.compile(_LINE), -1
    while (gap := between.match(text, start)) and (found := line.match(text, gap.end())):
        start = end = found.end()
    return end


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
