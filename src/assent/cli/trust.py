"""`assent trust …`: lets files of a project do what they say, by their content, or no longer."""

from shlex import quote

import click

from assent.app.trust import ProjectFileTrust, TrustManager
from assent.cli.asking import no_yes
from assent.cli.call import Call, examples, takes_call
from assent.cli.output import want_color
from assent.cli.source import text
from assent.cli.terminal import ask
from assent.core.errors import Declined, DigestMismatch, UsageError
from assent.render.rows import Row
from assent.views.ansi import ansi
from assent.views.trust import (
    asking_lines,
    file_lines,
    file_row,
    given_lines,
    revoked_lines,
    trust_lines,
    trust_row,
)

LOOK = "assent trust show"


@click.group(epilog=examples("assent trust show\nassent trust give"))
def trust() -> None:
    """Show, trust and distrust what files of this project would do."""


@trust.command(epilog=examples("assent trust show\nassent trust show --json"))
@takes_call
def show(call: Call) -> None:
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
@takes_call
def give(call: Call, files: tuple[str, ...], digest: str) -> None:
    """Let files do what they say. Asks on the terminal, after showing everything."""
    desk = TrustManager(call.folder)
    looks = desk.chosen([text(name) for name in files])
    if digest and len(looks) != 1:
        raise UsageError("A digest goes with one file; name it.", LOOK)
    for look in looks:
        desk.check(look)
        _consent(call, look, digest, desk.from_here(look.file.path))
        desk.give(call.engine.trust_log, look)
    rows = [_row(look) | {"trusted": True} for look in looks]
    call.output.answer({"files": rows}, given_lines(rows))
    call.output.warn(desk.warnings)


@trust.command(epilog=examples("assent trust revoke\nassent trust revoke .opencode/assent.toml"))
@click.argument("files", metavar="[FILE]...", nargs=-1)
@takes_call
def revoke(call: Call, files: tuple[str, ...]) -> None:
    """Let files do nothing any more. Without a name, all of this workspace."""
    desk = TrustManager(call.folder)
    paths = desk.revoke(call.engine.trust_log, [text(name) for name in files])
    call.output.answer({"files": paths}, revoked_lines(paths))


@trust.command("list", epilog=examples("assent trust list\nassent trust list --json"))
@takes_call
def list_trusts(call: Call) -> None:
    """List every content that is trusted on this machine."""
    desk = TrustManager(call.folder)
    trusts = desk.all()
    call.output.answer({"trusted": [trust_row(each) for each in trusts]}, trust_lines(trusts))
    call.output.warn(desk.warnings)


def _consent(call: Call, look: ProjectFileTrust, named: str, here: str) -> None:
    """Gets a person's yes to exactly the bytes that were read, or raises (law 9)."""
    file, wanted = look.file, look.file.content_hash
    if named and not wanted.startswith(named):
        raise DigestMismatch(f"The digest of {file.path} is {wanted}, not {named}.", LOOK)
    if named == wanted and call.without_terminal:
        return
    lines = asking_lines(_row(look), file.content)
    if not call.no_input and ask(ansi(lines, color=want_color()), wanted):
        return
    again = f"assent trust give {quote(here)} --digest {wanted}"
    why = no_yes(call, f"{file.path} is not trusted; it stays without effect.")
    raise Declined(why, again)


def _row(look: ProjectFileTrust) -> Row:
    stands = {"trusted": look.trusted, "changed": look.changed}
    return file_row(look.file, look.does, broken=look.broken, **stands)
