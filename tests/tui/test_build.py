"""Building from the screen: a plan of operations by the executor, one of prose by a model."""

from tests.cli.scripts import PLANS, PRESENT, turn, write
from tests.tui.harness import Seat, Stage

TEXT = "---\nscope:\n  files: [src/*]\n---\n# Greet\n\n## Proposed changes\n\n- [ ] Write it\n"
PROSE = (turn("A plan.", ("write_plan", {"text": TEXT})), turn("Here.", PRESENT))


async def approved(seat: Seat) -> str:
    """Says a goal, closes the panel that opens, and approves the plan by the engine's verb."""
    await seat.say("Greet")
    await seat.until(lambda: len(seat.app.screen_stack) == 2)
    await seat.press("escape")
    engine, record = seat.app.engine, seat.app.session_controller.record
    assert record is not None
    plan = engine.plans.find(engine.sessions.load(record.session).plan_id)
    engine.approvals.approve(plan, plan.digest, "", "terminal")
    return plan.plan_id


def test_a_plan_of_operations_is_built_and_the_end_is_told(stage: Stage) -> None:
    stage.script(*PLANS)

    async def act(seat: Seat) -> None:
        seat.app.build_plan(await approved(seat))
        await seat.rest()
        await seat.press("escape")
        await seat.shows("Build: done.")
        await seat.shows("completed")

    stage.show(act)
    assert stage.files()[b"hello.txt"][2] == b"hello\n"


def test_a_plan_of_prose_is_carried_out_in_its_session_on_the_screen(stage: Stage) -> None:
    stage.script(*PROSE, turn("", write("src/hello.txt", "hello\n")), turn("All done."))

    async def act(seat: Seat) -> None:
        seat.app.build_plan(await approved(seat), prose=True)
        await seat.rest()
        await seat.shows("✓ write src/hello.txt")
        await seat.shows("All done.")
        await seat.shows("completed")

    stage.show(act)
    assert stage.files()[b"src/hello.txt"][2] == b"hello\n"
