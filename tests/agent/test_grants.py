"""Grants: a yes that is remembered is shown and confirmed first, counts narrowly, and goes away."""

from pathlib import Path

import msgspec
import pytest
from tests.support.engine import RacingStore, World
from tests.support.pending_questions import Booth, on_disk, shell
from tests.support.session import Answers, Person

from assent.core.errors import NotFound
from assent.core.permission.mode import MODES, Mode
from assent.core.permission.rule import Grant, GrantGiven, GrantRevoked, PermissionPattern
from assent.core.session.event import QuestionAnswered
from assent.core.session.question import (
    NO,
    PROJECT,
    SESSION,
    YES,
    PermissionAnswer,
    permission_options,
)
from assent.store.sqlite import SqliteEventStore

CALL = shell("c1")
STATUSES = PermissionPattern("bash", "git status *")
FOR_SESSION: Answers = ((SESSION,),)
FOR_PROJECT: Answers = ((PROJECT,),)
RIGHT: Answers = ((YES,),)


@pytest.fixture
def booth(world: World, tmp_path: Path) -> Booth:
    booth = Booth(on_disk(world, tmp_path))
    booth.step(CALL)
    return booth


def given(booth: Booth, answer: Answers = FOR_SESSION) -> Grant:
    booth.ask(CALL, Person(answer, RIGHT))
    [grant] = booth.engine.grants.all()
    return grant


def of(
    booth: Booth, agent: str = "build", mode: Mode = "ask", custom: str = "", **more: int | str
) -> list[str]:
    who = (agent, mode, custom)
    found = booth.world.engine().grants.of(booth.record, who, **more)  # type: ignore[arg-type]
    return [grant.id for grant in found]


def test_f81_what_is_to_be_remembered_is_shown_and_confirmed(booth: Booth) -> None:
    person = Person(FOR_SESSION, RIGHT)
    consent = booth.ask(CALL, person)
    [grant] = booth.engine.grants.all()
    first, second = person.asked
    assert first[0].options == permission_options((STATUSES,), command=True)
    assert second[0].question == (
        "From now on, shell `git status *` will be allowed without asking for agent build in ask "
        "mode, in this session, until you revoke it with "
        f"`assent rules revoke {grant.id}`. Confirm?"
    )
    assert isinstance(consent, PermissionAnswer)
    assert consent == PermissionAnswer(
        yes=True, reach="session", question=grant.question, grant=grant.id
    )
    assert grant == Grant(
        grant.id, "session", booth.session, "build", "ask", (STATUSES,),
        booth.world.clock.now(), consent.question, "", "tester (session)",
    )  # fmt: skip


@pytest.mark.parametrize(
    "confirmed", [((NO,),), ((),), (("Hm",),), ((SESSION,),), None, ((YES,), (YES,))]
)
def test_f81_without_the_confirmation_nothing_is_remembered(
    booth: Booth, confirmed: Answers
) -> None:
    consent = booth.ask(CALL, Person(FOR_SESSION, confirmed))
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, booth.engine.grants.all()) == (False, ())


def test_f81_who_does_not_confirm_is_asked_again(booth: Booth) -> None:
    consent = booth.ask(CALL, Person(FOR_PROJECT, ((NO,),), ((YES,),)))
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, consent.reach, booth.engine.grants.all()) == (True, "", ())


def test_f81_nobody_chooses_for_ever(booth: Booth) -> None:
    person = Person(*[FOR_PROJECT, ((NO,),)] * 9)
    consent = booth.ask(CALL, person)
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, len(person.asked)) == (False, 6)


def test_f82_a_yes_for_the_session_counts_there_alone_also_after_a_restart(booth: Booth) -> None:
    grant = given(booth)
    assert of(booth) == of(booth.again()) == [grant.id]
    assert of(Booth(booth.world)) == []


def test_f82_a_yes_for_the_project_counts_in_every_session(booth: Booth) -> None:
    grant = given(booth, FOR_PROJECT)
    assert of(booth) == of(Booth(booth.world)) == [grant.id]


