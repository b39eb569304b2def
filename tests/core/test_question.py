"""Questions: any changed field has another digest, and only the label of a yes is a yes."""

from typing import Any

import msgspec
import pytest

from assent.core.llm import ToolCall
from assent.core.permission.rule import PermissionPattern
from assent.core.session.event import Question, QuestionAsked, QuestionOption
from assent.core.session.question import (
    NO,
    NOBODY_ANSWERED,
    PROJECT,
    SESSION,
    UNCONFINED,
    YES,
    PermissionAnswer,
    QuestionAnswers,
    asks_the_same,
    is_permission,
    permission_options,
    question_digest,
    read_permission_answer,
)

STATUS = PermissionPattern("bash", "git status *")
QUESTION = Question(
    "Permission",
    "May the model run git status?",
    permission_options((STATUS,), command=True),
    by="gate",
    things=("run git status",),
    detail="+1",
    always=(STATUS,),
    risk=("low", "It reads."),
)
ASKED = QuestionAsked(
    "q1", "c1", (QUESTION,), "shell", "", "2026-01-01T12:00:00.000Z", "build", "ask", "p"
)
CALL = ToolCall("c1", "shell", {"line": "git status", "n": 1})
PLAIN = Question("Permission", "May it?", (QuestionOption(YES), QuestionOption(NO)), by="gate")


def digest(asked: QuestionAsked = ASKED, call: ToolCall = CALL, session: str = "s") -> str:
    return question_digest(session, call, asked)


def replaced(**changes: Any) -> QuestionAsked:
    return msgspec.structs.replace(ASKED, questions=(msgspec.structs.replace(QUESTION, **changes),))


CHANGED = {
    "session": digest(session="t"),
    "call": digest(call=ToolCall("c2", "shell", CALL.args)),
    "tool called": digest(call=ToolCall("c1", "git", CALL.args)),
    "arguments": digest(call=ToolCall("c1", "shell", {"line": "git push", "n": 1})),
    "kind of an argument": digest(call=ToolCall("c1", "shell", {"line": "git status", "n": "1"})),
    "no arguments": digest(call=ToolCall("c1", "shell", {})),
    "unreadable arguments": digest(call=ToolCall("c1", "shell", None)),
    "raw arguments": digest(call=ToolCall("c1", "shell", None, "{")),
    **{
        name: digest(msgspec.structs.replace(ASKED, **{name: "other"}))
        for name in ("id", "call", "tool", "expires_at", "agent", "plan")
    },
    "mode of one's own": digest(msgspec.structs.replace(ASKED, custom="careful")),
    "mode": digest(msgspec.structs.replace(ASKED, mode="yolo")),
    "two questions": digest(msgspec.structs.replace(ASKED, questions=(QUESTION, QUESTION))),
    **{
        f"question's {name}": digest(replaced(**{name: "other"}))
        for name in ("header", "question", "detail", "command")
    },
    "by": digest(replaced(by="model")),
    "options": digest(replaced(options=())),
    "an option": digest(replaced(options=(QuestionOption(YES), *QUESTION.options[1:]))),
    "multiple": digest(replaced(multiple=True)),
    "custom": digest(replaced(custom=False)),
    "things": digest(replaced(things=("run git push",))),
    "things, otherwise split": digest(replaced(things=("run git", " status"))),
    "always": digest(replaced(always=())),
    "a pattern": digest(replaced(always=(PermissionPattern("bash", "git *"),))),
    "a pattern's permission": digest(replaced(always=(PermissionPattern("edit", "git status *"),))),
    "exact": digest(replaced(always=(PermissionPattern("bash", "git status *", exact=True),))),
    "risk": digest(replaced(risk=("high", "It reads."))),
}


def test_f96_any_changed_field_gives_another_digest() -> None:
    everything = [digest(), *CHANGED.values()]
    assert len(set(everything)) == len(everything)
    fields = {*QuestionAsked.__struct_fields__, *Question.__struct_fields__}
    known = {name.removeprefix("question's ") for name in CHANGED}
    assert fields - known == {"questions", "digest"}


def test_f96_the_same_question_has_the_same_digest_wherever_it_was_kept() -> None:
    stored = msgspec.json.decode(msgspec.json.encode(ASKED), type=QuestionAsked)
    turned = ToolCall("c1", "shell", {"n": 1, "line": "git status"})
    named = msgspec.structs.replace(stored, digest=digest())
    assert digest(named, turned) == digest()


MEANT: dict[str, tuple[QuestionAnswers | None, PermissionAnswer]] = {
    "yes": (((YES,),), PermissionAnswer(yes=True)),
    "for the session": (((SESSION,),), PermissionAnswer(yes=True, reach="session")),
    "for the project": (((PROJECT,),), PermissionAnswer(yes=True, reach="project")),
    "without the sandbox": (((UNCONFINED,),), PermissionAnswer(yes=True, unconfined=True)),
    "no": (((NO,),), PermissionAnswer(plain=True, why="they denied it.")),
    "enter": (((),), PermissionAnswer(plain=True, why="they did not answer.")),
    "blanks": (((" ",),), PermissionAnswer(plain=True, why="they did not answer.")),
    "words": ((("Use make",),), PermissionAnswer(words="Use make", why="Use make.")),
    "a question": ((("Why?",),), PermissionAnswer(words="Why?", why="Why?")),
    "another case": ((("yes",),), PermissionAnswer(words="yes", why="yes.")),
    "both": (((YES, NO),), PermissionAnswer(words="Yes, No", why="Yes, No.")),
    "twice": (((YES,), (YES,)), PermissionAnswer(words="Yes, Yes", why="Yes, Yes.")),
    "nobody": (None, PermissionAnswer(nobody=True, why=NOBODY_ANSWERED)),
}


