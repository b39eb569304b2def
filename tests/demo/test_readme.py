"""README and first guide can be followed as written, show real output, and cite what exists."""

import re
from pathlib import Path

import pytest
from demo.record import FIRST_GOAL, GUIDE, README, ROOT, masked, record, session, steps
from tests.demo.seen import found_in_order

TEXT = README.read_text(encoding="utf-8")
GUIDE_TEXT = GUIDE.read_text(encoding="utf-8")

# What a reader who lets the scripted model plan must see, in this order.
GOAL = (
    '$ assent "Greet politely"',
    "Plan ready for review: 1 operation",
    "$ assent review",
    '+print("Hello, " + name)\n',
    "$ assent reject",
    "state    Draft",
    '$ assent -c "Revise the plan"',
    "Plan ready for review: 1 operation",
    "$ assent approve --build",
    '+print("Hello, " + name + "!")\n',
    "Done: all operations applied.",
    "Hello, world!\n",
    "$ assent undo",
    "Done: everything was undone.",
    'print("Hi " + name)\n',
)

_TEST = re.compile(r"(tests/[\w/]+\.py)(?:::(\w+))?")
_LINK = re.compile(r"\]\(([^)#:]+)\)")
_MAKE = re.compile(r"\bmake ([a-z]+)")


@pytest.mark.slow
def test_the_first_steps_work_and_the_session_is_what_they_show() -> None:
    code, seen = record(steps(GUIDE_TEXT))
    assert code == 0, seen
    again = "The session is outdated: .venv/bin/python -m demo.record"
    assert masked(seen) == masked(session(GUIDE_TEXT)), again


@pytest.mark.slow
def test_g23_a_reader_without_a_key_lets_a_scripted_model_plan() -> None:
    code, seen = record(steps(TEXT, FIRST_GOAL))
    assert code == 0, seen
    assert found_in_order(seen, GOAL) == list(GOAL), seen


@pytest.mark.parametrize("line", ["assent -p further --model scripted:none", "(exit 3)"])
def test_a_step_of_the_readme_that_fails_is_noticed(line: str) -> None:
    code, seen = record(['cd "$(mktemp -d)"', line, "echo further"])
    assert code != 0
    assert "$ echo further" not in seen


def test_a_session_with_other_words_is_noticed() -> None:
    digest = "0123456789abcdef" * 4
    assert masked(f"digest {digest}\nrun 01m7ekkgj8de4qyjrdd10vsryy") == "digest …\nrun …"
    assert masked("Done.") != masked("Gone.")


@pytest.mark.parametrize(("file", "name"), sorted(set(_TEST.findall(TEXT))))
def test_every_test_that_is_cited_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("target", sorted(set(_LINK.findall(TEXT))))
def test_every_link_leads_somewhere(target: str) -> None:
    assert (ROOT / target).exists()


@pytest.mark.parametrize("target", sorted(set(_MAKE.findall(TEXT))))
def test_every_make_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", Path(ROOT / "Makefile").read_text(encoding="utf-8"), re.M)


def test_every_row_of_the_comparison_says_where_it_is_shown() -> None:
    comparison = TEXT.split("## What is different")[1].split("\n## ")[0]
    rows = [line for line in comparison.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 1
    assert [row for row in rows if "`" not in row.rsplit("|", 2)[1]] == []
