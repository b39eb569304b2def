"""`assent questions`: what waits is listed from the root, and only a person says yes to it."""

import re

import msgspec
import pytest
from tests.cli.harness import World
from tests.cli.terminal import QUESTION, Terminal

from assent.agent.session_repository import SessionRepository
from assent.app.composition import open_engine_at
from assent.app.engine import Engine
from assent.config.paths import AppPaths
from assent.core.llm import ToolCall
from assent.core.permission.rule import PermissionPattern
from assent.core.session.event import (
    PartSaid,
    Question,
    QuestionAsked,
    QuestionOption,
    SessionStarted,
    StepStarted,
)
from assent.core.session.question import CONFIRM as REMEMBERING
from assent.core.session.question import permission_options, question_digest
from assent.render.questions import answer_hint, unknown_number_error

STATUS = PermissionPattern("bash", "git status *")
RUN = Question(
    "Permission",
    "May the model run git status -s?",
    permission_options((STATUS,), command=True),
    by="gate",
    things=("run git status -s",),
    always=(STATUS,),
    risk=("medium", "It runs a program."),
)
LONG = Question(
    "Permission",
    "May the model change a?",
    permission_options(()),
    by="gate",
    detail="diff --git a/a b/a\n@@ -0,0 +1,999 @@\n" + "+line\n" * 998 + "+the last one\n",
)
COLOUR = Question("Colour", "Which one?", (QuestionOption("Red"), QuestionOption("Blue")))
HINT = b"free text as feedback (Enter: no, end the turn): "
CONFIRM = b"y, n, or free text (Enter: no): "
SCREEN = ("stdin", "stdout", "stderr")


@pytest.fixture
def strict(world: World) -> World:
    """A user who wants to be asked on a terminal, whatever is on the command line."""
    world.config.write_text("", encoding="utf-8")
    return world


def opened(world: World) -> Engine:
    here = AppPaths(world.state / "assent", world.config.parent)
    return open_engine_at(str(world.root), here)[0]


def waiting(world: World, *questions: Question, id: str = "q1", child: bool = False) -> str:
    """A call of a session, or of its child, waits for an answer; returns the question's digest."""
    engine = opened(world)
    record = engine.sessions.start(f"Do {id}", "ask")
    diary = SessionRepository(engine.sessions.repository()._ports, record.workspace)
    if child:
        started = SessionStarted(
            "child", record.workspace, "child", "ask", "Look", parent=record.session, depth=1
        )
        record = diary.start(started)
    call = ToolCall("c1", "shell", {"line": "git status -s"})
    asked = QuestionAsked(id, "c1", questions, "shell", agent="build", mode="ask")
    digest = question_digest(record.session, call, asked)
    named = msgspec.structs.replace(asked, digest=digest)
    diary.append(record, StepStarted(1, "build", "m", "ask"), PartSaid(call), named)
    engine.close()
    return digest


def open_ones(world: World) -> list[str]:
    return [row["question"] for row in world.ok("questions", "list")["questions"]]


def test_f95_questions_are_listed_with_the_session_that_a_person_talks_to(world: World) -> None:
    digest = waiting(world, RUN, child=True)
    [row] = world.ok("questions", "list")["questions"]
    root = world.ok("sessions", "show", "do-q1")["session"]
    assert {key: row[key] for key in ("question", "digest", "root", "depth", "session")} == {
        "question": "q1", "digest": digest, "root": root, "depth": 1, "session": "child",
    }  # fmt: skip
    assert (row["standing"], row["tool"], row["args"]) == (
        "open", "shell", {"line": "git status -s"},
    )  # fmt: skip
    text = world.run("questions", "list").out.decode()
    assert f"do-q1    1      0 s  {digest[:12]}  open      May the model run" in text


def test_a_question_is_shown_in_full(world: World) -> None:
    digest = waiting(world, LONG)
    text = world.run("questions", "show", "q1").out.decode()
    assert f"digest    {digest}" in text
    assert text.count("\n+line") == 998
    assert "+the last one" in text
    assert "not shown" not in text


