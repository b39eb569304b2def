"""Which command lines are goals, which are commands', and what a goal's options say."""

import re
import shlex

import pytest
from tests.house.source import ROOT

from assent.cli.goal.command import TRUNCATED_NOTE, with_context
from assent.cli.goal.options import Goal, is_slash, mode_of, read_goal
from assent.cli.registry import COMMANDS
from assent.core.errors import UsageError

PAGE = (ROOT / "docs" / "agent.md").read_text("utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```", PAGE, re.M | re.S)
GOALS = {
    "a quoted goal": (["Fix the bug"], Goal("Fix the bug")),
    "print": (["-p", "Fix"], Goal("Fix", headless=True)),
    "options behind it": (["-p", "Fix", "--json"], Goal("Fix", headless=True, form="json")),
    "options before it": (["--mode", "ask", "Fix it"], Goal("Fix it", mode="ask")),
    "a folder": (["-C", "x", "Fix it"], Goal("Fix it", folder="x")),
    "a folder without a blank": (["-Cx", "-p", "Fix"], Goal("Fix", folder="x", headless=True)),
    "two flags in one": (["-cp", "More"], Goal("More", headless=True, going_on=True)),
    "a value with a sign": (["--model=a/b", "Do it"], Goal("Do it", model="a/b")),
    "a command's name as text": (["-p", "status"], Goal("status", headless=True)),
    "one behind -c": (["-c", "build"], Goal("build", going_on=True)),
    "a session": (["-r", "01k", "More"], Goal("More", resume="01k")),
    "nothing but -c": (["-c"], Goal(going_on=True)),
    "stdin": (["-p", "-"], Goal(headless=True)),
    "a slash command": (["/plan"], Goal("/plan")),
    "letters of others": (["修复登录"], Goal("修复登录")),
    "behind two dashes": (["-p", "--", "--help"], Goal("--help", headless=True)),
    "limits": (
        ["--max-turns", "3", "--max-budget", "0.5", "Do it"],
        Goal("Do it", turns=3, budget=0.5),
    ),
    "a stream": (
        ["-p", "--output-format", "stream-json", "Go"],
        Goal("Go", headless=True, form="stream-json"),
    ),
    "a text with a dash": (["-p", "- one\n- two"], Goal("- one\n- two", headless=True)),
    "a text about an option": (["--bogus is unknown"], Goal("--bogus is unknown")),
    "help": (["-p", "--help"], Goal(headless=True, help=True)),
    "the rest": (
        ["--agent", "a", "--plan", "p", "--no-input", "Do it"],
        Goal("Do it", agent="a", plan="p", no_input=True),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "goal"), GOALS.values(), ids=GOALS)
def test_a_goal(line: list[str], goal: Goal) -> None:
    assert read_goal(line) == goal


@pytest.mark.parametrize(
    "line",
    [
        ["plan", "new", "x"],
        ["-C", "x", "status", "--json"],
        ["build", "Fix it"],
        ["--version"],
        ["-C", "x", "--help"],
        ["-C", "x"],
        ["--bogus"],
    ],
    ids=" ".join,
)
def test_a_commands_line_is_left_to_the_commands(line: list[str]) -> None:
    assert read_goal(line) is None


REFUSED = {
    "bulid": (["bulid"], "Did you mean build?"),
    "plna new": (["plna", "new", "x"], "Did you mean plan?"),
    "one word": (["refactor"], "A single-word goal needs -p."),
    "two texts": (["-p", "Fix", "it"], "Put the goal in quotes."),
    "no quotes": (["fix", "the", "bug"], "Put the goal in quotes."),
    "options before a command": (["--json", "status"], "put its options after it"),
    "another option": (["-p", "Fix", "--bogus"], "Unknown option '--bogus'."),
    "no permission": (["--allow"], "--allow needs a value."),
    "another form": (["--output-format", "xml", "Do it"], "must be one of text, json, stream-json"),
    "no value": (["-p", "--model"], "--model needs a value."),
    "no number": (["--max-turns", "many", "Do it"], "--max-turns must be a number"),
    "less than nothing": (["--max-budget", "-1", "Do it"], "greater than 0"),
    "not a number": (["--max-budget", "nan", "Do it"], "greater than 0"),
}


@pytest.mark.parametrize(("line", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_neither_is_told(line: list[str], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_goal(line)
    assert told in caught.value.message
    assert caught.value.next


@pytest.mark.parametrize("words", ["/plan", " /mode ask", "/nonsense", "/mode"])
def test_a_slash_command(words: str) -> None:
    assert is_slash(words)


@pytest.mark.parametrize("words", ["", "/", "/etc/hosts is wrong", "a /plan", "// x", "/1"])
def test_no_slash_command(words: str) -> None:
    assert not is_slash(words)


def test_what_slash_commands_mean() -> None:
    texts = ("/plan", "/plan on", "/plan off", "/mode yolo", "/mode  auto-edit ")
    assert [mode_of(text) for text in texts] == ["plan", "plan", "ask", "yolo", "auto-edit"]


@pytest.mark.parametrize("words", ["/nonsense", "/mode", "/mode wild", "/plan maybe", "/Plan"])
def test_an_unknown_slash_command_lists_those_that_exist(words: str) -> None:
    with pytest.raises(UsageError, match=r"/plan off .* /mode plan\|ask\|auto-edit\|yolo"):
        mode_of(words)


def test_stdin_stands_below_the_text_in_a_fence_that_it_cannot_end() -> None:
    assert with_context("Why?", "") == "Why?"
    assert with_context("Why?", " \n") == "Why?"
    assert with_context("", "All") == "All"
    assert with_context("Why?", "log") == "Why?\n\nFrom stdin:\n```\nlog\n```"
    fenced = with_context("Why?", "````\nx\n````\n")
    assert fenced == "Why?\n\nFrom stdin:\n`````\n````\nx\n````\n`````"
    assert with_context("Why?", "log", more=True).endswith("```" + TRUNCATED_NOTE)


EXAMPLES = re.findall(r"^(?:.*\| )?(assent .*)$", "\n".join(BLOCKS), re.M)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_of_the_page_can_be_typed(example: str) -> None:
    words = [word for word in shlex.split(example, comments=True)[1:] if word != ">"]
    goal = read_goal(words[: words.index("turn.json")] if "turn.json" in words else words)
    assert goal is not None or words[0] in COMMANDS


def test_what_a_person_allows_this_once_is_kept_in_order() -> None:
    line = ["-p", "Fix it", "--allow", "bash:git *", "--deny=edit:.env", "--ask", "read"]
    goal = read_goal(line)
    assert goal is not None
    assert goal.rules == ("allow bash:git *", "deny edit:.env", "ask read")
