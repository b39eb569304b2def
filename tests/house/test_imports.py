"""No cycle between files, and imports at the top but for named seams."""

import ast
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from tests.house.source import Import, Modules, imports, modules

# Who may import inside a function, and what: chosen late, heavy, and often not needed at all.
SEAMS = {
    "assent.cli": ("assent.tui", "assent.web", "assent.acp"),
    "assent.app": (
        "assent.executor",
        "assent.llm",
        "assent.store",
        "assent.workspace",
        "assent.sandbox",
        "assent.config",
    ),
}
# Single modules that import late, and why. Each loads one of several things, or what most starts
# do not need; what it may load is named as closely as it can be.
LATER = {
    # Before a first request nothing ran.
    "assent.agent.plan_updates": ("assent.agent.run_report",),
    # Before a first request no file was shown.
    "assent.agent.tool_call_runner": ("assent.agent.repeats",),
    # The composition root of the services: a command loads those that it asks the engine for.
    # What work will take is only said of text plans.
    "assent.app.engine": (
        "assent.agent",
        "assent.app.estimate",
        "assent.planning",
        "assent.runs",
    ),
    # Where plans stand, and what work will take: a first request shows neither. Where runs stand: a
    # plan that was never built is shown without that.
    "assent.app.status": (
        "assent.app.estimate",
        "assent.planning.plan_status",
        "assent.planning.steps",
        "assent.render.status",
        "assent.runs.orphan_slots",
        "assent.runs.run_status",
    ),
    "assent.app.composition": ("assent.runs.plan_commands", "assent.app.scratch"),
    # Only on a terminal does a line say that a model is waited for.
    "assent.cli.goal.command": ("assent.cli.goal.waiting",),
    # A configuration that cannot be used is explained, and most can be used.
    "assent.config.config_file": ("assent.config.schema",),
    # Tables of programs, and a grammar: most commands judge no command line and no rule.
    "assent.app.ports": ("assent.permissions.commands", "assent.permissions.plan_rules"),
    # Few people configure a critic, and no plan is presented in a first request.
    "assent.app.session": ("assent.agent.critic",),
    # Few people configure servers and plugins, or have skills; a first request runs no command.
    "assent.app.tool_environment": (
        "assent.app.mcp",
        "assent.app.plugins",
        "assent.app.scratch",
        "assent.app.skills",
    ),
    # `--version` and `--help` need no more; then a line is a goal, a slash command, a command (of
    # which `cli.root` loads one by the table in `cli.registry`) or the screen. An interrupt is
    # answered from the first line on, so even what these need is loaded after that is arranged.
    "assent.cli": ("assent.cli.entry", "assent.cli.registry", "assent.cli.terminal", "msgspec"),
    "assent.cli.entry": (
        "assent.cli.goal.command",
        "assent.cli.goal.slash_command",
        "assent.cli.root",
        "assent.cli.tui",
    ),
    # What makes typing errors friendly, and what a terminal gets: most lines need neither.
    "assent.cli.root": ("assent.cli.usage",),
    "assent.cli.pager": ("assent.app.pager", "assent.render.highlighter", "shutil"),
    # A plan of this workspace is no bundle: nothing is signed, asked or built for its review.
    "assent.cli.review": ("assent.cli.bundle",),
    # What drives a model: builds of exact plans and lists of sessions need none.
    "assent.cli.run_driver": ("assent.cli.text_plan_build",),
    "assent.cli.sessions": ("assent.cli.session_turn",),
    # How far a record of the workspace would reach, and a risk by words, is said of commands, and
    # most plans have none.
    "assent.planning.reviews": (
        "assent.permissions.risk_rating",
        "assent.planning.snapshot.recorder",
    ),
    # Most of what is rendered has no code in it, or has it without colours.
    "assent.render.syntax": ("pygments",),
    # Parsers of four languages: a first request has edited nothing.
    "assent.tools.dispatcher": ("assent.tools.diagnostics",),
    # The first paint does not wait for the engine, commands, panels and sidebar.
    "assent.cli.tui": ("assent.app", "assent.cli.root", "assent.cli.serve"),
    "assent.tui.app": ("assent.tui.parts",),
    # The first answer of a server does not wait for what reads the configuration and the files,
    # nor for what renders pages.
    "assent.web.app": ("assent.web.pages.routes",),
    "assent.web.api.configuration": ("assent.app", "assent.config.settings"),
    "assent.web.api.files": ("assent.app.workspace_files",),
}
DRIVERS = (
    "textual", "sqlite3", "ssl", "yaml", "tomllib", "ctypes", "nacl", "keyring", "tree_sitter",
    "tree_sitter_bash",
)  # fmt: skip


def test_files_import_each_other_in_no_circle() -> None:
    assert _in_circles(modules()) == []


def test_a_circle_is_found() -> None:
    circle = {
        "core/one.py": ast.parse("def f():\n    from assent.core.two import g"),
        "core/two.py": ast.parse("from assent.core import one"),
    }
    found = _in_circles({**modules(), **circle, "core/__init__.py": ast.parse("")})
    assert set(found) == {"assent.core.one", "assent.core.two"}


def test_imports_stand_at_the_top() -> None:
    late = [one for one in imports(modules()) if one.late and not _at_a_seam(one)]
    assert sorted(late) == [], "import it at the top"


def test_every_seam_is_used() -> None:
    late = [one for one in imports(modules()) if one.late]
    unused = [
        f"{importer}: {name}"
        for importer, names in LATER.items()
        for name in names
        if not any(one.importer == importer and _is_in(one.imported, (name,)) for one in late)
    ]
    assert unused == [], "take it off the list"


def test_an_import_beside_a_seam_is_found() -> None:
    beside = Import("assent.app.engine", "assent.permissions.gate", late=True)
    above = Import("assent.cli.status", "assent.app.status", late=True)
    assert not _at_a_seam(beside)
    assert not _at_a_seam(above)
    assert _at_a_seam(Import("assent.app.engine", "assent.runs.runs", late=True))


def _at_a_seam(one: Import) -> bool:
    if one.imported.split(".")[0] in DRIVERS or _is_in(one.imported, LATER.get(one.importer, ())):
        return True
    package = ".".join(one.importer.split(".")[:2])
    return _is_in(one.imported, SEAMS.get(package, ()))


def _is_in(name: str, places: Sequence[str]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


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
