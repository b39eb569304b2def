"""Pictures of the screen and of every panel, from fixed words.

There are three sizes of each. `make test` compares one of them, `make screens` all; it draws them
in the light theme, too, to be looked at.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import msgspec
import pytest
from tests.cli.scripts import Turn, turn, write
from tests.tui.harness import Stage
from tests.tui.scenes import (
    ASKING,
    CRITIC,
    OFFERING,
    PERMITTING,
    PLANNING,
    Opened,
    Theatre,
    played,
    prepare,
)
from tests.tui.svg_snapshot import ACCEPT, EVERY_SIZE, FOLDER, compare

from assent.tui import panels
from assent.tui.conversation.timeline import Timeline
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.approval.review import load_plan
from assent.tui.panels.feedback import FeedbackPanel
from assent.tui.panels.panel import Panel
from assent.tui.panels.plan_list import HistoryPanel
from assent.tui.panels.run import RunPanel
from assent.tui.panels.session_list import RewindFilesPanel
from assent.tui.panels.text_input import TextInputPanel
from assent.tui.panels.undo import RunsPanel, UndoPanel
from assent.tui.sidebar.sidebar import OperationPanel
from assent.tui.theme import DARK, LIGHT

DRAWN = Path(__file__).resolve().parents[2] / "build" / "pictures" / "terminal"
SIZES = SMALL, MIDDLE, LARGE = (80, 24), (120, 40), (200, 60)
# Every picture, and what is open in it.
SHOWN = {
    "main": "Screen",
    "approval": "ApprovalPanel",
    "approval-asked": "ApprovalPanel",
    "approval-critic": "ApprovalPanel",
    "approval-options": "ApprovalPanel",
    "comment": "TextInputPanel",
    "feedback": "FeedbackPanel",
    "history": "HistoryPanel",
    "operation": "OperationPanel",
    "plans": "PlanList",
    "sessions": "SessionList",
    "rewind": "RewindPanel",
    "transcript": "TranscriptPanel",
    "rewind-files": "RewindFilesPanel",
    "diff": "DiffPanel",
    "waiting": "WaitingList",
    "agents": "AgentList",
    "models": "ModelList",
    "modes": "ModeList",
    "facts": "MemoryList",
    "themes": "ThemeList",
    "config": "ConfigList",
    "login": "ProviderList",
    "login-key": "KeyInputPanel",
    "palette": "CommandPalette",
    "help": "HelpPanel",
    "confirm": "ConfirmPanel",
    "question": "Screen",
    "permission": "Screen",
    "permission-edit": "Screen",
    "permission-pattern": "Screen",
    "run-halted": "RunPanel",
    "run": "RunPanel",
    "undo": "UndoPanel",
    "runs": "RunsPanel",
}
BASES = {
    "Panel",
    "Picker",
    "DebouncedPanel",
    "DecisionPanel",
    "LinesPanel",
}  # of which others are made


async def plans(theatre: Theatre) -> None:
    """A plan is presented, and everything that can be opened about it."""
    theatre.app.say("Greet politely")
    await theatre.at(ApprovalPanel)
    await theatre.seat.rest()
    await theatre.keep("approval")
    await theatre.press("end", "1")
    await theatre.keep("approval-asked")
    await theatre.press("q", "home", *["right_square_bracket"] * 2)
    for key, kind, name in (
        ("c", TextInputPanel, "comment"),
        ("2", FeedbackPanel, "feedback"),
        ("h", HistoryPanel, "history"),
    ):
        await theatre.press(key)
        await theatre.at(kind)
        await theatre.keep(name)
        await theatre.press("escape")
        await theatre.at(ApprovalPanel)
    await theatre.close()
    await theatre.keep("main")
    review = load_plan(theatre.app.engine, theatre.app.session_controller.plan_id).review
    await theatre.open("operation", OperationPanel(1, review.operations[0], "dark"))
    await lists(theatre)


async def lists(theatre: Theatre) -> None:
    """Every list that a command opens."""
    for name, typed in (
        ("plans", "/plans"),
        ("sessions", "/sessions"),
        ("rewind", "/rewind"),
        ("transcript", "/transcript"),
        ("diff", "/diff"),
        ("waiting", "/waiting"),
        ("agents", "/agent"),
        ("models", "/model"),
        ("modes", "/mode"),
        ("facts", "/memory forget"),
        ("themes", "/theme"),
        ("config", "/config"),
        ("login", "/login"),
        ("login-key", "/login openai"),
        ("palette", "/palette"),
        ("help", "/help"),
        ("confirm", "/mode yolo"),
    ):
        await theatre.open(name, typed)


async def runs(theatre: Theatre) -> None:
    """A build that halts, is kept as it stands, and is about to be taken back."""
    record = theatre.app.engine.plans.find()
    theatre.app.build_plan(record.plan_id)
    await theatre.at(RunPanel)
    await theatre.seat.rest()
    await theatre.keep("run-halted")
    await theatre.press("3", "ctrl+y")
    await theatre.seat.rest()
    await theatre.keep("run")
    await theatre.press("ctrl+z")
    await theatre.at(UndoPanel)
    await theatre.keep("undo")
    await theatre.press("h")
    await theatre.at(RunsPanel)
    await theatre.keep("runs")


async def offers(theatre: Theatre) -> None:
    """A model offers two plans to choose from."""
    theatre.app.say("Greet politely")
    await theatre.at(ApprovalPanel)
    await theatre.seat.rest()
    await theatre.keep("approval-options")


async def criticises(theatre: Theatre) -> None:
    """A second model found something in the plan that a model presents."""
    theatre.app.say("Greet politely")
    await theatre.at(ApprovalPanel)
    await theatre.seat.rest()
    await theatre.press("f")
    await theatre.seat.rest()
    await theatre.keep("approval-critic")


async def asks(theatre: Theatre) -> None:
    """A model asks something."""
    theatre.app.say("Greet politely")
    await theatre.asked()
    await theatre.press("2")
    await theatre.keep("question")


async def permits(theatre: Theatre) -> None:
    """A command needs a yes."""
    theatre.app.say("Make it")
    await theatre.asked()
    await theatre.keep("permission")
    theatre.app.session_controller.interrupt()


async def edits(theatre: Theatre) -> None:
    """A small edit needs a yes, and its folder is offered."""
    theatre.app.say("Greet politely")
    await theatre.asked()
    await theatre.keep("permission-edit")
    await theatre.press("p")
    await theatre.keep("permission-pattern")
    theatre.app.session_controller.interrupt()


async def rewinds(theatre: Theatre) -> None:
    """What a turn wrote is about to go back with the conversation."""
    theatre.app.say("Greet politely")
    await theatre.seat.shows("Done.")
    await theatre.seat.rest()
    record = theatre.app.session_controller.record
    assert record is not None
    [message] = theatre.app.engine.sessions.messages(record)
    theatre.app.open_panel(RewindFilesPanel(record, message.id))
    await theatre.at(RewindFilesPanel)
    await theatre.keep("rewind-files")


def with_critic(stage: Stage, turns: Sequence[Turn]) -> None:
    """Puts the project onto a stage, with a second model that criticises its plan."""
    prepare(stage, *PLANNING)
    (stage.root / "critic.json").write_bytes(msgspec.json.encode({"children": {"critic": turns}}))
    config = stage.config.read_text("utf-8")
    stage.config.write_text(
        f"{config}\n[plan]\ncritic = 'scripted:critic.json'\n", encoding="utf-8"
    )


Mark = Callable[[Callable[..., None]], Callable[..., None]]


def sizes(usual: tuple[int, int]) -> Mark:
    """Has a test draw at every size and in both themes if asked for that, else as is usual."""
    size = pytest.mark.parametrize("size", SIZES if EVERY_SIZE else [usual], ids=str)
    theme = pytest.mark.parametrize("theme", (DARK, LIGHT) if EVERY_SIZE else [DARK])
    return lambda test: size(theme(test))


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has every thought take no time: how long it took moves what stands behind it."""
    real = Timeline._part
    monkeypatch.setattr(Timeline, "_part", lambda feed, part, _: real(feed, part, 0.0))


