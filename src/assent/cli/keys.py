"""`assent keys …`: manages the keys whose approvals of plans from elsewhere count here."""

import click

from assent.app.keyring import KeyManager
from assent.cli.ansi import ansi
from assent.cli.invocation import Invocation, examples, reference_option, with_invocation
from assent.cli.output import want_color
from assent.cli.render.keys import (
    key_lines,
    key_revoked_lines,
    key_rows,
    key_trusted_lines,
    own_key_lines,
    own_key_row,
    trust_key_lines,
)
from assent.cli.terminal import ask_for_digest, has_terminal
from assent.core.errors import Declined, UsageError
from assent.core.plan.keyring import key_name, public_key

QUESTION = "Type the first 8 digits of the key to trust it: "
NOT_TRUSTED = "The key is not trusted; nothing was changed."
TERMINAL = (
    "A yes needs a terminal on which you are asked: run this in one, without --no-input. A job has "
    "its keys in the table [keys] of its user's config.toml instead."
)
UNNAMED = 8  # digits of a key that make a name where none was given


@click.group(epilog=examples("assent keys show\nassent keys trust 9f3c... --name ada"))
def keys() -> None:
    """Show, trust and revoke keys that approve plans from elsewhere."""


@keys.command(epilog=examples("assent keys show\nassent keys show --json"))
@with_invocation
def show(call: Invocation) -> None:
    """Show this machine's public key, for others to trust."""
    row = own_key_row(call.engine.key_log.own())
    call.output.answer(row, own_key_lines(row))


@keys.command("list", epilog=examples("assent keys list\nassent keys list --json"))
@with_invocation
def list_keys(call: Invocation) -> None:
    """List this machine's key and all that are listed here."""
    desk = KeyManager(call.folder)
    own, rows = own_key_row(call.engine.key_log.own()), key_rows(desk.ring())
    call.output.answer({"own": own, "keys": rows}, key_lines(own, rows))
    call.output.warn(desk.warnings)


@keys.command(epilog=examples("assent keys trust 9f3c... --name ada"))
@click.argument("key", callback=reference_option)
@click.option("--name", default="", help="A label for people; it never decides anything.")
@with_invocation
def trust(call: Invocation, key: str, name: str) -> None:
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
    call.output.answer({"key": key, "name": label, "trusted": True}, key_trusted_lines(key, label))
    call.output.warn(desk.warnings)


@keys.command(epilog=examples("assent keys revoke ada\nassent keys revoke 9f3c..."))
@click.argument("key", metavar="KEY", callback=reference_option)
@with_invocation
def revoke(call: Invocation, key: str) -> None:
    """Let a key approve nothing any more, wherever it is listed.

    By its digits, or by its name if it has one here.
    """
    desk = KeyManager(call.folder)
    found = desk.found(key)
    if found == call.engine.key_log.own():
        raise UsageError("This machine's own key always counts on it.", "assent keys list")
    label = desk.revoke(found)
    call.engine.key_log.revoked(found, label)
    call.output.answer(
        {"key": found, "name": label, "trusted": False}, key_revoked_lines(found, label)
    )
    call.output.warn(desk.warnings)


def _ask(call: Invocation, key: str, name: str) -> None:
    """Gets a person's yes to exactly these digits, or raises (law 9)."""
    lines = trust_key_lines(key, name)
    if not call.no_input and ask_for_digest(ansi(lines, color=want_color()), key, QUESTION):
        return
    if call.no_input or not has_terminal():
        raise Declined(f"{NOT_TRUSTED} {TERMINAL}", "assent keys list")
    raise Declined(NOT_TRUSTED, f"assent keys trust {key} --name {name}")
