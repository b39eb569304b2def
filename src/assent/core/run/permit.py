"""Permits: permission for one set of operations outside plan mode, and the plan that it covers.

A permit is not signed: it records which rule, answer, mode or plan scope allowed the call, and is
used up by the very record that gives it.
"""

from typing import Final, Literal, TypeAlias, final, get_args

import msgspec

from assent.core.errors import DigestMismatch, Refused
from assent.core.paths import one_line
from assent.core.plan.operation import FileOperation
from assent.core.plan.plan import Plan

PermitSource: TypeAlias = Literal["rule", "answer", "mode", "scope"]
# On whose authority a command runs; a model's call can never have the user's own.
CommandSource: TypeAlias = PermitSource | Literal["person"]


class Permit(msgspec.Struct, frozen=True):
    """Why one call of a session may change files: a rule, an answer, the mode, or a plan's scope.

    `build` names the run of the text plan in whose scope the call was made.
    """

    id: str
    session: str
    call: str
    source: PermitSource
    detail: str
    digest: str
    given_at: str
    turn: int = 0
    build: str = ""


def permit_text(session: str, call: str, source: PermitSource, detail: str) -> bytes:
    """Writes the text of the plan that a permit covers; the same call always gives the same."""
    told = [("session", session), ("call", call), ("consent", source), ("detail", detail)]
    lines = [f"- {name}: {one_line(words.encode())}" for name, words in told if words]
    return ("# A permitted change\n\n" + "\n".join(lines) + "\n").encode()


def permitted_plan(permit: Permit, operations: tuple[FileOperation, ...], workspace: str) -> Plan:
    """Returns the plan that a permit covers."""
    text = permit_text(permit.session, permit.call, permit.source, permit.detail)
    return Plan(text, operations, workspace=workspace)


_CHECKED: Final = object()


@final
class PermittedPlan:
    """A plan with a permit that was checked against it; only `permitted` can create one."""

    __slots__ = ("permit", "plan")

    def __init__(self, plan: Plan, permit: Permit, checked: object) -> None:
        if checked is not _CHECKED:
            raise TypeError("Only permitted() may create a PermittedPlan.")
        self.plan = plan
        self.permit = permit


def permitted(plan: Plan, permit: Permit) -> PermittedPlan:
    """Checks that a permit has a source and is for exactly these bytes (laws 1 and 2)."""
    if permit.source not in get_args(PermitSource):
        raise Refused(f"{permit.source!a} is not a valid permit source. Nothing was changed.")
    text = permit_text(permit.session, permit.call, permit.source, permit.detail)
    if permit.digest != plan.digest or plan.text != text:
        raise DigestMismatch("The permit is for another change. Nothing was changed.")
    return PermittedPlan(plan, permit, _CHECKED)
