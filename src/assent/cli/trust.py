"""`assent trust …`: shows, gives and revokes trust in project files, by their content."""

from shlex import quote

import click

from assent.app.trust import ProjectFileTrust, TrustManager
from assent.cli.ansi import ansi
from assent.cli.approval_prompt import not_approved_text
from assent.cli.input import argument_text
from assent.cli.invocation import Invocation, examples, with_invocation
from assent.cli.output import want_color
from assent.cli.render.trust import (
    file_lines,
    file_row,
    files_trusted_lines,
    trust_file_lines,
    trust_lines,
    trust_revoked_lines,
    trust_row,
)
from assent.cli.terminal import ask_for_digest
from assent.core.errors import Declined, DigestMismatch, UsageError
from assent.render.rows import Row

TRUST_COMMAND = "assent trust show"


@click.group(epilog=examples("assent trust show\nassent trust give"))
def trust() -> None:
    """Show, trust and distrust what files of this project would do."""


@trust.command(epilog=examples("assent trust show\nassent trust show --json"))
@with_invocation
def show(call: Invocation) -> None:
    """Show what each file of the project would do, and whether it may."""
    desk = TrustManager(call.folder)
    rows = [_row(look) for look in desk.project_files()]
    call.output.answer({"files": rows}, file_lines(rows))
    call.output.warn(desk.warnings)


@trust.command(
    epilog=examples("assent trust give\nassent trust give .opencode/assent.toml --digest 3f2a...")
)
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("--digest", default="", help="The content you mean; it must be the file's.")
@with_invocation
def give(call: Invocation, files: tuple[str, ...], digest: str) -> None:
    """Let files do what they say. Asks on the terminal, after showing everything."""
    desk = TrustManager(call.folder)
    looks = desk.chosen([argument_text(name) for name in files])
    if digest and len(looks) != 1:
        raise UsageError("A digest goes with one file; name it.", TRUST_COMMAND)
    for look in looks:
        desk.check(look)
        _consent(call, look, digest, desk.from_here(look.file.path))
        desk.give(call.engine.trust_log, look)
    rows = [_row(look) | {"trusted": True} for look in looks]
    call.output.answer({"files": rows}, files_trusted_lines(rows))
    call.output.warn(desk.warnings)


@trust.command(epilog=examples("assent trust revoke\nassent trust revoke .opencode/assent.toml"))
@click.argument("files", metavar="[FILE]...", nargs=-1)
@with_invocation
def revoke(call: Invocation, files: tuple[str, ...]) -> None:
    """Let files do nothing any more. Without a name, all of this workspace."""
    desk = TrustManager(call.folder)
    paths = desk.revoke(call.engine.trust_log, [argument_text(name) for name in files])
    call.output.answer({"files": paths}, trust_revoked_lines(paths))


@trust.command("list", epilog=examples("assent trust list\nassent trust list --json"))
@with_invocation
def list_trusts(call: Invocation) -> None:
    """List every content that is trusted on this machine."""
    desk = TrustManager(call.folder)
    trusts = desk.all()
    call.output.answer({"trusted": [trust_row(each) for each in trusts]}, trust_lines(trusts))
    call.output.warn(desk.warnings)


def _consent(call: Invocation, look: ProjectFileTrust, named: str, here: str) -> None:
    """Gets a person's yes to exactly the bytes that were read, or raises (law 9)."""
    file, wanted = look.file, look.file.content_hash
    if named and not wanted.startswith(named):
        raise DigestMismatch(f"The digest of {file.path} is {wanted}, not {named}.", TRUST_COMMAND)
    if named == wanted and call.without_terminal:
        return
    lines = trust_file_lines(_row(look), file.content)
    if not call.no_input and ask_for_digest(ansi(lines, color=want_color()), wanted):
        return
    again = f"assent trust give {quote(here)} --digest {wanted}"
    why = not_approved_text(call, f"{file.path} is not trusted; it stays without effect.")
    raise Declined(why, again)


def _row(look: ProjectFileTrust) -> Row:
    stands = {"trusted": look.trusted, "changed": look.changed}
    return file_row(look.file, look.does, broken=look.broken, **stands)
