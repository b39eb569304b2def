"""glob: the files whose paths match a pattern, by path, ignored files left out."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from assent.core.paths import one_line
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.calling.schema import UNOFFERED
from assent.tools.looking.limits import told
from assent.tools.looking.listing import MORE, MOST, listed
from assent.tools.looking.near import standing
from assent.tools.looking.patterns import Pattern
from assent.tools.looking.places import located, looked_at, looking
from assent.tools.tool import Around, Tool


class Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, msgspec.Meta(description="such as src/**/*.{ts,tsx}")]
    path: str = "."
    limit: Annotated[int, UNOFFERED] = MOST


def touches(args: Args, around: Around) -> Sequence[ResourceAccess]:
    return looking((looked_at(around, args.path),), "glob", args.pattern)


def run(args: Args, around: Around) -> ToolOutcome:
    folder = located(around, args.path)
    standing(around, folder)
    pattern = Pattern(args.pattern)
    found = listed(around, folder)
    below = len(folder) + 1 if folder else 0
    paths = [path for path in found.files if pattern.matches(path[below:])]
    notes = [] if paths else ["No file matches."]
    notes += [MORE] if found.cut else []
    limit = max(1, args.limit)
    notes += [f"{limit} of {len(paths)} files; raise limit."] if len(paths) > limit else []
    text = "\n".join(map(one_line, paths[:limit]))
    return told(text, args.pattern, notes, count=len(paths))


GLOB = Tool("glob", Args, touches, run, action=Action.READ)
