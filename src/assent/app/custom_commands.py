"""Loads custom commands, and expands one to its text."""

from pathlib import Path

from assent.agent.services import ToolEnvironment
from assent.app.settings import locate_workspace, open_workspace_trust, user_paths
from assent.config.custom_commands import command_folders, load_custom_commands
from assent.core.errors import Refused
from assent.core.paths import display_path, one_line
from assent.core.session.custom_command import (
    SlashCommand,
    TemplateFile,
    TemplatePart,
    TemplateShell,
    joined_template,
    template_parts,
)
from assent.core.session.event import AttachedFile, AttachmentKind, UserTyped
from assent.core.tool import Action, PermissionContext, ResourceAccess, Verdict
from assent.tools.outcome import collect_output, truncated
from assent.tools.overlay import Overlay

MAX_FILE_BYTES = 256 << 10  # bytes of a file that goes along
READ_ONLY_CONTEXT = PermissionContext("plan", staging=False)  # in every mode: a template only reads


def open_custom_commands(folder: str) -> tuple[dict[str, SlashCommand], tuple[str, ...]]:
    """Returns the commands of the user and the project, with warnings for the user."""
    from assent.executor.disk import Disk

    here = user_paths()
    _, root = locate_workspace(folder)
    trusted = open_workspace_trust(root, here)
    places = command_folders(here.config, Path.home(), root)
    commands, warnings = load_custom_commands(places, Disk().open, trusted.holds)
    return commands, (*warnings, *trusted.warnings)


def expand_command(
    command: SlashCommand, arguments: str, folder: str, tools: ToolEnvironment
) -> tuple[str, UserTyped]:
    """Returns the text of a command with these arguments; raises Refused for a denied read.

    What the user typed is the arguments; the files that the template names are in its text already.
    """
    writer = _TemplateExpander(command, locate_workspace(folder)[1], tools)
    parts = template_parts(command.template, arguments)
    found = {part: text for part in parts if (text := writer.content(part)) is not None}
    attached = tuple(
        AttachedFile(part.path, writer.kind(part), part.path, size=len(text.encode()))
        for part, text in found.items()
        if isinstance(part, TemplateFile)
    )
    return joined_template(parts, found), UserTyped(arguments, attached)


class _TemplateExpander:
    """Reads what a template names, by the rules that apply to a model."""

    def __init__(self, command: SlashCommand, root: bytes, tools: ToolEnvironment) -> None:
        from assent.config.paths import private_paths
        from assent.store.blobs import FileBlobStore
        from assent.workspace.files import LocalWorkspaceFiles

        here = user_paths()
        self._command = command
        self._root = root
        self._tools = tools
        self._private = private_paths(here, root)
        self._overlay = Overlay(
            LocalWorkspaceFiles(root, root), FileBlobStore(here.state / "blobs")
        )

    def content(self, part: TemplatePart) -> str | None:
        """Returns the content for a part of a template; None if it is plain text after all."""
        match part:
            case TemplateShell(line):
                return self._printed(line)
            case TemplateFile(path):
                return self._attached(path)
            case _:
                return None

    def _printed(self, line: str) -> str:
        self._check(ResourceAccess(Action.SHELL, line), f"!`{one_line(line.encode())}`")
        try:
            fenced = self._tools.with_path_limits(READ_ONLY_CONTEXT)
            shell = (fenced[1] if fenced else self._tools.open_shell)()
            return collect_output(shell.run(line, self._root), line).text
        except Refused as refused:
            raise self._refused(f"!`{line}`", refused.message) from refused

    def kind(self, part: TemplateFile) -> AttachmentKind:
        """Tells whether a part that has content is a file or a folder."""
        state = self._overlay.state(self._overlay.locate(part.path))
        return "folder" if state == "folder" else "file"

    def _attached(self, argument: str) -> str | None:
        path = self._overlay.locate(argument)
        state = self._overlay.state(path)
        if state is None:
            return None
        self._check(ResourceAccess(Action.READ, display_path(path) or "."), f"@{one_line(path)}")
        if any(path == own or path.startswith(own + b"/") for own in self._private):
            raise self._refused(f"@{one_line(path)}", "It is one of Assent's own files.")
        if state == "folder":
            names = self._overlay.names(path).items()
            return truncated("\n".join(one_line(name) + "/" * below for name, below in names))
        content = self._overlay.content(path, MAX_FILE_BYTES)
        if b"\0" in content:
            raise self._refused(f"@{one_line(path)}", "It is a binary file.")
        return content.decode("utf-8", "backslashreplace")

    def _check(self, request: ResourceAccess, what: str) -> None:
        decision = self._tools.gate.decide((request,), READ_ONLY_CONTEXT)
        if decision.verdict is not Verdict.RUN:
            raise self._refused(what, decision.reason or "Permission denied.")

    def _refused(self, what: str, why: str) -> Refused:
        return Refused(f"/{self._command.name} needs {what}: {why} Nothing was sent to the model.")
