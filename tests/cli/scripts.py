"""Scripted models for tests of the command line, and what is said to them."""

from typing import Any

import msgspec
from tests.cli.harness import Answer, World

NOBODY = "http://127.0.0.1:9/v1"
ALONE = dict.fromkeys(("OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL"), NOBODY)
QUICK = "\n[retry]\nfirst_s = 0.001\n"
MODEL = "scripted:script.json"

Turn = dict[str, Any]


def turn(text: str = "", *calls: tuple[str, dict[str, Any]], **more: Any) -> Turn:
    """One answer of the model."""
    called = [{"tool": tool, "args": args} for tool, args in calls]
    return {"text": text, "calls": called, **more}


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write", {"path": path, "content": content}


PLAN_TEXT = "# Greet\n\nWrite hello.txt, which greets.\n"
PRESENT: tuple[str, dict[str, Any]] = ("present_plan", {})
WRITE_PLAN = ("write_plan", {"text": PLAN_TEXT})
PLANS = (
    turn("I will greet.", WRITE_PLAN, write("hello.txt", "hello\n")),
    turn("Here it is.", PRESENT),
)


class Talker:
    """A world with a script, and what is said in it."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.env |= ALONE
        world.config.write_text(world.config.read_text("utf-8") + QUICK, encoding="utf-8")

    def script(self, *turns: Turn) -> None:
        """Says what the model will answer, from the first request of a session on."""
        (self.world.root / "script.json").write_bytes(msgspec.json.encode({"turns": turns}))

    def say(self, *arguments: str, stdin: bytes = b"") -> Answer:
        """Says something without a terminal, in this process."""
        return self.world.run("-p", "--model", MODEL, *arguments, stdin=stdin)

    def json(self, *arguments: str, code: int = 0, stdin: bytes = b"") -> dict[str, Any]:
        """Says something and returns the one object."""
        answer = self.say(*arguments, "--json", stdin=stdin)
        assert answer.code == code, answer
        assert answer.json["exit"] == code
        return answer.json

    def stream(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """Says something and returns everything that was streamed."""
        answer = self.say(*arguments, "--output-format", "stream-json")
        assert answer.code == code, answer
        return self.rows(answer)

    @staticmethod
    def rows(answer: Answer) -> list[dict[str, Any]]:
        """Returns the lines of a stream."""
        return [msgspec.json.decode(line) for line in answer.out.splitlines()]