def test_f82_a_grant_is_keyed_to_agent_mode_and_work_and_never_counts_while_planning(
    booth: Booth,
) -> None:
    grant = given(booth, FOR_PROJECT)
    booth.engine.grants.give(msgspec.structs.replace(grant, id="forged", mode="plan"))
    assert {mode: of(booth, mode=mode) for mode in MODES} == {
        "plan": [],
        "ask": [grant.id],
        "auto-edit": [],
        "yolo": [],
    }
    assert of(booth, "explore") == []
    assert of(booth, custom="careful") == []
    assert of(booth, plan="digest") == []


def test_f82_a_yes_while_planning_cannot_be_remembered(world: World, tmp_path: Path) -> None:
    booth = Booth(on_disk(world, tmp_path), mode="plan")
    booth.step(CALL)
    person = Person(FOR_SESSION, RIGHT)
    consent = booth.ask(CALL, person)
    [[question]] = person.asked
    assert ([option.label for option in question.options], question.always) == ([YES, NO], ())
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, booth.engine.grants.all()) == (False, ())


def test_grants_expire_if_the_person_wants_that(booth: Booth) -> None:
    grant = given(booth, FOR_PROJECT)
    booth.world.clock.hour += 2
    assert of(booth) == of(booth, expires_s=3 * 3600) == [grant.id]
    assert of(booth, expires_s=2 * 3600) == of(booth, expires_s=3600) == []


def test_f83_a_grant_is_listed_with_its_origin_and_revoked_at_once(booth: Booth) -> None:
    grant = given(booth, FOR_PROJECT)
    watching = booth.world.engine().grants
    who: tuple[str, Mode, str] = ("build", "ask", "")
    assert [one.id for one in watching.of(booth.record, who)] == [grant.id]
    assert booth.world.engine().grants.revoke(grant.id[:12]) == grant
    assert watching.of(booth.record, who) == ()
    assert booth.engine.grants.all() == ()
    assert of(booth.again()) == []
    [last] = booth.world.store.read(f"grant/{booth.record.workspace}", 1)
    assert last.event == GrantRevoked(grant.id, "tester")


@pytest.mark.parametrize("reference", ["", "nothing", "0"])
def test_f83_what_names_no_single_grant_revokes_none(booth: Booth, reference: str) -> None:
    grant = given(booth, FOR_PROJECT)
    booth.engine.grants.give(msgspec.structs.replace(grant, id="0other"))
    with pytest.raises(NotFound) as refused:
        booth.engine.grants.revoke(reference)
    assert refused.value.next == "assent rules list"
    assert len(booth.engine.grants.all()) == 2


def test_a_grant_and_the_answer_that_it_comes_from_are_one_step(booth: Booth) -> None:
    """Somebody else gives another one just then: both count, and nothing is half done."""
    world = booth.world
    other = Grant("other", "project", "s", "build", "ask", (STATUSES,), "2026")

    def act() -> None:
        booth.engine.grants.give(other)

    inner = world.store
    world.store = RacingStore(inner, GrantGiven, act)
    racing = booth.again()
    world.store = inner
    racing.ask(CALL, Person(FOR_SESSION, RIGHT))
    first, second = racing.engine.grants.all()
    assert first == other
    [answered] = [e for e in booth.events() if isinstance(e, QuestionAnswered)]
    assert (answered.answers, answered.grant) == (((SESSION,),), second.id)


def test_a_damaged_head_is_no_loss(booth: Booth, tmp_path: Path) -> None:
    grant = given(booth, FOR_PROJECT)
    world = booth.world
    stream = f"grant/{booth.record.workspace}"

    class Damaged(SqliteEventStore):
        def head(self, name: str) -> tuple[int, bytes] | None:
            return (1, b"{") if name == stream else super().head(name)

    world.store.close()
    world.store = Damaged(tmp_path / "log.db")
    assert world.engine().grants.all() == (grant,)
