"""What the checks of imports still tolerate. The list may only shrink, and shall be empty.

These late imports keep start-up short: a command loads no service that it does not use.
"""

CYCLES = ()

LATE = {
    "assent.app.engine": (
        "assent.agent.memory",
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
    "assent.app.rules": (
        "assent.core.mcp",
        "difflib",
    ),
    "assent.app.shell": ("assent.agent.read_only_shell",),
    "assent.app.tool_environment": (
        "assent.app.mcp",
        "assent.app.plugins",
    ),
    "assent.cli.goal.options": ("difflib",),
    "assent.cli.input": (
        "click",
        "select",
    ),
    "assent.cli.output": (
        "assent.render.command_output",
        "assent.render.diff",
        "click",
        "shutil",
    ),
    "assent.cli.sessions": (
        "assent.agent.loop.loop",
        "assent.app.models",
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
        "assent.core.permission.mode",
        "assent.render.notification",
        "msgspec",
    ),
}
