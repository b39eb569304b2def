"""Careful: files whose change makes other programs do things, so that even auto-edit asks."""

from fnmatch import fnmatchcase
from typing import Final

from assent.core.paths import folded

# why: names at any depth, in small letters; a folder stands for everything below it.
CAREFUL: Final[dict[str, tuple[str, ...]]] = {
    "it says how agents and Assent work here": (
        ".opencode", "opencode.json", "opencode.jsonc", "agents.md", "claude.md", "gemini.md",
        ".claude", ".cursor", ".cursorrules", ".mcp.json", ".windsurfrules", ".clinerules",
        ".github/copilot-instructions.md",
    ),
    "editors run what it says": (".vscode/tasks.json", ".vscode/launch.json", ".devcontainer"),
    "git runs what it says": (
        ".githooks", ".git-hooks", "githooks", "git-hooks", ".husky", ".hooks", "lefthook.y*ml",
        ".lefthook.y*ml", ".pre-commit-config.y*ml", ".pre-commit-hooks.y*ml", ".lintstagedrc*",
        ".gitconfig", ".gitattributes", ".gitmodules", "hooks/pre-*", "hooks/post-*",
        "hooks/*commit-msg", "hooks/applypatch-msg", "hooks/update",
    ),
    "continuous integration runs what it says": (
        ".github/workflows", ".github/actions", ".gitlab-ci.y*ml", ".gitlab/ci", ".circleci",
        "jenkinsfile*", "azure-pipelines.y*ml", ".azure-pipelines", ".travis.y*ml", ".drone.y*ml",
        "bitbucket-pipelines.y*ml", ".buildkite", ".woodpecker", ".woodpecker.y*ml",
        ".forgejo/workflows", ".gitea/workflows", "appveyor.y*ml", ".appveyor.y*ml",
        ".cirrus.y*ml", ".ci", "cloudbuild.y*ml",
    ),
}  # fmt: skip


def careful(path: str) -> str:
    """Returns why a person wants to see a change of this file; nothing if they need not."""
    whole = folded(path.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    parts = whole.strip("/").split("/")
    for why, names in CAREFUL.items():
        if any(_stands_for(name, parts) for name in names):
            return why
    return ""


def _stands_for(name: str, parts: list[str]) -> bool:
    size = name.count("/") + 1
    starts = range(len(parts) - size + 1)
    return any(fnmatchcase("/".join(parts[at : at + size]), name) for at in starts)
