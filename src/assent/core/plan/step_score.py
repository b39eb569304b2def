"""The score and risk of a plan's step, by the rules that docs/plan-file.md lists."""

from collections.abc import Sequence
from typing import Final

import msgspec

from assent.core.paths import base_name
from assent.core.permission.sensitive_paths import protected_reason
from assent.core.plan.operation import (
    DeleteFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)
from assent.core.plan.steps import MAX_SCORE, PlanStep, StepStatus
from assent.core.plan.structure import PlanStructure, named_paths
from assent.core.session.event import RiskLevel

FILE_POINTS, MAX_FILE_POINTS = 6, 30
LINES_PER_POINT, MAX_LINE_POINTS = 10, 25
COMMAND_POINTS, MAX_COMMAND_POINTS = 10, 20
DELETION_POINTS, MAX_DELETION_POINTS = 10, 20
PROTECTED_POINTS: Final = 25
DEPENDENCY_POINTS: Final = 15
LEVELS: Final[tuple[RiskLevel, ...]] = ("low", "medium", "high")
# Files in which programs declare what they depend on.
MANIFESTS: Final = frozenset(
    b"pyproject.toml setup.py setup.cfg Pipfile requirements.txt environment.yml package.json "
    b"deno.json Cargo.toml go.mod Gemfile composer.json pom.xml build.gradle build.gradle.kts "
    b"mix.exs pubspec.yaml Package.swift conanfile.txt vcpkg.json".split()
)


class StepFacts(msgspec.Struct, frozen=True):
    """What the score of a step is made of."""

    files: int = 0
    lines: int = 0
    commands: int = 0
    protected: bool = False
    deletions: int = 0
    dependencies: int = 0


def step_score(facts: StepFacts) -> int:
    """Returns how much there is to a step, from 0 to 100."""
    points = (
        min(FILE_POINTS * facts.files, MAX_FILE_POINTS),
        min(-(-facts.lines // LINES_PER_POINT), MAX_LINE_POINTS),
        min(COMMAND_POINTS * facts.commands, MAX_COMMAND_POINTS),
        min(DELETION_POINTS * facts.deletions, MAX_DELETION_POINTS),
        PROTECTED_POINTS * facts.protected,
        DEPENDENCY_POINTS * bool(facts.dependencies),
    )
    return min(sum(points), MAX_SCORE)


class OperationFacts(msgspec.Struct, frozen=True):
    """What a review found out about an operation."""

    op: Operation
    risks: tuple[str, ...] = ()
    added: int = 0  # lines
    removed: int = 0
    shown: bool = True  # False: its content is binary or too large to count lines
    risk: RiskLevel = "low"  # as the review rates it


def step_facts(step: PlanStep, operations: Sequence[OperationFacts]) -> StepFacts:
    """Returns what a step's score is made of; without operations, from the files that it names."""
    if not operations:
        paths = named_paths(f"{step.text}\n{step.below}")
        return StepFacts(
            len(paths), protected=any(protected_reason(path.encode()) for path in paths)
        )
    files = {path for one in operations for path, _, _ in footprint(one.op)}
    return StepFacts(
        len(files),
        sum(
            one.added + one.removed if one.shown else LINES_PER_POINT * MAX_LINE_POINTS
            for one in operations
        ),
        sum(isinstance(one.op, RunCommand) for one in operations),
        any("protected" in one.risks for one in operations),
        sum(isinstance(one.op, DeleteFile) or "deletes" in one.risks for one in operations),
        sum(map(_adds_dependency, operations)),
    )


def _adds_dependency(one: OperationFacts) -> bool:
    """Tells whether an operation installs something, or adds lines to a list of dependencies."""
    if isinstance(one.op, RunCommand):
        return "installs" in one.risks
    name = base_name(one.op.path)
    listed = name in MANIFESTS or (name.startswith(b"requirements") and name.endswith(b".txt"))
    return isinstance(one.op, WriteFile) and listed and (bool(one.added) or not one.shown)


def step_risk(operations: Sequence[OperationFacts], facts: StepFacts) -> RiskLevel:
    """Returns the highest risk of a step's operations, or of the files that it names."""
    found: set[RiskLevel] = {one.risk for one in operations}
    if facts.protected:
        found.add("high")
    return max(found, key=LEVELS.index, default="low")


def structure_risks(
    structure: PlanStructure, steps: Sequence[StepStatus], *, operations: bool
) -> tuple[str, ...]:
    """Returns what the structure of a plan lacks, as codes; they are hints and refuse nothing.

    A template of which only the goal was filled in is not flagged if the plan has operations:
    these are what will be done.
    """
    bare = structure.is_template and operations
    found = {
        "step_order": any(one.problems for one in steps),
        "no_verification": not structure.verifies and not bare,
        "no_steps": not steps and not bare,
    }
    return tuple(code for code, applies in found.items() if applies)
