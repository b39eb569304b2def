"""Instruction files are found from the user's down to the nearest, and nowhere else."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from assent.workspace.git_state import current_branch
from assent.workspace.instructions import LIMIT, read_instructions


class Place:
    """A workspace with a folder in it, and a user's configuration."""

    def __init__(self, base: Path) -> None:
        base = Path(os.path.realpath(base))
        self.root, self.config = base / "project", base / "config"
        self.cwd = self.root / "a" / "b"
        for folder in (self.cwd, self.config):
            folder.mkdir(parents=True)

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self.root / name).write_text(text, encoding="utf-8")

    def told(self, cwd: Path | None = None) -> list[tuple[str, str]]:
        found = read_instructions(
            os.fsencode(self.root), os.fsencode(cwd or self.cwd), os.fsencode(self.config)
        )
        return [(each.path, each.text) for each in found]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_f135_global_root_and_the_way_down_the_nearest_last(place: Place) -> None:
    (place.config / "AGENTS.md").write_text("Everywhere.", encoding="utf-8")
    place.write({"AGENTS.md": "Root.\n", "a/AGENTS.md": "A.", "a/b/AGENTS.md": "B."})
    assert place.told() == [
        (str(place.config / "AGENTS.md"), "Everywhere."),
        ("AGENTS.md", "Root."),
        ("a/AGENTS.md", "A."),
        ("a/b/AGENTS.md", "B."),
    ]
    assert place.told(place.root)[1:] == [("AGENTS.md", "Root.")]
    assert place.told(place.config)[1:] == [("AGENTS.md", "Root.")]


def test_f135_claude_md_counts_where_agents_md_is_missing(place: Place) -> None:
    place.write({"AGENTS.md": "Ours.", "CLAUDE.md": "Theirs.", "a/CLAUDE.md": "A."})
    assert place.told() == [("AGENTS.md", "Ours."), ("a/CLAUDE.md", "A.")]


def test_f135_a_long_file_is_cut_and_says_so(place: Place) -> None:
    place.write({"AGENTS.md": "x" * (LIMIT + 1)})
    [(_, text)] = place.told()
    assert text.startswith("x" * LIMIT + "\n(Truncated after 32768 bytes;")
    place.write({"AGENTS.md": "x" * LIMIT})
    assert place.told() == [("AGENTS.md", "x" * LIMIT)]


def test_f135_a_symlink_may_lead_to_another_markdown_file_of_the_workspace(place: Place) -> None:
    place.write({"CLAUDE.md": "One text."})
    (place.root / "AGENTS.md").symlink_to("CLAUDE.md")
    assert place.told() == [("AGENTS.md", "One text.")]


def test_f135_nothing_else_is_followed(place: Place) -> None:
    outside = place.config / "secret.md"
    outside.write_text("Secret.", encoding="utf-8")
    place.write({".env": "KEY=1"})
    (place.root / "AGENTS.md").symlink_to(outside)
    (place.root / "a" / "AGENTS.md").symlink_to("../.env")
    (place.cwd / "AGENTS.md").symlink_to("AGENTS.md")
    (place.cwd / "CLAUDE.md").symlink_to("missing.md")
    assert place.told() == []


def test_f135_what_is_no_file_is_passed_over(place: Place) -> None:
    os.mkfifo(place.root / "AGENTS.md")
    (place.root / "a" / "AGENTS.md").mkdir()
    os.mkfifo(place.config / "AGENTS.md")
    place.write({"a/b/AGENTS.md": "  \n"})
    assert place.told() == []


def test_f135_bytes_that_are_no_text_do_no_harm(place: Place) -> None:
    (place.root / "AGENTS.md").write_bytes(b"\xef\xbb\xbfUse \xff tabs.")
    assert place.told() == [("AGENTS.md", "Use \ufffd tabs.")]


def test_the_branch_is_read_where_that_is_cheap(place: Place) -> None:
    root = os.fsencode(place.root)
    assert current_branch(root) == ""
    (place.root / ".git").mkdir()
    place.write({".git/HEAD": "ref: refs/heads/feature/x\n"})
    assert current_branch(root) == "feature/x"
    place.write({".git/HEAD": "0123abcd\n"})
    assert current_branch(root) == ""
