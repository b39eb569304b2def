"""glob: the files whose paths match a pattern, sorted by path, without ignored files."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from assent.core.paths import one_line
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.file_listing import MAX_FILES, MORE, existing_state, list_files
from assent.tools.outcome import limited_outcome
from assent.tools.path_access import read_access_of, resolve_path, search_accesses
from assent.tools.path_patterns import PathGlob
from assent.tools.schema import HIDDEN_FIELD
from assent.tools.tool import Tool, ToolContext


class GlobArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, msgspec.Meta(description="such as src/**/*.{ts,tsx}")]
    path: str = "."
    limit: Annotated[int, HIDDEN_FIELD] = MAX_FILES


def touches(args: GlobArgs, around: ToolContext) -> Sequence[ResourceAccess]:
    return search_accesses((read_access_of(around, args.path),), "glob", args.pattern)


def run(args: GlobArgs, around: ToolContext) -> ToolOutcome:
    folder = resolve_path(around, args.path)
    existing_state(around, folder)
    pattern = PathGlob(args.pattern)
    found = list_files(around, folder)
    below = len(folder) + 1 if folder else 0
    paths = [path for path in found.files if pattern.matches(path[below:])]
    notes = [] if paths else ["No files match."]
    notes += [MORE] if found.cut else []
    limit = max(1, args.limit)
    notes += [f"{limit} of {len(paths)} files shown; raise limit."] if len(paths) > limit else []
    text = "\n".join(map(one_line, paths[:limit]))
    return limited_outcome(text, args.pattern, notes, count=len(paths))


GLOB = Tool("glob", GlobArgs, touches, run, action=Action.READ)
