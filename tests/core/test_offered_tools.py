"""Which tools a session came to need: from its events, in order, never fewer."""

import pytest

from assent.core.event import Event
from assent.core.llm import ImagePart, TextPart, ToolResult
from assent.core.session.event import CallEnded, MessageAdded, SessionRewound, TurnStarted
from assent.core.session.transcript import OFFERS, OfferedTools


def said(text: str, synthetic: str = "") -> MessageAdded:
    return MessageAdded("m1", "plan", (TextPart(text),), synthetic)


def ended(tool: str, text: str = "", offers: object = (), **more: object) -> CallEnded:
    return CallEnded("c1", tool, ToolResult("c1", text), metadata={OFFERS: offers, **more})


def after(*events: Event) -> tuple[str, ...]:
    offered = OfferedTools()
    for event in events:
        offered.add(event)
    return offered.names


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("Fix the tests", ()),
        ("Read https://example.org/a first", ("fetch",)),
        ("Clean up analysis.ipynb", ("notebook_edit",)),
        ("Tidy the Notebook", ("notebook_edit",)),
        ("Who is to blame? See the last commit.", ("git",)),
        ("Give it to a subagent, or to two sub-agents", ("task",)),
        ("Remember that we use tabs", ("remember",)),
        ("Remember to add tests", ()),
        ("Delete the old module and rename the other file", ("delete", "move")),
        ("Rename Table.pop to Table.take everywhere", ()),
        ("Move cart.py", ("move",)),
        ("The movement of digits", ()),
        ("Use `patch` and `task`, with notebook_edit", ("patch", "task", "notebook_edit")),
    ],
)
def test_what_a_message_shows_to_be_needed(text: str, needed: tuple[str, ...]) -> None:
    assert after(said(text)) == needed


def test_only_the_users_own_words_count() -> None:
    assert after(said("Use a sub-agent.", "rejected"), said("A sub-agent.", "hook")) == ()
    picture = MessageAdded("m1", "plan", (ImagePart("image/png", b""),))
    assert after(picture, TurnStarted(1)) == ()


def test_a_call_shows_its_tool_and_what_it_asked_for() -> None:
    asked = ended("more_tools", offers=["task", "git"])
    assert after(ended("remember"), asked) == ("remember", "more_tools", "task", "git")
    assert after(ended("x", offers="task")) == ("x",)


def test_the_tools_of_the_draft_come_with_the_first_operation_whoever_stages_it() -> None:
    assert after(ended("edit", operations=["3f"]), ended("write", operations=["4a"])) == (
        "unstage", "draft", "rehearse", "edit", "write",
    )  # fmt: skip
    assert after(ended("edit", operations=[])) == ("edit",)
    assert after(said("The user staged: write a.", "staged")) == ("unstage", "draft", "rehearse")


def test_a_notebook_in_a_result_takes_its_tool() -> None:
    assert after(ended("glob", "a.py\ndata/b.ipynb")) == ("glob", "notebook_edit")


def test_it_only_grows_and_stays_the_same_object_as_long_as_nothing_is_new() -> None:
    offered = OfferedTools()
    offered.add(said("git"))
    before = offered.names
    for event in (said("git log"), TurnStarted(1), SessionRewound("m1", "git", 0)):
        offered.add(event)
        assert offered.names is before
    offered.add(ended("git"))
    assert offered.names is before