@sizes(MIDDLE)
def test_plans_and_lists(stage: Stage, size: tuple[int, int], theme: str, tmp_path: Path) -> None:
    prepare(stage, *PLANNING)
    check(played(stage, plans, size, theme=theme), tmp_path, theme)


@sizes(MIDDLE)
def test_options(stage: Stage, size: tuple[int, int], theme: str, tmp_path: Path) -> None:
    prepare(stage, *OFFERING)
    check(played(stage, offers, size, theme=theme), tmp_path, theme)


@sizes(MIDDLE)
def test_critic(stage: Stage, size: tuple[int, int], theme: str, tmp_path: Path) -> None:
    with_critic(stage, CRITIC)
    check(played(stage, criticises, size, theme=theme), tmp_path, theme)


@sizes(SMALL)
def test_runs(stage: Stage, size: tuple[int, int], theme: str, tmp_path: Path) -> None:
    prepare(stage)
    stage.plan("greet", "Greet politely")
    stage.write("greet.py", b'name = "world"\nprint("Good day " + name)\n')
    stage.ok("stage", "run", "--script", "echo first; echo second; exit 3")
    stage.approve()
    check(played(stage, runs, size, theme=theme), tmp_path, theme)


@sizes(LARGE)
def test_questions(stage: Stage, size: tuple[int, int], theme: str, tmp_path: Path) -> None:
    prepare(stage, *ASKING)
    check(played(stage, asks, size, theme=theme), tmp_path, theme)


