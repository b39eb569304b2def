"""`python -m bench.record_story`: a person or a model answers by hand, and a story is written.

The set-up is a story file without answers. Every request that the program sends becomes a file
that can be read, `001-request.md`; the answer is awaited in `001-answer.json`, as one turn of
`scripted:FILE`. `bench/stories/README.md` says how to record.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from bench.startup import ASSENT
from bench.stories import Step, Story, command_line, failed_calls, filled, program
from bench.story_code import OtherVersion, make_machine, version_of
from bench.story_server import CHARS_PER_TOKEN, serving, turn_events

from assent.llm.scripted import ScriptedTurn

LOOK_S = 0.2  # between two looks for an answer
BEAT_S = 10.0  # between two signs of life: a program ends a stream that is silent for long
WAITING = b": waiting\n\n"  # a comment, which readers of an event stream skip
PLAN_WAITS = 3  # exit code of a goal that ended with a plan to approve
ACCEPTED, REFUSED = "accepted", "refused"  # what an answer file is renamed to


class Answered(msgspec.Struct, frozen=True):
    """One request, and what was answered."""

    sent: int  # characters
    turn: ScriptedTurn


class Cost(msgspec.Struct, frozen=True):
    """What was sent up to a moment."""

    requests: int
    calls: int
    tokens: int


class Recording(msgspec.Struct, frozen=True):
    """A story that was recorded, and what it cost up to the first plan and up to the end."""

    story: Story
    first_plan: Cost | None
    end: Cost


class HandAnswerer:
    """Writes requests as files and waits for answers beside them; one request at a time."""

    def __init__(self, folder: Path) -> None:
        self.answered: list[Answered] = []
        self._folder = folder
        self._one = threading.Lock()  # sub-agents ask at the same time
        self._shown: list[dict[str, Any]] = []  # requests, to show only what is new in the next

    def answer(self, body: bytes) -> Iterator[bytes]:
        while not self._one.acquire(timeout=BEAT_S):
            yield WAITING
        try:
            number = len(self.answered) + 1
            name = f"{number:03}"
            request = json.loads(body)
            _write(self._folder / f"{name}-request.md", shown_request(request, self._shown))
            self._shown.append(request)
            turn = None
            beat = time.monotonic()
            while turn is None:
                time.sleep(LOOK_S)
                turn = self._read(name)
                if time.monotonic() - beat > BEAT_S:
                    beat = time.monotonic()
                    yield WAITING
            self.answered.append(Answered(len(body.decode()), turn))
            yield turn_events(turn, number, body)
        finally:
            self._one.release()

    def _read(self, name: str) -> ScriptedTurn | None:
        """Returns the answer, if there is one; one that cannot be used is renamed and explained."""
        file = self._folder / f"{name}-answer.json"
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        try:
            turn = msgspec.json.decode(content, type=ScriptedTurn)
        except msgspec.MsgspecError as error:
            file.rename(file.with_name(f"{name}-{REFUSED}.json"))
            _write(self._folder / f"{name}-{REFUSED}.txt", f"{error}\n")
            return None
        file.rename(file.with_name(f"{name}-{ACCEPTED}.json"))
        return turn


def _write(file: Path, text: str) -> None:
    """Writes a file that is whole as soon as it has its name."""
    part = file.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.rename(file)


# What is shown of a request.


def shown_request(request: dict[str, Any], before: list[dict[str, Any]]) -> str:
    """Returns a request as text: the first as a whole, later ones without what was shown.

    It is compared with the request before it that it has most messages in common with, because
    the requests of a sub-agent come in between.
    """
    messages = request["messages"]
    same, last = 0, None
    for earlier in before:
        common = _common(earlier["messages"], messages)
        if common >= max(same, 2):  # the system prompt alone does not make a conversation
            same, last = common, earlier
    old = {_tool_name(tool): tool for tool in (last or {}).get("tools", ())}
    new = {_tool_name(tool): tool for tool in request.get("tools", ())}
    parts = [f"# Request with {len(json.dumps(request)) // CHARS_PER_TOKEN} tokens"]
    if last:
        parts += [f"The first {same} of {len(last['messages'])} earlier messages stay as shown."]
    parts += [_tool(tool) for name, tool in new.items() if old.get(name) != tool]
    parts += [f"## Tool `{name}` is gone" for name in old.keys() - new.keys()]
    parts += [_message(message) for message in messages[same:]]
    return "\n\n".join(parts) + "\n"


def _common(old: list[object], new: list[object]) -> int:
    """Returns how many messages two requests begin with together."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))


def _tool_name(tool: dict[str, Any]) -> str:
    return str(tool["function"]["name"])


