"""Which mode holds in a session: the one that was chosen, and whatever narrows it."""

import pytest

from assent.core.errors import UsageError
from assent.core.permission.mode import (
    MODES,
    CustomMode,
    Mode,
    effective_mode,
    mode_names,
    resolve_mode,
    unknown_mode_text,
)

USER = CustomMode("review", "ask", tools=("read",), source="user")
REVIEW = CustomMode("review", "ask", edit=("docs/**",), source="project", within=USER)
FAST = CustomMode("fast", "yolo")
PLAN = CustomMode("plan", "plan", edit=("docs/**",), source="project")
ASK = CustomMode("ask", "ask", tools=("read", "edit"))
KNOWN = {"review": REVIEW, "fast": FAST, "plan": PLAN, "ask": ASK}


def test_f8_a_mode_is_chosen_by_its_name() -> None:
    assert {name: resolve_mode(name, KNOWN) for name in mode_names(KNOWN)} == {
        "plan": ("plan", ""),
        "ask": ("ask", ""),
        "auto-edit": ("auto-edit", ""),
        "yolo": ("yolo", ""),
        "review": ("ask", "review"),
        "fast": ("yolo", "fast"),
    }


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("wild", ""),
        ("", ""),
        ("Plan", " Did you mean plan?"),
        ("plan ", " Did you mean plan?"),
        ("reveiw", " Did you mean review?"),
    ],
)
def test_f11_a_name_that_nobody_knows_is_refused_with_those_that_there_are(
    name: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_mode(name, {"review": REVIEW})
    known = "plan, ask, auto-edit, yolo, review"
    assert caught.value.message == f"Mode {name!a} not found.{hint} Available modes: {known}."
    assert caught.value.next == "assent modes list"


TABLE: list[tuple[Mode, str, Mode, tuple[CustomMode, ...]]] = [
    ("yolo", "", "yolo", ()),
    ("plan", "", "plan", (PLAN,)),  # whoever narrowed it, also where nobody named it
    ("ask", "review", "ask", (REVIEW, USER, ASK)),
    ("yolo", "fast", "yolo", (FAST,)),
    ("ask", "fast", "ask", (FAST, ASK)),  # the base was raised since: only a person does that
    ("auto-edit", "review", "ask", (REVIEW, USER, ASK)),  # and lowered: it counts at once
    ("yolo", "gone", "plan", (PLAN,)),
]


@pytest.mark.parametrize(("mode", "custom", "holds", "narrowing"), TABLE)
def test_f9_what_holds_and_what_narrows_it(
    mode: Mode, custom: str, holds: Mode, narrowing: tuple[CustomMode, ...]
) -> None:
    assert effective_mode(mode, custom, KNOWN) == (holds, narrowing)


@pytest.mark.parametrize("mode", MODES)
def test_f11_a_mode_that_is_gone_is_plan_mode_and_told(mode: Mode) -> None:
    assert effective_mode(mode, "gone", {}) == ("plan", ())
    assert unknown_mode_text("gone", {}).startswith("The session's mode 'gone' no longer exists")
    assert unknown_mode_text("review", KNOWN) == unknown_mode_text("", {}) == ""
