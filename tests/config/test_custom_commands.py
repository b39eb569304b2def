"""Commands of one's own: where they come from, and that a project's need a person's trust."""

import os
from pathlib import Path

import pytest

from assent.config.config_file import OTHERS_CAN_WRITE
from assent.config.custom_commands import CommandFolders, command_folders, load_custom_commands
from assent.core.session.custom_command import SlashCommand


class Desk:
    """A user's folder and a project, and how loading them goes."""

    def __init__(self, base: Path) -> None:
        self.user = base / "config" / "commands"
        self.root = base / "project"
        self.project = self.root / ".opencode" / "commands"
        for folder in (self.user, self.project):
            folder.mkdir(parents=True)
        self.trusted: set[tuple[str, bytes]] = set()

    def load(self) -> tuple[dict[str, SlashCommand], tuple[str, ...]]:
        root = os.fsencode(os.path.realpath(self.root))
        return load_custom_commands(
            CommandFolders((self.user,), root),
            os.open,
            lambda name, content: (name, content) in self.trusted,
        )


def put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_f138_a_file_is_a_command_with_a_description_an_agent_and_a_model(desk: Desk) -> None:
    front = "description: Looks at\n  a change\nagent: explore\nmodel: work/m\nsubtask: true"
    put(desk.user / "review.md", f"---\n{front}\n---\n\nReview $ARGUMENTS.\n")
    put(desk.user / "short.md", "Be short.")
    commands, warnings = desk.load()
    assert warnings == ()
    assert commands == {
        "review": SlashCommand(
            "review", "Review $ARGUMENTS.", "Looks at a change", "explore", "work/m"
        ),
        "short": SlashCommand("short", "Be short."),
    }


def test_f138_a_project_s_command_counts_when_its_content_is_trusted(desk: Desk) -> None:
    put(desk.project / "deploy.md", "Deploy.")
    commands, warnings = desk.load()
    assert commands == {}
    assert len(warnings) == 1
    assert "`assent trust give`" in warnings[0]
    desk.trusted.add((".opencode/commands/deploy.md", b"Deploy."))
    commands, warnings = desk.load()
    assert (commands["deploy"].source, warnings) == ("project", ())
    put(desk.project / "deploy.md", "Deploy at once.")
    assert desk.load()[0] == {}


def test_f138_a_person_s_own_command_comes_first(desk: Desk) -> None:
    put(desk.user / "same.md", "Mine.")
    put(desk.project / "same.md", "Theirs.")
    desk.trusted.add((".opencode/commands/same.md", b"Theirs."))
    assert desk.load()[0]["same"].template == "Mine."


BAD = {
    "a name of ours": ("mode.md", "x", "is a built-in command"),
    "a strange name": ("a b.md", "x", "letters, digits"),
    "no text": ("empty.md", "---\nagent: x\n---\n \n", "no text"),
    "no end": ("open.md", "---\nagent: x\n", "is not closed"),
    "no YAML": ("yaml.md", "---\n{{{\n---\nx", "not valid YAML"),
    "a wrong type": ("typed.md", "---\nagent: [1]\n---\nx", "agent"),
    "not UTF-8": ("latin.md", "caf\udce9", "UTF-8"),
}


@pytest.mark.parametrize(("name", "text", "why"), BAD.values(), ids=BAD)
def test_f138_a_bad_file_spoils_no_other(desk: Desk, name: str, text: str, why: str) -> None:
    (desk.user / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    (desk.user / name).chmod(0o644)
    put(desk.user / "good.md", "Good.")
    commands, warnings = desk.load()
    assert list(commands) == ["good"]
    assert len(warnings) == 1
    assert why in warnings[0]


def test_f138_a_file_that_others_can_write_is_nobody_s_word(desk: Desk) -> None:
    put(desk.user / "open.md", "Anybody's.")
    (desk.user / "open.md").chmod(0o666)
    commands, warnings = desk.load()
    assert commands == {}
    assert OTHERS_CAN_WRITE in warnings[0]


def test_f138_no_symlink_of_a_project_is_followed(desk: Desk, tmp_path: Path) -> None:
    put(tmp_path / "else.md", "Else.")
    (desk.project / "link.md").symlink_to(tmp_path / "else.md")
    desk.trusted.add((".opencode/commands/link.md", b"Else."))
    (tmp_path / "folder").mkdir()
    put(tmp_path / "folder" / "more.md", "More.")
    (desk.root / ".opencode" / "command").symlink_to(tmp_path / "folder")
    desk.trusted.add((".opencode/command/more.md", b"More."))
    commands, warnings = desk.load()
    assert commands == {}
    assert ["symlink" in warning for warning in warnings] == [True, True]


def test_f138_the_usual_places(tmp_path: Path) -> None:
    places = command_folders(tmp_path / "own", tmp_path, b"/ws")
    opencode = tmp_path / ".config" / "opencode"
    assert places.user == (opencode / "command", opencode / "commands", tmp_path / "own/commands")
    assert places.project == (Path("/ws/.opencode/command"), Path("/ws/.opencode/commands"))
