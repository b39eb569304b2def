"""Commands with rules of their own for words: jq, tree, xxd, test, echo and printf."""

import pytest

from assent.core.shell.parser import parse_command_line
from assent.permissions.commands.read_only.classifier import classify_read_only, read_only_command

RUNS = r"""
jq . x
jq -r '.a | .[]' x y
jq -nr --arg a --foo '$a'
jq --argjson a 1 --arg b 2 -c '.' x
jq --rawfile a x --slurpfile b y -n '$a'
jq . --args a b
jq -n --jsonargs '$ARGS' 1 2
jq '.import, .include' x
jq 'if .a == "import" then 1 else 2 end' x
jq --indent 4 -S . *.json
jq -f program.jq x
jq -- . x
tree -a -L 2 --dirsfirst src tests
tree -I '*.pyc|.git' -P '*.py'
tree -aI .git
tree --filelimit 20 --sort=mtime
xxd x
xxd -c 8 -g1 -l 0x20 -s -5 x
xxd -ps -u -
test -e x
test ! -e x -a 1 -lt 2
test -n '' -o a != b
test -1 -lt 2
[ -d src ]
[ a -nt b ]
echo
echo -n -e a b
echo - -- --- a
echo "- item"
printf %s -v
printf -- -v
"""

REFUSED = r"""
jq -i . x
jq -L lib . x
jq -rL lib . x
jq --arg a
jq --arg a b* . x
jq --indent
jq --foo . x
jq 'import "a" as a; .' x
jq ' include "a"; .' x
jq 'module {}; import "a" as a; .' x
jq '# c' x
jq '"a" | modulemeta'
jq .[] x
tree -o out
tree -aoout
tree -Po a out
tree -IPo a b out
tree -L2o out
tree -R
tree -H x
tree -P -o out
tree --output=x
tree --fromfile x
tree --prun
tree -- x
xxd x y
xxd x -p
xxd -p x y
xxd -ps x y
xxd -cols x y
xxd -r x
xxd -pr x
xxd --revert x
xxd -c
xxd -c x
xxd - out
test -v x
test --nonsense
[
[ -d src
[ -d src ] x
echo -x
echo -en4
printf
printf -v a b
printf -x
"""


@pytest.mark.parametrize("line", RUNS.strip("\n").split("\n"))
def test_words_that_only_read(line: str) -> None:
    assert classify_read_only(line).read_only, classify_read_only(line).reason


@pytest.mark.parametrize("line", REFUSED.strip("\n").split("\n"))
def test_any_other_words(line: str) -> None:
    assert not classify_read_only(line).read_only


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("jq . a b", ["a", "b"]),
        ("jq --slurpfile a b --rawfile c d . e", ["b", "d", "e"]),
        ("jq -rf a b", ["a", "b"]),
        ("jq . a --args b", ["a", "b"]),
        ("tree -L 2 a b", ["a", "b"]),
        ("xxd -l 3 a", ["a"]),
        ("test -f a -a b -nt c", ["a", "c"]),
        ("[ -s a ]", ["a"]),
        ("echo a", []),
        ("sed -n 1p a b", ["a", "b"]),
        ("sed -e p -e p a", ["a"]),
        ("grep -f a b", ["a", "b"]),
        ("grep x b", ["b"]),
        ("rg --files a", ["a"]),
        ("date -r a +%s", ["a"]),
    ],
)
def test_what_is_read(line: str, reads: list[str]) -> None:
    reading = read_only_command(parse_command_line(line)[0].commands[0], sandboxed=True)
    assert [word.text for word in reading.reads] == reads


def test_what_a_table_adds_comes_first() -> None:
    for line, words in (("rg x", "rg --no-config x"), ("sed -n p y", "sed --sandbox -n p y")):
        reading = read_only_command(parse_command_line(line)[0].commands[0], sandboxed=True)
        assert " ".join(word.text for word in reading.words) == words
