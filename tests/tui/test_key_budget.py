"""How many keys ten everyday tasks take, counted as they are pressed, against a budget."""

from collections.abc import Awaitable, Callable
from typing import Final

import pytest
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed
from tests.tui.test_question import answers, asked, edit
from tests.tui.test_run import rested
from tests.tui.widget_app import drawn

from assent.tui.host import StartOptions
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.approval.state import ApprovalStage
from assent.tui.panels.undo import UndoPanel

WORDS: Final = "Use the other file"
EDIT: Final = edit("a.py", "a = 1", "a = 2")
COLOURS: Final = {
    "questions": [{"question": "Which?", "options": [{"label": "red"}, {"label": "blue"}]}]
}
BUDGET: Final = {
    "approve and build a plan that was read": 3,
    "yes to a small edit": 1,
    "no with words": 1 + len(WORDS) + 1,  # the words, and the Enter that sends them
    "exclude one operation and build": 5,
    "undo": 3,
    "change mode": 1,
    "resume the last session": 0,
    "yes for this session": 2,
    "choose the second option": 2,
    "go to the question from a draft": 1,
}


class Counting(Seat):
    """A person whose keys are counted."""

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat.app, seat.pilot, seat._others)
        self.count = 0

    async def press(self, *keys: str) -> None:
        self.count += len(keys)
        await super().press(*keys)


Task = Callable[[Stage, Counting], Awaitable[None]]


async def approves(stage: Stage, seat: Counting) -> None:
    await seat.press("ctrl+t")
    await seat.until(lambda: isinstance(seat.app.screen, ApprovalPanel))
    await reviewed(seat)
    await agrees(seat)
    await done(seat)
    assert (stage.root / "one.txt").exists()


async def allows(stage: Stage, seat: Counting) -> None:
    await asked(seat, "Change it")
    await seat.press("y")
    await seat.rest()
    assert (stage.root / "a.py").read_bytes() == b"a = 2\n"


async def declines(stage: Stage, seat: Counting) -> None:
    await asked(seat, "Change it")
    await seat.press("e")
    await seat.type(WORDS)
    await seat.press("enter")
    await seat.rest()
    assert answers(seat) == [(((WORDS,),), "(terminal)")]
    assert (stage.root / "a.py").read_bytes() == b"a = 1\n"


async def excludes(stage: Stage, seat: Counting) -> None:
    await opened(seat)
    await seat.press("right_square_bracket", "space", "w")
    await reviewed(seat)
    await agrees(seat)
    await done(seat)
    assert not (stage.root / "one.txt").exists()
    assert (stage.root / "two.txt").exists()


async def undoes(stage: Stage, seat: Counting) -> None:
    await seat.press("ctrl+z")
    await seat.until(lambda: isinstance(seat.app.screen, UndoPanel))
    await reviewed(seat)
    await agrees(seat)
    await done(seat)
    assert not (stage.root / "one.txt").exists()


async def changes_mode(stage: Stage, seat: Counting) -> None:
    await seat.press("shift+tab")
    await seat.until(lambda: seat.app.status_snapshot.mode == "ask")


async def resumes(stage: Stage, seat: Counting) -> None:
    await seat.shows("> Remember me")


async def allows_more(stage: Stage, seat: Counting) -> None:
    await asked(seat, "Change it")
    await seat.press("a", "enter")
    await seat.rest()
    assert len(seat.app.engine.grants.all()) == 1


async def chooses(stage: Stage, seat: Counting) -> None:
    await asked(seat, "Ask me")
    await seat.press("2", "enter")
    await seat.rest()
    assert answers(seat) == [((("blue",),), "(terminal)")]


async def goes_to_it(stage: Stage, seat: Counting) -> None:
    seat.app.prompt.load("a draft")
    seat.app.say("Change it")
    await seat.shows("Tab answer")
    await seat.press("tab")
    await asked(seat)


async def opened(seat: Seat) -> None:
    """Opens the plan's review, as it opens by itself once a model presents the plan."""
    seat.app.review_plan()
    await seat.until(lambda: isinstance(seat.app.screen, ApprovalPanel))
    await reviewed(seat)


async def reviewed(seat: Seat) -> None:
    """Waits until there is something to look at, and all of it was drawn."""
    await Reader(seat).reads()
    await drawn(seat.app)


async def agrees(seat: Seat) -> None:
    """Asks, which shows the rest where it does not fit at once, and says yes to what was shown."""
    panel = Reader(seat).panel
    await seat.press("1")
    await seat.until(lambda: panel.standing.stage is ApprovalStage.CHOOSING and panel.standing.read)
    assert panel.digest() in seat.text()
    await seat.press("y")


async def done(seat: Seat) -> None:
    await rested(seat)
    await seat.until(lambda: not seat.app.run_controller.at_work)


TASKS: Final[dict[str, Task]] = dict(
    zip(
        BUDGET,
        (approves, allows, declines, excludes, undoes, changes_mode, resumes, allows_more, chooses,
         goes_to_it),
        strict=True,
    )
)  # fmt: skip


@pytest.mark.parametrize("size", [(80, 24), (120, 60)])
@pytest.mark.parametrize("task", BUDGET)
def test_the_task_takes_no_more_keys_than_its_budget(
    stage: Stage, task: str, size: tuple[int, int]
) -> None:
    stage.put("a.py", b"a = 1\n")
    start = StartOptions(mode="ask")
    if task in ("approve and build a plan that was read", "exclude one operation and build"):
        proposed(stage, **{"one": b"1\n", "two": b"2\n"})
    elif task == "undo":
        stage.ok("approve", "--digest", proposed(stage, one=b"1\n")["digest"], "--build")
    elif task == "resume the last session":
        stage.script(turn("Yes."))
        stage.ok("-p", "Remember me", "--model", stage.model)
        start = StartOptions(going_on=True)
    elif task == "change mode":
        start = StartOptions()
    elif task == "choose the second option":
        stage.script(turn("", ("question", COLOURS)), turn("Thanks."))
    else:
        stage.script(turn("", EDIT), turn("Done."))
    counted: list[int] = []

    async def act(seat: Seat) -> None:
        person = Counting(seat)
        await TASKS[task](stage, person)
        counted.append(person.count)
        seat.app.session_controller.interrupt()
        await seat.rest()

    stage.show(act, start, size=size)
    assert counted == [BUDGET[task]]
