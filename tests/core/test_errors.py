"""Errors: each has one word and one exit code, the same in every face."""

import pytest

from assent.core import errors
from assent.core.errors import AssentError, meant, nearest

# Part 9 of the design: what an exit code means, and which errors end with it.
CODES = {
    1: (
        "error plan illegal_step not_found bad_plan no_match impossible busy store workspace "
        "model unavailable overflow answer_too_long unauthorized limit not_run"
    ),
    2: "usage",
    3: "not_approved",
    4: "consent declined spent expired",
    5: "stale moved drift other_digest other_workspace live_differs",
    6: "needs_you",
    7: "refused may_write damaged untrusted not_independent not_rehearsed",
    130: "interrupted",
}
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type)]


def test_every_error_has_its_own_word_and_the_exit_code_of_the_contract() -> None:
    words = {word: code for code, line in CODES.items() for word in line.split()}
    assert {kind.word: kind.exit for kind in KINDS if issubclass(kind, AssentError)} == words
    assert len(KINDS) == len(words)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_is_listed_in_the_tree_at_the_top(kind: type[AssentError]) -> None:
    assert f"{kind.__name__} " in f"{errors.__doc__}".replace("\n", " ")


def test_an_error_says_what_happened_and_the_next_command() -> None:
    error = AssentError("It failed.", "assent status")
    assert (str(error), error.message, error.next) == ("It failed.", "It failed.", "assent status")
    assert AssentError("It failed.").next == ""


OPTIONS = ("--quiet", "--json", "--next", "--output-format", "--no-input", "-q", "-C")
COMMANDS = ("plan", "build", "config", "run", "runs", "rules", "review", "log", "undo", "mcp")
KEYS = ("plan.staging", "plan.export", "verify.after_build", "mode", "model", "mcp.NAME.command")
MEANT = [
    ("--quite", OPTIONS, "--quiet"),  # two letters that changed places
    ("--jsn", OPTIONS, "--json"),
    ("-json", OPTIONS, "--json"),
    ("--output", OPTIONS, "--output-format"),  # its beginning
    ("--noinput", OPTIONS, "--no-input"),
    ("bulid", COMMANDS, "build"),
    ("PLAN", COMMANDS, "plan"),
    ("plna", COMMANDS, "plan"),
    ("conf", COMMANDS, "config"),
    ("confgi", COMMANDS, "config"),
    ("reveiw", COMMANDS, "review"),
    ("rusn", COMMANDS, "runs"),  # nearer than run
    ("plan.stagging", KEYS, "plan.staging"),
    ("plan.exprot", KEYS, "plan.export"),
    ("after_build", KEYS, "verify.after_build"),  # without its table
    ("modle", KEYS, "model"),
]
NOT_MEANT = [
    ("--text", ("--quiet", "--json")),
    ("--text", ("--test-run-length",)),
    ("--xyzzy", OPTIONS),
    ("-x", OPTIONS),  # of one letter, every other one would be as near
    ("rm", COMMANDS),
    ("deploy", COMMANDS),
    ("plant-trees", COMMANDS),
    ("editor", KEYS),
    ("co", COMMANDS),  # too short to begin anything
    ("", COMMANDS),
    ("word", ()),
    ("x" * 100_000, COMMANDS),
]


@pytest.mark.parametrize(("word", "known", "near"), MEANT)
def test_a_typo_gets_the_word_that_was_meant(word: str, known: tuple[str, ...], near: str) -> None:
    assert nearest(word, known) == nearest(word, reversed(known)) == near
    assert meant(word, known) == f" Did you mean {near}?"


def test_words_that_are_equally_near_are_all_suggested() -> None:
    assert nearest("modl", KEYS) == "mode"
    assert meant("modl", KEYS) == meant("modl", reversed(KEYS)) == " Did you mean mode or model?"
    assert meant("plax", ("play", "plan", "plat")) == " Did you mean plan, plat or play?"
    assert meant("after", ("a.after", "bb.after")) == " Did you mean a.after?"


@pytest.mark.parametrize(("word", "known"), NOT_MEANT)
def test_another_word_gets_no_suggestion(word: str, known: tuple[str, ...]) -> None:
    assert nearest(word, known) == meant(word, known) == ""
