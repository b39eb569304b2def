"""The host: what the server needs from the program that starts it."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # loading these takes longer than the server needs to be ready
    from assent.app.engine import Engine
    from assent.app.session import SessionRuntime
    from assent.ports.session import Asker


class ServerHost(Protocol):
    """Opens engines and models for the workspaces of this machine; its methods may be slow."""

    @property
    def user(self) -> str:
        """The user of this process, as records name them."""

    def roots(self) -> list[str]:
        """Returns the folders of the workspaces that are served now."""

    def engine(self, root: str) -> "Engine":
        """Returns the engine of a workspace, opened once."""

    def runtime(
        self, root: str, asker: "Asker", model: str | None = None, agent: str = ""
    ) -> "SessionRuntime":
        """Opens what a turn needs, with the configuration as it is now.

        A session knows its model and agent; others are named for what has no session yet.
        """

    def default_mode(self, root: str) -> str:
        """Returns the mode of new sessions in a workspace."""

    def close(self) -> None:
        """Releases everything."""
