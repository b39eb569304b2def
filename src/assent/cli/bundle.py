"""`assent propose --portable`, and `review`, `approve` and `build` of a bundle FILE.

They show who requested it, who approved it with which key, and whether that counts.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

import msgspec

from assent.app.exports import check_export_path, write_export
from assent.cli.approval_prompt import TERMINAL, not_approved_text
from assent.cli.input import read_chunks
from assent.cli.invocation import Invocation
from assent.cli.output import ignore_closed_stdout, want_color
from assent.cli.pager import ask_after_review, highlighter, print_paged
from assent.cli.run_driver import build_and_answer, recover_first
from assent.cli.stdin import argument_text
from assent.cli.terminal import has_terminal
from assent.core.digest import sha256
from assent.core.errors import CorruptFile, Declined, DigestMismatch, UsageError
from assent.core.paths import display_path
from assent.core.plan.approval import Approval
from assent.core.plan.bundle import (
    MAX_FILE_BYTES,
    Bundle,
    BundleOrigin,
    approval_bytes,
    bundle_bytes,
    read_approval,
)
from assent.core.plan.record import PlanRecord
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, counted, table_lines, wrapped_lines
from assent.render.review import Review, review_end_lines, review_json, review_lines
from assent.render.rows import Row, plan_row

# Renders a bundle: who requested it, who approved it with which key, and if that counts.


class BundleApproval(msgspec.Struct, frozen=True):
    """An approval in a bundle, and why it does not count here, if it does not."""

    approval: Approval
    word: str = ""
    why: str = ""

    @property
    def counts(self) -> bool:
        return not self.word


def bundle_row(origin: BundleOrigin, standings: Sequence[BundleApproval]) -> Row:
    """Returns who asks for a bundle and who agreed, as JSON shows it."""
    approvals = [
        {**approval_row(each.approval), "counts": each.counts, "why": each.word or None}
        for each in standings
    ]
    return {
        "plan_id": origin.plan_id,
        "requested_at": origin.requested_at,
        "requester": {"user": origin.user, "key": origin.key},
        "approvals": approvals,
    }


def approval_row(approval: Approval) -> Row:
    """Returns an approval as JSON shows it."""
    return {
        "id": approval.id,
        "user": approval.approver.user,
        "channel": approval.approver.channel,
        "key": approval.key,
        "note": approval.note,
        "approved_at": approval.approved_at,
        "expires_at": approval.expires_at or None,
    }


def bundle_lines(origin: BundleOrigin, standings: Sequence[BundleApproval]) -> Iterator[Line]:
    """Renders who asks for a plan that came from elsewhere, and each yes that came with it."""
    yield Line("heading", "Plan from a bundle")
    yield from table_lines(
        "plain",
        [
            ("requested by", visible_line(origin.user)),
            ("with key", visible_line(origin.key)),
            ("at", visible_line(origin.requested_at)),
        ],
    )
    for each in standings:
        yield from _approval_lines(each)
    if not standings:
        yield Line("plain", "This plan is not approved.")
    yield BLANK


def bundle_written_lines(file: str, digest: str, size: int) -> Iterator[Line]:
    """Renders what was written, and where it goes from there."""
    name = visible_line(file)
    yield Line("plain", f"Wrote {name} ({counted(size, 'byte')}): the plan with all file contents.")
    yield Line("digest", f"Digest: {digest}")
    yield Line("plain", f"Next, on the approver's machine: assent approve {quote(name)}")


def bundle_approved_lines(file: str, approval: Approval, build: str) -> Iterator[Line]:
    """Renders a portable approval: where it is, which key signed it, and how long it is valid."""
    name = visible_line(file)
    yield Line("plain", f"Approved. Signed approval written to {name}")
    yield from table_lines(
        "plain",
        [
            ("digest", visible_line(approval.digest)),
            ("key", visible_line(approval.key)),
            ("expires", visible_line(approval.expires_at) or "never"),
        ],
    )
    yield Line("plain", f"Next, on the machine that builds it: {visible_line(build)}")


def _approval_lines(standing: BundleApproval) -> Iterator[Line]:
    yes = standing.approval
    who = f"{visible_line(yes.approver.user)} ({visible_line(yes.approver.channel)})"
    until = f", until {visible_line(yes.expires_at)}" if yes.expires_at else ""
    note = f": {visible_line(yes.note)}" if yes.note else ""
    when = visible_line(yes.approved_at)
    yield from wrapped_lines("plain", f"Approved by {who} at {when}{until}{note}")
    if standing.counts:
        yield Line("plain", f"  with key {visible_line(yes.key)}, valid here.")
    else:
        yield from wrapped_lines("risk", f"  Not valid here. {visible_line(standing.why)}")


STDOUT = "-"
APPROVAL_PREFIX = b'{"line":"approval.1",'  # how a file with nothing but an approval begins
BUNDLE_PREFIX = b'{"line":"bundle.1",'  # how one with a plan does
NOT_DONE = "Nothing was changed."
NOTHING = "The plan has no operations, so there is nothing to bundle; no file was written."


def propose_portable(call: Invocation, record: PlanRecord, out: str) -> None:
    """Freezes a plan that is bound to no workspace, and writes it with all its contents."""
    if out == STDOUT and call.output.as_json:
        raise UsageError("With --json, the bundle must go to a file.", "assent propose --help")
    if not call.engine.plans.operations(record):
        row = {**plan_row(record, approved=False), "outcome": "nothing"}
        call.output.answer(row, [Line("plain", NOTHING)])
        return
    record = call.engine.approvals.propose(record, portable=True)
    bundle = call.engine.bundles().pack(record)
    content = bundle_bytes(bundle)
    if write_file(call, out, content):
        row = {"file": out, "plan_id": bundle.origin.plan_id, "sha256": sha256(content)}
        answer = {**plan_row(record, approved=False), "bundle": {**row, "size": len(content)}}
        call.output.answer(
            answer, bundle_written_lines(argument_text(out), record.digest, len(content))
        )


def review_file(call: Invocation, file: str) -> None:
    """Shows everything that is in a bundle: who asks, who agreed, and the plan in full."""
    bundle, _ = _read(call, file)
    found, standings = _reviewed(call, bundle, file), _standings(call, bundle, file)
    if call.output.as_json:
        row = bundle_row(bundle.origin, standings)
        call.output.answer({**review_json(found), "bundle": row})
    else:
        colors = highlighter(in_color=call.output.in_color)
        lines = [*bundle_lines(bundle.origin, standings), *review_lines(found, colors=colors)]
        print_paged(call.output, lines, folder=call.folder)


def approve_file(call: Invocation, file: str, digest: str, note: str, **how: Any) -> None:
    """Asks for approval of the plan in a bundle, and writes the signed approval."""
    out: str = how["out"] or file
    if out == STDOUT and call.output.as_json:
        raise UsageError("With --json, the approval must go to a file.", "assent approve --help")
    bundle, content = _read(call, file)
    _check_out(call, out, content if out == file else APPROVAL_PREFIX)
    bundles = call.engine.bundles()
    bundles.check_independent(bundle)
    bundles.check_allowed(bundle)
    channel = _consent(call, bundle, digest, file)
    if file != STDOUT and content_of(call, file) != content:
        raise DigestMismatch(
            "The file changed during the review. Nothing was approved.", _command("review", file)
        )
    approval = bundles.approve(bundle, argument_text(note), channel, how["expires"])
    agreed = bundle_bytes(bundle.with_approval(approval))
    if write_file(call, out, agreed if out == file else approval_bytes(approval)):
        row = {"file": out, "digest": bundle.plan.digest, "approved": True}
        answer = {**row, "approval": approval_row(approval)}
        apart = f" --approval {_typed(out)}" if out != file else ""
        build = f"{_command('build', file)}{apart}"
        call.output.answer(answer, bundle_approved_lines(argument_text(out), approval, build))


def build_file(call: Invocation, file: str, approval: tuple[str, ...]) -> int:
    """Applies a bundle that a trusted key approved, in the same way as any plan."""
    bundle, content = _read(call, file)
    for name in approval:
        bundle = bundle.with_approval(_approval(call, name))
    record = call.engine.bundles().unfinished(bundle)
    if record is None:
        recover_first(call)  # files are as they should be only afterwards
        record = call.engine.bundles(_typed(file)).import_plan(bundle, content)
    return build_and_answer(call, record)


def _consent(call: Invocation, bundle: Bundle, named: str, file: str) -> str:
    """Gets the user's approval of a bundle's digest; returns the channel it came by (law 9)."""
    wanted = bundle.plan.digest
    if named and not wanted.startswith(named):
        told = f"The digest of the plan in this bundle is {wanted}, not {named}."
        raise DigestMismatch(told, _command("review", file))
    if named == wanted and call.without_terminal:
        return "digest"
    if not call.no_input:
        found, standings = _reviewed(call, bundle, file), _standings(call, bundle, file)
        colors = highlighter(in_color=has_terminal() and want_color())
        origin = [*bundle_lines(bundle.origin, standings)]
        lines = [*origin, *review_lines(found, asking=True, colors=colors)]
        again = f"{_command('approve', file)} --digest {wanted}"
        end = [*origin, *review_end_lines(found)]
        if found.digest == wanted and ask_after_review(call.folder, lines, end, wanted, again):
            return TERMINAL
        if has_terminal():
            call.engine.bundles().decline(bundle, TERMINAL)
    why = not_approved_text(call, "Not approved; nothing was changed.")
    raise Declined(why, f"{_command('approve', file)} --digest {wanted}")


def _reviewed(call: Invocation, bundle: Bundle, file: str) -> Review:
    counts = any(standing.counts for standing in _standings(call, bundle, file))
    return call.engine.bundles().review(bundle, _command("build" if counts else "approve", file))


def _standings(call: Invocation, bundle: Bundle, file: str) -> list[BundleApproval]:
    """Returns for each approval whether it counts on this machine, and if not, why."""
    bundles = call.engine.bundles(_typed(file))
    found = [(each, bundles.refusal(bundle, each)) for each in bundle.approvals]
    return [
        BundleApproval(each, refused.word if refused else "", refused.message if refused else "")
        for each, refused in found
    ]


def _read(call: Invocation, file: str) -> tuple[Bundle, bytes]:
    content = content_of(call, file)
    try:
        return call.engine.bundles().read(content), content
    except CorruptFile as error:
        if content.startswith(APPROVAL_PREFIX):
            told = f"{_told(file)} is an approval, not a plan. {NOT_DONE}"
            raise CorruptFile(told, f"assent build FILE --approval {_typed(file)}") from None
        raise _unusable(call, file, error) from None


def _approval(call: Invocation, file: str) -> Approval:
    content = content_of(call, file)
    try:
        return read_approval(content)
    except CorruptFile as error:
        if content.startswith(BUNDLE_PREFIX):
            told = f"{_told(file)} is a plan, not a separate approval. {NOT_DONE}"
            raise CorruptFile(told, _command("review", file)) from None
        raise _unusable(call, file, error) from None


def _unusable(call: Invocation, file: str, error: CorruptFile) -> CorruptFile:
    told = f"{_told(file)} cannot be used. {error.message} {NOT_DONE}"
    return CorruptFile(told, f"{call.command} --help")


def content_of(call: Invocation, file: str) -> bytes:
    """Returns what a file holds, or stdin for `-`; of one that is far too large, the beginning."""
    pieces, size = [], 0
    for piece in read_chunks(call.folder, file):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_FILE_BYTES:
            break
    return b"".join(pieces)


def _check_out(call: Invocation, out: str, content: bytes) -> None:
    """Refuses a path that cannot be written to, before the user is asked."""
    if out != STDOUT:
        check_export_path(call.folder, out, content)


def write_file(call: Invocation, out: str, content: bytes) -> bool:
    """Writes a file; tells whether there is still something to answer on stdout."""
    if out != STDOUT:
        write_export(call.folder, out, content)
        return True
    with ignore_closed_stdout():
        sys.stdout.buffer.write(content)
    return False


def _typed(file: str) -> str:
    """Returns a file as a person types it in a command; what came through a pipe has no name."""
    return "FILE" if file == STDOUT else quote(_told(file))


def _told(file: str) -> str:
    return "stdin" if file == STDOUT else display_path(os.fsencode(file))


def _command(verb: str, file: str) -> str:
    return f"assent {verb} {_typed(file)}"
