"""Authoring: a draft comes along to another name, and only a described plan is presented."""

import msgspec
import pytest
from tests.support.engine import World
from tests.support.session import PRESENTS, Script, planned, results, told, turn, work

from assent.agent.effects import EMPTY_TEXT
from assent.agent.prompt import ModeSwitch, ReminderContext, mode_text, reminder
from assent.core.plan.operation import WriteFile
from assent.core.plan.plan import NO_SCOPE
from assent.core.plan.record import PlanRecord

GOAL = "Greet"
SCOPED = "---\nscope: {files: [src/*]}\n---\n# Words\n"
PRESENT: tuple[str, dict[str, str]] = ("present_plan", {})


def write(path: str, text: str = "x") -> tuple[str, dict[str, str]]:
    return ("write", {"path": path, "text": text})


def plan_text(text: str, name: str = "") -> tuple[str, dict[str, str]]:
    return ("write_plan", {"text": text, "name": name})


def staged(world: World, plan: PlanRecord) -> list[str]:
    operations = world.engine().plans.operations(plan)
    return [op.path.decode() for op in operations if isinstance(op, WriteFile)]


def test_what_is_staged_comes_along_to_a_plan_of_another_name(world: World) -> None:
    """Otherwise the presented plan would be words alone, and the edit lie in a plan elsewhere."""
    record = turn(world, GOAL, [write("a")], [plan_text("# Greet\n", "greet-yo")], [PRESENT])
    plan = world.engine().plans.find()
    assert (plan.plan_id, plan.name, plan.state) == (
        record.plan_id,
        "greet-yo",
        "AWAITING_APPROVAL",
    )
    assert staged(world, plan) == ["a"]
    assert [p.name for p in (world.root / ".opencode/plans").rglob("*.md")] == ["PLAN_greet-yo.md"]
    assert "\n1 operation is staged:\n1. " in results(world, record)[1].text
    assert told(world, record, "staged") == []


def test_a_plan_with_words_of_its_own_stays_without_operations(world: World) -> None:
    turn(world, GOAL, [plan_text("# One\n"), write("a")], [plan_text("# Two\n", "two")], "Done.")
    engine = world.engine()
    first, second = engine.plans.find("greet"), engine.plans.find("two")
    assert (engine.plans.live_text(first), staged(world, first)) == (b"# One\n", [])
    assert (engine.plans.live_text(second), staged(world, second)) == (b"# Two\n", ["a"])


def test_a_draft_joins_what_the_other_plan_has(world: World) -> None:
    record = turn(
        world, GOAL, [plan_text("# Two\n", "two"), write("b")], [plan_text("# One\n", "one")],
        [write("a")], [plan_text("# Both\n", "two")], "Done.",
    )  # fmt: skip
    assert sorted(staged(world, world.engine().plans.find("two"))) == ["a", "b"]
    assert world.engine().plans.find("two").plan_id == record.plan_id


def test_what_was_presented_stays_as_it_is_under_its_name(world: World) -> None:
    record = turn(world, GOAL, [write("a")], PRESENTS)
    first = world.engine().plans.find()
    record = world.engine().sessions.say(record, "Now another one.")
    work(world, record, Script([plan_text("# Other\n", "other")], "Done."))
    assert world.engine().plans.find("greet") == first
    assert staged(world, world.engine().plans.find("other")) == []


@pytest.mark.parametrize("name", ["greet", "PLAN_greet", "PLAN_greet.md", "greet.md"])
def test_an_equal_name_is_the_same_plan(world: World, name: str) -> None:
    record = turn(world, GOAL, [write("a")], [plan_text("# Greet\n", name)], "Done.")
    plan = world.engine().plans.find()
    assert (plan.plan_id, plan.name, staged(world, plan)) == (record.plan_id, "greet", ["a"])


def test_a_bad_name_moves_nothing(world: World) -> None:
    record = turn(world, GOAL, [write("a")], [plan_text("# Greet\n", "../evil")], "Done.")
    assert results(world, record)[-1].failed
    assert staged(world, world.engine().plans.find("greet")) == ["a"]


def test_the_bare_template_is_not_presented_whatever_is_staged(world: World) -> None:
    record = turn(world, GOAL, [write("a"), PRESENT], PRESENTS)
    first = results(world, record)[1]
    assert (first.failed, first.text) == (True, EMPTY_TEXT)
    assert not results(world, record)[-1].failed


def test_prose_that_covers_no_file_is_presented_with_a_warning(world: World) -> None:
    record = turn(world, GOAL, [plan_text("# Words\n"), PRESENT])
    assert results(world, record)[-1].text.endswith(NO_SCOPE)
    engine = world.engine()
    engine.approvals.propose(engine.plans.write(engine.plans.find(), b"# Other words\n"))
    assert engine.warnings == (NO_SCOPE,)


@pytest.mark.parametrize("text", [SCOPED, "# Words\n"], ids=["scope", "operations"])
def test_nobody_is_warned_of_a_scope_or_of_operations(world: World, text: str) -> None:
    edits = [] if text == SCOPED else [write("a")]
    record = turn(world, GOAL, [plan_text(text), *edits, PRESENT])
    assert NO_SCOPE not in results(world, record)[-1].text


@pytest.mark.parametrize("key", ["scopes", "Scope", "scope.files", "relies-on", "reliesOn"])
def test_a_misspelt_declaration_is_not_presented(world: World, key: str) -> None:
    wrong = f"---\n{key}: {{files: [src/*]}}\n---\n# Words\n"
    record = turn(world, GOAL, [plan_text(wrong), PRESENT], "Oh.")
    last = results(world, record)[-1]
    assert last.failed
    assert last.text.startswith(f"Fix the front matter: `{key}` is ignored; write `")
    engine = world.engine()
    engine.approvals.propose(engine.plans.find())  # a person may, and is told
    assert engine.warnings[0].startswith(f"In the front matter, `{key}` is ignored; use `")


def test_what_the_model_is_told_follows_plan_staging(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    for words in (
        reminder(record, None, ReminderContext(staging=False)),
        mode_text(ModeSwitch("plan", staging=False)),
    ):
        assert "nothing can be staged here: write a text plan" in words
        assert "are staged in the plan" not in words
    assert "Writes, and commands with `stage: true`, are staged" in reminder(record, None)


def test_while_a_plan_is_built_the_reminder_speaks_of_its_scope(world: World) -> None:
    record = msgspec.structs.replace(world.engine().sessions.start(GOAL, "plan"), mode="ask")
    words = reminder(record, None, ReminderContext(scope=("src/*",)))
    assert "It covers: src/*." in words
    assert "asked before each change" not in words
    assert "It covers: none" in reminder(record, None, ReminderContext(scope=()))


def test_f92_the_model_reads_what_the_person_typed_and_names_are_made_without_secrets(
    world: World,
) -> None:
    key = "AKIA" + "Z7Q4X2M9K1B8W3LP"
    sessions = world.engine().sessions
    record = planned(world.engine(), sessions.start(f"my key is {key} ok", "plan"))
    assert key in str(sessions.transcript(record).messages)
    plan = world.engine().plans.find(record.plan_id)
    named = f"{record.slug} {record.goal} {record.title} {plan.name} {plan.goal} {plan.path!r}"
    assert key.lower() not in named.lower()
    assert record.slug.startswith("my-key-is-")
