"""Plugin tools: Python packages that the user enabled by name, wrapped with permissions.

No part of a plugin is imported before it is enabled, and none of it runs before the permission gate
has decided.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Final

import msgspec

from assent.config.settings import PluginSettings
from assent.core.errors import AssentError
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.aliases import is_reserved_name
from assent.tools.outcome import limited_outcome
from assent.tools.tool import Tool, ToolContext, tool_definition

GROUP: Final = "assent.tools"
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,40}")


class _UnusablePluginTool(Exception):
    """A tool of a plugin cannot be used, and why."""


def plugin_tools(settings: PluginSettings) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
    """Returns the tools of all enabled plugins, and a warning for each that is skipped."""
    tools: dict[str, Tool] = {}
    warnings: list[str] = []
    for name in dict.fromkeys(settings.enabled):
        try:
            found = _loaded(name)
        except _UnusablePluginTool as why:
            warnings.append(f"Plugin {name!a} was skipped: {why}")
            continue
        for tool in found:
            try:
                fit = _fit(tool, tools, settings.reads)
                tools[fit.name] = fit
            except _UnusablePluginTool as why:
                said = getattr(tool, "name", type(tool).__name__)
                warnings.append(f"Tool {said!a} of plugin {name!a} was skipped: {why}")
    missing = [name for name in settings.reads if name not in tools]
    warnings += [
        f"`plugins.reads` lists {name!a}, but no plugin has such a tool." for name in missing
    ]
    return tuple(tools.values()), tuple(warnings)


def _loaded(name: str) -> Sequence[Tool]:
    """Imports a plugin, and returns its tools."""
    try:
        found = _point(name).load()
        return [found] if isinstance(found, Tool) else list(_each(found))
    except _UnusablePluginTool:
        raise
    except (Exception, SystemExit) as error:  # a plugin can be broken in any way
        raise _UnusablePluginTool(f"{type(error).__name__}: {error}.") from error


def _point(name: str) -> EntryPoint:
    points = {(p.name, p.value): p for p in entry_points(group=GROUP) if p.name == name}
    if not points:
        raise _UnusablePluginTool(
            f"no installed package has an entry point with that name in `{GROUP}`."
        )
    if len(points) > 1:
        raise _UnusablePluginTool("several installed packages have an entry point with that name.")
    return next(iter(points.values()))


def _each(found: object) -> Iterable[Tool]:
    if not isinstance(found, Iterable) or isinstance(found, str | bytes):
        raise _UnusablePluginTool(f"it provides {type(found).__name__} instead of tools.")
    return found


def _fit(tool: Tool, others: dict[str, Tool], reads: Sequence[str]) -> Tool:
    if not isinstance(tool, Tool):
        raise _UnusablePluginTool("it is not a tool.")
    if not isinstance(tool.name, str) or not NAME.fullmatch(tool.name):
        raise _UnusablePluginTool(f"its name does not match {NAME.pattern}.")
    if tool.name in others or is_reserved_name(tool.name):
        raise _UnusablePluginTool("its name is already in use.")
    try:
        text = tool_definition(tool).description
    except Exception as error:  # no description, or arguments that have no schema
        raise _UnusablePluginTool(
            f"it cannot be offered: {type(error).__name__}: {error}."
        ) from error
    wrapped = _reading(tool) if tool.name in reads else _changing(tool)
    return msgspec.structs.replace(wrapped, text=text, only="")


def _changing(tool: Tool) -> Tool:
    """Returns a tool that may change anything, whatever it declares.

    Its own access function is not called: that would run its code before the user has agreed.
    """
    request = ResourceAccess(Action.TOOL, tool.name, key=tool.name)
    return msgspec.structs.replace(
        tool, action=Action.TOOL, touches=lambda args, context: (request,), run=_bounded(tool)
    )


def _reading(tool: Tool) -> Tool:
    """Returns a tool that the user declared read-only; files that it wants to edit are judged."""

    def touches(args: msgspec.Struct, context: ToolContext) -> list[ResourceAccess]:
        own = [
            each
            if each.action is Action.EDIT
            else ResourceAccess(Action.READ, each.resource, tool.name)
            for each in tool.touches(args, context)
        ]
        return own or [ResourceAccess(Action.READ, tool.name, tool.name)]

    return msgspec.structs.replace(tool, action=Action.READ, touches=touches, run=_bounded(tool))


def _bounded(tool: Tool) -> Callable[[msgspec.Struct, ToolContext], ToolOutcome]:
    """Returns a function that runs a plugin's tool, and limits its output like any other's."""

    def run(args: msgspec.Struct, context: ToolContext) -> ToolOutcome:
        try:
            outcome: object = tool.run(args, context)
        except SystemExit as error:
            raise AssentError(f"{tool.name} tried to exit the program ({error}).") from error
        if not isinstance(outcome, ToolOutcome):
            raise AssentError(
                f"{tool.name} returned {type(outcome).__name__} instead of a tool result."
            )
        cut = limited_outcome(outcome.text)
        return msgspec.structs.replace(outcome, text=cut.text, rest=outcome.rest or cut.rest)

    return run
