"""git: five read-only subcommands, built from checked arguments and run like any command."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from assent.core.errors import UsageError
from assent.core.paths import display_path
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.outcome import collect_output, quote_argument, with_draft_note
from assent.tools.path_access import resolve_path
from assent.tools.tool import Tool, ToolContext

MAX_COMMITS = 200  # commits in a log
WORKTREE_SUBCOMMANDS = ("status", "diff", "blame")  # the others show commits

_REVISION = r"(?!-)[\w./~^@{}+-]+"


class GitArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: Literal["status", "log", "diff", "show", "blame"]
    path: str = ""
    rev: Annotated[str, msgspec.Meta(description="such as HEAD~2 or main..topic")] = ""
    limit: Annotated[int, msgspec.Meta(description="commits in a log")] = 20


def touches(args: GitArgs, around: ToolContext) -> Sequence[ResourceAccess]:
    requests = [ResourceAccess(Action.SHELL, _line(args, around))]
    if args.path:
        requests.append(ResourceAccess(Action.READ, _path(args, around).removeprefix("./") or "."))
    return requests


def run(args: GitArgs, around: ToolContext) -> ToolOutcome:
    outcome = collect_output(
        around.shell.run(_line(args, around), around.root), f"git {args.command}"
    )
    return with_draft_note(outcome, around) if args.command in WORKTREE_SUBCOMMANDS else outcome


def _line(args: GitArgs, around: ToolContext) -> str:
    """Returns the command line; no argument can become an option or another command."""
    if args.rev and not re.fullmatch(_REVISION, args.rev, re.ASCII):
        raise UsageError(f"{args.rev!a} is not a revision, such as HEAD~2, main..topic or a hash.")
    path, rev = _path(args, around), args.rev
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


def _path(args: GitArgs, around: ToolContext) -> str:
    """Returns the path with `./`: relative to this folder, also in commits, without git's magic."""
    return f"./{display_path(resolve_path(around, args.path))}" if args.path else ""


GIT = Tool("git", GitArgs, touches, run, action=Action.SHELL)
