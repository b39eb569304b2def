"""Runs slow work in a daemon thread that the screen never waits for."""

from collections.abc import Callable
from contextvars import copy_context
from threading import Thread


def run_in_background(work: Callable[[], None]) -> None:
    """Does it in a thread of its own; a screen that closes meanwhile closes at once.

    What it finds it posts as a message, which never waits and is dropped where nobody is left.
    """
    Thread(target=copy_context().run, args=(work,), daemon=True).start()
