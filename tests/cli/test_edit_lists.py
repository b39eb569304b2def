"""Lists of edits over several files, as a model makes them: one change, all or none."""

import json
from typing import Any

from tests.cli.story_model import Model

EDITS = [
    {"path": "shop/prices.py", "old": "def net_price(", "new": "def discounted("},
    {"path": "shop/cart.py", "old": "net_price", "new": "discounted", "replace_all": True},
    {"path": "shop/prices.py", "old": "after a discount", "new": "less a discount"},
]
WRONG = [*EDITS, {"path": "README.md", "old": "nowhere to be found", "new": "x"}]


def files(model: Model) -> dict[str, bytes]:
    names = ("shop/prices.py", "shop/cart.py", "README.md")
    return {name: (model.root / name).read_bytes() for name in names}


def tool(model: Model, name: str) -> dict[str, Any]:
    tools = json.loads(model.server.bodies[0])["tools"]
    [found] = [each["function"] for each in tools if each["function"]["name"] == name]
    return dict(found)


def test_f131_a_list_of_edits_is_staged_as_one_write_for_each_file(model: Model) -> None:
    before = files(model)
    [wrong] = model.makes(("edit", {"edits": WRONG}))
    assert "\nedits[3] README.md:" in wrong
    assert wrong.count("edits[") == 1
    [text] = model.makes(("edit", {"edits": EDITS}), options=("-c",))
    assert "shop/prices.py: 2 replacements:" in text
    assert "+def discounted(cents: int, discount: int = 0) -> int:" in text
    rows = model.ok("review")["operations"]
    assert [row["path"] for row in rows] == ["shop/prices.py", "shop/cart.py"]
    assert files(model) == before
    assert [*tool(model, "edit")["parameters"]["properties"]] == ["edits"]


def test_f131_a_list_of_edits_is_applied_and_undone_as_one(model: Model) -> None:
    before, auto = files(model), ("--mode", "auto-edit")
    model.makes(("edit", {"edits": WRONG}), options=auto)
    assert files(model) == before
    model.makes(("edit", {"edits": EDITS}), options=("-c",))
    assert b"def discounted(" in files(model)["shop/prices.py"]
    assert b"net_price" not in files(model)["shop/cart.py"]
    assert len(model.ok("undo", "--dry-run")["operations"]) == 2
    assert model.undo().code == 0
    assert files(model) == before


def test_f131_a_hook_sees_all_files_of_a_list_and_stops_all(model: Model) -> None:
    before = files(model)
    hook = model.base / "hook"
    hook.write_text("#!/bin/sh\ncat >&2\nexit 2\n", "utf-8")
    hook.chmod(0o755)
    with model.config.open("a", encoding="utf-8") as config:
        config.write(f'[[hooks]]\non = "before_write"\nrun = ["{hook}"]\n')
    [text] = model.makes(("edit", {"edits": EDITS}), options=("--mode", "auto-edit"))
    assert files(model) == before
    assert "shop/prices.py" in text
    assert "shop/cart.py" in text


def test_f132_a_syntax_error_is_told_to_the_model_and_to_the_person(model: Model) -> None:
    broken = {"path": "shop/prices.py", "old": "def net_price(", "new": "def net_price(("}
    [text] = model.makes(("edit", {"edits": [broken]}))
    assert "\n[Syntax error in shop/prices.py, line " in text
    [applied] = model.makes(("edit", {"edits": [broken]}), options=("--mode", "auto-edit"))
    assert "\n[Syntax error in shop/prices.py, line " in applied
    shown = [model.run(*words).out for words in (("log",), ("log", "--json"))]
    assert all(b"; syntax error in shop/prices.py:" in each for each in shown), shown
