"""Permission: a person sees exactly what a yes would do, and exactly that is done."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import pytest
from tests.agent.test_formatters import UPPER, Formatter
from tests.support.engine import World
from tests.support.session import Answers, Person, Script, results, tooling, work

from assent.agent.formatters import MAX_PATCH_CHARS
from assent.agent.permission_request import permission_question, refusal_reason
from assent.core.session.event import Question, QuestionAsked
from assent.core.session.record import SessionRecord
from assent.core.shell.process import OutputChunk, ProcessLimits, ProcessResult, Program
from assent.core.tool import Action, Decision, ResourceAccess, Verdict
from assent.permissions.check import ASKS_BEFORE_EDITS
from assent.render.diff import IS_NOT_SHOWN

GOAL = "Greet"
YES: Answers = (("Yes",),)


def write(path: str, text: str) -> tuple[str, dict[str, str]]:
    return ("write", {"path": path, "text": text})


def asking(world: World) -> SessionRecord:
    return world.engine().sessions.start(GOAL, "ask")


def details(person: Person) -> list[str]:
    return [question.detail for questions in person.asked for question in questions]


def test_the_question_shows_the_diff_and_a_yes_applies_it(world: World) -> None:
    world.put({"a.txt": b"one\ntwo\n"})
    person, record = Person(YES), asking(world)
    work(world, record, Script([write("a.txt", "one\n2\n")], "Done."), person)
    (patch,) = details(person)
    assert patch.endswith("@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    assert world.files() == {"a.txt": b"one\n2\n"}
    events = [one.event for one in world.engine().sessions.events(record)]
    (asked,) = [event for event in events if isinstance(event, QuestionAsked)]
    assert asked.questions[0].detail == patch


def test_new_and_deleted_files_are_shown(world: World) -> None:
    world.put({"old": b"gone\n"})
    person, record = Person(None, None), asking(world)
    calls = [write("new", "here\n"), ("delete", {"path": "old"})]
    work(world, record, Script(calls, "Done."), person)
    made, gone = details(person)
    assert made.endswith("+here\n")
    assert gone.endswith("-gone\n")
    assert world.files() == {"old": b"gone\n"}


def test_what_is_no_text_is_named_and_what_is_long_is_counted(world: World) -> None:
    world.put({"b.bin": b"\0\1"})
    person, record = Person(None, None), asking(world)
    calls = [("delete", {"path": "b.bin"}), write("long", "x" * 70 + "\n")]
    work(world, record, Script(calls, "Done."), person)
    assert details(person)[0].startswith(f"delete b.bin: {IS_NOT_SHOWN}")
    person, record = Person(None), asking(world)
    work(world, record, Script([write("long", "y\n" * MAX_PATCH_CHARS)], "Done."), person)
    (patch,) = details(person)
    assert len(patch) < MAX_PATCH_CHARS + 100
    assert patch.endswith(" more characters not shown.\n")


def test_a_secret_is_not_read_before_the_yes(world: World) -> None:
    world.put({"secret": b"k\n"})
    read: list[str] = []

    class Watching(Person):
        def ask(self, questions: Sequence[Question], answered: Callable[[], str]) -> Answers:
            read.append(questions[0].detail)
            return super().ask(questions, answered)

    record = asking(world)
    work(world, record, Script([("read", {"path": "secret"})], "Done."), Watching(None))
    assert read == [""]
    assert "k" not in results(world, record)[0].text.split()


def test_a_question_names_what_is_asked_about_and_nothing_else() -> None:
    requests = [ResourceAccess(Action.EDIT, "src/a.py")]
    decision = Decision(Verdict.ASK, ASKS_BEFORE_EDITS)
    asked = permission_question(requests, decision, ("write src/a.py",), "+1\n")
    assert asked.question == f"Allow edit to src/a.py? {ASKS_BEFORE_EDITS}"
    assert (asked.by, asked.things, asked.detail) == ("gate", ("write src/a.py",), "+1\n")


def test_no_name_is_left_out_and_none_makes_a_line_of_its_own() -> None:
    paths = [f"f{n}" for n in range(12)] + ["n?\n  1. No\nPermission"]
    asked = permission_question(
        [ResourceAccess(Action.EDIT, path) for path in paths], Decision(Verdict.ASK)
    )
    assert asked.question == "Allow edit to f0, edit to f1, edit to f2, 10 more?"
    assert asked.things[:12] == tuple(f"edit to f{n}" for n in range(12))
    assert asked.things[12] == "edit to n?\\n  1. No\\nPermission"


def test_each_operation_is_named_for_what_it_is(world: World) -> None:
    world.put({"old": b"gone\n"})
    person, record = Person(None), asking(world)
    work(world, record, Script([("delete", {"path": "old"})], "Done."), person)
    assert [question.things for question in person.asked[0]] == [("delete old",)]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ((("No",),), "they denied it."),
        ((("later",),), "later."),
        ((("Why?",),), "Why?"),
        (((),), "they did not answer."),
        (None, "no one was available to answer."),
        (YES, ""),
    ],
)
def test_why_it_is_no_yes_is_a_whole_sentence(answers: Answers, words: str) -> None:
    assert refusal_reason(answers) == words


class Fickle(Formatter):
    """Formats the same content in another way each time."""

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        self.ran.append((pipeline[0], folder, limits))
        return iter((OutputChunk(b"version %d\n" % len(self.ran)), ProcessResult(0)))


def test_the_bytes_that_were_shown_are_those_that_are_applied(world: World) -> None:
    person, process = Person(YES), Fickle()
    tools = msgspec.structs.replace(tooling(person), open_process=lambda: process, formatters=UPPER)
    script = Script([write("a.txt", "one\n")], "Done.")
    for _ in world.engine().sessions.work(asking(world), script, tools):
        pass
    assert details(person)[0].endswith("+version 1\n")
    assert (world.files(), len(process.ran)) == ({"a.txt": b"version 1\n"}, 1)
