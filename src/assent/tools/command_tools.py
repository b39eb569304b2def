"""The tools that run command lines: `shell`, and `git` for five read-only subcommands."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

import msgspec

from assent.core.errors import NotFound, NotReadOnly, Refused, UsageError
from assent.core.paths import display_path, one_line
from assent.core.permission.mode import PlanShell
from assent.core.shell.process import ProcessLimits
from assent.core.tool import (
    Action,
    CommandEffect,
    ResourceAccess,
    ScratchCommandEffect,
    ToolOutcome,
)
from assent.tools.files import resolve_path
from assent.tools.outcome import collect_output, quote_argument, with_draft_note
from assent.tools.tool import (
    HIDDEN_FIELD,
    PLAN_FIELD,
    PLANNING,
    OptionArgs,
    Tool,
    ToolContext,
    description,
)

# shell: runs a command line that only reads; any other is an effect. In plan mode that runs it in
# the session's scratch copy, or stages it.


MAX_READING_S = 120  # seconds of a command that only reads
EVERYTHING = "**"
NOTHING_TO_KEEP = "It only reads, so there is nothing to keep."


class ShellArgs(OptionArgs, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, msgspec.Meta(description="bash")]
    keep: Annotated[
        str | bool | list[str], PLAN_FIELD, msgspec.Meta(description="true or globs")
    ] = False
    stage: Annotated[bool, PLAN_FIELD, msgspec.Meta(description="do not run")] = False
    network: Annotated[bool, PLAN_FIELD, msgspec.Meta(description="if staged")] = False
    # It implies `stage`.
    at_end: Annotated[bool, PLAN_FIELD, msgspec.Meta(description="stage last")] = False
    folder: Annotated[str, HIDDEN_FIELD] = ""
    timeout: Annotated[float, msgspec.Meta(description="seconds")] = 0  # as many as usual
    subject: Annotated[str, HIDDEN_FIELD] = ""


def shell_touches(args: ShellArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    folder = _folder(args, context)
    line = args.command
    if folder:
        line = f"cd {quote_argument('./' + display_path(folder))} && {line}"
    runs = ResourceAccess(
        Action.SHELL,
        line,
        stage=_wants_staging(args),
        network=args.network,
        keep=bool(kept_globs(args.keep)),
    )
    return (runs, ResourceAccess(Action.READ, display_path(folder))) if folder else (runs,)


def _wants_staging(args: ShellArgs) -> bool:
    """Tells whether a call wants its command in the plan; to say where in it is to say so, too."""
    return args.stage or args.at_end


def kept_globs(keep: str | bool | list[str]) -> tuple[str, ...]:
    """Returns which changes a call wants to keep, as globs; a text may have several of them."""
    if isinstance(keep, bool):
        return (EVERYTHING,) if keep else ()
    globs = [word for word in re.split(r"[,\s]+", keep) if word] if isinstance(keep, str) else keep
    if len(globs) == 1 and globs[0].lower() in ("true", "false"):
        return kept_globs(globs[0].lower() == "true")
    return tuple(globs)


def run_shell(args: ShellArgs, context: ToolContext) -> ToolOutcome:
    folder = _folder(args, context)
    place = context.root + b"/" + folder if folder else context.root
    if context.posture.mode != "plan" and any(o.action is Action.OUTSIDE for o in context.judged):
        return _wish(
            args, folder, context
        )  # it was allowed; the shell that only reads sees nothing there
    if context.posture.mode == "plan" and _wants_staging(args):
        return _wish(args, folder, context, staged=True)
    if context.in_copy:
        effect = ScratchCommandEffect(
            args.command, folder, max(0, args.timeout), kept_globs(args.keep)
        )
        return ToolOutcome("", args.command, effect=effect)
    try:
        parts = context.shell.run(args.command, place, _limits(args))
        outcome = with_draft_note(
            collect_output(parts, args.command, args.command, is_end=True), context
        )
        if context.posture.mode != "plan" or not kept_globs(args.keep):
            return outcome
        return msgspec.structs.replace(outcome, text=f"{outcome.text}\n[{NOTHING_TO_KEEP}]")
    except NotReadOnly as refused:
        if context.posture.mode == "plan":
            message = f"{refused.message} Only read-only commands run here; nothing was run."
            raise Refused(message, refused.next) from None
        return _wish(args, folder, context)
    except Refused as refused:
        help = context.process.sandbox_status().next if refused.lacks else ""
        told = Refused(f"{refused.message} Nothing was run.", refused.next or help)
        told.lacks = refused.lacks
        raise told from None


def _limits(args: ShellArgs) -> ProcessLimits:
    """Returns the limits of a command that only reads: the call may ask for some more time."""
    usual = ProcessLimits()
    if args.timeout <= 0:
        return usual
    return msgspec.structs.replace(usual, seconds=min(args.timeout, MAX_READING_S))


def _wish(
    args: ShellArgs, folder: bytes, context: ToolContext, *, staged: bool = False
) -> ToolOutcome:
    seconds, notes = max(0, args.timeout), list[str]()
    if staged:  # better to hear now what the build would not find
        place = context.root + b"/" + folder if folder else context.root
        notes = list(context.process.visibility_notes(args.command, place))
    text = "\n".join(f"[Warning: {note}]" for note in notes)
    command = CommandEffect(args.command, folder, seconds, args.subject, args.network, args.at_end)
    return ToolOutcome(text, args.command, effect=command)


def _folder(args: ShellArgs, context: ToolContext) -> bytes:
    """Returns where the command runs; it must be a folder of the workspace on disk."""
    folder = resolve_path(context, args.folder) if args.folder else b""
    if folder and context.overlay.on_disk(folder) != "folder":
        raise NotFound(f"{one_line(folder)} is not a folder on disk. Nothing was run.")
    return folder


SHELL = Tool("shell", ShellArgs, shell_touches, run_shell, action=Action.SHELL)
# What is true of it while planning where `plan.shell` is not `rehearse`, and what is useless then.
_PLANNING: Final[Mapping[PlanShell, tuple[str, tuple[str, ...]]]] = {
    "stage": ("only read-only commands (pipes, && || ;) run; `stage` others.", ("keep",)),
    "read-only": (
        "only read-only commands (pipes, && || ;) run.",
        ("keep", "stage", "network", "at_end"),
    ),
}


def shell_tool(shell: PlanShell) -> Tool:
    """Returns the tool as a setting of `plan.shell` has it."""
    if shell not in _PLANNING:
        return SHELL
    told, withheld = _PLANNING[shell]
    general, _, _ = description(SHELL).partition(f"\n\n{PLANNING}")
    text = f"{general}\n\n{PLANNING}{told}"
    return msgspec.structs.replace(SHELL, text=text, withheld=withheld)


# git: five read-only subcommands, built from checked arguments and run like any command.


MAX_COMMITS = 200  # commits of a log
WORKTREE_SUBCOMMANDS = ("status", "diff", "blame")  # the others show commits

_REVISION = r"(?!-)[\w./~^@{}+-]+"


class GitArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[
        Literal["status", "log", "diff", "show", "blame"], msgspec.Meta(description="subcommand")
    ]
    path: Annotated[str, msgspec.Meta(description="file or folder")] = ""
    rev: Annotated[str, msgspec.Meta(description="HEAD~2 or main..topic")] = ""
    limit: Annotated[int, msgspec.Meta(description="commits in a log")] = 20


def git_touches(args: GitArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    requests = [ResourceAccess(Action.SHELL, _line(args, context))]
    if args.path:
        requests.append(ResourceAccess(Action.READ, _path(args, context).removeprefix("./") or "."))
    return requests


def run_git(args: GitArgs, context: ToolContext) -> ToolOutcome:
    outcome = collect_output(
        context.shell.run(_line(args, context), context.root), f"git {args.command}"
    )
    return with_draft_note(outcome, context) if args.command in WORKTREE_SUBCOMMANDS else outcome


def _line(args: GitArgs, context: ToolContext) -> str:
    """Returns the command line; no argument can become an option or another command."""
    if args.rev and not re.fullmatch(_REVISION, args.rev, re.ASCII):
        raise UsageError(f"{args.rev!a} is not a revision, such as HEAD~2, main..topic or a hash.")
    path, rev = _path(args, context), args.rev
    match args.command:
        case "status":
            words = ["status", "--short", "--branch"]
            rev = ""
        case "log":
            words = ["log", "-n", str(min(max(1, args.limit), MAX_COMMITS)), "--date=short"]
            words.append("--format=%h %ad %an %s")
        case "diff":
            words = ["diff", "--stat", "--patch"]
        case "show" if path:
            words, rev, path = ["show"], f"{rev or 'HEAD'}:{path}", ""
        case "show":
            words = ["show", "--stat", "--patch", "--date=short"]
        case "blame":
            words = ["blame", "--date=short"]
            if not path:
                raise UsageError("blame needs the path of a file.")
    words += [rev] if rev else []
    words += ["--", path] if path else []
    return " ".join(["git", *map(quote_argument, words)])


def _path(args: GitArgs, context: ToolContext) -> str:
    """Returns the path with `./`: relative to this folder, also in commits, without git's magic."""
    return f"./{display_path(resolve_path(context, args.path))}" if args.path else ""


GIT = Tool("git", GitArgs, git_touches, run_git, Action.SHELL, on_demand="history, blame")
