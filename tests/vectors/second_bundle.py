"""A second reader of bundles, written from docs/bundle.md and docs/plan-file.md alone.

It needs the standard library and PyNaCl, and knows nothing of the product.
"""

import json
import zlib
from base64 import b64decode
from hashlib import sha256
from typing import Any

from nacl.signing import VerifyKey

Json = dict[str, Any]
ORIGIN = ("plan_id", "name", "session", "digest", "requested_at", "user", "key")
YES = ("id", "plan_id", "content_hash", "operations_hash", "digest")
LATER = ("note", "approved_at", "expires_at", "key")


def pack(*fields: bytes) -> bytes:
    return b"".join(len(field).to_bytes(8, "big") + field for field in fields)


def hashed(*fields: bytes) -> str:
    return sha256(pack(*fields)).hexdigest()


def number(value: int) -> bytes:
    return str(value).encode()


def state(found: Json | None) -> bytes:
    if found is None:
        return b""
    mode = f"{found['mode']:o}".encode()
    return pack(found["kind"].encode(), found["digest"].encode(), number(found["size"]), mode)


def operation(op: Json) -> bytes:
    kind = op["type"].encode()
    if kind == b"run":
        argv, undo = (pack(*map(b64decode, op[name])) for name in ("argv", "undo"))
        env = pack(*[pack(*map(b64decode, pair)) for pair in op["env"]])
        network = b"1" if op["network"] else b"0"
        more = () if op["profile"] == "workspace" else (op["profile"].encode(),)
        script, cwd = (b64decode(op[name]) for name in ("script", "cwd"))
        return pack(kind, argv, script, cwd, env, number(op["timeout"]), network, undo, *more)
    path = b64decode(op["path"])
    if kind == b"write":
        return pack(kind, path, state(op["before"]), state(op["after"]))
    if kind == b"delete":
        return pack(kind, path, state(op["before"]), number(op["prune"]))
    return pack(kind, path, b64decode(op["to"]), state(op["before"]), number(op["prune"]))


def digest(plan: Json) -> tuple[str, str, str]:
    """Returns content_hash, operations_hash and digest of a plan."""
    seen: list[bytes] = []
    ids = []
    for form in map(operation, plan["operations"]):
        ids.append(hashed(b"assent.operation.1", form, number(seen.count(form))).encode())
        seen.append(form)
    content = sha256(b64decode(plan["text"])).hexdigest()
    operations = hashed(b"assent.operations.1", *ids)
    scope = [pack(*[each.encode() for each in plan["scope"][n]]) for n in ("files", "commands")]
    relied = sorted(
        (b64decode(each["path"]), each["digest"].encode()) for each in plan["relied_on"]
    )
    rests = pack(*[pack(*pair) for pair in relied])
    named = hashed(
        b"assent.plan.1", content.encode(), operations.encode(), *scope, rests,
        plan["workspace"].encode(),
    )  # fmt: skip
    return content, operations, named


def read(content: bytes) -> tuple[Json, list[Json]]:
    """Returns who asks for a bundle and who agreed; raises if anything in it does not hold."""
    head, body, *rest = [json.loads(line) for line in content.splitlines()]
    end = rest.pop()
    before = content[: content.rindex(b"\n", 0, -1) + 1]
    assert end == {"line": "end", "sha256": sha256(before).hexdigest()}
    origin, names = head["origin"], digest(body["plan"])
    assert names[2] == origin["digest"]
    for each in [line for line in rest if line["line"] == "content"]:
        found = zlib.decompress(b64decode(each["zlib"]))
        assert (len(found), sha256(found).hexdigest()) == (each["size"], each["digest"])
    risks = pack(*[pack(*[code.encode() for code in codes]) for codes in origin["risks"]])
    asked = pack(b"assent.bundle.1", *[origin[name].encode() for name in ORIGIN], risks)
    signature = bytes.fromhex(origin["signature"])
    VerifyKey(bytes.fromhex(origin["key"])).verify(asked, signature)
    approvals = [line["approval"] for line in rest if line["line"] == "approval.1"]
    for yes in approvals:
        fields = [yes[name] for name in YES] + [yes["approver"]["user"], yes["approver"]["channel"]]
        fields += [yes[name] for name in LATER]
        signed = pack(b"assent.approval.1", *[field.encode() for field in fields])
        VerifyKey(bytes.fromhex(yes["key"])).verify(signed, bytes.fromhex(yes["signature"]))
        assert (yes["content_hash"], yes["operations_hash"], yes["digest"]) == names
    return origin, approvals
