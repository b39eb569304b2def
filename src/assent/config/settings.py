"""Every setting that a configuration file may hold, with its default and its meaning."""

from typing import Annotated, Any, Literal

import msgspec

from assent.core.llm import (
    AnswerSettings,
    HttpSettings,
    ModelSettings,
    ProviderSettings,
    RetrySettings,
)
from assent.core.permission.mode import CustomMode, Mode
from assent.core.permission.rule import RuleAction


class PlanSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[plan]`"""

    dir: str = ".opencode/plans"
    staging: bool = True
    export: str = ""
    suggest: bool = False
    commit: bool = False


class StageSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[stage]`"""

    max_file_mb: Annotated[int, msgspec.Meta(ge=1)] = 512


class ApproveSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[approve]`, from the user's file alone: a project can neither approve nor make it easier."""

    without_terminal: bool = False
    expires_s: int = 0
    independent: bool | tuple[str, ...] = False


class FetchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[fetch]`, from the user's file alone: what a project allows could carry its secrets out."""

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
        "before_tool", "after_tool", "prompt", "plan_proposed", "plan_approved", "run_finished"
    ]
    run: tuple[str, ...]
    tool: str = "*"  # names of tools, with wildcards and |
    timeout_s: float = 10
    confined: bool = True


class McpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[mcp.NAME]`: a server whose tools a model may call."""

    command: tuple[str, ...]
    environment: dict[str, str] = {}
    reads: dict[str, str] = {}  # tools that only read, by the digest of their schema or "*"
    timeout_s: float = 60
    enabled: bool = True


class PluginSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[plugins]`: Python packages whose tools a model may call."""

    enabled: tuple[str, ...] = ()  # names of entry points of the group `assent.tools`
    reads: tuple[str, ...] = ()  # tools that only read


class ModeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[modes.ID]`: a mode of one's own."""

    base: Mode
    label: str = ""
    tools: tuple[str, ...] | None = None
    edit: tuple[str, ...] | None = None
    prompt: str = ""


class LoopSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[loops]`"""

    warn: int = 2
    ask: int = 3
    block: int = 4
    failures: int = 3
    window: int = 60  # calls that are remembered
    give_up: int = 5


class BudgetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[budget]`; 0: no limit."""

    steps: int = 0
    tokens: int = 0
    dollars: float = 0
    seconds: float = 0
    children: int = 20


class TaskSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[tasks]`"""

    depth: int = 1
    together: int = 3
    seconds: float = 600
    steps: int = 60


class QuestionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[questions]`"""

    expires_s: int = 0
    grants_expire_s: int = 0


class ShellSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[shell]`"""

    unconfined: bool = False
    timeout_s: float = 120


class UndoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[undo]`: what is kept for an undo; 0: no limit."""

    file_mb: int = 16  # of one file that a command may change
    total_mb: int = 1024  # of all of them
    files: int = 100_000
    keep_days: int = 0  # runs that are older are given up
    keep_mb: int = 2048  # and the oldest, where all together are larger
    spare_mb: int = 512  # of displaced files besides, of which 0 means none


class NotifySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[notify]`: how a person is notified that something waits for them."""

    way: Literal["auto", "bell", "desktop", "off"] = "auto"
    after_s: float = 10


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
    preset: str = ""
    permission: str | dict[str, Any] = {}
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
    undo: UndoSettings = UndoSettings()
    notify: NotifySettings = NotifySettings()
    keys: dict[str, str] = {}  # by name; whose approvals of bundles count
    stage: StageSettings = StageSettings()
    answer: AnswerSettings = AnswerSettings()


# What a project's file may say only after the person trusted exactly that file,
AFTER_TRUST = (
    "providers", "models", "retry", "http", "fetch", "format", "hooks", "mcp", "plugins",
)  # fmt: skip
# and what it may not say even then: how much is asked, and how far things go.
NEVER = (
    "stage", "approve", "answer", "preset", "loops", "budget", "tasks", "questions", "shell",
    "undo", "notify", "keys",
)  # fmt: skip
USER_ONLY = (*AFTER_TRUST, *NEVER)

# Tables with names of the user's choice: what such a name is called, and an empty one.
NAMED: dict[str, tuple[str, msgspec.Struct]] = {
    "providers": ("NAME", ProviderSettings()),
    "models": ('"PROVIDER/MODEL"', ModelSettings()),
    "mcp": ("NAME", McpSettings(())),
    "modes": ("ID", ModeSettings("plan")),
}

# "user only": a project's never counts; "if trusted": it does once the person trusts its file.
MEANINGS = {
    "plan.dir": "folder of the plans, relative to the workspace",
    "plan.staging": "false: no tool that writes is offered while planning, and none is carried out",
    "plan.export": "a file that gets the plan's text as an operation of its own, such as PLAN.md",
    "plan.commit": "true: a plan ends with a git commit of what it changed (user only)",
    "plan.suggest": "true: outside plan mode a model may ask to go back to planning",
    "stage.max_file_mb": "most that is read from one file or stdin, such as `--from`, in MB "
    "(user only)",
    "approve.without_terminal": "a full --digest approves without asking on a terminal (user only)",
    "approve.independent": "true, or codes of risks: who asked for such a plan cannot approve it "
    "(user only)",
    "approve.expires_s": "seconds after which an unused approval is void; 0: never (user only)",
    "model": "the model as PROVIDER/MODEL, where `--model` names none",
    "mode": "plan, ask, auto-edit or yolo; a project can only make it stricter",
    "providers.NAME.base_url": "where it is, with /v1 unless it speaks anthropic (if trusted)",
    "providers.NAME.wire": "anthropic, chat or responses (if trusted)",
    "providers.NAME.headers": "more headers for every request (if trusted)",
    "providers.NAME.key_env": "the variable that holds the key (if trusted)",
    "providers.NAME.options": "more members for the body of every request (if trusted)",
    'models."PROVIDER/MODEL".context': "tokens that it can read; 0: as known (if trusted)",
    'models."PROVIDER/MODEL".output': "most tokens of an answer; 0: as known (if trusted)",
    'models."PROVIDER/MODEL".prices': "dollars per million tokens, as input, output, cache_read, "
    "cache_write (if trusted)",
    "retry.first_s": "seconds before the second try; each further one doubles them (if trusted)",
    "retry.max_s": "most seconds between two tries, unless the server asks for more (if trusted)",
    "retry.tries": "how often a request is sent at most (if trusted)",
    "fetch.hosts": "hosts that may be fetched from while planning (if trusted)",
    "format": 'formatters by glob, such as "*.py" = ["ruff", "format", "-"]; each gets a file on '
    "stdin before that is staged, and what it prints is staged in its place (if trusted)",
    "preset": "safe, dev or full: rules to start from, before your own (user only)",
    "permission": "a table as OpenCode has it: a word, or words by permission and pattern; what a "
    "project allows counts once you trust its file",
    "rules": "rows with permission, pattern, action, reason, and examples in matches and misses",
    "hooks": "programs that hear of calls, prompts, plans and runs (if trusted)",
    "mcp.NAME.command": "starts a server of tools, as a list of words (if trusted)",
    "mcp.NAME.environment": "variables for it; it inherits few (if trusted)",
    "mcp.NAME.reads": 'tools that only read, by the digest of their schema or "*" (if trusted)',
    "mcp.NAME.timeout_s": "seconds after which a call of it is given up (if trusted)",
    "mcp.NAME.enabled": "false: it is not started (if trusted)",
    "plugins.enabled": "entry points of the group `assent.tools` that are loaded (if trusted)",
    "plugins.reads": "tools of plugins that only read (if trusted)",
    "modes.ID.base": "plan, ask, auto-edit or yolo: the mode that this one narrows",
    "modes.ID.label": "what people read in its place",
    "modes.ID.tools": "the only tools that it has",
    "modes.ID.edit": "globs of the only files that may change in it",
    "modes.ID.prompt": "words that are added to the agent's own",
    "loops.warn": "how often the same call may come before the model is warned (user only)",
    "loops.ask": "how often before the person is asked (user only)",
    "loops.block": "how often before it is refused (user only)",
    "loops.failures": "failing answers in a row, or equal errors, before you are asked (user only)",
    "loops.window": "calls of a turn that are compared (user only)",
    "loops.give_up": "answers in a row that only repeat, before the turn ends (user only)",
    "budget.steps": "most requests of a turn before the person is asked; 0: no limit (user only)",
    "budget.tokens": "most tokens of an invocation before the person is asked (user only)",
    "budget.dollars": "most dollars of an invocation before the person is asked (user only)",
    "budget.seconds": "most seconds of a turn before the person is asked (user only)",
    "budget.children": "most children of a session before the person is asked (user only)",
    "tasks.depth": "how deep children may start children; 1: not at all (user only)",
    "tasks.together": "children at the same time (user only)",
    "tasks.seconds": "most seconds of a child (user only)",
    "tasks.steps": "most requests of a child (user only)",
    "questions.expires_s": "seconds after which an open question is a no; 0: never (user only)",
    "questions.grants_expire_s": "seconds after which a remembered answer is void; 0: never "
    "(user only)",
    "shell.unconfined": "true: commands outside plan mode run without a sandbox (user only)",
    "shell.timeout_s": "seconds after which such a command is ended (user only)",
    "undo.file_mb": "largest file whose old content is kept while a command runs, in MB; 0: any "
    "(user only)",
    "undo.total_mb": "most that is kept for one command, in MB; 0: no limit (user only)",
    "undo.files": "most files not ignored that one command has recorded; 0: no limit (user only)",
    "undo.keep_days": "days after which a run can no longer be undone; 0: for ever (user only)",
    "undo.keep_mb": "most that runs may keep for an undo, in MB; 0: no limit (user only)",
    "undo.spare_mb": "most of displaced files besides, for quick undo, in MB; 0: none (user only)",
    "notify.way": "auto, bell, desktop or off: how you hear that something waits (user only)",
    "notify.after_s": "seconds after which the end of a turn is told, too (user only)",
    "keys": 'public keys by name, such as ada = "9f3c..."; what they sign counts in bundles '
    "(user only)",
    "http.idle_s": "seconds without a byte after which a connection is given up (if trusted)",
    "answer.text_mb": "most text of one answer of a model, in MB; more ends the turn (user only)",
    "answer.reasoning_mb": "most reasoning of one answer, in MB (user only)",
    "answer.arguments_mb": "most arguments of all calls of one answer, in MB (user only)",
    "answer.calls": "most calls of one answer (user only)",
    "answer.events": "most events of one answer, keep-alives included (user only)",
    "answer.total_mb": "most that is received for one answer, in MB (user only)",
}
