"""Sessions: starting, continuing and finding them; modes; forks; one worker at a time."""

import json
import shutil
from collections.abc import Iterator

import msgspec
import pytest
from tests.support.engine import PassedOn, RacingStore, World
from tests.support.session import PRESENTS, Script, planned, results, told, tooling, turn, work

from assent.core.errors import Busy, NotFound, StoreError, UsageError
from assent.core.event import StoredEvent
from assent.core.llm import ImagePart, StreamDelta, TextPart
from assent.core.permission.mode import MODES, Mode
from assent.core.session.event import (
    AttachedFile,
    MessageAdded,
    MessageQueued,
    ModeChanged,
    SessionStarted,
    Todo,
    UserTyped,
)
from assent.ports import EventBatch, EventStore
from assent.ports.session import Turn
from assent.store.locks import FileLocks
from assent.tools.dispatcher import NOT_ALLOWED

GOAL = "Greet everybody who comes by, please, and quickly"
SLUG = "greet-everybody-who-comes-by-please-and-quickly"
MARKER = ".opencode/assent/workspace.json"
PLAN = f".opencode/plans/{SLUG}/PLAN_greet_everybody_who_comes_by_please.md"


def texts(script: Script) -> list[str]:
    """What the model was told in its newest request."""
    parts = [part for message in script.prompts[-1] for part in message.parts]
    return [part.text for part in parts if isinstance(part, TextPart)]


def test_f23_the_first_change_in_plan_mode_makes_the_plan_file_from_the_template(
    world: World,
) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    assert not (world.root / ".opencode").exists()
    script = Script([("write", {"path": "a.txt", "text": "x"})], "Done.")
    record = work(world, record, script)
    text = (world.root / PLAN).read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Greet everybody who comes by please",
        "## Goal",
        "## Proposed changes",
        "## Verification",
    ]
    assert GOAL in text
    plan = world.engine().plans.find()
    assert (record.plan_id, record.slug) == (plan.plan_id, SLUG)


@pytest.mark.parametrize(("goal", "mode"), [("", "plan"), (GOAL, "plan"), (GOAL, "ask")])
def test_a_session_starts_without_a_plan(world: World, goal: str, mode: Mode) -> None:
    record = world.engine().sessions.start(goal, mode)
    assert (record.plan_id, world.engine().plans.all()) == ("", [])


@pytest.mark.parametrize("way", ["switch", "fork"])
def test_only_a_session_that_may_change_files_marks_its_workspace(world: World, way: str) -> None:
    sessions = world.engine().sessions
    record = work(world, sessions.start(GOAL, "plan"), Script("It is 42."))
    assert not (world.root / ".opencode").exists()
    changed = sessions.set_mode(record, "ask")
    if way == "fork":
        shutil.rmtree(world.root / ".opencode")
        changed = world.engine().sessions.fork(changed)
    work(world, world.engine().sessions.say(changed, "Thanks."), Script("Fine."))
    assert changed.workspace in (world.root / MARKER).read_text("utf-8")


def test_a_question_answered_in_words_leaves_no_file(world: World) -> None:
    record = turn(world, GOAL, "It is 42.")
    assert (record.plan_id, (world.root / PLAN).exists()) == ("", False)
    assert world.engine().plans.all() == []
    again = work(world, world.engine().sessions.say(record, "Really?"), Script("Yes."))
    assert (again.turns, again.plan_id) == (2, "")


def test_a_plan_that_somebody_touched_stays(world: World) -> None:
    record = planned(world.engine(), world.engine().sessions.start(GOAL, "plan"))
    (world.root / PLAN).write_text("# Mine\n", encoding="utf-8")
    work(world, record, Script("Fine."))
    assert (world.root / PLAN).exists()


def test_slugs_are_unique_among_sessions_and_folders_of_plans(world: World) -> None:
    world.engine().plans.new("work", "greet")
    slugs = [world.engine().sessions.start("Greet", "ask").slug for _ in range(3)]
    assert slugs == ["greet-2", "greet-3", "greet-4"]


