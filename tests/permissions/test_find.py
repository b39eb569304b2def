"""find: which expressions count as read-only, and what they read."""

import pytest

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord, parse_command_line
from assent.permissions.commands.read_only.tables.search import ACTIONS, read_find

RUNS = r"""
find
find .
find . -name '*.py'
find src tests -type f -name 'test_*'
find . -maxdepth 2 -mindepth 1 -type d
find -L . -xtype l
find -H -O2 a b -print
find . \( -name a -o -name b \) -a ! -path './.git/*'
find . -not -empty -and -size +1k -or -links 2
find . -path ./.git -prune -o -type f -print0
find . -newer README.md -newermt '2024-01-01' -newerBm x
find . -mtime -7 -mmin +3 -perm -u+x -user root
find . -regextype posix-extended -iregex '.*(a|b)'
find . -printf '%f %s\n' -ls -quit
find . -name a , -name b
find */ -name x
find ../other /etc -name -delete
find . -name '-exec'
find . -samefile x -daystart -depth -xdev
find --version
find - -name x
"""

REFUSED = r"""
find . -delete
find -delete
find . -exec rm x \;
find . -execdir rm x +
find . -ok rm x \;
find . -okdir rm x \;
find . -fprint out
find . -fprint0 out
find . -fprintf out %p
find . -fls out
find . -name x -o -delete
find . -name x -exec rm y \;
find . \( -name x -o -exec rm y \; \)
find . ! -delete
find . -not -delete
find . , -delete
find . -print -delete
find . -printf x -fprintf out x
find . -newermt x -delete
find . -newer -delete -delete
find . -type f -fprint README.md
find -files0-from list
find -D tree .
find -X .
find -- . -name x
find . -unknown
find . -newerXY x
find . -name
find . -name *.py
find . -name a?c
find . -type f src
find . -name a b
find -O9 .
find . -exe\c rm x \;
find . '-exec' rm x ';'
"""


@pytest.mark.parametrize("line", RUNS.strip("\n").split("\n"))
def test_an_expression_that_only_tests_and_prints(line: str) -> None:
    read_find(_arguments(line))


@pytest.mark.parametrize("line", REFUSED.strip("\n").split("\n"))
def test_any_other_expression(line: str) -> None:
    with pytest.raises(Refused):
        read_find(_arguments(line))


def test_the_reason_names_the_action() -> None:
    for name, why in ACTIONS.items():
        with pytest.raises(Refused) as refused:
            read_find((ShellWord("."), ShellWord(name), ShellWord("x")))
        assert refused.value.message == f"`find {name}` {why}."


def test_starting_points_and_compared_files_are_read() -> None:
    found = read_find(_arguments("find -L a */ -name x -newer b -newermt c -newerma d"))
    assert [word.text for word in found.reads] == ["a", "*/", "b", "d"]
    assert found.operands == (ShellWord("a"), ShellWord("*/", "*/"))


def _arguments(line: str) -> tuple[ShellWord, ...]:
    return parse_command_line(line)[0].commands[0].words[1:]