@pytest.mark.parametrize(("answers", "consent"), MEANT.values(), ids=MEANT)
def test_f41_only_the_label_of_a_yes_is_a_yes(
    answers: QuestionAnswers | None, consent: PermissionAnswer
) -> None:
    assert read_permission_answer(QUESTION, answers) == consent


@pytest.mark.parametrize("label", [SESSION, PROJECT, UNCONFINED])
def test_a_yes_that_was_not_offered_is_none(label: str) -> None:
    assert read_permission_answer(PLAIN, ((label,),)) == PermissionAnswer(
        words=label, why=f"{label}."
    )


def test_f82_the_choices_say_what_each_would_mean() -> None:
    assert permission_options(()) == (QuestionOption(YES), QuestionOption(NO))
    assert [one.label for one in permission_options((), command=True)] == [YES, UNCONFINED, NO]
    exact = PermissionPattern("bash", "python x.py", exact=True)
    assert [(one.label, one.description) for one in permission_options((STATUS, exact))] == [
        (YES, "once"),
        (
            SESSION,
            "don't ask again in this session: shell `git status *`, shell `python x.py` exactly",
        ),
        (
            PROJECT,
            "don't ask again in any session of this project: shell `git status *`, shell `python "
            "x.py` exactly",
        ),
        (NO, ""),
    ]


def test_a_models_question_is_never_the_gates() -> None:
    assert is_permission(QUESTION)
    assert not is_permission(msgspec.structs.replace(QUESTION, by="model"))
    assert not is_permission(msgspec.structs.replace(QUESTION, header="Plan mode"))


def _stored(asked: QuestionAsked) -> QuestionAsked:
    return msgspec.structs.replace(asked, digest=question_digest("s1", CALL, asked))


def _wanted(**changes: Any) -> QuestionAsked:
    question = msgspec.structs.replace(QUESTION, **changes)
    return msgspec.structs.replace(ASKED, id="", expires_at="", questions=(question,))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"question": "Allow running git status?"},
        {"header": "Permission for sub-agent general"},
        {"risk": ("low", "It only reads.")},
        {"options": tuple(QuestionOption(o.label, "Other words") for o in QUESTION.options)},
    ],
)
def test_an_answer_holds_when_another_version_words_the_question_differently(
    changes: dict[str, Any],
) -> None:
    assert asks_the_same("s1", CALL, _stored(ASKED), _wanted(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"by": "model"},
        {"things": ("run git status", "write a")},
        {"detail": "+2"},
        {"command": "git status"},
        {"always": ()},
        {"risk": ("high", "It reads.")},
        {"options": QUESTION.options[:1]},
        {"header": "Budget"},
        {"multiple": True},
    ],
)
def test_an_answer_does_not_hold_for_a_question_that_would_allow_something_else(
    changes: dict[str, Any],
) -> None:
    assert not asks_the_same("s1", CALL, _stored(ASKED), _wanted(**changes))


def test_an_answer_holds_only_for_the_call_that_it_was_given_for() -> None:
    other = msgspec.structs.replace(CALL, args={"line": "git push", "n": 1})
    assert not asks_the_same("s1", other, _stored(ASKED), _wanted())
    assert not asks_the_same("s2", CALL, _stored(ASKED), _wanted())


@pytest.mark.parametrize(
    "changes",
    [
        {"question": "Allow reading a -> /other?"},
        {"header": "Permission for sub-agent general"},
        {"risk": ("low", "Another reason.")},
    ],
)
def test_a_sentence_that_alone_names_what_is_allowed_must_be_the_same(
    changes: dict[str, Any],
) -> None:
    for shown in ({"things": (), "detail": ""}, {"detail": ""}, {"things": ()}):
        read = {"question": "Allow reading a -> /one?", **shown}
        stored = _stored(_wanted(**read))
        assert asks_the_same("s1", CALL, stored, _wanted(**read))
        assert not asks_the_same("s1", CALL, stored, _wanted(**read | changes))


def test_a_budget_is_not_another_budget() -> None:
    tokens = {"header": "Budget", "question": "100 tokens are used. Continue?"}
    dollars = {"header": "Budget", "question": "$1.00 is used. Continue?"}
    assert asks_the_same("s1", CALL, _stored(_wanted(**tokens)), _wanted(**tokens))
    assert not asks_the_same("s1", CALL, _stored(_wanted(**tokens)), _wanted(**dollars))


def test_the_words_of_a_models_question_are_what_it_asks() -> None:
    asked = _wanted(by="model")
    other = _wanted(by="model", question="May I push?")
    assert asks_the_same("s1", CALL, _stored(asked), asked)
    assert not asks_the_same("s1", CALL, _stored(asked), other)
