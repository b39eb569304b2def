"""Schemas and descriptions: what a model reads about the tools, precise and short."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from assent.tools.registry import TOOLS
from assent.tools.tool import Tool, schema, tool_definition

OURS = (
    "write edit patch delete move notebook_edit write_plan todo question "
    "present_plan enter_plan remember"
)


class Inner(msgspec.Struct):
    label: str
    kind: Literal["a", "b"] = "a"


class Sample(msgspec.Struct):
    path: Annotated[str, msgspec.Meta(description="where")]
    count: int
    ratio: float = 0.5
    deep: bool = False
    name: str | None = None
    inner: list[Inner] = []
    words: tuple[str, ...] = ()


def test_a_struct_becomes_a_schema_without_references() -> None:
    assert schema(Sample) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "where"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "deep": {"type": "boolean"},
            "name": {"type": "string"},
            "inner": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "label": {"type": "string"},
                        "kind": {"type": "string", "enum": ["a", "b"]},
                    },
                    "required": ["label"],
                },
            },
            "words": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["path", "count"],
    }


def test_fields_that_need_their_name_are_required_too() -> None:
    class Late(msgspec.Struct, kw_only=True):
        late: int = 0
        needed: str

    assert schema(Late)["required"] == ["needed"]


def test_a_type_without_a_schema_is_an_error() -> None:
    class Odd(msgspec.Struct):
        odd: Any

    with pytest.raises(TypeError, match="has no schema"):
        schema(Odd)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_has_words_of_its_own(tool: Tool) -> None:
    made = tool_definition(tool, note="more." if tool.name == "more_tools" else "")
    assert made.name == tool.name
    assert made.description.endswith(".")
    assert made.schema["type"] == "object"


def undescribed(found: dict[str, Any], path: str = "") -> list[str]:
    """Returns the arguments of a schema that have no description, at any depth."""
    missing = []
    for name, field in found.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        missing += [] if str(field.get("description", "")).strip() else [place]
        missing += undescribed(field, place) + undescribed(field.get("items", {}), place)
    return missing


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("options", [True, False])
def test_f12_every_argument_has_a_short_description(tool: Tool, options: bool) -> None:
    for planning in (True, False):
        made = tool_definition(tool, options=options, planning=planning)
        assert undescribed(made.schema) == []
        assert len(str(made.schema)) < 800


def test_a_missing_description_is_found_at_any_depth() -> None:
    assert undescribed(schema(Sample)) == [
        "count", "ratio", "deep", "name", "inner", "inner.label", "inner.kind", "words",
    ]  # fmt: skip


def test_f12_the_shell_of_other_modes_does_not_speak_of_planning() -> None:
    [shell] = [tool for tool in TOOLS if tool.name == "shell"]
    plan, other = [tool_definition(shell, planning=planning) for planning in (True, False)]
    assert "`stage`" in plan.description
    assert {"stage", "network", "at_end"} <= plan.schema["properties"].keys()
    told = (other.description + str(other.schema)).lower()
    assert [word for word in ("plan", "stage", "network", "at_end") if word in told] == []
    assert plan.description.startswith(other.description)


def test_the_tools_of_editing_and_planning_cost_little() -> None:
    offers = [tool_definition(tool) for tool in TOOLS if tool.name in OURS.split()]
    assert len(offers) == 12
    assert sum(len(msgspec.json.encode(each)) for each in offers) <= 3850
