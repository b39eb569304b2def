"""Settings: every key that a configuration file may hold, with its default and its meaning."""

import msgspec


class PlanSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[plan]`"""

    dir: str = ".opencode/plans"


class ApproveSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[approve]`, from the user's file alone: a project can neither approve nor make it easier."""

    without_terminal: bool = False
    expires_s: int = 0


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings. A setting `a.b` is key `b` of table `[a]`."""

    plan: PlanSettings = PlanSettings()
    approve: ApproveSettings = ApproveSettings()


USER_ONLY = ("approve",)

MEANINGS = {
    "plan.dir": "folder of the plans, relative to the workspace",
    "approve.without_terminal": "a full --digest approves without asking on a terminal (user only)",
    "approve.expires_s": "seconds after which an unused approval is void; 0: never (user only)",
}
