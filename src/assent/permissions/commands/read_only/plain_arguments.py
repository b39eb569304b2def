"""Commands with their own argument rules: echo, printf, test, tree, xxd and the like."""

import re
from itertools import pairwise

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.spec import ParsedArguments, words_in

_FILE_TEST = re.compile(r"-[bcdefghkprsuwxGLNOS]|-[no]t|-ef")
_OTHER_TEST = re.compile(r"-[aontz]|-(eq|ne|gt|ge|lt|le)|--help|--version|-[^A-Za-z-].*|--?")
_ECHO = re.compile(r"-[neE]+|(?!-[A-Za-z]).*", re.DOTALL)

# tree takes the next word for -L, -P and -I whatever letters follow in the same word.
_TREE_FLAGS = re.compile(r"-[adlfxqNQpugshDFvtcUriASnCXJ]+")
_TREE_VALUE = re.compile(r"-[adlfxqNQpugshDFvtcUriASnCXJ]*[LPI]")
_TREE_LEVEL = re.compile(r"-[adlfxqNQpugshDFvtcUriASnCXJ]*L\d+")
_TREE_LONG = words_in(
    "--gitignore --ignore-case --matchdirs --metafirst --prune --noreport --si --du --inodes "
    "--device --dirsfirst --filesfirst --nolinks --version --help"
)
_TREE_LONG_VALUE = words_in("--filelimit --timefmt --sort --charset")

# xxd looks at the first letter alone, ends options at the first file, and writes to the second.
_XXD_FLAG = re.compile(r"-(a|b|C|d|E|e|i|p|ps|plain|postscript|u|v|h|autoskip|bits)")
_XXD_VALUE = re.compile(r"-(c|cols|g|groupsize|l|len|o|s|seek)")
_XXD_NUMBER = re.compile(r"[+-]{0,2}(0x[0-9a-fA-F]+|\d+)")
_XXD_ATTACHED = re.compile(rf"-[cglos]{_XXD_NUMBER.pattern}")


def read_echo(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Accepts any words, unless some version of echo could read the first as an option."""
    if words and not _ECHO.fullmatch(words[0].text):
        raise Refused(
            f"`echo {words[0].text}` is not a supported option; use `printf` to print it."
        )
    return ParsedArguments(operands=words)


def read_printf(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Accepts a format and texts. In a shell, -v would set a variable."""
    if not words:
        raise Refused("`printf` needs a format.")
    if words[0].text.startswith("-") and words[0].text not in ("-", "--"):
        raise Refused(f"`printf {words[0].text}` is not in the list of read-only options.")
    return ParsedArguments(operands=words)


def read_test(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Accepts a condition; the word after a file test is a file."""
    for word in words:
        known = _FILE_TEST.fullmatch(word.text) or _OTHER_TEST.fullmatch(word.text)
        if word.text.startswith("-") and not known:
            raise Refused(f"`{word.text}` is not a test of files, numbers or strings.")
    tested = [b for a, b in pairwise(words) if _FILE_TEST.fullmatch(a.text)]
    return ParsedArguments(operands=words, reads=tuple(tested))


def read_bracket(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Accepts a condition that ends in `]`."""
    if not words or words[-1].text != "]":
        raise Refused("`[` needs `]` as its last argument, after a space.")
    return read_test(words[:-1])


def read_tree(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Accepts options anywhere; the value of a short one is the next word."""
    options: list[tuple[str, str]] = []
    operands: list[ShellWord] = []
    left = list(reversed(words))
    while left:
        word = left.pop()
        if not word.text.startswith("-"):
            operands.append(word)
            continue
        name, sign, value = word.text.partition("=")
        if word.pattern:
            raise Refused(f"`{word.text}` is an option with a wildcard; quote it.")
        if _TREE_VALUE.fullmatch(word.text) or (name in _TREE_LONG_VALUE and not sign):
            options += _letters(name[:-1])
            options.append((name, _plain_value("tree", name, left)))
        elif word.text in _TREE_LONG:
            options.append((name, ""))
        elif _TREE_FLAGS.fullmatch(word.text):
            options += _letters(name)
        elif _TREE_LEVEL.fullmatch(word.text) or name in _TREE_LONG_VALUE:
            options.append((name, value))
        else:
            raise Refused(f"`tree {word.text}` is not in the list of read-only options.")
    return ParsedArguments(tuple(options), tuple(operands), tuple(operands))


def _letters(cluster: str) -> list[tuple[str, str]]:
    return [] if cluster.startswith("--") else [(f"-{letter}", "") for letter in cluster[1:]]


def read_xxd(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Accepts options, then at most one file: xxd would write to a second one."""
    options: list[tuple[str, str]] = []
    left = list(reversed(words))
    while left and left[-1].text.startswith("-") and left[-1].text != "-":
        name = left.pop().text
        if _XXD_VALUE.fullmatch(name):
            options.append((name, _number(name, left)))
        elif _XXD_FLAG.fullmatch(name) or _XXD_ATTACHED.fullmatch(name):
            options.append((name, ""))
        else:
            raise Refused(f"`xxd {name}` is not in the list of read-only options.")
    if len(left) > 1 or any(word.pattern for word in left):
        raise Refused("`xxd` takes one file, as its last argument: it would write to a second one.")
    return ParsedArguments(tuple(options), tuple(left), tuple(left))


def _plain_value(command: str, name: str, left: list[ShellWord]) -> str:
    if not left or left[-1].pattern or left[-1].text.startswith("-"):
        raise Refused(f"`{command} {name}` needs a value without wildcards or a leading dash.")
    return left.pop().text


def _number(name: str, left: list[ShellWord]) -> str:
    if not left or not _XXD_NUMBER.fullmatch(left[-1].text):
        raise Refused(f"`xxd {name}` needs a number.")
    return left.pop().text
