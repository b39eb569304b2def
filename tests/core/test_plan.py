"""The plan's text: what it starts with, what it declares, and which files its scope covers."""

from typing import Literal

import pytest

from assent.core.digest import sha256
from assent.core.errors import InvalidPlan
from assent.core.plan.operation import FileState, WriteFile
from assent.core.plan.plan import Plan, Scope, declared_reliance, declared_scope, plan_template

DECLARED = b"""---
scope: {files: [src/*], commands: [make]}
relies_on: [go.mod, "caf\xc3\xa9"]
---
# Plan
"""


def test_f23_a_new_plan_starts_with_goal_changes_and_verification() -> None:
    assert plan_template("add_login-page", "Let people in.") == (
        b"# Add login page\n\n## Goal\n\nLet people in.\n\n"
        b"## Proposed changes\n\n- [ ] \n\n"
        b"## Verification\n\n- [ ] How a reader can tell that it worked.\n"
    )


def test_f23_a_plan_without_a_goal_asks_for_one() -> None:
    lines = plan_template("x", "").decode().splitlines()
    assert lines[4] == "What should be true afterwards, and why."
    assert [line for line in lines if line.startswith("#")] == [
        "# X", "## Goal", "## Proposed changes", "## Verification",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "title"), [("_", "_"), ("--", "--"), ("a__b", "A  b")])
def test_a_plan_always_has_a_title(name: str, title: str) -> None:
    assert plan_template(name, "").decode().splitlines()[0] == f"# {title}"


def test_a_template_declares_nothing() -> None:
    assert declared_scope(plan_template("x", "---\nscope: {files: [a]}")) == Scope()
    assert declared_reliance(plan_template("x", "")) == ()


def test_a_plan_declares_scope_and_reliance() -> None:
    assert declared_scope(DECLARED) == Scope(("src/*",), ("make",))
    assert declared_reliance(DECLARED) == (b"go.mod", "café".encode())


@pytest.mark.parametrize("key", ["files", "commands"])
def test_a_scope_takes_nothing_out(key: str) -> None:
    with pytest.raises(InvalidPlan, match="cannot exclude anything"):
        declared_scope(f'---\nscope:\n  {key}: [a, "!b"]\n---\n'.encode())


@pytest.mark.parametrize(
    ("export", "content", "kind", "prose"),
    [
        (b"PLAN.md", b"# T\n", "file", True),
        (b"", b"# T\n", "file", False),
        (b"other.md", b"# T\n", "file", False),
        (b"PLAN.md", b"# U\n", "file", False),
        (b"PLAN.md", b"# T\n", "link", False),
    ],
)
def test_only_the_one_export_leaves_a_plan_prose(
    export: bytes, content: bytes, kind: Literal["file", "link"], prose: bool
) -> None:
    op = WriteFile(b"PLAN.md", None, FileState(sha256(content), len(content), 0o644, kind))
    assert Plan(b"# T\n", (op,), export=export).is_text_only is prose
    assert not Plan(b"# T\n", (op, op), export=export).is_text_only
    assert Plan(b"# T\n", ()).is_text_only


@pytest.mark.parametrize(
    ("globs", "path", "wanted"),
    [
        ((), "anything", True),
        (("src/*",), "src/a.py", True),
        (("src/*",), "src/deep/er/a.py", True),
        (("src/*",), "src", False),
        (("src/*",), "lib/src/a.py", False),
        (("*.py",), "deep/a.py", True),
        (("*.py",), "a.pyc", False),
        (("docs/?.md",), "docs/a.md", True),
        (("docs/?.md",), "docs/ab.md", False),
        (("a[0-9]",), "a7", True),
        (("README.md",), "readme.md", False),
        (("a", "b"), "b", True),
        (("a\nb",), "a\nb", True),
    ],
)
def test_a_scope_covers_what_its_globs_match(
    globs: tuple[str, ...], path: str, wanted: bool
) -> None:
    assert Scope(globs).covers(path) is wanted


def test_a_scope_of_commands_alone_declares_no_files() -> None:
    assert Scope((), ("make",)).covers("any")
