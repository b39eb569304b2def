"""Names by which Textual finds things on the screen: handlers, actions of keys, and styles.

Textual makes the names of handlers and of types in a style sheet from the names of classes. One
that fits no class is no error: the handler is never called, and the style never used. So whoever
renames a widget or a message is told here what else has to change.
"""

import importlib
import pkgutil
import re
from typing import Any

from textual.binding import Binding
from textual.message import Message
from textual.message_pump import MessagePump

import assent.tui

HANDLER = re.compile(r"_?(on_[a-z_]+)")
SELECTORS = re.compile(r"(?:^|\})([^{}]*)\{")
TYPE = re.compile(r"(?<![\w.#:$-])[A-Z]\w*")
NAMELESS = re.compile(r"\w+\.|\(.*")  # of an action: the one who is asked, and with what


def test_every_handler_is_for_a_message() -> None:
    found = widgets()
    known = {each.handler_name for each in below(Message)}
    lost = [
        f"{widget.__qualname__}.{name}"
        for widget in found
        for name in vars(widget)
        if (handler := HANDLER.fullmatch(name)) and handler[1] not in known
        if not any(hasattr(base, name) for base in widget.__bases__)
    ]
    assert lost == []


def test_every_type_in_a_style_sheet_is_a_widget() -> None:
    found = widgets()
    known = {each.__name__ for each in below(MessagePump)}
    lost = [
        f"{widget.__qualname__}: {name}"
        for widget in found
        for sheet in ("CSS", "DEFAULT_CSS")
        for selector in SELECTORS.findall(vars(widget).get(sheet, ""))
        for name in TYPE.findall(selector)
        if name not in known
    ]
    assert lost == []


def test_every_key_has_its_action() -> None:
    lost = [
        f"{widget.__qualname__}: {binding.action}"
        for widget in widgets()
        for binding in vars(widget).get("BINDINGS", ())
        if isinstance(binding, Binding)
        for action in [f"action_{NAMELESS.sub('', binding.action)}"]
        if not any(hasattr(each, action) for each in (widget, *below(widget)))
    ]
    assert lost == []


def widgets() -> list[type[Any]]:
    """Returns everything of the screen that takes messages."""
    root = assent.tui
    for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        importlib.import_module(module.name)
    found = [each for each in below(MessagePump) if each.__module__.startswith(root.__name__)]
    assert found
    return found


def below(root: type[Any]) -> list[type[Any]]:
    """Returns every class below another one."""
    return [inner for each in root.__subclasses__() for inner in (each, *below(each))]
