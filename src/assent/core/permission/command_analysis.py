"""What the text of a command shows: its effects, and the sensitive paths that it names."""

import re
from collections.abc import Iterable, Iterator
from posixpath import normpath
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from assent.core.errors import Refused
from assent.core.permission.rule import PermissionPattern
from assent.core.permission.sensitive_paths import protected_reason, secret_file, secret_reason
from assent.core.plan.operation import RunCommand
from assent.core.session.event import RiskLevel

# What commands do, as the table of programs says and the review calls it.
CommandEffectKind: TypeAlias = Literal[
    "installs", "network", "deletes", "writes_outside", "protected", "publishes"
]
COMMAND_EFFECT_KINDS: Final[tuple[CommandEffectKind, ...]] = get_args(CommandEffectKind)


def sorted_effects(found: Iterable[CommandEffectKind]) -> tuple[CommandEffectKind, ...]:
    """Returns effects once each, in one order."""
    known = set(found)
    return tuple(effect for effect in COMMAND_EFFECT_KINDS if effect in known)


class SpecialFileRefused(Refused):
    """A word names a device, a process or the root of the file system."""


class CommandPart(msgspec.Struct, frozen=True):
    """One command of a line, and how much of it a prefix has to name to say what it does."""

    words: tuple[str, ...]
    least: int = 1  # how many of the words; 0: all of them


class CommandAnalysis(msgspec.Struct, frozen=True):
    """What the text of a command line shows; the sandbox contains whatever this misses."""

    commands: tuple[str, ...]  # each command in it, also inside substitutions, as rules see it
    certain: bool = True  # false: not every command in it could be told
    reads: tuple[str, ...] | None = None  # the files it opens, if it only reads; None: it may write
    opens: tuple[str, ...] = ()  # file names in a line that may write, other than what it writes
    writes: tuple[str, ...] = ()  # files that redirects write
    perhaps: tuple[str, ...] = ()  # written if a name in it is a folder; only rules speak of these
    names: tuple[str, ...] = ()  # in a line that may write: what is protected or secret
    code: bool = False  # an interpreter in it runs code from the line itself or from a pipe
    danger: str = ""  # why this should never run; it is refused in every mode
    risk: RiskLevel = "low"
    reasons: tuple[str, ...] = ()
    effects: tuple[CommandEffectKind, ...] = ()  # what its commands do
    always: tuple[
        PermissionPattern, ...
    ] = ()  # what a remembered yes would cover; none: it cannot be
    sets_only: bool = False  # not certain because of variables alone that it sets to literal text
    parts: tuple[CommandPart, ...] = ()  # the commands word by word; more of them if not certain
    places: tuple[str, ...] = ()  # if not certain: words that could be where it writes


UNPARSED: Final = "This command could not be fully parsed."
SETS_VARIABLES: Final = (
    "It sets a variable for the command, so an answer counts only for this exact line."
)


def uncertainty_text(line: CommandAnalysis) -> str:
    """Returns why a line that is not certain is not."""
    return SETS_VARIABLES if line.sets_only else UNPARSED


def unread_line(text: str) -> CommandAnalysis:
    """Returns what is known of a line that was not analyzed: nothing, so it is not certain."""
    return CommandAnalysis((text,), certain=False, risk="high")


# Finds the sensitive or outside paths that the text of a command mentions, also inside code.
#
# The gate and the review both use it, so that neither passes over a name that the other finds.
# Nothing is run or parsed: a name too many only means a question too many.


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
# Every program reads the first ones when it starts; the sandbox creates the last ones itself.
_SYSTEM_PATHS: Final = (
    r"(?:/usr(?:/local)?)?/(?:s?bin|lib(?:32|64|x32|exec)?)(?:/.*)?"
    r"|/usr(?:/local)?/(?:include|share)(?:/.*)?|(?:/var)?/tmp(?:/.*)?"
)


def sensitive_mentions(texts: Iterable[bytes]) -> tuple[bytes, ...]:
    """Returns the names in texts that are protected or secret, as they are written."""
    names = dict.fromkeys(name for text in texts for name in _mentioned_names(text))
    return tuple(name for name in names if protected_reason(name) or secret_reason(name))


def outside_mentions(code: str) -> tuple[str, ...]:
    """Returns the paths in code that may be outside: absolute, in a home folder, or with `..`.

    The root alone is not one (`'/'.join(x)`), nor are system paths that programs read anyway. What
    may also be a regular expression counts only below a folder that systems have.
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


# Finds the protected and secret files that a command of a plan names.


def sensitive_names(op: RunCommand, line: CommandAnalysis) -> tuple[bytes, ...]:
    """Returns the names in a command that are protected or secret, as far as its text tells."""
    if op.profile == "commit":
        return ()  # it has one fixed form; the rest of the plan shows what it commits
    texts = [*op.argv, op.script, *op.undo, *(value for _, value in op.env)]
    found = [
        *sensitive_mentions(texts),
        *(name.encode("utf-8", "surrogateescape") for name in line.names),
    ]
    return tuple(dict.fromkeys(found))


def masked_names(names: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Returns those that the sandbox masks in any case, and those that it masks by content."""
    secrets = [name for name in names if secret_reason(name)]
    perhaps = [name for name in secrets if _by_content(name)]
    return [name for name in secrets if name not in perhaps], perhaps


def _by_content(path: bytes) -> bool:
    folder, _, name = path.rpartition(b"/")
    found = secret_file(folder.rpartition(b"/")[2], name)
    return found is not None and bool(found.marks)
