"""`assent stage …`: stages operations, a command or its result, a diff, or a folder's changes.

Operations are exact, and nothing is applied.
"""

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

import click

from assent.app.workspace_files import open_source_folder
from assent.cli.input import read_all, read_chunks
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import WholeNumber, examples
from assent.cli.stage_result import result
from assent.cli.stdin import argument_text
from assent.cli.terminal import interruptible
from assent.core.digest import operation_ids
from assent.core.errors import Refused, UsageError
from assent.core.paths import MAX_FOLDERS
from assent.core.plan.operation import Operation, RunCommand
from assent.core.plan.record import PlanRecord
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.planning.command_operation import MAX_COMMAND_BYTES
from assent.planning.drafts import Staged, nothing_staged
from assent.planning.folder_import import FolderImportResult
from assent.render.lines import Line, wrapped_lines
from assent.render.rows import Row, operation_row, path_fields
from assent.render.status import operation_lines, operation_removed_lines

# `assent stage patch` and `stage from`: stage a diff, or the changes of another folder.


MAX_PATCH_BYTES = 512 << 20  # bytes of a patch
FILES_UNCHANGED = "Nothing staged: the files already match."
MAX_SKIPPED_SHOWN = 20  # paths that were left out and are named to a person; --json has all
SKIP_REASONS = {
    "ignored": "ignored by .gitignore",
    "git": "git files",
    "ours": "Assent files",
    "deep": f"nested more than {MAX_FOLDERS} folders deep",
    "repository": "a separate repository",
    "odd": "not a file or symlink",
}


@click.command(
    epilog=examples(
        "git diff --binary | assent stage patch -\nassent stage patch fix.patch\n"
        "assent stage patch fix.patch -p 0"
    )
)
@click.argument("source", metavar="FILE|-")
@click.option(
    "-p", "strip", metavar="N", type=WholeNumber(0, 99),
    help="Strip N leading path components (default: 1, or 0 for a git diff without prefixes).",
)  # fmt: skip
@with_invocation
def patch(call: Invocation, source: str, strip: int | None) -> None:
    """Stage a unified or git diff, all of it or nothing.

    Paths are relative to the workspace root, as git writes them.
    """
    with interruptible():
        found = call.engine.patches.stage(call.record(), _read(call, source), strip)
    rows = _rows(found.staged)
    notes = [line for note in found.notes for line in wrapped_lines("dim", visible_line(note))]
    answer: Row = {"operations": rows, "notes": list(found.notes)}
    call.output.answer(answer, [*_staged_lines(rows), *notes])


@click.command(
    "from",
    epilog=examples(
        "assent stage from ../agent-copy\nassent stage from ../agent-copy --delete src tests"
    ),
)
@click.argument("other", metavar="DIR")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--delete", is_flag=True, help="Also stage deletion of files missing in DIR.")
@with_invocation
def stage_from(call: Invocation, other: str, paths: tuple[str, ...], delete: bool) -> None:
    """Stage what differs in a copy of the workspace.

    A copy is another checkout, or a folder that another tool worked in. Ignored files, git's and
    Assent's own files and nested repositories are skipped and listed.
    """
    record = call.record()
    there = quote(argument_text(other))
    with (
        interruptible(),
        nothing_staged(f"assent stage from {there}", look=f"ls -la {there}"),
        call.output.busy(f"Comparing with the files in {other} …"),
    ):
        found = _compared(call, record, other, paths, delete=delete)
    rows = _rows(found.staged)
    skipped = [{**path_fields("path", path), "why": why} for path, why in found.skipped]
    answer: Row = {"operations": rows, "alike": found.alike, "skipped": skipped}
    call.output.answer(answer, [*_staged_lines(rows), *_skipped_lines(found.skipped)])


def _compared(
    call: Invocation, record: PlanRecord, other: str, paths: Sequence[str], *, delete: bool
) -> FolderImportResult:
    checkout = open_source_folder(call.folder, other)
    wanted = [os.fsencode(path) for path in paths]
    return call.engine.folder_import.stage(record, checkout, wanted, delete=delete)


def _read(call: Invocation, source: str) -> bytes:
    content = bytearray()
    for chunk in read_chunks(call.folder, source, call.engine.max_file):
        content += chunk
        if len(content) > MAX_PATCH_BYTES:
            raise Refused(
                f"The patch is larger than {MAX_PATCH_BYTES} bytes. Nothing was staged.",
                "assent stage patch --help",
            )
    if not content:
        raise UsageError("The patch is empty. Nothing was staged.", "git diff --binary")
    return bytes(content)


def _rows(staged: Staged) -> list[Row]:
    return [operation_row(name, op) for name, op in staged.added]


def _staged_lines(rows: Sequence[Row]) -> Iterator[Line]:
    return operation_lines(rows) if rows else iter((Line("plain", FILES_UNCHANGED),))


