"""Law 1: few modules can change anything, and only the executor changes a person's files."""

import ast
import re
from collections.abc import Iterator

import pytest
from tests.house.source import Modules, imports, modules

from assent.ports.file_writer import FileWriter
from assent.ports.files import PathStateReader

CAN_WRITE = ("executor/", "store/", "sandbox/", "testing/")

WRITES = frozenset(name for name in vars(FileWriter) if not name.startswith("_")) - {
    *vars(PathStateReader)
}
CALLS_THE_WRITER = ("executor/", "testing/", "ports/file_writer.py")
IMPORTS_THE_WRITER = ("assent.executor", "assent.app", "assent.testing")
BY_NAME = ("getattr", "attrgetter", "methodcaller")

# A question to the person is asked on the terminal itself, whatever stdin and stdout are; a file of
# git is opened for reading, and without waiting for one that is a pipe.
ALLOWED = {
    ("cli/terminal.py", "os.open"),
    ("cli/terminal.py", "os.write"),
    ("workspace/git_state.py", "os.open"),
}

EFFECT = re.compile(
    r"os\.(open|fdopen|p?writev?|sendfile|copy_file_range|rename\w*|replace|remove\w*|unlink|rmdir"
    r"|mk\w+|make\w+|link|symlink|[fl]?ch(mod|own|flags)|f?truncate|utime|setxattr"
    r"|system|popen|exec\w+|spawn\w+|posix_spawn\w*|fork\w*)"
    r"|shutil\.(rmtree|copy\w*|move|chown|make_archive|unpack_archive)"
    r"|subprocess\.(run|call|check_\w+|get\w*output|Popen)"
    r"|tempfile\.\w+|import (os|shutil|subprocess|tempfile) as \w+|open for writing"
    r"|.*\.(write_text|write_bytes|unlink|rmdir|mkdir|touch|symlink|symlink_to|hardlink_to|l?chmod"
    r"|chown|chown_link|set_xattr|rename|rename_noreplace|rename_exchange|rmtree"
    r"|Popen|CDLL|create_subprocess_\w+)",
    re.DOTALL,
)
WRITING = re.compile(r"(?=.*[wax+])[rwaxbt+]+")


def test_only_executor_store_and_sandbox_can_change_anything() -> None:
    offences = [
        f"{name}:{line} {effect}"
        for name, tree in modules().items()
        if not name.startswith(CAN_WRITE)
        for line, effect in _mentions(tree)
        if EFFECT.fullmatch(effect) and (name, effect) not in ALLOWED
    ]
    assert offences == []


def test_only_the_executor_calls_the_file_writer() -> None:
    assert list(_calls_of_the_writer(modules())) == []


def test_only_the_executor_and_those_who_connect_it_import_the_file_writer() -> None:
    importers = {
        one.importer for one in imports(modules()) if one.imported == "assent.ports.file_writer"
    }
    assert [name for name in importers if not name.startswith(IMPORTS_THE_WRITER)] == []


def test_writing_methods_are_those_we_know() -> None:
    assert {"exchange", "rename_unless_taken", "write_slot", "delete_path"} < WRITES
    assert len(WRITES) == 13


@pytest.mark.parametrize("method", sorted(WRITES))
@pytest.mark.parametrize(
    "code",
    [
        "def sneak(anything):\n    anything.{}(b'a', b'b')",
        "def sneak(anything):\n    return getattr(anything, '{}')",
        "class Sneak:\n    def {}(self): ...",
    ],
    ids=["call", "getattr", "definition"],
)
@pytest.mark.parametrize("place", ["planning/sneak.py", "tui/sneak.py", "app/sneak.py"])
def test_a_call_of_the_writer_in_another_place_is_found(place: str, code: str, method: str) -> None:
    sneak = {place: ast.parse(code.format(method))}
    assert len(list(_calls_of_the_writer(sneak))) == 1


def _calls_of_the_writer(of: Modules) -> Iterator[str]:
    """Finds every use of a name that only the writer's methods have, where nobody may use it."""
    for name, tree in of.items():
        if not name.startswith(CALLS_THE_WRITER):
            yield from (
                f"{name}:{getattr(node, 'lineno', 0)} {ast.unparse(node)}"
                for node in ast.walk(tree)
                if _uses_the_writer(node)
            )


def _uses_the_writer(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.FunctionDef(name=name):
            return name in WRITES
        case ast.Call(func=ast.Name(asked) | ast.Attribute(attr=asked), args=args):
            given = [one.value for one in args if isinstance(one, ast.Constant)]
            return asked in BY_NAME and not WRITES.isdisjoint(given)
        case _:
            return False


def _mentions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Everything a module names or imports, as dotted names."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute():
                yield node.lineno, _dotted(node)
            case ast.ImportFrom(module=module, names=names):
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in names)
            case ast.Import(names=names):
                yield from ((node.lineno, f"import {ast.unparse(alias)}") for alias in names)
            case ast.Call(func=ast.Name("open") | ast.Attribute(attr="open")) if _writes(node):
                yield node.lineno, "open for writing"
            case _:
                pass


def _dotted(node: ast.expr) -> str:
    """Returns a name with its dots; what is no name in front of them is left out."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value, attr):
            return f"{_dotted(value)}.{attr}"
        case _:
            return ""


def _writes(call: ast.Call) -> bool:
    name_first = isinstance(call.func, ast.Name)  # open(name, mode) but path.open(mode)
    given = [*call.args[name_first:], *(keyword.value for keyword in call.keywords)]
    return any(isinstance(a, ast.Constant) and WRITING.fullmatch(str(a.value)) for a in given)
