"""What ten stories of work cost in requests, calls and tokens, played through the whole program.

A story is a file in `bench/stories`: command lines as a person types them, and the answers of a
model in between, which a server on loopback gives over HTTP. `bench/stories/README.md` has the
format. Sizes are those of the requests as sent, four characters to a token.
"""

import json
import statistics
import subprocess
from collections.abc import Callable, Collection, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from bench.figure import Figure, within
from bench.pace import Scale
from bench.startup import ASSENT
from bench.story_code import make_machine
from bench.story_server import CHARS_PER_TOKEN, StoryServer, story_server

from assent.llm.scripted import ScriptedTurn

FOLDER = Path(__file__).parent / "stories"
FIRST_LIMIT = 1_800  # tokens of the plan agent's first request, median of all stories
LARGEST_FIRST_LIMIT = 2_000  # of any of them: one that names rare tools has these, too
FIXED_LIMIT = 2_000  # tokens of the fixed part where a story has it largest, median of all stories
MODEL = ("--model", "openai/m")
SHOWN = 500  # characters of what a step printed that went wrong
OWN_WORDS = ("text", "prompt")  # arguments that come back as messages: a plan's text, a task

# Runs a command line in the workspace; returns its exit code and what it printed.
RunProgram: TypeAlias = Callable[[tuple[str, ...]], tuple[int, bytes]]


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One command line, and what models answer while it runs."""

    run: tuple[str, ...]
    answers: tuple[ScriptedTurn, ...] = ()
    exit: int = 0
    failed: int = 0  # calls that are meant to fail


class Story(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole story file."""

    title: str
    steps: tuple[Step, ...]
    code: dict[str, str] = {}  # packages with the version that the story was recorded with
    files: dict[str, str] = {}  # files beside the code: tests, a Makefile


class StoryCost(msgspec.Struct, frozen=True):
    """What a story cost; all sizes are in tokens."""

    name: str
    requests: int
    calls: int
    sent: int  # of all requests together
    first: int  # the whole first request
    fixed: int  # the fixed part of a request where it is largest


def stories() -> dict[str, Story]:
    """Reads all stories, by name."""
    files = sorted(FOLDER.glob("*.json"))
    return {file.stem: msgspec.json.decode(file.read_bytes(), type=Story) for file in files}


def story_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Plays every story; sizes do not depend on the machine, so each is played once."""
    costs = []
    for name, story in islice(stories().items(), scale.stories):
        with story_server() as server:
            folder = work / name
            env = make_machine(folder, story.code, story.files) | {"OPENAI_BASE_URL": server.url}
            costs.append(play(name, story, server, program(ASSENT, folder / "project", env)))
    first = median_first(costs)
    yield Figure(
        "first request of the plan agent, tokens", first, None, within(FIRST_LIMIT), "count"
    )
    fixed = median_fixed(costs)
    yield Figure(
        "fixed part at its largest, median story", fixed, None, within(FIXED_LIMIT), "count"
    )
    for cost in costs:
        told = f"{cost.name}: {cost.requests} requests, {cost.calls} calls, tokens sent"
        yield Figure(told, cost.sent, unit="count")


def median_first(costs: Collection[StoryCost]) -> float:
    """Returns the median of what the first request costs."""
    return statistics.median(cost.first for cost in costs)


def median_fixed(costs: Collection[StoryCost]) -> float:
    """Returns the median of what the fixed part costs where a story has it largest."""
    return statistics.median(cost.fixed for cost in costs)


def play(name: str, story: Story, server: "StoryServer", run: RunProgram) -> StoryCost:
    """Plays a story; raises AssertionError where it does not go as written."""
    said: list[str] = []
    for number, step in enumerate(story.steps, start=1):
        words = filled(step.run, run)
        said += _words(words, step)
        server.answers = list(step.answers)
        code, out = run(command_line(words))
        wrong = f"Step {number} of {name}"
        assert code == step.exit, (
            f"{wrong} ended with {code}, not {step.exit}: {out.decode()[-SHOWN:]}"
        )
        assert not server.answers, f"{wrong} left {len(server.answers)} answers."
        assert not server.excess, f"{wrong} made {server.excess} more requests than written."
        if "-p" in words:
            failed = failed_calls(out)
            assert len(failed) == step.failed, f"{wrong} has failed calls: {failed}"
    calls = sum(len(answer.calls) for step in story.steps for answer in step.answers)
    sizes = [len(body.decode()) for body in server.bodies]
    fixed = [fixed_chars(body, said) for body in server.bodies]
    return StoryCost(
        name,
        len(sizes),
        calls,
        sum(sizes) // CHARS_PER_TOKEN,
        -(-sizes[0] // CHARS_PER_TOKEN),
        -(-max(fixed) // CHARS_PER_TOKEN),
    )


def fixed_chars(body: bytes, said: Collection[str]) -> int:
    """Returns the characters of a request's fixed part: what Assent adds to the conversation.

    That is the system prompt, the tools, reminders and reports, but neither what the user and the
    model said, nor results.
    """
    size = len(body.decode())
    for message in json.loads(body)["messages"]:
        if message["role"] in ("assistant", "tool"):
            size -= len(json.dumps(message, ensure_ascii=False, separators=(",", ":"))) + 1
        elif message["role"] == "user":
            size -= sum(_length(text) for text in said if text in str(message["content"]))
    return size


def _length(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False)) - 2


def _words(line: tuple[str, ...], step: Step) -> list[str]:
    """Returns what the user says on a command line, and what the model says in calls."""
    spoken = [word for option, word in pairwise(line) if option in ("-p", "--note")]
    args = [call.args for answer in step.answers for call in answer.calls]
    own = [each[name] for each in args for name in OWN_WORDS if isinstance(each.get(name), str)]
    return [text.strip() for text in (*spoken, *own) if text.strip()]


def filled(words: tuple[str, ...], run: RunProgram) -> tuple[str, ...]:
    """Returns the words of a command line; `{digest}` and the like are asked from the program."""
    return tuple(_filled(word, run) for word in words)


def command_line(words: tuple[str, ...]) -> tuple[str, ...]:
    """Returns a command line as it is run: a goal names the model and prints its events."""
    return (*words, *MODEL, "--output-format", "stream-json") if "-p" in words else words


def _filled(word: str, run: RunProgram) -> str:
    match word:
        case "{digest}":
            return str(_asked(run, "plan", "show")["digest"])
        case "{undo}":
            return str(_asked(run, "undo", "--dry-run")["digest"])
        case "{session}":
            return str(_asked(run, "sessions", "list")["sessions"][0]["slug"])
        case _:
            return word


def _asked(run: RunProgram, *words: str) -> dict[str, Any]:
    code, out = run((*words, "--json"))
    assert code == 0, out
    found: dict[str, Any] = json.loads(out)
    return found


def failed_calls(out: bytes) -> list[dict[str, Any]]:
    """Returns the calls that ended and failed, from a stream of events."""
    events = [json.loads(line) for line in out.splitlines() if line.startswith(b"{")]
    ended = [each["body"] for each in events if each.get("kind") == "call_ended"]
    return [each for each in ended if each["result"]["failed"]]


def program(path: str, root: Path, env: dict[str, str]) -> RunProgram:
    """Returns what runs a program in a workspace, without a terminal."""

    def run(words: tuple[str, ...]) -> tuple[int, bytes]:
        done = subprocess.run(
            [path, *words],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr if done.returncode else done.stdout

    return run
