"""Commands that take a small program: sed, awk and jq, where it provably only prints."""

import re

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.spec import (
    OperandSpec,
    OptionSpec,
    ParsedArguments,
    ReadOnlyCommandSpec,
)
from assent.permissions.commands.read_only.tables.awk import read_awk

# sed: proves that a script cannot write, run a program or read other files.
#
# Only what every version of GNU sed reads alike is accepted; the sandbox option of sed comes on
# top.


PLAIN = "=dDgGhHnNpPxzF"  # commands with nothing after them
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
_LITERAL = re.compile(r"\\.|\[\^?+\]?+(?:\[:[a-z]+:\]|\[(?![:.=])|[^\[\]])*\]")
_ESCAPED = re.compile(r"\\.|\[\^?+\]?+(?:\[:[a-z]+:\]|\\.|\[(?![:.=])|[^\[\]\\])*\]")


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
                    raise Refused("The sed script needs an address after `,`.")
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
        """Reads a command that another may follow, after a `;` or a line break."""
        if name == "}":
            self._open -= 1
            if self._open < 0:
                raise Refused("The sed script has an extra `}`.")
        elif name in ("s", "y"):
            self._substitution(name)
        elif name == ":" or (name and name in BRANCHES):
            self._label(name)
        elif name and name in NUMBERED:
            self._skip(re.compile(r"[ \t]*\d*"))
        elif not name or name not in PLAIN:
            raise Refused(f"`{name}` is not an allowed command in a sed script.")
        self._skip(_BLANKS)
        if self._char() not in ("", "\n", ";", "#") and (self._char() != "}" or name == ":"):
            raise Refused(f"`{self._char()}` cannot follow `{name}` in the sed script.")

    def _label(self, name: str) -> None:
        found = _LABEL.match(self._text, self._at)
        if name == ":" and (not found or not found[1]):
            raise Refused("A label in a sed script needs a name of letters and digits.")
        self._at = found.end() if found else self._at

    def _inserted(self, name: str) -> None:
        found = _TEXT.match(self._text, self._at)
        if not found:
            raise Refused(f"`{name}` in a sed script needs text after it.")
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
            raise Refused(f"`{mark}` cannot be a delimiter in a sed script; use `/` or `|`.")
        return mark

    def _until(self, mark: str, *, pattern: bool) -> None:
        """Moves past the next delimiter. Inside brackets, versions of sed treat it differently."""
        start = self._at
        while (char := self._char()) != mark:
            if char in ("", "\n") or self._text[self._at : self._at + 2] in ("\\", "\\\n"):
                raise Refused(
                    f"A part of the sed script is malformed or is not closed by `{mark}`."
                )
            self._at += 2 if char == "\\" else 1
        if pattern and _open_bracket(self._text[start : self._at]):
            raise Refused(
                f"The delimiter `{mark}` is inside brackets in the sed script; use "
                "another delimiter."
            )
        self._at += 1

    def _char(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, form: re.Pattern[str]) -> None:
        found = form.match(self._text, self._at)
        self._at = found.end() if found else self._at


def _open_bracket(pattern: str) -> bool:
    """Tells whether a bracket expression is still open at the end, in anyone's reading."""
    return any("[" in form.sub("", pattern) for form in (_LITERAL, _ESCAPED))


# jq: its options with two values, and a program that reads nothing but what it is given.


