"""F79: what bash joins by an escaped line break, ends a heredoc at, or expands a second time behind
`>&`, is never certain where it could hide a command."""

from pathlib import Path

import pytest
from tests.permissions.real_bash import shows

from assent.permissions.commands.classifier import classify_command_line

P = "x='$(touch PWN)'; "
A = "x='a[$(touch PWN)]'; "
JOINED = (
    'git status "$\\\n(touch PWN)"', "git status $\\\n(touch PWN)",
    'git status "$\\\n\\\n(touch PWN)"', 'git status "a\\\n$\\\n(touch PWN)"',
    "cat <<EOF\n$\\\n(touch PWN)\nEOF", "cat <<EOF\n$\\\n{x:=$\\\n(touch PWN)}\nEOF",
    'cat <<< "$\\\n(touch PWN)"', '[[ -n "$\\\n(touch PWN)" ]]', 'x="$\\\n(touch PWN)"',
    "cat <\\\n(touch PWN)", P + 'git status "$\\\n{x@P}"', P + "git status $\\\n{x@P}",
    P + "cat <<EOF\n$\\\n{x@P}\nEOF", A + 'git status "$\\\n((x))"', A + "git status $\\\n[x]",
    A + "cat <<EOF\n$\\\n((x))\nEOF", A + "cat <<EOF\n$\\\n[x]\nEOF", "mak\\\ne a", "make a\\\nb",
    'sh -c \'git status "$\\\n(touch PWN)"\'', "make a\\ \\\n(b", "make \\\n#a", "make a # b \\\nc",
)  # fmt: skip
ENDS = (
    "git status <<EOF\nEO\\\nF\ntouch PWN\nEOF", "cat <<EOF\nE\\\nO\\\nF\ntouch PWN\nEOF\n",
    "cat <<-EOF\n\tEO\\\nF\ntouch PWN\nEOF", "cat <<EOF 2>&1\nEO\\\nF\ntouch PWN\nEOF",
    'echo "$(cat <<EOF\nEO\\\nF\ntouch PWN\nEOF\n)"', "cat <<EOF\na\\\nEOF\ntouch PWN\nEOF",
    'make <<E"O"F\nEOF\ntouch PWN', "make <<E\\OF\nEOF\ntouch PWN", "make <<'E'OF\nEOF\ntouch PWN",
    "make <<\\EOF\na\nEOF", "make <<'E F'\na\nE F", "make <<E-F\na\nE-F", "make <<$x\na\n$x",
    "make <<EOF\nEOF \nEOF", "make <<EOF\n\tEOF\nEOF", "make <<A; make <<B\nA\nB",
    "make <<EOF 'a\nEOF\n'",
    "make <<EOF $(pwd\nEOF\n)",
)  # fmt: skip
MOVED = (
    "git status >&'$(touch PWN)'", "git status >& '$(touch PWN)'", "git status 1>&'`touch PWN`'",
    "git status >&\\$\\(touch\\ PWN\\)", 'git status >& "\\$(touch PWN)"', "cat <&'$(touch PWN)'",
    "git status >&a'$(touch PWN)'", "git status 2>&1>&'$(touch PWN)'", "(echo)>&'`touch PWN`'",
    "{ echo a; } >&'$(touch PWN)'", "for i in 1; do echo; done >&'`touch PWN`'",
    "git status >&-'$(touch PWN)'", "git status >&1'$(touch PWN)'", P + "git status >&$x",
    P + 'git status >&"$x"', "make >&'a'", "make >&a\\b", "make >&~", "make > a$$", "make >-\\#$$",
    "git status 3>&1 $\ntouch PWN\nmake", "cat <<<$ \ntouch PWN\nmake", "cat <$\ntouch PWN\nmake",
    "git >|a $\ntouch PWN\n(make)", "git status &>a $ \ntouch PWN\nmake",
    "[ a > b ] && make", "[ -f >a ] && make", "[ a < b ] && make", "[ -n >a ]", "[ >a ]",
    "make >>a\\ $$", "make >& -touch PWN", ">&-touch PWN", "make; >& -touch PWN", "make <&-touch",
)  # fmt: skip
HIDDEN = (*JOINED, *ENDS, *MOVED)


@pytest.mark.parametrize("text", HIDDEN)
def test_f79_what_bash_reads_otherwise_than_it_looks_is_not_certain(text: str) -> None:
    line = classify_command_line(text)
    assert (line.certain, line.risk, line.always) == (False, "high", ())
    assert line.reasons


