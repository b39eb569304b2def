"""The command line: parses and runs commands; the only face that may call `app`."""

import gc
import sys

from assent import __version__
from assent.cli.registry import overview
from assent.cli.terminal import why_no_screen

# Allocations before the collector looks for cycles. Commands are short and leave almost none, and
# with the usual 700 it would run hundreds of times, also over everything that was loaded.
GC_THRESHOLD = 100_000


def main() -> None:
    """Answers the two questions that need nothing else, or starts a command."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"assent {__version__}")
        return
    why = "" if arguments else why_no_screen()
    if arguments in (["--help"], ["-h"], ["help"]) or why:
        print(overview(), end="", flush=True)
        if why and sys.stderr is not None:
            print(why, file=sys.stderr)
        return
    try:
        gc.set_threshold(GC_THRESHOLD)
        _load_msgspec()
        from assent.cli.entry import run

        code = run(arguments)
    except KeyboardInterrupt:  # while it was still loading
        code = 130
    gc.freeze()  # else all that is left is searched for cycles once more, before it goes anyway
    sys.exit(code)


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
