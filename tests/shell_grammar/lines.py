"""Command lines and patterns made up to be misread: nearly in the grammar, or just outside it."""

from collections.abc import Mapping
from random import Random
from typing import TypeAlias

Tree: TypeAlias = Mapping[str, "Tree | None"]  # a folder: its files are None

LETTERS = "ar012-_=.:/,@%+^"
SIGNS = " \t\n|&;<>()$`\\\"'{}*?[]#~!" + LETTERS + "é\u00a0\u3000漢\u0301😀"
REDIRECTS = (
    "2>&1 2>/dev/null 2>&- 1>&2 >&2 >r <r <<a <<<a &>r </dev/null <>r <&0 <(r) 0</dev/null < "
)
BRACES = "HEAD@{1} @{u} @{a,r} @{0..2} @{-1} a^{} ^{a} ^{a,r} {a,r} {0..2} a{ }a {} @{ ^{"
DOLLARS = '${a} $a $((1)) $(a) `a` $\'a\' $"a" $[1] "$a" "$" \\$a \'$a\' $$ "${a}" "$[1]" "`a`" $'
TILDES = "~ ~/a a=~ a:~ a=~/r:~/a ~a ''~ ~r a~ =~ :~ \\~ '~' a=a:~ ~+"
ASSIGNS = "a= a=1 a[0]=1 a+=1 'a'=1 a\\=1"
OPERATORS = "&& || | ; |& ;; & ;& ||| &&& ! ( ) (( )) () (r) (r;r)"
VARIABLES = (
    '$HOME $PWD "$HOME" "$PWD/a" $HOME/a a$PWD $HOMEx $HOMEé ${HOME} "$HOME"* $PWD$HOME \\$HOME'
)
QUOTES = '\\ \\\' \\" \'\' "" "\\a" "\\$" "\\`" "\\\\" "\\\\a" "\\"" \'\\\' "\'" \'"\' \' "'
OTHERS = (
    "# #a a# ''# - -- -a if time [[ ]] [ ] do case function a() coproc * ? [a] a* !a !! ^a^r é 'é'"
)
GROUPS = (VARIABLES, REDIRECTS, BRACES, DOLLARS, TILDES, ASSIGNS, OPERATORS, QUOTES, OTHERS)
FRAGMENTS = [part for group in GROUPS for part in group.split()] + ["\\\n", "\\ ", "2> /dev/null"]
JOINTS = (" | ", "|", " && ", "&&", " || ", "; ", ";")
ENDS = ("", "", "", " </dev/null", " 2>&1", " 2>/dev/null", "\t2>  /dev/null", "2>&1")

BRACKETS = (
    "[ab] [!a] [^a] [a-b] [b-a] []a] [!]a] [a-] [-a] [\\]a] ['a-b'] [\"!\"a] [\\!a] [a a] [] [!] ["
)
DOTS = (
    ".* */a/ */a/. */b . .. ./ / // */ \\* '*' \"[\" \\[ \\a [.] [!.] [a\\-b] [a'/'b] [a/b] \\/ '/'"
)
CLASSES = (
    "[[] [[a] [\\\\] \\\\ '\\' 'é' ['é'] ** [:a] [=a] [.a] [[:a] [: :] [a:] [[a-b]] [--a] [a-b-c]"
)
STARS = "* ? * ? *"
WILD = [part for group in (STARS, BRACKETS, DOTS, CLASSES) for part in group.split()]
WILD += ["'\n'", "['\n']"]


def line(random: Random) -> str:
    """Makes up a command line."""
    match random.randrange(6):
        case 0 | 1 | 2:
            return "r " + " ".join(_word(random) for _ in range(random.randint(1, 2)))
        case 3:
            return _joined(random)
        case 4:
            made = _joined(random)
            at = random.randrange(len(made))
            return made[:at] + random.choice(FRAGMENTS) + made[at:]
        case _:
            start = random.choice(("", "r "))
            return start + _several(random, [*SIGNS, *FRAGMENTS, " "], 8)


def pattern(random: Random) -> str:
    """Makes up a word with wildcards."""
    return random.choice(WILD) + _several(random, [*WILD, *"ab-!^[]*?./:"], 3)


def tree(random: Random, depth: int = 2) -> Tree:
    """Makes up files and folders, with names that patterns are about."""
    names = {
        _several(random, list("aab-.[]!^*\\é \n:"), 1) + random.choice("aab-]") for _ in range(6)
    }
    found = {name: None for name in names if name not in (".", "..")}
    return {
        name: tree(random, depth - 1) if depth and random.random() < 0.3 else None for name in found
    }


def _several(random: Random, parts: list[str], most: int) -> str:
    return "".join(random.choice(parts) for _ in range(random.randint(0, most)))


def _word(random: Random) -> str:
    return "".join(_piece(random) for _ in range(random.randint(1, 3)))


def _piece(random: Random) -> str:
    match random.randrange(5):
        case 0:
            return random.choice(LETTERS)
        case 1 | 2:
            return random.choice(FRAGMENTS)
        case 3:
            return _quoted(random, random.choice(FRAGMENTS))
        case _:
            return _quoted(random, _several(random, list(SIGNS), 3))


def _quoted(random: Random, text: str) -> str:
    escaped = "".join("\\" + sign for sign in text)
    return random.choice((f"'{text}'", f'"{text}"', escaped))


def _joined(random: Random) -> str:
    parts = []
    for _ in range(random.randint(1, 4)):
        words = " ".join(_word(random) for _ in range(random.randint(0, 2)))
        command = f"r {words}{random.choice(ENDS)}"
        if not random.randrange(4):
            command = f"({random.choice(('r;', 'r && ', ''))}{command}){random.choice(ENDS)}"
        parts.append(f"{command}{random.choice(JOINTS)}")
    return "".join(parts) + "r"
