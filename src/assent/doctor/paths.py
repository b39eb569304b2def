"""Checks of paths and undo: nothing outside the workspace is written, no later work lost."""

from functools import partial
from typing import Final

from assent.core.errors import AssentError, NotFound, Refused
from assent.core.run.journal import drive_to_end
from assent.doctor.check import SafeguardFailed, refusal_text, require_safeguard
from assent.doctor.workspace import CHANNEL, PROJECT, DoctorWorkspace

ESCAPING_PATHS: Final = (
    "../out.txt",
    "/etc/out.txt",
    "sub/../../out.txt",
    "sub/./../../project/../out",
)
GIT_PATHS: Final = (
    ".git/config", ".GIT/hooks/pre-commit", "sub/.git/config", ".git./config", ".git /config",
    "git~1/config", ".g\u200cit/config", ".Git/HEAD",
)  # fmt: skip
OWN_PATHS: Final = (
    ".opencode/assent/plans/x/approvals.json", ".opencode/assent/workspace.json",
    ".OpenCode/Assent/x", ".opencode/plans/doctor/PLAN_work.md", ".opencode",
)  # fmt: skip


def _all_refused(workspace: DoctorWorkspace, names: tuple[str, ...]) -> str:
    record = workspace.engine.plans.new("work", "doctor", "A check")
    stage = workspace.engine.drafts.write
    for name in names:
        try:
            refusal_text(partial(stage, record, name.encode(), [b"x"], None), Refused)
        except SafeguardFailed as failure:
            raise SafeguardFailed(f"{name!a}: {failure}") from None
    require_safeguard(not workspace.engine.plans.operations(record), "Something was staged.")
    return f"All {len(names)} spellings were refused."


def escaping_paths(workspace: DoctorWorkspace) -> str:
    return _all_refused(workspace, ESCAPING_PATHS)


def git_paths(workspace: DoctorWorkspace) -> str:
    return _all_refused(workspace, GIT_PATHS)


def own_paths(workspace: DoctorWorkspace) -> str:
    return _all_refused(workspace, OWN_PATHS)


def through_link(workspace: DoctorWorkspace) -> str:
    workspace.place.link(f"{PROJECT}/link", workspace.outside)
    record = workspace.engine.plans.new("work", "doctor", "A check")
    words = refusal_text(
        lambda: workspace.engine.drafts.write(record, b"link/out.txt", [b"x"], None), Refused
    )
    require_safeguard(
        workspace.place.read("outside/out.txt") is None, "A file was written outside."
    )
    return words


def swapped_parent(workspace: DoctorWorkspace) -> str:
    record = workspace.approved({"sub/inner.txt": b"planned\n"})
    workspace.place.write("outside/inner.txt", b"inner\n", 0o644)
    workspace.place.remove(f"{PROJECT}/sub")
    workspace.place.link(f"{PROJECT}/sub", workspace.outside)
    words = refusal_text(lambda: workspace.build(record), AssentError)
    require_safeguard(
        workspace.place.read("outside/inner.txt") == b"inner\n", "A file outside was overwritten."
    )
    return words


def undo_of_later_work(workspace: DoctorWorkspace) -> str:
    record = workspace.approved({"kept.txt": b"planned\n"})
    workspace.build(record)
    workspace.put("kept.txt", b"later work\n")
    preview = workspace.engine.undo.preview()
    require_safeguard(not preview.plan.operations, "The undo would overwrite later work.")
    require_safeguard(bool(preview.inversion.conflicts), "The undo does not list the file.")
    return "The file is skipped and listed."


def undo_overtaken(workspace: DoctorWorkspace) -> str:
    record = workspace.approved({"kept.txt": b"planned\n"})
    workspace.build(record)
    preview = workspace.engine.undo.preview()
    workspace.put("kept.txt", b"later work\n")
    words = refusal_text(
        lambda: drive_to_end(workspace.engine.undo.apply(preview, CHANNEL)), AssentError
    )
    require_safeguard(
        workspace.content("kept.txt") == b"later work\n", "Later work was overwritten."
    )
    return words


def undo_twice(workspace: DoctorWorkspace) -> str:
    record = workspace.approved({"kept.txt": b"planned\n"})
    workspace.build(record)
    drive_to_end(workspace.engine.undo.apply(workspace.engine.undo.preview(), CHANNEL))
    require_safeguard(
        workspace.content("kept.txt") == b"kept\n", "The undo did not restore the file."
    )
    return refusal_text(lambda: workspace.engine.undo.preview(), NotFound)


PATHS: Final = {
    "symlink escape": ("stage a file through a symlink that points outside", through_link),
    "swapped parent": ("swap a folder for a symlink after the approval", swapped_parent),
    "paths that lead out": ("stage absolute paths and paths with ..", escaping_paths),
    "git's own files": ("stage git's files in many spellings", git_paths),
    "Assent's own files": ("stage Assent's state, plans and copies", own_paths),
}
UNDO: Final = {
    "later work": ("undo a run whose file changed since", undo_of_later_work),
    "overtaken undo": ("change a file between the undo's preview and its run", undo_overtaken),
    "undo twice": ("undo the same run twice", undo_twice),
}
