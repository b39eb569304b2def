"""A second implementation of docs/plan-file.md, written from that page and without the product.

It needs nothing but hashlib and json, and can be run by itself with the path of the vectors.
"""

import hashlib
import json
import sys
from typing import Any

Json = dict[str, Any]

LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
BLANKS = (
    "\t \x1f\xa0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))) + LINE_ENDS
)
QUOTES = "\"'"
OURS = ("scope", "relies_on")
ENTRIES = ("files", "commands")


class Unreadable(Exception):
    """Front matter that must be refused."""


# Bytes -------------------------------------------------------------------------------------------


def pack(*fields: bytes) -> bytes:
    packed = bytearray()
    for field in fields:
        packed += len(field).to_bytes(8, "big")
        packed += field
    return bytes(packed)


def hashed(*fields: bytes) -> str:
    return hashlib.sha256(pack(*fields)).hexdigest()


def number(value: int) -> bytes:
    return str(value).encode("ascii")


def given(holder: Json, name: str) -> bytes:
    """Reads a member that is text under its name, or hex under its name and `_hex`."""
    if name + "_hex" in holder:
        return bytes.fromhex(holder[name + "_hex"])
    text: str = holder[name]
    return text.encode("utf-8")


def given_list(holder: Json, name: str) -> list[bytes]:
    if name + "_hex" in holder:
        return [bytes.fromhex(item) for item in holder[name + "_hex"]]
    return [item.encode("utf-8") for item in holder.get(name, [])]


def state(described: Json | None) -> bytes:
    if described is None:
        return b""
    content = given(described, "content")
    digest = hashlib.sha256(content).hexdigest().encode("ascii")
    mode = format(int(described["mode"], 8), "o").encode("ascii")
    return pack(described["kind"].encode("ascii"), digest, number(len(content)), mode)


def operation(op: Json) -> bytes:
    kind = op["kind"]
    if kind == "run":
        profile = op.get("profile", "workspace")
        variables = [pack(given(one, "name"), given(one, "value")) for one in op.get("env", [])]
        return pack(
            b"run",
            pack(*given_list(op, "argv")),
            given(op, "script") if "script" in op or "script_hex" in op else b"",
            given(op, "cwd") if "cwd" in op or "cwd_hex" in op else b"",
            pack(*variables),
            number(op["timeout"]),
            b"1" if op["network"] else b"0",
            pack(*given_list(op, "undo")),
            *([] if profile == "workspace" else [profile.encode("ascii")]),
        )
    fields = [kind.encode("ascii"), given(op, "path")]
    if kind == "move":
        fields.append(given(op, "to"))
    fields.append(state(op["before"]))
    fields.append(state(op["after"]) if kind == "write" else number(op["prune"]))
    return pack(*fields)


def plan(described: Json) -> Json:
    """Returns every value that a plan's vector must expect."""
    forms = [operation(op) for op in described["operations"]]
    ids = [
        hashed(b"assent.operation.1", form, number(forms[:at].count(form)))
        for at, form in enumerate(forms)
    ]
    operations_hash = hashed(b"assent.operations.1", *[name.encode("ascii") for name in ids])
    content_hash = hashlib.sha256(given(described, "text")).hexdigest()
    relied_on = [
        (given(one, "path"), hashlib.sha256(given(one, "content")).hexdigest().encode("ascii"))
        for one in described["relied_on"]
    ]
    whole = pack(
        b"assent.plan.1",
        content_hash.encode("ascii"),
        operations_hash.encode("ascii"),
        pack(*given_list(described["scope"], "files")),
        pack(*given_list(described["scope"], "commands")),
        pack(*[pack(path, digest) for path, digest in sorted(relied_on)]),
        described["workspace"].encode("utf-8"),
    )
    if "export" in described:
        plain = hashlib.sha256(whole).hexdigest().encode("ascii")
        whole = pack(b"assent.export.1", plain, given(described, "export"))
    return {
        "content_hash": content_hash,
        "operations": [
            {"bytes_hex": form.hex(), "id": name} for form, name in zip(forms, ids, strict=True)
        ],
        "operations_hash": operations_hash,
        "bytes_hex": whole.hex(),
        "digest": hashlib.sha256(whole).hexdigest(),
    }


