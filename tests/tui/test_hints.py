"""What the screen advises can be done on the screen, or says that it is for a shell."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.test_help import GROUPS
from tests.cli.test_next_steps import steps
from tests.house.source import modules, nodes
from tests.tui.harness import Seat, Stage

from assent.cli.registry import COMMANDS
from assent.core.errors import NotFound
from assent.render.lines import GUTTER, Line
from assent.tui.commands.registry import find
from assent.tui.hints import (
    ONLY_SHELL,
    SAY,
    SAY_NEXT,
    SHELL,
    TABLE,
    error_text,
    lines_with_screen_commands,
    next_on_screen,
    screen_command,
    with_screen_commands,
)

ESC = "Esc, where it is running"


def texts() -> Iterator[str]:
    """Yields what is a next step anywhere in the program, with a word for what is put in."""
    for file, tree in modules().items():
        if Path(file).parent.name in ("cli", "tui"):
            continue
        for node in nodes(tree):
            text = _text(node)
            if re.match(r"assent [a-z\"'-]", text) and "\n" not in text:
                yield text


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        pieces = [v.value if isinstance(v, ast.Constant) else "x" for v in node.values]
        return "".join(map(str, pieces))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def possible(step: str) -> bool:
    """Tells whether a step can be taken on the screen, or says where it can."""
    name = re.split(r"[ ,:]", step)[0]
    return step.startswith((SHELL, SAY, SAY_NEXT, ESC)) or find(name) is not None


def test_the_next_step_of_every_error_can_be_taken_here() -> None:
    assert [step for step, _ in steps() if not possible(next_on_screen(step))] == []


def test_every_command_that_is_advised_anywhere_is_one_for_here() -> None:
    advised = set(texts())
    assert len(advised) > 100
    assert [text for text in advised if not possible(next_on_screen(text))] == []


@pytest.mark.parametrize("command", [*COMMANDS, *(f"{g} {v}" for g in GROUPS for v in GROUPS[g])])
def test_every_command_of_the_command_line_has_a_way_here(command: str) -> None:
    assert possible(screen_command(command)), screen_command(command)


def test_the_table_names_commands_that_there_are() -> None:
    ours = [words.split()[0].rstrip(",") for words in TABLE.values() if words.startswith("/")]
    assert [name for name in ours if find(name) is None] == []
    theirs = [beginning.split() for beginning in (*TABLE, *ONLY_SHELL)]
    named = [words for words in theirs if not words[0].startswith("-")]
    assert [words for words in named if words[0] not in COMMANDS] == []
    verbs = [words for words in named if len(words) > 1 and not words[1].startswith("-")]
    assert [words for words in verbs if words[1] not in GROUPS[words[0]]] == []


STEPPED = {
    "assent undo": "/undo",
    "assent undo 01k --operation 2": "/undo 01k",
    "assent plan new NAME": SAY,
    "assent rebase": "/review, key b",
    "assent sessions list": "/sessions",
    "assent models list": "/model",
    "assent log": "in a shell: assent log",
    "assent recover --resume: runs it again.": "/recover, key 1: runs it again.",
    "assent recover --resume, or --roll-back, or --accept": "/recover",
    "assent diff --live": "in a shell: assent diff --live",
    "assent approve --digest 3f2a": "/review, key 1",
    "assent build --plan 01k": "/build 01k",
    "assent review plan.json": "in a shell: assent review plan.json",
    "assent rules revoke 01k": "/rules revoke 01k",
    "assent -r 01k -p \"what comes next\"": "/resume 01k",
    "assent -c -p 'WHAT NEXT'": SAY_NEXT,
    "assent stage remove 3f": "/review, space on the operation",
    "/review": "/review",
    "ls -l '/a b'": "in a shell: ls -l '/a b'",
    "export A_KEY=...": "in a shell: export A_KEY=...",
    "sudo apt install bubblewrap": "in a shell: sudo apt install bubblewrap",
}  # fmt: skip


@pytest.mark.parametrize(("step", "shown"), STEPPED.items())
def test_a_step_speaks_the_language_of_the_screen(step: str, shown: str) -> None:
    assert next_on_screen(step) == shown


def test_a_sentence_keeps_everything_but_the_command() -> None:
    assert (
        with_screen_commands("Files differ; `assent diff` shows how.")
        == "Files differ; `/diff` shows how."
    )
    assert (
        with_screen_commands("`assent trust show` says it.")
        == "`assent trust show` in a shell says it."
    )
    assert with_screen_commands("Next: assent undo") == "Next: /undo"
    assert with_screen_commands("  assent undo 01k") == "  /undo 01k"
    assert with_screen_commands("assent is a word") == "assent is a word"
    assert error_text(NotFound("None.", "assent sessions list")) == "None. Next: /sessions"


def test_what_others_wrote_is_never_touched() -> None:
    lines = [
        Line("plain", f"{GUTTER}Next: assent undo"),
        Line("added", "Next: assent undo"),
        Line("code", "assent undo"),
    ]
    assert lines_with_screen_commands(lines) == lines
    assert lines_with_screen_commands([Line("plain", "Next: assent undo")]) == [
        Line("plain", "Next: /undo")
    ]


def test_the_screen_itself_advises_no_command_line(stage: Stage) -> None:
    stage.script({"text": "Hello."})

    async def act(seat: Seat) -> None:
        for line in ("/status", "/build", "/resume nope", "/model foo"):
            seat.app.run_slash(line)
            await seat.rest()
            await seat.until(lambda: not seat.app.tasks.activity_text)
        shown = [line.text for sheet in seat.app.conversation.sections for line in sheet.lines]
        advised = [text for text in shown if "assent " in text]
        assert [text for text in advised if SHELL not in text] == []
        assert any("/sessions" in text for text in shown)

    stage.show(act)
