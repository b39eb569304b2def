"""The command line: builds and starts; the only face that may call `app`."""

import sys

from assent import __version__


def main() -> None:
    """Answers the two questions that need nothing else, or starts a command."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"assent {__version__}")
        return
    if arguments in ([], ["--help"], ["-h"], ["help"]):
        from assent.cli.table import overview

        print(overview(), end="")
        return
    try:
        from assent.cli.front import run

        code = run(arguments)
    except KeyboardInterrupt:  # while it was still loading
        code = 130
    sys.exit(code)
