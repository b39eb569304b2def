"""What is said of a command before the yes."""

import pytest

from assent.core.plan.operation import RunCommand
from assent.permissions.commands.predicted_effects import PredictedEffects
from assent.planning.command_operation import command_remarks

MAKE = RunCommand((b"make",))
UNTOLD = "Its text does not tell what it changes: there may be risks that are not listed."
COVERED = (
    "Undo puts back contents and modes of the files, and the links, that it changed in the "
    "workspace."
)
MASKED = "the sandbox masks files with secrets."
OWN = "Undo runs its undo command, and leaves to that whatever this one changed."


@pytest.mark.parametrize(
    ("op", "told", "words"),
    [
        (MAKE, PredictedEffects(), (COVERED,)),
        (RunCommand((b"make",), undo=(b"x",)), PredictedEffects(), (OWN,)),
        (
            RunCommand((b"make",), network=True),
            PredictedEffects(network=True),
            (COVERED, "What it does over the network cannot be taken back."),
        ),
        (
            RunCommand((b"make",), profile="unconfined"),
            PredictedEffects(network=True, outside=True),
            (COVERED, "What it does outside the workspace is neither recorded nor put back."),
        ),
        (
            RunCommand((b"git",), profile="commit"),
            PredictedEffects(),
            ("Undo leaves the commit that it makes.",),
        ),
        (
            MAKE,
            PredictedEffects(touches=(b".env", b"AGENTS.md", b"~/.ssh/id_rsa", b"a/server.pem")),
            (
                COVERED,
                f"It will not see what is in .env, ~/.ssh/id_rsa: {MASKED}",
                f"It may not see what is in a/server.pem: {MASKED}",
            ),
        ),
        (
            RunCommand((b"make",), profile="unconfined"),
            PredictedEffects(touches=(b".env",)),
            (COVERED, "What it does outside the workspace is neither recorded nor put back."),
        ),
        (
            MAKE,
            PredictedEffects(network=True, outside=True),
            (
                COVERED,
                "It seems to need the network, which it does not get: it may fail.",
                "It seems to write outside the workspace: in the sandbox that fails or is lost.",
            ),
        ),
        (
            MAKE,
            PredictedEffects(danger="It is bad."),
            ("No model gets to run this, whoever says yes: It is bad.", COVERED),
        ),
    ],
)
def test_what_undo_covers_is_said_before_the_yes(
    op: RunCommand, told: PredictedEffects, words: tuple[str, ...]
) -> None:
    assert command_remarks(op, told) == words


@pytest.mark.parametrize("unclear", [True, False])
def test_what_nobody_can_foresee_is_said(unclear: bool) -> None:
    assert (UNTOLD in command_remarks(MAKE, PredictedEffects(unclear=unclear))) == unclear
