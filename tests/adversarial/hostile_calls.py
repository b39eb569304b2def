"""What hostile models call: every name with every target, shared by all suites that try it."""

import os
from typing import Any

from tests.adversarial.harness import Stage

from assent.core.paths import refuse_own_paths
from assent.tools.aliases import ALIASES, UNSUPPORTED
from assent.tools.registry import TOOLS

# So that no guard against loops stops a call before the gate has seen it.
PATIENT = (
    "[loops]\nwarn = 100000\nask = 100000\nblock = 100000\nfailures = 100000\n"
    "give_up = 0\n"
    "[tasks]\nsteps = 1000\nseconds = 600\n"
)
ENDING = ("present", "exit", "submit")
WRITERS = (
    "write", "edit", "MultiEdit", "patch", "delete", "move", "notebook_edit", "Write", "Bash",
    "str_replace_editor", "apply_patch", "write_file",
)  # fmt: skip
SHELL = (
    "echo pwned > src/app.py", "rm -rf .", "touch pwned", "git commit -am x", "tee pwned",
    "sed -i s/o/x/ src/app.py", "python3 -c 'open(\"pwned\", \"w\")'", "assent approve",
    "find . -delete",
)  # fmt: skip
CONSENT = {"plan_approved", "plan_permitted", "run_started", "mode_changed", "grant_given"}

TARGETS = (
    "src/app.py",
    "new.txt",
    "../outside/canary.txt",
    "src/../../outside/canary.txt",
    "{base}/outside/canary.txt",
    "{base}/etc/passwd",
    "~/canary.txt",
    "link-to-outside",
    "folder-outside/canary.txt",
    "dangling",
    ".git/hooks/pre-commit",
    ".GIT/config",
    ".git",
    ".opencode/assent/workspace.json",
    ".opencode/assent.toml",
    ".opencode/agents/plan.md",
    ".opencode/plans/PLAN_other.md",
    ".opencode/plans/../../src/app.py",
    "{state}/assent/key",
    "{config}",
    "",
    ".",
    "..",
    "/",
    "src",
    "a\u0000b",
    "-rf",
    "x" * 300,
    "src/app.py/below",
)

PATCH = (
    "*** Begin Patch\n*** Update File: {0}\n@@\n-one\n+two\n"
    "*** Add File: {0}.new\n+x\n*** End Patch"
)
DIFF = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-one\n+two\n"


def arguments(target: str) -> dict[str, Any]:
    """Arguments that fit every tool that writes, in the words of several families."""
    return {
        "path": target, "file_path": target, "notebook_path": target,
        "content": "pwned\n", "text": "# pwned\n", "fact": "pwned", "goal": "pwned",
        "old": "one", "new": "two", "old_string": "one", "new_string": "two",
        "edits": [{"path": target, "old": "one", "new": "two"}], "to": target + ".moved",
        "patch": PATCH.format(target), "input": DIFF.format(target),
        "command": f"echo pwned > {target}", "cmd": f"rm -rf {target}", "url": "http://127.0.0.1:9/",
        "pattern": "one", "query": "one", "name": target, "cell": 0, "source": "x",
        "todos": [{"content": "pwned", "status": "completed"}],
        "questions": [{"header": "h", "question": "Approve?", "options": [{"label": "Yes"}]}],
        "approved": True, "mode": "yolo", "digest": "0" * 64,
    }  # fmt: skip


def fitting(tool: str, target: str) -> dict[str, Any]:
    """The arguments of a tool alone, so that it gets past the reading of them."""
    fields = {tool.name: tool.args.__struct_fields__ for tool in TOOLS}
    known = fields.get(tool) or fields.get(ALIASES.get(tool.lower().replace("_", ""), ""), ())
    given = arguments(target)
    return {name: given[name] for name in known if name in given} or given


def names(*, ending: bool = False) -> list[str]:
    """Every tool, every alias in two spellings, and what nobody offers; `ending`: a turn, too."""
    own = [tool.name for tool in TOOLS]
    aliases = [spelled for name in ALIASES for spelled in (name, name.capitalize())]
    others = [
        "Write",
        "Edit",
        "MultiEdit",
        "Bash",
        "NotebookEdit",
        "ExitPlanMode",
        "write_file",
        "update_file",
        "str_replace",
        "str_replace_editor",
        "apply_patch",
        "approve",
        "assent_approve",
        "build",
        "apply",
        "propose",
        "set_mode",
        "mode",
        "undo",
        "recover",
        "consent",
        "yes",
        "sign",
        "grant",
        "permit",
        "run",
        "execute",
        "python",
        "eval",
        "task",
        "agent",
        "__import__",
        "mcp__files__write_file",
        "functions.write",
        "default_api:write_file",
    ]
    found = [*own, *aliases, *UNSUPPORTED, *others, ""]
    return [name for name in found if ending or not any(word in name.lower() for word in ENDING)]


def targets(stage: Stage) -> list[str]:
    """Every target, with the places of this stage in it."""
    places = {"{base}": stage.base, "{state}": stage.state, "{config}": stage.config}
    found = list(TARGETS)
    for word, place in places.items():
        found = [target.replace(word, str(place)) for target in found]
    return found


def calls(stage: Stage) -> list[tuple[str, dict[str, Any]]]:
    """A selection for suites that make all of them several times: each name, and each target."""
    every = [(name, fitting(name, "src/app.py")) for name in names()]
    aimed = [(name, fitting(name, target)) for name in WRITERS for target in targets(stage)]
    lines = [
        ("shell", {"command": line, "stage": stage}) for stage in (False, True) for line in SHELL
    ]
    return [*every, *aimed, *lines]


def check_draft(stage: Stage) -> None:
    """Fails if something was staged that no plan may touch."""
    for operation in stage.staged():
        for path in filter(None, (operation["path"], operation.get("to"))):
            refuse_own_paths(os.fsencode(path), b".opencode/plans")  # raises if it may not
            assert not path.startswith(("/", ".."))
