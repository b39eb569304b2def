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
    compare.TABLE,
    files.TABLE,
    git.TABLE,
    scripts.TABLE,
    search.TABLE,
    system.TABLE,
    text.TABLE,
    versions.TABLE,
)

REGISTRY: Mapping[str, ReadOnlyCommandSpec] = {
    name: spec for table in TABLES for spec in table for name in (spec.name, *spec.programs)
}
