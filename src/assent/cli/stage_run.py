"""`assent stage run`: stages a command as an operation that the build runs."""

import os
import re
import shlex
from typing import Any

import click

from assent.cli.input import read_all
from assent.cli.invocation import Invocation, examples, with_invocation
from assent.core.errors import UsageError
from assent.core.plan.operation import RunCommand
from assent.planning.command_operation import MAX_COMMAND_BYTES
from assent.render.rows import operation_row
from assent.render.status import operation_lines

HELP = "assent stage run --help"
# Words of such characters mean the same to a shell as to us; all else is left to `sh -c`.
_PLAIN = re.compile(r"[\w\s@%+=:,./'\"-]*")
_ASSIGNMENT = re.compile(r"\s*[A-Za-z_]\w*=")


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog=examples(
        "assent stage run -- make test\n"
        "assent stage run --env CI=1 --env LANG=C -- make test\n"
        "assent stage run --cwd web --network --timeout 600 -- npm ci\n"
        "assent stage run --script 'sort -u words.txt > sorted && mv sorted words.txt'\n"
        "assent stage run --script @migrate.sh --undo 'sh migrate.sh --down'"
    ),
)
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="-- ARGV...")
@click.option(
    "--script", metavar="TEXT|@FILE|-", help="Lines for `sh` instead; from a file, or stdin."
)
@click.option("--cwd", metavar="DIR", default=".", help="The folder that it runs in.")
@click.option(
    "--timeout", metavar="S", type=int, default=RunCommand().timeout, show_default=True,
    help="Seconds after which it is ended.",
)  # fmt: skip
@click.option("--env", metavar="K=V", multiple=True, help="A variable; may be given again.")
@click.option("--network", is_flag=True, help="Let it use the network.")
@click.option("--undo", metavar="CMD", help="What takes it back: words, or with operators for sh.")
@click.option("--no-sandbox", is_flag=True, help="Let it do whatever you can.")
@with_invocation
def run(call: Invocation, argv: tuple[str, ...], script: str | None, cwd: str, **how: Any) -> None:
    """Stage a command, which the build runs in its place.

    What was staged before it is done by then. It runs in a sandbox: it may write in the workspace,
    but not git's or Assent's own files, and has no network unless you let it. It is ended above
    8 GiB of memory, 1024 processes or 1 GiB of output. If it fails, the build halts and says which
    ways there are.
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
    staged = call.engine.drafts.run(call.record(), command, os.fsencode(cwd))
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
        raise UsageError(f"{given!a} is no variable; write NAME=VALUE.", HELP)
    return name, value


def _undo(given: str) -> tuple[bytes, ...]:
    """Splits a command into words as a shell would; one with operators is left to `sh -c`."""
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise UsageError(f"--undo {given!a} cannot be read: {error}.", HELP) from error
    if not words:
        raise UsageError("The command of --undo is empty.", HELP)
    plain = _PLAIN.fullmatch(given) and not _ASSIGNMENT.match(given) and "\n" not in given
    return tuple(map(os.fsencode, words if plain else ("sh", "-c", given)))
