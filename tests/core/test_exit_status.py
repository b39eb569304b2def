"""An exit code of 1 is an answer of predicates, wherever they end a line, and of nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.shell.process import is_expected_exit

PREDICATES = [
    "grep x f", "rg x", "test -f a", "[ -f a ]", "[[ -f a ]]", "diff a b", "cmp a b", "pgrep x",
    "git diff --exit-code", "git diff --quiet a b", "git -C x diff --quiet", "git grep foo",
    "git --no-pager grep x", "git merge-base --is-ancestor a b", "git check-ignore a",
    "git show-ref --verify refs/heads/x", "git config --get user.name", "which foo",
    "command -v foo", "jq -e .a f", "jq -re .a f", "expr 1 - 1", "/usr/bin/grep x f",
]  # fmt: skip
AROUND = [
    "{}", "cat f | {}", "make; {}", "make || {}", "cd src && {}", "LC_ALL=C {}", "timeout 5 {}",
    "! {}", "echo a\n{}\n", "{};", "{} > out.txt", "{} 2>/dev/null", "{} 2>&1", "grep y f && {}",
    "find . 2>/dev/null | sort | {}", "{} && echo yes", "{} && cat f", "({})", "(cd src && {})",
    "{} && printf '%s' found", "cat f |\n{}",
]  # fmt: skip
OTHERS = [
    "", "make", "cat missing", "git diff", "git status", "git commit -m grep", "jq .a f", "git",
    "python -m grep", "command foo", "sort a", "fd x", "cd nowhere", "pytest", "false",
]  # fmt: skip
NOT_ITS_OWN = [
    "grep x f | head", "npm test && grep x f", "grep x f && make", "(grep x f) | head",
    "grep x f &", "(make; grep x f",
    "grep 'x", "$(grep x f)", "if grep x f; then true; fi", "grep x f; make", "grep x f || make",
]  # fmt: skip


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("line", PREDICATES)
def test_a_predicate_answers_no_at_the_end_of_a_line(line: str, around: str) -> None:
    assert is_expected_exit(around.format(line), 1)


@pytest.mark.parametrize("line", [*OTHERS, *NOT_ITS_OWN])
def test_everything_else_fails_with_it(line: str) -> None:
    assert not is_expected_exit(line, 1)


@pytest.mark.parametrize(
    "line",
    ["grep 'a|b; make' f", 'rg "x && y"', r"grep a\;make f", "grep '|' f", 'grep ";" f', "rg '('"],
)
def test_quoted_signs_end_no_command(line: str) -> None:
    assert is_expected_exit(line, 1)


@given(st.sampled_from([*PREDICATES, *OTHERS]), st.integers(-200, 300))
def test_no_other_code_is_an_answer(line: str, code: int) -> None:
    assert is_expected_exit(line, code) <= (code == 1)


def test_xargs_has_a_code_of_its_own_for_it() -> None:
    assert is_expected_exit("find . | xargs -n 1 grep x", 123)
    assert [is_expected_exit("xargs grep x", code) for code in (1, 124, 127)] == [False] * 3
    assert not is_expected_exit("xargs make", 123)


@pytest.mark.parametrize(
    "line",
    ["find . -name a -exec grep x {} +", "bash -c 'grep x f'", 'sh -lc "test -f a && echo y"'],
)
def test_what_runs_a_predicate_answers_for_it(line: str) -> None:
    assert is_expected_exit(line, 1)


@pytest.mark.parametrize("line", ["bash -c make", "find . -exec make {} +", "bash grep x", "bash"])
def test_what_runs_something_else_does_not(line: str) -> None:
    assert not is_expected_exit(line, 1)


def test_what_complains_behind_a_predicate_may_be_what_failed() -> None:
    assert not is_expected_exit("grep x f && cat g", 1, complained=True)
    assert is_expected_exit("grep x f && echo yes", 1, complained=True)


def test_a_folder_that_is_not_there_is_no_answer() -> None:
    assert not is_expected_exit("cd nope && grep x f", 1, complained=True)
    assert is_expected_exit("find /root | grep x", 1, complained=True)  # that was the find


@given(st.text(max_size=60), st.integers(0, 255))
def test_no_text_is_too_strange(line: str, code: int) -> None:
    assert is_expected_exit(line, code) in (True, False)
