"""F148: a session goes back to before something the person said, and another way from there."""

from pathlib import Path

import pytest
from tests.runs.test_permits import undo
from tests.support.engine import World
from tests.support.pending_questions import Absent, child_of
from tests.support.session import Person, Script, told, tooling, work

from assent.agent.rewind import RewindPreview
from assent.core.errors import Busy, IllegalState, NotFound
from assent.core.llm import TextPart
from assent.core.session.event import SessionRewound, Todo, TodosChanged
from assent.core.session.record import SessionRecord
from assent.store.locks import FileLocks

WRITE_A = [("write", {"path": "a.txt", "text": "a\n"})]
WRITE_B = [("write", {"path": "b.txt", "text": "b\n"})]


def talked(world: World) -> SessionRecord:
    """A session of three turns, of which the first and the third changed a file."""
    record = world.engine().sessions.start("First", "yolo")
    record = work(world, record, Script(WRITE_A, [("todo", {"items": ["one"]})], "One."))
    for words, script in (
        ("Second", Script([("todo", {"items": ["one", "two"]})], "Two.")),
        ("Third", Script(WRITE_B, "Three.")),
    ):
        record = work(world, world.engine().sessions.say(record, words), script)
    return record


def read(world: World, record: SessionRecord) -> list[str]:
    """What the model reads of it, without results."""
    messages = world.engine().sessions.transcript(record).messages
    return [part.text for one in messages for part in one.parts if isinstance(part, TextPart)]


def id_of(world: World, record: SessionRecord, words: str) -> str:
    [found] = [one for one in world.engine().sessions.messages(record) if one.text == words]
    return found.id


def test_f148_the_model_forgets_and_the_words_come_back_to_the_person(world: World) -> None:
    record = talked(world)
    sessions = world.engine().sessions
    spoken = sessions.messages(record)
    assert [(one.text, one.turn) for one in spoken] == [("First", 1), ("Second", 2), ("Third", 3)]
    back = sessions.rewind(record, spoken[1].id)
    assert (back.messages, back.turns, back.todos, back.waiting) == (1, 3, (Todo("one"),), False)
    assert read(world, back)[-1] == "One."
    assert [one.text for one in sessions.messages(back)] == ["First"]
    assert world.files() == {"a.txt": b"a\n", "b.txt": b"b\n"}


def test_f148_nothing_is_lost_in_the_log(world: World) -> None:
    record = talked(world)
    before = world.engine().sessions.events(record)
    second = id_of(world, record, "Second")
    back = world.engine().sessions.rewind(record, second)
    after = world.engine().sessions.events(back)
    assert after[: len(before)] == before
    events = [one.event for one in after[len(before) :]]
    assert events == [
        SessionRewound(second, "Second", 1, "build"),
        TodosChanged((Todo("one"),)),
    ]


def test_f148_the_next_words_come_with_what_holds_and_nothing_of_what_was_cut(
    world: World,
) -> None:
    record = talked(world)
    sessions = world.engine().sessions
    record = sessions.rewind(record, id_of(world, record, "Second"))
    assert record.rewound
    script = Script("Other.")
    record = work(world, sessions.say(record, "Another second"), script)
    assert (record.rewound, record.messages, record.ended) == (False, 2, "end")
    words = read(world, record)
    assert words[-2:] == ["Another second", "Other."]
    assert not [each for each in words if "Third" in each or "Two." in each]
    assert len(told(world, record, "reminder")) == 2  # one for the first words, one for these
    [second] = [each for each in words[2:] if "yolo" in each]
    assert second == told(world, record, "reminder")[1]
    assert "Top level" not in second  # the model can still read it in the first


def test_f148_the_next_words_come_with_what_is_still_staged(world: World) -> None:
    sessions = world.engine().sessions
    record = sessions.start("First", "plan")
    record = work(world, record, Script(WRITE_A, "Staged."))
    record = sessions.rewind(record)
    record = work(world, sessions.say(record, "Instead"), Script("Other."))
    first, second = told(world, record, "reminder")
    assert first.endswith("\nTop level: empty.")
    assert "staged." not in first.splitlines()[-2]
    assert second.endswith("; 1 operation staged.\nTop level: a.txt.")


def test_f148_to_before_the_first_words_leaves_nothing_to_read(world: World) -> None:
    record = talked(world)
    sessions = world.engine().sessions
    record = sessions.rewind(record, id_of(world, record, "First"))
    assert (read(world, record), record.messages, record.todos) == ([], 0, ())
    with pytest.raises(NotFound, match="has no messages yet"):
        sessions.rewind(record)


def test_f148_without_a_message_it_is_the_last_one(world: World) -> None:
    record = talked(world)
    record = world.engine().sessions.rewind(record)
    assert read(world, record)[-1] == "Two."


def test_f148_it_says_what_was_done_since_for_an_undo(world: World) -> None:
    record = talked(world)
    engine = world.engine()
    since = engine.sessions.since(record, id_of(world, record, "Second"))
    assert (since.turns, len(since.runs)) == ((2, 3), 1)
    whole = engine.sessions.since(record, id_of(world, record, "First"))
    assert (whole.turns, len(whole.runs)) == ((1, 2, 3), 2)
    assert whole.runs[0] == since.runs[0]
    undo(engine, since.runs[0])
    assert world.files() == {"a.txt": b"a\n"}
    assert engine.sessions.since(record) == RewindPreview((3,), ())


def test_f148_a_session_at_work_cannot_go_back(world: World, tmp_path: Path) -> None:
    world.locks = FileLocks(tmp_path / "locks", patience=0.01)
    record = talked(world)
    sessions = world.engine().sessions
    with (
        sessions.locked(record, "somebody"),
        pytest.raises(Busy, match="is running; nothing was changed"),
    ):
        sessions.rewind(record)
    assert read(world, record)[-1] == "Three."


def test_f148_an_open_question_is_a_no_and_its_call_is_forgotten(world: World) -> None:
    engine = world.engine()
    record = engine.sessions.start("Write", "ask")
    for _ in engine.sessions.work(record, Script(WRITE_A, "Never said."), tooling(Absent())):
        pass
    record = engine.sessions.load(record.session)
    assert (record.ended, len(record.questions)) == ("waiting", 1)
    record = engine.sessions.rewind(record)
    assert (record.questions, record.ended, engine.pending_questions.pending()) == ((), "", [])
    record = engine.sessions.say(record, "Say hello")
    script = Script("Hello.")
    record = work(world, record, script, Person())
    assert (record.ended, world.files()) == ("end", {})


def test_f148_a_retry_after_it_tells_nothing_of_what_was_cut(world: World) -> None:
    record = world.engine().sessions.start("First", "yolo")
    record = work(world, record, Script("One."))
    record = world.engine().sessions.say(record, "Second")
    record = work(world, record, Script([("read", {"path": "gone.txt"})], "Two."))
    again = world.engine().sessions.retry(world.engine().sessions.rewind(record))
    assert "gone.txt" not in told(world, again, "retry")[0]


def test_f148_a_fork_inherits_only_what_still_counts(world: World) -> None:
    record = talked(world)
    sessions = world.engine().sessions
    fork = sessions.fork(sessions.rewind(record, id_of(world, record, "Second")))
    assert "Third" not in read(world, fork)
    assert fork.todos == (Todo("one"),)


def test_f148_a_child_cannot_go_back_by_itself(world: World) -> None:
    parent = world.engine().sessions.start("First", "ask")
    child = child_of(world, parent, "child")
    with pytest.raises(IllegalState, match="rewind its parent session"):
        world.engine().sessions.rewind(child)
