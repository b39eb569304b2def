"""A world with an agent in it: a script says what the model says, everything else is real."""

import json
from pathlib import Path
from typing import Any

from tests.cli.harness import Answer, World, files_below

MANY = 20  # calls of one answer
HARMLESS = (b".opencode/plans", b".opencode/assent")  # Assent's own, and nobody's power


class Stage(World):
    """Plays scripts: each turn is one answer of the model."""

    def __init__(self, base: Path, config: str = "") -> None:
        super().__init__(base, config)
        self.script = base / "script.json"

    def play(
        self,
        *turns: dict[str, Any],
        said: str = "Do it",
        options: tuple[str, ...] = (),
        children: dict[str, list[dict[str, Any]]] | None = None,
    ) -> Answer:
        """Has the model say these turns, in answer to one text, as a stream of events.

        `children` holds the turns of sub-agents, by their kind.
        """
        script = {"turns": turns, "children": children or {}}
        self.script.write_text(json.dumps(script), encoding="utf-8")
        return self.go_on(said, *options)

    def go_on(self, said: str, *options: str) -> Answer:
        """Says something to the model of the script that was written last."""
        model = ("--model", f"scripted:{self.script}")
        return self.run("-p", said, *model, "--output-format", "stream-json", *options)

    def called(
        self, *calls: tuple[str, dict[str, Any]], options: tuple[str, ...] = ()
    ) -> list[dict[str, Any]]:
        """Has the model make these calls, many in one answer, and returns what came of each."""
        made = [{"tool": tool, "args": args} for tool, args in calls]
        turns = [{"calls": made[at : at + MANY]} for at in range(0, len(made), MANY)]
        answer = self.play(*turns, {"text": "That is all."}, options=options)
        assert answer.code in (0, 3, 4), answer
        return [event["body"] for event in events(answer) if event["kind"] == "call_ended"]

    def everything(self) -> dict[bytes, object]:
        """Everything around the project, but the state folder and Assent's own copies."""
        own = tuple(b"project/" + name for name in HARMLESS)
        found = files_below(self.base, but=(b"state",))
        return {
            path: what
            for path, what in found.items()
            if not path.startswith(own) and path not in (b"script.json", b"project/.opencode")
        }

    def logged(self) -> list[str]:
        """The kinds of all events in the log of the workspace."""
        return [event["kind"] for event in self.ok("log")["events"]]

    def staged(self) -> list[dict[str, Any]]:
        """What is staged in any plan; a session in which nothing was staged has none."""
        plans = [plan["plan_id"] for plan in self.ok("plan", "list", "--all")["plans"]]
        return [
            op for plan in plans for op in self.ok("stage", "list", "--plan", plan)["operations"]
        ]


def events(answer: Answer) -> list[dict[str, Any]]:
    """The events of a stream, in order."""
    return [json.loads(line) for line in answer.out.splitlines()]


def really_ran(end: dict[str, Any]) -> bool:
    """Whether a call ran with the real files, and not in a scratch copy."""
    return end["verdict"] == "run" and "scratch" not in end["metadata"]


def final(answer: Answer) -> dict[str, Any]:
    """The object that a stream ends with."""
    last = events(answer)[-1]
    assert last["kind"] == "result", last
    body: dict[str, Any] = last["body"]
    return body
