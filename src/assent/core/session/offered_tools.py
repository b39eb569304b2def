"""Offered tools: which of the tools on demand a session asked for or needs, from its events.

An offer is no permission: it only decides which definitions a request carries. A tool is offered
from the request after the event that shows the need, and for the rest of the session, so that the
list only grows, in the order in which tools came, and is the same after a restart.
"""

import re
from typing import Final

from assent.core.event import Event
from assent.core.llm import TextPart
from assent.core.session.event import CallEnded, MessageAdded

OFFERS: Final = "offers"  # metadata of a call: the tools that it asked for
NOTEBOOK: Final = ".ipynb"
# What a message of the user says, in lower case, where the work takes a tool that most work does
# not take; or the name of a tool itself. One pattern, because compiling it is part of every start.
_NEEDS: Final = re.compile(
    r"`(\w+)`"
    r"|\b(multi_edit|notebook_edit)\b"
    r"|(?P<delete>\b(?:delet|remov)(?:es?|ed|ing)\b)"
    r"|(?P<move>\b(?:renam|mov)(?:es?|ed|ing)\b)"
    r"|(?P<git>\b(?:git|commits?|committed|branch(?:es)?|blame)\b)"
    r"|(?P<fetch>\bhttps?://)"
    r"|(?P<notebook_edit>\.ipynb\b|\bnotebooks?\b)"
    r"|(?P<remember>\bremember (?:that|this)\b)"
    r"|(?P<task>\bsub-?agents?\b)"
)


class OfferedTools:
    """The names of tools that events of a session show to be needed; grows with `add`.

    Whether such a tool is on demand, and may be offered at all, is decided elsewhere.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()

    def add(self, event: Event) -> None:
        """Takes in one more event of the session."""
        match event:
            case MessageAdded(parts=parts, synthetic=""):
                texts = [part.text for part in parts if isinstance(part, TextPart)]
                self._offer(*_needed("\n".join(texts)))
            case CallEnded(tool=tool, result=result, metadata=metadata):
                named = metadata.get(OFFERS, ())
                self._offer(tool, *(named if isinstance(named, list | tuple) else ()))
                if NOTEBOOK in result.text:
                    self._offer("notebook_edit")
            case _:
                pass

    def _offer(self, *names: str) -> None:
        new = [name for name in dict.fromkeys(names) if name and name not in self.names]
        if new:  # else it stays the same object
            self.names = (*self.names, *new)


def _needed(text: str) -> list[str]:
    """Returns the tools that a message names, and those that its words take."""
    found = _NEEDS.finditer(text.lower())
    return [each[1] or each[2] or each.lastgroup or "" for each in found]
