"""Front matter: the small, exact subset of YAML in which a plan declares scope and reliance.

Only `scope: {files: [...], commands: [...]}` and `relies_on: [...]` are read, in flow or block
form; other keys belong to other tools and are skipped. What looks like one of ours and cannot
be read is an error: a scope that is silently ignored would be wider than the user wrote.
"""

import msgspec

from assent.core.errors import InvalidPlan

KNOWN_KEYS = ("scope", "relies_on")
_LOOKS = {
    **dict.fromkeys(("scope", "scopes", "scop", "scopefiles", "scopecommands"), "scope"),
    **dict.fromkeys(("relieson", "relyon", "relies", "reliedon", "relieon"), "relies_on"),
}


class FrontMatter(msgspec.Struct, frozen=True):
    """What a plan's front matter declares; absent means empty."""

    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    relies_on: tuple[str, ...] = ()


def front_matter(text: bytes) -> FrontMatter:
    """Reads the declarations at the top of a plan's Markdown."""
    blocks = _blocks(text.decode("utf-8", "backslashreplace"))
    scope = _mapping("scope", blocks.get("scope", []))
    return FrontMatter(
        files=_sequence("scope.files", scope.get("files", [])),
        commands=_sequence("scope.commands", scope.get("commands", [])),
        relies_on=_sequence("relies_on", blocks.get("relies_on", [])),
    )


def misspelled_keys(text: bytes) -> list[tuple[str, str]]:
    """Returns unknown top-level keys that look like known ones, each with the one it looks like.

    They declare nothing. Freezing a text warns about them.
    """
    keys = _blocks(text.decode("utf-8", "backslashreplace"))
    looks = [(key, _LOOKS.get("".join(filter(str.isalnum, key.lower())), "")) for key in keys]
    return [(key, ours) for key, ours in looks if ours and key != ours]


def _blocks(text: str) -> dict[str, list[str]]:
    """Returns the lines of each top-level key, the rest of the key's own line first."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}
    blocks: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines[1:]:
        if line.rstrip() in ("---", "..."):
            return blocks
        key, colon, rest = line.partition(":")
        if line[:1] not in (" ", "\t", "-", "#", "") and colon:
            current = _entry(blocks, key.rstrip(), rest)
        else:
            current.append(line)
    raise InvalidPlan("The front matter starts with --- but is not closed.")


def _entry(entries: dict[str, list[str]], key: str, rest: str) -> list[str]:
    """Begins an entry; a key that occurs twice, or one of ours in quotes, is refused."""
    if key in entries:
        raise InvalidPlan(f"The front matter contains `{key}` twice.")
    if key.strip("\"'") in KNOWN_KEYS and key not in KNOWN_KEYS:
        raise InvalidPlan(f"In the front matter, write {key} without quotes.")
    entries[key] = [rest]
    return entries[key]


def _mapping(key: str, lines: list[str]) -> dict[str, list[str]]:
    """Reads `{a: [..], b: [..]}` or indented `a:` and `b:` into the lines of each."""
    first, rest = _split(lines)
    if first:
        return _flow_pairs(key, _joined(first, rest))
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in rest:
        name, colon, value = line.strip().partition(":")
        if not line.lstrip().startswith("-") and colon and name in ("files", "commands"):
            current = _entry(found, name, value)
        elif current is None or not line[:1].isspace():
            raise InvalidPlan(f"`{key}` in the front matter cannot be parsed at: {line.strip()}")
        else:
            current.append(line)
    return found


def _flow_pairs(key: str, text: str) -> dict[str, list[str]]:
    if not (text.startswith("{") and text.endswith("}")):
        raise InvalidPlan(f"`{key}` in the front matter must be {{files: [...], commands: [...]}}.")
    pairs: dict[str, list[str]] = {}
    for piece in _pieces(key, text[1:-1]):
        name, colon, value = piece.partition(":")
        if not colon or name.strip() not in ("files", "commands"):
            raise InvalidPlan(
                f"`{key}` in the front matter allows only files and commands, not: {piece}"
            )
        _entry(pairs, name.strip(), value.strip())
    return pairs


def _sequence(key: str, lines: list[str]) -> tuple[str, ...]:
    """Reads `[a, b]`, or a `- item` a line."""
    first, rest = _split(lines)
    if first:
        text = _joined(first, rest)
        if not (text.startswith("[") and text.endswith("]")):
            raise InvalidPlan(f"`{key}` in the front matter must be a list: [a, b].")
        return tuple(_scalar(key, piece) for piece in _pieces(key, text[1:-1]))
    items = []
    for line in rest:
        dash, _, value = line.strip().partition(" ")
        if dash != "-" or not value.strip():
            raise InvalidPlan(
                f"`{key}` in the front matter must be a list of `- item`: {line.strip()}"
            )
        items.append(_scalar(key, value.strip()))
    return tuple(items)


def _split(lines: list[str]) -> tuple[str, list[str]]:
    """Separates what stands behind the key from the lines below it, without comments and blanks."""
    kept = [_uncommented(line) for line in lines]
    return (kept[0].strip() if kept else "", [line for line in kept[1:] if line.strip()])


def _joined(first: str, rest: list[str]) -> str:
    return " ".join([first, *rest]).rstrip()


def _uncommented(line: str) -> str:
    quote = ""
    for at, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#" and (at == 0 or line[at - 1].isspace()):
            return line[:at]
    return line


def _pieces(key: str, text: str) -> list[str]:
    """Splits at commas that stand outside quotes and brackets."""
    pieces, start, depth, quote = [], 0, 0, ""
    for at, char in enumerate(text + ","):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
            if depth < 0:
                raise InvalidPlan(
                    f"`{key}` in the front matter closes a bracket that was never opened."
                )
        elif char == "," and depth == 0:
            pieces.append(text[start:at].strip())
            start = at + 1
    if quote or depth:
        raise InvalidPlan(f"`{key}` in the front matter has an unclosed quote or bracket.")
    return [piece for piece in pieces if piece]


def _scalar(key: str, text: str) -> str:
    """Reads a bare word or a quoted one. There are no escapes: a quote of the other kind serves."""
    if text[:1] in ("'", '"'):
        if text[-1] != text[0] or text[0] in text[1:-1] or text == text[0]:
            raise InvalidPlan(f"`{key}` in the front matter has a badly quoted item: {text}")
        return text[1:-1]
    if text[:1] in "&!|>%@`[]{}":
        raise InvalidPlan(f"`{key}` in the front matter has an item that needs quotes: {text}")
    return text
