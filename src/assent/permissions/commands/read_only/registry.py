"""The registry: every command that may run while planning. What is not in it is refused."""

from collections.abc import Mapping

from assent.permissions.commands.read_only.spec import ReadOnlyCommandSpec
from assent.permissions.commands.read_only.tables import (
    compare,
    files,
    git,
    scripts,
    search,
    system,
    text,
    versions,
)

TABLES = (
    compare.COMPARE_COMMANDS,
    files.FILE_COMMANDS,
    git.GIT_COMMANDS,
    scripts.SCRIPT_COMMANDS,
    search.SEARCH_COMMANDS,
    system.SYSTEM_COMMANDS,
    text.TEXT_COMMANDS,
    versions.VERSION_COMMANDS,
)

REGISTRY: Mapping[str, ReadOnlyCommandSpec] = {
    name: spec for table in TABLES for spec in table for name in (spec.name, *spec.programs)
}
