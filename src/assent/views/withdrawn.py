"""Withdrawn: what is still shown of blocks that the model no longer knows, after going back."""

from collections.abc import Iterable, Sequence
from typing import Final

from assent.views.blocks import Block, Called, Note, Said, Spoken
from assent.views.feed_words import brief, count_lines

WENT_BACK: Final = "You went back; the model no longer knows"


def withdrawn(blocks: Sequence[Block], message: str) -> Sequence[Block]:
    """Returns the blocks from a message of the person on; none if it is not among them."""
    at = [place for place, one in enumerate(blocks) if _is(one, message)]
    return blocks[at[-1] :] if at else ()


def note_of_withdrawn(key: str, words: str, text: str) -> Note:
    """Returns what stands in the place of everything that was withdrawn."""
    about = f"{WENT_BACK} this and what followed: {brief(words)}"
    return Note(key, "rewound", about, count_lines(text))


def transcript(blocks: Iterable[Block]) -> str:
    """Returns what was said and done in blocks, for whoever unfolds it."""
    return "\n\n".join(filter(None, map(_told, blocks)))


def _is(block: Block, message: str) -> bool:
    return isinstance(block, Said) and block.message == message


def _told(block: Block) -> str:
    match block:
        case Said(text=text):
            return f"> {text}"
        case Spoken(text=text):
            return text
        case Called(tool=tool, state=state, about=about):
            return f"{tool} {about} · {state}".replace("  ", " ")
        case Note(words=words):
            return f"· {words}"
        case _:
            return ""
