"""Tools whose schema comes from elsewhere: offered as it is, arguments passed on as they came."""

import pytest

from assent.core.errors import UsageError
from assent.core.llm import ToolCall
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.aliases import is_reserved_name, resolve_alias
from assent.tools.tool import RawArguments, Tool, decode_arguments, tool_definition

SCHEMA = {
    "type": "object",
    "properties": {"file_path": {"type": "string"}, "rows": {"type": "array"}, "any": {}},
    "required": ["file_path"],
}
TOOL = Tool(
    "stub_look",
    RawArguments,
    lambda args, around: (ResourceAccess(Action.TOOL, "stub_look"),),
    lambda args, around: ToolOutcome("seen"),
    Action.TOOL,
    text="Looks.",
    schema=SCHEMA,
)


def test_it_is_offered_as_it_is() -> None:
    found = tool_definition(TOOL)
    assert (found.name, found.description, found.schema) == ("stub_look", "Looks.", SCHEMA)


def test_arguments_come_through_untranslated() -> None:
    args = {"file_path": "a", "rows": "[1, 2]", "any": "[1]", "more": None}
    call = resolve_alias(ToolCall("1", "stub_look", args), {"stub_look": TOOL})
    assert decode_arguments(TOOL, call) == RawArguments({**args, "rows": [1, 2]})


def test_what_is_required_must_be_there() -> None:
    with pytest.raises(UsageError, match="stub_look: `file_path` is missing"):
        decode_arguments(TOOL, ToolCall("1", "stub_look", {"rows": []}))
    with pytest.raises(UsageError, match="could not be parsed"):
        decode_arguments(TOOL, ToolCall("1", "stub_look", None, "{"))


@pytest.mark.parametrize("name", ["read", "WriteFile", "write-file", "web_search", "text_editor"])
def test_names_that_mean_something_already(name: str) -> None:
    assert is_reserved_name(name)


def test_a_name_of_ones_own_is_free() -> None:
    assert not is_reserved_name("stub_look")