def _skipped_lines(skipped: Sequence[tuple[bytes, str]]) -> Iterator[Line]:
    """Says what was left out, by reason, and names the first of it."""
    for why, count in sorted(Counter(why for _, why in skipped).items()):
        yield Line("plain", f"Skipped {count}: {SKIP_REASONS[why]}.")
    for path, why in skipped[:MAX_SKIPPED_SHOWN]:
        yield from wrapped_lines("dim", f"  {why:<10}  {visible_path(path)}")
    if len(skipped) > MAX_SKIPPED_SHOWN:
        yield Line("dim", f"  … and {len(skipped) - MAX_SKIPPED_SHOWN} more; --json lists all")


# `assent stage run`: stages a command as an operation that the build runs.


HELP = "assent stage run --help"
# Words of such characters mean the same to a shell as to us; all else is left to `sh -c`.
_PLAIN = re.compile(r"[\w\s@%+=:,./'\"-]*")
_ASSIGNMENT = re.compile(r"\s*[A-Za-z_]\w*=")


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog=examples(
        "assent stage run -- make test\n"
        "assent stage run --env CI=1 --env LANG=C -- make test\n"
        "assent stage run --at-end -- make test\n"
        "assent stage run --cwd web --network --timeout 600 -- npm ci\n"
        "assent stage run --script 'sort -u words.txt > sorted && mv sorted words.txt'\n"
        "assent stage run --script @migrate.sh --undo 'sh migrate.sh --down'"
    ),
)
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="-- ARGV...")
@click.option(
    "--script",
    metavar="TEXT|@FILE|-",
    help="Script for `sh` instead of ARGV, from text, a file or stdin.",
)
@click.option("--cwd", metavar="DIR", default=".", help="Folder to run the command in.")
@click.option(
    "--timeout", metavar="SECONDS", type=WholeNumber(), default=RunCommand().timeout,
    show_default=True, help="Time limit in seconds.",
)  # fmt: skip
@click.option("--env", metavar="K=V", multiple=True, help="Environment variable; can be repeated.")
@click.option("--network", is_flag=True, help="Allow network access.")
@click.option(
    "--undo", metavar="CMD", help="Command that undoes it; with shell operators it runs in sh."
)
@click.option("--no-sandbox", is_flag=True, help="Run it without the sandbox.")
@click.option("--at-end", is_flag=True, help="Keep it after everything that is staged later.")
@with_invocation
def run(call: Invocation, argv: tuple[str, ...], script: str | None, cwd: str, **how: Any) -> None:
    """Stage a command that runs as part of the build.

    It runs after everything staged before it, and with --at-end after everything staged later. In
    the sandbox it can write to the workspace, except git's and Assent's own files, and has no
    network unless you allow it. It is stopped above 8 GiB of memory, 1024 processes or 1 GiB of
    output. If it fails, the build stops and lists your options.
    """
    command = RunCommand(
        tuple(map(os.fsencode, argv)),
        b"" if script is None else _script(call.folder, script),
        b"",
        tuple(map(_variable, how["env"])),
        how["timeout"],
        how["network"],
        () if how["undo"] is None else _undo(how["undo"]),
        "unconfined" if how["no_sandbox"] else "workspace",
    )
    drafts, folder = call.engine.drafts, os.fsencode(cwd)
    staged = drafts.run(call.record(), command, folder, at_end=how["at_end"])
    rows = [operation_row(name, op) for name, op in staged.added]
    call.output.answer({"operation": rows[0]}, operation_lines(rows))


def _script(folder: str, given: str) -> bytes:
    """Returns a script as it was typed, or as a file or stdin has it."""
    if given == "-" or given.startswith("@"):
        return read_all(folder, given.removeprefix("@"), MAX_COMMAND_BYTES)
    return os.fsencode(given)


def _variable(given: str) -> tuple[bytes, bytes]:
    name, sign, value = os.fsencode(given).partition(b"=")
    if not sign:
        raise UsageError(f"{given!a} is not a variable; use NAME=VALUE.", HELP)
    return name, value


def _undo(given: str) -> tuple[bytes, ...]:
    """Splits a command into words as a shell would; one with operators is left to `sh -c`."""
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise UsageError(f"--undo {given!a} cannot be parsed: {error}.", HELP) from error
    if not words:
        raise UsageError("The --undo command is empty.", HELP)
    plain = _PLAIN.fullmatch(given) and not _ASSIGNMENT.match(given) and "\n" not in given
    return tuple(map(os.fsencode, words if plain else ("sh", "-c", given)))


MODE = re.compile(r"(?:0o?)?[0-7]{1,4}")


@click.group(epilog=examples("echo hi | assent stage write hello.txt --from -\nassent stage list"))
def stage() -> None:
    """Stage exact file changes and commands. Nothing is applied until you approve it."""


