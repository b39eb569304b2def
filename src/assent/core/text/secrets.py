"""Secrets: patterns of keys and passwords, and a search for them with few false positives."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
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
        "password in an address", ("://",), r"://[^/\s:@]{1,80}:([^/\s:@]{8,80})@", needs=("@",)
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
    """Tells quickly of most text that nothing in it can be a secret."""
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