FLAGS = OptionSpec.of(
    "aCcehjMnRrsSVbf --ascii-output --binary --build-configuration --color-output --compact-output "
    "--exit-status --from-file --help --join-output --monochrome-output --null-input --raw-input "
    "--raw-output --raw-output0 --seq --slurp --sort-keys --stream --stream-errors --tab "
    "--unbuffered --version --args --jsonargs"
).flags
VALUES = {"--indent": 1, "--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2}
_LOADS = re.compile(r"\s*(#|(module|import|include)\b)|[\s\S]*\bmodulemeta\b")


def read_jq(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Parses the words of a jq command, or raises Refused."""
    options: list[tuple[str, str]] = []
    operands: list[ShellWord] = []
    files: list[ShellWord] = []
    left = list(reversed(words))
    while left:
        word = left.pop()
        text = word.text
        if text == "--":
            operands += reversed(left)
            break
        if text in VALUES:
            values = [_value(text, left) for _ in range(VALUES[text])]
            options.append((text, values[0].text))
            files += values[1:] if text.endswith("file") else []
        elif text.startswith("-") and text != "-":
            options += [(name, "") for name in _flags(word)]
        else:
            operands.append(word)
    return _with_program(tuple(options), tuple(operands), tuple(files))


def _value(name: str, left: list[ShellWord]) -> ShellWord:
    if not left or left[-1].pattern:
        raise Refused(
            f"`jq {name}` has a missing value or a wildcard; number of values it needs: "
            f"{VALUES[name]}."
        )
    return left.pop()


def _flags(word: ShellWord) -> list[str]:
    names = [word.text] if word.text.startswith("--") else [f"-{char}" for char in word.text[1:]]
    for name in names:
        if name not in FLAGS or word.pattern:
            raise Refused(f"`jq {name}` is not in the list of read-only options.")
    return names


def _with_program(
    options: tuple[tuple[str, str], ...],
    operands: tuple[ShellWord, ...],
    files: tuple[ShellWord, ...],
) -> ParsedArguments:
    found = ParsedArguments(options, operands, files)
    if any(word.pattern for word in operands[:1]):
        raise Refused(f"`{operands[0].text}` has an unquoted wildcard; put it in quotes.")
    if found.has("-f", "--from-file"):
        return ParsedArguments(options, operands, (*files, *operands))
    if any(_LOADS.match(word.text) for word in operands[:1]):
        raise Refused("A jq program may not start with a comment or load other files.")
    return ParsedArguments(options, operands, (*files, *operands[1:]))


SED = ReadOnlyCommandSpec(
    "sed",
    OptionSpec.of(
        "nErsuzb --quiet --silent --regexp-extended --separate --unbuffered --null-data --binary "
        "--debug --sandbox --help --version",
        "el --expression --line-length",
    ),
    OperandSpec(texts=1, texts_unless=("-e", "--expression", "--version", "--help")),
    runs=(
        "sed -n '1,80p' x",
        "sed -n 5p x y",
        "sed 's/a/b/g;/two/d' x",
        "sed -e 's/a/b/' -e '$d' x",
        "sed -n '/class/,/return/{=;p}' x",
        "sed -E 's|([a-z]+)@|\\1 at |2gI' x",
        "sed ':a;N;$!ba;s/\\n/ /g' x",
        "sed '1i\\ text' x",
        "sed --expression=3q x",
    ),
    refused=(
        "sed -i s/a/b/ x",
        "sed -i.bak s/a/b/ x",
        "sed -ni 1p x",
        "sed s/a/b/ x -i",
        "sed --in-place s/a/b/ x",
        "sed --in-place=.bak s/a/b/ x",
        "sed --in-plac s/a/b/ x",
        "sed -f script x",
        "sed -nf script x",
        "sed --file=script x",
        "sed 'w out' x",
        "sed -n '/a/w out' x",
        "sed 's/a/b/w out' x",
        "sed 's/a/b/gw out' x",
        "sed 's/x/date/e' x",
        "sed '1e date' x",
        "sed 'r other' x",
        "sed 'R other' x",
        "sed 'W out' x",
        "sed -e p -e 'w out' x",
        "sed 's/[/]/b/w out' x",
        "sed --posix p x",
    ),
    rule=check_sed,
    adds=("--sandbox",),
)


def _awk(name: str) -> ReadOnlyCommandSpec:
    return ReadOnlyCommandSpec(
        name,
        raw=read_awk,
        runs=(
            f"{name} '{{print $1}}' x",
            f"{name} -F: -v n=2 'NR==n {{print $NF}}' *.txt",
            f"{name} -F ',' '$3 > 100 {{print $1, $2}}' x",
            f"{name} '/foo|bar/ {{n++}} END {{print n+0}}' x",
            f"{name} '{{s += $1}} END {{print s/NR}}' x",
            f"{name} '!seen[$0]++' FS=, x",
        ),
        refused=(
            f"{name} '{{print > \"out\"}}' x",
            f"{name} '{{print $1 >> \"out\"}}' x",
            f"{name} '{{print | \"sh\"}}' x",
            f"{name} 'BEGIN {{system(\"date\")}}'",
            f"{name} 'BEGIN {{\"date\" | getline}}'",
            f"{name} 'BEGIN {{getline x < \"other\"}}'",
            f"{name} '@load \"filefuncs\"' x",
            f"{name} '{{print}}' /inet/tcp/0/localhost/80",
            f"{name} -f script x",
            f"{name} -fscript x",
            f"{name} --file=script x",
            f"{name} -i inplace '{{print}}' x",
            f"{name} -oout '{{print}}' x",
            f"{name} --profile=out '{{print}}' x",
            f"{name} -W exec script",
            f"{name} -v ARGV=1 '{{print}}' x",
        ),
    )


JQ = ReadOnlyCommandSpec(
    "jq",
    raw=read_jq,
    runs=(
        "jq . x",
        "jq -r '.users[].name' a b",
        "jq -nr --arg a -x '$a'",
        "jq --argjson n 1 --indent 2 '.[$n]' x",
        "jq --slurpfile a x -n '$a'",
        "jq -n '$ARGS' --args *",
        "jq -f program.jq x",
        "jq '.exports.import' package.json",
    ),
    refused=(
        "jq -i . x",
        "jq --in-place . x",
        "jq -L lib . x",
        "jq -nL lib .",
        "jq -Llib . x",
        "jq -n 'import \"a\" as $a; $a'",
        "jq -n ' include \"a\"; .'",
        "jq --arg a",
        "jq .[0] x",
        "jq --raw . x",
    ),
    confined=("-f", "--from-file"),
    stays=True,
)

SCRIPT_COMMANDS = (SED, *(_awk(name) for name in ("awk", "gawk", "mawk")), JQ)