@stage.command(
    epilog=examples(
        "assent stage write src/hello.py --from /tmp/new.py\n"
        "echo hi | assent stage write hello.txt --from -\n"
        "assent stage write bin/tool --mode 755\n"
        "assent stage write current --link-to releases/7"
    )
)
@click.argument("path")
@click.option("--from", "source", metavar="FILE|-", help="File with the new content; - is stdin.")
@click.option("--mode", metavar="OCTAL", help="Permission bits, such as 755.")
@click.option("--link-to", metavar="TARGET", help="Create a symlink instead.")
@with_invocation
def write(
    call: Invocation, path: str, source: str | None, mode: str | None, link_to: str | None
) -> None:
    """Stage new content, a new mode, or a symlink."""
    if (source is None and mode is None) == (link_to is None):
        raise UsageError("Pass --from FILE, --mode OCTAL, or --link-to TARGET.", STAGE_HELP)
    drafts, record, target = call.engine.drafts, call.record(), os.fsencode(path)
    if link_to is not None:
        _answer_one(call, drafts.link(record, target, os.fsencode(link_to)))
        return
    content = None if source is None else read_chunks(call.folder, source, call.engine.max_file)
    with interruptible():
        staged = drafts.write(record, target, content, _mode(mode))
    _answer_one(call, staged)


@stage.command(epilog=examples("assent stage edit src/a.py --find 'x = 1' --put 'x = 2'"))
@click.argument("path")
@click.option("--find", required=True, help="Exact text to replace; must occur once.")
@click.option("--put", required=True, help="Replacement text.")
@with_invocation
def edit(call: Invocation, path: str, find: str, put: str) -> None:
    """Stage one exact edit in a file."""
    texts = os.fsencode(find), os.fsencode(put)
    _answer_one(call, call.engine.drafts.edit(call.record(), os.fsencode(path), *texts))


@stage.command(epilog=examples("assent stage delete old.py\nassent stage delete old_folder"))
@click.argument("path")
@with_invocation
def delete(call: Invocation, path: str) -> None:
    """Stage deletion of a file, a symlink, or a folder's files."""
    _answer_several(call, call.engine.drafts.delete(call.record(), os.fsencode(path)))


@stage.command(epilog=examples("assent stage move a.py b.py\nassent stage move README readme"))
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@with_invocation
def move(call: Invocation, source: str, target: str) -> None:
    """Stage a rename of a file, a symlink, or a folder's files."""
    names = os.fsencode(source), os.fsencode(target)
    _answer_several(call, call.engine.drafts.move(call.record(), *names))


@stage.command("list", epilog=examples("assent stage list\nassent stage list --json"))
@with_invocation
def list_operations(call: Invocation) -> None:
    """List staged operations."""
    operations = call.engine.plans.operations(call.record())
    _show_several(call, list(zip(operation_ids(operations), operations, strict=True)))


@stage.command(epilog=examples("assent stage remove 3f2a9c1b"))
@click.argument("operation", metavar="OP")
@with_invocation
def remove(call: Invocation, operation: str) -> None:
    """Remove one operation from the plan, by its id or the start of it."""
    _answer_removed(call, call.engine.drafts.remove(call.record(), operation))


@stage.command(epilog=examples("assent stage clear"))
@with_invocation
def clear(call: Invocation) -> None:
    """Remove all operations from the plan."""
    _answer_removed(call, call.engine.drafts.clear(call.record()))


stage.add_command(run)
stage.add_command(patch)
stage.add_command(stage_from)
stage.add_command(result)

STAGE_HELP = "assent stage write --help"
UNCHANGED = "Nothing staged: the file already matches."


def _mode(text: str | None) -> int | None:
    if text is None:
        return None
    if not MODE.fullmatch(text):
        raise UsageError(f"{text!a} is not a file mode; use octal, such as 755.", STAGE_HELP)
    return int(text, 8)


def _answer_one(call: Invocation, staged: Staged) -> None:
    if not staged.added:
        call.output.answer({"operation": None}, [Line("plain", UNCHANGED)])
        return
    rows = [operation_row(name, op) for name, op in staged.added]
    more = {"operations": rows} if len(rows) > 1 else {}
    call.output.answer({"operation": rows[0], **more}, operation_lines(rows))


def _answer_several(call: Invocation, staged: Staged) -> None:
    _show_several(call, list(staged.added))


def _answer_removed(call: Invocation, staged: Staged) -> None:
    """Says what is not staged any more, and how much still is."""
    rows = [operation_row(name, op) for name, op in staged.removed]
    remaining = len(call.engine.plans.operations(staged.record))
    first = {"operation": rows[0]} if len(rows) == 1 else {}
    row = {**first, "removed": rows, "operations": rows, "remaining": remaining}
    call.output.answer(row, operation_removed_lines(rows, remaining))


def _show_several(call: Invocation, operations: list[tuple[str, Operation]]) -> None:
    rows = [operation_row(name, op) for name, op in operations]
    first = {"operation": rows[0]} if len(rows) == 1 else {}
    call.output.answer({**first, "operations": rows}, operation_lines(rows))
