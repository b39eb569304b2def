"""A run in progress as JSON: its steps, and each piece of the output of its commands."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, assert_never

from assent.core.run.journal import CommandProgress, LiveCommandOutput, RunUpdate, StepProgress
from assent.render.command_output import CommandOutputChunk, CommandOutputRedactor, progress_brief
from assent.render.rows import Row

# Characters of one line. Six bytes for each, and the rest of the line, fit the buffer of a stream,
# so that an interrupt in the middle of writing leaves no partial line.
MAX_CHUNK: Final = 1200

StreamItem: TypeAlias = tuple[str, Row]  # the kind of a line, and its body


class RunStream:
    """Turns a run's live events into JSON bodies; command output is masked first."""

    def __init__(self) -> None:
        self._voices = CommandOutputRedactor()

    def take(self, live: RunUpdate) -> Iterator[StreamItem]:
        """Returns what can be told after one more thing happened, in order."""
        match live:
            case LiveCommandOutput():
                yield from _said(self._voices.take(live))
            case CommandProgress(what, index, total):
                yield from self.rest()
                where: Row = {"what": what, "index": index, "total": total}
                yield "doing", {**where, "command": progress_brief(live)}
            case StepProgress(step, done, total):
                yield from self.rest()
                yield "progress", {"step": step.name.lower(), "done": done, "total": total}
            case _:
                assert_never(live)

    def rest(self) -> Iterator[StreamItem]:
        """Returns the rest of a command's output, because no more will come."""
        return _said(self._voices.rest())


def _said(utterances: Iterable[CommandOutputChunk]) -> Iterator[StreamItem]:
    """Returns what a command said under the kind that any command's words have in a stream."""
    for one in utterances:
        whence: Row = {"index": one.index, "stream": "stderr" if one.error else "stdout"}
        for at in range(0, len(one.text), MAX_CHUNK):
            yield "delta", {"kind": "output", "text": one.text[at : at + MAX_CHUNK], **whence}
