"""`assent "goal"` and `assent -p`: sends a message in a session and shows the result."""

import re
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeAlias

from assent.cli.goal.options import Goal
from assent.cli.goal.output import DeferredTurnOutput, TurnOutput, turn_output
from assent.cli.goal.slash_command import is_slash, mode_of
from assent.cli.input import MAX_STDIN_BYTES, TRUNCATED_NOTE, is_stdin_silent, read_piped
from assent.cli.interrupts import interruptible
from assent.cli.output import CliOutput
from assent.cli.screen_lock import ScreenLock
from assent.core.errors import UsageError
from assent.core.permission.mode import MODES, Mode, default_agent, mode_names
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line

NOTHING = "There is nothing to say: no text, and nothing on stdin."

STDIN_TIMEOUT_S = 3.0  # for a first byte of stdin


def run_goal(goal: Goal, output: CliOutput) -> int:
    """Says what a person wants said, and returns the exit code of what came of it."""
    if goal.help:
        from assent.cli.registry import overview

        output.lines([Line("plain", line) for line in overview().splitlines()])
        return 0
    if not is_slash(goal.words):
        return _talked(goal, output)
    from assent.cli.goal.custom_command import (
        HELP,
        find_custom_command,
        is_custom,
        list_slash_commands,
    )

    if goal.words.strip() == HELP:
        return list_slash_commands(goal, output)
    if is_custom(goal.words):
        chosen = find_custom_command(goal, output)
        return _talked(chosen.onto(goal), output, chosen.prompt)
    return _switch(goal, output)


# Makes the words that are said, with the tooling of the session that they are said in.
PromptBuilder: TypeAlias = Callable[[Goal, Any], str]


def _talked(goal: Goal, output: CliOutput, written: PromptBuilder | None = None) -> int:
    """Says the words of a goal, or what a command of one's own makes of them."""
    with interruptible():
        return _worked(goal, output, written)


def _worked(goal: Goal, output: CliOutput, written: PromptBuilder | None) -> int:
    from assent.app.session import (
        BudgetLimits,
        InvocationOptions,
        SessionOptions,
        open_session_runtime,
    )
    from assent.cli.asker import asker
    from assent.cli.goal.turn import GoalTurn

    words = _said(goal.words.strip(), output)
    going_on = bool(goal.going_on or goal.resume or goal.plan)
    if not words and not going_on:
        raise UsageError(NOTHING, 'assent -p "what should be done"')
    wanted = SessionOptions(
        # A session knows its model; opening another one ahead would help nobody.
        goal.model or (None if going_on else ""),
        goal.agent or (default_agent(_base(goal.mode)) if goal.mode else ""),
        BudgetLimits(
            goal.turns or None, goal.budget or None, goal.tokens or None, goal.seconds or None
        ),
        InvocationOptions(goal.rules, goal.auto),
    )
    screen = ScreenLock()
    may_ask = not goal.headless and not goal.no_input
    person = asker(may_ask=may_ask, later=goal.later, screen=screen)
    work = open_session_runtime(goal.folder, person, wanted)
    with closing(work):
        held = DeferredTurnOutput(turn_output(goal.form, output, asks=person.present), screen)
        shown = _ringing(held, work.notify, goal)
        said = words if written is None else _filled(written(goal, work.tooling), words, goal)
        code = GoalTurn(goal, work, shown, output).turn(said)
        work.engine.retention.retain(daily=True)
        output.warn(work.engine.warnings)
        return code


def _ringing(shown: TurnOutput, notify: Any, goal: Goal) -> TurnOutput:
    """Lets a turn ring when it waits for a person who sits at the terminal, and wants that."""
    if goal.headless or notify.way == "off" or not (sys.stderr and sys.stderr.isatty()):
        return shown
    from assent.cli.goal.notification import NotifyingTurnOutput

    return NotifyingTurnOutput(shown, notify.way, notify.after_s)


def _filled(template: str, words: str, goal: Goal) -> str:
    """Returns what a command of one's own says, with what was piped in below it."""
    return template + words.removeprefix(goal.words.strip())


def _base(name: str) -> Mode:
    """Returns the mode of that name; the base of one's own is not known yet, and is no matter."""
    return next((mode for mode in MODES if mode == name), "plan")


def _said(words: str, output: CliOutput) -> str:
    """Returns the words with what is piped in; a pipe that is merely open is not waited for."""
    if words and is_stdin_silent(STDIN_TIMEOUT_S):
        output.warn([f"Nothing came on stdin in {STDIN_TIMEOUT_S:g} seconds; it is left out."])
        return words
    return with_context(words, *read_piped(MAX_STDIN_BYTES))


def with_context(words: str, context: str, more: bool = False) -> str:
    """Returns the text with what was piped in below it, in a fence that it cannot end."""
    if not context.strip():
        return words
    cut = TRUNCATED_NOTE if more else ""
    if not words:
        return context + cut
    longest = max(map(len, re.findall(r"`{3,}", context)), default=2)
    fence = "`" * (longest + 1)
    end = "" if context.endswith("\n") else "\n"
    return f"{words}\n\nFrom stdin:\n{fence}\n{context}{end}{fence}{cut}"


def _switch(goal: Goal, output: CliOutput) -> int:
    """Changes the mode of a session, or of a new one, without asking any model."""
    from assent.app.composition import open_engine
    from assent.cli.goal.turn import find_session

    engine, warnings = open_engine(goal.folder)
    mode = mode_of(goal.words, mode_names(engine.sessions.modes))
    with closing(engine):
        record = find_session(engine, goal)
        if record is None:
            record = engine.sessions.start("", mode)
        record = engine.sessions.set_mode(record, mode)
        line = Line("plain", f"Mode {mode}, session {visible_line(record.slug)}.")
        output.answer({"session": record.session, "slug": record.slug, "mode": mode}, [line])
        output.warn((*warnings, *engine.warnings))
    return 0
