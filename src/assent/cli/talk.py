"""`assent "goal"` and `assent -p`: says something in a session, and shows what comes of it."""

import re
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeAlias

from assent.cli.forms import Held, Shown, shown_as
from assent.cli.goal import Goal
from assent.cli.interrupts import interruptible
from assent.cli.output import Output
from assent.cli.screen import Screen
from assent.cli.slash import is_slash, mode_of
from assent.cli.source import piped, silent
from assent.core.errors import UsageError
from assent.core.permission.mode import MODES, Mode, default_agent, mode_names
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line

MOST_CONTEXT = 1 << 20  # bytes of stdin
PATIENCE_S = 3.0  # for a first byte of it
CUT = f"\n(There was more; these are the first {MOST_CONTEXT:,} bytes.)"
NOTHING = "There is nothing to say: no text, and nothing on stdin."


def talk(goal: Goal, output: Output) -> int:
    """Says what a person wants said, and returns the exit code of what came of it."""
    if goal.help:
        from assent.cli.table import overview

        output.lines([Line("plain", line) for line in overview().splitlines()])
        return 0
    if not is_slash(goal.words):
        return _talked(goal, output)
    from assent.cli.custom import HELP, custom, is_custom, tell_commands

    if goal.words.strip() == HELP:
        return tell_commands(goal, output)
    if is_custom(goal.words):
        chosen = custom(goal, output)
        return _talked(chosen.onto(goal), output, chosen.prompt)
    return _switch(goal, output)


# Makes the words that are said, with the tooling of the session that they are said in.
Written: TypeAlias = Callable[[Goal, Any], str]


def _talked(goal: Goal, output: Output, written: Written | None = None) -> int:
    """Says the words of a goal, or what a command of one's own makes of them."""
    with interruptible():
        return _worked(goal, output, written)


def _worked(goal: Goal, output: Output, written: Written | None) -> int:
    from assent.app.session import (
        BudgetLimits,
        InvocationOptions,
        SessionOptions,
        open_session_runtime,
    )
    from assent.cli.asker import asker
    from assent.cli.conversation import Conversation

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
    screen = Screen()
    may_ask = not goal.headless and not goal.no_input
    person = asker(may_ask=may_ask, later=goal.later, screen=screen)
    work = open_session_runtime(goal.folder, person, wanted)
    with closing(work):
        held = Held(shown_as(goal.form, output, asks=person.present), screen)
        shown = _ringing(held, work.notify, goal)
        said = words if written is None else _filled(written(goal, work.tooling), words, goal)
        code = Conversation(goal, work, shown, output).turn(said)
        work.engine.retention.retain(daily=True)
        output.warn(work.engine.warnings)
        return code


def _ringing(shown: Shown, notify: Any, goal: Goal) -> Shown:
    """Lets a turn ring when it waits for a person who sits at the terminal, and wants that."""
    if goal.headless or notify.way == "off" or not (sys.stderr and sys.stderr.isatty()):
        return shown
    from assent.cli.ringing import Ringing

    return Ringing(shown, notify.way, notify.after_s)


def _filled(template: str, words: str, goal: Goal) -> str:
    """Returns what a command of one's own says, with what was piped in below it."""
    return template + words.removeprefix(goal.words.strip())


def _base(name: str) -> Mode:
    """Returns the mode of that name; the base of one's own is not known yet, and is no matter."""
    return next((mode for mode in MODES if mode == name), "plan")


def _said(words: str, output: Output) -> str:
    """Returns the words with what is piped in; a pipe that is merely open is not waited for."""
    if words and silent(PATIENCE_S):
        output.warn([f"Nothing came on stdin in {PATIENCE_S:g} seconds; it is left out."])
        return words
    return with_context(words, *piped(MOST_CONTEXT))


def with_context(words: str, context: str, more: bool = False) -> str:
    """Returns the text with what was piped in below it, in a fence that it cannot end."""
    if not context.strip():
        return words
    cut = CUT if more else ""
    if not words:
        return context + cut
    longest = max(map(len, re.findall(r"`{3,}", context)), default=2)
    fence = "`" * (longest + 1)
    end = "" if context.endswith("\n") else "\n"
    return f"{words}\n\nFrom stdin:\n{fence}\n{context}{end}{fence}{cut}"


def _switch(goal: Goal, output: Output) -> int:
    """Changes the mode of a session, or of a new one, without asking any model."""
    from assent.app.composition import open_engine
    from assent.cli.conversation import found_session

    engine, warnings = open_engine(goal.folder)
    mode = mode_of(goal.words, mode_names(engine.sessions.modes))
    with closing(engine):
        record = found_session(engine, goal)
        if record is None:
            record = engine.sessions.start("", mode)
        record = engine.sessions.set_mode(record, mode)
        line = Line("plain", f"Mode {mode}, session {visible_line(record.slug)}.")
        output.answer({"session": record.session, "slug": record.slug, "mode": mode}, [line])
        output.warn((*warnings, *engine.warnings))
    return 0
