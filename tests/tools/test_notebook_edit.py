"""notebook_edit: one cell changes, and every other byte stays."""

import json
from pathlib import Path

import pytest
from tests.tools.call_harness import Desk

CELLS: list[dict[str, object]] = [
    {"cell_type": "markdown", "id": "aa", "metadata": {}, "source": ["# Title\n", "é"]},
    {
        "cell_type": "code",
        "execution_count": 1,
        "id": "bb",
        "metadata": {"odd": 1e5},
        "outputs": [{"text": ['] , { " \\']}],
        "source": ["x = 1\n", "y"],
    },
]
TOP = {"cells": CELLS, "metadata": {"n": [1.50, {"cells": []}]}, "nbformat": 4, "nbformat_minor": 5}
FORMS: dict[str, int | None] = {"one": 1, "two": 2, "flat": None}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def written(form: str, top: object = TOP) -> str:
    return json.dumps(top, ensure_ascii=False, indent=FORMS[form]) + "\n"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cell", ["1", "bb"])
def test_a_cell_is_replaced_in_its_form(desk: Desk, form: str, cell: str) -> None:
    desk.put("n.ipynb", written(form))
    desk.call("notebook_edit", path="n.ipynb", cell=cell, source='z = "\n"\nü\n')
    wanted = [CELLS[0], CELLS[1] | {"source": ['z = "\n', '"\n', "ü\n"]}]
    assert desk.content("n.ipynb").decode() == written(form, TOP | {"cells": wanted})


def test_a_source_that_is_a_string_stays_one(desk: Desk) -> None:
    top = {"cells": [{"cell_type": "code", "source": "a\nb"}]}
    desk.put("n.ipynb", written("one", top))
    desk.call("notebook_edit", path="n.ipynb", cell="0", source="c\nd", kind="markdown")
    wanted = {"cells": [{"cell_type": "markdown", "source": "c\nd"}]}
    assert desk.content("n.ipynb").decode() == written("one", wanted)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_cell_is_inserted(desk: Desk, form: str, at: int) -> None:
    desk.put("n.ipynb", written(form))
    cell = str(at - 1) if at else ""
    desk.call("notebook_edit", path="n.ipynb", cell=cell, source="new\n", action="insert")
    after = desk.content("n.ipynb").decode()
    made = json.loads(after)["cells"][at]
    known = {k: made[k] for k in ("cell_type", "execution_count", "metadata", "outputs", "source")}
    assert known == {
        "cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [],
        "source": ["new\n"],
    }  # fmt: skip
    assert len(made["id"]) == 8
    assert after == written(form, TOP | {"cells": [*CELLS[:at], made, *CELLS[at:]]})


@pytest.mark.parametrize(
    ("named", "at"),
    [({"cell_id": "aa"}, 1), ({"cell_id": "bb"}, 2), ({}, 0), ({"cell_number": 0}, 0),
     ({"cell_number": 1}, 1)],
)  # fmt: skip
def test_a_cell_is_inserted_where_its_family_means(
    desk: Desk, named: dict[str, object], at: int
) -> None:
    desk.put("n.ipynb", written("one"))
    wanted = {"notebook_path": "n.ipynb", "new_source": "new", "edit_mode": "insert"}
    desk.call("NotebookEdit", **wanted, **named)
    cells = json.loads(desk.content("n.ipynb"))["cells"]
    assert [cell["source"] == ["new"] for cell in cells].index(True) == at


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at", [0, 1])
def test_a_cell_is_deleted(desk: Desk, form: str, at: int) -> None:
    desk.put("n.ipynb", written(form))
    desk.call("notebook_edit", path="n.ipynb", cell=str(at), action="delete")
    after = desk.content("n.ipynb").decode()
    assert after == written(form, TOP | {"cells": [CELLS[1 - at]]})
    desk.call("notebook_edit", path="n.ipynb", cell="0", action="delete")
    assert json.loads(desk.content("n.ipynb"))["cells"] == []
    desk.call("notebook_edit", path="n.ipynb", cell="0", source="x", action="insert")
    assert len(json.loads(desk.content("n.ipynb"))["cells"]) == 1


@pytest.mark.parametrize(
    ("path", "cell", "words"),
    [
        ("n.ipynb", "2", "the notebook has 2 cells"),
        ("n.ipynb", "zz", "'zz' not found"),
        ("n.ipynb", "", "'' not found"),
        ("n.txt", "0", "is not a notebook"),
        ("broken.ipynb", "0", "is not valid JSON: "),
        ("old.ipynb", "0", "no cells"),
        ("list.ipynb", "0", "is not valid JSON near character"),
        ("none.ipynb", "0", "does not exist"),
    ],
)
def test_what_is_no_notebook_is_told(desk: Desk, path: str, cell: str, words: str) -> None:
    desk.put("n.ipynb", written("one"))
    desk.put("n.txt", "x")
    desk.put("broken.ipynb", '{"cells": [')
    desk.put("old.ipynb", '{"worksheets": []}')
    desk.put("list.ipynb", "[1]")
    assert words in desk.failing("notebook_edit", path=path, cell=cell, source="x")
