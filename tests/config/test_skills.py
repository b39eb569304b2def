"""Skills: where they come from, what bounds them, and that a project's need a person's trust."""

import os
from pathlib import Path

import pytest

from assent.config.config_file import IN_WORKSPACE, OTHERS_CAN_WRITE
from assent.config.skills import (
    MAX_SKILL_BYTES,
    MAX_SKILLS,
    SkillFolders,
    load_skills,
)
from assent.core.session.skill import Skill, skill_lines

TEXT = "---\nname: {name}\ndescription: Does\n  a thing\n---\n\nDo it well.\n"


class Desk:
    """A user's skills and a project's, and how loading them goes."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.user = base / "config" / "skills"
        self.root = Path(os.path.realpath(base / "project"))
        self.opencode = self.root / ".opencode" / "skills"
        self.claude = self.root / ".claude" / "skills"
        for folder in (self.user, self.opencode, self.claude):
            folder.mkdir(parents=True)
        self.trusts = True

    def load(self) -> tuple[dict[str, Skill], tuple[str, ...]]:
        places = SkillFolders(self.user, os.fsencode(self.root))
        return load_skills(places, os.open, lambda name, content: self.trusts)

    def only(self) -> Skill:
        skills, warnings = self.load()
        assert warnings == ()
        [skill] = skills.values()
        return skill


def put(place: Path, name: str, text: str = TEXT) -> Path:
    folder = place / name
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_text(text.format(name=name), encoding="utf-8")
    (folder / "SKILL.md").chmod(0o644)
    return folder


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_f137_all_three_places_are_read(desk: Desk) -> None:
    own = put(desk.user, "own")
    put(desk.opencode, "ours")
    put(desk.claude, "theirs")
    skills, warnings = desk.load()
    said = ("Does a thing", "Do it well.")
    assert warnings == ()
    assert skills == {
        "own": Skill("own", *said, "user", str(own)),
        "ours": Skill("ours", *said, "project", ".opencode/skills/ours"),
        "theirs": Skill(
            "theirs", "Does a thing", "Do it well.", "project", ".claude/skills/theirs"
        ),
    }
    assert skill_lines(skills.values()).splitlines()[0] == "- ours: Does a thing"


def test_f137_the_user_s_counts_before_a_project_s_of_the_same_name(desk: Desk) -> None:
    for place in (desk.user, desk.opencode, desk.claude):
        put(place, "same")
    skills, warnings = desk.load()
    assert [skill.source for skill in skills.values()] == ["user"]
    assert len(warnings) == 2
    assert all("has the name of another skill, same" in each for each in warnings)


def test_f137_a_project_s_counts_once_its_content_is_trusted(desk: Desk) -> None:
    put(desk.claude, "one")
    put(desk.opencode, "two")
    asked: list[str] = []
    desk.trusts = False
    skills, [warning] = desk.load()
    assert skills == {}
    assert "not offered, because you do not trust them: two, one." in warning
    places = SkillFolders(desk.user, os.fsencode(desk.root))
    load_skills(places, os.open, lambda name, content: bool(asked.append(name)))
    assert asked == [".opencode/skills/two/SKILL.md", ".claude/skills/one/SKILL.md"]


BROKEN = {
    "no front matter": ("Do it.", "name must have"),
    "unclosed": ("---\nname: x\n", "not closed"),
    "not YAML": ("---\nname: [x\n---\nDo it.", "not valid YAML"),
    "an alias": ("---\nname: &a x\ndescription: *a\n---\nDo it.", "alias"),
    "a list": ("---\n- name\n---\nDo it.", "not a table"),
    "a number": ("---\nname: 5\ndescription: x\n---\nDo it.", "not a text"),
    "another name": ("---\nname: Ünsafe Name\ndescription: x\n---\nDo it.", "name must have"),
    "a path": ("---\nname: ../x\ndescription: x\n---\nDo it.", "name must have"),
    "a long name": (f"---\nname: {'x' * 65}\ndescription: x\n---\nDo it.", "name must have"),
    "no description": ("---\nname: x\n---\nDo it.", "description must have"),
    "a long description": (
        f"---\nname: x\ndescription: {'y' * 1025}\n---\nDo it.",
        "description must have",
    ),
    "no text": ("---\nname: x\ndescription: y\n---\n\n", "has no text"),
    "too long": (f"---\nname: x\ndescription: y\n---\n{'z' * MAX_SKILL_BYTES}", "is longer than"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "why"), BROKEN.values(), ids=BROKEN)
def test_f137_a_broken_one_is_named_and_the_others_count(desk: Desk, text: str, why: str) -> None:
    put(desk.user, "good")
    folder = put(desk.user, "broken")
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    skills, [warning] = desk.load()
    assert list(skills) == ["good"]
    assert "broken/SKILL.md cannot be used: " in warning
    assert why in warning
    assert warning.endswith("The skill was skipped.")


def test_f137_hidden_characters_are_written_out(desk: Desk) -> None:
    front = "---\nname: sly\ndescription: Do\u202eit\n---\n"
    put(desk.user, "sly", front + "Be\u200bgood\U000e0041\x1b[2J\r\nNow.\n")
    skill = desk.only()
    assert skill.description == "Do<U+202E>it"
    assert skill.text == "Be<U+200B>good<U+E0041><U+001B>[2J\nNow."


def test_f137_at_most_some_are_offered(desk: Desk) -> None:
    for n in range(MAX_SKILLS + 3):
        put(desk.user, f"s{n:03}")
    skills, [warning] = desk.load()
    assert len(skills) == MAX_SKILLS
    assert f"{MAX_SKILLS + 3} skills were found" in warning


def test_f137_a_symlink_that_leads_outside_is_refused(desk: Desk) -> None:
    outside = put(desk.base, "outside")
    (desk.claude / "away").symlink_to(outside)
    inside = put(desk.claude, "inside")
    (desk.opencode / "file").mkdir()
    (desk.opencode / "file" / "SKILL.md").symlink_to(inside / "SKILL.md")
    skills, warnings = desk.load()
    assert list(skills) == ["inside"]
    assert len(warnings) == 2
    assert "away/SKILL.md cannot be used: it points outside the workspace" in warnings[1]
    desk.claude.rename(desk.root / "moved")
    desk.claude.symlink_to(desk.base)
    assert list(desk.load()[0]) == []


def test_f137_others_cannot_write_the_user_s_skills(desk: Desk) -> None:
    folder = put(desk.user, "own")
    (folder / "SKILL.md").chmod(0o666)
    skills, [warning] = desk.load()
    assert skills == {}
    assert OTHERS_CAN_WRITE in warning
    put(desk.root, "planted")
    (folder / "SKILL.md").unlink()
    folder.rmdir()
    folder.symlink_to(desk.root / "planted")
    skills, [warning] = desk.load()
    assert skills == {}
    assert IN_WORKSPACE in warning


def test_f137_special_files_do_not_block(desk: Desk) -> None:
    (desk.user / "pipe").mkdir()
    os.mkfifo(desk.user / "pipe" / "SKILL.md")
    (desk.user / "empty").mkdir()
    (desk.user / "notes.txt").write_text("no folder", encoding="utf-8")
    skills, [warning] = desk.load()
    assert skills == {}
    assert "not a regular file" in warning
