"""The command line: parses and runs commands; the only face that may call `app`."""

import gc
import os
import signal
import sys
from contextlib import suppress

from assent import __version__

# Allocations before the collector looks for cycles. Commands are short and leave almost none, and
# with the usual 700 it would run hundreds of times, also over everything that was loaded.
GC_THRESHOLD = 100_000
INTERRUPTED = 130


def main() -> None:
    """Answers the two questions that need nothing else, or starts a command."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:  # else whoever started us has it ignored
        signal.signal(signal.SIGINT, _leave)
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        return _show(f"assent {__version__}\n")
    from assent.cli.terminal import why_no_screen

    why = "" if arguments else why_no_screen()
    if arguments in (["--help"], ["-h"], ["help"]) or why:
        from assent.cli.registry import overview

        return _show(overview(), why)
    gc.set_threshold(GC_THRESHOLD)
    _load_msgspec()
    from assent.cli.entry import run

    try:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run(arguments)
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code:
        _flush()
    gc.freeze()  # else all that is left is searched for cycles once more, before it goes anyway
    sys.exit(code)


def _flush() -> None:
    """Writes the rest, if that is possible: the exit code says why we ended, also without it."""
    from assent.cli.terminal import silence

    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:  # the terminal is gone
            silence(stream)


def _leave(*_: object) -> None:
    """Ends at once: while it is still loading, nothing was begun and nothing was said."""
    os._exit(INTERRUPTED)


def _show(text: str, why: str = "") -> None:
    """Prints a text that needs no workspace; `why` there is no screen goes to stderr."""
    try:
        if sys.stdout is not None:
            print(text, end="", flush=True)
        if why and sys.stderr is not None:
            print(why, file=sys.stderr)
    except BrokenPipeError:
        os._exit(0)  # who read it has seen enough; a flush at the end would fail again
    except OSError as error:
        with suppress(OSError):
            print(f"assent: This could not be printed: {error.strerror}.", file=sys.stderr)
        os._exit(1)


def _load_msgspec() -> None:
    """Loads msgspec with `typing` and not with `typing_extensions`, which it would prefer.

    Both do for the Pythons that we run on, but that one loads `inspect`, `ast` and `tokenize`: a
    tenth of the time to a first request.
    """
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # so that it is not found
    try:
        import msgspec  # noqa: F401 - loaded for those that import it
    finally:
        del sys.modules[name]
