"""Reads one configuration file, and checks that only its user could have written it.

Only a regular file of modest size is read: TOML, or JSON with comments and trailing commas, as in
OpenCode's files.
"""

import errno
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG, S_IWGRP, S_IWOTH
from typing import Any, TypeAlias

import msgspec

from assent.config.paths import leads_within
from assent.core.decoding import is_too_deep
from assent.core.errors import UsageError
from assent.core.paths import display_path

Opener: TypeAlias = Callable[[bytes, int], int]

LIMIT = 64 * 1024
MAX_KEY_PARTS = 500  # of a dotted key in TOML
_AT_ONCE = os.O_NONBLOCK | os.O_NOCTTY  # a pipe with no writer must not block
NOT_REGULAR = "it is not a regular file"
IN_WORKSPACE = "it is in the workspace, where plans and agents can write"
OTHERS_CAN_WRITE = "others can write to it"
_STRING = re.compile(r'"[^"\\\n]*"|\'[^\'\n]*\'')  # of TOML, if it is short and plain
_TOML_ERROR = r"(.+) \(at line ([0-9]+), column ([0-9]+)\)"  # what the parser says
_TOML_KEY = r"\s*([A-Za-z0-9_.-]{1,80})\s*="  # never the value, which may be a secret
_SAID = {
    errno.EISDIR: "it is a folder",
    errno.ELOOP: "it is a symlink, which is not followed here",
    errno.ENXIO: NOT_REGULAR,
}


class ConfigFile(msgspec.Struct, frozen=True):
    """A configuration file as it was read; a missing one has an empty table."""

    path: Path
    table: dict[str, Any] = {}
    owner: int = 0
    mode: int = 0
    text: bytes = b""


def read_config(path: Path, opener: Opener, *, follow: bool) -> ConfigFile:
    """Reads one settings file; `follow` allows its name to be a symlink."""
    try:
        source, text = read_content(path, opener, follow=follow)
    except FileNotFoundError:
        return ConfigFile(path)
    return msgspec.structs.replace(source, table=parse_toml(path, text), text=text)


