"""What the checks of imports still tolerate. The list may only shrink, and shall be empty.

These late imports keep start-up short: a command loads no service that it does not use.
"""

CYCLES = ()

LATE = {
    "assent.app.engine": (
        "assent.planning.repositories",
        "assent.agent.pending_decisions",
        "assent.agent.project_files",
        "assent.agent.services",
        "assent.agent.session_context",
        "assent.agent.sessions",
        "assent.agent.text_plan_builds",
        "assent.agent.turn_changes",
        "assent.planning.bundles",
        "assent.planning.comments",
        "assent.planning.folder_import",
        "assent.planning.partial_approval",
        "assent.planning.patches",
        "assent.planning.rebase",
        "assent.planning.review_history",
        "assent.planning.reviews",
        "assent.runs.evidence",
        "assent.runs.history",
        "assent.runs.retention",
    ),
    "assent.app.ports": (
        "assent.permissions.commands.classifier",
        "assent.permissions.commands.read_only_line",
        "assent.permissions.plan_rules",
    ),
    "assent.app.rules": (
        "assent.core.mcp",
        "assent.permissions.commands.read_only.classifier",
        "difflib",
    ),
    "assent.app.shell": (
        "assent.agent.read_only_shell",
        "assent.permissions.commands.read_only.classifier",
    ),
    "assent.app.tool_environment": (
        "assent.app.mcp",
        "assent.app.plugins",
    ),
    "assent.cli": (
        "assent.cli.entry",
        "assent.cli.registry",
    ),
    "assent.cli.approve": ("assent.cli.bundle",),
    "assent.cli.build": ("assent.cli.text_plan_build",),
    "assent.cli.demo": ("assent.cli.tui",),
    "assent.cli.entry": (
        "assent.cli.goal.command",
        "assent.cli.root",
        "assent.cli.tui",
    ),
    "assent.cli.goal.command": (
        "assent.cli.asker",
        "assent.cli.goal.output",
        "assent.cli.goal.slash_command",
        "assent.cli.registry",
    ),
    "assent.cli.goal.options": ("difflib",),
    "assent.cli.input": (
        "click",
        "select",
    ),
    "assent.cli.options": ("assent.cli.stream_output",),
    "assent.cli.output": (
        "assent.render.command_output",
        "assent.render.diff",
        "click",
        "shutil",
    ),
    "assent.cli.plan": ("assent.cli.output",),
    "assent.cli.sessions": (
        "assent.agent.loop.loop",
        "assent.app.models",
        "assent.cli.goal.command",
        "assent.cli.goal.options",
    ),
    "assent.cli.tui": (
        "assent.app.composition",
        "assent.app.custom_commands",
        "assent.app.demo",
        "assent.app.model_discovery",
        "assent.app.models",
        "assent.app.modes",
        "assent.app.session",
        "assent.app.settings",
        "assent.app.shell",
        "assent.app.workspace_files",
        "assent.cli.output",
        "assent.cli.registry",
        "assent.cli.root",
        "assent.core.permission.mode",
        "assent.render.questions",
        "msgspec",
    ),
}