# Front matter ------------------------------------------------------------------------------------


def front_matter(text: bytes) -> Json:
    """Returns what a text declares; raises Unreadable where the page says refuse."""
    values = keys(lines_of(text))
    entries = scope(*head_and_body(values.get("scope", [""])))
    return {
        "files": list_of(entries.get("files", [""])),
        "commands": list_of(entries.get("commands", [""])),
        "relies_on": list_of(values.get("relies_on", [""])),
    }


def lines_of(text: bytes) -> list[str]:
    """Returns the lines between the two marks, or none."""
    decoded = text.decode("utf-8", "backslashreplace")
    if decoded[:1] == "\ufeff":
        decoded = decoded[1:]
    lines, line, at = [], "", 0
    while at < len(decoded):
        if decoded[at] in LINE_ENDS:
            lines.append(line)
            line = ""
            at += decoded[at : at + 2] == "\r\n"
        else:
            line += decoded[at]
        at += 1
    lines.append(line)
    if lines[0].rstrip(BLANKS) != "---":
        return []
    for count, line in enumerate(lines[1:]):
        if line.rstrip(BLANKS) in ("---", "..."):
            return lines[1 : 1 + count]
    raise Unreadable("no end")


def keys(lines: list[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    last = ""
    for line in lines:
        if line and line[0] not in " \t-#" and ":" in line:
            before, after = line.split(":", 1)
            last = before.rstrip(BLANKS)
            bare = last.strip(QUOTES)
            if last in values or (bare in OURS and bare != last):
                raise Unreadable("twice, or in quotes")
            values[last] = [after]
        elif last in values:
            values[last].append(line)
    return values


def head_and_body(lines: list[str]) -> tuple[str, list[str]]:
    bare = [uncommented(line) for line in lines]
    return bare[0].strip(BLANKS), [line for line in bare[1:] if line.strip(BLANKS)]


def uncommented(line: str) -> str:
    within, kept = "", ""
    for char in line:
        if not within and char == "#" and (not kept or kept[-1] in BLANKS):
            break
        if within:
            within = within if char != within else ""
        elif char in QUOTES:
            within = char
        kept += char
    return kept


def enclosed(head: str, body: list[str], marks: str) -> list[str]:
    """Returns the pieces between a pair of brackets."""
    text = " ".join([head, *body]).rstrip(BLANKS)
    if len(text) < 2 or text[0] != marks[0] or text[-1] != marks[1]:
        raise Unreadable(f"no {marks}")
    pieces, piece, level, within = [], "", 0, ""
    for char in text[1:-1]:
        if char == "," and level == 0 and not within:
            pieces.append(piece)
            piece = ""
            continue
        piece += char
        if within:
            within = within if char != within else ""
        elif char in QUOTES:
            within = char
        else:
            level += (char in "[{") - (char in "]}")
            if level < 0:
                raise Unreadable("not open")
    if within or level:
        raise Unreadable("open")
    trimmed = [one.strip(BLANKS) for one in [*pieces, piece]]
    return [one for one in trimmed if one]


def list_of(lines: list[str]) -> list[str]:
    head, body = head_and_body(lines)
    if head:
        return [item(piece) for piece in enclosed(head, body, "[]")]
    items = []
    for line in body:
        text = line.strip(BLANKS)
        if text[:2] != "- " or not text[2:].strip(BLANKS):
            raise Unreadable("no item")
        items.append(item(text[2:].strip(BLANKS)))
    return items


def item(text: str) -> str:
    if text[0] in QUOTES:
        if len(text) < 2 or text[-1] != text[0] or text[0] in text[1:-1]:
            raise Unreadable("quotes")
        return text[1:-1]
    if text[0] in "&!|>%@`[]{}":
        raise Unreadable("needs quotes")
    return text


def scope(head: str, body: list[str]) -> dict[str, list[str]]:
    """Returns the lines of the value of each entry."""
    entries: dict[str, list[str]] = {}
    if head:
        for piece in enclosed(head, body, "{}"):
            before, colon, after = piece.partition(":")
            if not colon or before.strip(BLANKS) not in ENTRIES or before.strip(BLANKS) in entries:
                raise Unreadable("no entry, or twice")
            entries[before.strip(BLANKS)] = [after.strip(BLANKS)]
        return entries
    last = ""
    for line in body:
        before, colon, after = line.strip(BLANKS).partition(":")
        if colon and before in ENTRIES:
            last = before
            if last in entries:
                raise Unreadable("twice")
            entries[last] = [after]
        elif not last or line[0] not in BLANKS:
            raise Unreadable("no entry")
        else:
            entries[last].append(line)
    return entries


# Approval ----------------------------------------------------------------------------------------

SIGNED = (
    "id", "plan_id", "content_hash", "operations_hash", "digest", "user", "channel", "note",
    "approved_at", "expires_at", "key",
)  # fmt: skip


def approval(described: Json) -> Json:
    """Returns the signed bytes, the public key and the signature of an approval."""
    seed = bytes.fromhex(described["seed_hex"])
    key = public_key(seed).hex()
    fields = [{**described, "key": key}[name].encode("utf-8") for name in SIGNED]
    whole = pack(b"assent.approval.1", *fields)
    return {"bytes_hex": whole.hex(), "key": key, "signature": sign(seed, whole).hex()}


# Ed25519 as RFC 8032 defines it: points in affine coordinates, slow and plain.

FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, -1, FIELD) % FIELD

Point = tuple[int, int]


def add(one: Point, other: Point) -> Point:
    (x1, y1), (x2, y2) = one, other
    across = CURVE * x1 * x2 * y1 * y2 % FIELD
    x = (x1 * y2 + y1 * x2) * pow(1 + across, -1, FIELD)
    y = (y1 * y2 + x1 * x2) * pow(1 - across, -1, FIELD)
    return x % FIELD, y % FIELD


def times(factor: int, point: Point) -> Point:
    total: Point = (0, 1)
    while factor:
        if factor & 1:
            total = add(total, point)
        point = add(point, point)
        factor >>= 1
    return total


def base() -> Point:
    y = 4 * pow(5, -1, FIELD) % FIELD
    square = (y * y - 1) * pow(CURVE * y * y + 1, -1, FIELD) % FIELD
    x = pow(square, (FIELD + 3) // 8, FIELD)
    if (x * x - square) % FIELD:
        x = x * pow(2, (FIELD - 1) // 4, FIELD) % FIELD
    return (x if x % 2 == 0 else FIELD - x), y


BASE = base()


def encoded(point: Point) -> bytes:
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def expanded(seed: bytes) -> tuple[int, bytes]:
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
    return scalar, digest[32:]


def public_key(seed: bytes) -> bytes:
    return encoded(times(expanded(seed)[0], BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    scalar, prefix = expanded(seed)
    nonce = reduced(prefix + message)
    point = encoded(times(nonce, BASE))
    challenge = reduced(point + public_key(seed) + message)
    return point + ((nonce + challenge * scalar) % ORDER).to_bytes(32, "little")


def reduced(content: bytes) -> int:
    return int.from_bytes(hashlib.sha512(content).digest(), "little") % ORDER


# By itself ---------------------------------------------------------------------------------------


def declaration(described: Json) -> Json:
    """Returns what a front-matter vector must expect."""
    try:
        return {"declared": front_matter(given(described, "text"))}
    except Unreadable:
        return {"refused": True}


LISTS = {"plans": plan, "approvals": approval, "front_matter": declaration}


def main(path: str) -> int:
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    wrong = [
        f"{name}: {vector['name']}"
        for name, compute in LISTS.items()
        for vector in vectors[name]
        if compute(vector) != vector["expected"]
    ]
    print("\n".join(wrong) or f"All {sum(len(vectors[name]) for name in LISTS)} vectors hold.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
