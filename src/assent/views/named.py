"""Named: which files a command names that other programs obey, or that hold secrets."""

import re
from collections.abc import Iterable
from typing import Final

from assent.core.operation import RunCommand
from assent.core.protected import protected
from assent.core.secret_names import secret, why_secret

# What stands between names in words, options, redirects and pieces of code.
_BREAKS: Final = re.compile(rb"[\s;&|<>(){}\[\]`'\"=,:@*?!#$]+")
# Programs have variables under these names, and no file is meant.
_VARIABLES: Final = re.compile(rb"\b(?:process|import\.meta|Deno|Bun)\.env\b[\w.]*")


def named(op: RunCommand) -> tuple[bytes, ...]:
    """Returns the names in a command that are protected or secret, as far as its text tells."""
    if op.profile == "commit":
        return ()  # it has one fixed form; what it commits stands in the rest of the plan
    texts = [*op.argv, op.script, *op.undo, *(value for _, value in op.env)]
    words = _BREAKS.split(_VARIABLES.sub(b" ", b"\n".join(texts)))
    names = dict.fromkeys(word for word in words if word)
    return tuple(name for name in names if protected(name) or why_secret(name))


def masked_names(names: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Returns those that the sandbox masks in any case, and those that it masks by content."""
    secrets = [name for name in names if why_secret(name)]
    perhaps = [name for name in secrets if _by_content(name)]
    return [name for name in secrets if name not in perhaps], perhaps


def _by_content(path: bytes) -> bool:
    folder, _, name = path.rpartition(b"/")
    found = secret(folder.rpartition(b"/")[2], name)
    return found is not None and bool(found.marks)