def test_nothing_waits_in_an_empty_folder(world: World) -> None:
    assert world.ok("questions", "list") == {"questions": []}
    assert world.run("questions", "list").out == b"No pending questions\n"
    assert world.no(1, "questions", "show", "q1")["next"] == "assent questions list"


def test_status_names_one_thing_to_do(strict: World) -> None:
    waiting(strict, RUN)
    lines = strict.run("status").out.decode().splitlines()
    assert [line for line in lines if line.startswith("Next: ")] == ["Next: assent questions list"]


def test_f94_a_yes_needs_a_terminal_and_a_no_does_not(strict: World) -> None:
    digest = waiting(strict, RUN)
    for words in (["yes"], ["yes", "--digest", digest], ["1"], ["unconfined"], []):
        error = strict.no(4, "questions", "answer", "q1", *words, "--no-input")
        assert error["error"] == "declined"
        assert digest in error["next"]
    assert open_ones(strict) == ["q1"]
    row = strict.ok("questions", "answer", "q1", "no")
    assert (row["answers"], row["next"]) == ([["No"]], "assent -r do-q1")
    assert open_ones(strict) == []


def test_a_process_without_a_terminal_cannot_say_yes(strict: World) -> None:
    digest = waiting(strict, RUN)
    for words in (["yes", "--digest", digest], []):
        answer = strict.process("questions", "answer", "q1", *words, stdin=b"y\n" * 9)
        assert answer.code == 4, answer
    assert open_ones(strict) == ["q1"]


def test_f85_a_no_with_words(strict: World) -> None:
    waiting(strict, RUN)
    row = strict.ok("questions", "answer", "q1", "no", "--words", "Use `make`, please")
    assert row["answers"] == [["Use `make`, please"]]
    error = strict.no(5, "questions", "answer", "q1", "no")
    assert "Use `make`, please" in error["message"]


def test_f96_where_the_user_allows_it_a_full_digest_says_yes(world: World) -> None:
    digest = waiting(world, RUN)
    assert world.no(5, "questions", "answer", "q1", "yes", "--digest", "0" * 64)["message"] == (
        f"The question's digest is {digest}, not {'0' * 64}."
    )
    short = world.no(4, "questions", "answer", "q1", "yes", "--no-input", "--digest", digest[:63])
    assert short["error"] == "declined"
    row = world.ok("questions", "answer", "q1", "yes", "--digest", digest)
    assert (row["answers"], row["grant"]) == ([["Yes"]], None)
    [known] = world.ok("questions", "list", "--all")["questions"]
    assert known["answered_by"].endswith(" (digest)")


def test_f81_a_yes_is_remembered_only_with_all_its_patterns(world: World) -> None:
    digest = waiting(world, RUN)
    line = ("questions", "answer", "q1", "project", "--digest", digest)
    assert "git status *" in world.no(4, *line)["message"]
    assert world.no(2, *line, "--pattern", "git *")["error"] == "usage"
    row = world.ok(*line, "--pattern", "git status *")
    [grant] = opened(world).grants.all()
    assert (row["grant"], grant.patterns, grant.reach) == (grant.id, (STATUS,), "project")
    assert (grant.agent, grant.mode, grant.question) == ("build", "ask", "q1")


@pytest.mark.parametrize("words", [["session"], ["unconfined"], ["yes", "no"], ["yes", "--words"]])
def test_an_answer_that_was_not_offered_is_refused(world: World, words: list[str]) -> None:
    digest = waiting(world, LONG)
    more = ["hm"] if words[-1] == "--words" else []
    line = ("questions", "answer", "q1", *words, *more, "--digest", digest)
    assert world.no(2, *line)["error"] == "usage"
    assert open_ones(world) == ["q1"]


