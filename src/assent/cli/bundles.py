"""`assent propose --portable`, and `review`, `approve` and `build` of a FILE."""

import os
import sys
from shlex import quote
from typing import Any

from assent.app.bundles import open_bundles
from assent.cli.asking import TERMINAL, no_yes
from assent.cli.call import Call
from assent.cli.output import reader, want_color
from assent.cli.run import build_and_answer, settled
from assent.cli.source import chunks, text
from assent.cli.terminal import ask, is_there
from assent.core.digest import sha256
from assent.core.errors import CorruptFile, Declined, DigestMismatch, UsageError
from assent.core.paths import display_path
from assent.core.plan.approval import Approval
from assent.core.plan.bundle import Bundle
from assent.core.plan.bundle_format import (
    MAX_FILE_BYTES,
    approval_bytes,
    bundle_bytes,
    read_approval,
)
from assent.core.plan.record import PlanRecord
from assent.render.lines import Line
from assent.render.review import Review, review_json, review_lines
from assent.render.rows import plan_row
from assent.views.ansi import ansi
from assent.views.bundles import (
    Standing,
    approval_row,
    bundle_lines,
    bundle_row,
    consented_lines,
    packed_lines,
)

STDOUT = "-"
APART = b'{"line":"approval.1",'  # how a file with nothing but a yes begins
PLAN = b'{"line":"bundle.1",'  # how one with a plan does
NOT_DONE = "Nothing was changed."
NOTHING = "The plan has no operations, so there is nothing to apply elsewhere; no file was written."


def propose_portable(call: Call, record: PlanRecord, out: str) -> None:
    """Freezes a plan that is bound to no workspace, and writes it with all its contents."""
    if out == STDOUT and call.output.as_json:
        raise UsageError("With --json the bundle needs a file.", "assent propose --help")
    if not call.engine.drafts.operations(record):
        row = {**plan_row(record, approved=False), "outcome": "nothing"}
        call.output.answer(row, [Line("plain", NOTHING)])
        return
    record = call.engine.approvals.propose(record, portable=True)
    bundle = open_bundles(call.engine).pack(record)
    content = bundle_bytes(bundle)
    if write_file(call, out, content):
        row = {"file": out, "plan_id": bundle.origin.plan_id, "sha256": sha256(content)}
        answer = {**plan_row(record, approved=False), "bundle": {**row, "size": len(content)}}
        call.output.answer(answer, packed_lines(text(out), record.digest, len(content)))


def review_file(call: Call, file: str) -> None:
    """Shows everything that is in a bundle: who asks, who agreed, and the plan in full."""
    bundle, _ = _read(call, file)
    found, standings = _reviewed(call, bundle, file), _standings(call, bundle, file)
    if call.output.as_json:
        row = bundle_row(bundle.origin, standings)
        call.output.answer({**review_json(found), "bundle": row})
    else:
        call.output.paged([*bundle_lines(bundle.origin, standings), *review_lines(found)])


def approve_file(call: Call, file: str, digest: str, note: str, **how: Any) -> None:
    """Asks for a yes to what is in a bundle, and puts the signed answer into it."""
    out: str = how["out"] or file
    if out == STDOUT and call.output.as_json:
        raise UsageError("With --json the approval needs a file.", "assent approve --help")
    bundle, content = _read(call, file)
    _check_out(call, out, content if out == file else APART)
    bundles = open_bundles(call.engine)
    bundles.check_independent(bundle)
    bundles.check_allowed(bundle)
    channel = _consent(call, bundle, digest, file)
    if file != STDOUT and content_of(call, file) != content:
        raise DigestMismatch("The file changed while it was shown.", _command("review", file))
    approval = bundles.approve(bundle, text(note), channel, how["expires"])
    agreed = bundle_bytes(bundle.with_approval(approval))
    if write_file(call, out, agreed if out == file else approval_bytes(approval)):
        row = {"file": out, "digest": bundle.plan.digest, "approved": True}
        answer = {**row, "approval": approval_row(approval)}
        apart = f" --approval {_typed(out)}" if out != file else ""
        build = f"{_command('build', file)}{apart}"
        call.output.answer(answer, consented_lines(text(out), approval, build))


