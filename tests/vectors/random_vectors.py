"""Random inputs in the form of the vectors: plans, approvals, and texts that nearly make sense."""

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
BYTES = st.binary(max_size=12)
# Small families make equal operations, equal paths and equal contents likely.
FEW = st.sampled_from(["", "a", "b", "a/b", "ab"])


def _either(name: str) -> st.SearchStrategy[Json]:
    """A member as text or as hex."""
    as_text = st.builds(lambda text: {name: text}, FEW | TEXT)
    return as_text | st.builds(lambda content: {f"{name}_hex": content.hex()}, BYTES)


def _either_list(name: str) -> st.SearchStrategy[Json]:
    as_text = st.builds(lambda texts: {name: texts}, st.lists(FEW | TEXT, max_size=3))
    as_hex = st.lists(BYTES.map(bytes.hex), max_size=3)
    return as_text | st.builds(lambda items: {f"{name}_hex": items}, as_hex)


def _joined(*parts: st.SearchStrategy[Json], **fields: st.SearchStrategy[Any]) -> Any:
    """One object with the members of all parts."""
    whole = st.tuples(*parts, st.fixed_dictionaries(fields))
    return whole.map(lambda found: {name: part[name] for part in found for name in part})


MODES = st.integers(0, 0o7777).map(lambda mode: f"{mode:o}")
FILES = _joined(_either("content"), kind=st.just("file"), mode=MODES)
LINKS = _joined(_either("content"), kind=st.just("link"), mode=st.just("777"))
STATES = FILES | LINKS
PRUNE = st.integers(0, 20)

WRITES = _joined(_either("path"), kind=st.just("write"), before=st.none() | STATES, after=STATES)
DELETES = _joined(_either("path"), kind=st.just("delete"), before=STATES, prune=PRUNE)
MOVES = _joined(_either("path"), _either("to"), kind=st.just("move"), before=STATES, prune=PRUNE)
PROFILES = st.sampled_from(["workspace", "commit", "unconfined"])
COMMANDS = _joined(
    st.just({}) | st.builds(lambda profile: {"profile": profile}, PROFILES),
    _either_list("argv"),
    _either("script"),
    _either("cwd"),
    _either_list("undo"),
    kind=st.just("run"),
    env=st.lists(_joined(_either("name"), _either("value")), max_size=3),
    timeout=st.integers(0, 100_000),
    network=st.booleans(),
)
OPERATIONS = (
    WRITES
    | DELETES
    | MOVES
    | COMMANDS
    | st.just({"kind": "run", "argv": ["make"], "timeout": 120, "network": False})
)

plans = _joined(
    _either("text"),
    operations=st.lists(OPERATIONS, max_size=5),
    scope=st.fixed_dictionaries(
        {"files": st.lists(FEW | TEXT, max_size=3), "commands": st.lists(FEW | TEXT, max_size=3)}
    ),
    relied_on=st.lists(_joined(_either("path"), _either("content")), max_size=4),
    workspace=FEW | TEXT,
)

approvals = st.fixed_dictionaries(
    {
        "seed_hex": st.binary(min_size=32, max_size=32).map(bytes.hex),
        **dict.fromkeys(("id", "plan_id", "content_hash", "operations_hash", "digest"), TEXT),
        **dict.fromkeys(("user", "channel", "note", "approved_at", "expires_at"), TEXT),
    }
)

# Front matter that is right, with some fragments put in that may make it wrong.
FRAGMENTS = st.sampled_from(
    [
        "---", "...", "scope:", "files:", "title: x", ":", " : ", "{", "}", "[", "]", ",", "- ",
        "-", " ", "  ", "\t", "#", " # ", "'", '"', "a", "&", "\n", "\n  ", "\r\n", "\x0b", "\x1f",
        "\x85", "\xa0", "\u2028", "\u3000", "\ufeff", "\n---\n", "relies_on: [b]\n",
    ]
)  # fmt: skip
ITEMS = st.sampled_from(["a", "src/**", "b c", "'a, b'", '"it\'s"', '""', "a: b", "x#y", "é", "*"])
LISTS = st.lists(ITEMS, max_size=3)


def _list(items: list[str], style: str) -> str:
    """The value of a key, from behind its colon to the end of its last line."""
    if style == "flow":
        return f" [{', '.join(items)}]\n"
    if style == "long flow":
        return f" [{', '.join([*items, ''])}\n      ]\n".replace(", ", ",\n    ")
    return "\n" + "".join([f"    - {item}  # why\n" for item in items])


STYLES = st.sampled_from(["flow", "long flow", "block"])
VALUES = st.builds(_list, LISTS, STYLES)
BLOCK_SCOPES = st.builds("scope:\n  files:{}  commands:{}".format, VALUES, VALUES)
FLOW_SCOPES = st.builds(
    lambda files, commands: f"scope: {{files:{files.strip()}, commands: {commands.strip()}}}\n",
    st.builds(_list, LISTS, st.just("flow")),
    st.builds(_list, LISTS, st.just("flow")),
)
RELIES_ON = st.builds("relies_on:{}".format, VALUES)
OTHERS = st.sampled_from(["title: A plan\n", "tags: [a\n", "# note\n", "\n", ""])
KEYS = st.tuples(OTHERS, BLOCK_SCOPES | FLOW_SCOPES, OTHERS, RELIES_ON).map("".join)


def _damaged(text: str, noise: list[tuple[float, str]]) -> str:
    for place, fragment in noise:
        at = int(place * len(text))
        text = text[:at] + fragment + text[at:]
    return text


NOISE = st.lists(st.tuples(st.floats(0, 1), FRAGMENTS), max_size=3)
TAILS = st.sampled_from([b"# Plan\n", b"", b"\xff", b"\xc3("])

front_matters = st.builds(
    lambda text, noise, tail: {"text_hex": (_damaged(text, noise).encode() + tail).hex()},
    KEYS.map("---\n{}---\n".format),
    NOISE,
    TAILS,
)
