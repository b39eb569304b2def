"""Replaces the blocks after a rewind by one note that can be unfolded."""

from collections.abc import Iterable, Sequence
from typing import Final

from assent.tui.conversation.blocks import (
    AssistantMessageBlock,
    Block,
    NoteBlock,
    ToolCallBlock,
    UserMessageBlock,
)
from assent.tui.conversation.summaries import count_lines, first_line

REWOUND_TEXT: Final = "You went back; the model no longer knows"


def rewound_blocks(blocks: Sequence[Block], message: str) -> Sequence[Block]:
    """Returns the blocks from a message of the person on; none if it is not among them."""
    at = [place for place, one in enumerate(blocks) if _is_rewound(one, message)]
    return blocks[at[-1] :] if at else ()


def rewound_note(key: str, words: str, text: str) -> NoteBlock:
    """Returns what stands in the place of everything that was withdrawn."""
    about = f"{REWOUND_TEXT} this and what followed: {first_line(words)}"
    return NoteBlock(key, "rewound", about, count_lines(text))


def blocks_text(blocks: Iterable[Block]) -> str:
    """Returns what was said and done in blocks, for whoever unfolds it."""
    return "\n\n".join(filter(None, map(_told, blocks)))


def _is_rewound(block: Block, message: str) -> bool:
    return isinstance(block, UserMessageBlock) and block.message == message


def _told(block: Block) -> str:
    match block:
        case UserMessageBlock(text=text):
            return f"> {text}"
        case AssistantMessageBlock(text=text):
            return text
        case ToolCallBlock(tool=tool, state=state, about=about):
            return f"{tool} {about} · {state}".replace("  ", " ")
        case NoteBlock(words=words):
            return f"· {words}"
        case _:
            return ""
