"""F79 and F80: every command in a line is found, and every file it plainly writes; or it is told
that this cannot be said."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.properties import examples

from assent.core.permission.command_analysis import CommandAnalysis
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.read_only_line import read_only_line

FOUND = {
    "npm test": ("npm test",),
    "pack   'a  b'": ("pack 'a  b'",),
    "make a && make b || make c; make d & make e": tuple(f"make {n}" for n in "abcde"),
    "make a\nmake b": ("make a", "make b"),
    "make a | sort | uniq": ("make a", "sort", "uniq"),
    "pack $(pwd; git push)": ("pwd", "git push", "pack '$(pwd; git push)'"),
    'pack "a `git push` b"': ("git push", "pack 'a `git push` b'"),
    "pack a $(b `c`)": ("c", "b `c`", "pack a '$(b `c`)'"),
    "pack é日本 > ü": ("pack é日本",),
    "diff <(make a) >(make b)": ("make a", "make b", "diff '<(make a)' '>(make b)'"),
    "for x in 1 2; do pack $x; done": ("pack $x",),
    "while make a; do make b; done": ("make a", "make b"),
    "until make a; do make b; done": ("make a", "make b"),
    "if make a; then make b; elif make c; then make d; else make e; fi": tuple(
        f"make {n}" for n in "abcde"
    ),
    "case $x in a) make a;; *) make b;; esac": ("make a", "make b"),
    "(make a; { make b; })": ("make a", "make b"),
    "make a <<E\n$(make b)\nE\nmake c": ("make a", "make b", "make c"),
    "cat <<'E' > f\n$(make b)\nE\nmake c": ("cat", "make c"),
    "make <<< $(git push)": ("make", "git push"),
    "! make a": ("make a",),
    "LANG=C TZ=UTC make a": ("make a",),
    "x=$(make b)": ("make b",),
    "export LANG=C": ("export LANG=C",),
    "echo ${x:-b} $((1 + 2))": ("echo ${x:-b} '$((1 + 2))'",),
    "[[ -n $(make b) ]] && make a": ("make b", "[[ -n $(make b) ]]", "make a"),
    "make \\\n  test": ("make test",),
    r"g\it push": ("git push",),
    "'git' \"push\"": ("git push",),
    "$'git' push": ("git push",),
    "git >log push 2>&1 --force": ("git push --force",),
    ">log git push": ("git push",),
    "/usr/bin/git push": ("/usr/bin/git push", "git push"),
    "git -C sub --no-pager push": ("git -C sub --no-pager push", "git push"),
    "kubectl -n prod delete pod x": ("kubectl -n prod delete pod x", "kubectl delete pod x"),
    "sh -c 'make a; git push'": ("sh -c 'make a; git push'", "make a", "git push"),
    "bash -lc 'sh -c \"git push\"'": (
        "bash -lc 'sh -c \"git push\"'", "sh -c 'git push'", "git push",
    ),
    "env LANG=C nice -n 5 git push": (
        "env LANG=C nice -n 5 git push", "nice -n 5 git push", "git push",
    ),
    "timeout -k 5 10 git push": ("timeout -k 5 10 git push", "git push"),
    "nohup time command git push": (
        "nohup time command git push", "time command git push", "command git push", "git push",
    ),
    "ls | xargs -n 1 git add": ("ls", "xargs -n 1 git add", "git add"),
    "find . -name x -exec git add {} + -execdir make \\;": (
        "find . -name x -exec git add {} + -execdir make ;", "git add {}", "make",
    ),
    "busybox sh -c 'git push'": ("busybox sh -c 'git push'", "sh -c 'git push'", "git push"),
    "uv run -p 3.12 pytest -q": ("uv run -p 3.12 pytest -q", "pytest -q"),
    "exec git push": ("exec git push", "git push"),
    "coproc git push": ("coproc git push", "git push"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "commands"), FOUND.items())
def test_f79_every_command_is_found(text: str, commands: tuple[str, ...]) -> None:
    line = classify_command_line(text)
    assert (line.commands, line.certain) == (commands, True)


UNCERTAIN = (
    "make (", 'make "a', "make 'a", "make &&", "| make", "if make", "cat <<E\na", "make )",
    "$tool push", "${tool} push", "g* push", "{git,push}", "$(make) push", "`make` push", "~/x a",
    "git $x", "git pu?h", "git {push,pull}", "npm run $x", "docker compose $x",
    "eval make", "source x", ". x", "alias make=git", "trap 'git push' EXIT", "shopt -s extglob",
    "sh -c $x", 'sh -c "$x"', 'bash -c "a $(b)"', "bash", "make | sh", "sh <<E\nmake\nE",
    "bash -s", "bash --rcfile x -c make", "make() { git; }; make", "function make { git; }",
    "PATH=. make", "LD_PRELOAD=x make", "export GIT_SSH_COMMAND=x", "IFS=; make", "env PATH=. make",
    "BASH_ENV=x make", "NODE_OPTIONS=x make", "git -c alias.x=!y x", "git --exec-path=x y",
    "cat$IFS/etc/passwd", "make a$IFS", "make ${IFS}b", "make\u00a0a", "make \u202ea", "make a\rb",
    "make a\x1b[2K", "make \u3000", "test -v 'a[$(git push)]'", "printf -v 'a[`git push`]' x",
    "; ".join(["make"] * 51), "echo a > $x", "echo a > $(make)", "tee *.txt", "rm $x", "rm a*",
    "cd $x && touch a", "cd && touch a", "cd - && touch a", "make a\\\nb=c", "x\\\n=make git push",
    "make <> f", "é=1 make", "?a=\nmake", "make\\\t a", "python3 - <<'E'\nx\nE",
    "cat <<A <<B\nA\nB\n", "watch make",
    "'git push' x", "git 'push x'", "a=b=c; =make", "parallel make", "make a $(b `c`)",
    "A=1 B=$(make b) make a", "export A=$(make b)", "echo ${x:-$(make b)}",
    "echo $((1 + $(make c)))",
    "env A=1 nice -n 5 git push", "ls | xargs -n 1 git push", "find . -exec git push {} +",
)  # fmt: skip


@pytest.mark.parametrize("text", UNCERTAIN)
def test_f79_what_cannot_be_told_is_not_certain(text: str) -> None:
    line = classify_command_line(text)
    assert (line.certain, line.risk, line.always) == (False, "high", ())
    assert line.reasons
    assert line.commands


WRITES = {
    "echo a > f": ("f",),
    "echo a >> f 2> g": ("f", "g"),
    "make &> f": ("f",),
    "make >| f": ("f",),
    "make 2>&1 >/dev/null": (),
    "make < f": (),
    "{ make; } > 'a b'": ("a b",),
    "for x in 1; do make; done >> f": ("f",),
    "make | tee -a f g": ("f", "g"),
    "sed -i s/a/b/ f g": ("f", "g"),
    "sed -i -e s/a/b/ f": ("s/a/b", "f"),
    "sed --in-place=.bak s/a/b/ f": ("f",),
    "dd if=a of=f": ("f",),
    "cp a b d": ("d",),
    "cp -t d a b": ("d",),
    "mv a b": ("a", "b"),
    "ln -s a b": ("b",),
    "install --target-directory=d a": ("d",),
    "curl -o f https://x": ("f",),
    "curl --output=f https://x": ("f",),
    "wget -Of https://x": ("f",),
    "sort -o f g": ("f",),
    "touch ./a/../f": ("f",),
    "cd sub && echo a > f": ("f", "sub/f"),
    "echo a > /etc/f": ("/etc/f",),
    "echo a > ../f": ("../f",),
    "pack $(echo a > f)": ("f",),
    "sh -c 'echo a > f'": ("f",),
    "xargs -I x tee f": ("f",),
    "rm -f f": ("f",),
}


@pytest.mark.parametrize(("text", "writes"), WRITES.items())
def test_f80_what_a_line_writes_is_named(text: str, writes: tuple[str, ...]) -> None:
    line = classify_command_line(text)
    assert (line.writes, line.certain) == (writes, True)


def test_f79_a_line_that_only_reads_is_told_without_the_large_grammar() -> None:
    text = "cd src && cat 'a b' | head -n 3"
    line = read_only_line(text)
    assert line == classify_command_line(text)
    assert line is not None
    assert line.commands == ("cd src", "cat 'a b'", "head -n 3")
    assert (line.reads, line.risk, line.writes) == (("src/a b",), "low", ())
    assert read_only_line("cat a > b") is None


WHOLE = ("xa", "xb", "$(", "<(", "<<E", "\nE\n", "if ", "fi")
SIGNS = [*" \t\n;&|<>(){}[]$`'\"\\!#=*?~-", *WHOLE]
TEXTS = st.lists(st.sampled_from(SIGNS), max_size=25).map("".join)


@settings(max_examples=examples(400), deadline=None)
@given(st.one_of(TEXTS, st.text(max_size=60)))
@example("\ud800")
@example("{\U00031860")
@example("$(" * 5000)
@example("a" * 200_000)
@example("((((" * 300 + "make")
def test_f79_no_text_makes_it_fail(text: str) -> None:
    line = classify_command_line(text)
    assert line.commands
    assert line.certain or (line.risk == "high" and not line.always)


WRAPS = (
    "echo $({})", "echo `{}`", 'echo "$({})"', "diff <({}) a", "echo a\n{}", "echo a; {}",
    "echo a & {}", "{} | cat", "a=$({})", "if {}; then echo; fi", "( {} )", "{{ {}; }}",
    "echo ${{x:-$({})}}", "cat <<E\n$({})\nE", "nice {}", "while {}; do echo; done",
)  # fmt: skip


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from(WRAPS), max_size=4))
def test_f79_a_hidden_command_is_found_or_the_line_is_not_certain(wraps: list[str]) -> None:
    text = "git push"
    for wrap in wraps:
        text = wrap.format(text)
    line = classify_command_line(text)
    assert "git push" in line.commands or not line.certain


# Lines in which bash and a grammar could part ways; nothing that they name exists.
BOTH = (
    "xa\\\nxb", "xa \\\n xb", "xa;xb", "xa&xb", "xa|xb", ">o xa xb", "xa >o xb", ">o\\\nxa xb",
    "!xa", "! xa", "xa=xb xc", "?a=\nxa", "xa\\\t xb", "xa\n\\\n'xb'", "{xa,xb}", "xa #xb", "xa#xb",
    "xa $'xb'", "time -c", "xa ''xb", "\\xa", "x\"a\"", "xa <<E\nxb\nE\nxc", "xa - <<E\nE\nxb",
    "xa <<'E'\n$(xb)\nE", "xa `xb \\`xc\\``", "xa ${y:-`xb`}", "xa $((1+`xb`0))", "]\\(", "xa)",
    "[}xa ]",
    "case a in a) xa;; esac", "[[ a ]]&&xa", "coproc xa", "if xa\nthen xb\nfi",
    "xa \"$(xb 'x\")')\"",
)  # fmt: skip


@pytest.mark.parametrize("text", BOTH)
def test_f79_bash_runs_nothing_that_a_certain_line_does_not_name(text: str, tmp_path: Path) -> None:
    ran = ran_by_bash(text, tmp_path)
    line: CommandAnalysis = classify_command_line(text)
    names = {command.split(" ")[0] for command in line.commands}
    assert not line.certain or ran <= names


def ran_by_bash(text: str, folder: Path) -> set[str]:
    """Runs a line by bash where no program can be found, and returns what it looked for."""
    log = folder.parent / f"{folder.name}.log"
    log.touch()
    handle = f'() {{ echo "$1" >> {log}; }}'
    subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-c", text],
        env={"PATH": "/nonexistent", "BASH_FUNC_command_not_found_handle%%": handle},
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return set(log.read_text(encoding="utf-8").split("\n")) - {""}
