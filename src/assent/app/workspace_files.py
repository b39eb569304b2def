"""Files that commands need in addition to the engine's.

These are the list for completion, a file in an editor, another folder to compare with, the branch
that is checked out, and the packaged plan agent.
"""

import os
import shlex
from collections.abc import Mapping
from itertools import islice

from assent.app.ports import PlanRulesReader
from assent.app.settings import locate_workspace, user_paths
from assent.core.errors import UsageError
from assent.core.paths import STATE, display_path, is_inside
from assent.core.permission.rule import PathLimits
from assent.core.permission.sensitive_paths import secret_reason
from assent.ports import SourceFolder
from assent.tools.files import walk_files
from assent.tools.overlay import Overlay
from assent.workspace.git_state import current_branch

MAX_FILES = 50_000  # files that are offered for completion
DEFAULT_EDITOR = "vi"


def checked_out_branch(folder: str) -> str:
    """Returns the git branch of the workspace around a folder; empty if there is none."""
    return current_branch(locate_workspace(folder)[1])


def list_files(folder: str) -> list[str]:
    """Returns the files of the workspace around a folder that can be named to a model, sorted.

    Ignored files, secrets and what rules hide are left out: a model could not read them anyway.
    """
    from assent.store.blobs import FileBlobStore
    from assent.workspace.files import LocalWorkspaceFiles

    cwd, root = locate_workspace(folder)
    here = user_paths()
    overlay = Overlay(LocalWorkspaceFiles(root, cwd), FileBlobStore(here.state / "blobs"))
    limits = PlanRulesReader(root, here).path_limits() or PathLimits()
    found = islice(walk_files(overlay, b""), MAX_FILES)
    return sorted(
        display_path(path)
        for path in found
        if not is_inside(path, STATE) and not secret_reason(path) and not limits.hides_path(path)
    )


def edit_file(folder: str, path: str, environment: Mapping[str, str]) -> None:
    """Opens a file of the workspace in the user's editor, and waits until it is closed."""
    from assent.sandbox.runner.user_program import run_in_foreground

    chosen = environment.get("VISUAL") or environment.get("EDITOR") or DEFAULT_EDITOR
    try:
        line = shlex.split(chosen)
    except ValueError:
        line = []
    if not line:
        raise UsageError(
            f"{chosen!a} is not an editor command.", "set VISUAL or EDITOR to a program"
        )
    root = locate_workspace(folder)[1]
    code = run_in_foreground([*line, os.path.join(os.fsdecode(root), path)], environment)
    if code:
        raise UsageError(f"{line[0]!a} failed with exit code {code}; your edits were not imported.")


# Opens another folder, to compare the workspace with it.


def open_source_folder(folder: str, argument: str) -> SourceFolder:
    """Opens a folder that a user in `folder` named; raises if it cannot be compared."""
    from assent.workspace import source_folder

    cwd, root = locate_workspace(folder)
    return source_folder.open_source_folder(root, cwd, os.fsencode(argument))


# The packaged definition of the plan agent, for `init` and for the start of a session.


def packaged_agent() -> bytes:
    """Returns the file that a workspace gets as .opencode/agents/plan.md."""
    folder = os.path.dirname(os.path.dirname(__file__))
    path = os.path.join(folder, "agents", "opencode-plan.md")
    content: bytes = __spec__.loader.get_data(path)  # type: ignore[union-attr]
    return content