def read_content(
    path: Path, opener: Opener, *, follow: bool, limit: int = LIMIT, placeholder: bool = False
) -> tuple[ConfigFile, bytes]:
    """Returns a file's owner information and its bytes; raises FileNotFoundError or UsageError.

    With `placeholder`, an empty folder counts as a missing file: such a folder reserves the name
    while a command runs in the sandbox, and contains no settings.
    """
    flags = _AT_ONCE if follow else _AT_ONCE | os.O_NOFOLLOW

    def careful(name: str, how: int) -> int:
        return opener(os.fsencode(name), how | flags)

    try:
        with open(path, "rb", opener=careful) as file:
            found = os.fstat(file.fileno())
            if not S_ISREG(found.st_mode):
                raise _misplaced(path, NOT_REGULAR)
            text = file.read(limit + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        if placeholder and isinstance(error, IsADirectoryError) and _is_empty(path):
            raise FileNotFoundError(error.errno, "an empty folder", path) from None
        raise _misplaced(path, _SAID.get(error.errno or 0, str(error.strerror))) from None
    if len(text) > limit:
        raise config_error(path, f"it is longer than {limit} bytes")
    return ConfigFile(path, {}, found.st_uid, found.st_mode), text


def config_error(path: Path, why: str) -> UsageError:
    """Returns the error about a file that its owner must edit."""
    return UsageError(
        f"{path_text(path)} cannot be used: {why}. Nothing was changed.", edit_command(path)
    )


def setting_error(source: ConfigFile, kind: Any, error: msgspec.ValidationError) -> UsageError:
    """Returns the error about a setting, with its line, its key and what would be right."""
    from assent.config.schema import explained

    table = {key: value for key, value in source.table.items() if key != "modes"}
    why = explained(source.text.decode("utf-8"), table, kind, str(error))
    return config_error(source.path, why)


def setting_line(text: bytes, *path: str | int) -> str:
    """Returns which line sets a key, as the beginning of a message about it."""
    from assent.config.schema import line_text

    return line_text(text.decode("utf-8"), path)


def text_for_lines(path: Path, opener: Opener) -> bytes:
    """Returns what a settings file says now, to name a line of it; nothing if that is not valid."""
    try:
        _, text = read_content(path, opener, follow=True)
        parse_toml(path, text)
    except (FileNotFoundError, UsageError):
        return b""
    return text


def edit_command(path: Path) -> str:
    """Returns the command that opens a file for editing."""
    return f"$EDITOR {shlex.quote(path_text(path))}"


def path_text(path: Path) -> str:
    """Returns a path as messages show it."""
    return display_path(os.fsencode(path))


def parse_toml(path: Path, text: bytes) -> dict[str, Any]:
    """Returns the table in a settings file; where there is none, nothing loads the parser."""
    import tomllib

    try:
        said = text.decode("utf-8")
        if _has_endless_key(said):
            raise config_error(path, "it is nested too deeply")
        table = tomllib.loads(said)
    except UnicodeDecodeError as error:
        raise config_error(path, f"byte {error.start} is not UTF-8") from None
    except ValueError as error:
        raise config_error(path, _toml_problem(said, str(error))) from None
    except RecursionError:
        raise config_error(path, "it is nested too deeply") from None
    if is_too_deep(table):
        raise config_error(path, "it is nested too deeply")
    return table


def _toml_problem(text: str, why: str) -> str:
    """Returns why a text is not TOML, with line and key first, as for a wrong setting."""
    found = re.fullmatch(_TOML_ERROR, why)
    if found is None:
        return why
    lines = text.split("\n")
    line = lines[int(found[2]) - 1] if int(found[2]) <= len(lines) else ""
    key = re.match(_TOML_KEY, line)
    named = f"{key[1]}: " if key else ""
    hint = "; a text needs quotes" if found[1] == "Invalid value" and key else ""
    return f"line {found[2]}: {named}{found[1]} at column {found[3]}{hint}"


def _has_endless_key(text: str) -> bool:
    """Tells whether a key has very many parts; the parser takes time by the square of them."""
    if text.count(".") <= MAX_KEY_PARTS:
        return False
    return any(line.count(".") > MAX_KEY_PARTS for line in _STRING.sub("", text).split("\n"))


def _is_empty(folder: Path) -> bool:
    try:
        return not os.listdir(folder)
    except OSError:  # who cannot look is warned
        return False


def _misplaced(path: Path, why: str) -> UsageError:
    """Returns the error about a problem that no editor can fix."""
    quoted = shlex.quote(path_text(path))
    return UsageError(unreadable_text(path, why), f"ls -ld {quoted}")


def unreadable_text(path: Path, why: str) -> str:
    """Returns that a file cannot be read, and why."""
    return f"{path_text(path)} cannot be read: {why}. Nothing was changed."


# Checks that a configuration file could only have been written by its user.


def ownership_problem(source: ConfigFile, root: bytes) -> str:
    """Returns why a file is not accepted as the user's own in this workspace; empty if it is."""
    if leads_within(root, os.fsencode(os.path.abspath(source.path))):
        return IN_WORKSPACE
    if source.owner not in (0, os.geteuid()):
        return "it belongs to another user"
    if source.mode & (S_IWGRP | S_IWOTH):
        return f"{OTHERS_CAN_WRITE}; fix this with `chmod go-w {_quoted(source.path)}`"
    return ""


def _quoted(path: Path) -> str:
    return shlex.quote(path_text(path))


# Parses JSON with comments and trailing commas, as in OpenCode's files.


# Strings come first, so that nothing inside one is taken for a comment or a comma. Patterns are
# compiled when the first file needs them.
_TOKEN = (
    r'(?s)(?P<string>"(?:[^"\\]|\\.)*")|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<open>/\*)|(?P<comma>,)'
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
