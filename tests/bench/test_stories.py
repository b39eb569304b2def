"""Ten stories of work go as written, and what Assent adds to a request stays small."""

import json
import os
from pathlib import Path

import pytest
from bench.stories import (
    FIRST_LIMIT,
    FIXED_LIMIT,
    LARGEST_FIRST_LIMIT,
    Step,
    Story,
    StoryCost,
    fixed_chars,
    median_first,
    median_fixed,
    play,
    stories,
)
from bench.story_code import CONFIG, make_code_base
from bench.story_server import StoryServer, story_server
from tests.cli.harness import World

from assent.llm.scripted import ScriptedCall, ScriptedTurn

READS = ScriptedTurn("I read it.", calls=(ScriptedCall("read", {"path": "README.md"}),))


def played(base: Path, name: str, story: Story, server: StoryServer) -> StoryCost:
    """Plays a story in a world of its own, each command in a process of its own."""
    world = World(base / name, CONFIG)
    make_code_base(world.root, story.code, story.files)
    # Without it, the python3 of a version manager does not find its own programs.
    toolchain = {name: os.environ[name] for name in ("PYENV_ROOT",) if name in os.environ}
    world.env |= {"OPENAI_BASE_URL": server.url, **toolchain}

    def run(words: tuple[str, ...]) -> tuple[int, bytes]:
        answer = world.process(*words)
        return answer.code, answer.out + answer.err if answer.code else answer.out

    return play(name, story, server, run)


@pytest.mark.slow
def test_what_every_request_costs_stays_within_both_limits(tmp_path: Path) -> None:
    costs = []
    for name, story in stories().items():
        with story_server() as server:
            costs.append(played(tmp_path, name, story, server))
    assert len(costs) == 10
    assert median_first(costs) <= FIRST_LIMIT
    assert {cost.name: cost.first for cost in costs if cost.first > LARGEST_FIRST_LIMIT} == {}
    assert median_fixed(costs) <= FIXED_LIMIT
    assert all(cost.calls and cost.requests > 3 and cost.sent > 5_000 for cost in costs)


@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        (Step(("-p", "Look"), (READS, ScriptedTurn("Done.")), exit=3), "ended with 0, not 3"),
        (Step(("-p", "Look"), (ScriptedTurn("Done."), READS)), "left 1 answers"),
        (Step(("-p", "Look"), (READS,)), "made 1 more requests"),
        (Step(("-p", "Look"), (READS, ScriptedTurn("Done.")), failed=1), "has failed calls"),
    ],
)
def test_a_story_that_does_not_go_as_written_fails(tmp_path: Path, step: Step, wrong: str) -> None:
    with story_server() as server, pytest.raises(AssertionError, match=wrong):
        played(tmp_path, "wrong", Story("Wrong", (step,)), server)


def test_the_fixed_part_is_what_assent_adds() -> None:
    said = {"role": "user", "content": 'Mode: plan.\n\nSay "hi"'}
    messages = [
        {"role": "system", "content": "Be brief."},
        said,
        {"role": "assistant", "content": "Hi."},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
    ]

    def size(*wanted: object) -> int:
        return len(json.dumps({"messages": wanted, "tools": []}, separators=(",", ":")))

    body = json.dumps({"messages": messages, "tools": []}, separators=(",", ":")).encode()
    alone = size(messages[0], {"role": "user", "content": "Mode: plan.\n\n"})
    assert fixed_chars(body, ['Say "hi"', "never said"]) == alone
    assert fixed_chars(body, []) == size(messages[0], said)
