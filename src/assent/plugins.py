"""What a plugin is made of: the public names for Python packages that add tools for a model.

Import from here and from nowhere else: other modules may be renamed, these names stay. A tool has
a frozen struct for its arguments, a function that returns what a call accesses, and one that runs
it:

    import msgspec
    from assent.plugins import Action, ResourceAccess, Tool, ToolContext, ToolOutcome

    class Arguments(msgspec.Struct, frozen=True):
        city: str

    def accesses(arguments: Arguments, context: ToolContext) -> list[ResourceAccess]:
        return [ResourceAccess(Action.READ, arguments.city)]

    def run(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        return ToolOutcome(f"Sunny in {arguments.city}.")

    FORECAST = Tool("forecast", Arguments, accesses, run, Action.READ, text="Tells the weather.")

`docs/hooks.md` says how such a package is found and enabled, and what its tools may do.
"""

from assent.core.errors import AssentError
from assent.core.plan.operation import DeleteFile, FileState, MoveFile, WriteFile
from assent.core.tool import Action, EditEffect, ResourceAccess, ToolOutcome
from assent.tools.tool import RawArguments, Tool, ToolContext

__all__ = [
    "Action",
    "AssentError",
    "DeleteFile",
    "EditEffect",
    "FileState",
    "MoveFile",
    "RawArguments",
    "ResourceAccess",
    "Tool",
    "ToolContext",
    "ToolOutcome",
    "WriteFile",
]
