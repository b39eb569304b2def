"""Checks whether a value from outside is nested too deeply."""

MAX_DEPTH = 100  # lists and tables in each other


TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep"


def is_too_deep(value: object, most: int = MAX_DEPTH) -> bool:
    """Tells whether lists and tables are nested too deeply, without recursing."""
    level: list[object] = [value]
    for _ in range(most):
        level = [each for one in level for each in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: object) -> "list[object]":
    if isinstance(value, dict):
        return [each for each in value.values() if isinstance(each, dict | list)]
    if isinstance(value, list):
        return [each for each in value if isinstance(each, dict | list)]
    return []
