"""Rehearsals: what was tried in a scratch copy, on which operations, and what it is worth.

A rehearsal is evidence about exact operations. A plan's digest does not contain it, and
it does not approve anything.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final, Literal

import msgspec

from assent.core.decoding import json_decoder
from assent.core.digest import pack, sha256
from assent.core.plan.plan import Plan, ReliedOnFile

# Who chose a command: an operation of the plan, the person or the model that rehearses, the plan's
# front matter, the user's or the project's configuration, or a person who confirmed what Assent
# suggested.
ChosenBy = Literal["operation", "argument", "model", "plan", "user", "project", "confirmed"]
Rehearser = Literal["person", "model"]

VERIFY_SOURCES: Final[tuple[ChosenBy, ...]] = (
    "argument", "model", "plan", "user", "project", "confirmed",
)  # fmt: skip
CHOSEN_BY_MODEL: Final[tuple[ChosenBy, ...]] = ("model", "plan")  # or may have been
GIVEN_BY: Final[dict[Rehearser, ChosenBy]] = {"person": "argument", "model": "model"}


class VerifyCommand(msgspec.Struct, frozen=True):
    """A command line that shows whether a plan works, and who chose it."""

    line: str
    source: ChosenBy


class RehearsedCommand(msgspec.Struct, frozen=True):
    """A command of a rehearsal; without an exit code it was not run, for this reason."""

    line: str
    source: ChosenBy
    exit: int | None = None
    seconds: float = 0
    output: str = ""  # its last lines
    changed: tuple[bytes, ...] = ()  # paths in the copy, ignored ones left out
    not_run: str = ""
    cut: str = ""  # the limit that stopped it, such as `time`

    @property
    def is_verification(self) -> bool:
        """Whether it checks the result; otherwise it is an operation of the plan."""
        return self.source in VERIFY_SOURCES


class Rehearsal(msgspec.Struct, frozen=True):
    """What a rehearsal showed; `digest` is empty for a draft."""

    digest: str
    operations_hash: str
    relied_on: str  # a hash of the files that the plan relies on
    commands: tuple[RehearsedCommand, ...]
    copy: str  # the kind of scratch copy: overlay or copy
    by: Rehearser
    at: str
    commit: str = ""  # that was checked out; empty: no repository
    others: int = 0  # changed files in the workspace that the plan does not touch
    network: bool = False
    terminal: bool = False  # whoever started it has one, so a given command was typed there

    @property
    def passed(self) -> bool | None:
        """Whether everything ran and succeeded; None if not everything ran, or nothing was to."""
        if any(command.exit for command in self.commands):
            return False
        if not self.commands or any(command.exit is None for command in self.commands):
            return None
        return True

    @property
    def is_partial(self) -> bool:
        """Whether some commands could not be run, and none failed."""
        return self.passed is None and bool(self.commands)


decode_rehearsal = json_decoder(Rehearsal).decode


def relied_on_hash(files: Sequence[ReliedOnFile]) -> str:
    """Returns one hash for the files that a plan relies on."""
    return sha256(pack(*[pack(file.path, file.digest.encode()) for file in sorted(files)]))


def counts_for(
    rehearsal: Rehearsal, plan: Plan, verification: Sequence[VerifyCommand] | None = None
) -> bool:
    """Tells whether a rehearsal was of this plan's operations and files, by the same commands.

    `verification` is what would be run now; commands that were given for it always count.
    """
    if rehearsal.operations_hash != plan.operations_hash:
        return False
    if rehearsal.relied_on != relied_on_hash(plan.relied_on):
        return False
    ran = [one for one in rehearsal.commands if one.is_verification]
    if verification is None or (ran and all(one.source in GIVEN_BY.values() for one in ran)):
        return True
    return [one.line for one in ran] == [one.line for one in verification]


def shown_rehearsal(rehearsals: Sequence[Rehearsal]) -> Rehearsal | None:
    """Returns the one of a plan's rehearsals, oldest first, that a review shows.

    It is the last of a person, so that no model can cover up what failed for them, unless one of a
    model failed after it. Without any of a person it is the model's last.
    """
    of_people = [at for at, one in enumerate(rehearsals) if one.by == "person"]
    of_models = [at for at, one in enumerate(rehearsals) if one.by != "person"]
    if not of_people or not of_models:
        return rehearsals[-1] if rehearsals else None
    last = rehearsals[of_models[-1]]
    is_bad_news = of_models[-1] > of_people[-1] and last.passed is False
    return last if is_bad_news else rehearsals[of_people[-1]]


def is_approvable(rehearsals: Sequence[Rehearsal], user: Sequence[str]) -> bool:
    """Tells whether rehearsals, oldest first, allow an approval under `approve.require_rehearsal`.

    One of them must meet the requirement, and none may have failed after it, a model's included.
    What passes for a model takes no failure away.
    """
    for one in reversed(rehearsals):
        if one.passed is False:
            return False
        if meets_requirement(one, user):
            return True
    return False


def meets_requirement(rehearsal: Rehearsal, user: Sequence[str]) -> bool:
    """Tells whether a rehearsal allows an approval under `approve.require_rehearsal`.

    It must have passed in a person's hands: with all commands of the user's own configuration, or
    with commands that a person gave or confirmed on a terminal. What a model chose proves nothing,
    nor does what ran after it in the same copy: ignored files stay as a command left them.
    """
    if rehearsal.passed is not True or rehearsal.by != "person":
        return False
    own = {line.strip() for line in user if line.strip()}
    verification = (one for one in rehearsal.commands if one.is_verification)
    untouched = takewhile(lambda one: one.source not in CHOSEN_BY_MODEL, verification)
    ran = {one.line for one in untouched}
    typed = ("argument", "confirmed") if rehearsal.terminal else ("confirmed",)
    chosen = any(one.source in typed for one in rehearsal.commands)
    return chosen or (bool(own) and own <= ran)