@pytest.mark.parametrize(
    ("said", "goal", "slug"),
    [
        ("[image 1] What is this [image 2]?", "What is this ?", "what-is-this"),
        ("[image 1]\n\nMake it blue", "Make it blue", "make-it-blue"),
        ("[image 3] is a title", "[image 3] is a title", "image-3-is-a-title"),
        ("[image 1] [image 2]", "[image 1] [image 2]", "image-1-image-2"),
    ],
)
def test_a_session_is_named_without_the_signs_of_pasted_images(
    world: World, said: str, goal: str, slug: str
) -> None:
    image = ImagePart("image/png", b"\x89PNG")
    signs = ("[image 1]", "[image 2]")
    pasted = tuple([AttachedFile(sign, "image", sign, images=(image,)) for sign in signs])
    record = world.engine().sessions.start(said, "plan", typed=UserTyped(said, pasted))
    assert (record.goal, record.slug) == (goal, slug)
    (heard,) = [
        one.event
        for one in world.engine().sessions.events(record)
        if isinstance(one.event, MessageAdded) and not one.event.synthetic
    ]
    assert heard.parts[0] == TextPart(said)


def test_f1_the_mode_is_kept_for_each_session_and_can_be_changed(world: World) -> None:
    sessions = world.engine().sessions
    record = sessions.start(GOAL, "plan")
    assert record.mode == "plan"
    assert sessions.set_mode(record, "ask").mode == "ask"
    assert world.engine().sessions.load(record.session).mode == "ask"


