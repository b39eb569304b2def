"""Whether the standard streams are a terminal that the terminal UI can open on."""

import os

STREAMS = ("stdin", "stdout", "stderr")  # keys come from the first, the last one is painted on


def why_no_screen() -> str:
    """Says why no screen opens here; nothing where a person sits at a terminal that paints."""
    others = [name for number, name in enumerate(STREAMS) if not os.isatty(number)]
    if others:
        why = f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} not a terminal"
    elif os.environ.get("TERM", "dumb") in ("", "dumb"):
        why = "TERM is dumb or not set"
    else:
        return ""
    return f'No screen opens, because {why}. Without one: assent "GOAL", or assent -p "TEXT".'
