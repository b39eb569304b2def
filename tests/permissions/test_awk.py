"""awk: which programs count as read-only, and that those have no effect when they really run."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.permissions.real_programs import CANARY, prepare, run, state
from tests.support.properties import examples

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.tables.awk import check_awk, read_awk

AWKS = ("gawk", "mawk")

RUNS = r"""
{print $1}
NR==2
NR>=10 && NR<=20
NR>=10 && NR<=20 {print NR": "$0}
$3 > 100 {print $1, $2}
length > 80
length($0) > 40
/foo|bar/ {n++} END {print n+0}
{s+=$1} END {print s/NR}
{print $NF}
!seen[$0]++
{printf "%-10s %5.2f\n", $1, $2/1024/1024}
{printf("%s\n", $1)}
{n[$1]++} END {for (k in n) print n[k], k}
/start/,/end/
/^#/ {next} {print FILENAME ":" FNR ": " $0}
{gsub(/a\/b/, "c"); sub("x", "y"); print toupper(substr($0, 1, 3))}
{n = split($0, parts, /[,;]/); print parts[n]}
BEGIN {FS = ","; OFS = "\t"} {$1 = $1; print}
BEGIN {while (i < 3) {print i; i++}}
function f(a, b) {return a > b ? a : b} {print f($1, $2)}
$1 ~ /^[[:alpha:]_]+$/ && $2 !~ /x/
{print ($1 > $2)}
{x = $1 > $2; print x}
{if ($1 > max) max = $1} END {print max}
{print (a + b) / 2}
{print "a | b > c", "#", "@", "system(1)", "\"x\""}
/[|>#@]/
/=/ {print}
{a["x"] = 4; print a["x"]/2/2}
match($0, /[0-9]+/) {print substr($0, RSTART, RLENGTH)}
NR % 5 == 0
{$1 = ""; print}
{print length / 2}
{print; print
print $1}
{ if (NR > 1) print "x"; else print "y" }
END { if (n > 1) exit 1; exit(2) }
{x[NR] = $0} END {for (i = NR; i > 0; i--) print x[i]}
"""

REFUSED = r"""
{print > "out"}
{print>$1}
{print $1 > "out"}
{print $1>FILENAME}
{print >> "out"}
{printf "x" > "out"}
{printf("x") > "out"}
{print (1) > "out"}
{print (1)(2) > "out"}
{print (1, 2) > "out"}
{print a["x"] > "out"}
{print "a" "b" > "out"}
{print $1 >= 2}
{if (1) print "x"; else print "y" > "out"}
{print /a/ > "out"}
{print "x" | "sh"}
{print | "sh"}
{print |& "sh"}
{"date" | getline}
{getline x < "other"}
{getline}
BEGIN {while (("cat x") | getline l) print l}
{system("date")}
{system ("date")}
BEGIN {f = "system"; @f("date")}
@load "filefuncs"
@include "inplace"
{ARGV[1] = "other"}
{ARGC = 9}
{print ENVIRON["HOME"]}
{PROCINFO["sorted_in"] = "x"}
{SYMTAB["ARGV"]}
{FUNCTAB["x"]}
{print} # comment
{print "a}
{print $1/2 /x/ > "out"}
{print length /x/ 2}
{x++ /a/; print /b/ > "out"}
{print (1) /a/ > "out"; x = /b/}
{if (x) /a/; print /b/}
/[/]/ {print}
/[]/]/ {print}
/[^]/]/ {print}
/[\]/]/ {print}
/a]/ {print}
/a
{print `date`}
{print 'x'}
{extension("x")}
{unknown(1)}
{CONVFMT = "%n"}
{print _"text"}
switch (x) { case 1: print }
function system(x) {return 1}
function length(x) {return 1}
{print (1; print > "out")}
"""


@pytest.mark.parametrize("program", RUNS.strip("\n").replace("print\nprint", "print;").split("\n"))
def test_a_program_that_only_prints(program: str) -> None:
    check_awk(program)


@pytest.mark.parametrize("program", REFUSED.strip("\n").split("\n"))
def test_any_other_program(program: str) -> None:
    with pytest.raises(Refused):
        check_awk(program)


@pytest.mark.parametrize("break_", [",\n", " &&\n", " ||\n", " ?\n", ",\n\n"])
def test_a_print_goes_on_behind_a_line_break(break_: str) -> None:
    with pytest.raises(Refused, match="writes to a file"):
        check_awk(f'{{print 1{break_}2 > "out"}}')


def test_a_line_break_ends_a_print() -> None:
    check_awk("{print 1\nx = 2 > 1}\n\n$1 > 2\nEND {print 3\n}")
    with pytest.raises(Refused):
        check_awk('{x = 1\\\n; print > "out"}')


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("{print}", ""),
        ("{print} a b", "a b"),
        ("-F, {print} a", "a"),
        ("-F , -v n=2 {print} a", "a"),
        ("-vn=2 -- {print} a", "a"),
        ("{print} FS=, a -v b", "a -v b"),
        ("--version", ""),
    ],
)
def test_options_end_where_the_program_begins(line: str, files: str) -> None:
    assert read_awk(_words(line)).reads == _words(files)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "-f x",
        "-fx",
        "--file=x",
        "-i inplace {print} a",
        "-iinplace {print}",
        "-l readdir {print}",
        "-o {print}",
        "-oout {print}",
        "-d {print}",
        "-pout {print}",
        "-D {print}",
        "-E x",
        "-e {print}",
        "-W exec=x",
        "-n {print}",
        "--profile=out {print}",
        "--source={print}",
        "--sandbox {print}",
        "-v ARGC=3 {print}",
        "-v ENVIRON=3 {print}",
        "-v 3 {print}",
        "-v",
        "{print} /inet/tcp/0/localhost/80",
        "{print} /inet6/tcp/0/localhost/80",
        "{print} ARGV=3",
        "-",
    ],
)
def test_other_options_and_operands(line: str) -> None:
    with pytest.raises(Refused):
        read_awk(_words(line))


ATOMS = st.sampled_from(
    ["1", "x", "$1", "$NF", '"s"', "/a/", "a[1]", "length", "NR", "x++", "(1)", "f(2)", "-1", "!x"]
)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(
            "({} {} {})".format,
            inner,
            st.sampled_from([">", "<", "==", "/", "~", "&&", ","]),
            inner,
        ),
        st.builds("{}{}{}".format, inner, st.sampled_from([" ", "/", " / ", "+", "?1:"]), inner),
    ),
    max_leaves=4,
)
ENDS = st.sampled_from(["", "", ' > "pwned"', '>>"pwned"', ' | "sh"', " > $1", "\n", ",\n2>3"])
STATEMENTS = st.one_of(
    st.builds("{} {}{}".format, st.sampled_from(["print", "printf"]), EXPRESSIONS, ENDS),
    st.builds("x = {}".format, EXPRESSIONS),
    st.builds("if ({}) print {}".format, EXPRESSIONS, EXPRESSIONS),
    st.builds("if (1) {}; print {}".format, EXPRESSIONS, EXPRESSIONS),
)
PROGRAMS = st.builds(
    "function f(v) {{return v}} {} {{{}}}".format,
    EXPRESSIONS,
    st.lists(STATEMENTS, min_size=1, max_size=3).map(";".join),
)
PIECES = r"""{ } ( ) [ ] ; , / /a/ /[/ ]/ " "s" x 1 $1 print printf length ++ -- > >> < | || && ! ~
= ? : in if else getline "pwned" "sh" system( "touch" \ # @ /= $ * - 2 x/"""
SCRAPS = st.lists(st.sampled_from([*PIECES.split(), " ", "\n"]), min_size=1, max_size=12).map(
    "".join
)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(PROGRAMS, SCRAPS))
def test_what_is_accepted_has_no_effect(
    tmp_path_factory: pytest.TempPathFactory, program: str
) -> None:
    assume(_accepted(program))
    folder = prepare(tmp_path_factory.mktemp("awk") / "work")
    before = state(folder)
    for awk in AWKS:
        output = run(folder, awk, "--", program)
        assert state(folder) == before
        assert CANARY not in output


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize(
    "program", ['{print > "pwned"}', '{print | "sh"}', '{getline x < "other"; print x}']
)
def test_the_effects_would_show(tmp_path: Path, awk: str, program: str) -> None:
    folder = prepare(tmp_path / "work")
    before = state(folder)
    output = run(folder, awk, program)
    assert state(folder) != before or CANARY in output


def _words(line: str) -> tuple[ShellWord, ...]:
    return tuple(ShellWord(text) for text in line.split())


def _accepted(program: str) -> bool:
    try:
        check_awk(program)
    except Refused:
        return False
    return True
