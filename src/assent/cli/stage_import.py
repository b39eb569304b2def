"""`assent stage patch` and `stage from`: stage a diff, or the changes of another folder."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from shlex import quote

import click

from assent.cli.input import argument_text, read_chunks
from assent.cli.interrupts import interruptible
from assent.cli.invocation import Invocation, examples, with_invocation
from assent.core.errors import Refused, UsageError
from assent.core.paths import MAX_FOLDERS
from assent.core.plan.record import PlanRecord
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.planning.drafts import Staged, nothing_staged
from assent.planning.folder_import import FolderImportResult
from assent.render.lines import Line, wrapped_lines
from assent.render.rows import Row, operation_row, path_fields
from assent.render.status import operation_lines

MAX_PATCH_BYTES = 512 << 20  # bytes of a patch
FILES_UNCHANGED = "No operation was added: the files are like that already."
MAX_SKIPPED_SHOWN = 20  # paths that were left out and are named to a person; --json has all
SKIP_REASONS = {
    "ignored": "ignored by .gitignore",
    "git": "git's own",
    "ours": "Assent's own",
    "deep": f"below more than {MAX_FOLDERS} folders",
    "repository": "a repository of its own",
    "odd": "neither file nor symlink",
}


@click.command(
    epilog=examples(
        "git diff --binary | assent stage patch -\nassent stage patch fix.patch\n"
        "assent stage patch fix.patch -p 0"
    )
)
@click.argument("source", metavar="FILE|-")
@click.option(
    "-p", "strip", metavar="N", type=click.IntRange(0, 99),
    help="Leave out the first N parts of each name (default: 1, or 0 if a git diff has none).",
)  # fmt: skip
@with_invocation
def patch(call: Invocation, source: str, strip: int | None) -> None:
    """Stage what a unified or git diff does, all of it or nothing.

    Its names are seen from the root of the workspace, as git writes them.
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
@click.option("--delete", is_flag=True, help="Also stage the removal of what is missing there.")
@with_invocation
def stage_from(call: Invocation, other: str, paths: tuple[str, ...], delete: bool) -> None:
    """Stage what differs in a copy of the workspace.

    A copy is another checkout, or the folder that somebody else worked in. What is ignored here,
    git's and Assent's own files and repositories in it are left out, and named.
    """
    record = call.record()
    there = quote(argument_text(other))
    with (
        interruptible(),
        nothing_staged(f"assent stage from {there}", look=f"ls -la {there}"),
        call.output.busy(f"Comparing the files with those in {other} …"),
    ):
        found = _compared(call, record, other, paths, delete=delete)
    rows = _rows(found.staged)
    skipped = [{**path_fields("path", path), "why": why} for path, why in found.skipped]
    answer: Row = {"operations": rows, "alike": found.alike, "skipped": skipped}
    call.output.answer(answer, [*_staged_lines(rows), *_skipped_lines(found.skipped)])


def _compared(
    call: Invocation, record: PlanRecord, other: str, paths: Sequence[str], *, delete: bool
) -> FolderImportResult:
    from assent.app.workspace_files import open_source_folder

    checkout = open_source_folder(call.folder, other)
    wanted = [os.fsencode(path) for path in paths]
    return call.engine.folder_import.stage(record, checkout, wanted, delete=delete)


def _read(call: Invocation, source: str) -> bytes:
    content = bytearray()
    for chunk in read_chunks(call.folder, source, call.engine.max_file):
        content += chunk
        if len(content) > MAX_PATCH_BYTES:
            raise Refused(
                f"A patch has at most {MAX_PATCH_BYTES} bytes; this has more. Nothing was staged.",
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
        yield Line(
            "plain", f"Left out: {count} that {'is' if count == 1 else 'are'} {SKIP_REASONS[why]}."
        )
    for path, why in skipped[:MAX_SKIPPED_SHOWN]:
        yield from wrapped_lines("dim", f"  {why:<10}  {visible_path(path)}")
    if len(skipped) > MAX_SKIPPED_SHOWN:
        yield Line("dim", f"  … and {len(skipped) - MAX_SKIPPED_SHOWN} more, with --json")
