"""Private names of Textual are used in one module, and only those that are listed here."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from textwrap import dedent

import textual
from tests.house.source import modules, nodes

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
INTERNALS = "tui/textual_internals.py"

# What that module uses, and why is said there. A new version of Textual may change any of them.
IMPORTED = {
    "textual._ansi_sequences",
    "textual._parser.ParseError",
    "textual._xterm_parser.XTermParser",
}
READ = {"_auto_restart", "_file", "_must_signal_resume"}
OVERRIDDEN = {
    "DrivenApp._handle_exception",
    "DrivenApp._print_error_renderables",
    "TerminalDriver._file",
    "TerminalDriver._sigcont_application",
    "TerminalDriver._sigtstp_application",
}

# Private attributes of Textual's objects that somebody may want to read or set. Some are tempting,
# some were used before; names that are our own in other classes cannot stand here.
TEMPTING = {
    "_animator", "_auto_restart", "_bindings", "_close_messages", "_close_messages_no_wait",
    "_closing", "_compositor", "_css_update_count", "_driver", "_exception", "_exit_renderables",
    "_file", "_filters", "_handle_exception", "_in_band_window_resize", "_key_thread",
    "_merged_bindings", "_message_queue", "_must_signal_resume", "_no_default_action", "_nodes",
    "_on_key", "_on_paste", "_post_message", "_print_error_renderables", "_reactive",
    "_return_code", "_return_value", "_running", "_screen_stack", "_sender", "_size_updated",
    "_stop_propagation", "_thread_id", "_timers", "_watchers", "_workers", "_writer_thread",
}  # fmt: skip


def test_private_modules_of_textual_are_imported_by_one_module() -> None:
    found = {path: set(_imported(tree)) for path, tree in modules().items()}
    assert {path: names for path, names in found.items() if names} == {INTERNALS: IMPORTED}


def test_private_attributes_of_textual_are_read_by_one_module() -> None:
    found = {path: set(_read(tree)) for path, tree in modules().items() if path.startswith("tui/")}
    assert {path: names for path, names in found.items() if names} == {INTERNALS: READ}


def test_private_methods_of_textual_are_overridden_by_one_module() -> None:
    """Also by accident: a private name of ours that a class of Textual has already."""
    found: dict[str, set[str]] = {}
    for path in modules():
        if path.startswith("tui/"):
            found |= {path: names} if (names := set(_overridden(path))) else {}
    assert found == {INTERNALS: OVERRIDDEN}


def test_what_would_be_private_is_found() -> None:
    tree = ast.parse(
        "import textual._animator\n"
        "from textual import _time, app\n"
        "from textual._parser import ParseError, Read\n"
        "app._driver.write('')\n"
        "self._filters = []\n"
    )
    assert set(_imported(tree)) == {
        "textual._animator",
        "textual._time",
        "textual._parser.ParseError",
        "textual._parser.Read",
    }
    assert set(_read(tree)) == {"_driver", "_filters"}


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in nodes(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{one.name}" for one in node.names]
        for name in names:
            package, *parts = name.split(".")
            if package == textual.__name__ and any(part.startswith("_") for part in parts):
                yield name


def _read(tree: ast.Module) -> Iterator[str]:
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and node.attr in TEMPTING and not _is_super(node.value):
            yield node.attr


def _is_super(node: ast.expr) -> bool:
    """Tells whether it is `super()`: what is overridden is listed as such."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


def _overridden(path: str) -> Iterator[str]:
    """Yields private names of Textual's classes that a class of ours defines or sets anew."""
    name = "assent." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for kind in vars(importlib.import_module(name)).values():
        if isinstance(kind, type) and kind.__module__ == name:
            theirs = [base for base in kind.__mro__ if base.__module__.split(".")[0] == "textual"]
            taken = set().union(*map(_private_names, theirs))
            yield from (f"{kind.__name__}.{own}" for own in _private_names(kind) & taken)


@cache
def _private_names(kind: type) -> set[str]:
    """Returns the private names that a class defines, or sets in its methods."""
    tree = ast.parse(dedent(inspect.getsource(kind)))
    found = {node.name for node in ast.walk(tree) if isinstance(node, FUNCTIONS)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name("self"), name, ast.Store()):
                found.add(name)
            case ast.ClassDef():
                found |= {each.id for one in node.body for each in _assigned(one)}
            case _:
                pass
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def _assigned(node: ast.stmt) -> list[ast.Name]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return [one for one in targets if isinstance(one, ast.Name)]
