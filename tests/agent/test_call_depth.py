"""How many functions of ours lie between the command line and a tool: few, so they can be read."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.adversarial.harness import Stage

import assent
from assent.tools.registry import TOOLS

MOST = 14  # frames from `main` to the function of a tool, both counted
MAIN = 1  # which the tests do not go through
HOME = Path(assent.__file__).parent


class StackRecorder:
    """Profiles this thread, and keeps our own frames of the call of a tool's function."""

    def __init__(self, tool: str) -> None:
        [self._function] = [each.run for each in TOOLS if each.name == tool]
        self.frames: list[str] = []

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or frame.f_code is not self._function.__code__:
            return
        found: FrameType | None = frame
        while found is not None:
            path = Path(found.f_code.co_filename)
            if path.is_relative_to(HOME):
                name = found.f_code.co_qualname
                self.frames.insert(0, f"{path.relative_to(HOME)}:{found.f_lineno} {name}")
            found = found.f_back


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("edit", {"path": "a.txt", "old": "one", "new": "two"}),
        ("read", {"path": "a.txt"}),
        ("shell", {"command": "cat a.txt"}),
    ],
)
def test_few_frames_lie_between_the_command_line_and_a_tool(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    stage = Stage(tmp_path)
    (stage.root / "a.txt").write_text("one\n", encoding="utf-8")
    seen = ("read", {"path": "a.txt"})  # before it is edited
    calls = [{"tool": name, "args": args} for name, args in dict([seen, (tool, arguments)]).items()]
    recorder, before = StackRecorder(tool), sys.getprofile()
    sys.setprofile(recorder)
    try:
        stage.play(*({"calls": [call]} for call in calls), {"text": "Done."})
    finally:
        sys.setprofile(before)
    frames = recorder.frames
    assert frames, "the tool was not called in this thread"
    assert frames[0].split()[-1] == "run"
    listed = "\n".join(f"{number:3} {one}" for number, one in enumerate(frames, 1 + MAIN))
    assert len(frames) + MAIN <= MOST, f"{len(frames) + MAIN} frames:\n{listed}"
