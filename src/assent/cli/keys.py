"""`assent keys …`: whose approvals of plans from elsewhere count on this machine."""

import click

from assent.app.keyring import KeyManager
from assent.cli.call import Call, examples, named, takes_call
from assent.cli.output import want_color
from assent.cli.terminal import ask, is_there
from assent.core.errors import Declined, UsageError
from assent.core.plan.keyring import key_name, public_key
from assent.views.ansi import ansi
from assent.views.keys import (
    asking_lines,
    key_lines,
    key_rows,
    own_lines,
    own_row,
    revoked_lines,
    trusted_lines,
)

QUESTION = "Type the first 8 digits of the key to trust it: "
KEPT = "The key is not trusted; nothing was changed."
TERMINAL = (
    "A yes needs a terminal on which you are asked: run this in one, without --no-input. A job has "
    "its keys in the table [keys] of its user's config.toml instead."
)
UNNAMED = 8  # digits of a key that make a name where none was given


@click.group(epilog=examples("assent keys show\nassent keys trust 9f3c... --name ada"))
def keys() -> None:
    """Show, trust and revoke keys that approve plans from elsewhere."""


@keys.command(epilog=examples("assent keys show\nassent keys show --json"))
@takes_call
def show(call: Call) -> None:
    """Show this machine's public key, for others to trust."""
    row = own_row(call.engine.key_log.own())
    call.output.answer(row, own_lines(row))


@keys.command("list", epilog=examples("assent keys list\nassent keys list --json"))
@takes_call
def list_keys(call: Call) -> None:
    """List this machine's key and all that are listed here."""
    desk = KeyManager(call.folder)
    own, rows = own_row(call.engine.key_log.own()), key_rows(desk.ring())
    call.output.answer({"own": own, "keys": rows}, key_lines(own, rows))
    call.output.warn(desk.warnings)


@keys.command(epilog=examples("assent keys trust 9f3c... --name ada"))
@click.argument("key", callback=named)
@click.option("--name", default="", help="A label for people; it never decides anything.")
@takes_call
def trust(call: Call, key: str, name: str) -> None:
    """Let a key approve plans from elsewhere. Asks on the terminal, after showing all of it."""
    public_key(key)
    label = key_name(name or f"key-{key[:UNNAMED]}")
    if key == call.engine.key_log.own():
        raise UsageError("This machine's own key counts already.", "assent keys list")
    desk = KeyManager(call.folder)
    desk.check(key, label)
    if not call.without_terminal:
        _ask(call, key, label)
    call.engine.key_log.trusted(key, label)
    desk.trust(key, label)
    call.output.answer({"key": key, "name": label, "trusted": True}, trusted_lines(key, label))
    call.output.warn(desk.warnings)


@keys.command(epilog=examples("assent keys revoke ada\nassent keys revoke 9f3c..."))
@click.argument("key", metavar="KEY", callback=named)
@takes_call
def revoke(call: Call, key: str) -> None:
    """Let a key approve nothing any more, wherever it is listed.

    By its digits, or by its name if it has one here.
    """
    desk = KeyManager(call.folder)
    found = desk.found(key)
    if found == call.engine.key_log.own():
        raise UsageError("This machine's own key always counts on it.", "assent keys list")
    label = desk.revoke(found)
    call.engine.key_log.revoked(found, label)
    call.output.answer({"key": found, "name": label, "trusted": False}, revoked_lines(found, label))
    call.output.warn(desk.warnings)


def _ask(call: Call, key: str, name: str) -> None:
    """Gets a person's yes to exactly these digits, or raises (law 9)."""
    lines = asking_lines(key, name)
    if not call.no_input and ask(ansi(lines, color=want_color()), key, QUESTION):
        return
    if call.no_input or not is_there():
        raise Declined(f"{KEPT} {TERMINAL}", "assent keys list")
    raise Declined(KEPT, f"assent keys trust {key} --name {name}")
