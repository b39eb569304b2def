"""A bench: a desk with watchers around it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.shell.desk import Desk
from tests.shell.lists import filled
from tests.shell.watching import Listener, Watch


class Bench(NamedTuple):
    """A desk, a listener, and a watch over both and over the home."""

    desk: Desk
    listener: Listener
    watch: Watch

    def filled(self, lines: Sequence[str]) -> list[str]:
        """Aims lines at this bench's listener and canary."""
        return filled(lines, self.listener.port, str(self.desk.home))


def set_up(base: Path, state: Path, *, secret: bool = True) -> Iterator[Bench]:
    """Makes a bench for as long as a fixture needs it."""
    desk = Desk(base / "desk", state, secret=secret)
    with Listener() as listener:
        yield Bench(desk, listener, Watch((desk.root, desk.home), listener))
