"""Two accounts that share one state: the second may approve what the first asked for."""

from pathlib import Path

import pytest
from tests.support.signing_host import Machine

from assent.core.errors import NotIndependent
from assent.core.event import PlanCreated


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path / "machine", "ours")
    machine.independent = True
    return machine


def test_f59_another_user_approves(machine: Machine) -> None:
    record = machine.propose({"a.txt": b"a\n"})
    with pytest.raises(NotIndependent):
        machine.opened().approvals.approve(record, record.digest, "", "test")
    machine.user = "second"
    approved = machine.opened().approvals.approve(record, record.digest, "", "test")
    assert approved.consents[-1].approval.approver.user == "second"


def test_f59_a_plan_whose_maker_nobody_knows_needs_somebody_who_is_known(machine: Machine) -> None:
    """A log of an earlier version does not say who made a plan; that is no way around it."""
    machine.user = ""
    record = machine.opened().plans.new("work", "tests", "A goal")
    (created, *_) = [e.event for e in machine.store.read_all(["plan/"])]
    assert isinstance(created, PlanCreated)
    assert (created.user, record.user) == ("", "")
    record = machine.opened().drafts.write(record, b"a.txt", [b"a\n"], None).record
    record = machine.opened().approvals.propose(record)
    machine.user = "second"
    with pytest.raises(NotIndependent):
        machine.opened().approvals.approve(record, record.digest, "", "test")


def test_f59_who_made_a_plan_is_on_record(machine: Machine) -> None:
    assert machine.opened().plans.new("work", "tests", "A goal").user == "tester"
