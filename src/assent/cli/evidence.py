"""`assent export` and `verify`: signed evidence of a run, checked with the public key alone."""

from shlex import quote

import click

from assent.app.exports import open_evidence
from assent.cli.bundle import content_of, write_file
from assent.cli.input import argument_text
from assent.cli.invocation import Invocation, examples, reference_option, with_invocation
from assent.cli.render.evidence import statement_lines, statement_row
from assent.core.digest import sha256
from assent.core.errors import AssentError, UsageError
from assent.core.plan.keyring import public_key
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line

STDOUT = "-"


@click.command(epilog=examples("assent export > run.json\nassent export 01k9 --out run.json"))
@click.argument("run", required=False, callback=reference_option)
@click.option("--out", metavar="FILE", default="", help="Where it goes (default: stdout).")
@with_invocation
def export(call: Invocation, run: str, out: str) -> None:
    """Write signed evidence of a run: an in-toto statement in a DSSE envelope.

    RUN is an id or its start; without one, the last run of an approved plan that ended.
    """
    if call.output.as_json and out in ("", STDOUT):
        raise UsageError(
            "With --json the evidence needs a file: --out FILE.", "assent export --help"
        )
    content = open_evidence(call.engine).export(run)
    if write_file(call, out or STDOUT, content):
        row = {"file": out, "sha256": sha256(content), "key": call.engine.key_log.own()}
        name = visible_line(argument_text(out))
        told = Line("plain", f"Wrote {name}, {len(content)} bytes.")
        again = Line("plain", f"Next, anywhere: assent verify {quote(name)} --key {row['key']}")
        call.output.answer(row, [told, again])


@click.command(epilog=examples("assent verify run.json\nassent verify run.json --key 9f3c..."))
@click.argument("file", callback=reference_option)
@click.option("--key", default="", help="The public key it must be signed with.")
@with_invocation
def verify(call: Invocation, file: str, key: str) -> None:
    """Check evidence of a run, offline. Without --key, trusted keys and this machine's count."""
    wanted = public_key(key) if key else ""
    try:
        statement = open_evidence(call.engine).verify(content_of(call, file), wanted)
    except AssentError as error:
        error.next = error.next or f"{call.command} --help"
        raise
    call.output.answer(statement_row(statement), statement_lines(statement))
