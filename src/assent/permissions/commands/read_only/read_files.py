"""The files that a read-only command line would open, by its text alone."""

from collections.abc import Iterator
from posixpath import join, normpath

from assent.permissions.commands.read_only.classifier import (
    ChangeFolder,
    ReadOnlyCommand,
    read_only_stages,
)

OUTSIDE_PREFIXES = ("/", "~", "..")


def files_read_by(text: str) -> tuple[str, ...]:
    """Returns the files that a command line names, as seen from where it starts.

    A folder that it enters is among them where it may lie outside the workspace.

    Raises Refused unless every command in it only reads.
    """
    folder, found = "", []
    for stage in read_only_stages(text):
        if isinstance(stage.work, ChangeFolder):
            folder = join(folder, stage.work.folder)
            found += [folder] if normpath(folder).startswith(OUTSIDE_PREFIXES) else []
        else:
            found += [join(folder, name) for each in stage.work for name in _named(each)]
            found += [folder or "." for each in stage.work[:1] if _looks_around(each)]
    return tuple(normpath(name) for name in found)


def _looks_around(reading: ReadOnlyCommand) -> bool:
    """Tells whether a command that names no file goes through those of the folder it is in."""
    return not reading.reads and (reading.descends or reading.command.name == "git")


def _named(reading: ReadOnlyCommand) -> Iterator[str]:
    """Yields the names of files, also those that git looks for in a commit: `HEAD:.env`."""
    yield from (word.text for word in reading.reads)
    if reading.command.name == "git":
        yield from (word.text.rpartition(":")[2] for word in reading.words if ":" in word.text)
