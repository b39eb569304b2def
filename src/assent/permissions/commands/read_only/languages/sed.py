"""sed: proves that a script cannot write, run a program or read other files.

Only what every version of GNU sed reads alike is accepted; the sandbox option of sed comes on top.
"""

import re

from assent.core.errors import Refused
from assent.permissions.commands.read_only.spec import ParsedArguments

PLAIN = "=dDgGhHnNpPxzF"  # commands with nothing behind them
NUMBERED = "qQl"  # an exit code or a width may follow
BRANCHES = "btT"
TEXTS = "aic"  # text up to the end of the line
WRITES = {"w": "writes a file", "W": "writes a file", "e": "runs a command"}
READS = {"r": "reads another file", "R": "reads another file"}

_BLANKS = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"[ \t\n;]*")
_ADDRESS = re.compile(r"\$|\d+(~\d+)?|[+~]\d+")
_LABEL = re.compile(r"[ \t]*([A-Za-z0-9_]*)[ \t]*")
_FLAGS = re.compile(r"[gpiImM0-9]*")
_TEXT = re.compile(r"[ \t]*(\\\n)?(?=[^\n])(\\[\s\S]|[^\\\n])+(?=\n|\Z)")
# A backslash in brackets is a character to some, an escape to others.
_LITERAL = re.compile(r"\\.|\[\^?+\]?+(?:\[:[a-z]+:\]|\[(?![:.=])|[^\[\]])*+\]")
_ESCAPED = re.compile(r"\\.|\[\^?+\]?+(?:\[:[a-z]+:\]|\\.|\[(?![:.=])|[^\[\]\\])*+\]")


def check_sed(found: ParsedArguments) -> None:
    """Raises Refused unless the script of a sed command provably only prints."""
    pieces = found.values("-e", "--expression")
    if not pieces:
        pieces = [word.text for word in found.operands[:1]]
    _SedScript("\n".join(pieces)).check()


class _SedScript:
    """Walks through a script, one command after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open = 0  # braces

    def check(self) -> None:
        self._skip(_BETWEEN)
        while self._at < len(self._text):
            if self._text[self._at] != "}":
                self._addresses()
            self._command()
            self._skip(_BETWEEN)
        if self._open:
            raise Refused("The sed script has a `{` that is not closed.")

    def _addresses(self) -> None:
        if self._address():
            self._skip(_BLANKS)
            if self._char() == ",":
                self._at += 1
                self._skip(_BLANKS)
                if not self._address():
                    raise Refused("The sed script lacks an address behind `,`.")
        self._skip(_BLANKS)
        if self._char() == "!":
            self._at += 1
            self._skip(_BLANKS)

    def _address(self) -> bool:
        if found := _ADDRESS.match(self._text, self._at):
            self._at = found.end()
            return True
        if self._char() == "\\":
            self._at += 1
        elif self._char() != "/":
            return False
        self._until(self._delimiter(), pattern=True)
        while self._char() and self._char() in "IM":
            self._at += 1
        return True

    def _command(self) -> None:
        name = self._char()
        self._at += 1
        if name in WRITES or name in READS:
            raise Refused(f"`{name}` in a sed script {(WRITES | READS)[name]}.")
        if name and name in TEXTS:
            self._inserted(name)
        elif name == "#":
            self._at = (self._text + "\n").index("\n", self._at)
        elif name == "{":
            self._open += 1
        else:
            self._ended(name)

    def _ended(self, name: str) -> None:
        """Reads a command behind which another may stand, after a `;` or a line break."""
        if name == "}":
            self._open -= 1
            if self._open < 0:
                raise Refused("The sed script has a `}` too many.")
        elif name in ("s", "y"):
            self._substitution(name)
        elif name == ":" or (name and name in BRANCHES):
            self._label(name)
        elif name and name in NUMBERED:
            self._skip(re.compile(r"[ \t]*\d*"))
        elif not name or name not in PLAIN:
            raise Refused(f"`{name}` is no command that a sed script may have here.")
        self._skip(_BLANKS)
        if self._char() not in ("", "\n", ";", "#") and (self._char() != "}" or name == ":"):
            raise Refused(f"`{self._char()}` stands behind `{name}` in the sed script.")

    def _label(self, name: str) -> None:
        found = _LABEL.match(self._text, self._at)
        if name == ":" and (not found or not found[1]):
            raise Refused("A label in a sed script needs a name of letters and digits.")
        self._at = found.end() if found else self._at

    def _inserted(self, name: str) -> None:
        found = _TEXT.match(self._text, self._at)
        if not found:
            raise Refused(f"`{name}` in a sed script needs a text behind it.")
        self._at = found.end()

    def _substitution(self, name: str) -> None:
        mark = self._delimiter()
        self._until(mark, pattern=name == "s")
        self._until(mark, pattern=False)
        if name == "y":
            return
        self._skip(_FLAGS)
        if self._char() in WRITES:
            what = WRITES[self._char()]
            raise Refused(f"`s///{self._char()}` in a sed script {what}.")

    def _delimiter(self) -> str:
        mark = self._char()
        self._at += 1
        if not mark or not mark.isascii() or mark.isalnum() or mark in "\\ \t\n[];{}":
            raise Refused(f"`{mark}` as a delimiter in a sed script; use `/` or `|`.")
        return mark

    def _until(self, mark: str, *, pattern: bool) -> None:
        """Goes behind the next delimiter. In brackets versions of sed differ about it."""
        start = self._at
        while (char := self._char()) != mark:
            if char in ("", "\n") or self._text[self._at : self._at + 2] in ("\\", "\\\n"):
                raise Refused(f"A part of the sed script is not closed by `{mark}`, or is broken.")
            self._at += 2 if char == "\\" else 1
        if pattern and _open_bracket(self._text[start : self._at]):
            raise Refused(f"`{mark}` stands in brackets in the sed script; use another delimiter.")
        self._at += 1

    def _char(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, form: re.Pattern[str]) -> None:
        found = form.match(self._text, self._at)
        self._at = found.end() if found else self._at


def _open_bracket(pattern: str) -> bool:
    """Tells whether a bracket expression is still open at the end, in anyone's reading."""
    return any("[" in form.sub("", pattern) for form in (_LITERAL, _ESCAPED))
