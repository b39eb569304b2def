"""What pages are made of: a conversation, and Markdown that brings nothing in."""

from collections.abc import Iterator

import pytest

from assent.core.event import EventBody, StoredEvent
from assent.core.llm import ReasoningPart, TextPart, ToolCall, ToolResult
from assent.core.session.event import (
    CallEnded,
    CallStarted,
    MessageAdded,
    PartSaid,
    Question,
    QuestionAnswered,
    QuestionAsked,
    SessionRewound,
    StepRetried,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from assent.web.pages.conversation import Conversation, fold_conversation
from assent.web.pages.markdown import MAX_CHARS, markdown_html
from assent.web.pages.templates import PIECE_CHARS, environment, render_pieces

AT = "2026-01-02T03:04:05Z"
CALL = PartSaid(ToolCall("c1", "shell", {"command": "make\nx"}))


def folded(*events: EventBody) -> Conversation:
    stored = [
        StoredEvent(n, "session/w/s", n, AT, each)  # type: ignore[arg-type]
        for n, each in enumerate(events, 1)
    ]
    return fold_conversation(stored)


def said(id: str, text: str, about: str = "") -> MessageAdded:
    return MessageAdded(id, "plan", (TextPart(text),), synthetic=about)


def test_a_page_in_pieces_is_sent_before_its_end_is_known() -> None:
    asked: list[int] = []

    def rows() -> Iterator[str]:
        for number in range(3):
            asked.append(number)
            yield "<x>" * PIECE_CHARS

    template = environment().from_string("{{ head }}{% for row in rows %}{{ row }}{% endfor %}.")
    pieces = render_pieces(template, {"head": "h" * PIECE_CHARS, "rows": rows()})
    assert next(pieces) == "h" * PIECE_CHARS
    assert asked == []
    assert next(pieces) == "&lt;x&gt;" * PIECE_CHARS
    assert asked == [0]
    assert "".join(pieces) == "&lt;x&gt;" * PIECE_CHARS * 2 + "."


def test_what_was_said_and_done_comes_in_order() -> None:
    found = folded(
        said("m1", "Do it"), TurnStarted(1), StepStarted(1, "plan", "a:b", "plan"),
        PartSaid(ReasoningPart("Hm")), PartSaid(TextPart("I run it")), CALL,
        CallStarted("c1", "shell"),
        CallEnded("c1", "shell", ToolResult("c1", "out"), title="make x", seconds=1.5),
        PartSaid(ToolCall("c2", "read", {"path": "a"})), said("r", "Keep on", "reminder"),
        TurnEnded("end"),
    )  # fmt: skip
    kinds = [each.kind for each in found.entries]
    assert kinds == ["user", "reasoning", "model", "calls"]
    done, lost = found.entries[-1].calls
    assert (done.state, done.seconds, done.subject, done.result) == ("done", 1.5, "make x", "out")
    assert (lost.state, lost.subject) == ("interrupted", "a")
    assert (found.model, found.working_since) == ("a:b", "")


@pytest.mark.parametrize(
    ("verdict", "failed", "state"),
    [("run", False, "done"), ("run", True, "failed"), ("deny", True, "denied"),
     ("stage", False, "staged")],
)  # fmt: skip
def test_a_call_says_how_it_ended(verdict: str, failed: bool, state: str) -> None:
    ended = CallEnded("c1", "shell", ToolResult("c1", "x", failed), verdict=verdict)
    assert folded(CALL, ended).entries[0].calls[0].state == state


def test_a_call_that_asks_waits_for_the_answer() -> None:
    asked = QuestionAsked("q", "c1", (Question("", "May it?", by="gate"),))
    assert folded(CALL, asked, CallStarted("c1", "shell")).entries[0].calls[0].state == "asking"
    answered = folded(CALL, asked, QuestionAnswered("q", (("Yes",),), "ada"))
    assert answered.entries[0].calls[0].state == "waiting"
    assert "ada" in answered.entries[1].text


def test_what_a_retry_or_a_rewind_voids_is_gone() -> None:
    step = StepStarted(1, "plan", "a:b", "plan")
    again = folded(
        said("m1", "x"), step, PartSaid(TextPart("half")), CALL, StepRetried(1, 0, "Cut")
    )
    assert [each.kind for each in again.entries] == ["user", "problem"]
    back = folded(said("m1", "x"), said("m2", "y"), PartSaid(TextPart("z")), SessionRewound("m2"))
    assert [each.text for each in back.entries] == ["x"]


def test_secrets_are_masked() -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    found = folded(said("m1", key), PartSaid(TextPart(key)),
                   PartSaid(ToolCall("c1", "shell", {"command": f"echo {key}"})),
                   CallEnded("c1", "shell", ToolResult("c1", key)))  # fmt: skip
    assert key not in repr(found)


BOX = '<span class="box" aria-hidden="true">☐</span><span class="hidden">to do: </span>'
TO_DO = f'<li class="task">{BOX}'
DONE = TO_DO.replace("☐", "☑").replace("to do", "done")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A\n\n**b** `c`", "<h2>A</h2><p><strong>b</strong> <code>c</code></p>"),
        ("<b>x</b><script>1</script>", "<p>&lt;b&gt;x&lt;/b&gt;&lt;script&gt;1&lt;/script&gt;</p>"),
        ("<div onclick=a>\n\nx", "<p>&lt;div onclick=a&gt;</p><p>x</p>"),
        ("a\u202eb", "<p>a&lt;U+202E&gt;b</p>"),
        ("a&#x202E;b&zwj;", "<p>a&amp;#x202E;b&amp;zwj;</p>"),
        ("3. x", '<ol start="3"><li>x</li></ol>'),
        ("```py\n<x>\n```", "<pre tabindex='0'><code>&lt;x&gt;\n</code></pre>"),
        ("~~a~~", "<p><s>a</s></p>"),
        (
            "- [ ] `a`\n- [x] b\n- [ ]c",
            f"<ul>{TO_DO}<code>a</code></li>{DONE}b</li><li>[ ]c</li></ul>",
        ),
        (
            "1. [X] <b>\n\n   c",
            f"<ol>{DONE.replace('<span', '<p><span', 1)}&lt;b&gt;</p><p>c</p></li></ol>",
        ),
    ],
)
def test_markdown_becomes_elements_of_ours(text: str, html: str) -> None:
    assert markdown_html(text) == html


@pytest.mark.parametrize(
    "text",
    ["[x](javascript:alert(1))", "[x](data:text/html,y)", "[x](//evil.example)", "[x](/logout)",
     "![x](https://evil.example/i.png)", "<javascript:alert(1)>", "[x]: https://evil.example"],
)  # fmt: skip
def test_nothing_of_a_text_loads_or_leads_to_a_script(text: str) -> None:
    html = markdown_html(text)
    assert "<a " not in html
    assert "<img" not in html


def test_a_link_says_where_it_leads_and_brings_nothing_along() -> None:
    html = markdown_html('[bank](https://evil.example/"onclick=x "t")')
    assert 'rel="noreferrer noopener nofollow"' in html
    assert "(evil.example)" in html
    assert 'onclick="' not in html


def test_a_very_long_text_is_shown_as_it_is() -> None:
    assert markdown_html("*a* " * MAX_CHARS).startswith("<pre>*a*")
