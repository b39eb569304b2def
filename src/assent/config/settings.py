"""Settings: every key that a configuration file may hold, with its default and its meaning."""

import msgspec

from assent.core.mode import Mode
from assent.core.provider import HttpSettings, ModelSettings, ProviderSettings, RetrySettings


class PlanSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[plan]`"""

    dir: str = ".opencode/plans"
    staging: bool = True
    export: str = ""
    suggest: bool = False


class ApproveSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[approve]`, from the user's file alone: a project can neither approve nor make it easier."""

    without_terminal: bool = False
    expires_s: int = 0


class FetchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[fetch]`, from the user's file alone: what a project allows could carry its secrets out."""

    hosts: tuple[str, ...] = ()


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
    fetch: FetchSettings = FetchSettings()
    format: dict[str, tuple[str, ...]] = {}


USER_ONLY = ("approve", "providers", "models", "retry", "http", "fetch", "format")

# Tables with names of the user's choice: what such a name is called, and an empty one.
NAMED: dict[str, tuple[str, msgspec.Struct]] = {
    "providers": ("NAME", ProviderSettings()),
    "models": ('"PROVIDER/MODEL"', ModelSettings()),
}

MEANINGS = {
    "plan.dir": "folder of the plans, relative to the workspace",
    "plan.staging": "false: no tool that writes is offered while planning, and none is carried out",
    "plan.export": "a file that gets the plan's text as an operation of its own, such as PLAN.md",
    "plan.suggest": "true: outside plan mode a model may ask to go back to planning",
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
    "fetch.hosts": "hosts that may be fetched from while planning (user only)",
    "format": 'formatters by glob, such as "*.py" = ["ruff", "format", "-"]; each gets a file on '
    "stdin before that is staged, and what it prints is staged in its place (user only)",
    "http.idle_s": "seconds without a byte after which a connection is given up (user only)",
}
