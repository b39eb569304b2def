"""One table of keys: it is what the code hears, and a key means one thing wherever it counts."""

from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

from assent.tui import panels
from assent.tui.keys import CONFIRM_KEY, KEYS, MOVING_KEYS, PANEL_KEYS, KeyHelp, Where
from assent.tui.line_view import LineView
from assent.tui.panels import panel, run
from assent.tui.panels.approval import state as approval
from assent.tui.panels.diff import DiffPanel
from assent.tui.panels.picker import Picker
from assent.tui.panels.question import block
from assent.tui.panels.question import state as question
from assent.tui.panels.transcript import TranscriptView
from assent.tui.prompt.editor import LINE_KEYS

# What is typed into the prompt is text there, and pagers have the keys of pagers.
APART: frozenset[Where] = frozenset({"prompt", "pager"})


def listed(where: Where) -> set[str]:
    """Returns the keys that the table has for a place."""
    return {key for row in PANEL_KEYS if row.where == where for key in row.keys.split(",")}


def rows() -> Iterator[tuple[str, KeyHelp]]:
    for row in (*KEYS, *PANEL_KEYS):
        if row.where not in APART:
            for key in row.keys.split(","):
                yield key, row


def test_g34_a_key_means_the_same_wherever_it_means_anything() -> None:
    meanings: defaultdict[str, set[str]] = defaultdict(set)
    places: defaultdict[str, set[Where]] = defaultdict(set)
    for key, row in rows():
        meanings[key].add(row.means)
        places[key].add(row.where)
    several = {key: meanings[key] for key in meanings if len(places[key]) > 1}
    assert {key: found for key, found in several.items() if len(found) > 1 or "" in found} == {}
    assert {"y", "s", "space", "escape", CONFIRM_KEY, "1", "ctrl+z"} <= several.keys()


def test_a_place_lists_a_key_once() -> None:
    found = [(key, row.where) for key, row in rows()]
    assert len(found) == len(set(found))


def test_the_keys_of_a_question_are_those_that_it_hears() -> None:
    answering = {question.ONCE, question.DENY, question.DENY_WITH_WORDS, question.WITHOUT_SANDBOX}
    others = {question.RAW, question.SKIP, question.MORE, question.TOGGLE, question.ENTER}
    heard = {*answering, *others, *question.REMEMBERS, *question.LISTED, *block.TURNS}
    assert listed("question") == {*heard, CONFIRM_KEY, "tab", "escape"}


def test_the_keys_of_a_review_are_those_that_it_hears() -> None:
    single = {
        approval.ASK, approval.SKIP, approval.EXIT, approval.MARK, approval.WITHOUT,
        approval.OPTION, approval.YES, approval.ONLY, approval.NOTED, approval.ONE,
    }  # fmt: skip
    heard = {*approval.MOVING, *approval.PLAN_ACTIONS, *single, CONFIRM_KEY}
    assert heard - listed("review") == MOVING_KEYS & set(approval.MOVING)
    assert listed("review") <= heard


def test_the_keys_of_a_run_are_those_that_it_hears() -> None:
    heard = {*run.RECOVER_KEYS, run.STOP, run.VERIFY, run.UNDO, run.HELP, CONFIRM_KEY, "escape"}
    assert listed("run") == heard


def test_the_keys_of_lists_are_those_that_some_list_hears() -> None:
    for module in walk_packages(panels.__path__, f"{panels.__name__}."):
        import_module(module.name)
    own = {key for kind in kinds(Picker) for key in kind.does}
    assert own <= listed("list")
    assert listed("list") - own == {"enter", "ctrl+u", "space", "escape"}
    assert panel.MOVES.keys() <= MOVING_KEYS
    assert block.SCROLLS.keys() <= MOVING_KEYS


def test_the_keys_of_fields_and_pagers_are_in_the_table() -> None:
    assert panel.INSTEAD_KEY in listed("field")
    assert "ctrl+j" in {*LINE_KEYS} & listed("field")
    own = {key for kind in (LineView, TranscriptView, DiffPanel) for key in bound(kind)}
    assert own - MOVING_KEYS == listed("pager")


def bound(kind: type[LineView] | type[DiffPanel]) -> set[str]:
    """Returns the keys that a view or a pager binds itself."""
    return {binding.key for binding in kind.BINDINGS}  # type: ignore[union-attr]


def kinds(kind: type[Picker]) -> Iterator[type[Picker]]:
    yield kind
    for more in kind.__subclasses__():
        if more.__module__.startswith("assent.tui."):
            yield from kinds(more)
