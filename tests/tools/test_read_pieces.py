"""A read of several files: each is judged, asked about and shown by itself, within one result."""

from pathlib import Path

import pytest
from tests.tools.call_harness import Desk

from assent.core.digest import sha256
from assent.core.llm import ToolCall
from assent.core.session.question import PermissionAnswer
from assent.core.tool import Decision, GuardedCall, ToolOutcome, Verdict
from assent.tools.dispatcher import (
    NOT_ALLOWED,
    ToolCallResult,
    ToolPermissionRequest,
    notify_guards,
)
from assent.tools.outcome import BYTES, FULL, LINES
from assent.tools.read import OUTLINE_LEAD


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.put("a.py", "".join(f"line {n}\n" for n in range(1, 10)))
    desk.put("b.py", "x = 1\n")
    desk.put(".env", "TOKEN=hunter2\n")
    desk.put("prod.env", "TOKEN=hunter3\n")
    return desk


class Person:
    """Allows what is asked about some files, and nothing else."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[list[str]] = []

    def __call__(self, doubt: ToolPermissionRequest) -> PermissionAnswer:
        self.asked.append([request.resource for request in doubt.requests])
        yes = all(request.resource in self.allowed for request in doubt.requests)
        return PermissionAnswer(yes=yes, why="" if yes else "not now.")


class Hook:
    """Implements ports.CallGuard: denies one path, by the argument that it knows."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.before_calls: list[tuple[str, object]] = []
        self.after_calls: list[tuple[str, str]] = []

    def before(self, attempt: GuardedCall) -> Decision | None:
        args = attempt.call.args or {}
        self.before_calls.append((attempt.call.id, args))
        denied = args.get("path") == self.path
        return Decision(Verdict.DENY, "A hook says no.", "hook") if denied else None

    def after(self, attempt: GuardedCall, outcome: ToolOutcome) -> ToolOutcome:
        self.after_calls.append((attempt.call.id, outcome.title))
        return ToolOutcome(f"{outcome.text}\n[heard {attempt.call.id}]")

    def turn_end_reason(self) -> str:
        return ""


def made(desk: Desk, person: Person, *guards: Hook, **args: object) -> ToolCallResult:
    call = ToolCall("c1", "read", dict(args))
    prepared = desk.toolbox.prepare(call, desk.around, desk.agent)
    return desk.toolbox.run_call(prepared, desk.around, person, guards)


def test_f12_several_files_and_ranges_come_in_one_result(desk: Desk) -> None:
    outcome = desk.call("read", path="a.py", lines="2-3, 8-", more=["b.py", "a.py:5"])
    assert outcome.text == (
        "[a.py, lines 2-3 of 9]\nline 2\nline 3\n[lines 8-9]\nline 8\nline 9\n"
        "[b.py]\nx = 1\n"
        "[a.py, line 5 of 9]\nline 5"
    )
    assert outcome.title == "a.py, b.py, a.py"
    assert [*outcome.metadata["seen"]] == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [("x", "not a range"), ("-", "not a range"), ("5-2", "before the first line"),
     ("12-", "has 9 lines; line 12 is past its end"), ("1-2-3", "not a range")],
)  # fmt: skip
def test_a_bad_range_says_what_one_is(desk: Desk, lines: str, said: str) -> None:
    assert said in desk.failing("read", path="a.py", lines=lines)


def test_f76_each_file_is_asked_about_by_itself_wherever_it_stands(desk: Desk) -> None:
    person = Person("prod.env")
    outcome = made(desk, person, path="a.py", lines="1", more=[".env", "prod.env", "b.py"]).outcome
    assert person.asked == [[".env"], ["prod.env"]]
    assert outcome.text == (
        "[a.py, line 1 of 9]\nline 1\n"
        f"[.env]\n{NOT_ALLOWED}not now. Nothing was done.\n"
        "[prod.env]\nTOKEN=hunter3\n"
        "[b.py]\nx = 1"
    )
    assert not outcome.failed
    assert [*outcome.metadata["seen"]] == ["a.py", "prod.env", "b.py"]


