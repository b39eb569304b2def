"""Plugin tools: only what the user enabled is imported, and it may change things."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.app.plugin_package import Site

from assent.app.plugins import plugin_tools
from assent.config.settings import PluginSettings
from assent.core.errors import AssentError
from assent.core.tool import Action, ResourceAccess
from assent.tools.tool import Tool, ToolContext, tool_definition

AROUND = cast(ToolContext, None)  # none of these tools looks around
WRITER = 'WRITER = Tool("scribe", Args, nothing, write, Action.READ, text="Writes.")\n'
SILENT = 'SILENT = Tool("mute", Args, nothing, write, text="Says nothing about itself.")\n'


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    found = Site(tmp_path / "site")
    with found.on_path():
        yield found


def loaded(*enabled: str, reads: tuple[str, ...] = ()) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
    return plugin_tools(PluginSettings(enabled, reads))


def only(tools: tuple[Tool, ...]) -> Tool:
    (tool,) = tools
    return tool


def args(tool: Tool, path: object) -> Any:
    return tool.args(path=str(path))


def test_what_is_not_enabled_is_not_even_imported(site: Site) -> None:
    site.install("first", WRITER, one="WRITER")
    site.install("second", SILENT, two="SILENT")
    assert loaded() == ((), ())
    assert site.ran() == []
    tools, warnings = loaded("two")
    assert ([tool.name for tool in tools], warnings) == (["mute"], ())
    assert site.ran() == ["import"]


@pytest.mark.parametrize("point", ["WRITER", "SILENT"])
def test_f98_a_plugin_changes_things_whatever_it_declares(site: Site, point: str) -> None:
    site.install("first", WRITER + SILENT, one=point)
    tool = only(loaded("one")[0])
    request = ResourceAccess(Action.TOOL, tool.name, key=tool.name)
    assert (tool.action, tuple(tool.touches(args(tool, "a"), AROUND))) == (Action.TOOL, (request,))
    assert site.ran() == ["import"]  # judging it runs nothing of it


def test_the_user_can_say_that_a_tool_only_reads(site: Site) -> None:
    source = """
def touches(args, around):
    return [Request(Action.SHELL, args.path), Request(Action.EDIT, "b"), Request(Action.PLAN, "c")]
LOOK = Tool("look", Args, touches, write, text="Looks.")
"""
    site.install("first", source + WRITER, look="LOOK", scribe="WRITER")
    look, scribe = loaded("look", "scribe", reads=("look", "scribe"))[0]
    assert (look.action, scribe.action) == (Action.READ, Action.READ)
    assert list(look.touches(args(look, "a"), AROUND)) == [
        ResourceAccess(Action.READ, "a", "look"),
        ResourceAccess(Action.EDIT, "b"),  # a wish that the gate judges like anybody's
        ResourceAccess(Action.READ, "c", "look"),
    ]
    assert list(scribe.touches(args(scribe, "a"), AROUND)) == [
        ResourceAccess(Action.READ, "scribe", "scribe")
    ]


def test_it_is_offered_with_its_own_words_and_schema(site: Site) -> None:
    site.install("worded", 'TOOL = Tool("look", Args, nothing, write)\n', look="TOOL")
    (site.folder / "worded.md").write_text("Looks at things.\n", encoding="utf-8")
    found = tool_definition(only(loaded("look")[0]))
    fields = {"path": {"type": "string"}}
    schema = {"type": "object", "properties": fields, "required": ["path"]}
    assert (found.name, found.description, found.schema) == ("look", "Looks at things.", schema)


def test_several_tools_at_once(site: Site) -> None:
    site.install("first", f"{WRITER}{SILENT}ALL = (WRITER, SILENT, WRITER, 7)\n", one="ALL")
    tools, warnings = loaded("one")
    assert [tool.name for tool in tools] == ["scribe", "mute"]
    assert warnings == (
        "Tool 'scribe' of plugin 'one' was skipped: its name is already in use.",
        "Tool 'int' of plugin 'one' was skipped: it is not a tool.",
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("write", "its name is already in use."),
        ("bash", "its name is already in use."),
        ("write_file", "its name is already in use."),
        ("str_replace_editor", "its name is already in use."),
        ("Look", "its name does not match [a-z][a-z0-9_]{0,40}."),
        ("look-up", "its name does not match [a-z][a-z0-9_]{0,40}."),
        ("", "its name does not match [a-z][a-z0-9_]{0,40}."),
        ("l" * 42, "its name does not match [a-z][a-z0-9_]{0,40}."),
    ],
)
def test_names_that_nobody_gets(site: Site, name: str, why: str) -> None:
    site.install("first", f"X = Tool({name!r}, Args, nothing, write, text='x')\n", one="X")
    warning = f"Tool {name!a} of plugin 'one' was skipped: {why}"
    assert loaded("one") == ((), (warning,))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("X = 5\n", "it provides int instead of tools."),
        ("X = 'tools'\n", "it provides str instead of tools."),
        ("X = 1 / 0\n", "ZeroDivisionError: division by zero."),
        ("raise SystemExit('no')\n", "SystemExit: no."),
        ("import no_such_module_here\n", "ModuleNotFoundError: No module named "
         "'no_such_module_here'."),
        ("Y = 5\n", "AttributeError: module 'first' has no attribute 'X'."),
    ],
)  # fmt: skip
def test_what_is_broken_is_left_out(site: Site, source: str, why: str) -> None:
    site.install("first", source, one="X")
    assert loaded("one") == ((), (f"Plugin 'one' was skipped: {why}",))


def test_names_that_are_not_there(site: Site) -> None:
    tools, warnings = loaded("nobody", reads=("nothing",))
    assert (tools, warnings) == (
        (),
        (
            "Plugin 'nobody' was skipped: no installed package has an entry point with that "
            "name in `assent.tools`.",
            "`plugins.reads` lists 'nothing', but no plugin has such a tool.",
        ),
    )


def test_two_of_one_name_are_none(site: Site) -> None:
    site.install("first", WRITER, one="WRITER")
    site.install("second", SILENT, one="SILENT")
    tools, (warning,) = loaded("one")
    assert (tools, "several installed packages" in warning) == ((), True)


def test_a_tool_without_a_description_is_left_out(site: Site) -> None:
    site.install("wordless", 'X = Tool("look", Args, nothing, write)\n', one="X")
    tools, (warning,) = loaded("one")
    assert (tools, "it cannot be offered: FileNotFoundError" in warning) == ((), True)


def test_what_it_answers_keeps_to_the_limits(site: Site) -> None:
    source = """
def say(text):
    return lambda args, around: text
LONG = Tool("long", Args, nothing, say(Outcome("x\\n" * 5000)), text="x")
ODD = Tool("odd", Args, nothing, say("done"), text="x")
def leave(args, around):
    raise SystemExit(0)
END = Tool("end", Args, nothing, leave, text="x")
ALL = [LONG, ODD, END]
"""
    site.install("first", source, one="ALL")
    long, odd, end = loaded("one")[0]
    outcome = long.run(args(long, ""), AROUND)
    assert "[Truncated: 2000 of 5000 lines" in outcome.text
    assert outcome.rest == b"x\n" * 5000
    for tool, words in (
        (odd, "odd returned str instead of a tool result."),
        (end, "end tried to exit the program"),
    ):
        with pytest.raises(AssentError, match=words):
            tool.run(args(tool, ""), AROUND)
