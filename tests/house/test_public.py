"""The public list: what faces may call and what the world must offer; adding is conscious."""

import inspect

import pytest

from assent import ports
from assent.engine.engine import Engine
from assent.engine.plan.checkouts import Checkouts
from assent.engine.plan.comments import Comments
from assent.engine.plan.consents import Consents
from assent.engine.plan.drafts import Drafts
from assent.engine.plan.partials import Partials
from assent.engine.plan.patches import Patches
from assent.engine.plan.plans import Plans
from assent.engine.plan.readings import Readings
from assent.engine.plan.rebasing import Rebasing
from assent.engine.plan.reviews import Reviews
from assent.engine.run.commands import Commands
from assent.engine.run.keeping import Keeping
from assent.engine.run.past import Past
from assent.engine.run.runs import Runs
from assent.engine.run.undoing import Undoing
from assent.engine.session.building import Building
from assent.engine.session.facts import Facts
from assent.engine.session.grants import Grants
from assent.engine.session.questions import Questions
from assent.engine.session.sessions import Sessions
from assent.engine.session.summary import Summary
from assent.engine.shell import Shell
from assent.engine.trusts import Trusts

VERBS = {
    Engine: (
        "building checkouts close commands comments facts grants init keeping key_log log "
        "partials parts past patches permits questions readings rebasing reviews sessions "
        "status summary surroundings trusts waiting warn warnings workspace"
    ),
    Plans: (
        "all check_live delete difference discard draft find ledger live missing_notes new "
        "of_session records select sessions stamp taken_in text use waiting_notes with_notes write"
    ),
    Drafts: "clear delete edit link move operations remove run stage write",
    Consents: (
        "approve check_files check_independent check_plan decline freeze genuine is_approved "
        "proposal propose reject sign usable"
    ),
    Reviews: "approved_text drifted review show text undo_review",
    Runs: (
        "begin build building check_decided end interrupt is_prose ledger reckon recover report "
        "settle settle_under stands_still tell unfinished was_accepted"
    ),
    Sessions: (
        "all delete diary events export failure find fork halt held interrupt is_at_work last load "
        "messages modes of_plan overhear restore_todos retitle retry rewind say set_mode since "
        "spoken start todos_of transcript work work_held"
    ),
    Facts: "all forget remember",
    Building: "check events finish held is_over report start work",
    Undoing: "apply earlier preview recalled redo standing way_back",
    Shell: "run standing",
    Grants: "all batch give of revoke",
    Questions: (
        "answer call_on_record check_open elsewhere find is_open lapse pending reply_to settle"
    ),
    Commands: "interrupt left own run unseen",
    Trusts: "give revoke",
    Patches: "stage",
    Checkouts: "stage",
    Rebasing: "apply preview",
    Partials: "approve left_out preview",
    Readings: "partial record review",
    Comments: "add all anchor change part placed reject remove shown waiting",
    Summary: "turn turns",
    Past: "all find items roughly undone weighed",
    Keeping: "check collect delete limit retain",
}
DOORS = (
    "Answers Asker Batch Blobs Checked Checkout Clock Collector Commander Driver Facts Fetch "
    "Fetched Files Freed Gate Guard Hands Heard Hooks Journal Keys Locks Looks Model Opened "
    "Outside PlanFile Process Projection Rules Shell Signer Spares Store Turn"
)


@pytest.mark.parametrize("noun", VERBS, ids=lambda noun: noun.__name__)
def test_the_verbs_of_each_noun(noun: type) -> None:
    assert sorted(name for name in vars(noun) if not name.startswith("_")) == VERBS[noun].split()


def test_the_doors() -> None:
    named = inspect.getmembers(ports, inspect.isclass)
    found = [name for name, door in named if door.__module__.startswith(f"{ports.__name__}.")]
    assert found == DOORS.split()
