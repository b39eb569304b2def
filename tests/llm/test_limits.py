"""Limits on what a server sends are in one module, and each says why it is what it is."""

import ast
from pathlib import Path

import assent.llm
from assent.core.llm import AnswerSettings
from assent.llm import limits
from assent.llm.wires.wire import MB

PACKAGE = Path(assent.llm.__file__).parent
# Numbers that are no limits, but words of a protocol.
WORDS = {"OK", "NO_WAIT", "_UPGRADE"}
# Limits of other things: a file on this disk, the length of a key, a request, how arguments are
# mended, and a unit.
OTHERS = {"LIMIT", "SECRET", "DEFAULT_MAX_TOKENS", "FALLBACK_MAX_TOKENS", "_NEWEST", "_DEPTH", "MB"}


def _numbers(path: Path) -> list[str]:
    """Returns the names to which a module assigns a number."""
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and _is_number(node.value):
            found += [ast.unparse(target) for target in node.targets]
    return found


def _is_number(value: ast.expr) -> bool:
    """Tells whether a value is computed from numbers alone."""
    operators = (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    leaves = [node for node in ast.walk(value) if not isinstance(node, operators)]
    return all(
        isinstance(leaf, ast.Constant) and type(leaf.value) in (int, float) for leaf in leaves
    )


def test_limits_are_in_one_place() -> None:
    stray = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "limits.py"
        for name in set(_numbers(path)) - WORDS - OTHERS
    }
    assert not stray


def test_every_limit_has_its_reason_above_it() -> None:
    lines = Path(limits.__file__).read_text(encoding="utf-8").splitlines()
    assigned = [at for at, line in enumerate(lines) if line[:1].isupper() and " = " in line]
    assert len(assigned) > 20
    assert [lines[at] for at in assigned if not lines[at - 1].startswith("# ")] == []


def test_an_event_can_hold_the_largest_answer() -> None:
    """One event of the Responses API repeats all that was said."""
    most = AnswerSettings()
    said = most.text_mb + most.reasoning_mb + most.arguments_mb
    assert said * MB < limits.MAX_EVENT_BYTES
