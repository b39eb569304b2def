"""sed: which scripts count as read-only, and that those have no effect when they really run."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.permissions.real_programs import CANARY, prepare, run, state
from tests.support.properties import examples

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.spec import ParsedArguments
from assent.permissions.commands.read_only.tables.scripts import check_sed

RUNS = r"""
p
1,80p
$p
5!d
$!N;P
/class/,/return/p
/a/I,+3p
\|src/|p
\,a,{p;p}
0,/x/d
1~2p
2,~4p
s/a/b/
s/a/b/g;s/c/d/3gIp
s|src/|lib/|g
s,a\,b,c,
s/[^\/]*$//
s/[[:space:]]*$//
s/[]x]/y/
s/\[x\]/y/
s/a\/b/c/
s/^/    /
s/\(a\)\(b\)/\2\1/
s/.*/\U&/
y/abc/xyz/
/^$/d
/TODO/=
1{p;q}
3q
10q5
l
l 20
1!G;h;$!d
:a;N;$!ba;s/\n/ /g
/x/b end;p;:end
ta;s/x/y/;Tb
1i\ text
1i text with w and e
$a the end
2c\text
p # a comment w out
F
z;x
{p}
{p;p};d
/a/{/b/p}
/a/ ! p
1 , 3 p
s/a/b/ ; p
"""

REFUSED = r"""
w out
w
1w out
/a/w out
$!w out
W out
r other
R other
e
e date
1e date
s/a/b/w out
s/a/b/gw out
s/a/b/e
s/a/b/ge
s/a/b/2e
s/a/b/Iew out
s|a|b|w out
sxaxbxw out
s/[/]/b/w out
s/[\]/x/w out/p
s/\//b/w out
{w out
p;w out
y/a/b/;w out
\,a,w out
/x/I w out
0,/a/w out
1~2w out
i
a
{p
p}
}
s/a/b
s/a/b/q
s/[/b/
y/a/b
v
M
p q
p w
:
:a b
s a b 
/a
/[/]/p
1,
1,w out
k
"""


@pytest.mark.parametrize("script", RUNS.strip("\n").split("\n"))
def test_a_script_that_only_prints(script: str) -> None:
    check_sed(_script(script))


@pytest.mark.parametrize("script", REFUSED.strip("\n").split("\n"))
def test_any_other_script(script: str) -> None:
    with pytest.raises(Refused):
        check_sed(_script(script))


@pytest.mark.parametrize(
    "script",
    [
        "p\nw out",
        "a\\\ntext\nw out",
        "a text\nw out",
        "# c\nw out",
        "s/a/b\\\nc/w out",
        "{\nw out\n}",
    ],
)
def test_a_line_break_hides_nothing(script: str) -> None:
    with pytest.raises(Refused):
        check_sed(_script(script))


@pytest.mark.parametrize("script", ["a\\\nw out", "a w\\\nw out", "i\\\n  e\n$d", "{\np\n}"])
def test_inserted_text_is_text(script: str) -> None:
    check_sed(_script(script))


def test_pieces_make_one_script() -> None:
    check_sed(ParsedArguments((("-e", "/a/{"), ("--expression", "p"), ("-e", "}"))))
    check_sed(ParsedArguments((("-e", "a\\"), ("-e", "w out"))))
    with pytest.raises(Refused, match="`w` in a sed script writes a file"):
        check_sed(ParsedArguments((("-e", "p"), ("-e", "w out"))))


SCRAPS = r"""1 $ 0~2 /a/ /[/ ]/
[ ] \ / | , ! { } ; p d = x G N q s/a/b/ s| |b| s/[^ [:alpha:] \/
y/a/b/ g I e w n r ew a\ i #"""
PIECES = SCRAPS.split()
EFFECTS = (
    "w pwned",
    "w",
    "e",
    "e touch pwned",
    "r other",
    "R other",
    "s/.*/touch pwned/e",
    "\n",
    " ",
)


@pytest.mark.skipif(shutil.which("sed") is None, reason="there is no sed here")
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from((*PIECES, *EFFECTS)), min_size=1, max_size=9))
def test_what_is_accepted_has_no_effect(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str]
) -> None:
    script = "".join(pieces)
    assume(_accepted(script))
    folder = prepare(tmp_path_factory.mktemp("sed") / "work")
    before = state(folder)
    output = run(folder, "sed", "-e", script)
    assert state(folder) == before
    assert CANARY not in output


@pytest.mark.skipif(shutil.which("sed") is None, reason="there is no sed here")
@pytest.mark.parametrize("script", ["w pwned", "s/.*/touch pwned/e", "r other"])
def test_the_effects_would_show(tmp_path: Path, script: str) -> None:
    folder = prepare(tmp_path / "work")
    before = state(folder)
    output = run(folder, "sed", "-e", script)
    assert state(folder) != before or CANARY in output


def _script(text: str) -> ParsedArguments:
    return ParsedArguments(operands=(ShellWord(text), ShellWord("in")))


def _accepted(script: str) -> bool:
    try:
        check_sed(_script(script))
    except Refused:
        return False
    return True
