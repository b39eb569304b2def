"""`assent stage …`: stages exact operations; nothing is applied."""

import os
import re

import click

from assent.cli.input import read_chunks
from assent.cli.interrupts import interruptible
from assent.cli.invocation import Invocation, examples, with_invocation
from assent.cli.stage_import import patch, stage_from
from assent.cli.stage_run import run
from assent.core.digest import operation_ids
from assent.core.errors import UsageError
from assent.core.plan.operation import Operation
from assent.planning.drafts import Staged
from assent.render.lines import Line
from assent.render.rows import operation_row
from assent.render.status import operation_lines, operation_removed_lines

MODE = re.compile(r"(?:0o?)?[0-7]{1,4}")


@click.group(epilog=examples("echo hi | assent stage write hello.txt --from -\nassent stage list"))
def stage() -> None:
    """Stage exact operations. Nothing is applied before a person approved it."""


@stage.command(
    epilog=examples(
        "assent stage write src/hello.py --from /tmp/new.py\n"
        "echo hi | assent stage write hello.txt --from -\n"
        "assent stage write bin/tool --mode 755\n"
        "assent stage write current --link-to releases/7"
    )
)
@click.argument("path")
@click.option("--from", "source", metavar="FILE|-", help="The new content.")
@click.option("--mode", metavar="OCTAL", help="Permission bits, such as 755.")
@click.option("--link-to", metavar="TARGET", help="Make it a symlink instead.")
@with_invocation
def write(
    call: Invocation, path: str, source: str | None, mode: str | None, link_to: str | None
) -> None:
    """Stage new content, a new mode, or a symlink."""
    if (source is None and mode is None) == (link_to is None):
        raise UsageError("Give --from FILE, --mode OCTAL, or --link-to TARGET.", STAGE_HELP)
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
@click.option("--find", required=True, help="Exact text that occurs once.")
@click.option("--put", required=True, help="What takes its place.")
@with_invocation
def edit(call: Invocation, path: str, find: str, put: str) -> None:
    """Stage an exact edit of one place in a file."""
    texts = os.fsencode(find), os.fsencode(put)
    _answer_one(call, call.engine.drafts.edit(call.record(), os.fsencode(path), *texts))


@stage.command(epilog=examples("assent stage delete old.py\nassent stage delete old_folder"))
@click.argument("path")
@with_invocation
def delete(call: Invocation, path: str) -> None:
    """Stage the removal of a file, a symlink, or a folder's files."""
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
    """List what is staged."""
    operations = call.engine.drafts.operations(call.record())
    _show_several(call, list(zip(operation_ids(operations), operations, strict=True)))


@stage.command(epilog=examples("assent stage remove 3f2a9c1b"))
@click.argument("operation", metavar="OP")
@with_invocation
def remove(call: Invocation, operation: str) -> None:
    """Take one operation out of the plan, by its id or the start of it."""
    _answer_removed(call, call.engine.drafts.remove(call.record(), operation))


@stage.command(epilog=examples("assent stage clear"))
@with_invocation
def clear(call: Invocation) -> None:
    """Take every operation out of the plan."""
    _answer_removed(call, call.engine.drafts.clear(call.record()))


stage.add_command(run)
stage.add_command(patch)
stage.add_command(stage_from)

STAGE_HELP = "assent stage write --help"
UNCHANGED = "No operation was added: the file is like that already."


def _mode(text: str | None) -> int | None:
    if text is None:
        return None
    if not MODE.fullmatch(text):
        raise UsageError(f"{text!a} is no mode; write it in octal, such as 755.", STAGE_HELP)
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
    remaining = len(call.engine.drafts.operations(staged.record))
    first = {"operation": rows[0]} if len(rows) == 1 else {}
    row = {**first, "removed": rows, "operations": rows, "remaining": remaining}
    call.output.answer(row, operation_removed_lines(rows, remaining))


def _show_several(call: Invocation, operations: list[tuple[str, Operation]]) -> None:
    rows = [operation_row(name, op) for name, op in operations]
    first = {"operation": rows[0]} if len(rows) == 1 else {}
    call.output.answer({**first, "operations": rows}, operation_lines(rows))
