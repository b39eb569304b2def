"""After a run the steps of the plan are shown as they really are: done, failed, still to come."""

import pytest
from tests.cli.scripts import PRESENT, turn, write
from tests.tui.harness import Seat, Stage
from tests.tui.test_verify_after_build import GOING_ON, built

PLAN = """# Greet

## Steps

- [ ] 1 Write the greeting (op 1)
- [ ] 2 Look at it (op 2)

## Verification

Read hello.txt.
"""


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("true", ("Steps: 2 of 2 completed", "✓ 1 Write the greeting", "✓ 2 Look at it")),
        ("false", ("failed: 2", "✓ 1 Write the greeting", "! 2 Look at it")),
    ],
)
def test_the_steps_of_a_build_are_shown(stage: Stage, command: str, told: tuple[str, ...]) -> None:
    stage.script(
        turn(
            "",
            ("write_plan", {"text": PLAN}),
            write("hello.txt", "hello\n"),
            ("shell", {"command": command, "stage": True}),
        ),
        turn("Done.", PRESENT),
    )
    assert stage.run("-p", "--model", stage.model, "Greet").code == 3

    async def act(seat: Seat) -> None:
        await built(seat)
        await seat.rest()
        await seat.press("escape")
        await seat.until(lambda: all(words in seat.text() for words in told))

    stage.show(act, GOING_ON)
