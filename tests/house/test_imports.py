"""No cycle between files, and imports at the top but for named seams and a list that shrinks."""

import ast
from graphlib import CycleError, TopologicalSorter

from tests.house.exceptions import CYCLES, LATE
from tests.house.source import Import, Modules, imports, modules

# Who may import inside a function, and what: chosen late, heavy, and often not needed at all.
SEAMS = {
    "cli": ("tui", "web", "acp"),
    "app": ("executor", "llm", "store", "workspace", "sandbox", "config"),
}
# Who imports one module late: the first paint does not wait for panels, commands and sidebar.
LATER = {"assent.tui.app": "assent.tui.parts"}
DRIVERS = ("textual", "sqlite3", "ssl", "yaml", "nacl", "tree_sitter", "tree_sitter_bash")


def test_files_import_each_other_in_no_circle() -> None:
    assert _in_circles(modules()) == sorted(CYCLES)


def test_a_circle_is_found() -> None:
    circle = {
        "core/one.py": ast.parse("def f():\n    from assent.core.two import g"),
        "core/two.py": ast.parse("from assent.core import one"),
    }
    found = _in_circles({**modules(), **circle, "core/__init__.py": ast.parse("")})
    assert set(found) - set(CYCLES) == {"assent.core.one", "assent.core.two"}


def test_imports_stand_at_the_top() -> None:
    late = {one for one in imports(modules()) if one.late and not _at_a_seam(one)}
    found: dict[str, list[str]] = {}
    for one in sorted(late):
        found.setdefault(one.importer, []).append(one.imported)
    new = {name: sorted(set(found[name]) - set(LATE.get(name, ()))) for name in found}
    assert {name: names for name, names in new.items() if names} == {}, "import it at the top"
    gone = {name: sorted(set(names) - set(found.get(name, ()))) for name, names in LATE.items()}
    assert {name: names for name, names in gone.items() if names} == {}, "take it off the list"


def _at_a_seam(one: Import) -> bool:
    if one.imported.split(".")[0] in DRIVERS or LATER.get(one.importer) == one.imported:
        return True
    importer, imported = one.importer.split("."), one.imported.split(".")
    return imported[0] == "assent" and imported[1] in SEAMS.get(importer[1], ())


def _in_circles(of: Modules) -> list[str]:
    """Returns the modules that reach themselves, by whichever imports."""
    graph: dict[str, set[str]] = {}
    for one in imports(of):
        graph.setdefault(one.importer, set()).add(one.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return sorted(name for name in graph if _reaches(graph, name))
    return []


def _reaches(graph: dict[str, set[str]], name: str) -> bool:
    seen: set[str] = set()
    left = list(graph[name])
    while left:
        at = left.pop()
        if at == name:
            return True
        if at not in seen:
            seen.add(at)
            left += graph.get(at, ())
    return False
