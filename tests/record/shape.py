"""Shapes of JSON: keys, types and states of an answer, without what differs each time.

A shape is itself JSON, made to be read:

- an object is an object; a key that only some elements of a list have ends with `?`
- a list is a list of one shape, that of all its elements together; an empty one is `[]`
- a list of objects that have a `kind` (events, operations, parts) has one shape for each kind;
  the tools of a model and the layers of its prompt have one for each name
- a scalar is the name of its type, `digest`, `id` and `time` among them; several are written as
  `null | string`
- a boolean, and a word in a member that is a state (`STATES`), is its value, as in `=done`
- what is sometimes of one sort and sometimes of another is `{"one of": [...]}`
"""

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, NamedTuple

# Members whose words are part of the contract. A sentence in one of them is any string.
STATES = frozenset({
    "action", "against", "agent", "base", "by", "channel", "custom_mode", "cut", "decided",
    "decision", "effect", "ended", "enum", "error", "exit", "how", "kind", "layer",
    "missing_mode", "mode", "on", "outcome", "permission", "profile", "required", "result",
    "results", "reversible", "risk", "risks", "source", "standing", "state", "status", "step",
    "stop", "stream", "synthetic", "tool", "type", "verdict", "what", "why",
})  # fmt: skip
CODES = frozenset({"code", "exit", "exit_code"})  # members whose numbers are
WORD = re.compile(r"[\w-]{0,48}")
# Lists whose elements are told apart by their `name`, as others are by their `kind`.
NAMED = frozenset({"tools", "layers"})
# Members that are maps: their keys are the names of files.
MAPS = frozenset({"seen"})
FORMATS = {
    "digest": re.compile(r"[0-9a-f]{64}"),
    "id": re.compile(r"[0-9a-hjkmnp-tv-z]{26}"),
    "time": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
}


class Shape(NamedTuple):
    """What is known of one place in an answer."""

    scalars: frozenset[str] = frozenset()
    members: Mapping[str, "Shape"] | None = None
    optional: frozenset[str] = frozenset()
    elements: "Shape | None" = None

    def merged(self, other: "Shape") -> "Shape":
        """Returns the shape of a place that was seen to hold the one and the other."""
        members, optional = self._members(other)
        both = [one.elements for one in (self, other) if one.elements is not None]
        elements = reduce(Shape.merged, both) if both else None
        return Shape(self.scalars | other.scalars, members, optional, elements)

    def _members(self, other: "Shape") -> tuple[Mapping[str, "Shape"] | None, frozenset[str]]:
        if self.members is None or other.members is None:
            present = other if self.members is None else self
            return present.members, present.optional
        one, two = self.members, other.members
        shapes = [(key, [each[key] for each in (one, two) if key in each]) for key in {*one, *two}]
        members = {key: reduce(Shape.merged, found) for key, found in shapes}
        return members, self.optional | other.optional | (one.keys() ^ two.keys())

    def shown(self) -> Any:
        """Returns the shape as JSON."""
        forms: list[Any] = []
        if self.scalars:
            forms.append(" | ".join(sorted(self.scalars)))
        if self.members is not None:
            marks = {key: "?" if key in self.optional else "" for key in sorted(self.members)}
            forms.append({f"{key}{marks[key]}": self.members[key].shown() for key in marks})
        if self.elements is not None:
            forms.append([] if self.elements == NOTHING else [self.elements.shown()])
        return forms[0] if len(forms) == 1 else {"one of": forms}


NOTHING = Shape()


def shape(value: Any, name: str = "") -> Shape:
    """Returns the shape of what a member of this name holds."""
    match value:
        case dict() if name in MAPS:
            return Shape(members={"*": together(shape(each) for each in value.values())})
        case dict():
            return Shape(members={key: shape(each, key) for key, each in value.items()})
        case [{"kind": str()}, *_]:
            return by_kind(value)
        case [{"name": str()}, *_] if name in NAMED:
            return Shape(members={f"[{each['name']}]": shape(each) for each in value})
        case list():
            return Shape(elements=together(shape(each, name) for each in value))
        case _:
            return Shape(scalars=frozenset({_scalar(value, name)}))


def by_kind(objects: Iterable[dict[str, Any]]) -> Shape:
    """Returns the shapes of objects, those of a kind together; of what was said, by its part's."""
    found: dict[str, Shape] = {}
    for each in objects:
        part = each["body"].get("part") if isinstance(each.get("body"), dict) else None
        key = f"[{each['kind']}{' ' + part['kind'] if part else ''}]"
        found[key] = found.get(key, NOTHING).merged(shape(each))
    return Shape(members=found)


def together(shapes: Iterable[Shape]) -> Shape:
    """Returns one shape for many."""
    return reduce(Shape.merged, shapes, NOTHING)


def _scalar(value: object, name: str) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"={str(value).lower()}"
        case str():
            return _string(value, name)
        case int():
            return f"={value}" if name in CODES else "integer"
        case _:
            return "number"


def _string(value: str, name: str) -> str:
    for form, pattern in FORMATS.items():
        if pattern.fullmatch(value):
            return form
    return f"={value}" if name in STATES and WORD.fullmatch(value) else "string"
