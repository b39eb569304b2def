"""Notices: what deserves one, and bytes that no words can turn into anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.event import Event, PlanProposed, RunHalted, StoredEvent
from assent.core.session.event import (
    Question,
    QuestionAsked,
    StepStarted,
    TurnEnded,
    TurnEndReason,
    TurnStarted,
)
from assent.render.questions import (
    BELL,
    HALTED,
    PRESENTED,
    NotificationFilter,
    NotificationMethod,
    notification_sequence,
    notification_text,
)

ASKED = QuestionAsked("q", "c", (Question("Colour", "Which one?"),))
PERMISSION = QuestionAsked("q", "c", (Question("Permission", "May it?", by="gate"),))
KITTY, WEZTERM = {"TERM": "xterm-kitty"}, {"TERM": "xterm", "TERM_PROGRAM": "WezTerm"}

DESERVING: dict[str, tuple[Event, float, str | None]] = {
    "a model's question": (ASKED, 0, "The model asks: Which one?"),
    "the gate's question": (PERMISSION, 0, "Assent asks: May it?"),
    "a question without one": (QuestionAsked("q", "c", ()), 0, None),
    "a plan": (TurnEnded("presented"), 0, PRESENTED),
    "a halted run": (RunHalted("r"), 0, HALTED),
    "a long turn": (TurnEnded("end"), 10, "Turn finished."),
    "a short turn": (TurnEnded("end"), 9.9, None),
    "a long turn that failed": (TurnEnded("failed"), 60, "Turn failed."),
    "a step": (StepStarted(1, "a", "m", "plan"), 60, None),
    "what a person did themselves": (PlanProposed("d", "c", "o", "f"), 60, None),
}


@pytest.mark.parametrize(("event", "took", "words"), DESERVING.values(), ids=DESERVING)
def test_f150_what_deserves_a_notice(event: Event, took: float, words: str | None) -> None:
    assert notification_text(event, took) == words


@pytest.mark.parametrize("why", ["interrupted", "declined", "waiting", "paused", "cancelled"])
def test_f150_who_ended_a_turn_or_was_asked_in_it_knows_of_its_end(why: TurnEndReason) -> None:
    assert notification_text(TurnEnded(why), 1000) is None


def test_f150_a_turn_is_timed_from_its_beginning_and_a_childs_is_not() -> None:
    notices = NotificationFilter("root", after_s=5)
    events: list[tuple[str, int, Event]] = [
        ("root", 0, TurnStarted(1)),
        ("child", 1, TurnStarted(1)),
        ("child", 20, TurnEnded("end")),
        ("child", 21, ASKED),
        ("root", 30, TurnEnded("end")),
        ("root", 31, TurnStarted(2)),
        ("root", 33, TurnEnded("end")),
    ]
    told = [
        notices.take(StoredEvent(0, f"session/w/{who}", 0, f"2026-01-01T12:00:{second:02}Z", event))
        for who, second, event in events
    ]
    asks, done = "The model asks: Which one?", "Turn finished."
    assert told == [None, None, None, asks, done, None, None]


WAYS: dict[str, tuple[NotificationMethod, dict[str, str], str]] = {
    "a terminal that shows it": ("auto", WEZTERM, "\x1b]9;Hello\x07"),
    "another one, by its TERM": ("auto", {"TERM": "foot"}, "\x1b]777;notify;Assent;Hello\x07"),
    "kitty": ("auto", KITTY, "\x1b]9;Hello\x07"),
    "an unknown one": ("auto", {"TERM": "xterm-256color"}, BELL),
    "an unknown one that should": (
        "desktop", {"TERM": "xterm-256color"}, "\x1b]777;notify;Assent;Hello\x07",
    ),
    "inside tmux": ("desktop", {**WEZTERM, "TMUX": "/tmp/x"}, BELL),
    "inside tmux, by its TERM": ("auto", {**WEZTERM, "TERM": "tmux-256color"}, BELL),
    "inside screen": ("auto", {**KITTY, "STY": "1"}, BELL),
    "no terminal to speak of": ("auto", {"TERM": "dumb"}, ""),
    "nothing known at all": ("desktop", {}, ""),
    "a bell, whatever it is": ("bell", KITTY, BELL),
    "off": ("off", KITTY, ""),
}  # fmt: skip


@pytest.mark.parametrize(("way", "environ", "sent"), WAYS.values(), ids=WAYS)
def test_f150_each_terminal_gets_what_it_understands(
    way: NotificationMethod, environ: dict[str, str], sent: str
) -> None:
    assert notification_sequence(way, "Hello", environ) == sent


@given(st.text(), st.sampled_from([KITTY, {"TERM": "foot"}]))
def test_f150_no_words_get_a_control_character_through(words: str, environ: dict[str, str]) -> None:
    sent = notification_sequence("desktop", words, environ)
    assert (sent[:2], sent[-1]) == ("\x1b]", BELL)
    inside = sent[2:-1]
    assert inside.isprintable()
    assert inside.count(";") == (1 if environ is KITTY else 3)
    assert len(inside) < 300
    inside.encode()


def test_f150_what_would_end_the_message_is_written_out() -> None:
    sent = notification_sequence("auto", "a\x07b\x1b\\c\x9cd\ne;f", KITTY)
    assert sent == "\x1b]9;a<U+0007>b<U+001B>\\c<U+009C>d<U+000A>e,f\x07"


def test_f150_secrets_do_not_get_onto_the_desktop() -> None:
    assert (
        notification_sequence("auto", "Use ghp_" + "a1" * 18, KITTY)
        == "\x1b]9;Use [masked: GitHub token]\x07"
    )
