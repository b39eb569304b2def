"""A code base and a model on a real server: tests read the requests as they are sent to it."""

import json
from pathlib import Path
from typing import Any

from bench.story_code import make_code_base
from bench.story_server import StoryServer
from tests.cli.harness import World

from assent.llm.scripted import ScriptedCall, ScriptedTurn

Call = tuple[str, dict[str, Any]]


class Model(World):
    """A code base, and a model on a server that makes calls; what it was sent is kept."""

    def __init__(self, base: Path, server: StoryServer, config: str = "") -> None:
        super().__init__(base, config)
        make_code_base(self.root)
        self.server = server
        self.env |= {"OPENAI_BASE_URL": server.url}

    def makes(self, *calls: Call, options: tuple[str, ...] = (), code: int = 0) -> list[str]:
        """Has the model make calls in one answer; returns the results that it is sent."""
        made = tuple(ScriptedCall(tool, args) for tool, args in calls)
        self.server.answers = [ScriptedTurn("I look.", calls=made), ScriptedTurn("Done.")]
        answer = self.run("-p", "Look", *options, "--model", "openai/m")
        assert answer.code == code, answer
        messages = json.loads(self.server.bodies[-1])["messages"]
        results = [each["content"] for each in messages if each["role"] == "tool"]
        return results[-len(calls) :]

    @property
    def sent(self) -> str:
        """Everything that was ever sent."""
        return "\n".join(body.decode() for body in self.server.bodies)
