"""`assent keys …`: manages this machine's own key and the keys that it trusts.

A trusted key is one whose approvals of plans from elsewhere count here.
"""

from collections.abc import Iterator, Sequence

import click

from assent.app.trust import KeyManager
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import ListGroup, examples, reference_option
from assent.cli.output import ansi, want_color
from assent.cli.terminal import ask_for_digest, has_terminal
from assent.core.errors import Declined, UsageError
from assent.core.plan.keyring import Keyring, grouped_key, key_name, public_key
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines, wrapped_lines
from assent.render.rows import Row

# Renders keys: this machine's own, and others whose signatures count.


SOURCE_FILES = {"keys": "keys.toml", "user": "config.toml", "system": "system config"}
PROVES = "A signature proves which key approved, not which person."


def own_key_row(key: str) -> Row:
    """Returns this machine's own key as JSON shows it."""
    return {"key": key, "fingerprint": grouped_key(key)}


def own_key_lines(row: Row) -> Iterator[Line]:
    """Renders this machine's own key, and what others do with it."""
    yield Line("plain", "Public key of this machine, for others to trust:")
    yield Line("digest", visible_line(str(row["key"])))
    yield Line("plain", f"Next, on the other machine: assent keys trust {row['key']} --name NAME")


def key_rows(ring: Keyring) -> list[Row]:
    """Returns every listed key as JSON shows it."""
    return [
        {
            "key": each.key,
            "name": each.name,
            "source": each.source,
            "trusted": each.key not in ring.revoked,
        }
        for each in ring.listed
    ]


def key_lines(own: Row, rows: Sequence[Row]) -> Iterator[Line]:
    """Renders this machine's key and all that are listed."""
    yield from own_key_lines(own)
    yield BLANK
    if not rows:
        yield Line("plain", "No other keys are trusted.")
        return
    listed = [
        (visible_line(str(row["name"])), SOURCE_FILES[str(row["source"])], _stands(row))
        for row in rows
    ]
    first, *rest = table_lines("plain", [("NAME", "LISTED IN", "TRUSTED"), *listed])
    yield Line("heading", first.text)
    for line, row in zip(rest, rows, strict=True):
        yield line
        yield Line("plain", f"  {row['key']}")


def trust_key_lines(key: str, name: str) -> Iterator[Line]:
    """Renders what a person decides about when they trust a key."""
    yield Line("heading", f"Trust the key {visible_line(name)}?")
    yield BLANK
    yield from wrapped_lines(
        "plain",
        "Bundles approved with this key can be built on this machine without asking you. Compare "
        "every digit with the output of `assent keys show` on the machine that uses the key:",
    )
    digits = grouped_key(key)
    half = digits.index(" ", len(digits) // 2)
    yield Line("digest", f"  {digits[:half]}")
    yield Line("digest", f"  {digits[half + 1 :]}")
    yield Line("plain", PROVES)


def key_trusted_lines(key: str, name: str) -> Iterator[Line]:
    """Renders the key whose signatures count from now on."""
    yield Line("plain", f"Key {visible_line(name)} is trusted:")
    yield Line("digest", key)


def key_revoked_lines(key: str, name: str) -> Iterator[Line]:
    """Renders the key whose signatures no longer count."""
    label = f" {visible_line(name)}" if name else ""
    yield Line("plain", f"Key{label} is no longer trusted:")
    yield Line("digest", key)
    yield Line("plain", "Runs it approved stay as they are; to undo one, use `assent undo`.")


def _stands(row: Row) -> str:
    return "yes" if row["trusted"] else "no, revoked"


QUESTION = "Type the first 8 digits of the key to trust it: "
NOT_TRUSTED = "The key is not trusted; nothing was changed."
TERMINAL = (
    "Trusting a key needs an interactive terminal: run this in one, without --no-input. For CI "
    "jobs, list keys under [keys] in the user's config.toml."
)
UNNAMED = 8  # digits of a key that make a name where none was given


@click.group(
    cls=ListGroup, epilog=examples("assent keys show\nassent keys trust 9f3c... --name ada")
)
def keys() -> None:
    """List, trust and revoke keys that approve bundles."""


@keys.command(epilog=examples("assent keys show\nassent keys show --json"))
@with_invocation
def show(call: Invocation) -> None:
    """Show this machine's public key, for others to trust."""
    row = own_key_row(call.engine.key_log.own())
    call.output.answer(row, own_key_lines(row))


@keys.command("list", epilog=examples("assent keys list\nassent keys list --json"))
@with_invocation
def list_keys(call: Invocation) -> None:
    """List this machine's key and all other listed keys."""
    desk = KeyManager(call.folder)
    own, rows = own_key_row(call.engine.key_log.own()), key_rows(desk.ring())
    call.output.answer({"own": own, "keys": rows}, key_lines(own, rows))
    call.output.warn(desk.warnings)


@keys.command(epilog=examples("assent keys trust 9f3c... --name ada"))
@click.argument("key", callback=reference_option)
@click.option("--name", default="", help="Name to show for the key; it has no other effect.")
@with_invocation
def trust(call: Invocation, key: str, name: str) -> None:
    """Trust a key to approve bundles. Shows the whole key, then asks on the terminal."""
    public_key(key)
    label = key_name(name or f"key-{key[:UNNAMED]}")
    if key == call.engine.key_log.own():
        raise UsageError("This machine's own key is always trusted.", "assent keys list")
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
    """Revoke a key, wherever it is listed.

    KEY is its digits, or its name if it has one here.
    """
    desk = KeyManager(call.folder)
    found = desk.found(key)
    if found == call.engine.key_log.own():
        raise UsageError("This machine's own key cannot be revoked.", "assent keys list")
    label = desk.revoke(found)
    call.engine.key_log.revoked(found, label)
    call.output.answer(
        {"key": found, "name": label, "trusted": False}, key_revoked_lines(found, label)
    )
    call.output.warn(desk.warnings)


def _ask(call: Invocation, key: str, name: str) -> None:
    """Gets the user's approval of exactly these digits, or raises (law 9)."""
    lines = trust_key_lines(key, name)
    if not call.no_input and ask_for_digest(ansi(lines, color=want_color()), key, QUESTION):
        return
    if call.no_input or not has_terminal():
        raise Declined(f"{NOT_TRUSTED} {TERMINAL}", "assent keys list")
    raise Declined(NOT_TRUSTED, f"assent keys trust {key} --name {name}")
