"""`assent trust …`: shows, gives and revokes trust in project files, by their content.

It also shows what the files would do.
"""

from collections.abc import Iterator, Sequence
from shlex import quote

import click

from assent.app.trust import ProjectFileTrust, TrustManager
from assent.cli.approval_prompt import not_approved_text
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.output import ansi, want_color
from assent.cli.stdin import argument_text
from assent.cli.terminal import ask_for_digest
from assent.config.trust_list import CHANGED_SINCE
from assent.core.errors import Declined, DigestMismatch, UsageError
from assent.core.paths import display_path
from assent.core.permission.trust import Consequence, ProjectFile, TrustedFile
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.render.lines import BLANK, Line, counted, table_lines, untrusted_lines, wrapped_lines
from assent.render.rows import Row

# Renders trust: what project files would do, risks first, and what is trusted.


SHORT = 12  # characters of a digest in a list
TRUST_BY_CONTENT = (
    "Trust applies to exactly this content; if the file changes, it is ignored again."
)


def file_row(
    file: ProjectFile,
    does: Sequence[Consequence],
    *,
    trusted: bool,
    broken: str = "",
    changed: bool = False,
) -> Row:
    """Returns a file of a project as JSON shows it."""
    return {
        "path": file.path,
        "digest": file.content_hash,
        "trusted": trusted,
        "changed": changed,
        "does": [each.text for each in does],
        "risks": sum(each.risk for each in does),
        "waits": not trusted and not broken and any(each.counts for each in does),
        "broken": broken or None,
    }


def file_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders what each file would do, and the next command."""
    if not rows:
        yield Line("plain", "No project file needs trust.")
        return
    for row in rows:
        yield Line("heading", f"{_path(row)}  {_standing(row)}")
        yield from _does(row)
        yield Line("digest", f"  digest  {row['digest']}")
        yield BLANK
    if any(row["waits"] for row in rows):
        yield Line("plain", "Next: assent trust give")


def trust_file_lines(row: Row, content: bytes) -> Iterator[Line]:
    """Renders all that a person needs to decide about one file: what it does, and every byte."""
    yield Line("heading", f"Trust {_path(row)}?")
    yield BLANK
    yield Line("plain", "Once trusted, it does this without asking:")
    yield from _does(row)
    yield BLANK
    yield Line("heading", f"Content ({counted(len(content), 'byte')})")
    yield from untrusted_lines(content.decode("utf-8", "backslashreplace"))
    yield BLANK
    yield Line("plain", TRUST_BY_CONTENT)
    yield Line("digest", f"Digest: {row['digest']}")


def files_trusted_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders what is trusted from now on."""
    if not rows:
        yield Line("plain", "No file is waiting for trust.")
    for row in rows:
        yield Line("plain", f"{_path(row)} is trusted with exactly this content.")
    if rows:
        yield Line("plain", TRUST_BY_CONTENT)


def trust_revoked_lines(paths: Sequence[str]) -> Iterator[Line]:
    """Renders what is trusted no longer."""
    if not paths:
        yield Line("plain", "No trusted files here.")
    for path in paths:
        yield Line("plain", f"{visible_line(path)} is no longer trusted.")


def trust_row(trust: TrustedFile) -> Row:
    """Returns one trusted content as JSON shows it."""
    return {
        "root": display_path(trust.root),
        "path": trust.path,
        "digest": trust.content_hash,
        "at": trust.at,
    }


def trust_lines(trusts: Sequence[TrustedFile]) -> Iterator[Line]:
    """Renders everything that is trusted on this machine."""
    if not trusts:
        yield Line("plain", "No trusted files.")
        return
    rows = [
        (each.content_hash[:SHORT], each.at, visible_line(each.path), visible_path(each.root))
        for each in trusts
    ]
    first, *rest = table_lines("plain", [("DIGEST", "SINCE", "FILE", "WORKSPACE"), *rows])
    yield Line("heading", first.text)
    yield from rest


def _does(row: Row) -> Iterator[Line]:
    if row["broken"]:
        yield from wrapped_lines("risk", f"  ! {visible_line(str(row['broken']))}")
    risks = int(str(row["risks"]))
    does = row["does"] if isinstance(row["does"], list) else []
    for number, text in enumerate(does):
        risk = number < risks
        yield from wrapped_lines(
            "risk" if risk else "plain", f"  {'!' if risk else '-'} {_shown(text)}"
        )


def _shown(text: object) -> str:
    return visible_line(str(text))


def _path(row: Row) -> str:
    return _shown(row["path"])


def _standing(row: Row) -> str:
    if row["trusted"]:
        return "trusted"
    if row["changed"]:
        return f"{CHANGED_SINCE}, no effect"
    waits = row["waits"] or row["broken"]
    return "not trusted, no effect" if waits else "needs no trust"


TRUST_COMMAND = "assent trust show"


@click.group(epilog=examples("assent trust show\nassent trust give"))
def trust() -> None:
    """Trust a project's files by their content."""


@trust.command(epilog=examples("assent trust show\nassent trust show --json"))
@with_invocation
def show(call: Invocation) -> None:
    """Show what each project file would do, and whether it is trusted."""
    desk = TrustManager(call.folder)
    rows = [_row(look) for look in desk.project_files()]
    call.output.answer({"files": rows}, file_lines(rows))
    call.output.warn(desk.warnings)


@trust.command(
    epilog=examples("assent trust give\nassent trust give .opencode/assent.toml --digest 3f2a...")
)
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("--digest", default="", help="Digest to trust; must match the file's.")
@with_invocation
def give(call: Invocation, files: tuple[str, ...], digest: str) -> None:
    """Trust project files. Shows their full content, then asks on the terminal."""
    desk = TrustManager(call.folder)
    looks = desk.chosen([argument_text(name) for name in files])
    if digest and len(looks) != 1:
        raise UsageError("--digest works with one file only; name the file.", TRUST_COMMAND)
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
    """Revoke trust in project files. Without FILE, in all files of this workspace."""
    desk = TrustManager(call.folder)
    paths = desk.revoke(call.engine.trust_log, [argument_text(name) for name in files])
    call.output.answer({"files": paths}, trust_revoked_lines(paths))


@trust.command("list", epilog=examples("assent trust list\nassent trust list --json"))
@with_invocation
def list_trusts(call: Invocation) -> None:
    """List all trusted files on this machine."""
    desk = TrustManager(call.folder)
    trusts = desk.all()
    call.output.answer({"trusted": [trust_row(each) for each in trusts]}, trust_lines(trusts))
    call.output.warn(desk.warnings)


def _consent(call: Invocation, look: ProjectFileTrust, named: str, here: str) -> None:
    """Gets the user's approval of exactly the bytes that were read, or raises (law 9)."""
    file, wanted = look.file, look.file.content_hash
    if named and not wanted.startswith(named):
        raise DigestMismatch(f"The digest of {file.path} is {wanted}, not {named}.", TRUST_COMMAND)
    if named == wanted and call.without_terminal:
        return
    lines = trust_file_lines(_row(look), file.content)
    if not call.no_input and ask_for_digest(ansi(lines, color=want_color()), wanted):
        return
    again = f"assent trust give {quote(here)} --digest {wanted}"
    why = not_approved_text(call, f"{file.path} is not trusted and has no effect.")
    raise Declined(why, again)


def _row(look: ProjectFileTrust) -> Row:
    stands = {"trusted": look.trusted, "changed": look.changed}
    return file_row(look.file, look.does, broken=look.broken, **stands)
