"""The plan: an immutable text with exact operations, named by its digest."""

from functools import cached_property
from typing import Final

import msgspec

from assent.core.digest import export_digest, operation_ids, operations_hash, plan_digest, sha256
from assent.core.errors import InvalidPlan
from assent.core.plan.operation import Operation, WriteFile
from assent.core.text.glob_pattern import FNMATCH, glob_matches

# Front matter: the small, exact subset of YAML in which a plan declares scope, reliance and checks.
#
# Only `scope: {files: [...], commands: [...]}`, `relies_on: [...]` and `verify: [...]` are read, in
# flow or block form; other keys belong to other tools and are skipped. What looks like one of ours
# and cannot be read is an error: a scope that is silently ignored would be wider than the user
# wrote.


KNOWN_KEYS = ("scope", "relies_on", "verify")
MAX_VERIFY: Final = 16  # commands that a text, or a model, names for a verification
_LOOKS = {
    **dict.fromkeys(("scope", "scopes", "scop", "scopefiles", "scopecommands"), "scope"),
    **dict.fromkeys(("relieson", "relyon", "relies", "reliedon", "relieon"), "relies_on"),
    **dict.fromkeys(("verify", "verifies", "verifycommands", "verfy", "verifiy"), "verify"),
}


class FrontMatter(msgspec.Struct, frozen=True):
    """What a plan's front matter declares; absent means empty."""

    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    relies_on: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()  # command lines that show whether it works


def front_matter(text: bytes) -> FrontMatter:
    """Reads the declarations at the top of a plan's Markdown."""
    blocks = _blocks(text.decode("utf-8", "backslashreplace"))
    scope = _mapping("scope", blocks.get("scope", []))
    return FrontMatter(
        files=_sequence("scope.files", scope.get("files", [])),
        commands=_sequence("scope.commands", scope.get("commands", [])),
        relies_on=_sequence("relies_on", blocks.get("relies_on", [])),
        verify=_sequence("verify", blocks.get("verify", [])),
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
    """Separates what follows the key from the lines below it, without comments and blanks."""
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
    """Reads a bare or quoted word. There are no escapes: the other kind of quote can be used."""
    if text[:1] in ("'", '"'):
        if text[-1] != text[0] or text[0] in text[1:-1] or text == text[0]:
            raise InvalidPlan(f"`{key}` in the front matter has a badly quoted item: {text}")
        return text[1:-1]
    if text[:1] in "&!|>%@`[]{}":
        raise InvalidPlan(f"`{key}` in the front matter has an item that needs quotes: {text}")
    return text


WHAT_AND_WHY: Final = "What should be true afterwards, and why."  # placeholders of a new plan
HOW_TO_VERIFY: Final = "How a reader can tell that it worked."

NO_SCOPE = (
    "This text plan declares no `scope.files` in its front matter, so the build asks about every "
    "change."
)


class Scope(msgspec.Struct, frozen=True):
    """Globs and command prefixes that a plan declares it may touch; empty means not declared."""

    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        """Tells whether a file is inside the scope; `*` matches any characters, `/` too."""
        if not self.files:
            return True
        return any(glob_matches(path, glob, FNMATCH) for glob in self.files)


class ReliedOnFile(msgspec.Struct, frozen=True, order=True):
    """A file that the plan does not touch but relies on."""

    path: bytes
    digest: str


class Plan(msgspec.Struct, frozen=True, dict=True):
    """What a user approves; it alone determines what the executor does (law 4).

    The value never changes, so each digest is computed once and cached.
    """

    text: bytes
    operations: tuple[Operation, ...]
    scope: Scope = Scope()
    relied_on: tuple[ReliedOnFile, ...] = ()
    workspace: str = ""
    export: bytes = b""  # the path of the one operation, if that is what plan.export added

    @cached_property
    def content_hash(self) -> str:
        return sha256(self.text)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return operation_ids(self.operations)

    @cached_property
    def operations_hash(self) -> str:
        return operations_hash(self.ids)

    @cached_property
    def digest(self) -> str:
        plain = plan_digest(
            self.content_hash,
            self.operations_hash,
            (self.scope.files, self.scope.commands),
            [(file.path, file.digest) for file in self.relied_on],
            self.workspace,
        )
        return export_digest(plain, self.export) if self.export else plain

    @property
    def is_text_only(self) -> bool:
        """Whether a model has to build it: it has no operation except the configured export."""
        return not self.operations or (
            len(self.operations) == 1 and self.is_export(self.operations[0])
        )

    @property
    def covers_nothing(self) -> bool:
        """Whether it is a text plan without a scope, so that every single change is asked about."""
        return self.is_text_only and not self.scope.files

    def is_export(self, op: Operation) -> bool:
        """Tells whether an operation is the export that the setting added, not a similar one."""
        return (
            isinstance(op, WriteFile)
            and op.path == self.export
            and (op.after.kind, op.after.digest) == ("file", self.content_hash)
        )


def declaration_problem(text: bytes) -> str:
    """Says why a text cannot be proposed as it is: its front matter cannot be read; else empty."""
    try:
        declared_scope(text)
        declared_verification(text)
    except InvalidPlan as error:
        return error.message
    return ""


def declared_scope(text: bytes) -> Scope:
    """Reads the scope that the Markdown declares; files cannot be excluded from it."""
    declared = front_matter(text)
    for entry in (*declared.files, *declared.commands):
        if entry.startswith("!"):
            raise InvalidPlan(
                f"The scope in the front matter contains {entry!a}. `!` cannot exclude anything; "
                "list only what the plan may change.",
                "assent plan write FILE",
            )
    return Scope(declared.files, declared.commands)


def declared_verification(text: bytes) -> tuple[str, ...]:
    """Reads the command lines that the Markdown names to verify the plan; too many are refused."""
    lines = tuple(line for line in front_matter(text).verify if line.strip())
    if len(lines) > MAX_VERIFY:
        raise InvalidPlan(
            f"`verify` in the front matter names {len(lines)} commands; {MAX_VERIFY} at most. Put "
            "several into one script or make target.",
            "assent plan write FILE",
        )
    return lines


def declared_reliance(text: bytes) -> tuple[bytes, ...]:
    """Reads the files that the Markdown says it relies on."""
    return tuple(path.encode() for path in front_matter(text).relies_on)


def is_template_text(text: bytes, name: str, goal: str, *, first: bool) -> bool:
    """Tells whether a plan's text is empty or still the template.

    `first`: it is the text that the plan was created with. Notes of earlier approvals may follow
    that template; they are not planned for yet.
    """
    bare = plan_template(name, goal)
    return not text.strip() or text == bare or (first and text.startswith(bare))


def plan_template(name: str, goal: str) -> bytes:
    """Returns the Markdown that a new plan starts with."""
    title = name.replace("_", " ").replace("-", " ").strip().capitalize() or name
    return (
        f"# {title}\n\n## Goal\n\n{goal or WHAT_AND_WHY}\n\n"
        "## Proposed changes\n\n- [ ] \n\n"
        f"## Verification\n\n- [ ] {HOW_TO_VERIFY}\n"
    ).encode()
