"""The registry: every command that may run while planning. What is not in it is refused."""

from collections.abc import Mapping

from assent.gate.readonly.spec import Spec
from assent.gate.readonly.tables import compare, files, git, scripts, search, system, text, versions

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

REGISTRY: Mapping[str, Spec] = {
    name: spec for table in TABLES for spec in table for name in (spec.name, *spec.programs)
}
