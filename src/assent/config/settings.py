"""Every setting that a configuration file may contain, with its default and its meaning."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from assent.core.llm import (
    AnswerSettings,
    HttpSettings,
    ModelSettings,
    PositiveFloat,
    ProviderSettings,
    RetrySettings,
)
from assent.core.permission.mode import CustomMode, Mode, PlanShell
from assent.core.permission.rule import RuleAction

OUTSIDE_PATH = r"^(/|~/)"
_PORT = r"(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{0,4})"
ORIGIN = rf"^((?i:https?)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:{_PORT})?/*)?$"  # or nothing

# What a number may be; none is negative, infinite or longer than a date can reach.
Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Days = Annotated[int, msgspec.Meta(ge=0, le=36_500)]
WholeSeconds = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=10**9)]  # of seconds or dollars; 0 has a meaning


class PlanSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[plan]`"""

    dir: str = ".opencode/plans"
    staging: bool = True
    export: str = ""
    suggest: bool = False
    commit: bool = False
    critic: str = ""
    shell: PlanShell = "rehearse"


class StageSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[stage]`"""

    max_file_mb: Annotated[int, msgspec.Meta(ge=1)] = 512


class ApproveSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[approve]`, only from the user's file: a project can neither approve nor make it easier."""

    without_terminal: bool = False
    expires_s: int = 0  # less than 0: at once; more than ten years count as ten
    independent: bool | tuple[str, ...] = False
    require_rehearsal: bool = False


class ServeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[serve]`, only from the user's file: what programs may do, and the server's public name.

    `public_url` is the address of a proxy in front of the server.
    """

    token_may_decide: bool = False
    public_url: Annotated[str, msgspec.Meta(pattern=ORIGIN)] = ""


class VerifySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[verify]`: how a rehearsal checks a plan; a project's commands never get the network."""

    commands: tuple[str, ...] = ()
    after_build: bool = True


class FetchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[fetch]`, only from the user's file: what a project allows could leak its secrets."""

    hosts: tuple[str, ...] = ()


class RuleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of `[[rules]]`."""

    permission: str
    action: RuleAction
    pattern: str = "*"
    reason: str = ""
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


class HookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of `[[hooks]]`: a program that runs on an event."""

    on: Literal[
        "before_tool", "after_tool", "prompt", "response", "before_write", "before_compact",
        "plan_proposed", "plan_approved", "run_finished",
    ]  # fmt: skip
    run: tuple[str, ...]
    tool: str = "*"  # names of tools, with wildcards and |
    timeout_s: PositiveFloat = 10
    confined: bool = True


class McpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[mcp.NAME]`: a server whose tools a model may call."""

    command: tuple[str, ...]
    environment: dict[str, str] = {}
    reads: dict[str, str] = {}  # tools that only read, by the digest of their schema or "*"
    timeout_s: PositiveFloat = 60
    enabled: bool = True


class PluginSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[plugins]`: Python packages whose tools a model may call."""

    enabled: tuple[str, ...] = ()  # names of entry points of the group `assent.tools`
    reads: tuple[str, ...] = ()  # tools that only read


class ModeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[modes.ID]`: a custom mode."""

    base: Mode
    label: str = ""
    tools: tuple[str, ...] | None = None
    edit: tuple[str, ...] | None = None
    prompt: str = ""


class LoopSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[loops]`"""

    warn: Count = 2
    ask: Count = 3
    block: Count = 4
    failures: Count = 3
    window: Count = 60  # calls that are remembered
    give_up: Count = 5


class BudgetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[budget]`; 0: no limit."""

    steps: Count = 0
    tokens: Count = 0
    dollars: Amount = 0
    seconds: Amount = 0
    children: Count = 20


class TaskSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[tasks]`"""

    depth: Count = 1
    together: Count = 3
    seconds: Amount = 600
    steps: Count = 60


class QuestionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[questions]`"""

    expires_s: WholeSeconds = 0
    grants_expire_s: WholeSeconds = 0


class ShellSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[shell]`"""

    unconfined: bool = False
    timeout_s: PositiveFloat = 120


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[sandbox]`, only from the user's file: a project cannot choose what its commands see."""

    show: tuple[Annotated[str, msgspec.Meta(pattern=OUTSIDE_PATH)], ...] = ()


class ScratchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[scratch]`, only from the user's file: how large copies get, and what their commands see."""

    max_mb: Annotated[int, msgspec.Meta(ge=1, le=10**12)] = 4096
    keep_days: Days = 7
    reserve_mb: Count = 512
    read: tuple[Annotated[str, msgspec.Meta(pattern=OUTSIDE_PATH)], ...] = ()


class UndoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[undo]`: what is kept for an undo; 0: no limit."""

    file_mb: Count = 16  # of one file that a command may change
    total_mb: Count = 1024  # of all of them
    files: Count = 100_000
    keep_days: Days = 0  # older runs are pruned
    keep_mb: Count = 2048  # and the oldest, where all together are larger
    spare_mb: Count = 512  # of displaced files in addition; 0 means none


class NotifySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[notify]`: how the user is notified that something waits for them."""

    way: Literal["auto", "bell", "desktop", "off"] = "auto"
    after_s: Amount = 10


class TuiSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[tui]`: the user's keys on the screen."""

    vim: bool = False


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings; a setting `a.b` is key `b` of table `[a]`."""

    plan: PlanSettings = PlanSettings()
    approve: ApproveSettings = ApproveSettings()
    serve: ServeSettings = ServeSettings()
    verify: VerifySettings = VerifySettings()
    model: str = ""
    mode: Mode = "plan"
    providers: dict[str, ProviderSettings] = {}
    models: dict[str, ModelSettings] = {}
    retry: RetrySettings = RetrySettings()
    http: HttpSettings = HttpSettings()
    fetch: FetchSettings = FetchSettings()
    format: dict[str, tuple[str, ...]] = {}
    preset: Literal["", "safe", "dev", "full"] = ""
    permission: RuleAction | dict[str, RuleAction | dict[str, RuleAction]] = {}
    rules: tuple[RuleSettings, ...] = ()
    hooks: tuple[HookSettings, ...] = ()
    mcp: dict[str, McpSettings] = {}
    plugins: PluginSettings = PluginSettings()
    modes: dict[str, CustomMode] = {}  # read one by one, so that a bad one spoils no other
    loops: LoopSettings = LoopSettings()
    budget: BudgetSettings = BudgetSettings()
    tasks: TaskSettings = TaskSettings()
    questions: QuestionSettings = QuestionSettings()
    shell: ShellSettings = ShellSettings()
    sandbox: SandboxSettings = SandboxSettings()
    scratch: ScratchSettings = ScratchSettings()
    undo: UndoSettings = UndoSettings()
    notify: NotifySettings = NotifySettings()
    tui: TuiSettings = TuiSettings()
    keys: dict[str, str] = {}  # by name; whose approvals of bundles count
    stage: StageSettings = StageSettings()
    answer: AnswerSettings = AnswerSettings()
    check: dict[str, str] = {}  # command lines by glob


# What a project's file may say only after the user trusted exactly that file,
AFTER_TRUST = (
    "providers", "models", "retry", "http", "fetch", "format", "hooks", "mcp", "plugins",
)  # fmt: skip
# and what it may not say even then: how much is asked, and how far things go.
NEVER = (
    "stage", "approve", "serve", "answer", "preset", "loops", "budget", "tasks", "questions",
    "shell", "sandbox", "scratch", "undo", "notify", "tui", "keys", "check",
)  # fmt: skip
USER_ONLY = (*AFTER_TRUST, *NEVER)
# and the settings that only the user may make in tables which projects share: one lets a plan write
# into the repository, one sends plans to another provider, one says what commands may do, and one
# whether what was built is verified.
NEVER_KEYS = ("plan.commit", "plan.critic", "plan.shell", "verify.after_build")
MAY_TURN_OFF = ("plan.commit",)  # a project may set these to false, which only restricts


def refused_keys(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns what a project's table sets and only the user may: tables and settings, by name."""
    keys = [key for key in NEVER if key in table]
    for key in NEVER_KEYS:
        name, _, last = key.partition(".")
        inner = table.get(name)
        if not isinstance(inner, dict) or last not in inner:
            continue
        if key not in MAY_TURN_OFF or inner[last] is not False:
            keys.append(key)
    return tuple(keys)


# Tables with names of the user's choice: what such a name is called, and an empty one.
NAMED: dict[str, tuple[str, msgspec.Struct]] = {
    "providers": ("NAME", ProviderSettings()),
    "models": ('"PROVIDER/MODEL"', ModelSettings()),
    "mcp": ("NAME", McpSettings(())),
    "modes": ("ID", ModeSettings("plan")),
}

