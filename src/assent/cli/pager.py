"""The pager: long results, where a person sits at a terminal."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from assent.cli.output import (
    CAPTURED_LINES,
    STDIN,
    CliOutput,
    ansi,
    colored,
    want_color,
)
from assent.cli.terminal import ask_for_digest, has_terminal, restored_terminal
from assent.core.errors import Declined, Refused, UsageError
from assent.render.diff import text_diff_lines
from assent.render.lines import Line

if TYPE_CHECKING:
    from assent.app.pager import Pager
    from assent.render.highlighter import Highlighter

NOT_ASKED = "so you were not asked. Not approved; nothing was changed."


def print_paged(
    output: CliOutput,
    lines: Iterable[Line],
    texts: Iterator[str] | None = None,
    *,
    folder: str = "",
) -> bool:
    """Prints lines, through a pager if stdout is a terminal and they are many.

    If it is not, `texts` are printed, if there are any: the same, in larger pieces. Tells whether
    all lines are on the terminal: how far a user pages is not known.
    """
    if CAPTURED_LINES.get() is not None:
        output.lines(lines)
        return False
    if not sys.stdout.isatty():
        output.write_texts(ansi(lines, color=False) if texts is None else texts)
        return False
    found = list(lines)
    if is_paged(found):
        try:
            pager = _pager(folder)
        except Refused as error:
            output.warn([error.message])
            pager = None
        if pager is not None:
            pager.show(_texts(found, pager, color=colored(sys.stdout)))
            return False
    output.lines(found)
    return True


def is_paged(lines: Sequence[Line]) -> bool:
    """Tells whether lines are shown through a pager: at a terminal, if they do not fit on it."""
    return sys.stdout.isatty() and os.isatty(STDIN) and not _fits(lines)


def ask_after_review(
    folder: str,
    lines: Iterable[Line],
    end: Iterable[Line],
    digest: str,
    next_command: str,
    when_shown: Callable[[], None] | None = None,
) -> bool:
    """Shows a review on the terminal, through a pager if it is long, and asks for its digest.

    After a pager the `end` of the review is shown again, because the pager takes its text away. One
    that fails or is interrupted asks nothing: what was in sight then is not known (law 9).
    `when_shown` is called once everything is on the terminal; after a pager, once it is approved.
    """
    if not has_terminal():
        return False
    found = list(lines)
    try:
        pager = _pager(folder) if is_paged(found) else None
    except Refused as error:
        words = f"{error.message} You were not asked. Not approved; nothing was changed."
        raise Declined(words, f"PAGER=cat {next_command}") from None
    if pager is not None:
        texts = _texts(found, pager, color=want_color())
        try:
            with restored_terminal():
                code = pager.show(texts, ends_on_interrupt=True)
        except KeyboardInterrupt:
            raise Declined(f"The pager was interrupted, {NOT_ASKED}", next_command) from None
        except UsageError as error:
            words = f"{error.message} You were not asked. Not approved; nothing was changed."
            raise Declined(words, f"PAGER=cat {next_command}") from None
        if code:
            how = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
            words = f"The pager {pager.name!a} {how}, {NOT_ASKED}"
            raise Declined(words, f"PAGER=cat {next_command}")
        found = list(end)
    shown = ansi(found, color=want_color())
    if pager is None:
        return ask_for_digest(_told(shown, when_shown), digest)
    approved = ask_for_digest(shown, digest)
    if approved and when_shown is not None:
        when_shown()
    return approved


def _told(texts: Iterable[str], shown: Callable[[], None] | None) -> Iterator[str]:
    """Passes texts on, and says when the last of them is on the screen."""
    yield from texts
    if shown is not None:
        shown()


def highlighter(*, in_color: bool) -> "Highlighter | None":
    """Returns what gives diffs and text their syntax colours, where there are colours."""
    if not in_color:
        return None
    from assent.render.highlighter import Highlighter

    return Highlighter()


def colored_text_diff_lines(patch: str | None, colors: "Highlighter | None") -> Iterable[Line]:
    """Renders the difference of two texts, in colour where there are colours."""
    return colors.text_diff_lines(patch) if colors else text_diff_lines(patch)


def _pager(folder: str) -> "Pager | None":
    """Returns the user's pager; none where it would only print, as on a terminal that is dumb."""
    from assent.app.pager import find_pager

    if os.environ.get("TERM", "dumb") in ("dumb", "emacs") and not os.environ.get("PAGER"):
        return None
    return find_pager(folder, os.environ)


def _texts(lines: Iterable[Line], pager: "Pager", *, color: bool) -> Iterator[str]:
    return ansi(lines, color=color and pager.shows_color)


def _fits(lines: Iterable[Line]) -> bool:
    """Tells whether lines fit on the screen, with what a terminal makes of too wide ones."""
    from shutil import get_terminal_size

    width, height = get_terminal_size()
    return sum(1 + max(len(line.text) - 1, 0) // width for line in lines) < height