@sizes(SMALL)
def test_permissions(stage: Stage, size: tuple[int, int], theme: str, tmp_path: Path) -> None:
    prepare(stage, *PERMITTING)
    check(played(stage, permits, size, "ask", theme), tmp_path, theme)


@sizes(SMALL)
def test_permissions_of_edits(
    stage: Stage, size: tuple[int, int], theme: str, tmp_path: Path
) -> None:
    prepare(stage, turn("", ("edit", {"path": "greet.py", "old": "Hi", "new": "Good day"})))
    check(played(stage, edits, size, "ask", theme), tmp_path, theme)


@sizes(MIDDLE)
def test_rewinds(stage: Stage, size: tuple[int, int], theme: str, tmp_path: Path) -> None:
    prepare(stage, turn("", write("greet.py", 'print("Good day")\n')), turn("Done."))
    check(played(stage, rewinds, size, "yolo", theme), tmp_path, theme)


def test_every_panel_is_pictured_and_nothing_else_is() -> None:
    for module in walk_packages(panels.__path__, f"{panels.__name__}."):
        import_module(module.name)
    assert {kind.__name__ for kind in kinds(Panel)} == {*SHOWN.values(), *BASES} - {"Screen"}
    wanted = {f"{name}-{width}x{height}.svg" for name in SHOWN for width, height in SIZES}
    assert {path.name for path in FOLDER.iterdir()} == wanted


def kinds(kind: type[Panel[Any]]) -> Iterator[type[Panel[Any]]]:
    """Yields a kind of panel, and all that are made of it here."""
    yield kind
    for more in kind.__subclasses__():
        if more.__module__.startswith("assent.tui."):
            yield from kinds(more)


def check(pictures: Opened, beside: Path, theme: str) -> None:
    """Compares pictures with those that were accepted; light ones are only drawn."""
    for name, (kind, _) in pictures.items():
        assert SHOWN[name.rpartition("-")[0]] == kind
    if theme == LIGHT:
        DRAWN.mkdir(parents=True, exist_ok=True)
        for name, (_, svg) in pictures.items():
            (DRAWN / f"{name}-{theme}.svg").write_text(svg, encoding="utf-8")
        return
    wrong = [compare(name, svg, beside) for name, (_, svg) in pictures.items()]
    told = "\n".join(filter(None, wrong))
    assert not told, f"{told}\nIf this is right, accept it: {ACCEPT}"