# "user only": a project's never counts; "if trusted": it does once the user trusts its file.
MEANINGS = {
    "plan.dir": "folder for plans, relative to the workspace",
    "plan.staging": "false: tools that write are neither offered nor run while planning",
    "plan.export": "file that gets the plan's text as an extra operation, such as PLAN.md",
    "plan.commit": "true: a plan ends with a git commit of its changes (user only)",
    "plan.critic": "second model, as PROVIDER/MODEL, that comments on every plan that a model "
    "presents; it gets the plan's text and diffs (user only)",
    "plan.shell": "what becomes of a planning model's command that does not only read: rehearse "
    "(it runs in a scratch copy, where one can be made), stage or read-only (user only)",
    "plan.suggest": "true: outside plan mode, a model may ask to switch back to planning",
    "stage.max_file_mb": "largest input read from one file or stdin, such as `--from`, in MB "
    "(user only)",
    "approve.without_terminal": "true: a full --digest approves without asking on a terminal "
    "(user only)",
    "approve.independent": "true, or risk codes: the requester of such a plan cannot approve it "
    "(user only)",
    "approve.require_rehearsal": "true: a plan is approved only after a rehearsal passed in which "
    "your own verify.commands ran, or commands that you gave or confirmed on a terminal (user "
    "only)",
    "approve.expires_s": "seconds until an unused approval expires; 0: never (user only)",
    "serve.token_may_decide": "true: a token with the role approver may approve, build, undo, "
    "answer permissions and raise modes, as a person may (user only)",
    "serve.public_url": "address of a proxy in front of `assent serve`, such as "
    "https://assent.example; requests with its host and origin are accepted (user only)",
    "verify.commands": "command lines that show whether a plan works, for `assent rehearse` in a "
    "scratch copy; a project's count if you set none, and get no network",
    "verify.after_build": "false: on the screen, the model is not asked to verify what was built "
    "(user only)",
    "model": "default model, as PROVIDER/MODEL",
    "mode": "plan, ask, auto-edit or yolo; a project can only make it stricter",
    "providers.NAME.base_url": "base URL, with /v1 unless the wire is anthropic (if trusted)",
    "providers.NAME.wire": "protocol: anthropic, chat or responses (if trusted)",
    "providers.NAME.headers": "extra headers for every request (if trusted)",
    "providers.NAME.key_env": "environment variable with the API key (if trusted)",
    "providers.NAME.options": "extra fields for every request body (if trusted)",
    'models."PROVIDER/MODEL".context': "context size in tokens; 0: use the known value (if "
    "trusted)",
    'models."PROVIDER/MODEL".output': "maximum output tokens; 0: use the known value (if trusted)",
    'models."PROVIDER/MODEL".prices': "dollars per million tokens, as input, output, cache_read, "
    "cache_write (if trusted)",
    'models."PROVIDER/MODEL".images': "false: it cannot see images; true: it can (if trusted)",
    "retry.first_s": "seconds before the first retry; doubles with each further one (if trusted)",
    "retry.max_s": "maximum seconds between retries, unless the server asks for more (if trusted)",
    "retry.tries": "maximum attempts per request (if trusted)",
    "fetch.hosts": "hosts that can be fetched from while planning (if trusted)",
    "format": 'formatters by glob, such as "*.py" = ["ruff", "format", "-"]; each gets a '
    "file on stdin before it is staged, and its output is staged instead (if trusted)",
    "check": 'command lines by glob, such as "*.py" = "ruff check {path}"; they run in the scratch '
    "copy after a planning model staged an edit of such a file, and failures are added to its "
    "result (user only)",
    "preset": "safe, dev or full: base rules, applied before your own (user only)",
    "permission": "permissions in OpenCode's format: one action, or actions by permission and "
    "pattern; a project's allow rules apply once you trust its file",
    "rules": "rules with permission, pattern, action, reason, and examples in matches and misses",
    "hooks": "programs that run on calls, prompts, answers, changes, plans and runs (if trusted)",
    "mcp.NAME.command": "command that starts the MCP server, as a list (if trusted)",
    "mcp.NAME.environment": "environment variables for it; it inherits only a few (if trusted)",
    "mcp.NAME.reads": 'read-only tools, by the digest of their schema or "*" (if trusted)',
    "mcp.NAME.timeout_s": "seconds until a call times out (if trusted)",
    "mcp.NAME.enabled": "false: the server is not started (if trusted)",
    "plugins.enabled": "entry points of the group `assent.tools` to load (if trusted)",
    "plugins.reads": "plugin tools that are read-only (if trusted)",
    "modes.ID.base": "plan, ask, auto-edit or yolo: the mode that this one restricts",
    "modes.ID.label": "name shown instead of the id",
    "modes.ID.tools": "the only tools it offers",
    "modes.ID.edit": "globs of the only files it may change",
    "modes.ID.prompt": "text added to the agent's prompt",
    "loops.warn": "identical calls before the model is warned (user only)",
    "loops.ask": "identical calls before you are asked (user only)",
    "loops.block": "identical calls before the call is denied (user only)",
    "loops.failures": "failed answers in a row, or identical errors, before you are asked (user "
    "only)",
    "loops.window": "recent calls of a turn to compare (user only)",
    "loops.give_up": "repetitive answers in a row before the turn ends (user only)",
    "budget.steps": "maximum requests per turn before you are asked; 0: no limit (user only)",
    "budget.tokens": "maximum tokens per invocation before you are asked (user only)",
    "budget.dollars": "maximum dollars per invocation before you are asked (user only)",
    "budget.seconds": "maximum seconds per turn before you are asked (user only)",
    "budget.children": "maximum child sessions per session before you are asked (user only)",
    "tasks.depth": "maximum depth of child sessions; 1: children cannot start children (user only)",
    "tasks.together": "maximum child sessions at the same time (user only)",
    "tasks.seconds": "maximum seconds per child session (user only)",
    "tasks.steps": "maximum requests per child session (user only)",
    "questions.expires_s": "seconds until an open question counts as no; 0: never (user only)",
    "questions.grants_expire_s": "seconds until a remembered answer expires; 0: never (user only)",
    "shell.unconfined": "true: commands outside plan mode run without a sandbox (user only)",
    "shell.timeout_s": "seconds until such a command times out (user only)",
    "sandbox.show": "further files and folders that commands in the sandbox can read, as absolute "
    "paths or `~/`; secrets in them stay hidden unless named exactly (user only)",
    "scratch.max_mb": "largest size of one scratch copy, in MB; a command that exceeds it is ended "
    "(user only)",
    "scratch.keep_days": "days until an unused scratch copy is removed; 0: never (user only)",
    "scratch.reserve_mb": "free space that scratch copies leave on the disk, in MB (user only)",
    "scratch.read": "further files and folders that commands in a scratch copy can read, as "
    "absolute paths or `~/`; secrets in them stay hidden unless named exactly (user only)",
    "undo.file_mb": "largest file whose old content is saved while a command runs, in MB; 0: any "
    "(user only)",
    "undo.total_mb": "maximum content saved per command, in MB; 0: no limit (user only)",
    "undo.files": "maximum files recorded per command, not counting ignored ones; 0: no limit "
    "(user only)",
    "undo.keep_days": "days until a run can no longer be undone; 0: never (user only)",
    "undo.keep_mb": "maximum content kept for undo, in MB; 0: no limit (user only)",
    "undo.spare_mb": "maximum displaced files also kept for fast undo, in MB; 0: none (user only)",
    "notify.way": "auto, bell, desktop or off: how to notify you when something is waiting (user "
    "only)",
    "notify.after_s": "seconds after which the end of a turn notifies you, too (user only)",
    "tui.vim": "true: vim keys in the prompt of the screen (user only)",
    "keys": 'public keys by name, such as ada = "9f3c..."; their signatures are valid in '
    "bundles (user only)",
    "http.idle_s": "seconds without data until a connection times out (if trusted)",
    "answer.text_mb": "maximum text per model answer, in MB; more ends the turn (user only)",
    "answer.reasoning_mb": "maximum reasoning per answer, in MB (user only)",
    "answer.arguments_mb": "maximum arguments of all calls per answer, in MB (user only)",
    "answer.calls": "maximum calls per answer (user only)",
    "answer.events": "maximum events per answer, including keep-alives (user only)",
    "answer.total_mb": "maximum data received per answer, in MB (user only)",
}
