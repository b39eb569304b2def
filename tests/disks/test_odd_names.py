"""F145: names with line breaks and bytes that are no text go through every verb unharmed."""

from pathlib import Path

import pytest
from tests.crash.rig import Rig, command
from tests.crash.stories import Story, delete, move, write
from tests.crash.trees import file, tree

from assent.core.run.journal import drive_to_end

NAMES = {
    "newline": b"two\nlines",
    "only_newlines": b"\n\n",
    "carriage_return": b"back\rover",
    "tab_and_escape": b"a\tb\x1b[31mred",
    "no_text": b"\xff\xfe\x80",
    "leading_dash": b"-rf",
    "spaces": b"  a  ",
    "quotes": b'it\'s "so" `it` $(is)',
    "longest": b"n" * 255,
    "right_to_left": "a\u202eb".encode(),
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_f145_odd_names_go_through_and_come_back(name: bytes, tmp_path: Path) -> None:
    start = {name: file(b"old\n"), b"in/" + name: file(b"inner\n"), b"gone/" + name: file(b"g\n")}
    finish = {name: file(b"new\n"), b"moved/" + name: file(b"inner\n")}
    steps = (
        write(name, b"new\n"),
        move(b"in/" + name, b"moved/" + name),
        delete(b"gone/" + name),
    )
    rig = Rig(tmp_path, Story("odd", tree(start), steps, {}))
    review = command(tmp_path, rig.site.root, "review")
    assert review.exit == 0
    assert [row["kind"] for row in review.json["operations"]] == ["write", "move", "delete"]
    said = rig.said("review")
    assert name.decode("utf-8", "replace") not in said or name.isascii()
    assert "\x1b" not in said
    assert "\r" not in said
    assert rig.build().outcome == "done"
    assert files(rig) == finish
    engine = rig.open()
    assert drive_to_end(engine.undo.apply(engine.undo.preview(), "test")).outcome == "done"
    engine.close()
    assert files(rig) == start


def files(rig: Rig) -> dict[bytes, object]:
    return {path: entry for path, entry in rig.tree().items() if entry.kind != "folder"}
