"""Answers and the turn: which one ends it, which one lets the model go on, and which one waits."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from tests.support.engine import World
from tests.support.pending_questions import Absent, Dying, Killed, on_disk
from tests.support.session import TOOLS, Answers, OpenGate, Person, Script, results, tooling, work

from assent.agent.services import ToolEnvironment
from assent.agent.tool_call_runner import NOT_YET_PRESENTED
from assent.core.llm import TextPart, ToolResult
from assent.core.permission.rule import PermissionPattern
from assent.core.session.event import (
    AnswerTaken,
    QuestionAnswered,
    QuestionAsked,
    SessionEvent,
    TurnEnded,
)
from assent.core.session.question import NO, SESSION, YES, QuestionReply
from assent.core.session.record import SessionRecord
from assent.core.tool import Decision, PermissionContext, ResourceAccess, Verdict
from assent.tools.dispatcher import ToolDispatcher


@pytest.fixture
def record(world: World, tmp_path: Path) -> SessionRecord:
    return on_disk(world, tmp_path).engine().sessions.start("Greet", "ask")


def write(path: str) -> tuple[str, dict[str, str]]:
    return ("write", {"path": path, "text": f"{path}\n"})


def events(world: World, record: SessionRecord) -> list[SessionEvent]:
    return [one.event for one in world.engine().sessions.events(record)]  # type: ignore[misc]


def ends(world: World, record: SessionRecord) -> list[str]:
    return [event.why for event in events(world, record) if isinstance(event, TurnEnded)]


def count(world: World, record: SessionRecord, kind: type) -> int:
    return sum(isinstance(event, kind) for event in events(world, record))


def answer(world: World, label: str, patterns: tuple[PermissionPattern, ...] = ()) -> None:
    """Answers the oldest open question from elsewhere."""
    questions = world.engine().pending_questions
    one = questions.pending()[0]
    reply = QuestionReply(((label,),), "ada (test)", patterns)
    questions.answer(one.id, one.inquiry.asked.digest, reply)


def test_f86_a_plain_no_ends_the_turn_and_the_model_knows_next_time(
    world: World, record: SessionRecord
) -> None:
    script = Script([write("a"), write("b")], "I see.")
    person = Person(((NO,),))
    work(world, record, script, person)
    assert ends(world, record) == ["declined"]
    assert (world.files(), len(person.asked), script.answers) == ({}, 1, ["I see."])
    assert [one.failed for one in results(world, record)] == [True, True]
    assert "they denied it" in results(world, record)[0].text
    work(world, world.engine().sessions.say(record, "Why?"), script)
    assert ends(world, record) == ["declined", "end"]


def test_f86_what_was_said_after_the_question_reaches_the_model(
    world: World, record: SessionRecord
) -> None:
    script = Script([write("a"), write("b")], "I use b/.", "Done.")
    work(world, record, script, Absent())
    world.engine().sessions.say(record, "Put it into `b/`, please")
    work(world, record, script, Absent())
    assert ends(world, record) == ["waiting", "waiting"]
    answer(world, NO)
    work(world, record, script, Absent())
    assert (ends(world, record)[2:], script.answers) == (["end"], ["Done."])
    said = [part.text for part in script.prompts[-1][-1].parts if isinstance(part, TextPart)]
    assert said == ["Put it into `b/`, please"]
    assert world.files() == {}


def test_f86_what_was_said_before_the_question_does_not_keep_the_turn_going(
    world: World, record: SessionRecord
) -> None:
    script = Script([write("a")], [write("b")], "I see.")
    work(world, record, script, Absent())
    world.engine().sessions.say(record, "Put it into `b/`, please")
    answer(world, NO)
    work(world, record, script, Absent())
    answer(world, NO)
    work(world, record, script, Absent())
    assert (ends(world, record), script.answers) == (["waiting", "waiting", "declined"], ["I see."])


def test_f85_a_no_with_words_reaches_the_model_verbatim_and_it_goes_on(
    world: World, record: SessionRecord
) -> None:
    script = Script([write("a")], "I see.")
    work(world, record, script, Person((("Put it into `b/`, please",),)))
    assert "Put it into `b/`, please" in results(world, record)[0].text
    assert (ends(world, record), script.answers) == (["end"], [])


def test_f94_without_anybody_the_model_is_told_and_goes_on(
    world: World, record: SessionRecord
) -> None:
    script = Script([write("a")], "I see.")
    work(world, record, script)
    assert "no one was available" in results(world, record)[0].text
    assert (ends(world, record), world.files()) == (["end"], {})


class Denying(OpenGate):
    """Implements ports.Gate with a rule that denies."""

    def decide(self, requests: Sequence[ResourceAccess], posture: PermissionContext) -> Decision:
        if any(request.resource == "locked" for request in requests):
            return Decision(Verdict.DENY, "Lock files are made by tools.", "user", "edit: locked")
        return super().decide(requests, posture)


def denying(person: Person) -> ToolEnvironment:
    gate = Denying()
    return msgspec.structs.replace(
        tooling(person), gate=gate, dispatcher=ToolDispatcher(TOOLS, gate)
    )


def test_f87_what_a_rule_denies_lets_the_model_go_on_with_the_reason(
    world: World, record: SessionRecord
) -> None:
    person = Person(((YES,),))
    script = Script([write("locked")], [write("free")], "Done.")
    for _ in world.engine().sessions.work(record, script, denying(person)):
        pass
    told = results(world, record)
    assert "Lock files are made by tools." in told[0].text
    assert (ends(world, record), world.files()) == (["end"], {"free": b"free\n"})
    assert len(person.asked) == 1


def test_f95_a_question_for_later_ends_the_turn_and_its_answer_goes_on(
    world: World, record: SessionRecord
) -> None:
    script = Script([write("a"), ("todo", {"items": ["x"]}), write("b")], "Done.")
    work(world, record, script, Absent())
    assert ends(world, record) == ["waiting"]
    assert (world.files(), len(world.engine().pending_questions.pending())) == ({}, 2)
    assert [one.failed for one in results(world, record)] == [False]  # the call in between
    answer(world, YES)
    work(world, record, script, Absent())
    assert (ends(world, record), world.files()) == (["waiting", "waiting"], {"a": b"a\n"})
    answer(world, "Not that one")
    work(world, record, script, Absent())
    assert ends(world, record) == ["waiting", "waiting", "end"]
    assert world.files() == {"a": b"a\n"}
    assert count(world, record, QuestionAsked) == 2
    assert count(world, record, AnswerTaken) == 1
    assert script.answers == []
    told = [part for part in script.prompts[-1][-1].parts if isinstance(part, ToolResult)]
    assert [(one.call, one.failed) for one in told] == [
        ("1.1", False),
        ("1.2", False),
        ("1.3", True),
    ]
    assert "Not that one" in told[2].text


def test_f35_a_plan_is_not_presented_while_one_of_its_edits_waits(
    world: World, record: SessionRecord
) -> None:
    record = world.engine().sessions.start("Greet", "plan")
    text = ("write_plan", {"text": "# Greet\n"})
    present: tuple[str, dict[str, str]] = ("present_plan", {})
    script = Script([text, write("secret.txt"), write("b"), present], [present])
    work(world, record, script, Absent())
    assert ends(world, record) == ["waiting"]
    presented = results(world, record)[-1]
    assert presented.failed
    assert presented.text == NOT_YET_PRESENTED.format(calls="write secret.txt")
    answer(world, YES)
    work(world, record, script, Absent())
    assert ends(world, record) == ["waiting", "presented"]
    engine = world.engine()
    [plan] = engine.plans.all()
    assert [op.path for op in engine.plans.operations(plan)] == [b"b", b"secret.txt"]  # type: ignore[union-attr]


def test_f86_one_plain_no_ends_all_that_waits(world: World, record: SessionRecord) -> None:
    script = Script([write("a"), write("b")], "Done.")
    work(world, record, script, Absent())
    answer(world, NO)
    assert world.engine().pending_questions.pending() == []
    work(world, record, script, Person())
    assert ends(world, record) == ["waiting", "declined"]
    assert world.files() == {}


def test_what_a_model_wants_to_know_can_wait_too(world: World, record: SessionRecord) -> None:
    script = Script([("question", {"items": ["Colour?"]})], "Done.")
    work(world, record, script, Absent())
    assert ends(world, record) == ["waiting"]
    answer(world, "Blue")
    work(world, record, script, Absent())
    assert ends(world, record) == ["waiting", "end"]
    assert '"answers":["Blue"]' in results(world, record)[0].text


def test_what_changed_while_it_waited_is_asked_anew(world: World, record: SessionRecord) -> None:
    """A yes is for the bytes that were shown."""
    world.put({"a": b"old\n"})
    script = Script([write("a")], "Done.")
    work(world, record, script, Absent())
    answer(world, YES)
    world.put({"a": b"somebody else's\n"})
    person = Person()
    work(world, record, script, person)
    assert len(person.asked) == 1
    assert world.files() == {"a": b"somebody else's\n"}


def killed(world: World, record: SessionRecord, after: type, *answers: Answers) -> Script:
    """A turn whose process dies right after something was recorded."""
    script = Script([write("a")], "Done.")
    engine = world.engine(Dying(world.store, after))
    with pytest.raises(Killed):
        for _ in engine.sessions.work(record, script, tooling(Person(*answers))):
            pass
    return script


@pytest.mark.parametrize("after", [QuestionAsked, QuestionAnswered])
def test_f95_a_restart_during_a_question(world: World, record: SessionRecord, after: type) -> None:
    script = killed(world, record, after, ((YES,),))
    open_ones = world.engine().pending_questions.pending()
    assert len(open_ones) == (after is QuestionAsked)
    person = Person(((YES,),))
    work(world, record, script, person)
    assert world.files() == {"a": b"a\n"}
    assert count(world, record, QuestionAsked) == 1
    assert len(person.asked) == len(open_ones)
    assert ends(world, record) == ["waiting", "end"]


def test_f95_after_a_yes_was_taken_nothing_is_done_twice(
    world: World, record: SessionRecord
) -> None:
    script = killed(world, record, AnswerTaken, ((YES,),))
    person = Person(((YES,),))
    work(world, record, script, person)
    assert (person.asked, world.files()) == ([], {})
    assert results(world, record)[0].failed
    assert ends(world, record) == ["interrupted", "end"]


class Remembering(OpenGate):
    def decide(self, requests: Sequence[ResourceAccess], posture: PermissionContext) -> Decision:
        if posture.grants:
            return Decision(Verdict.RUN, "You said so.", "grant", posture.grants[0].id)
        return super().decide(requests, posture)

    def parts(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        return ()

    def grant_patterns(
        self, requests: Sequence[ResourceAccess], posture: PermissionContext
    ) -> tuple[PermissionPattern, ...]:
        return (PermissionPattern("edit", "*"),)


def test_f88_a_remembered_yes_settles_what_waits_and_what_comes(
    world: World, record: SessionRecord
) -> None:
    gate = Remembering()

    def tools(person: Person) -> ToolEnvironment:
        return msgspec.structs.replace(
            tooling(person), gate=gate, dispatcher=ToolDispatcher(TOOLS, gate)
        )

    script = Script([write("a"), write("b")], [write("c")], "Done.")
    for _ in world.engine().sessions.work(record, script, tools(Absent())):
        pass
    answer(world, SESSION, (PermissionPattern("edit", "*"),))
    assert world.engine().pending_questions.pending() == []
    person = Person()
    for _ in world.engine().sessions.work(record, script, tools(person)):
        pass
    assert world.files() == {"a": b"a\n", "b": b"b\n", "c": b"c\n"}
    assert person.asked == []
    assert count(world, record, QuestionAsked) == 2
