"""How an undo's end is told: no more than was taken back, and how much of a run that was."""

from collections.abc import Sequence

import pytest

from assent.core.run.journal import OperationResult
from assent.core.undo import FILES_ONLY, STILL_DIFFERENT, UndoExtent
from assent.render.lines import Line
from assent.render.status import status_lines
from assent.render.undo import undo_end_lines

COMMANDS = UndoExtent(recorded=True)
REDO = UndoExtent(again=True)

ENDS: dict[str, tuple[Sequence[OperationResult], Sequence[str], UndoExtent]] = {
    "Done: everything was undone.": (["undone", "undone"], [], FILES_ONLY),
    "Done: all recorded changes were undone.": (["undone"], [], COMMANDS),
    "Done: all operations applied.": (["done"], [], REDO),
    "Partly undone; the items below were skipped.": (
        ["undone", "conflict"],
        [],
        FILES_ONLY,
    ),
    "Done, but not everything was restored:": (
        ["undone"],
        [f"{STILL_DIFFERENT}: a."],
        COMMANDS,
    ),
    "Accepted as is: nothing was undone.": (["failed", "not_started"], [], COMMANDS),
    "Accepted as is: not everything was undone.": (["undone", "failed"], [], COMMANDS),
    "Accepted as is: nothing was redone.": (["conflict"], [], REDO),
}


@pytest.mark.parametrize("sentence", ENDS)
def test_law_8_the_first_line_says_how_much_was_taken_back(sentence: str) -> None:
    results, notes, extent = ENDS[sentence]
    lines = [Line("heading", "Done."), Line("plain", "Next: assent undo")]
    first, last = undo_end_lines(lines, results, notes, extent)
    assert (first.text, last) == (sentence, lines[1])
    assert first.style == ("risk" if sentence.startswith(("Accepted", "Partly")) else "heading")


@pytest.mark.parametrize(
    ("undone", "words"),
    [
        ({}, ""),
        ({"partly_undone": True}, ", then partly undone"),
        ({"undone": True}, ", then undone"),
    ],
)
def test_law_8_status_says_how_much_of_a_run_was_undone(
    undone: dict[str, object], words: str
) -> None:
    first, *_ = status_lines(None, {"run": "r", "outcome": "done", **undone})
    assert first.text == f"Last run: r is done{words}."
