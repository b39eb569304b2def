"""The demo: a temporary project with a scripted model and its own state directory.

While it is open, the environment variables of this process point state and configuration there, so
none of the user's own files are read or written.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from assent.sandbox.temp_folder import temp_folder

GOAL: Final = "Let people order tea in several sizes"
WELCOME: Final = (
    "This is a demo with a temporary project and a scripted model. None of your files are used.",
    "Press Enter to send the prompt. Then answer, review, and reject or approve.",
    "Type anything to get the plan revised; /undo undoes a build; /exit quits.",
)
PROJECT, MODEL = "tea-shop", "demo"  # the name of the folder, and of the model
FILES: Final = {
    "README.md": "# A tea shop\n\nA small project to try Assent on. None of your files are used.\n",
    "shop/menu.py": (
        '"""What the shop sells, in cents."""\n\n'
        'PRICES = {"sencha": 300, "oolong": 350, "chamomile": 280}\n'
        "CUP = 250\n\n\n"
        "def price(tea: str) -> int:\n    return PRICES[tea]\n"
    ),
    "shop/prices_old.txt": "A cup of anything: 2.50\n",
    "tests/test_menu.py": (
        "import unittest\n\nfrom shop.menu import price\n\n\n"
        "class Prices(unittest.TestCase):\n"
        "    def test_a_cup_has_a_price(self) -> None:\n"
        '        self.assertEqual(price("sencha"), 300)\n'
    ),
}
_VARIABLES: Final = {"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}


# The script of the demo ends with the build.
_CONFIG = "[verify]\nafter_build = false\n"


@contextmanager
def demo_project() -> Iterator[str]:
    """Creates the folders, yields the project's folder, and always removes everything."""
    with temp_folder() as place:
        root = place.folder(PROJECT)
        place.folder(f"{PROJECT}/.opencode/plans")  # whatever is above it, this is the workspace
        for name, content in FILES.items():
            place.write(f"{PROJECT}/{name}", content.encode(), 0o644)
        model = place.write(MODEL, _packaged())
        place.write("config/assent/config.toml", f'model = "scripted:{model}"\n{_CONFIG}'.encode())
        before = {name: os.environ.get(name) for name in _VARIABLES}
        os.environ |= {name: str(place.folder(at)) for name, at in _VARIABLES.items()}
        try:
            yield str(root)
        finally:
            _restore(before)


def _packaged() -> bytes:
    """Returns the script of the demo's model."""
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "demo", "script.json")
    content: bytes = __spec__.loader.get_data(path)  # type: ignore[union-attr]
    return content


def _restore(before: dict[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
