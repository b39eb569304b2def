"""Runs several read-only pieces of work in parallel threads."""

from collections.abc import Callable, Sequence
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

MAX_THREADS = 8  # threads


def run_parallel(work: Callable[[T], R], things: Sequence[T]) -> list[R]:
    """Returns what came of each, in their order; the first error is raised when all are done."""
    if len(things) == 1:
        return [work(things[0])]
    waiting = list(enumerate(things))[::-1]
    results: dict[int, R] = {}
    errors: list[BaseException] = []

    def worker() -> None:
        while waiting:
            try:
                at, thing = waiting.pop()
            except IndexError:  # another one was faster
                return
            try:
                results[at] = work(thing)
            except BaseException as error:
                errors.append(error)

    # Daemons: a person who interrupts does not wait for readers to end.
    threads = [Thread(target=worker, daemon=True) for _ in range(min(MAX_THREADS, len(things)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[at] for at in range(len(things))]
