"""Finds the grant, an earlier answer of the user, that covers a permission check."""

from collections.abc import Sequence

from assent.core.permission.mode import custom_mode_name, default_agent
from assent.core.permission.rule import Grant, PermissionPattern, expand_home, wildcard_matches
from assent.core.tool import Decision, PermissionContext
from assent.permissions.check import PermissionCheck


def matching_grant(
    matter: PermissionCheck,
    decision: Decision,
    posture: PermissionContext,
    forms: Sequence[str],
    home: str,
) -> Grant | None:
    """Returns the remembered answer that covers a matter which would be asked about."""
    if posture.mode == "plan":
        return None
    for grant in posture.grants:
        if matter.fixed and grant.reach != "session":
            continue
        if _counts(grant, decision, posture) and any(
            _covers(pattern, matter, forms, home) for pattern in grant.patterns
        ):
            return grant
    return None


def _counts(grant: Grant, decision: Decision, posture: PermissionContext) -> bool:
    """Tells whether an answer was given for such work: by agent, mode, and plan that is built."""
    who = posture.agents[0].name if posture.agents else default_agent(posture.mode)
    here = (who, posture.mode, custom_mode_name(posture.custom))
    if (grant.agent, grant.mode, grant.custom) != here:
        return False
    if grant.plan and not posture.building:
        return False
    return bool(grant.plan) or decision.layer != "scope"


def _covers(
    pattern: PermissionPattern, matter: PermissionCheck, forms: Sequence[str], home: str
) -> bool:
    if pattern.permission != matter.request.permission:
        return False
    if pattern.exact:
        return pattern.pattern in forms or pattern.pattern == matter.whole != ""
    if matter.exact:
        return False
    wanted = expand_home(pattern.pattern, home)
    return any(wildcard_matches(form, wanted) for form in forms)
