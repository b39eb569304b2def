"""F140: files go back with the conversation, whatever the turns since did to them."""

import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent.test_rewind import id_of, read, talked
from tests.runs.test_undo_recovery import recalled
from tests.support.engine import World
from tests.support.properties import examples
from tests.support.session import Script, told, work
from tests.support.subagents import Family, task

from assent.agent.rewind import session_at_work
from assent.agent.rewind_files import FileRewind
from assent.app.engine import Engine
from assent.core.errors import Busy, Drift
from assent.core.run.journal import drive_to_end
from assent.core.session.event import Todo
from assent.core.session.record import SessionRecord
from assent.runs.run_status import RunReport
from assent.store.locks import FileLocks


@pytest.fixture
def family(tmp_path: Path) -> Family:
    return Family(tmp_path)


PATHS = ("a.txt", "b.txt", "d/c.txt")
# What a turn does to a path: None deletes it, if it is there.
CHANGES = st.lists(
    st.tuples(st.sampled_from(PATHS), st.none() | st.sampled_from(("1", "2", "3"))), max_size=4
)


def rewound(engine: Engine, record: SessionRecord, message: str) -> tuple[FileRewind, RunReport]:
    shown = engine.file_rewinds.preview(record, message)
    return shown, drive_to_end(engine.file_rewinds.apply(shown, "test"))


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(CHANGES, min_size=1, max_size=4), st.data())
def test_f140_any_turns_rewound_to_any_message_give_the_tree_of_then(
    turns: list[list[tuple[str, str | None]]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as base:
        world = World(Path(base))
        world.put({"a.txt": b"first\n", "mine.txt": b"mine\n"})
        trees, record = [], world.engine().sessions.start("Turn 0", "yolo")
        for number, changes in enumerate(turns):
            trees.append(world.files())
            if number:
                record = world.engine().sessions.say(record, f"Turn {number}")
            steps, there = [], set(world.files())
            for path, text in changes:
                if text is None and path not in there:
                    continue
                there = there - {path} if text is None else there | {path}
                call = ("delete", {"path": path}) if text is None else (
                    "write", {"path": path, "text": text})  # fmt: skip
                steps.append([call])
            record = work(world, record, Script(*steps, "Done."))
        last = world.files()
        number = data.draw(st.integers(0, len(turns) - 1))
        engine = world.engine()
        shown = engine.file_rewinds.preview(record, id_of(world, record, f"Turn {number}"))
        assert not shown.undo.inversion.skipped
        if not shown.has_files:
            assert world.files() == trees[number]
            return
        drive_to_end(engine.file_rewinds.apply(shown, "test"))
        assert world.files() == trees[number]
        assert engine.sessions.load(record.session).messages == number
        drive_to_end(engine.undo.apply(engine.undo.redo(), "test"))
        assert world.files() == last


def test_f140_files_todos_and_conversation_go_back_together(world: World) -> None:
    record, engine = talked(world), world.engine()
    shown, report = rewound(engine, record, id_of(world, record, "Second"))
    assert (report.outcome, world.files()) == ("done", {"a.txt": b"a\n"})
    back = engine.sessions.load(record.session)
    assert (back.messages, back.todos, back.rewound) == (1, (Todo("one"),), True)
    assert read(world, back)[-1] == "One."
    assert shown.undo.target.record.name == "changes since turn 2 of first"


def test_f140_the_model_is_told_once_and_in_plain_words(world: World) -> None:
    record, engine = talked(world), world.engine()
    rewound(engine, record, id_of(world, record, "Third"))
    record = work(world, world.engine().sessions.say(record, "Other"), Script("Fine."))
    record = work(world, world.engine().sessions.say(record, "More"), Script("Fine."))
    [words] = told(world, record, "undone")
    assert words == (
        "The user went back to an earlier message. What was changed in files after that message "
        "is undone. Read a file again before you rely on it.\n- b.txt"
    )


def test_law_8_a_rewind_with_files_is_recalled_as_it_was_shown(world: World) -> None:
    record, engine = talked(world), world.engine()
    world.put({"b.txt": b"mine\n"})
    shown, report = rewound(engine, record, id_of(world, record, "First"))
    assert report.outcome == "partial"
    plain = engine.runs.report(engine.plans.repository(), report.run, shown.undo.plan)
    found, again = recalled(engine, plain)
    assert again == report
    assert found.command == shown.undo.command
    assert msgspec.structs.replace(found, target=shown.undo.target) == shown.undo


def test_f140_what_a_child_session_changed_goes_back_too(family: Family) -> None:
    write = [("write", {"path": "a.txt", "content": "a\n"})]
    root = family.play("yolo", main=[[task("Write", "general")], "Done."], general=[write, "Done."])
    engine = family.engine
    shown, report = rewound(engine, root, "")
    assert (report.outcome, len(shown.undo.target.runs)) == ("done", 1)
    assert [op.path for op in shown.undo.originals] == [b"a.txt"]
    assert engine.sessions.load(root.session).messages == 0
    assert engine.turn_changes.turns(root)[0].undone == "all"


def test_f140_other_sessions_keep_what_they_did(world: World) -> None:
    record = talked(world)
    other = world.engine().sessions.start("Another goal", "yolo")
    work(world, other, Script([("write", {"path": "other.txt", "text": "o\n"})], "Done."))
    rewound(world.engine(), record, id_of(world, record, "First"))
    assert world.files() == {"other.txt": b"o\n"}


def test_f140_what_was_undone_already_is_not_undone_twice(world: World) -> None:
    record, engine = talked(world), world.engine()
    drive_to_end(engine.undo.apply(engine.undo.preview(), "test"))
    assert world.files() == {"a.txt": b"a\n"}
    shown = engine.file_rewinds.preview(record, id_of(world, record, "Second"))
    assert (shown.has_files, shown.is_blocked) == (False, False)
    rewound(engine, record, id_of(world, record, "First"))
    assert world.files() == {}


def test_f140_what_changes_after_it_was_shown_stops_it(world: World) -> None:
    record, engine = talked(world), world.engine()
    shown = engine.file_rewinds.preview(record, id_of(world, record, "First"))
    world.put({"b.txt": b"mine\n"})
    with pytest.raises(Drift, match="was not rewound"):
        drive_to_end(engine.file_rewinds.apply(shown, "test"))
    assert world.files() == {"a.txt": b"a\n", "b.txt": b"mine\n"}
    assert engine.sessions.load(record.session).messages == 3


def test_f140_a_session_at_work_is_not_rewound(world: World, tmp_path: Path) -> None:
    world.locks = FileLocks(tmp_path / "locks", patience=0.01)
    record, engine = talked(world), world.engine()
    shown = engine.file_rewinds.preview(record, id_of(world, record, "First"))
    with (
        engine.sessions.locked(record, "somebody"),
        pytest.raises(Busy) as caught,
    ):
        drive_to_end(engine.file_rewinds.apply(shown, "test"))
    assert caught.value.message == session_at_work(record).message
    assert world.files() == {"a.txt": b"a\n", "b.txt": b"b\n"}
