"""Verification: the commands that show whether a plan works, and who chose them."""

import re
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from assent.core.plan.plan import declared_verification
from assent.core.plan.rehearsal import GIVEN_BY, ChosenBy, Rehearser, VerifyCommand


def verify_commands(
    given: Sequence[str],
    text: bytes,
    user: Sequence[str] = (),
    project: Sequence[str] = (),
    confirmed: Sequence[str] = (),
    by: Rehearser = "person",
    *,
    required: bool = False,
) -> tuple[VerifyCommand, ...]:
    """Returns the commands that verify a plan: of the first of these sources that names any.

    `by` is who gives the first ones. If an approval requires the user's own commands, those of the
    plan's text follow them: they run in one copy, and a command that a model wrote there could
    change ignored files, such as the test runner, that the user's own commands then use.
    """
    of_plan = _named(declared_verification(text) if not given else (), "plan")
    own = _named(user, "user")
    if required and of_plan:
        known = {one.line for one in own}
        of_plan = (*own, *(one for one in of_plan if one.line not in known))
    sources = (
        _named(given, GIVEN_BY[by]),
        of_plan,
        own,
        _named(project, "project"),
        _named(confirmed, "confirmed"),
    )
    return next(filter(None, sources), ())


def _named(lines: Sequence[str], source: ChosenBy) -> tuple[VerifyCommand, ...]:
    return tuple(VerifyCommand(line.strip(), source) for line in lines if line.strip())


# Suggestions: what the files of a project say about how it is tested.

PROJECT_FILES: Final[tuple[str, ...]] = (
    "Makefile", "makefile", "GNUmakefile", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml",
    "conftest.py", "package.json", "Cargo.toml", "go.mod",
)  # fmt: skip

_MAKE_TEST: Final = re.compile(rb"^test[ \t]*:(?!=)", re.MULTILINE)
_PYTEST_TABLE: Final = re.compile(rb"^\[tool\.pytest[.\]]", re.MULTILINE)
_NO_NPM_TEST: Final = "no test specified"


def suggested_commands(files: Mapping[str, bytes], folders: Sequence[str] = ()) -> tuple[str, ...]:
    """Returns the command that tests a project, judged by its top-level files and folders."""
    makefiles = [files[name] for name in PROJECT_FILES[:3] if name in files]
    if any(_MAKE_TEST.search(text) for text in makefiles):
        return ("make test",)
    if _uses_pytest(files, folders):
        return ("pytest",)
    script = _table(_json(files.get("package.json", b"")), "scripts").get("test")
    if isinstance(script, str) and script.strip() and _NO_NPM_TEST not in script:
        return ("npm test",)
    if "Cargo.toml" in files:
        return ("cargo test",)
    return ("go test ./...",) if "go.mod" in files else ()


def _uses_pytest(files: Mapping[str, bytes], folders: Sequence[str]) -> bool:
    if "pytest.ini" in files or "conftest.py" in files:
        return True
    if b"[tool:pytest]" in files.get("setup.cfg", b"") or b"[pytest]" in files.get("tox.ini", b""):
        return True
    project = files.get("pyproject.toml")
    if project is None:
        return False
    named = b"pytest" in project and bool({"tests", "test"} & {*folders})
    return named or _PYTEST_TABLE.search(project) is not None


def _table(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = found.get(key)
    return inner if isinstance(inner, dict) else {}


def _json(text: bytes) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(text.removeprefix(BOM_UTF8))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
