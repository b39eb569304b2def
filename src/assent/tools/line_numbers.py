"""Line numbers in front of the lines of a result: adds, detects and removes them."""

import re

_PREFIX = r"[ \t]*\d+(?:[:-](?: |$)|[\t→])"
HINT = "Numbers in front of lines are not content: leave them out of `old` and `new`."


def numbered(number: int, line: str, sign: str = ":") -> str:
    """Renders a line with its number, as every tool shows it."""
    return f"{number}{sign} {line}"


def has_line_numbers(text: str) -> bool:
    """Tells whether a line of a text begins as if it had been copied with its number."""
    return any(re.match(_PREFIX, line) for line in text.splitlines())


def without_line_numbers(text: str) -> str:
    """Returns a text without the numbers; as it is, unless every line has one."""
    lines = text.split("\n")
    body = lines[:-1] if len(lines) > 1 and not lines[-1] else lines
    if not all(re.match(_PREFIX, line) for line in body):
        return text
    return "\n".join([re.sub(rf"^{_PREFIX}", "", line, count=1) for line in lines])