PLAIN = (
    "make \\\n  test", "make a && \\\n  make b", "make a \\\n  | sort \\\n  > f",
    "echo 'a\\\nb' > f",
    "cat <<'EOF' > f\na\\\nb $\\\n(make)\nEOF", "cat <<EOF > f\na\nEOF", "make 2>&1", "make >&2",
    "make >& f", "make >&f.txt",
    "make 2>&-", "make >&- a", "cat <<-EOF > f\n\ta\n\tEOF\nmake",
    'cat <<"EOF" | sort > "f.txt"\na\nEOF', "make <&3", "[[ a < b ]] && make", '[ -n ">" ] && make',
    "git commit -m \"$(cat <<'EOF'\na\\\nit's\nEOF\n)\"",
)  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_f79_plain_breaks_heredocs_and_redirects_stay_certain(text: str) -> None:
    assert classify_command_line(text).certain


@pytest.mark.parametrize("text", [*HIDDEN, *PLAIN])
def test_f79_bash_makes_no_file_for_a_certain_line(text: str, tmp_path: Path) -> None:
    assert not (classify_command_line(text).certain and shows(text, tmp_path))


INPUT = (
    "sed -f a.sed -e '1e make' f", "sed --file=a -e '1e make' f", "sed -f - f <<< '1e make'",
    "echo x | sed -f /dev/stdin f", "sed -n -f//dev/fd/0 f", "sed --fil=a f", "sed -f a -f b f",
    "gawk -f a -e 'BEGIN{system(\"make\")}'", "awk -f - <<< x", "awk -f /dev/stdin f", "awk -fa f",
    "awk -F -f 'BEGIN{system(\"make\")}'", "make --ev x", "make --eva=x", "make -f - <<< x",
    "make -f- <<< x", "make -f/dev/stdin", "make --file=/proc/self/fd/0", "make --unknown",
    "sort --co=x f", "sort --co x f > g", "zip a.zip f -TT make", "zip a.zip f -T --unzip-c=make",
    "zip -rTT make a.zip f", "rsync --rs=make a b:", "rsync -ave make a b:", "man -aPmake ls",
    "bash +c make", "bash +ce make", "bash -e +c make", "sh +c make", "bash /dev/stdin <<< make",
    "bash -x /dev/stdin", "bash -- /dev/fd/0", "echo make | bash /proc/self/fd/0",
    "python3 /dev/stdin <<< x", "python3 -u - <<< x", "python3 -W ignore <<< x", "echo x | node -i",
    "{ python3 -q; } <<< x", "(tclsh a -) | python3 -i", "tclsh <<< 'exec make'", "tclsh",
    "perl <<'E'\nx\nE", "sqlite3 x <<< '.shell make'", "echo x | sqlite3 x", "sqlite3 -init f x",
    "{ sqlite3 x; } < f", "psql -c'\\! make'", "psql -o '|make'", "psql <<< x", "m4 <<< x",
    "sh -c 'ec&>h touch P'", "dash -c 'a |& b'", "zsh -c 'ls *(e:make:)'", "sh -c \"\\$'make' a\"",
    "dc <<< x", "tar cf a.tar -T list", "tar cf a.tar --files-from=list", "scp -rS make a b:",
)  # fmt: skip


@pytest.mark.parametrize("text", INPUT)
def test_f79_what_takes_its_commands_from_its_input_is_a_doubt(text: str) -> None:
    line = classify_command_line(text)
    assert (line.certain, line.risk, line.always) == (False, "high", ())


@pytest.mark.parametrize(
    "text", ["sed -n -f a.sed f", "awk -v x=1 -f a.awk f", "sort --reverse --key=2 f > g",
             "make -f a.mk --jobs=4 test", "python3 a.py < f", "cat f | python3 a.py -v",
             "python3 -m pytest -q", "node --test", "rsync -av --delete a b", "zip -r a.zip d",
             "bash a.sh < f", "make < f", "psql -c 'select 1' x", "sqlite3 x 'select 1'"]
)  # fmt: skip
def test_f79_what_runs_a_named_file_stays_certain(text: str) -> None:
    assert classify_command_line(text).certain


@pytest.mark.parametrize(
    "text", ["echo a | xargs --replace git push", "echo a | xargs --max-lines git push",
             "xargs --max-args 1 --replace git push < f",
             "xargs --max-lines=1 --replace=% git push"]
)  # fmt: skip
def test_f79_an_option_whose_value_needs_a_sign_takes_no_word(text: str) -> None:
    assert "git push" in classify_command_line(text).commands


def test_f84_a_word_x_is_a_verb_only_of_programs_that_have_it() -> None:
    assert [pattern.exact for pattern in classify_command_line("pack x a").always] == [False]
    assert [pattern.exact for pattern in classify_command_line("pnpm x make").always] == [True]
