"""Permits: made for exact bytes, from a named consent, and folded from their stream."""

import msgspec
import pytest

from assent.core.errors import DigestMismatch, Refused
from assent.core.event import Event, PermitGiven, RunEnded, RunHalted, RunResumed, StoredEvent
from assent.core.plan.operation import FileState, WriteFile
from assent.core.plan.plan import Plan
from assent.core.run.permit import Permit, PermittedPlan, permit_text, permitted, permitted_plan
from assent.core.run.permit_log import PermitLog, PermitRun, fold_permit, permit_runs

OPS = (WriteFile(b"a", None, FileState("d" * 64, 1, 0o644)),)
TEXT = permit_text("s1", "c1", "mode", "auto-edit")
PLAN = Plan(TEXT, OPS, workspace="w")
PERMIT = Permit("p1", "s1", "c1", "mode", "auto-edit", PLAN.digest, "now", 1)


def test_a_fitting_permit_makes_a_permitted_plan() -> None:
    assert permitted_plan(PERMIT, OPS, "w") == PLAN
    assert permitted(PLAN, PERMIT).plan is PLAN


def test_only_the_check_can_make_one() -> None:
    with pytest.raises(TypeError):
        PermittedPlan(PLAN, PERMIT, object())


@pytest.mark.parametrize(
    "change",
    [{"digest": "0" * 64}, {"session": "s2"}, {"call": "c2"}, {"source": "rule"}, {"detail": ""}],
)
def test_a_permit_for_anything_else_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(DigestMismatch):
        permitted(PLAN, msgspec.structs.replace(PERMIT, **change))


def test_a_permit_without_a_known_consent_is_refused() -> None:
    with pytest.raises(Refused):
        permitted(PLAN, msgspec.structs.replace(PERMIT, source="model"))


def test_words_in_a_permit_stay_on_their_line() -> None:
    text = permit_text("s1", "c1\n- consent: answer", "mode", "a\x1b[2Jb\nc")
    assert text.count(b"\n") == 6
    assert b"\x1b" not in text


def recorded(*events: Event) -> list[StoredEvent]:
    return [StoredEvent(n, "permit/w", n, "now", event) for n, event in enumerate(events, 1)]


def book(*events: Event) -> PermitLog:
    found = PermitLog()
    for one in recorded(*events):
        found = fold_permit(found, one)
    return found


GIVEN = PermitGiven(PERMIT, "r1", OPS)
RUN = PermitRun(PERMIT, "r1", OPS)


def test_the_book_knows_the_unfinished_run() -> None:
    assert book().unfinished is None
    assert book(GIVEN).unfinished == RUN
    halted = msgspec.structs.replace(RUN, halted=True)
    assert book(GIVEN, RunHalted("r1")).unfinished == halted
    assert book(GIVEN, RunHalted("r1"), RunResumed("r1", "resume")).unfinished == RUN
    done = book(GIVEN, RunEnded("r1", "done"))
    assert done.unfinished is None
    assert done == PermitLog(2, msgspec.structs.replace(RUN, outcome="done"))


def test_every_permit_with_its_end() -> None:
    other = PermitGiven(msgspec.structs.replace(PERMIT, id="p2"), "r2", OPS)
    runs = permit_runs(recorded(GIVEN, RunEnded("r1", "rolled_back"), other))
    assert [(run.run, run.outcome) for run in runs] == [("r1", "rolled_back"), ("r2", None)]


def test_other_events_are_no_part_of_it() -> None:
    with pytest.raises(AssertionError):
        book(RunEnded("r1", "done"))
