"""The user's pager: which program it is, and how it is shown a long text."""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from assent.app.settings import locate_workspace
from assent.core.errors import NotFound, Refused

DEFAULT_PAGER: Final = "less"
_RAW: Final = "--raw-control-chars"  # or -r, or -R


class Pager(NamedTuple):
    """A program that shows a text page by page, and how it is started."""

    line: tuple[bytes, ...]
    environment: Mapping[str, str]
    shows_color: bool

    @property
    def name(self) -> str:
        return os.fsdecode(os.path.basename(self.line[0]))

    def show(self, texts: Iterable[str], *, ends_on_interrupt: bool = False) -> int:
        """Shows lines, waits until the pager is closed, and returns its exit code."""
        from assent.sandbox.runner.user_program import pipe_to_foreground

        lines = (f"{text}\n".encode("utf-8", "backslashreplace") for text in texts)
        return pipe_to_foreground(
            self.line, self.environment, lines, ends_on_interrupt=ends_on_interrupt
        )


def find_pager(folder: str, environment: Mapping[str, str]) -> Pager | None:
    """Returns the pager that PAGER names, or else `less`; None if it is not there.

    Raises Refused if it is in the workspace: an agent could have written it, and it would show
    what is decided about.
    """
    from assent.sandbox.runner.user_program import user_program

    try:
        words = shlex.split(environment.get("PAGER", ""))
    except ValueError:
        words = []
    words = words or [DEFAULT_PAGER]
    try:
        path = user_program(words, environment, locate_workspace(folder)[1])
    except NotFound:
        return None
    except Refused as error:
        raise Refused(f"The pager cannot be used: {error.message}") from None
    # `less` shows colour only if an option says so, and the user may have other wishes. It may also
    # be what another program calls.
    given = {"LESS": "-R", **environment}
    is_less = os.path.basename(path) == DEFAULT_PAGER.encode()
    shows_color = not is_less or _is_raw([*given["LESS"].split(), *words[1:]])
    return Pager((path, *map(os.fsencode, words[1:])), given, shows_color)


def _is_raw(options: Sequence[str]) -> bool:
    """Tells whether options of `less` let colour through; in LESS they may have no sign."""
    return any(
        one.lower() == _RAW if one.startswith("--") else not {"r", "R"}.isdisjoint(one)
        for one in options
    )
