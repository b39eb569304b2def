"""Small plans of every kind, for tests that combine, apply, interrupt and undo them."""

from collections.abc import Iterable, Sequence

import msgspec

from assent.core.plan.approval import Approval, ApprovedPlan, Approver, approved
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    MoveFile,
    Operation,
    WriteFile,
    footprint,
    inverse,
)
from assent.core.plan.plan import Plan
from assent.testing.memory_workspace import MemoryNode

NOW = "2026-01-01T00:00:00.000Z"


class PlanCase(msgspec.Struct, frozen=True):
    """Files to start with, operations to apply, and the new contents that those need."""

    name: str
    start: dict[bytes, MemoryNode]
    operations: tuple[FileOperation, ...]
    contents: tuple[bytes, ...] = ()

    @property
    def finish(self) -> dict[bytes, MemoryNode]:
        """The files after the operations."""
        by_state = {node.state: node for node in self.nodes}
        files = dict(self.start)
        for op in self.operations:
            for path, _, after in footprint(op):
                files.pop(path, None)
                if after is not None:
                    files[path] = by_state[after]
        return files

    @property
    def nodes(self) -> list[MemoryNode]:
        """Every node that occurs, so that its content can be kept as a blob."""
        written = [
            MemoryNode(content, after.mode, after.kind)
            for op in self.operations
            for _, _, after in footprint(op)
            if after is not None
            for content in self.contents
        ]
        return [*self.start.values(), *written]


def single_cases(stem: bytes) -> list[PlanCase]:
    """Returns one case of each kind; the stem makes the paths of two cases different."""
    old, text = MemoryNode(b"old of " + stem), MemoryNode(b"new of " + stem)
    tool, link = MemoryNode(b"old of " + stem, 0o755), MemoryNode(b"to/" + stem, 0o777, "link")
    there, deep = stem + b"_a", stem + b"_x/y/z"

    def case(name: str, start: dict[bytes, MemoryNode], *operations: FileOperation) -> PlanCase:
        return PlanCase(name, start, operations, (old.content, text.content, link.content))

    return [
        case("create", {}, WriteFile(there, None, text.state)),
        case("create_deep", {}, WriteFile(deep, None, text.state)),
        case("replace", {there: old}, WriteFile(there, old.state, text.state)),
        case("chmod", {there: old}, WriteFile(there, old.state, tool.state)),
        case("link", {}, WriteFile(there, None, link.state)),
        case("file_by_link", {there: old}, WriteFile(there, old.state, link.state)),
        case("delete", {there: old}, DeleteFile(there, old.state)),
        case("prune", {deep: old}, DeleteFile(deep, old.state, 3)),
        case("move", {there: old}, MoveFile(there, stem + b"_b", old.state)),
        case("move_deep", {there: old}, MoveFile(there, deep, old.state)),
        case("case_move", {there: old}, MoveFile(there, stem + b"_A", old.state)),
        case(
            "file_to_folder",
            {there: old},
            DeleteFile(there, old.state),
            WriteFile(there + b"/in", None, text.state),
        ),
        case(
            "folder_to_file",
            {there + b"/in/it": old},
            WriteFile(there, None, text.state),
            DeleteFile(there + b"/in/it", old.state),
        ),
    ]


def combined_case(cases: Sequence[PlanCase]) -> PlanCase:
    """Joins cases into one plan; their operations alternate, so that they interleave."""
    start = {path: node for case in cases for path, node in case.start.items()}
    longest = max(len(case.operations) for case in cases)
    rounds = [case.operations[at : at + 1] for at in range(longest) for case in cases]
    contents = tuple(content for case in cases for content in case.contents)
    operations = tuple(op for turn in rounds for op in turn)
    return PlanCase("+".join(case.name for case in cases), start, operations, contents)


def undo_case(case: PlanCase, made: Iterable[bytes]) -> PlanCase:
    """Returns the case that undoes another one."""
    gone = frozenset(made)
    inverses = [inverse(op, gone) for op in reversed(case.operations)]
    operations = tuple(op for op in inverses if isinstance(op, FileOperation))
    contents = tuple(node.content for node in case.nodes)
    return PlanCase("undo " + case.name, case.finish, operations, contents)


def approved_plan(operations: Sequence[Operation], text: bytes = b"# A plan\n") -> ApprovedPlan:
    """Returns a plan with a matching approval, as if a user had approved it."""
    plan = Plan(text, tuple(operations))
    approval = Approval(
        "approval", "plan", plan.content_hash, plan.operations_hash, plan.digest,
        Approver("tester", "test"), "", NOW,
    )  # fmt: skip
    return approved(plan, approval, NOW, lambda _: True)
