"""Operation risks: what a reviewer should look at first, as documented codes by severity."""

from collections.abc import Callable
from typing import Final

import msgspec

from assent.core.paths import display_path
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.sensitive_paths import executed_later, is_unsafe_link, protected_reason
from assent.core.plan.operation import (
    MODEL_RISKS,
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
    reversibility,
)
from assent.core.plan.plan import Scope
from assent.core.text.confusables import NO_SIBLINGS, Siblings, confusable_path, confusable_text
from assent.core.text.hidden_chars import BOM, has_hidden_path_chars, hidden_kinds, mixed_endings
from assent.core.text.line_diff import added_numbers, added_text
from assent.core.text.secrets import find_secret
from assent.permissions.commands.predicted_effects import UNREAD, PredictedEffects, predict_effects
from assent.ports import ReplacementLoss

# Names of many kinds: a scope that covers them all is not a limit.
_SAMPLE_PATHS: Final = (
    "a",
    ".env",
    "Makefile",
    "src/main.py",
    "a/b/c.tar.gz",
    "\u00e9/Z-9",
    "_/_",
    "0",
)
_SET_ID: Final = 0o6000
_SPECIAL: Final = 0o7000  # these, and sticky
_RUNNABLE: Final = 0o111


class RiskInput(msgspec.Struct, frozen=True):
    """What is known about an operation beyond itself. A content is None where there is none."""

    diff: str | None = None
    before: bytes | None = None
    after: bytes | None = None  # of a moved symlink, its target
    siblings: Siblings = NO_SIBLINGS  # of the name that is written or moved to
    facts: ReplacementLoss = ReplacementLoss()
    scope: Scope = Scope()
    line: CommandAnalysis = UNREAD  # what the classifier found in a command
    root: str = ""  # the workspace
    folders: str = ""  # why a folder above the new name can be taken for another, if it can


class _RiskCase(msgspec.Struct, frozen=True):
    """An operation as the rules see it; what is costly to find out is found out once."""

    op: Operation
    look: RiskInput
    paths: tuple[bytes, ...]
    new_path: bytes | None
    text: str  # that it brings: the added lines, or a whole command
    told: PredictedEffects = PredictedEffects()  # of a command, by its text


def operation_risks(op: Operation, look: RiskInput) -> tuple[str, ...]:
    """Returns the codes that apply to an operation, the most severe first."""
    steps = footprint(op)
    paths = tuple([path for path, _, _ in steps])
    created = [path for path, _, after in steps if after is not None]
    told = PredictedEffects()
    if isinstance(op, RunCommand):
        told = predict_effects(op, look.line, look.root, look.scope)
    case = _RiskCase(op, look, paths, created[0] if created else None, _text(op, look), told)
    rules = _RULES if isinstance(op, RunCommand) else _FILE_RULES
    return tuple([code for code, applies in rules.items() if applies(case)])


def text_risks(text: bytes) -> tuple[str, ...]:
    """Returns the codes that apply to a plan's text."""
    told = text.decode("utf-8", "backslashreplace")
    found = {
        "secret": find_secret(told) is not None,
        "hidden_text": bool(hidden_kinds(told)),
        "lookalike": confusable_text(told) is not None,
    }
    return tuple(code for code, applies in found.items() if applies)


def scope_risks(scope: Scope) -> tuple[str, ...]:
    """Returns what a text plan lets a model do in its scope; empty if the scope is empty."""
    if not scope.files:
        return ()
    wide = all(map(scope.covers, _SAMPLE_PATHS)) or not all(
        glob.strip("*?/.") for glob in scope.files
    )
    return MODEL_RISKS if wide else ("model_writes",)


def _deletes(case: _RiskCase) -> bool:
    return isinstance(case.op, DeleteFile) or case.told.deletes


def _protected(case: _RiskCase) -> bool:
    if case.told.touches or case.told.protected or any(map(protected_reason, case.paths)):
        return True
    match case.op:
        case WriteFile(path, _, FileState(kind="link")):
            return case.look.after is None or is_unsafe_link(path, case.look.after)
        case MoveFile(_, to, FileState(kind="link")):
            return case.look.after is None or is_unsafe_link(to, case.look.after)
        case _:
            return False


def _irreversible(case: _RiskCase) -> bool:
    return reversibility(case.op) == "irreversible"


def _out_of_scope(case: _RiskCase) -> bool:
    scope = case.look.scope
    if not isinstance(case.op, RunCommand):
        return bool(scope.files) and not all(
            scope.covers(display_path(path)) for path in case.paths
        )
    return not case.told.covered


