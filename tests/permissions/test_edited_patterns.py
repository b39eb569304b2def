"""How far a person may widen or narrow what a remembered answer covers."""

import pytest

from assent.core.errors import UsageError
from assent.core.permission.rule import PermissionPattern
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.grants import is_edited_pattern, parse_edited_pattern, wider_pattern

FILE = (PermissionPattern("edit", "src/a/x.py", exact=True),)
FILES = (*FILE, PermissionPattern("edit", "src/b/y.py", exact=True))
PYTEST = (PermissionPattern("bash", "pytest *"),)
PUSH = (PermissionPattern("bash", "git push", exact=True),)


@pytest.mark.parametrize(
    ("always", "wider"),
    [
        (FILE, "src/a/**"),
        (FILES, "src/**"),
        ((PermissionPattern("edit", "README.md", exact=True),), "*.md"),
        ((PermissionPattern("edit", "Thing", exact=True),), "**"),
        (PYTEST, "pytest *"),
    ],
)
def test_the_folder_or_the_prefix_is_offered(
    always: tuple[PermissionPattern, ...], wider: str
) -> None:
    assert wider_pattern(always) == PermissionPattern(always[0].permission, wider)


@pytest.mark.parametrize("path", [".env", ".git/config", "../x", "/etc/passwd", "a*b", "AGENTS.md"])
def test_what_is_protected_secret_or_outside_is_only_remembered_exactly(path: str) -> None:
    always = (PermissionPattern("edit", path, exact=True),)
    assert wider_pattern(always) is None
    assert not is_edited_pattern(always, (PermissionPattern("edit", "**"),))


@pytest.mark.parametrize(
    ("always", "typed"),
    [
        (FILE, "docs/**"), (FILE, ""), (FILE, "src/**\n*"), (FILES, "src/a/**"),
        (PYTEST, "*"), (PYTEST, "p*"), (PYTEST, "pytest"), (PYTEST, "pytest; *"),
        (PYTEST, "pytest -p *"), (PYTEST, "pytest* *"), (PUSH, "git push *"), (PUSH, "git *"),
    ],
)  # fmt: skip
def test_what_goes_too_far_is_refused(always: tuple[PermissionPattern, ...], typed: str) -> None:
    with pytest.raises(UsageError):
        parse_edited_pattern(always, typed)
    assert not is_edited_pattern(always, (PermissionPattern(always[0].permission, typed),))


def test_what_is_typed_within_the_limits_counts() -> None:
    assert parse_edited_pattern(FILES, " ** ") == PermissionPattern("edit", "**")
    assert parse_edited_pattern(FILE, "src/a/x.py") == FILE[0]
    assert parse_edited_pattern(PYTEST, "pytest tests *").pattern == "pytest tests *"
    assert is_edited_pattern(FILE, (PermissionPattern("edit", "src/**"),))
    assert not is_edited_pattern(FILE, FILE), "that is what was offered"
    assert not is_edited_pattern(FILE, (PermissionPattern("bash", "src/**"),))


@pytest.mark.parametrize(
    ("line", "sets_only"),
    [
        ("VAR=value pytest -q", True), ("PYTHONPATH=src pytest && ls", True),
        ("VAR=$(date) pytest", False), ("VAR=$OTHER pytest", False), ("VAR=1", False),
        ("VAR=1 rm -rf /", False), ("pytest", False),
    ],
)  # fmt: skip
def test_f84_a_line_that_sets_literal_variables_alone_is_known(line: str, sets_only: bool) -> None:
    found = classify_command_line(line)
    assert (found.sets_only, found.certain) == (sets_only, line == "pytest")