def _tool(tool: dict[str, Any]) -> str:
    function = tool["function"]
    schema = json.dumps(function.get("parameters", {}), ensure_ascii=False)
    return f"## Tool `{function['name']}`\n\n{function.get('description', '')}\n\n{schema}"


def _message(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    calls = [
        f"{call['id']}: {call['function']['name']} {call['function']['arguments']}"
        for call in message.get("tool_calls") or ()
    ]
    whose = f" {message['tool_call_id']}" if message.get("tool_call_id") else ""
    return "\n".join([f"## {message['role']}{whose}", "", text, *calls])


# Recording.


def record(setup: Story, base: Path, path: str) -> Recording:
    """Plays the steps of a set-up with a program; answers are awaited in the folder `base`."""
    code = {name: version or version_of(name) for name, version in setup.code.items()}
    env = make_machine(base, code, setup.files)
    own = HandAnswerer(base)
    steps: list[Step] = []
    first_plan = None
    with serving(own) as url:
        run = program(path, base / "project", env | {"OPENAI_BASE_URL": url})
        for number, line in enumerate(_lines(setup, base, steps), start=1):
            begin = len(own.answered)
            ended, out = run(command_line(filled(line, run)))
            (base / f"step-{number}.txt").write_bytes(out)
            print(f"Step {number} ended with {ended}.", flush=True)
            failed = len(failed_calls(out)) if "-p" in line else 0
            answers = tuple(each.turn for each in own.answered[begin:])
            steps.append(Step(line, answers, ended, failed))
            if ended == PLAN_WAITS and first_plan is None:
                first_plan = _cost(own.answered)
    story = Story(setup.title, tuple(steps), code, setup.files)
    return Recording(story, first_plan, _cost(own.answered))


def _lines(setup: Story, base: Path, done: list[Step]) -> Iterator[tuple[str, ...]]:
    """Yields command lines: those of the set-up and, if the last failed, what a person types."""
    yield from (step.run for step in setup.steps)
    while done and (done[-1].exit or len(done) > len(setup.steps)):
        file = base / f"step-{len(done) + 1}.json"
        print(f"Waiting for the next command line in {file}; [] ends the story.", flush=True)
        while not file.exists():
            time.sleep(LOOK_S)
        words = msgspec.json.decode(file.read_bytes(), type=tuple[str, ...])
        if not words:
            return
        yield words


def _cost(answered: list[Answered]) -> Cost:
    calls = sum(len(each.turn.calls) for each in answered)
    return Cost(len(answered), calls, sum(each.sent for each in answered) // CHARS_PER_TOKEN)


def main() -> int:
    """Records one story, and prints what it cost."""
    options = _options()
    try:
        setup = msgspec.json.decode(options.setup.read_bytes(), type=Story)
    except (OSError, msgspec.MsgspecError) as error:
        print(f"The set-up {options.setup} cannot be used: {error}", file=sys.stderr)
        return 1
    if options.folder.exists():
        print(f"{options.folder} exists already. Name a new folder.", file=sys.stderr)
        return 1
    options.folder.mkdir(parents=True)
    try:
        recording = record(setup, options.folder.resolve(), options.program)
    except OtherVersion as error:
        print(error, file=sys.stderr)
        return 1
    options.out.write_bytes(story_file(recording.story))
    costs = {"first_plan": recording.first_plan, "end": recording.end}
    cost_file = options.folder / "cost.json"
    cost_file.write_bytes(msgspec.json.format(msgspec.json.encode(costs), indent=2) + b"\n")
    for moment, cost in costs.items():
        if cost:
            told = f"{cost.requests} requests, {cost.calls} calls, {cost.tokens} tokens sent"
            print(f"{moment}: {told}")
    return 0


def story_file(story: Story) -> bytes:
    """Returns a story as its file has it: the code first, then the steps."""
    code = {"title": story.title, "code": story.code, "files": story.files}
    given = {name: value for name, value in code.items() if value}
    steps = _without_defaults(story.steps)
    return msgspec.json.format(msgspec.json.encode({**given, "steps": steps}), indent=2) + b"\n"


def _without_defaults(value: object) -> object:
    """Returns a value as plain data; a field that has its default is not written."""
    match value:
        case msgspec.Struct():
            fields = msgspec.structs.fields(value)
            given = {field.name: (getattr(value, field.name), field.default) for field in fields}
            return {
                name: _without_defaults(found)
                for name, (found, default) in given.items()
                if found != default and found not in ({}, ())
            }
        case tuple():
            return [_without_defaults(each) for each in value]
        case _:
            return value


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.record_story", description=__doc__)
    parser.add_argument("setup", type=Path, help="a story file without answers")
    parser.add_argument("folder", type=Path, help="a new folder for requests, answers and the code")
    parser.add_argument("out", type=Path, help="the story file to write")
    parser.add_argument("--program", default=ASSENT, help="the assent to play with")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
