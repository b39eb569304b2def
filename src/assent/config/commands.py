"""Commands of one's own: Markdown files whose text `/name` stands for.

Those of a project count only when the person trusts exactly their content (law 9).
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from assent.config.agent_file import Bad
from assent.config.markdown import Reader, ignored, read_front, spelled
from assent.config.places import within
from assent.config.reading import Opener, Source, content
from assent.config.trust import doubt
from assent.core.errors import UsageError
from assent.core.session.slash_command import SlashCommand

FOLDERS = ("command", "commands")
PROJECT = ".opencode"
OWN = frozenset({"help", "mode", "plan"})  # what Assent answers itself
MOST = 200  # files of a folder that are read
OUT = "The command is left out."
UNTRUSTED = (
    "it is the project's, and you do not trust it; `assent trust give` shows what it does and asks"
)


class CommandPlaces(msgspec.Struct, frozen=True):
    """Where commands are looked for: the user's folders, then the workspace's."""

    user: tuple[Path, ...]
    root: bytes

    @property
    def project(self) -> tuple[Path, ...]:
        return tuple(Path(os.fsdecode(self.root)) / PROJECT / name for name in FOLDERS)


class CommandFile(msgspec.Struct, frozen=True):
    """What a file may say; members of other programs are passed over."""

    description: str = ""
    agent: str = ""
    model: str = ""


def command_places(config: Path, home: Path, root: bytes) -> CommandPlaces:
    """Returns the usual places; `config` is Assent's own configuration folder."""
    opencode = home / ".config" / "opencode"
    return CommandPlaces((*(opencode / name for name in FOLDERS), config / "commands"), root)


def load_commands(
    places: CommandPlaces,
    opener: Opener,
    reader: Callable[[], Reader],
    is_trusted: Callable[[str, bytes], bool],
) -> tuple[dict[str, SlashCommand], tuple[str, ...]]:
    """Returns the commands by name, and a warning for each file that cannot be used.

    `is_trusted` tells whether the person trusts a file, named from the root, with this content.
    A person's own command comes before one of the project with the same name.
    """
    own, theirs, warnings = dict[str, SlashCommand](), dict[str, SlashCommand](), list[str]()
    for path in _files(places.user, warnings):
        try:
            source, text = content(path, opener, follow=True)
            _check_own(source, places.root)
            own[path.stem] = _command(path, text, reader, "user")
        except (Bad, UsageError, FileNotFoundError) as error:
            warnings.append(ignored(path, error, OUT))
    for path in _files(_unlinked(places, warnings), warnings):
        try:
            _, text = content(path, opener, follow=False)
            _check_trust(path, text, is_trusted)
            theirs[path.stem] = _command(path, text, reader, "project")
        except (Bad, UsageError, FileNotFoundError) as error:
            warnings.append(ignored(path, error, OUT))
    return {**theirs, **own}, tuple(warnings)


def _files(folders: tuple[Path, ...], warnings: list[str]) -> Iterator[Path]:
    """Lists the Markdown files in some folders, by name."""
    for folder in folders:
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            warnings.append(f"{spelled(folder)} cannot be read: {error.strerror}. It is ignored.")
            continue
        if len(names) > MOST:
            warnings.append(f"{spelled(folder)} has {len(names)} commands; {MOST} are used.")
        yield from (folder / name for name in names[:MOST])


def _unlinked(places: CommandPlaces, warnings: list[str]) -> tuple[Path, ...]:
    """Returns the folders of a project that lie in it and are reached through no symlink."""
    found = []
    for folder in places.project:
        if not os.path.lexists(folder):
            continue
        if within(places.root, os.fsencode(folder)) == f"{PROJECT}/{folder.name}".encode():
            found.append(folder)
        else:
            warnings.append(f"{spelled(folder)} leads elsewhere, through a symlink. It is ignored.")
    return tuple(found)


def _check_own(source: Source, root: bytes) -> None:
    if why := doubt(source, root):
        raise Bad(why)


def _check_trust(path: Path, text: bytes, is_trusted: Callable[[str, bytes], bool]) -> None:
    name = f"{PROJECT}/{path.parent.name}/{path.name}"
    if not is_trusted(name, text):
        raise Bad(UNTRUSTED)


def _command(path: Path, text: bytes, reader: Callable[[], Reader], source: str) -> SlashCommand:
    name = path.stem
    if not name[:1].isalpha() or not name.replace("-", "").replace("_", "").isalnum():
        raise Bad("its name is not made of letters, digits, - and _")
    if name in OWN:
        raise Bad(f"/{name} is Assent's own")
    file, body = read_front(text, CommandFile, reader)
    if source == "project" and file.model.startswith("scripted:"):
        raise Bad("it names a scripted model, which only the user may choose")
    if not body.strip():
        raise Bad("there is no text in it")
    described = " ".join(file.description.split())
    return SlashCommand(name, body.strip(), described, file.agent, file.model, source)
