"""Law 1, one pair of hands: few modules can change anything, and only the executor asks them to."""

import ast
import re
from collections.abc import Iterator

from tests.house.source import modules

HAVE_HANDS = ("workspace/", "store/", "sandbox/", "testing/")
USE_HANDS = ("execute/", "workspace/", "testing/")
CONNECT_HANDS = (
    "app/engine.py",
    "ports/files.py",
    "ports/__init__.py",
)  # may name the hands to pass them on, not use them

# A question to the person is asked on the terminal itself, whatever stdin and stdout are.
ALLOWED = {("cli/terminal.py", "os.open"), ("cli/terminal.py", "os.write")}

EFFECT = re.compile(
    r"os\.(open|fdopen|p?writev?|sendfile|copy_file_range|rename\w*|replace|remove\w*|unlink|rmdir"
    r"|mk\w+|make\w+|link|symlink|[fl]?ch(mod|own|flags)|f?truncate|utime|setxattr"
    r"|system|popen|exec\w+|spawn\w+|posix_spawn\w*|fork\w*)"
    r"|shutil\.(rmtree|copy\w*|move|chown|make_archive|unpack_archive)"
    r"|subprocess\.(run|call|check_\w+|get\w*output|Popen)"
    r"|tempfile\.\w+|import (os|shutil|subprocess|tempfile) as \w+|open for writing"
    r"|.*\.(write_text|write_bytes|unlink|rmdir|mkdir|touch|symlink_to|hardlink_to|l?chmod|rmtree"
    r"|Popen|CDLL|create_subprocess_\w+)|.*(?<!hands)\.rename",
    re.DOTALL,
)
WRITING = re.compile(r"(?=.*[wax+])[rwaxbt+]+")


def test_only_workspace_store_and_sandbox_can_change_anything() -> None:
    offences = [
        f"{name}:{line} {effect}"
        for name, tree in modules().items()
        if not name.startswith(HAVE_HANDS)
        for line, effect in _mentions(tree)
        if EFFECT.fullmatch(effect) and (name, effect) not in ALLOWED
    ]
    assert offences == []


def test_only_the_executor_uses_the_hands_of_the_workspace() -> None:
    offences = [
        f"{name}:{getattr(node, 'lineno', 0)} {ast.unparse(node)}"
        for name, tree in modules().items()
        if not name.startswith(USE_HANDS)
        for node in ast.walk(tree)
        if _uses_hands(node) or (name not in CONNECT_HANDS and _names_hands(node))
    ]
    assert offences == []


def _mentions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Everything a module names or imports, as dotted names."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute():
                yield node.lineno, ast.unparse(node)
            case ast.ImportFrom(module=module, names=names):
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in names)
            case ast.Import(names=names):
                yield from ((node.lineno, f"import {ast.unparse(alias)}") for alias in names)
            case ast.Call(func=ast.Name("open") | ast.Attribute(attr="open")) if _writes(node):
                yield node.lineno, "open for writing"
            case _:
                pass


def _writes(call: ast.Call) -> bool:
    name_first = isinstance(call.func, ast.Name)  # open(name, mode) but path.open(mode)
    given = [*call.args[name_first:], *(keyword.value for keyword in call.keywords)]
    return any(isinstance(a, ast.Constant) and WRITING.fullmatch(str(a.value)) for a in given)


def _names_hands(node: ast.AST) -> bool:
    return any(getattr(node, field, "") in ("hands", "_hands") for field in ("id", "attr", "arg"))


def _uses_hands(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and _names_hands(node.value)
