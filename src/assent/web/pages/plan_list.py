"""The plan selector: plans by session, newest first, with their state."""

from typing import Any, Final

from assent.core.plan.record import PlanState
from assent.render.rows import Row
from assent.web.api.plans import list_plans, select
from assent.web.api.sessions import list_sessions
from assent.web.pages.page import GoTo, PageCall, PageRoute, Shown, link

# With which colour each state is marked.
COLOURS: Final = {
    PlanState.AWAITING_APPROVAL: "accent",
    PlanState.EXECUTING: "accent",
    PlanState.COMPLETED: "good",
    PlanState.HALTED: "bad",
}
APPROVED: Final = ("Approved", "good")


def state_words(plan: Row) -> tuple[str, str]:
    """Returns the state of a plan's row as people read it, and its colour."""
    state = PlanState(str(plan["state"]))
    if plan["approved"] and state == PlanState.AWAITING_APPROVAL:
        return APPROVED
    return state.label, COLOURS.get(state, "")


def show_plans(call: PageCall) -> Shown:
    """Lists plans under their sessions, the session with the newest plan first."""
    workspace = call.query.get("workspace", "")
    every = call.query.get("all", "") == "yes"
    query: Row = {"workspace": workspace, "all": every}
    sessions = call.ask(list_sessions, query={"workspace": workspace})["sessions"]
    titles = {each["slug"]: each for each in sessions}
    groups: dict[str, list[Any]] = {}
    for plan in call.ask(list_plans, query=query)["plans"]:
        groups.setdefault(plan["session"] or "", []).append(plan)
    return Shown(
        "plans.html",
        {"groups": groups, "sessions": titles, "state_words": state_words, "every": every,
         "active": {each["plan_id"] for each in sessions if each["plan_id"]}},
    )  # fmt: skip


def use_plan(call: PageCall) -> GoTo:
    """Makes a plan the one that its workspace works on; the model gets a message about it."""
    call.ask(select, plan=call.path["plan"])
    return GoTo(link("/plans"))


PAGES = (
    PageRoute("GET", "/plans", show_plans),
    PageRoute("POST", "/plans/{plan}/use", use_plan),
)
