"""F79 and F81: what bash would read as code once more is never certain, so that no rule and no
remembered answer covers it; what is replaced only once stays certain."""

from pathlib import Path

import pytest
from tests.permissions.real_bash import shows

from assent.permissions.commands.classifier import MAX_LINE, classify_command_line

P = "x='$(touch PWN)'; "
A = "x='a[$(touch PWN)]'; "
AGAIN = (
    P + "git status ${x@P}", P + 'git status "${x@P}"', P + "cat <<E\n${x@P}\nE",
    A + "echo $((x))", A + "echo $[x]", A + "echo ${y[x]}", A + 'echo "${y[$x]}"', A + "echo ${!x}",
    A + "echo ${y:x}", A + "echo ${y:$x}", A + "echo ${y:0:x}", A + "echo ${y/$x/b}", A + "y[x]=1",
    A + "y[x]=1 make", A + "y=([x]=1)", A + "((x))", A + "((y = x))", A + "let x", A + "let y=x",
    A + "for ((i=x;i<1;i++)); do echo; done", A + "case $((x)) in *) echo;; esac",
    "for x in 'a[$(touch PWN)]'; do echo $((x)); done", A + 'test -v "$x"', A + "[ -v $x ]",
    A + "[[ -v $x ]]", A + "[[ x -eq 1 ]]", A + "[[ $x -eq 1 ]]", A + "[ $x ]",
    A + "declare -i y=x", A + "declare -i y; y=$x", A + "typeset -i y=$x", A + "local -i y=x",
    A + "declare -n y=x", A + 'printf -v "$x" a', A + "printf $x", A + 'read "$x" <<< a',
    A + 'unset "$x"', A + "echo ${#y[x]}", A + "echo ${x@a}", A + "echo ${y:=$x}",
    A + "cat <<E\n$((x))\nE",
    "read x <<< 'a[$(touch PWN)]'; echo $((x))", "echo $((x)); x=1", A + "echo \"$((x))\"",
    "printf -v 'a[$(touch PWN)]' b", "read 'a[$(touch PWN)]' <<< b", "unset 'a[$(touch PWN)]'",
    "mapfile -C 'touch PWN' -c 1 x < f", "wait -n -p 'a[$(touch PWN)]'",
    "declare 'a[$(touch PWN)]=1'",
    "export 'a[$(touch PWN)]=1'", "RANDOM='a[$(touch PWN)]'", "SECONDS='a[$(touch PWN)]'; make",
    "for SECONDS in 'a[$(touch PWN)]'; do echo; done", "for PATH in /tmp; do git status; done",
    "select PATH in /tmp; do git status; done", "read PATH <<< /tmp; git status",
    "PS4='$(touch PWN)'; set -x; echo a", "PROMPT_COMMAND='touch PWN'; echo", "set -k; make a=b",
    "set -a; x=1", "exec 3> f", "exec < f", "jobs -x make", "unalias make", "builtin let x",
    "command eval make", "builtin test -v 'a[$(touch PWN)]'", "a=(1); declare a='($(touch PWN))'",
    "x[0]=1 y[z]=2", "${x:-$(make)}", "[ $x -eq 1 ]", "[[ $x -gt y ]]", "[ a -o -v b ]",
)  # fmt: skip
ONCE = (
    "x=1; echo $x", 'f=a; wc "$f" ${f}', "echo ${x:-a} ${x-b} ${x:+c} ${#x}",
    "echo ${f%.txt} ${f##*/}",
    "echo $((1 + 2 * 3))", 'a=(1 2); echo "${a[@]}" ${a[0]} ${#a[@]}', "a[0]=1; echo",
    "echo ${x^^}",
    "for f in *.py; do echo $f; done", "[ -f a ] && make", '[ "$x" = b ] || make',
    "[[ $x == *.py ]]",
    '[ "$x" -eq 1 ] && make', "[[ $# -gt 1 ]]", "while read -r l; do echo $l; done < f",
    "set -euo pipefail",
    "printf '%s' $x > f", "echo '${x@P}' '$((x))' > f", "cat <<'E' > f\n${x@P} $((x))\nE",
    "[[ -n $x && ! -d b ]] && make", "echo ${x/a/b}", "declare x=1", "unset x", "make # ${x@P}",
)  # fmt: skip


@pytest.mark.parametrize("text", AGAIN)
def test_f79_what_bash_evaluates_again_is_not_certain(text: str) -> None:
    line = classify_command_line(text)
    assert (line.certain, line.risk, line.always) == (False, "high", ())
    assert line.reasons


@pytest.mark.parametrize("text", ONCE)
def test_f79_what_bash_replaces_once_is_certain(text: str) -> None:
    assert classify_command_line(text).certain


@pytest.mark.parametrize("text", [text for text in (*AGAIN, *ONCE) if "select" not in text])
def test_f79_bash_makes_a_file_only_for_a_line_that_is_not_certain(
    text: str, tmp_path: Path
) -> None:
    assert not (classify_command_line(text).certain and shows(text, tmp_path))


VARIABLES = (
    "MAKEFILES=e.mk make test", "PYTEST_ADDOPTS='-p evil' pytest", "PYTEST_PLUGINS=e pytest",
    "MANPAGER=x man ls", "TAR_OPTIONS=x tar xf a", "LUA_INIT=x lua a.lua", "GIT_PAGER=x git log",
    "GIT_EXTERNAL_DIFF=x git diff", "x=1 make", "http_proxy=x; git fetch",
    "npm_config_x=1; npm test",
    "export MAKEFILES=e.mk; make", "export x", "env MAKEFILES=e.mk make", "env -u A B=c make",
    "LANG=/tmp/evil make", "LC_ALL=../../x make", "RUSTC_WRAPPER=x cargo build", "A=1; make",
    "HOME=/tmp make", "readonly PATH", "declare PATH=x",
)  # fmt: skip


@pytest.mark.parametrize("text", VARIABLES)
def test_f79_a_variable_that_programs_may_obey_is_a_doubt(text: str) -> None:
    line = classify_command_line(text)
    assert (line.certain, line.always) == (False, ())


@pytest.mark.parametrize(
    "text", ["LANG=C make", "LC_ALL=C.UTF-8 TZ=Europe/Rome make", "GIT_PAGER=cat git log > f",
             "NO_COLOR=1 pytest", "env CI=1 make", "RUST_BACKTRACE=1 cargo test"]
)  # fmt: skip
def test_f79_a_variable_that_changes_how_programs_print_is_none(text: str) -> None:
    assert classify_command_line(text).certain


def test_f91_a_line_that_is_too_long_to_read_is_refused_with_a_way_out() -> None:
    line = classify_command_line("echo " + "a" * MAX_LINE)
    assert line.danger.endswith("write a script file and run that.")
    assert (line.certain, line.risk, line.always) == (False, "high", ())
    assert not classify_command_line("echo " + "a" * (MAX_LINE - 5)).danger


TRAPS = (
    "find " + "-exec a " * 900, "x(){" + "x|" * 3900, "echo a|" * 1100, "${" * 3900, "a(){" * 1900,
    "A=b " * 1900, "<‹" * 3900, "xargs " * 1300, "sh -c " * 1300, "a;" * 3900, "[[ ! " * 1500,
)  # fmt: skip


@pytest.mark.parametrize("text", TRAPS, ids=range(len(TRAPS)))
def test_f79_a_line_of_very_many_parts_is_not_looked_through(text: str) -> None:
    line = classify_command_line(text)
    assert not line.certain
    assert len(line.commands) <= 2 * 51
