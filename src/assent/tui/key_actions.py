"""The actions of the keys of the main screen."""

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Final

from assent.core.llm import ImagePart
from assent.core.permission.mode import MODES, CustomModes
from assent.render.lines import Line
from assent.tui.context import AppContext, PanelScreen

DOUBLE_PRESS_S: Final = 2.0  # in which a key that is pressed again means more
REWIND: Final = "Esc again to rewind to an earlier message."
LEAVE: Final = "Ctrl+C again to exit. Everything is saved; `assent -c` continues."
ANSWER: Final = "Waiting for your answer"
PRESS_AGAIN_TO_LEAVE: Final = "Ctrl+C again to stop it and exit."
STOP_HINT: Final = "Esc stops it. Ctrl+C three times stops it and exits."
STOP_RUN_HINT: Final = "Esc shows it, and x stops it. Ctrl+C three times stops it and exits."
INTERRUPTED: Final = "interrupted"  # the user has asked the work to end, and pressed nothing since
CONFIRMED_LEAVE: Final = "leave"  # the user has seen what leaving stops
STOPPING: Final = "Interrupting…"
QUESTION_WAITING: Final = "Question pending: Tab or F2 to answer"
READING_CLIPBOARD: Final = "Reading the clipboard"
YOLO: Final = "yolo"


def next_mode(name: str, modes: CustomModes) -> str:
    """Returns the next mode, strictest first; custom modes follow their base.

    Never yolo, nor a mode based on it: that takes a command and a confirmation.
    """
    ring: list[str] = []
    for mode in MODES:
        if mode != YOLO:
            ring += [mode, *[own.id for own in modes.values() if own.base == mode]]
    ring = list(dict.fromkeys(ring))
    return ring[(ring.index(name) + 1) % len(ring)] if name in ring else ring[0]


def cycle_mode(app: AppContext) -> None:
    """Switches to the next mode."""
    app.set_mode(next_mode(app.status_snapshot.mode, app.engine.sessions.modes))


def step_back(app: AppContext) -> None:
    """Interrupts the current work, but a run is only shown; with none, a second press rewinds.

    Stopping a run halfway takes a question in its panel, which this key closes, too.
    """
    if is_covered(app):
        app.action_toggle_side()
    elif app.run_controller.at_work and not app.shell_controller.at_work:
        app.show_run()
    elif app.at_work:
        app.activity(STOPPING)
        app.messages.work(lambda: interrupt(app))
    elif pressed_again(app, "escape"):
        app.unhint()
        app.deferred.do(lambda: app.run_slash("/rewind"))
    elif app.session_controller.record is not None:
        app.hint(REWIND)


def interrupt(app: AppContext) -> bool:
    """Ends the current work properly, in a thread."""
    return (
        app.shell_controller.interrupt()
        or app.run_controller.interrupt()
        or app.session_controller.interrupt()
    )


def clear_or_leave(app: AppContext) -> None:
    """Clears the input; if it is empty, interrupts the work; at rest, a second press exits.

    An open question of a panel, and an answer that it delays, are cancelled first; a sidebar over
    the prompt is closed first. If the work goes on, two more presses exit, and stop it: a run that
    is left stops as if its command was interrupted.
    """
    if isinstance(app.screen, PanelScreen) and app.screen.interrupted():
        app.pressed = {}
        return
    alone = len(app.screen_stack) == 1
    if alone and is_covered(app):
        app.action_toggle_side()
        return
    question = app.question
    if question is not None and question.is_keyed and question.interrupted():
        app.pressed = {}
        return
    if alone and app.prompt.text:
        app.prompt.clear()
        app.pressed = {}
        return
    if alone and app.at_work and INTERRUPTED not in app.pressed:
        app.pressed = dict.fromkeys((INTERRUPTED, "ctrl+c"), -inf)  # it does not count as leaving
        app.activity(STOPPING)
        app.messages.work(lambda: interrupt(app))
        return
    sure = CONFIRMED_LEAVE in app.pressed or not unfinished_work_text(app)
    again = INTERRUPTED in app.pressed and not sure
    if not pressed_again(app, "ctrl+c") and not again:
        app.hint(LEAVE)
    elif sure:
        app.exit(0)
    else:
        app.pressed = dict.fromkeys(("ctrl+c", CONFIRMED_LEAVE), monotonic())
        app.hint(f"{unfinished_work_text(app)} {PRESS_AGAIN_TO_LEAVE}")


