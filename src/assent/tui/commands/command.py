"""A slash command as people see it: name, arguments, what it is about, and its group."""

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

Group: TypeAlias = Literal["plan", "run", "session", "choose", "look", "screen"]

GROUPS: Final[dict[Group, str]] = {
    "plan": "Plans",
    "run": "Build and undo",
    "session": "Sessions",
    "choose": "Mode, model, agent, settings",
    "look": "Status",
    "screen": "Screen",
}


class CommandInfo(msgspec.Struct, frozen=True):
    """What help, palette and completion say about a command; see `registry.BuiltinCommand`."""

    name: str
    arguments: str  # as a person reads them; what is in brackets may be left out
    about: str
    group: Group
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        return f"{self.name} {self.arguments}".rstrip()

    @property
    def needs_argument(self) -> bool:
        return bool(self.arguments) and not self.arguments.startswith("[")


Command = TypeVar("Command", bound=CommandInfo)


def find_command(table: Iterable[Command], name: str) -> Command | None:
    """Returns the command of a name, or of another name for it."""
    return next((one for one in table if name in (one.name, *one.aliases)), None)
