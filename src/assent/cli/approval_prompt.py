"""Asks a person on the terminal to approve a digest, and decides what counts as approval."""

from collections.abc import Callable

import msgspec

from assent.cli.invocation import Invocation
from assent.cli.output import want_color
from assent.cli.pager import ask_after_review, highlighter
from assent.cli.terminal import has_terminal
from assent.core.errors import Declined, DigestMismatch
from assent.render.review import Review, review_end_lines, review_lines

TERMINAL = "terminal"
REVIEW_COMMANDS = {
    "assent undo": "assent undo --dry-run",
    "assent redo": "assent redo --dry-run",
    "assent recover": "assent recover --roll-back",
}
COMMANDS = {"assent recover": "assent recover --roll-back"}  # that a digest is asked of


TERMINAL_NEEDED = (
    "Approval needs an interactive terminal. To approve without one, set "
    "`approve.without_terminal = true` in your own configuration and pass the full --digest."
)


def not_approved_text(call: Invocation, what: str) -> str:
    """Returns the message that nothing was approved, and why if the user could not be asked."""
    asked = not call.no_input and has_terminal()
    return what if asked else f"{what} {TERMINAL_NEEDED}"


class ApprovalPromptOptions(msgspec.Struct, frozen=True):
    """What differs between commands that ask: the command's name, and callbacks."""

    command: str = ""  # to which a digest is given
    look: str = ""  # what shows the digest
    shown: Callable[[], None] | None = None
    declined: Callable[[], None] | None = None


def prompt_for_approval(
    call: Invocation,
    wanted: str,
    named: str,
    review: Callable[[], Review],
    manner: ApprovalPromptOptions | None = None,
) -> str:
    """Gets the user's approval of a digest, and returns the channel it came through (law 9).

    `named` is what the user typed on the command line. It replaces the question only if it is the
    full digest, and only if the user's own configuration allows that.
    """
    manner = manner or ApprovalPromptOptions()
    if named and not wanted.startswith(named):
        look = manner.look or REVIEW_COMMANDS.get(call.command, "assent review")
        raise DigestMismatch(f"The plan's digest is {wanted}, not {named}.", look)
    if named == wanted and call.without_terminal:
        return "digest"
    command = manner.command or COMMANDS.get(call.command, call.command)
    again = f"{command} --digest {wanted}"
    if not call.no_input and _ask(call, wanted, review(), manner, again):
        return TERMINAL
    if manner.declined is not None and not call.no_input and has_terminal():
        manner.declined()
    why = not_approved_text(call, "Not approved; nothing was changed.")
    raise Declined(why, again)


def _ask(
    call: Invocation, wanted: str, shown: Review, manner: ApprovalPromptOptions, again: str
) -> bool:
    if shown.digest != wanted:
        return False
    colors = highlighter(in_color=has_terminal() and want_color())
    lines = review_lines(shown, asking=True, colors=colors)
    return ask_after_review(
        call.folder, lines, review_end_lines(shown), wanted, again, manner.shown
    )