def build_file(call: Call, file: str, approval: tuple[str, ...]) -> int:
    """Applies a bundle that somebody trusted approved, by the same road as any plan."""
    bundle, content = _read(call, file)
    for name in approval:
        bundle = bundle.with_approval(_approval(call, name))
    record = open_bundles(call.engine).unfinished(bundle)
    if record is None:
        settled(call)  # files are as they should be only afterwards
        record = open_bundles(call.engine, _typed(file)).import_plan(bundle, content)
    return build_and_answer(call, record)


def _consent(call: Call, bundle: Bundle, named: str, file: str) -> str:
    """Gets a person's yes to the digest in a bundle, and returns the channel it came by (law 9)."""
    wanted = bundle.plan.digest
    if named and not wanted.startswith(named):
        told = f"The digest of the plan in it is {wanted}, not {named}."
        raise DigestMismatch(told, _command("review", file))
    if named == wanted and call.without_terminal:
        return "digest"
    if not call.no_input:
        found, standings = _reviewed(call, bundle, file), _standings(call, bundle, file)
        lines = [*bundle_lines(bundle.origin, standings), *review_lines(found, asking=True)]
        if found.digest == wanted and ask(ansi(lines, color=want_color()), wanted):
            return TERMINAL
        if is_there():
            open_bundles(call.engine).decline(bundle, TERMINAL)
    why = no_yes(call, "Not approved; nothing was changed.")
    raise Declined(why, f"{_command('approve', file)} --digest {wanted}")


def _reviewed(call: Call, bundle: Bundle, file: str) -> Review:
    counts = any(standing.counts for standing in _standings(call, bundle, file))
    return open_bundles(call.engine).review(
        bundle, _command("build" if counts else "approve", file)
    )


def _standings(call: Call, bundle: Bundle, file: str) -> list[Standing]:
    """Returns for each approval whether it counts on this machine, and if not, why."""
    bundles = open_bundles(call.engine, _typed(file))
    found = [(each, bundles.refusal(bundle, each)) for each in bundle.approvals]
    return [
        Standing(each, refused.word if refused else "", refused.message if refused else "")
        for each, refused in found
    ]


def _read(call: Call, file: str) -> tuple[Bundle, bytes]:
    content = content_of(call, file)
    try:
        return open_bundles(call.engine).read(content), content
    except CorruptFile as error:
        if content.startswith(APART):
            told = f"{_told(file)} is an approval and no plan; it goes with one. {NOT_DONE}"
            raise CorruptFile(told, f"assent build FILE --approval {_typed(file)}") from None
        raise _unusable(call, file, error) from None


def _approval(call: Call, file: str) -> Approval:
    content = content_of(call, file)
    try:
        return read_approval(content)
    except CorruptFile as error:
        if content.startswith(PLAN):
            told = f"{_told(file)} is a plan and no approval that is apart. {NOT_DONE}"
            raise CorruptFile(told, _command("review", file)) from None
        raise _unusable(call, file, error) from None


def _unusable(call: Call, file: str, error: CorruptFile) -> CorruptFile:
    told = f"{_told(file)} cannot be used. {error.message} {NOT_DONE}"
    return CorruptFile(told, f"{call.command} --help")


def content_of(call: Call, file: str) -> bytes:
    """Returns what a file holds, or stdin for `-`; of one that is far too large, the beginning."""
    pieces, size = [], 0
    for piece in chunks(call.folder, file):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_FILE_BYTES:
            break
    return b"".join(pieces)


def _check_out(call: Call, out: str, content: bytes) -> None:
    """Refuses a place where nothing could be written, before anybody is asked."""
    if out != STDOUT:
        from assent.app.export_file import check_export_path

        check_export_path(call.folder, out, content)


def write_file(call: Call, out: str, content: bytes) -> bool:
    """Writes a file; tells whether there is still something to answer on stdout."""
    if out != STDOUT:
        from assent.app.export_file import write_export

        write_export(call.folder, out, content)
        return True
    with reader():
        sys.stdout.buffer.write(content)
    return False


def _typed(file: str) -> str:
    """Returns a file as a person types it in a command; what came through a pipe has no name."""
    return "FILE" if file == STDOUT else quote(_told(file))


def _told(file: str) -> str:
    return "stdin" if file == STDOUT else display_path(os.fsencode(file))


def _command(verb: str, file: str) -> str:
    return f"assent {verb} {_typed(file)}"
