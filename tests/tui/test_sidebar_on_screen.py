"""Side area and prompt on the real screen: with a session, an engine and a scripted model."""

from tests.cli.scripts import turn, write
from tests.tui.harness import Seat, Stage

from assent.tui.host import StartOptions
from assent.tui.sidebar.sidebar import Sidebar

WIDE = (150, 48)
GOAL = "Greet everybody"
TODOS = ("todo", {"items": [{"content": "Look", "status": "in_progress"}, {"content": "Write"}]})


async def _side(seat: Seat) -> Sidebar:
    await seat.until(lambda: seat.app.query(Sidebar))
    return seat.app.query_one(Sidebar)


def test_f28_f126_f127_the_side_area_shows_what_the_session_did(stage: Stage) -> None:
    stage.script(turn("I look.", TODOS, write("hello.txt", "hello\n")), turn("Staged."))

    async def act(seat: Seat) -> None:
        await seat.say(GOAL)
        for words in ("Operations (1)", "1  create hello.txt  +1", "▶ now: Look", "○ Write"):
            await seat.shows(words)
        await seat.shows("tokens       last step  session")
        side = await _side(seat)
        plan = side.values.plan
        assert plan is not None
        (stage.root / plan.path.decode()).write_text("# By hand\n", encoding="utf-8")
        await seat.shows("│ # By hand")

    stage.show(act, size=WIDE)


def test_what_was_said_in_the_workspace_is_there_again(stage: Stage) -> None:
    stage.script(turn("Yes."), turn("Yes again."))

    async def first(seat: Seat) -> None:
        await seat.say(GOAL)

    async def second(seat: Seat) -> None:
        await seat.until(lambda: seat.app.prompt.history.entries)
        await seat.press("up")
        assert seat.app.prompt.text == GOAL

    stage.show(first)
    stage.show(second)


def test_files_of_the_workspace_complete(stage: Stage) -> None:
    (stage.root / "src").mkdir()
    (stage.root / "src" / "parser.py").write_text("", encoding="utf-8")

    async def act(seat: Seat) -> None:
        await seat.type("see @prsr")
        await seat.shows("▸ src/parser.py")
        await seat.press("tab")
        assert seat.app.prompt.text == "see @src/parser.py "

    stage.show(act, StartOptions(model=stage.model))


def test_tab_goes_to_the_side_area_and_back(stage: Stage) -> None:
    stage.script(turn("Fine."))

    async def act(seat: Seat) -> None:
        await seat.say(GOAL)
        side = await _side(seat)
        await seat.press("tab")
        assert side.has_focus_within
        await seat.press("tab")
        assert not side.has_focus_within
        await seat.type("words")
        assert seat.app.prompt.text == "words"

    stage.show(act, size=WIDE)


def test_over_a_narrow_screen_the_side_area_gets_the_keys(stage: Stage) -> None:
    stage.script(turn("Fine."))

    async def act(seat: Seat) -> None:
        await seat.say(GOAL)
        await seat.press("ctrl+b")
        side = await _side(seat)
        await seat.until(lambda: side.has_focus_within)
        await seat.press("3")
        await seat.shows("[3 Todos]")
        await seat.press("escape")
        await seat.type("words")
        assert seat.app.prompt.text == "words"

    stage.show(act, size=(80, 24))
