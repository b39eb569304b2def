"""Renders keys: this machine's own, and others whose signatures count."""

from collections.abc import Iterator, Sequence

from assent.core.plan.keyring import Keyring, grouped_key
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines, wrapped_lines
from assent.render.rows import Row

SOURCE_FILES = {"keys": "keys.toml", "user": "config.toml", "system": "the system's file"}
PROVES = "A signature proves which key agreed, not who sat at the machine."


def own_key_row(key: str) -> Row:
    """Returns this machine's own key as JSON shows it."""
    return {"key": key, "fingerprint": grouped_key(key)}


def own_key_lines(row: Row) -> Iterator[Line]:
    """Renders this machine's own key, and what others do with it."""
    yield Line("plain", "The public key of this machine, for others to trust:")
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
        yield Line("plain", "No other key is trusted.")
        return
    listed = [
        (visible_line(str(row["name"])), SOURCE_FILES[str(row["source"])], _stands(row))
        for row in rows
    ]
    first, *rest = table_lines("plain", [("NAME", "LISTED IN", "COUNTS"), *listed])
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
        "Plans from elsewhere that it approves will be applied on this machine, without a further "
        "question. Compare it, digit by digit, with what `assent keys show` says where it is used:",
    )
    digits = grouped_key(key)
    half = digits.index(" ", len(digits) // 2)
    yield Line("digest", f"  {digits[:half]}")
    yield Line("digest", f"  {digits[half + 1 :]}")
    yield Line("plain", PROVES)


def key_trusted_lines(key: str, name: str) -> Iterator[Line]:
    """Renders whose signature counts from now on."""
    yield Line("plain", f"The key {visible_line(name)} is trusted:")
    yield Line("digest", key)


def key_revoked_lines(key: str, name: str) -> Iterator[Line]:
    """Renders whose signature counts no longer."""
    label = f" {visible_line(name)}" if name else ""
    yield Line("plain", f"The key{label} does not count any more:")
    yield Line("digest", key)
    yield Line("plain", "Runs that it approved stay as they are; `assent undo` takes one back.")


def _stands(row: Row) -> str:
    return "yes" if row["trusted"] else "no, revoked"