def test_what_a_model_wants_to_know_is_answered_part_by_part(world: World) -> None:
    digest = waiting(world, COLOUR, COLOUR)
    line = ("questions", "answer", "q1")
    assert world.no(2, *line, "2", "--digest", digest)["error"] == "usage"
    row = world.ok(*line, "2", "a dark one", "--digest", digest)
    assert row["answers"] == [["Blue"], ["a dark one"]]


def test_what_a_model_wants_to_know_needs_no_terminal(strict: World) -> None:
    waiting(strict, COLOUR)
    row = strict.process("questions", "answer", "q1", "2", "--json").json
    assert (row["answers"], row["yes"]) == ([["Blue"]], None)
    [known] = strict.ok("questions", "list", "--all")["questions"]
    assert known["answered_by"].endswith(" (command line)")


@pytest.mark.parametrize(
    ("parts", "stdin", "answers"),
    [
        ((COLOUR,), b"2\n", [["Blue"]]),
        ((COLOUR,), b"A dark one,\nplease.\n", [["A dark one,\nplease."]]),
        ((COLOUR, COLOUR), b"1\na dark one\n", [["Red"], ["a dark one"]]),
    ],
)
def test_what_a_model_wants_to_know_may_come_on_stdin(
    strict: World, parts: tuple[Question, ...], stdin: bytes, answers: list[list[str]]
) -> None:
    waiting(strict, *parts)
    row = strict.process("questions", "answer", "q1", "--json", stdin=stdin).json
    assert row["answers"] == answers
    assert open_ones(strict) == []


def test_nothing_on_stdin_answers_nothing(strict: World) -> None:
    waiting(strict, COLOUR)
    answer = strict.process("questions", "answer", "q1", stdin=b" \n")
    assert answer.code == 4
    assert b"next: assent questions answer q1 'YOUR ANSWER'\n" in answer.err
    assert strict.process("questions", "answer", "q1", "--json", stdin=b"1\n").code == 0


@pytest.mark.parametrize("parts", [(RUN,), (COLOUR, RUN), (RUN, COLOUR)])
def test_what_permits_anything_needs_the_terminal(
    strict: World, parts: tuple[Question, ...]
) -> None:
    digest = waiting(strict, *parts)
    yes = ["1"] * len(parts)
    for words in ([], yes, [*yes, "--digest", digest]):
        assert strict.process("questions", "answer", "q1", *words, stdin=b"1\n1\n").code == 4
    assert open_ones(strict) == ["q1"]


def typed(world: World, *words: str) -> Terminal:
    return Terminal(world, "questions", "answer", "q1", *words, shared=SCREEN)


def test_a_yes_on_the_terminal_names_the_digest(strict: World) -> None:
    digest = waiting(strict, RUN)
    assert typed(strict, "yes").answer(b"y\n").code == 4
    terminal = typed(strict, "yes")
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0
    shown = [terminal.screen.index(words) for words in (b"Risk: medium", b"  - It", b"May the")]
    assert shown == sorted(shown)
    assert b"Next: assent -r do-q1" in terminal.screen
    assert open_ones(strict) == []


def test_f81_on_the_terminal_the_patterns_are_shown_before_the_yes(strict: World) -> None:
    digest = waiting(strict, RUN)
    terminal = typed(strict, "session")
    terminal.wait_for(QUESTION)
    shown = terminal.screen.replace(b"\r\n", b" ")
    asked = REMEMBERING.partition(" in {mode}")[0]
    asked = asked.format(patterns="shell `git status *`", agent="build")
    assert asked.encode() in shown
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0
    [grant] = opened(strict).grants.all()
    assert (grant.reach, grant.patterns) == ("session", (STATUS,))