def _writes_outside(case: _RiskCase) -> bool:
    return case.told.outside


def _secret(case: _RiskCase) -> bool:
    return find_secret(case.text) is not None


def _hidden_text(case: _RiskCase) -> bool:
    return (
        any(map(has_hidden_path_chars, case.paths))
        or bool(hidden_kinds(case.text, whole=_begins_file(case)))
        or _breaks_endings(case.look)
        or _not_unicode(case)
    )


def _lookalike(case: _RiskCase) -> bool:
    path = case.new_path
    look = case.look
    if case.told.lookalike or confusable_text(case.text):
        return True
    return path is not None and confusable_path(path, look.siblings, look.folders) is not None


def _executable(case: _RiskCase) -> bool:
    if not isinstance(case.op, WriteFile) or case.op.after.kind != "file":
        return False
    before = case.op.before
    had = before.mode if before is not None and before.kind == "file" else 0
    return bool(case.op.after.mode & ~had & (_RUNNABLE | _SET_ID))


def _executed_later(case: _RiskCase) -> bool:
    path = case.new_path
    return case.told.executed or (path is not None and executed_later(path) is not None)


def _set_id(case: _RiskCase) -> bool:
    """New content under the bits that a file has is as good as new bits."""
    op = case.op
    return isinstance(op, WriteFile) and op.after.kind == "file" and bool(op.after.mode & _SPECIAL)


def _hard_link(case: _RiskCase) -> bool:
    return isinstance(case.op, WriteFile) and case.look.facts.links > 1


def _metadata_lost(case: _RiskCase) -> bool:
    return isinstance(case.op, WriteFile | DeleteFile) and bool(case.look.facts.lost)


def _installs(case: _RiskCase) -> bool:
    return case.told.installs


def _network(case: _RiskCase) -> bool:
    if not isinstance(case.op, RunCommand):
        return False
    return case.told.network or case.op.network or case.op.profile == "unconfined"


def _unshown(case: _RiskCase) -> bool:
    return not isinstance(case.op, RunCommand) and case.look.diff is None


_RULES: dict[str, Callable[[_RiskCase], bool]] = {
    "deletes": _deletes,
    "protected": _protected,
    "irreversible": _irreversible,
    "set_id": _set_id,
    "writes_outside": _writes_outside,
    "out_of_scope": _out_of_scope,
    "secret": _secret,
    "hidden_text": _hidden_text,
    "lookalike": _lookalike,
    "executable": _executable,
    "executed_later": _executed_later,
    "hard_link": _hard_link,
    "metadata_lost": _metadata_lost,
    "installs": _installs,
    "network": _network,
    "unshown": _unshown,
}
_COMMANDS_ALONE: Final = ("irreversible", "writes_outside", "installs", "network")
_FILE_RULES = {code: rule for code, rule in _RULES.items() if code not in _COMMANDS_ALONE}


def _text(op: Operation, look: RiskInput) -> str:
    """Returns the text that an operation brings: the added lines, or a whole command."""
    match op:
        case WriteFile(before=None) if look.diff is not None and look.after:
            text = look.after.decode("utf-8", "backslashreplace")  # as in a diff, all of it
            return text if text.endswith("\n") else f"{text}\n"
        case WriteFile():
            return added_text(look.diff or "")
        case RunCommand():
            variables = [b"%b=%b" % pair for pair in op.env]
            words = [*op.argv, op.script, op.cwd, *variables, *op.undo]
            return "\n".join(map(_decoded, words))
        case _:
            return ""


def _begins_file(case: _RiskCase) -> bool:
    """Tells whether the text begins where the file does; looked at only if that matters."""
    return case.text.startswith(BOM) and added_numbers(case.look.diff or "")[:1] == [1]


def _breaks_endings(look: RiskInput) -> bool:
    """Tells whether line endings that were all alike are mixed afterwards."""
    if look.diff is None or look.after is None or b"\r" not in look.after:
        return False
    return mixed_endings(_decoded(look.after)) and not mixed_endings(_decoded(look.before or b""))


def _not_unicode(case: _RiskCase) -> bool:
    """Tells whether an added line has bytes that are not UTF-8 and that a diff can only escape."""
    after, diff = case.look.after, case.look.diff
    if not case.text or not diff or after is None or _is_unicode(after):
        return False
    lines = after.split(b"\n")
    return not all(_is_unicode(lines[number - 1]) for number in added_numbers(diff))


def _is_unicode(content: bytes) -> bool:
    if content.isascii():
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
