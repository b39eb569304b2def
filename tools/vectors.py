"""Fills in what new vectors of docs/vectors/plan-digest.json expect, by the product itself.

A vector that has its `expected` is never touched: it is a promise. To add one, write its input into
the file and run this script; docs/plan-file.md explains the members.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nacl.bindings import crypto_sign, crypto_sign_seed_keypair

from assent.core.digest import canonical_bytes, pack, sha256
from assent.core.errors import InvalidPlan
from assent.core.plan.approval import Approval, Approver, signed_bytes
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)
from assent.core.plan.plan import Plan, ReliedOnFile, Scope, front_matter

VECTORS = Path(__file__).resolve().parent.parent / "docs" / "vectors" / "plan-digest.json"
SIGNATURE = 64

Json = dict[str, Any]


def main() -> int:
    """Completes the file and says which vectors are new."""
    vectors = load()
    for name, compute in EXPECTED.items():
        for vector in vectors[name]:
            if "expected" not in vector:
                vector["expected"] = compute(vector)
                print(f"{name}: {vector['name']}")
    text = json.dumps(vectors, indent=1, ensure_ascii=True)
    VECTORS.write_text(text + "\n", encoding="utf-8")
    return 0


def load() -> Json:
    """Reads the vectors."""
    vectors: Json = json.loads(VECTORS.read_text(encoding="utf-8"))
    return vectors


def expected_of_plan(vector: Json) -> Json:
    """Computes every value of a plan's vector with the product."""
    plan = plan_of(vector)
    forms = [canonical_bytes(op).hex() for op in plan.operations]
    return {
        "content_hash": plan.content_hash,
        "operations": [
            {"bytes_hex": form, "id": name} for form, name in zip(forms, plan.ids, strict=True)
        ],
        "operations_hash": plan.operations_hash,
        "bytes_hex": _packed(plan).hex(),
        "digest": plan.digest,
    }


def expected_of_approval(vector: Json) -> Json:
    """Signs an approval with the product's encoding and its signing library."""
    key, secret = crypto_sign_seed_keypair(bytes.fromhex(vector["seed_hex"]))
    payload = signed_bytes(approval_of(vector, key.hex()))
    signature = crypto_sign(payload, secret)[:SIGNATURE]
    return {"bytes_hex": payload.hex(), "key": key.hex(), "signature": signature.hex()}


def expected_of_front_matter(vector: Json) -> Json:
    """Reads a text's declarations with the product."""
    try:
        found = front_matter(_given(vector, "text"))
    except InvalidPlan:
        return {"refused": True}
    names = ("files", "commands", "relies_on")
    return {"declared": {name: list(getattr(found, name)) for name in names}}


EXPECTED: dict[str, Callable[[Json], Json]] = {
    "plans": expected_of_plan,
    "approvals": expected_of_approval,
    "front_matter": expected_of_front_matter,
}


def plan_of(vector: Json) -> Plan:
    """Builds the product's plan from a vector's input."""
    scope = Scope(tuple(vector["scope"]["files"]), tuple(vector["scope"]["commands"]))
    relied_on = [
        ReliedOnFile(_given(file, "path"), sha256(_given(file, "content")))
        for file in vector["relied_on"]
    ]
    operations = [_operation(op) for op in vector["operations"]]
    text, workspace = _given(vector, "text"), vector["workspace"]
    export = _given(vector, "export")
    return Plan(text, tuple(operations), scope, tuple(relied_on), workspace, export)


def approval_of(vector: Json, key: str) -> Approval:
    """Builds the product's approval from a vector's input, without its signature."""
    return Approval(
        vector["id"],
        vector["plan_id"],
        vector["content_hash"],
        vector["operations_hash"],
        vector["digest"],
        Approver(vector["user"], vector["channel"]),
        vector["note"],
        vector["approved_at"],
        vector["expires_at"],
        key,
    )


def _operation(op: Json) -> Operation:
    match op["kind"]:
        case "write":
            after = _state(op["after"])
            assert after is not None
            return WriteFile(_given(op, "path"), _state(op["before"]), after)
        case "run":
            return _command(op)
        case kind:
            before = _state(op["before"])
            assert before is not None
            if kind == "delete":
                return DeleteFile(_given(op, "path"), before, op["prune"])
            return MoveFile(_given(op, "path"), _given(op, "to"), before, op["prune"])


def _command(op: Json) -> RunCommand:
    return RunCommand(
        tuple(_given_list(op, "argv")),
        _given(op, "script"),
        _given(op, "cwd"),
        tuple((_given(one, "name"), _given(one, "value")) for one in op.get("env", [])),
        op["timeout"],
        op["network"],
        tuple(_given_list(op, "undo")),
        op.get("profile", "workspace"),
    )


def _state(described: Json | None) -> FileState | None:
    if described is None:
        return None
    content = _given(described, "content")
    return FileState(sha256(content), len(content), int(described["mode"], 8), described["kind"])


def _packed(plan: Plan) -> bytes:
    """Returns the bytes behind a digest, which the product itself never holds on to."""
    relied_on = [pack(file.path, file.digest.encode()) for file in sorted(plan.relied_on)]
    packed = pack(
        b"assent.plan.1",
        plan.content_hash.encode(),
        plan.operations_hash.encode(),
        pack(*[glob.encode() for glob in plan.scope.files]),
        pack(*[prefix.encode() for prefix in plan.scope.commands]),
        pack(*relied_on),
        plan.workspace.encode(),
    )
    if plan.export:
        packed = pack(b"assent.export.1", sha256(packed).encode(), plan.export)
    assert sha256(packed) == plan.digest
    return packed


def _given(holder: Json, name: str) -> bytes:
    if f"{name}_hex" in holder:
        return bytes.fromhex(holder[f"{name}_hex"])
    text: str = holder.get(name, "")
    return text.encode()


def _given_list(holder: Json, name: str) -> list[bytes]:
    if f"{name}_hex" in holder:
        return [bytes.fromhex(item) for item in holder[f"{name}_hex"]]
    return [item.encode() for item in holder.get(name, [])]


if __name__ == "__main__":
    sys.exit(main())