def test_f6_a_mode_survives_a_restart(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    again = world.engine().sessions.last()  # another engine: another process
    work(world, again, Script([("write", {"path": "a.txt", "text": "x"})], "Done."))
    assert (again.mode, again.session) == ("plan", record.session)
    assert world.files() == {}


def test_f7_two_sessions_keep_different_modes(world: World) -> None:
    one = world.engine().sessions.start("One", "plan")
    other = world.engine().sessions.start("Other", "plan")
    world.engine().sessions.set_mode(other, "yolo")
    modes = {r.slug: r.mode for r in world.engine().sessions.all()}
    assert modes == {"one": "plan", "other": "yolo"}
    for record in (one, other):
        work(world, record, Script([("write", {"path": record.slug, "text": "x"})], "Done."))
    assert world.files() == {"other": b"x"}


@pytest.mark.parametrize("mode", MODES)
def test_f33_a_switch_says_what_holds_now_and_that_old_limits_do_not(
    world: World, mode: Mode
) -> None:
    before: Mode = "ask" if mode == "plan" else "plan"
    record = world.engine().sessions.start(GOAL, before)
    changed = world.engine().sessions.set_mode(record, mode)
    script = Script("Fine.")
    work(world, changed, script)
    assert changed.agent == ("plan" if mode == "plan" else "build")
    [words] = told(world, record, "mode")
    assert words in texts(script)
    assert f"to {mode}." in words
    assert "no longer apply" in words


def test_the_same_mode_again_says_nothing(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    assert world.engine().sessions.set_mode(record, "plan") == record


def test_f33_the_first_message_comes_with_a_reminder_once(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    record = world.engine().sessions.say(record, "And wave.")
    script = Script("Fine.")
    work(world, record, script)
    [reminder] = told(world, record, "reminder")
    assert texts(script) == [reminder, GOAL, "And wave."]
    assert reminder.startswith("Mode: plan.")
    assert PLAN not in reminder  # there is none yet


def test_the_newest_message_decides_the_agent(world: World) -> None:
    sessions = world.engine().sessions
    record = sessions.start(GOAL, "plan", model="x/y")
    assert (record.agent, record.model) == ("plan", "x/y")
    record = sessions.say(record, "Look around.", agent="explore")
    record = sessions.say(record, "Further.")
    assert (record.agent, record.model) == ("explore", "x/y")
    assert sessions.say(record, "Plan.", agent="plan").agent == "plan"
    assert sessions.say(sessions.set_mode(record, "ask"), "Go.").agent == "build"


def test_the_last_session_is_the_one_in_which_something_happened(world: World) -> None:
    one = world.engine().sessions.start("One", "ask")
    world.clock.hour += 1
    world.engine().sessions.start("Two", "ask")
    assert world.engine().sessions.last().slug == "two"
    world.clock.hour += 1
    world.engine().sessions.say(one, "More.")
    assert world.engine().sessions.last().slug == "one"


def test_finding(world: World) -> None:
    sessions = world.engine().sessions
    one, two = sessions.start("One", "ask"), sessions.start("Two", "ask")
    assert sessions.find("one") == one
    assert sessions.find(two.session) == two
    assert sessions.find(two.session[:10]) == two
    for wrong in ("three", "", "0"):
        with pytest.raises(NotFound):
            sessions.find(wrong)


def test_without_a_session_there_is_no_last_one(world: World) -> None:
    with pytest.raises(NotFound):
        world.engine().sessions.last()


def test_what_somebody_says_meanwhile_is_not_lost(world: World) -> None:
    record = world.engine().sessions.start("One", "ask")
    store = RacingStore(
        world.store, ModeChanged, lambda: world.engine().sessions.say(record, "Wait!")
    )
    changed = world.engine(store).sessions.set_mode(record, "yolo")
    assert (changed.mode, changed.messages) == ("yolo", 2)
    assert world.engine().sessions.load(record.session) == changed


def test_renaming(world: World) -> None:
    sessions = world.engine().sessions
    record = sessions.retitle(sessions.start("One", "ask"), "  Another \n name ")
    assert (record.title, record.slug) == ("Another name", "one")
    for title in ("", " ", "x" * 201):
        with pytest.raises(UsageError):
            sessions.retitle(record, title)


def test_deleting_takes_a_session_off_the_lists(world: World) -> None:
    sessions = world.engine().sessions
    record = planned(world.engine(), sessions.start(GOAL, "plan"))
    sessions.delete(record)
    assert sessions.all() == []
    assert [plan.plan_id for plan in world.engine().plans.all()] == [record.plan_id]
    with pytest.raises(NotFound):
        sessions.say(record, "Hello?")
    with pytest.raises(NotFound):
        sessions.find(record.session)


def test_f147_a_fork_has_words_and_todos_and_no_consent(world: World) -> None:
    record = turn(
        world,
        GOAL,
        [("todo", {"items": ["one"]}), ("write", {"path": "a.txt", "text": "x"})],
        PRESENTS,
    )
    plan = world.engine().plans.find()
    world.engine().approvals.approve(plan, plan.digest, "", "test")
    fork = world.engine().sessions.fork(record)
    assert (fork.plan_id, fork.fork, fork.todos) == ("", record.session, (Todo("one"),))
    assert (fork.usage, fork.cost) == (msgspec.structs.replace(fork.usage, input=0, output=0), 0.0)
    script = Script("Fine.")
    work(world, world.engine().sessions.say(fork, "Go on."), script)
    old = Script("Fine.")
    work(world, world.engine().sessions.say(record, "Go on."), old)
    assert script.prompts[-1][:5] == old.prompts[-1][:5]  # the same words
    assert "approvals given there do not apply here" in "".join(texts(script))


def test_f147_a_risky_call_in_a_fork_asks(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "yolo")
    record = work(world, record, Script([("write", {"path": "a", "text": "x"})], "Done."))
    fork = world.engine().sessions.fork(record)
    fork = work(world, fork, Script([("write", {"path": "b", "text": "x"})], "Done."))
    assert (fork.mode, world.files()) == ("ask", {"a": b"x"})
    assert NOT_ALLOWED in results(world, fork)[-1].text


def test_an_export_has_everything_as_json(world: World) -> None:
    record = turn(world, GOAL, [("write", {"path": "a.txt", "text": "x"})], "Done.")
    exported = json.loads(msgspec.json.encode(world.engine().sessions.export(record)))
    assert exported["session"]["slug"] == SLUG
    events = world.engine().sessions.events(record)
    assert [event["seq"] for event in exported["events"]] == [e.position for e in events]
    assert exported["events"][0]["kind"] == "session_started"
    assert {event["session"] for event in exported["events"]} == {record.session}


def test_only_one_works_on_a_session(world: World) -> None:
    world.locks = FileLocks(world.root / ".locks", patience=0.0)
    record = world.engine().sessions.start(GOAL, "plan")
    working = world.engine().sessions.work(record, Script("Fine."), tooling())
    next(working)
    with pytest.raises(Busy, match=SLUG):
        work(world, record, Script("Fine."))
    world.engine().sessions.say(record, "One can always say something.")
    for _ in working:
        pass
    work(world, record, Script("Fine."))


def test_f128_todos_go_back_with_a_run(world: World) -> None:
    record = turn(
        world,
        GOAL,
        [("todo", {"items": ["one"]}), ("write", {"path": "a.txt", "text": "x"})],
        PRESENTS,
    )
    plan = world.engine().plans.find()
    plan = world.engine().approvals.approve(plan, plan.digest, "", "test")
    run = world.build(plan).run
    record = world.engine().sessions.say(record, "Now the next thing.")
    record = work(world, record, Script([("todo", {"items": ["one", "two"]})], "Done."))
    assert record.todos == (Todo("one"), Todo("two"))
    restored = world.engine().sessions.restore_todos(plan, run)
    assert restored is not None
    assert restored.todos == (Todo("one"),)
    copy = world.root / f".opencode/assent/plans/{plan.plan_id}/taskmap.json"
    tasks = json.loads(copy.read_bytes())
    assert tasks["todos"] == [{"content": "one", "status": "pending"}]
    again = world.engine().sessions.restore_todos(plan, run)
    assert again == restored


class DamagedHeads(PassedOn):
    """A store whose heads cannot be read."""

    def head(self, stream: str) -> tuple[int, bytes] | None:
        found = super().head(stream)
        return (found[0], b"{not json") if found else None

    def heads(self, prefix: str) -> dict[str, tuple[int, bytes]]:
        return {stream: (seq, b"{not json") for stream, (seq, _) in super().heads(prefix).items()}


def test_a_damaged_head_is_no_loss(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    sessions = world.engine(DamagedHeads(world.store)).sessions
    assert sessions.load(record.session) == record
    assert sessions.all() == [record]


class OutdatedHeads(PassedOn):
    """A store that has lost the heads of some streams, or never had those of their last events."""

    def __init__(self, store: EventStore, stream: str) -> None:
        super().__init__(store)
        self._stream = stream

    def heads(self, prefix: str) -> dict[str, tuple[int, bytes]]:
        return {k: head for k, head in super().heads(prefix).items() if k != self._stream}


def test_a_session_without_a_current_head_is_listed_as_its_events_say(world: World) -> None:
    engine = world.engine()
    first, second = engine.sessions.start(GOAL, "plan"), engine.sessions.start("More", "ask")
    first = engine.sessions.retitle(first, "Another title")
    stream = engine.sessions.repository().stream(first.session)
    outdated = world.engine(OutdatedHeads(world.store, stream)).sessions
    assert outdated.all() == engine.sessions.all() == [second, first]


class CountingStore(PassedOn):
    """A store that counts how often it is asked about streams, heads and events."""

    def __init__(self, store: EventStore) -> None:
        super().__init__(store)
        self.asked = 0

    def read(self, stream: str, after: int = 0) -> list[StoredEvent]:
        self.asked += 1
        return super().read(stream, after)

    def head(self, stream: str) -> tuple[int, bytes] | None:
        self.asked += 1
        return super().head(stream)

    def heads(self, prefix: str) -> dict[str, tuple[int, bytes]]:
        self.asked += 1
        return super().heads(prefix)

    def streams(self, prefix: str) -> list[str]:
        self.asked += 1
        return super().streams(prefix)


def test_lists_ask_the_store_as_often_for_many_sessions_as_for_few(world: World) -> None:
    def asked() -> list[int]:
        counts = []
        for look in (
            lambda engine: engine.sessions.all(),
            lambda engine: engine.sessions.last(),
            lambda engine: engine.sessions.find(SLUG),
            lambda engine: engine.pending_questions.pending(),
            lambda engine: engine.plans.records(),
            lambda engine: engine.sessions.start("Something else", "plan"),
        ):
            store = CountingStore(world.store)
            look(world.engine(store))
            counts.append(store.asked)
        return counts

    world.engine().sessions.start(GOAL, "plan")
    few = asked()
    for _ in range(10):
        world.engine().sessions.start("More of it", "plan")
    assert asked() == few


def test_a_list_that_was_read_shows_what_others_record_later(world: World) -> None:
    engine = world.engine()
    record = planned(engine, engine.sessions.start(GOAL, "plan"))
    assert (engine.sessions.all(), len(engine.plans.records())) == ([record], 1)
    other = world.engine()
    renamed = other.sessions.retitle(record, "Another title")
    new = planned(other, other.sessions.start("More", "plan"))
    assert engine.sessions.all() == [new, renamed]
    assert {plan.session for plan in engine.plans.records()} == {record.slug, new.slug}


def test_a_session_begins_with_its_start_and_the_words_of_the_person(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "ask")
    events = [one.event for one in world.engine().sessions.events(record)]
    assert events[0] == SessionStarted(record.session, record.workspace, SLUG, "ask", GOAL)
    assert isinstance(events[-1], MessageAdded)
    assert events[-1].parts == (TextPart(GOAL),)


def test_f33_the_first_words_come_with_the_top_level_after_a_switch_of_the_mode_too(
    world: World,
) -> None:
    world.put({"src/a.py": b"", "Makefile": b""})
    sessions = world.engine().sessions
    record = sessions.set_mode(sessions.start("", "plan"), "yolo")
    record = sessions.say(sessions.say(record, "Look"), "Go on")
    [words] = told(world, record, "reminder")
    assert words.endswith("\nTop level: src/, Makefile.")


def test_f33_the_reminder_says_what_holds(world: World) -> None:
    record = turn(
        world,
        GOAL,
        [("todo", {"items": ["one"]}), ("write", {"path": "a.txt", "text": "x"})],
        PRESENTS,
    )
    plan = world.engine().plans.find()
    world.engine().approvals.approve(plan, plan.digest, "", "test")
    reminders: list[str] = []

    class Forgetful(Script):
        def drive(self, turn: Turn) -> Iterator[StoredEvent | StreamDelta]:
            reminders.append(turn.reminder())
            return super().drive(turn)

    work(world, world.engine().sessions.say(record, "Go on."), Forgetful("Fine."))
    [words] = reminders
    assert words.startswith("Mode: plan.")
    assert f"in {PLAN}, frozen under digest {plan.digest}, approved by the user; 1 op" in words
    assert words.endswith("Todos:\n- [pending] one")


def test_slugs_are_unique_whoever_starts_a_session_and_are_never_given_twice(world: World) -> None:
    one, other = world.engine(), world.engine()
    first = one.sessions.start("Greet", "ask")
    second = other.sessions.start("Greet", "ask")
    third = one.sessions.start("Greet", "ask")
    other.sessions.delete(third)
    fourth = one.sessions.start("Greet", "ask")
    assert [each.slug for each in (first, second, third, fourth)] == [
        "greet", "greet-2", "greet-3", "greet-4"
    ]  # fmt: skip


def test_the_queue_after_each_step_is_what_another_process_reads(world: World) -> None:
    one, other = world.engine(), world.engine()
    record = one.sessions.start("Greet", "ask")
    added = [one.message_queues.add(record, MessageQueued("", text)) for text in ("a", "b")]
    taken = one.message_queues.take(record)
    assert taken == added[0]
    assert other.message_queues.take(record) == taken  # it comes again until it is finished
    left = other.message_queues.finish(record, added[0].message)
    assert left == one.message_queues.queue(record)
    assert (left.taken, left.waiting) == (None, (added[1],))


def test_a_queue_that_another_process_changed_is_read_again(world: World) -> None:
    one, other = world.engine().message_queues, world.engine().message_queues
    record = world.engine().sessions.start("Greet", "ask")
    added = one.add(record, MessageQueued("", "a"))
    other.remove(record, added.message)
    assert one.take(record) is None
    again = one.add(record, MessageQueued("", "b"))
    assert one.take(record) == again
    other.finish(record, again.message)
    late = other.add(record, MessageQueued("", "c"))
    assert one.finish(record, again.message).waiting == (late,)
    assert one.take(record) == late


def test_a_goal_and_its_turn_are_recorded_together_or_not_at_all(world: World) -> None:
    class Refusing(PassedOn):
        def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
            if any(isinstance(event, MessageQueued) for each in batches for event in each.events):
                raise StoreError("The disk is full.")
            return super().append(*batches)

    full = world.engine(Refusing(world.store))
    with pytest.raises(StoreError):
        full.message_queues.start(full.sessions, GOAL, "plan")
    here = world.engine()
    assert here.sessions.all() == []
    record, queued = here.message_queues.start(here.sessions, GOAL, "plan", user="eve")
    there = world.engine()
    assert there.sessions.load(record.session) == record
    assert there.message_queues.queue(record).waiting == (queued,)
    assert there.message_queues.take(record) == queued
