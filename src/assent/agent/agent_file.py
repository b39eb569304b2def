"""Keeps the plan agent's file in a workspace up to date, unless a person changed it."""

from typing import Literal, TypeAlias

from assent.core.digest import sha256
from assent.core.errors import Refused
from assent.ports import Projection

AgentFileStatus: TypeAlias = Literal["written", "updated", "current", "changed_by_person"]

# The SHA-256 of every version that was ever packaged; whoever changes the file adds its hash.
RELEASED_DIGESTS = frozenset(
    (
        "8c08a07bc7b47b49ad3f16769a6893256b9995affea59530f07d43c5d08474af",
        "ff1e91735cd9c94bda34425fe1f1d2889f70a7a3c89c029b2356cd1e815f3a7f",
    )
)


def sync_agent_file(projection: Projection, text: bytes) -> AgentFileStatus:
    """Writes the file if it is missing or an earlier version of ours; says what was found."""
    try:
        found = projection.read_agent()
    except Refused:
        return "changed_by_person"  # a symlink, say: whoever made it knows why
    if found == text:
        return "current"
    if found is not None and sha256(found) not in RELEASED_DIGESTS:
        return "changed_by_person"
    projection.write_agent(text)
    return "written" if found is None else "updated"
