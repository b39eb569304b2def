"""What is said of a command before the yes."""

import pytest

from assent.core.plan.operation import RunCommand
from assent.permissions.commands.predicted_effects import PredictedEffects
from assent.planning.command_operation import command_remarks

MAKE = RunCommand((b"make",))
UNTOLD = "Its effects cannot be read from its text; there may be unlisted risks."
COVERED = "Undo restores the contents, modes and links that it changed in the workspace."
MASKED = "the sandbox hides files with secrets."
OWN = "Undo runs its undo command and does not restore files itself."


@pytest.mark.parametrize(
    ("op", "told", "words"),
    [
        (MAKE, PredictedEffects(), (COVERED,)),
        (RunCommand((b"make",), undo=(b"x",)), PredictedEffects(), (OWN,)),
        (
            RunCommand((b"make",), network=True),
            PredictedEffects(network=True),
            (COVERED, "Effects over the network cannot be undone."),
        ),
        (
            RunCommand((b"make",), profile="unconfined"),
            PredictedEffects(network=True, outside=True),
            (COVERED, "Changes outside the workspace are neither recorded nor undone."),
        ),
        (
            RunCommand((b"git",), profile="commit"),
            PredictedEffects(),
            ("Undo keeps the commit it creates.",),
        ),
        (
            MAKE,
            PredictedEffects(touches=(b".env", b"AGENTS.md", b"~/.ssh/id_rsa", b"a/server.pem")),
            (
                COVERED,
                f"It will not see the content of .env, ~/.ssh/id_rsa: {MASKED}",
                f"It may not see the content of a/server.pem: {MASKED}",
            ),
        ),
        (
            RunCommand((b"make",), profile="unconfined"),
            PredictedEffects(touches=(b".env",)),
            (COVERED, "Changes outside the workspace are neither recorded nor undone."),
        ),
        (
            MAKE,
            PredictedEffects(network=True, outside=True),
            (
                COVERED,
                "It seems to need the network, which is blocked; it may fail.",
                "It seems to write outside the workspace; in the sandbox such writes fail or are "
                "lost.",
            ),
        ),
        (
            MAKE,
            PredictedEffects(danger="It is bad."),
            ("Models may not run this, even with your approval: It is bad.", COVERED),
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
