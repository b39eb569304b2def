"""The audit view: every decision with who, what, which digest, how and why; nothing else (F60)."""

from typing import Any

from assent.cli.log import decision_lines, decision_rows
from assent.core.event import (
    CommandStarted,
    Event,
    PermitGiven,
    PlanApproved,
    PlanRejected,
    PlanRevised,
    StoredEvent,
    TrustGiven,
    TrustRevoked,
)
from assent.core.llm import ToolResult
from assent.core.permission.rule import Grant, GrantGiven, GrantRevoked, PermissionPattern
from assent.core.plan.approval import Approval, Approver
from assent.core.plan.operation import FileState, WriteFile
from assent.core.run.permit import Permit
from assent.core.session.event import (
    CallEnded,
    ModeChanged,
    Question,
    QuestionAnswered,
    QuestionAsked,
    TurnEnded,
    WorkHalted,
)
from assent.core.text.secrets import redaction_text

D = "d" * 64
C = "c" * 64
KEY = "AKIA" + "Z7Q4X2M9K1B8W3LP"
YES = Approval("a1", "p1", C, "0" * 64, D, Approver("ann", "terminal"), "Fine.", "then")
GRANT = Grant(
    "g1", "project", "s9", "build", "ask", (PermissionPattern("bash", "git push *"),), "then", "q1"
)
PERMIT = Permit("e1", "s9", "c1", "rule", "user: edit src/* = allow", D, "then")
ASKED = QuestionAsked("q1", "c1", (Question("Shell", "Run it?", things=("make test",)),), digest=D)


def rows(*events: Event, stream: str = "session/w1/s1") -> list[dict[str, Any]]:
    recorded = [StoredEvent(n, stream, n, "then", event) for n, event in enumerate(events, 1)]
    return list(decision_rows(recorded, {"p1": "s1"}))


def told(*events: Event) -> list[tuple[str, str, str | None, str, str]]:
    names = ("who", "what", "digest", "decision", "reason")
    return [tuple(row[name] for name in names) for row in rows(*events)]


def test_f60_a_decision_has_everything_that_an_auditor_wants() -> None:
    assert rows(PlanApproved(YES), stream="plan/w1/p1") == [
        {
            "seq": 1,
            "at": "then",
            "session": "s1",
            "kind": "plan_approved",
            "who": "ann (terminal)",
            "what": "plan p1",
            "digest": D,
            "decision": "approved",
            "reason": "Fine.",
        }
    ]


def test_f60_persons_decide() -> None:
    assert told(
        PlanRejected(D, "Too much.", "ann"),
        ModeChanged("auto-edit", "assent build"),
        ModeChanged("ask", custom="careful"),
        WorkHalted("paused", "Lunch."),
        TrustGiven(".opencode/assent.toml", C, ("starts x", "asks y"), "ann"),
        TrustRevoked(".opencode/assent.toml", "ann"),
        GrantGiven(GRANT),
        GrantRevoked("g1", "ann"),
    ) == [
        ("ann", "the plan", D, "rejected", "Too much."),
        ("person", "mode auto-edit", None, "chosen", "assent build"),
        ("person", "mode careful", None, "chosen", ""),
        ("person", "the turn", None, "paused", "Lunch."),
        ("ann", ".opencode/assent.toml", C, "trusted", "starts x; asks y"),
        ("ann", ".opencode/assent.toml", None, "no longer trusted", ""),
        ("person", "bash: git push *", None, "granted for the project", "answer to question q1"),
        ("ann", "grant g1", None, "revoked", ""),
    ]


def test_f60_answers_name_what_was_asked_and_its_digest() -> None:
    assert told(
        ASKED,
        QuestionAnswered("q1", (("yes", "always"),), "ann, terminal", "g1"),
        QuestionAnswered("q1", None),
        QuestionAnswered("q7", (("no",),)),
        QuestionAnswered("q1", ((),), "ann, terminal"),
        QuestionAnswered("q1", (("",),), "ann, terminal"),
    ) == [
        ("ann, terminal", "make test", D, "yes, always", "remembered as grant g1"),
        ("nobody", "make test", D, "no (not answered)", ""),
        ("person", "question q7", None, "no", ""),
        ("ann, terminal", "make test", D, "no (empty answer)", ""),
        ("ann, terminal", "make test", D, "no (empty answer)", ""),
    ]


def test_f60_the_gate_decides_with_layer_and_rule() -> None:
    denied = "user: bash: git push * = deny: Not from here."
    ended = CallEnded(
        "c1", "shell", ToolResult("c1", "No.", failed=True), "git push", decided=denied
    )
    write = WriteFile(b"src/a", None, FileState("e" * 64, 1, 0o644))
    assert told(
        CallEnded("c1", "shell", ended.result, "git push", verdict="deny", decided=denied),
        ended,
        PermitGiven(PERMIT, "r1", (write,)),
        CommandStarted("x1", "s9", "c1", "make", "", "answer", "ann", True),
        CommandStarted("x2", "s9", "c1", "make", "", "mode", "", False),
    ) == [
        ("gate", "shell: git push", None, "deny", denied),
        ("rule", "change src/a", D, "permitted", "user: edit src/* = allow"),
        ("answer", "run make", None, "permitted, confined", "ann"),
        ("mode", "run make", None, "permitted, not confined", ""),
    ]


def test_f92_what_was_decided_about_is_masked_too() -> None:
    asked = QuestionAsked("q1", "c1", (Question("Shell", "?", things=(f"curl {KEY}",)),))
    shown = f"curl {redaction_text('AWS access key')}"
    started = CommandStarted("x1", "s9", "c1", f"curl {KEY}", "", "answer", "ann", True)
    found = rows(asked, QuestionAnswered("q1", (("Yes",),)), started)
    assert [row["what"] for row in found] == [shown, f"run {shown}"]


def test_f60_what_decides_nothing_is_left_out() -> None:
    assert rows(PlanRevised(), TurnEnded("end"), ASKED) == []


def test_f60_permits_commands_and_grants_name_their_session() -> None:
    events = (
        PermitGiven(PERMIT, "r1", ()),
        CommandStarted("x1", "s9", "c1", "make", "", "answer", "ann", True),
        GrantGiven(GRANT),
    )
    assert [row["session"] for row in rows(*events, stream="permit/w1")] == ["s9"] * 3


def test_f60_lines_are_one_for_each_decision_and_hide_nothing_but_secrets() -> None:
    found = rows(PlanRejected(D, f"No \x1b {KEY}", "ann"), ModeChanged("ask"))
    why = f"(No <U+001B> {redaction_text('AWS access key')})"
    assert [line.text for line in decision_lines(found)] == [
        f"     1  then  ann  rejected  the plan  {'d' * 12}  {why}",
        "     2  then  person  chosen  mode ask",
    ]
    assert [line.text for line in decision_lines([])] == ["No decisions in this workspace yet."]
