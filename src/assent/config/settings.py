"""Settings: every key that a configuration file may hold, with its default and its meaning."""

from typing import Literal, TypeAlias

import msgspec

from assent.core.provider import HttpSettings, ModelSettings, ProviderSettings, RetrySettings

Mode: TypeAlias = Literal["plan", "ask", "auto-edit", "yolo"]
MODES: tuple[Mode, ...] = ("plan", "ask", "auto-edit", "yolo")  # from the strictest on


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
    model: str = ""
    mode: Mode = "plan"
    providers: dict[str, ProviderSettings] = {}
    models: dict[str, ModelSettings] = {}
    retry: RetrySettings = RetrySettings()
    http: HttpSettings = HttpSettings()


USER_ONLY = ("approve", "providers", "models", "retry", "http")

# Tables with names of the user's choice: what such a name is called, and an empty one.
NAMED: dict[str, tuple[str, msgspec.Struct]] = {
    "providers": ("NAME", ProviderSettings()),
    "models": ('"PROVIDER/MODEL"', ModelSettings()),
}

MEANINGS = {
    "plan.dir": "folder of the plans, relative to the workspace",
    "approve.without_terminal": "a full --digest approves without asking on a terminal (user only)",
    "approve.expires_s": "seconds after which an unused approval is void; 0: never (user only)",
    "model": "the model as PROVIDER/MODEL, where `--model` names none",
    "mode": "plan, ask, auto-edit or yolo; a project can only make it stricter",
    "providers.NAME.base_url": "where it is, with /v1 unless it speaks anthropic (user only)",
    "providers.NAME.wire": "anthropic, chat or responses (user only)",
    "providers.NAME.headers": "more headers for every request (user only)",
    "providers.NAME.key_env": "the variable that holds the key (user only)",
    "providers.NAME.options": "more members for the body of every request (user only)",
    'models."PROVIDER/MODEL".context': "tokens that it can read; 0: as known (user only)",
    'models."PROVIDER/MODEL".output': "most tokens of an answer; 0: as known (user only)",
    'models."PROVIDER/MODEL".prices': "dollars per million tokens, as input, output, cache_read, "
    "cache_write (user only)",
    "retry.first_s": "seconds before the second try; each further one doubles them (user only)",
    "retry.max_s": "most seconds between two tries, unless the server asks for more (user only)",
    "retry.tries": "how often a request is sent at most (user only)",
    "http.idle_s": "seconds without a byte after which a connection is given up (user only)",
}