def leave_if_empty(app: AppContext) -> None:
    """Exits, unless something is typed."""
    if not app.prompt.text:
        leave(app)


def leave(app: AppContext) -> None:
    """Exits, unless that would stop something that is running."""
    if unfinished_work_text(app):
        hint = STOP_HINT if app.shell_controller.at_work else STOP_RUN_HINT
        app.add_note(Line("risk", f"{unfinished_work_text(app)} {hint}"))
    else:
        app.exit(0)


def unfinished_work_text(app: AppContext) -> str:
    """Returns what exiting would stop halfway; nothing if only the model is working."""
    if app.shell_controller.at_work:
        return "Your command is running."
    return "Run in progress." if app.run_controller.at_work else ""


def pressed_again(app: AppContext, key: str) -> bool:
    """Tells whether a key was also pressed a moment ago."""
    now = monotonic()
    again = now - app.pressed.get(key, -app.again_s) < app.again_s
    app.pressed = {} if again else {key: now}
    return again


def page(app: AppContext, way: int) -> None:
    """Scrolls the conversation by most of a page, whether Textual has laid it out or not."""
    paper = app.conversation
    paper.scroll_relative(y=way * max(paper.size.height - 2, 1), animate=False, force=True)


def activity_text(app: AppContext, took: float) -> str:
    """Returns what is running, or that the user can type."""
    if not app.at_work:
        return f"{app.tasks.activity_text} · {took:.0f} s"
    if app.shell_controller.at_work:
        who = "Your command is running"
    elif app.session_controller.at_work and has_pending_question(app):
        return ANSWER
    elif app.run_controller.at_work:
        return f"Run in progress · {took:.0f} s · Esc show it"
    else:
        who = "The model is working"
    return f"{who} · {took:.0f} s · Esc interrupt"


def has_pending_question(app: AppContext) -> bool:
    """Tells whether the session on the screen, or a child of it, has an open question."""
    return bool(app.status_snapshot.own_questions)


def paste_image(app: AppContext) -> None:
    """Attaches the image in the clipboard to the message that is typed."""

    def read() -> ImagePart:
        app.session_controller.check_images()
        return app.host.clipboard_image()

    app.tasks.run(READING_CLIPBOARD, read, app.prompt.attach_image)


def is_covered(app: AppContext) -> bool:
    """Tells whether the sidebar covers the prompt."""
    screen = app.screen_stack[0]
    return screen.has_class("side") and screen.has_class("narrow")


KEY_ACTIONS: Final[dict[str, Callable[[AppContext], object]]] = {
    "cycle_mode": lambda app: app.deferred.do(lambda: cycle_mode(app)),
    "step_back": step_back,
    "clear_or_leave": clear_or_leave,
    "leave_if_empty": leave_if_empty,
    "toggle_side": lambda app: app.action_toggle_side(),
    "review": lambda app: app.deferred.do(app.review_plan),
    "question": lambda app: app.deferred.do(lambda: app.run_slash("/questions")),
    "edit_plan": lambda app: app.deferred.do(lambda: app.run_slash("/edit")),
    "undo": lambda app: app.deferred.do(lambda: app.run_slash("/undo")),
    "demo": lambda app: app.run_slash("/demo"),
    "transcript": lambda app: app.deferred.do(lambda: app.run_slash("/transcript")),
    "palette": lambda app: app.run_slash("/palette"),
    "fold": lambda app: app.conversation.turn_all(),
    "page_back": lambda app: page(app, -1),
    "page_on": lambda app: page(app, 1),
    "to_start": lambda app: app.conversation.to_start(),
    "to_end": lambda app: app.conversation.scroll_end(animate=False, force=True),
}
LEAVE_ACTION: Final = "clear_or_leave"
# What a question that has the keys uses itself, or what would change what it is asked about.
NOT_AT_QUESTION: Final = frozenset({"cycle_mode", "step_back", "page_back", "page_on"})
