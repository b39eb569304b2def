"""A scratch copy for one use: opened under a name of its own, and removed whatever happens."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager

from assent.core.errors import Refused
from assent.core.permission.rule import CommandLimits, PathLimits
from assent.core.scratch import TEMPORARY_PREFIX
from assent.core.shell.process import CommandSpec, OutputChunk, ProcessLimits, ProcessResult
from assent.core.text.hidden_chars import visible_line
from assent.planning.ports import Ports
from assent.ports.scratch import ScratchCopy


@contextmanager
def temporary_copy(ports: Ports, hidden: PathLimits | None = None) -> Iterator[ScratchCopy]:
    """Opens a fresh copy; after a crash the next start removes it.

    `hidden` is what commands in it may not see; None: as the rules for plans say.
    """
    copy = ports.open_scratch(TEMPORARY_PREFIX + ports.clock.new_id(), hidden)
    try:
        yield copy
    finally:
        copy.clear()


def streamed(
    copy: ScratchCopy,
    command: CommandSpec,
    folder: bytes,
    limits: ProcessLimits,
    keep: Callable[[bytes], None] = lambda _: None,
    searched: Callable[[], object] = lambda: None,
) -> Generator[OutputChunk, None, ProcessResult]:
    """Runs a command in a copy, passes its output on, and returns how it ended.

    `keep` gets the output, too; for `searched` see `ScratchCopy.run`.
    """
    ended = ProcessResult(1)
    with closing(copy.run(command, folder, limits, searched)) as parts:
        for part in parts:
            if isinstance(part, ProcessResult):
                ended = part
            else:
                keep(part.content)
                yield part
    return ended


def refuse_denied_commands(limits: Iterable[CommandLimits]) -> None:
    """Refuses what rules deny, also in a copy."""
    for denial in filter(None, (each.denial for each in limits)):
        raise Refused(f"{visible_line(denial)} Nothing was run.", "assent rules list")
