"""The other files of a user's own skill: what is in its folder can be read, and nothing else."""

import os
from pathlib import Path

import pytest

from assent.core.errors import AssentError, NotFound, Refused
from assent.core.session.skill import Skill
from assent.workspace.skill_files import MAX_FILE_BYTES, SkillFiles


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    folder = tmp_path / "own"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("Do it.\n", encoding="utf-8")
    (folder / "scripts" / "run.sh").write_text("echo hi\n", encoding="utf-8")
    (folder / ".env").write_text("KEY=hunter2\n", encoding="utf-8")
    (folder / "large.txt").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (tmp_path / "secret.txt").write_text("hunter2", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    return Skill("own", "Does it", "Do it.", "user", str(folder))


def test_f137_a_skill_s_own_files_can_be_listed_and_read(skill: Skill) -> None:
    assert SkillFiles().names(skill) == ("large.txt", "scripts/run.sh")
    assert SkillFiles().read(skill, "scripts/run.sh") == b"echo hi\n"
    assert SkillFiles().read(skill, "./scripts/../scripts/run.sh") == b"echo hi\n"


NOT_READ = {
    "above": "../secret.txt",
    "absolute": "/etc/passwd",
    "a symlink": "link.txt",
    "through a symlink": "up/secret.txt",
    "a secret": ".env",
    "too large": "large.txt",
    "a pipe": "pipe",
    "a folder": "scripts",
    "a null byte": "a\0b",
}


@pytest.mark.parametrize("file", NOT_READ.values(), ids=NOT_READ)
def test_f137_nothing_else_is_read(skill: Skill, file: str) -> None:
    with pytest.raises(AssentError) as refused:
        SkillFiles().read(skill, file)
    assert isinstance(refused.value, Refused)
    assert "hunter2" not in refused.value.message


def test_f137_a_file_that_is_not_there_is_named(skill: Skill) -> None:
    for file in ("nothing.md", "no/such.md"):
        with pytest.raises(NotFound, match="has no file"):
            SkillFiles().read(skill, file)
