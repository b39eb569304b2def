"""Text functions: diff, merge, search, hidden and confusable characters, secrets, redaction."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Returns a number with its noun, such as `1 operation` or `2 operations`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
