"""The command line: builds and starts; the only face that may call `app`."""

import gc
import os
import sys

from assent import __version__

# Values made before the collector looks for cycles. Commands are short and make next to none, and
# with the usual 700 it would look hundreds of times, at everything that was loaded, too.
MANY = 100_000
STREAMS = ("stdin", "stdout", "stderr")  # keys come from the first, the last one is painted on


def main() -> None:
    """Answers the two questions that need nothing else, or starts a command."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"assent {__version__}")
        return
    why = "" if arguments else no_screen()
    if arguments in (["--help"], ["-h"], ["help"]) or why:
        from assent.cli.table import overview

        print(overview(), end="", flush=True)
        if why and sys.stderr is not None:
            print(why, file=sys.stderr)
        return
    try:
        gc.set_threshold(MANY)
        from assent.cli.front import run

        code = run(arguments)
    except KeyboardInterrupt:  # while it was still loading
        code = 130
    gc.freeze()  # else all that is left is searched for cycles once more, before it goes anyway
    sys.exit(code)


def no_screen() -> str:
    """Says why no screen opens here; nothing where a person sits at a terminal that paints."""
    others = [name for number, name in enumerate(STREAMS) if not os.isatty(number)]
    if others:
        why = f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} not a terminal"
    elif os.environ.get("TERM", "dumb") in ("", "dumb"):
        why = "TERM is dumb or not set"
    else:
        return ""
    return f'No screen opens, because {why}. Without one: assent "GOAL", or assent -p "TEXT".'
