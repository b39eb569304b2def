"""Grants: permission answers that are remembered, for whom they count, and until when."""

from typing import Literal, TypeAlias

import msgspec

from assent.core.permission.mode import Mode

GrantScope: TypeAlias = Literal["session", "project"]


class PermissionPattern(msgspec.Struct, frozen=True):
    """What a remembered answer would cover: a permission's word and a pattern as rules have them.

    `exact`: the pattern is the very text and no wildcard in it means anything.
    """

    permission: str
    pattern: str
    exact: bool = False


class Grant(msgspec.Struct, frozen=True):
    """One remembered answer. It is never valid in plan mode, and never against a denial."""

    id: str
    reach: GrantScope
    session: str  # in which it was given; the only one where it counts, if it reaches no further
    agent: str
    mode: Mode
    patterns: tuple[PermissionPattern, ...]
    given_at: str
    question: str = ""  # to which it was the answer
    plan: str = ""  # digest of the plan of prose that was being built; it counts in no other work
    user: str = ""
    custom: str = ""  # the mode of the person's own, whose base is `mode`


class GrantGiven(msgspec.Struct, frozen=True, tag="grant_given"):
    """A user's answer is to be remembered."""

    grant: Grant


class GrantRevoked(msgspec.Struct, frozen=True, tag="grant_revoked"):
    """A remembered answer does not count any more."""

    grant: str
    user: str = ""


GrantEvent: TypeAlias = GrantGiven | GrantRevoked
