"""A bare `*` opens no file that other programs obey: what the review protects is careful."""

import pytest

from assent.core.permission.sensitive_paths import PROTECTED_PATHS
from assent.permissions.check import why_secret_path, why_sensitive

OBEYED = (
    ".envrc", ".npmrc", ".zshrc", ".bashrc", ".profile", ".idea/x.xml", ".nvimrc", ".vimrc",
    ".vscode/settings.json", ".devcontainer.json", ".yarnrc.yml", "pip.conf", ".cargo/config.toml",
    ".codex/config.toml", ".claude.json", "lefthook.yaml", ".gitlab-ci.yaml", "cloudbuild.yaml",
    "a/.GitHub/workflows/x.yml", "hooks/pre-push", ".gitattributes", "CLAUDE.md",
    ".config/git/config",
)  # fmt: skip


@pytest.mark.parametrize("path", OBEYED)
def test_a_file_that_programs_obey_is_careful_or_a_secret(path: str) -> None:
    assert why_sensitive(path) or why_secret_path(path)


@pytest.mark.parametrize("row", PROTECTED_PATHS, ids=[row.because for row in PROTECTED_PATHS])
def test_every_protected_row_holds_here(row: object) -> None:
    assert isinstance(row, type(PROTECTED_PATHS[0]))
    assert all(why_sensitive(path) or why_secret_path(path) for path in row.hits)
    assert not any(why_sensitive(path) for path in row.misses)


def test_usual_files_are_not() -> None:
    assert [why_sensitive(path) for path in ("src/app.py", "README.md", ".env.example")] == [
        "",
        "",
        "",
    ]
