"""Three machines: one plans, on one a person decides, one applies. They share nothing but files."""

from pathlib import Path
from typing import Any

import msgspec
from tests.cli.harness import TRUSTING, World

from assent.core.digest import sha256
from assent.core.plan.approval import Approval, Approver, signed_bytes
from assent.core.plan.bundle import Bundle, BundleOrigin, bundle_bytes, origin_bytes
from assent.core.plan.operation import FileState, Operation, WriteFile
from assent.core.plan.plan import Plan
from assent.store.clock import SystemClock
from assent.store.signing_key import FileSigner

OLD = {"a.txt": b"one\ntwo\n", "gone.txt": b"bye\n", "name.txt": b"moved\n"}
NOW = "2026-01-01T00:00:00.000Z"


class Machines:
    """A planner, a person and a runner, each with state and configuration of its own."""

    def __init__(self, base: Path) -> None:
        self.planner = World(base / "planner")
        self.person = World(base / "person")
        self.runner = World(base / "runner")
        for world in (self.planner, self.runner):
            for path, content in OLD.items():
                world.put(path, content)
        self.file = base / "plan.json"

    def plan(self) -> str:
        """Plans a write, a new file, a removal and a rename; returns the digest."""
        self.planner.plan()
        self.planner.write("a.txt", b"one\n2\n")
        self.planner.write("new/b.txt", b"b\n")
        self.planner.ok("stage", "delete", "gone.txt")
        self.planner.ok("stage", "move", "name.txt", "other.txt")
        return self.pack()

    def pack(self) -> str:
        """Freezes the planner's current plan into the file."""
        answer = self.planner.ok("propose", "--portable", "--out", str(self.file))
        return str(answer["digest"])

    def approve(self, *options: str) -> dict[str, Any]:
        """Lets the person say yes to what is in the file."""
        digest = self.person.ok("review", str(self.file))["digest"]
        return self.person.ok("approve", str(self.file), "--digest", digest, *options)

    def ready(self) -> None:
        """Plans, approves, and lets the runner trust the person's key."""
        self.plan()
        self.approve()
        trust(self.runner, key_of(self.person))


def key_of(world: World) -> str:
    """Returns the public key of a machine."""
    return str(world.ok("keys", "show")["key"])


def trust(world: World, key: str, name: str = "ada") -> None:
    """Lists a key in the user's configuration, as a CI's setup does."""
    world.config.write_text(f'{TRUSTING}[keys]\n{name} = "{key}"\n', encoding="utf-8")


def signer_of(world: World) -> FileSigner:
    """Returns the key of a machine itself, as only its own person has it."""
    return FileSigner(world.state / "assent" / "key")


def written(path: bytes, content: bytes, mode: int = 0o644) -> WriteFile:
    """Returns the operation that makes a new file."""
    return WriteFile(path, None, FileState(sha256(content), len(content), mode))


def forged(
    signer: FileSigner, operations: tuple[Operation, ...], *contents: bytes, text: bytes = b"# P\n"
) -> Bundle:
    """Makes a bundle as no honest planner would, asked for and approved by a real key."""
    plan = Plan(text, operations)
    return signed(signer, plan, {sha256(content): content for content in contents})


def signed(signer: FileSigner, plan: Plan, contents: dict[str, bytes]) -> Bundle:
    """Signs a plan as the one who asks and as the one who agrees."""
    clock = SystemClock()
    asked = BundleOrigin(clock.new_id(), "work", "tests", plan.digest, NOW, "mallory", signer.key())
    origin = msgspec.structs.replace(asked, signature=signer.sign(origin_bytes(asked)))
    yes = Approval(
        clock.new_id(), origin.plan_id, plan.content_hash, plan.operations_hash, plan.digest,
        Approver("mallory", "terminal"), "", NOW, "", signer.key(),
    )  # fmt: skip
    approval = msgspec.structs.replace(yes, signature=signer.sign(signed_bytes(yes)))
    return Bundle(origin, plan, contents, (approval,))


def put(file: Path, bundle: Bundle) -> Path:
    """Writes a bundle as it is."""
    file.write_bytes(bundle_bytes(bundle))
    return file
