"""`assent export` and `verify`: signed evidence of a run, checked with the public key alone.

The output says what the evidence proves and what it does not.
"""

from collections.abc import Iterator
from shlex import quote

import click

from assent.cli.bundle import approval_row, content_of, write_file
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples, reference_option
from assent.cli.stdin import argument_text
from assent.core.digest import sha256
from assent.core.errors import AssentError, UsageError
from assent.core.plan.keyring import public_key
from assent.core.run.evidence import EvidenceOperation, Statement
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import Line, counted, table_lines, wrapped_lines
from assent.render.rows import Row

# Renders evidence: what it says, and what that proves and does not.


APPLIED = {
    "done": "exactly this plan was applied, with every operation.",
    "accepted": "a run of exactly this plan stopped and a person accepted its state; the results "
    "list what happened to each operation.",
    "rolled_back": "this plan was started and rolled back, as far as the results show.",
}
OTHERWISE = "a run of exactly this plan ended with this outcome."
AGREED = "The holder of the approval's key approved exactly this plan."
NOT_PROVED = (
    "Who used those machines: a signature proves which key, not which person.",
    "That the files are still the same: compare them with the digests.",
    "That the machine is honest: its owner can sign anything.",
)


def statement_row(statement: Statement) -> Row:
    """Returns what evidence says as one object."""
    return {
        "verified": True,
        "key": statement.key,
        "run": statement.run,
        "outcome": statement.outcome,
        "digest": statement.digest,
        "approval": approval_row(statement.approval),
        "operations": [
            {"id": op.id, "kind": op.kind, "result": op.result} for op in statement.operations
        ],
        "files": [{"path": name, "sha256": digest} for name, digest in statement.files],
        "not_covered": [{"path": each.path, "why": each.why} for each in statement.uncovered],
        "proves": proven_claims(statement),
        "not_proved": list(NOT_PROVED),
    }


def proven_claims(statement: Statement) -> list[str]:
    """Returns what evidence proves, in sentences that are true of its outcome."""
    what = APPLIED.get(statement.outcome, OTHERWISE)
    return [f"The machine that has the key states that {what}", AGREED]


def statement_lines(statement: Statement) -> Iterator[Line]:
    """Renders what evidence says, what it proves, and what cannot be known from it."""
    yes = statement.approval
    yield Line("heading", "The signatures are valid.")
    yield from table_lines(
        "plain",
        [
            ("run", visible_line(statement.run)),
            ("outcome", visible_line(statement.outcome)),
            ("plan", visible_line(statement.digest)),
            ("signed with", visible_line(statement.key)),
            ("approved by", f"{visible_line(yes.approver.user)}, {visible_line(yes.approved_at)}"),
            ("with key", visible_line(yes.key)),
        ],
    )
    done = [
        (visible_line(op.result), visible_line(op.kind), _about(op)) for op in statement.operations
    ]
    yield from table_lines("plain", done)
    rows = [(digest, visible_line(name)) for name, digest in statement.files]
    yield from table_lines("plain", rows)
    for each in statement.uncovered:
        told = f"Not covered: {visible_line(each.path)}: {visible_line(each.why)}."
        yield from wrapped_lines("plain", told)
    yield Line("plain", "What this proves:")
    for text in proven_claims(statement):
        yield from wrapped_lines("plain", f"- {text}")
    yield Line("plain", "What it does not prove:")
    for text in NOT_PROVED:
        yield from wrapped_lines("plain", f"- {text}")


def _about(op: EvidenceOperation) -> str:
    """Returns what an operation is about: its paths, or its command."""
    words = " to ".join(change.path for change in op.files) or " ".join(op.argv) or op.script
    return visible_line(redact(words))


STDOUT = "-"


@click.command(epilog=examples("assent export > run.json\nassent export 01k9 --out run.json"))
@click.argument("run", required=False, callback=reference_option)
@click.option("--out", metavar="FILE", default="", help="Output file (default: stdout).")
@with_invocation
def export(call: Invocation, run: str, out: str) -> None:
    """Export signed evidence of a run: an in-toto statement in a DSSE envelope.

    RUN is an id or its start (default: the last finished run of an approved plan).
    """
    if call.output.as_json and out in ("", STDOUT):
        raise UsageError(
            "With --json, the evidence must go to a file: --out FILE.", "assent export --help"
        )
    content = call.engine.evidence.export(run)
    if write_file(call, out or STDOUT, content):
        row = {"file": out, "sha256": sha256(content), "key": call.engine.key_log.own()}
        name = visible_line(argument_text(out))
        told = Line("plain", f"Wrote {name} ({counted(len(content), 'byte')}).")
        again = Line(
            "plain", f"Next, on any machine: assent verify {quote(name)} --key {row['key']}"
        )
        call.output.answer(row, [told, again])


@click.command(epilog=examples("assent verify run.json\nassent verify run.json --key 9f3c..."))
@click.argument("file", callback=reference_option)
@click.option("--key", default="", help="Public key that must have signed it.")
@with_invocation
def verify(call: Invocation, file: str, key: str) -> None:
    """Verify evidence of a run, offline. Without --key, accepts trusted keys and this machine's."""
    wanted = public_key(key) if key else ""
    try:
        statement = call.engine.evidence.verify(content_of(call, file), wanted)
    except AssentError as error:
        error.next = error.next or f"{call.command} --help"
        raise
    call.output.answer(statement_row(statement), statement_lines(statement))
