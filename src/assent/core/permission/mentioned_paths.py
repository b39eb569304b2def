"""Finds the sensitive or outside paths that the text of a command mentions, also inside code.

The gate and the review both use it, so that neither passes over a name that the other finds.
Nothing is run or parsed: a name too many only means a question too many.
"""

import re
from collections.abc import Iterable, Iterator
from posixpath import normpath
from typing import Final

from assent.core.permission.protected_paths import protected_reason
from assent.core.permission.secret_files import secret_reason

# What stands between names in words, options, redirects and pieces of code.
# Patterns are compiled with their first use, and `re` keeps them; most commands need none.
_BREAKS: Final = rb"[\s;&|<>(){}\[\]`'\"=,:@*?!#$]+"
# Programs have variables under these names, and no file is meant; nor is one by `f().cursor()`.
_VARIABLES: Final = rb"\b(?:process|import\.meta|Deno|Bun)\.env\b[\w.]*|(?<=[)\]])\.\w+(?=\()"
_ESCAPES: Final = rb"\\[abefnrtv0]"  # as `printf` and strings in code have them
_ATTACHED: Final = rb"-[A-Za-z](?=[\w.~/])"  # an option that its value follows at once

_END: Final = r"[^\s'\"`()\[\]{}<>,;:|&*?$\\]*"
_PATH: Final = (
    rf"(?<![^\s'\"`(\[{{<>=:])(?:/{_END}|(?<!=)~[\w.-]*(?:/{_END})?|\$(?:HOME\b|{{HOME}}){_END}"
    rf"|(?:[\w.-]+/)*\.\.(?:/{_END})?)(?![\w.])"
)
_URL: Final = r"(?i)\b(?!file:)[a-z][a-z0-9+.-]*://[^\s'\"`)]*"
# A string in code begins here, and nothing ends: `('/x`, `r"/x`; not the second quote of `'a'/x`.
_OPENING: Final = r"(?i)(?:^|[^\w.)\]'\"`/])[rbuf]{0,2}['\"`]$"
_NEAR: Final = 4  # characters before a path that tell whether it is a string
_SYSTEM: Final = frozenset(
    [
        "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt",
        "nix", "opt", "private", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
        "Applications", "Library", "System", "Users", "Volumes",
    ]
)  # fmt: skip
_FLAGS: Final = r"[a-z]{0,3}"  # after a regular expression: `/x/gi`
# Every program reads the first ones when it starts; the last ones the sandbox makes anew.
_SYSTEM_PATHS: Final = (
    r"(?:/usr(?:/local)?)?/(?:s?bin|lib(?:32|64|x32|exec)?)(?:/.*)?"
    r"|/usr(?:/local)?/(?:include|share)(?:/.*)?|(?:/var)?/tmp(?:/.*)?"
)


def sensitive_mentions(texts: Iterable[bytes]) -> tuple[bytes, ...]:
    """Returns the names in texts that are protected or secret, as they are written."""
    names = dict.fromkeys(name for text in texts for name in _mentioned_names(text))
    return tuple(name for name in names if protected_reason(name) or secret_reason(name))


def outside_mentions(code: str) -> tuple[str, ...]:
    """Returns the paths in code that may lead away: absolute ones, a home's, and those with `..`.

    The top of the disk alone is none (`'/'.join(x)`), and neither are the places of the system
    that programs read by themselves. What may as well be a regular expression is one only below
    a folder that systems have.
    """
    text = re.sub(r"\bfile://(?=/)", "", re.sub(_URL, " ", code))
    at = [(path[0], path.start()) for path in re.finditer(_PATH, text)]
    found = [path for path, start in at if _is_path(path, text[max(start - _NEAR, 0) : start])]
    return tuple(dict.fromkeys(found))


def _mentioned_names(text: bytes) -> Iterator[bytes]:
    plain = re.sub(_VARIABLES, b" ", text)
    forms = [plain]
    if b"\\" in plain:
        forms += [re.sub(_ESCAPES, b" ", plain), plain.replace(b"\\", b"")]
    for form in forms:
        for word in re.split(_BREAKS, form):
            if word:
                yield word
                yield from [word[2:]] if re.match(_ATTACHED, word) else []


def _is_path(path: str, before: str) -> bool:
    is_string = re.search(_OPENING, before) is not None
    if not path.startswith("/"):
        return "/" in path or path.startswith("$") or is_string
    whole = "/" + normpath(path).lstrip("/")
    parts = whole[1:].split("/")
    if whole == "/" or re.fullmatch(_SYSTEM_PATHS, whole):
        return False
    return (
        is_string or parts[0] in _SYSTEM or (len(parts) > 1 and not re.fullmatch(_FLAGS, parts[-1]))
    )
