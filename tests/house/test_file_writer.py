"""Law 1: few modules can change anything, and only the executor changes a person's files."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest
from tests.house.source import Modules, imported_names, imports, modules, nodes

from assent.ports.file_writer import FileWriter
from assent.ports.files import PathStateReader

CAN_WRITE = ("executor/", "store/", "sandbox/", "testing/")

WRITES = frozenset(name for name in vars(FileWriter) if not name.startswith("_")) - {
    *vars(PathStateReader)
}
CALLS_THE_WRITER = ("executor/", "testing/", "ports/file_writer.py")
IMPORTS_THE_WRITER = ("assent.executor", "assent.app", "assent.testing")
# The same word in another sense: the kind of move that the journal stores.
SAME_WORD = {("core/run/slot_move.py", "exchange")}

# What other packages may take from the executor; `app` chooses the rest, and `testing` tries it.
TAKES_OF_THE_EXECUTOR = {
    "planning": {
        *("drift.check_disk", "drift.changed_paths", "drift.first_segment_files"),
        *("drift.change_text", "drift.state_text"),
        "executor.Executor",
    },
    "runs": {
        *("drift.check_disk", "drift.drifted_paths", "drift.first_segment_files"),
        "drift.state_text",
        "executor.Executor",
        *("rollback.JournaledRun", "rollback.changes_reader", "rollback.read_rollbacks"),
    },
    "workspace": {
        *("disk.Disk", "disk.EntryKind", "disk.readable_error", "disk.readable_errors"),
        *("file_states.CHUNK", "file_states.OPEN_READ", "file_states.DigestCache"),
        *("file_states.FileStates", "file_states.unsupported_file_type"),
        *("file_states.OwnershipRights", "file_states.attributes_of"),
        *("file_states.lost_attributes", "file_states.process_rights"),
        "folder_handles.FolderHandles",
        *("slots.folders_with_own_slots", "slots.mounts_below"),
    },
}

# A question to the person is asked on the terminal itself, whatever stdin and stdout are; a file of
# git is opened for reading, and without waiting for one that is a pipe.
ALLOWED = {
    ("cli/terminal.py", "os.open"),
    ("cli/terminal.py", "os.write"),
    ("cli/terminal.py", "os.O_RDWR"),
    ("cli/terminal.py", "os.O_WRONLY"),
    ("workspace/git_state.py", "os.open"),
}

EFFECT = re.compile(
    r"os\.(open|fdopen|p?writev?|sendfile|copy_file_range|rename\w*|replace|remove\w*|unlink|rmdir"
    r"|mk\w+|make\w+|link|symlink|[fl]?ch(mod|own|flags)|f?truncate|utime|setxattr"
    r"|system|popen|exec\w+|spawn\w+|posix_spawn\w*|fork\w*)"
    r"|shutil\.(rmtree|copy\w*|move|chown|make_archive|unpack_archive)"
    r"|subprocess\.(run|call|check_\w+|get\w*output|Popen)"
    r"|tempfile\.\w+|import (os|shutil|subprocess|tempfile) as \w+|open for writing"
    r"|os\.O_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)|(io\.|_io\.)?FileIO|(builtins|io|_io)\.open"
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


def test_other_packages_take_from_the_executor_only_what_they_need() -> None:
    taken: dict[str, set[str]] = {}
    for path, tree in modules().items():
        package = path.split("/")[0]
        if package not in ("executor", "app", "testing"):
            for name in imported_names(tree, "assent.executor"):
                taken.setdefault(package, set()).add(name)
    assert taken == TAKES_OF_THE_EXECUTOR


def test_modules_are_loaded_by_name_in_the_command_line_alone() -> None:
    loaders = {
        name
        for name, tree in modules().items()
        for _, mention in _mentions(tree)
        if mention.endswith("import_module") or mention == "__import__"
    }
    assert loaders == {"cli/root.py"}


def test_writing_methods_are_those_we_know() -> None:
    assert {"exchange", "rename_unless_taken", "write_slot", "delete_path"} < WRITES
    assert len(WRITES) == 15


@pytest.mark.parametrize("method", sorted(WRITES))
@pytest.mark.parametrize(
    "code",
    [
        "def sneak(anything):\n    anything.{}(b'a', b'b')",
        "def sneak(anything):\n    return getattr(anything, '{}')",
        "class Sneak:\n    def {}(self): ...",
        "class Sneak:\n    async def {}(self): ...",
        "def sneak(anything):\n    return vars(type(anything))['{}']",
        "NAME = '{}'",
        "match anything:\n    case object({}=call):\n        call()",
    ],
    ids=["call", "getattr", "definition", "coroutine", "dictionary", "name", "pattern"],
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
                f"{name}:{getattr(node, 'lineno', 0)} {used}"
                for node in nodes(tree)
                for used in WRITES.intersection(_names(node))
                if (name, used) not in SAME_WORD
            )


def _names(node: ast.AST) -> list[str]:
    """Names by which a node could call or offer a method, also as a string for `getattr`."""
    match node:
        case ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name):
            return [name]
        case ast.Constant(str(text)):
            return [text]
        case ast.MatchClass(kwd_attrs=names):
            return names
        case _:
            return []


@cache
def _mentions(tree: ast.Module) -> tuple[tuple[int, str], ...]:
    """Everything a module names or imports, as dotted names."""
    return tuple(_mentioned(tree))


def _mentioned(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in nodes(tree):
        match node:
            case ast.Attribute():
                yield node.lineno, _dotted(node)
            case ast.ImportFrom(module=module, names=names):
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in names)
            case ast.Import(names=names):
                yield from ((node.lineno, f"import {ast.unparse(alias)}") for alias in names)
            case ast.Call(func=ast.Name("open") | ast.Attribute(attr="open")) if _writes(node):
                yield node.lineno, "open for writing"
            case ast.Name("FileIO" | "__import__" as name):
                yield node.lineno, name
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
    """Whether a file may be opened for writing: a mode that is computed may be anything."""
    name_first = isinstance(call.func, ast.Name)  # open(name, mode) but path.open(mode)
    given = [*call.args[name_first:], *(keyword.value for keyword in call.keywords)]
    if name_first and any(not isinstance(mode, ast.Constant) for mode in call.args[1:2]):
        return True
    return any(isinstance(a, ast.Constant) and WRITING.fullmatch(str(a.value)) for a in given)


@pytest.mark.parametrize(
    "code",
    [
        "open(path, 'w')",
        "open(path, mode)",
        "path.open('ab')",
        "import io\nio.FileIO(path, 'w')",
        "from io import FileIO",
        "import builtins\nput = builtins.open",
        "disk.open(path, os.O_WRONLY | os.O_CREAT)",
    ],
)
def test_every_way_to_open_for_writing_is_found(code: str) -> None:
    assert any(EFFECT.fullmatch(effect) for _, effect in _mentions(ast.parse(code)))
