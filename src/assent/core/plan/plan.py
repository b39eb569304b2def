"""The plan: an immutable text with exact operations, named by its digest."""

from functools import cached_property
from typing import Final

import msgspec

from assent.core.digest import export_digest, operation_ids, operations_hash, plan_digest, sha256
from assent.core.errors import InvalidPlan
from assent.core.plan.front_matter import front_matter
from assent.core.plan.operation import Operation, WriteFile
from assent.core.text.glob_pattern import FNMATCH, glob_matches

WHAT_AND_WHY: Final = "What should be true afterwards, and why."  # placeholders of a new plan
HOW_TO_VERIFY: Final = "How a reader can tell that it worked."

NO_SCOPE = (
    "This text plan declares no `scope.files` in its front matter, so the build asks about every "
    "change."
)


class Scope(msgspec.Struct, frozen=True):
    """Globs and command prefixes that a plan declares it may touch; empty means not declared."""

    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        """Tells whether a file is inside the scope; `*` matches any characters, `/` too."""
        if not self.files:
            return True
        return any(glob_matches(path, glob, FNMATCH) for glob in self.files)


class ReliedOnFile(msgspec.Struct, frozen=True, order=True):
    """A file that the plan does not touch but relies on."""

    path: bytes
    digest: str


class Plan(msgspec.Struct, frozen=True, dict=True):
    """What a user approves; it alone determines what the executor does (law 4).

    The value never changes, so each digest is computed once and cached.
    """

    text: bytes
    operations: tuple[Operation, ...]
    scope: Scope = Scope()
    relied_on: tuple[ReliedOnFile, ...] = ()
    workspace: str = ""
    export: bytes = b""  # the path of the one operation, if that is what plan.export added

    @cached_property
    def content_hash(self) -> str:
        return sha256(self.text)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return operation_ids(self.operations)

    @cached_property
    def operations_hash(self) -> str:
        return operations_hash(self.ids)

    @cached_property
    def digest(self) -> str:
        plain = plan_digest(
            self.content_hash,
            self.operations_hash,
            (self.scope.files, self.scope.commands),
            [(file.path, file.digest) for file in self.relied_on],
            self.workspace,
        )
        return export_digest(plain, self.export) if self.export else plain

    @property
    def is_text_only(self) -> bool:
        """Whether a model has to build it: it has no operation except the configured export."""
        return not self.operations or (
            len(self.operations) == 1 and self.is_export(self.operations[0])
        )

    @property
    def covers_nothing(self) -> bool:
        """Whether it is a text plan without a scope, so that every single change is asked about."""
        return self.is_text_only and not self.scope.files

    def is_export(self, op: Operation) -> bool:
        """Tells whether an operation is the export that the setting added, not a similar one."""
        return (
            isinstance(op, WriteFile)
            and op.path == self.export
            and (op.after.kind, op.after.digest) == ("file", self.content_hash)
        )


def declared_scope(text: bytes) -> Scope:
    """Reads the scope that the Markdown declares; files cannot be excluded from it."""
    declared = front_matter(text)
    for entry in (*declared.files, *declared.commands):
        if entry.startswith("!"):
            raise InvalidPlan(
                f"The scope in the front matter contains {entry!a}. `!` cannot exclude anything; "
                "list only what the plan may change.",
                "assent plan write FILE",
            )
    return Scope(declared.files, declared.commands)


def declared_reliance(text: bytes) -> tuple[bytes, ...]:
    """Reads the files that the Markdown says it relies on."""
    return tuple(path.encode() for path in front_matter(text).relies_on)


def is_template_text(text: bytes, name: str, goal: str, *, first: bool) -> bool:
    """Tells whether a plan's text is empty or still the template.

    `first`: it is the text that the plan was created with. Notes of earlier approvals may follow
    that template; they are not planned for yet.
    """
    bare = plan_template(name, goal)
    return not text.strip() or text == bare or (first and text.startswith(bare))


def plan_template(name: str, goal: str) -> bytes:
    """Returns the Markdown that a new plan starts with."""
    title = name.replace("_", " ").replace("-", " ").strip().capitalize() or name
    return (
        f"# {title}\n\n## Goal\n\n{goal or WHAT_AND_WHY}\n\n"
        "## Proposed changes\n\n- [ ] \n\n"
        f"## Verification\n\n- [ ] {HOW_TO_VERIFY}\n"
    ).encode()