@pytest.mark.parametrize(
    ("keys", "answers"),
    [(b"y\n", [["Yes"]]), (b"4\n", [["Yes, without the sandbox"]]), (b"n\n", [["No"]]),
     (b"5\n", [["No"]]), (b"\n", [[]]), (b"Rather make\n", [["Rather make"]])],
    ids=["y", "number", "n", "number of the no", "enter", "words"],
)  # fmt: skip
def test_f82_all_choices_have_numbers_and_enter_is_no(
    strict: World, keys: bytes, answers: list[list[str]]
) -> None:
    waiting(strict, RUN)
    terminal = typed(strict)
    terminal.wait_for(HINT)
    for row in (b"1. Yes: once", b"2. Yes, for this session: ", b"5. No"):
        assert row in terminal.screen
    assert answer_hint(RUN).encode() in terminal.screen
    terminal.type(keys)
    assert terminal.end().code == 0
    [row] = strict.ok("questions", "list", "--all")["questions"]
    assert row["answers"] == answers


@pytest.mark.parametrize(("keys", "grants"), [(b"y\n", 1), (b"\n", 0), (b"n\n", 0)])
def test_f81_the_terminal_asks_again_before_it_remembers(
    strict: World, keys: bytes, grants: int
) -> None:
    waiting(strict, RUN)
    terminal = typed(strict)
    terminal.wait_for(HINT)
    terminal.type(b"3\n")
    terminal.wait_for(b"Confirm?")
    terminal.wait_for(CONFIRM)
    terminal.type(keys)
    assert terminal.end().code == (0 if grants else 4)
    assert len(opened(strict).grants.all()) == grants
    assert len(open_ones(strict)) == 1 - grants


def test_a_long_question_can_be_seen_to_its_end(strict: World) -> None:
    waiting(strict, LONG)
    terminal = typed(strict)
    terminal.wait_for(b"v to show all")
    assert b"the last one" not in terminal.screen
    terminal.type(b"v\n")
    terminal.wait_for(b"+the last one")
    terminal.wait_for(b"y, n, or " + HINT)
    terminal.type(b"y\n")
    assert terminal.end().code == 0
    assert open_ones(strict) == []


def test_f95_an_answer_elsewhere_ends_the_wait(strict: World) -> None:
    waiting(strict, RUN)
    terminal = typed(strict)
    terminal.wait_for(HINT)
    strict.ok("questions", "answer", "q1", "no")
    terminal.wait_for(b"(command line): No.")
    assert b"Answered elsewhere by " in terminal.screen
    assert terminal.end().code == 5
    assert b"was answered by" in terminal.screen


def test_f81_a_remembered_yes_is_one_question_with_its_patterns(strict: World) -> None:
    digest = waiting(strict, RUN)
    terminal = typed(strict, "project")
    terminal.wait_for(QUESTION)
    shown = terminal.screen.decode().replace("\r\n", "\n")
    assert "Your answer: Yes, for this project" in shown
    assert "Confirm?" not in shown
    assert "1. Yes" not in shown
    [grant] = re.findall(r"assent rules revoke (\w+)", shown)
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0
    assert [one.id for one in opened(strict).grants.all()] == [grant]


def test_f94_without_a_terminal_it_is_said_what_a_yes_needs(strict: World) -> None:
    digest = waiting(strict, RUN)
    for words in ("yes", "session", "unconfined"):
        error = strict.no(4, "questions", "answer", "q1", words, "--no-input")
        assert "needs an interactive terminal" in error["message"]
        assert "approve.without_terminal" in error["message"]
        assert error["next"].startswith(f"assent questions answer q1 {words} --digest {digest}")
    kept = strict.no(4, "questions", "answer", "q1", "session", "--no-input")["next"]
    assert kept.endswith("--pattern 'git status *'")


def test_a_number_that_is_not_there_is_no_answer(world: World) -> None:
    digest = waiting(world, RUN)
    error = world.no(2, "questions", "answer", "q1", "9", "--digest", digest)
    assert error["message"] == unknown_number_error(RUN, "9")
    assert open_ones(world) == ["q1"]


def test_f95_a_childs_question_names_its_agent_and_task(world: World) -> None:
    waiting(world, RUN, child=True)
    [row] = world.ok("questions", "list")["questions"]
    assert (row["id"], row["agent"], row["task"]) == ("q1", "build", "Look")
    assert "(for build: Look)" in world.run("questions", "list").out.decode()
