"""The plan file as a target: planning writes this one file, as the plan's text (F69)."""

from assent.core.errors import Refused, UsageError
from assent.core.paths import is_inside, one_line
from assent.core.tool import Action, PlanTextEffect, ResourceAccess, ToolOutcome
from assent.tools.tool import ToolContext

MAX_PLAN_BYTES = 1 << 20  # bytes of a plan's text
ENDING = b".md"


def is_plan(argument: str, path: bytes, around: ToolContext) -> bool:
    """Tells whether a path is the plan file; raises Refused if it was reached by a detour.

    `path` is where the argument really leads. The file must be named as it is: no `..`, no
    symlink, no other ending.
    """
    if not around.plan or path != around.plan:
        return False
    typed = argument.encode("utf-8", "backslashreplace").removeprefix(around.root + b"/")
    direct = typed.removeprefix(b"./") == around.plan
    if not direct or not path.endswith(ENDING) or not is_inside(path, around.plan_dir):
        raise Refused(f"{one_line(typed)} leads to the plan by a detour; use `write_plan`.")
    return True


def plan_access(around: ToolContext) -> ResourceAccess:
    """Returns what writing the plan touches."""
    return ResourceAccess(Action.PLAN, one_line(around.plan))


def plan_text_outcome(text: str, around: ToolContext) -> ToolOutcome:
    """Returns the plan's new text in place of an edit (F17)."""
    if around.posture.mode != "plan":
        raise Refused("The plan's text changes only in plan mode. It stays as it is.")
    check_plan_text(text)
    return ToolOutcome(
        "This is the plan file: the plan's text is written.", "plan", effect=PlanTextEffect(text)
    )


def check_plan_text(text: str) -> None:
    """Raises unless this can be a plan's text."""
    if not text.strip():
        raise UsageError("text: it is blank. The plan stays as it was.")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_PLAN_BYTES:
        raise UsageError(
            f"text: it has more than {MAX_PLAN_BYTES} bytes. The plan stays as it was."
        )
