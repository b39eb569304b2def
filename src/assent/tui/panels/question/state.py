"""What each key does to the question that waits below the conversation, and how it is shown.

One key answers what is of low or medium risk; everything else takes two different ones.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from assent.core.permission.rule import GrantScope, PermissionPattern
from assent.core.session.event import Question, QuestionAsked
from assent.core.session.question import (
    NO,
    PROJECT,
    SESSION,
    UNCONFINED,
    YES,
    PendingQuestion,
    QuestionAnswers,
    is_permission,
    pattern_text,
    question_topic,
)
from assent.core.text.hidden_chars import visible_line
from assent.permissions.grants import wider_pattern
from assent.render.diff_view import numbered_lines
from assent.render.lines import BLANK, Line, Style, table_lines, untrusted_lines
from assent.render.questions import pending_question_row
from assent.tui.keys import CONFIRM_KEY
from assent.tui.line_view import Section

NOTHING_YET: Final[tuple[str, ...]] = ()
NO_ANSWER: Final = ("",)  # the user explicitly gives none
# The same keys as in every other place: see `tui.keys.PANEL_KEYS`.
ONCE, THIS_SESSION, PATTERN, PATTERN_IN_PROJECT = "y", "a", "p", "P"
DENY, DENY_WITH_WORDS, WITHOUT_SANDBOX, RAW, SKIP = "n", "e", "u", "v", "s"
MORE, ENTER, TOGGLE = "question_mark", "enter", "space"
LISTED: Final = "123456789"  # a key for each of the first options; arrow keys reach all of them
REMEMBERS: Final[dict[str, tuple[GrantScope, str]]] = {
    THIS_SESSION: ("session", SESSION),
    PATTERN: ("session", SESSION),
    PATTERN_IN_PROJECT: ("project", PROJECT),
}
ONE_KEY_LEVELS: Final = ("low", "medium")  # risks of which one key is enough for a yes


class QuestionStage(StrEnum):
    """What the user is doing."""

    READING = "reading"
    TWICE = "twice"  # a yes of high risk is confirmed
    UNCONFINED = "unconfined"  # a yes without the sandbox is confirmed
    REMEMBERING = "remembering"  # what will not be asked again is shown
    EDITING = "editing"  # and its pattern can be changed
    WRITING = "writing"  # words of their own


class QuestionAction(StrEnum):
    """What a key requests."""

    NOTHING = "nothing"
    CHANGED = "changed"  # something else is shown now
    UNREAD = "unread"  # say why it cannot be answered yet
    EMPTY = "empty"  # say that nothing is chosen
    NO_PATTERN = "no pattern"  # say why none can be edited
    OPEN_FIELD = "open field"  # for words or a pattern
    NEXT_PART = "next part"
    ANSWER = "answer"  # send it


class QuestionState(msgspec.Struct, frozen=True):
    """Everything that determines what a key does, and the answers so far, part by part."""

    answers: QuestionAnswers  # labels or words; nothing: not chosen yet
    part: int = 0
    read: bool = False  # the end of it was on the screen, or the user skips it knowingly
    stage: QuestionStage = QuestionStage.READING
    cursor: int = -1  # the option that the arrow keys are on
    raw: bool = False  # the call is shown as the model made it
    more: bool = False  # all keys are listed
    reach: GrantScope | None = None  # how far the answer is to be remembered


CONFIRMING: Final = frozenset(
    {QuestionStage.TWICE, QuestionStage.UNCONFINED, QuestionStage.REMEMBERING}
)
IN_FIELD: Final = frozenset({QuestionStage.EDITING, QuestionStage.WRITING})
_ASKED_BY: Final = {QuestionStage.TWICE: ONCE, QuestionStage.UNCONFINED: WITHOUT_SANDBOX,
                    QuestionStage.REMEMBERING: THIS_SESSION}  # fmt: skip

Answer = tuple[QuestionState, QuestionAction]


def begin_question(questions: Sequence[Question]) -> QuestionState:
    """Returns the state of a question that was just shown."""
    return QuestionState((NOTHING_YET,) * len(questions))


def takes_two_steps(question: Question) -> bool:
    """Tells whether allowing it is confirmed: all that is not known to be a small risk (law 9)."""
    return question.by == "gate" and (question.risk or ("",))[0] not in ONE_KEY_LEVELS


def handle_question_key(state: QuestionState, key: str, questions: Sequence[Question]) -> Answer:
    """Returns the next state and the action of a key; an unknown key does nothing."""
    question = questions[state.part]
    if state.stage in CONFIRMING:
        return _confirming(state, key, question)
    if key == SKIP and not state.read:
        return _changed(state, read=True)
    if key == RAW:
        return _changed(state, raw=not state.raw)
    if key == MORE:
        return _changed(state, more=not state.more)
    if key == DENY_WITH_WORDS and accepts_text(question):
        return _moved(state, QuestionStage.WRITING), QuestionAction.OPEN_FIELD
    if question.by == "gate":
        return _permission(state, key, question)
    return _picking(state, key, questions)


def _confirming(state: QuestionState, key: str, question: Question) -> Answer:
    """Returns what a key does once it was asked: one confirms, the same one does nothing."""
    if key == _ASKED_BY[state.stage]:
        return state, QuestionAction.NOTHING
    if key in confirm_keys(state, question):
        return state, QuestionAction.ANSWER
    return back_to_reading(state), QuestionAction.CHANGED


def has_pattern(question: Question) -> bool:
    """Tells whether a remembered answer covers one pattern that can be edited."""
    return wider_pattern(question.always) is not None


def no_pattern_text(question: Question) -> str:
    """Returns why no pattern can be edited."""
    return "it covers several patterns" if len(question.always) > 1 else "it is remembered exactly"


def step_back(state: QuestionState) -> QuestionState | None:
    """Returns the state without what was opened to look at: keys, call; None if neither is."""
    if state.more:
        return msgspec.structs.replace(state, more=False)
    return msgspec.structs.replace(state, raw=False) if state.raw else None


def confirm_keys(state: QuestionState, question: Question) -> tuple[str, ...]:
    """Returns the keys that confirm what is asked."""
    light = state.stage in (QuestionStage.REMEMBERING, QuestionStage.EDITING)
    return (CONFIRM_KEY, ENTER) if light and not takes_two_steps(question) else (CONFIRM_KEY,)


def _permission(state: QuestionState, key: str, question: Question) -> Answer:
    offered = {option.label for option in question.options}
    if key == DENY and NO in offered:
        return choose(state, (NO,)), QuestionAction.ANSWER
    label = {ONCE: YES, WITHOUT_SANDBOX: UNCONFINED}.get(key, REMEMBERS.get(key, ("", ""))[1])
    if label not in offered:
        return state, QuestionAction.NOTHING
    if not state.read:
        return state, QuestionAction.UNREAD
    editable = has_pattern(question)
    if key == PATTERN and not editable:
        return state, QuestionAction.NO_PATTERN
    chosen = choose(state, (label,))
    if key == WITHOUT_SANDBOX:
        return _moved(chosen, QuestionStage.UNCONFINED), QuestionAction.CHANGED
    if key in REMEMBERS:
        edits = key != THIS_SESSION and editable
        stage = QuestionStage.EDITING if edits else QuestionStage.REMEMBERING
        opened = msgspec.structs.replace(_moved(chosen, stage), reach=REMEMBERS[key][0])
        return opened, QuestionAction.OPEN_FIELD if edits else QuestionAction.CHANGED
    if takes_two_steps(question):
        return _moved(chosen, QuestionStage.TWICE), QuestionAction.CHANGED
    return chosen, QuestionAction.ANSWER


def _picking(state: QuestionState, key: str, questions: Sequence[Question]) -> Answer:
    """Returns what a key does to what a model asks: a list, and Enter sends."""
    question = questions[state.part]
    count = len(question.options)
    if key in ("up", "down") and count:
        step = -1 if key == "up" else 1
        at = max(state.cursor + step, 0) if state.cursor >= 0 else (0 if step > 0 else count - 1)
        return _at_option(state, min(at, count - 1), question)
    if key in LISTED and LISTED.index(key) < count:
        moved, _ = _at_option(state, LISTED.index(key), question)
        return (_toggled(moved, question) if question.multiple else moved), QuestionAction.CHANGED
    if key == TOGGLE and question.multiple and state.cursor >= 0:
        return _toggled(state, question), QuestionAction.CHANGED
    if key == DENY:
        return next_part(choose(state, NO_ANSWER), questions)
    if key != ENTER:
        return state, QuestionAction.NOTHING
    if not state.answers[state.part]:
        return state, QuestionAction.EMPTY
    if not state.read:
        return state, QuestionAction.UNREAD
    return next_part(state, questions)


def next_part(state: QuestionState, questions: Sequence[Question]) -> Answer:
    """Returns what follows the answer to one part: the next part, or the whole answer."""
    if state.part + 1 < len(questions):
        return QuestionState(state.answers, state.part + 1), QuestionAction.NEXT_PART
    return state, QuestionAction.ANSWER


def choose(state: QuestionState, answer: tuple[str, ...]) -> QuestionState:
    """Returns the state with this answer for the current part."""
    answers = list(state.answers)
    answers[state.part] = answer
    return msgspec.structs.replace(state, answers=tuple(answers))


def back_to_reading(state: QuestionState) -> QuestionState:
    """Returns the state with nothing asked and nothing chosen for this part."""
    kept = choose(state, NOTHING_YET)
    return msgspec.structs.replace(kept, stage=QuestionStage.READING, cursor=-1, reach=None)


def accepts_text(question: Question) -> bool:
    """Tells whether free text is an answer; for a permission it denies, with a reason."""
    return question.custom or not question.options


def _moved(state: QuestionState, stage: QuestionStage) -> QuestionState:
    return msgspec.structs.replace(state, stage=stage)


def _changed(state: QuestionState, **changes: object) -> Answer:
    return msgspec.structs.replace(state, **changes), QuestionAction.CHANGED


def _at_option(state: QuestionState, at: int, question: Question) -> Answer:
    """Moves to an option, which is the answer unless several may be chosen."""
    moved = msgspec.structs.replace(state, cursor=at)
    if not question.multiple:
        moved = choose(moved, (question.options[at].label,))
    return moved, QuestionAction.CHANGED


def _toggled(state: QuestionState, question: Question) -> QuestionState:
    labels = [option.label for option in question.options]
    label, answer = labels[state.cursor], state.answers[state.part]
    if label in answer:
        return choose(state, tuple(each for each in answer if each != label))
    known = [each for each in (*answer, label) if each in labels]
    return choose(state, tuple(sorted(known, key=labels.index)))


# What is shown of a question: what allowing it would do, the choices, and the call behind it.


QUESTION, OPTIONS, CALL = "question", "options", "call"
MARKS = {
    (False, False): "( )",
    (False, True): "(•)",
    (True, False): "[ ]",
    (True, True): "[x]",
}


def question_title(pending: PendingQuestion, part: int, place: int, many: int) -> str:
    """Returns the line over a question: who asks, how risky it is, and how many wait."""
    asked = pending.inquiry.asked
    question = asked.questions[part]
    titles = ["Permission" if is_permission(question) else "The model asks"]
    if question.by == "gate" and not is_permission(question):
        titles = ["Confirm"]
    titles += [f"{question.risk[0]} risk"] if question.risk else []
    parts = len(asked.questions)
    titles += [f"part {part + 1} of {parts}"] if parts > 1 else []
    titles += [f"{place + 1} of {many}"] if many > 1 else []
    return " · ".join(titles)


def question_sections(
    pending: PendingQuestion, state: QuestionState, now: str, own: str
) -> list[Section]:
    """Returns one part of a question; `own` is the session on the screen."""
    question = pending.inquiry.asked.questions[state.part]
    asks = _asks(question, pending, own)
    call = _call_lines(pending, now) if state.raw else ()
    sections = [Section(QUESTION, tuple(asks)), Section(CALL, tuple(call))]
    if question.by != "gate":
        sections.insert(1, Section(OPTIONS, tuple(option_lines(question, state))))
    return sections


def _asks(question: Question, pending: PendingQuestion, own: str) -> Iterator[Line]:
    if pending.root.session != own:
        yield Line("dim", f"Session {visible_line(pending.root.slug)}")
    if question.by == "gate":
        if question.header and question.header != "Permission":
            yield Line("heading", visible_line(question.header))
        yield Line("heading", visible_line(question.question))
        level, *found = question.risk or ("unknown",)
        reasons = [reason for reason in found if not _is_said(reason, question.question)]
        style: Style = "plain" if level == "low" else "risk"
        told = " ".join(["Risk:", f"{visible_line(level)}.", *map(visible_line, reasons)])
        yield Line(style, told)
    else:
        if topic := question_topic(question):
            yield Line("heading", visible_line(topic))
        yield from untrusted_lines(question.question)
    if question.command:
        yield from untrusted_lines(question.command)
    if not _is_named(question):
        yield from (Line("plain", f"- {visible_line(thing)}") for thing in question.things)
    if question.detail:
        yield from numbered_lines(question.detail)


def _is_said(reason: str, question: str) -> bool:
    """Tells whether the question itself says why it is risky: once is enough."""
    about = re.fullmatch(r"It changes (.+?)(?:, which|:) (.+)", reason)
    again = about is not None and any(
        f"changing {about[1]}: {word}{about[2]}" in question for word in ("", "it ")
    )
    return again or reason in question


def _is_named(question: Question) -> bool:
    """Tells whether the question itself names the one file that is written, and what it says."""
    path = question.things[0].removeprefix("write ") if len(question.things) == 1 else ""
    written = f"edit to {path}? " in f"{question.question} "
    head = f"diff --git a/{path} b/{path}\n"
    heads = (f"{head}--- a/{path}\n+++ b/{path}\n", f"{head}new file mode ")
    return question.things == (f"write {path}",) and written and question.detail.startswith(heads)


def _call_lines(pending: PendingQuestion, now: str) -> Iterator[Line]:
    """Renders the call as the model made it, and the facts about the question."""
    row = pending_question_row(pending, now)
    facts = {
        "for": f"{row['agent']}: {row['task']}" if row["task"] else row["agent"],
        "tool": row["tool"],
        "session": pending.root.slug,
        "expires at": row["expires_at"],
        "id": row["id"],
        "digest": row["digest"],
    }
    yield BLANK
    yield from arguments_lines(row["args"])
    yield from table_lines("dim", [(name, visible_line(str(v))) for name, v in facts.items() if v])


def arguments_lines(args: Mapping[str, object] | None) -> list[Line]:
    """Renders the exact arguments of a tool call."""
    if args is None:
        return []
    text = msgspec.json.format(msgspec.json.encode(args)).decode()
    return [Line("heading", "Tool arguments:"), *untrusted_lines(text)]


def option_lines(question: Question, state: QuestionState) -> Iterator[Line]:
    """Renders the options of a model with their keys; a sign marks the chosen ones."""
    answer = state.answers[state.part]
    for number, option in enumerate(question.options):
        chosen = option.label in answer
        key = LISTED[number] if number < len(LISTED) else " "
        pointed = "▸" if number == state.cursor else " "
        about = f": {visible_line(option.description)}" if option.description else ""
        text = f"{pointed} {key} {MARKS[question.multiple, chosen]} {visible_line(option.label)}"
        yield Line("said" if chosen else "plain", text + about)


_WHERE: Final[dict[GrantScope, str]] = {
    "session": "in this session",
    "project": "in every session of this project",
}


def remembered_text(
    asked: QuestionAsked, reach: GrantScope, patterns: Sequence[PermissionPattern]
) -> str:
    """Returns everything that a remembered answer would allow."""
    listed = ", ".join(map(pattern_text, patterns))
    who = f"agent {asked.agent}, {asked.custom or asked.mode} mode"
    return visible_line(
        f"Don't ask again {_WHERE[reach]} for {listed} ({who}). /rules lists and revokes it."
    )


def keys_line(question: Question, state: QuestionState, *, keyed: bool, others: bool) -> str:
    """Returns the line of keys; `keyed`: keys go to the question."""
    match state.stage:
        case QuestionStage.WRITING:
            return "Enter send · Ctrl+J new line · Esc back"
        case QuestionStage.EDITING:
            return f"{_confirming_text(state, question)} · Esc back"
        case QuestionStage.TWICE | QuestionStage.UNCONFINED | QuestionStage.REMEMBERING:
            return f"{_confirming_text(state, question)} · any other key goes back"
        case _ if not keyed:
            return "Tab answer"
        case _:
            return " · ".join(_keys(question, state, others=others))


def _confirming_text(state: QuestionState, question: Question) -> str:
    return "Enter confirm" if ENTER in confirm_keys(state, question) else "Ctrl+Y confirm"


def _keys(question: Question, state: QuestionState, *, others: bool) -> Iterator[str]:
    offered = {option.label for option in question.options}
    if question.by == "gate":
        yield "y once" if SESSION in offered else "y yes"
        yield from ["a session"] if SESSION in offered else ()
        yield from ["p pattern"] if SESSION in offered and has_pattern(question) else ()
        yield from ["P project"] if PROJECT in offered else ()
        yield "n no"
        yield from ["e no, say why"] if accepts_text(question) else ()
    else:
        many = len(question.options)
        yield from [f"↑ ↓ 1-{min(many, 9)} choose" if many > 1 else "1 choose"] if many else ()
        yield from ["Space select"] if question.multiple else ()
        yield from ["Enter send"] if many else ()
        yield from ["e your own words"] if accepts_text(question) else ()
        yield "n no answer"
    if not state.more:
        yield "? more"
        yield from ["Esc back"] if state.raw else ()
        return
    if SESSION in offered and not has_pattern(question):
        yield f"no p: {no_pattern_text(question)}"
    yield from ["u without the sandbox"] if UNCONFINED in offered else ()
    yield "v raw call"
    yield "s skip reading"
    yield from ["[ ] other questions"] if others else ()
    yield "Tab prompt"
    yield "Esc back"