def test_f78_a_symlink_does_not_get_around_the_gate_by_being_second(desk: Desk) -> None:
    (desk.place.root / "plain.txt").symlink_to(".env")
    (desk.place.root / "out").symlink_to("/etc/hostname")
    person = Person()
    outcome = made(desk, person, path="b.py", more=["plain.txt", "out", "../x", "nothing"]).outcome
    assert person.asked == [[".env"]]
    assert "hunter2" not in outcome.text
    assert outcome.text.count("outside the workspace") == 2
    assert "nothing does not exist." in outcome.text
    assert outcome.text.startswith("[b.py]\nx = 1\n")


def test_a_call_of_which_every_file_is_refused_failed(desk: Desk) -> None:
    result = made(desk, Person(), path=".env", more=["prod.env"])
    assert result.outcome.failed
    assert result.decision is not None
    assert result.decision.verdict is Verdict.ASK
    assert result.consent is not None
    assert not result.consent.yes


def test_f134_hooks_see_every_file_as_a_read_of_its_own(desk: Desk) -> None:
    hook = Hook("b.py")
    result = made(desk, Person(), hook, path="a.py", lines="1", more=["b.py", "a.py:2"])
    assert hook.before_calls == [
        ("c1#1", {"path": "a.py", "lines": "1"}),
        ("c1#2", {"path": "b.py"}),
        ("c1#3", {"path": "a.py", "lines": "2"}),
    ]
    assert "[b.py]\nA hook says no. Nothing was done.\n[a.py, line 2 of 9]\n" in result.outcome.text
    told = notify_guards((hook,), result, result.outcome).text
    assert told == f"{result.outcome.text}\n[heard c1#1]\n[heard c1#2]\n[heard c1#3]"
    assert [id for id, _ in hook.after_calls] == ["c1#1", "c1#2", "c1#3"]


def test_f122_all_files_together_stay_within_one_result(desk: Desk) -> None:
    for n in range(6):
        desk.put(f"wide{n}", "".join(f"{line:03}{'y' * 196}\n" for line in range(1, 101)))
    person = Person()
    more = [*[f"wide{n}:1-100" for n in range(1, 6)], ".env"]
    outcome = made(desk, person, path="wide0", lines="1-100", more=more).outcome
    assert len(outcome.text.encode()) < BYTES + 300
    assert outcome.text.count("\n") <= LINES
    assert outcome.text.endswith(
        f"[{FULL}; not shown: wide2:56-, wide3:1-100, wide4:1-100, wide5:1-100, .env]"
    )
    assert person.asked == []  # nobody is asked about what would not be shown
    assert [*outcome.metadata["seen"]] == ["wide0", "wide1", "wide2"]
    whole = made(desk, person, path="wide0", more=["wide1", "wide2"]).outcome
    last = whole.text.split("\n")[-2]
    assert last.startswith("055y")
    assert whole.text.endswith(f"[{FULL}; not shown: wide2:56-]")
    many = desk.failing("read", path="b.py", more=["b.py"] * 20)
    assert "reads at most 20 files" in many


def test_f12_of_several_long_files_only_the_outlines_are_shown(desk: Desk) -> None:
    desk.put("long.py", "import os\n\n\ndef f():\n" + "    x = 1\n" * 400)
    outcome = desk.call("read", path="b.py", more=["long.py", "long.py:5-6"])
    assert outcome.text == (
        "[b.py]\nx = 1\n" + OUTLINE_LEAD.format(title="long.py", lines="404") + "\n"
        "4-404: def f():\n[long.py, lines 5-6 of 404]\n    x = 1\n    x = 1"
    )
    assert "\nimport os" in desk.call("read", path="long.py").text


def test_f130_a_file_that_changed_after_a_partial_read_is_stale(desk: Desk) -> None:
    outcome = desk.call("read", path="b.py", more=["a.py:2-3"])
    desk.seen = outcome.metadata["seen"]
    assert desk.seen["a.py"] == sha256("".join(f"line {n}\n" for n in range(1, 10)).encode())
    desk.put("a.py", "line 2\nelse\n")
    assert "changed" in desk.failing("edit", path="a.py", old="line 2", new="other")
    desk.call("edit", path="b.py", old="x = 1", new="x = 2")
