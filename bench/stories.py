"""What ten stories of work cost in requests, calls and tokens, played through the whole program.

A story is a file in `bench/stories`: command lines as a person types them, and the answers of a
model in between, which a server on loopback gives over HTTP. `bench/stories/README.md` has the
format. Sizes are those of the requests as sent, four characters to a token.
"""

import json
import os
import statistics
import subprocess
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from bench.figure import Figure, within
from bench.pace import Scale
from bench.startup import ASSENT

from assent.llm.scripted import ScriptedTurn

FOLDER = Path(__file__).parent / "stories"
CHARS_PER_TOKEN = 4
FIRST_LIMIT = 2_000  # tokens of the plan agent's first request
FIXED_LIMIT = 2_300  # tokens of the fixed part where a story has it largest, median of all stories
MODEL = ("--model", "openai/m")
CONFIG = "[approve]\nwithout_terminal = true\n"
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
    for name, story in stories().items():
        with story_server() as server:
            folder = work / name
            env = {**make_machine(folder), "OPENAI_BASE_URL": server.url}
            costs.append(play(name, story, server, _program(folder / "project", env)))
    first = max(cost.first for cost in costs)
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


def median_fixed(costs: Collection[StoryCost]) -> float:
    """Returns the median of what the fixed part costs where a story has it largest."""
    return statistics.median(cost.fixed for cost in costs)


def play(name: str, story: Story, server: "StoryServer", run: RunProgram) -> StoryCost:
    """Plays a story; raises AssertionError where it does not go as written."""
    said: list[str] = []
    for number, step in enumerate(story.steps, start=1):
        words = tuple(_filled(word, run) for word in step.run)
        said += _words(words, step)
        server.answers = list(step.answers)
        line = (*words, *MODEL, "--output-format", "stream-json") if "-p" in words else words
        code, out = run(line)
        wrong = f"Step {number} of {name}"
        assert code == step.exit, (
            f"{wrong} ended with {code}, not {step.exit}: {out.decode()[-SHOWN:]}"
        )
        assert not server.answers, f"{wrong} left {len(server.answers)} answers."
        assert not server.excess, f"{wrong} made {server.excess} more requests than written."
        if "-p" in words:
            failed = [each for each in _ended(out) if each["result"]["failed"]]
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


def _filled(word: str, run: RunProgram) -> str:
    """Returns a word of a command line; `{digest}` and the like are asked from the program."""
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


def _ended(out: bytes) -> list[dict[str, Any]]:
    """Returns the calls that ended, from a stream of events."""
    events = [json.loads(line) for line in out.splitlines() if line.startswith(b"{")]
    return [each["body"] for each in events if each.get("kind") == "call_ended"]


def _program(root: Path, env: dict[str, str]) -> RunProgram:
    def run(words: tuple[str, ...]) -> tuple[int, bytes]:
        line = [ASSENT, *words]
        done = subprocess.run(
            line, cwd=root, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        return done.returncode, done.stdout or done.stderr

    return run


# The server: answers requests with the answers of the story, in order, and keeps what was sent.


class StoryServer:
    """A model server on loopback that keeps every request as it was sent."""

    def __init__(self) -> None:
        self.answers: list[ScriptedTurn] = []
        self.bodies: list[bytes] = []
        self.excess = 0  # requests that the story has no answer for
        self.url = ""

    def answer(self, body: bytes) -> bytes:
        """Returns the response to a request, as a stream of events."""
        self.bodies.append(body)
        self.excess += not self.answers
        turn = self.answers.pop(0) if self.answers else ScriptedTurn("That is all.")
        calls = [
            {
                "index": at,
                "id": f"call_{len(self.bodies)}_{at}",
                "function": {"name": call.tool, "arguments": json.dumps(call.args)},
            }
            for at, call in enumerate(turn.calls)
        ]
        delta: dict[str, Any] = {"role": "assistant", "content": turn.text}
        end = "tool_calls" if calls else "stop"
        usage = {"prompt_tokens": len(body) // CHARS_PER_TOKEN, "completion_tokens": 5}
        chunks = [
            {"choices": [{"delta": {**delta, "tool_calls": calls} if calls else delta}]},
            {"choices": [{"delta": {}, "finish_reason": end}]},
            {"choices": [], "usage": usage},
        ]
        events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
        return b"".join(events) + b"data: [DONE]\n\n"


@contextmanager
def story_server() -> Iterator[StoryServer]:
    """Serves in a thread."""
    own = StoryServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            answer = own.answer(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    own.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield own
    finally:
        server.shutdown()
        server.server_close()


# The code base that the stories work on.


def make_machine(base: Path) -> dict[str, str]:
    """Makes a repository with the code, and a user's folders; returns the environment."""
    make_code_base(base / "project")
    config = base / "config" / "assent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG, encoding="utf-8")
    own = {"XDG_STATE_HOME": str(base / "state"), "XDG_CONFIG_HOME": str(base / "config")}
    return {**os.environ, **own}


def make_code_base(root: Path) -> None:
    """Writes a small shop in Python: prices, a cart, twelve reports and tests, as a repository."""
    for path, text in code_base().items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    git = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "Start the shop")):
        subprocess.run([*git, *words], cwd=root, check=True)


REPORTS = (
    "daily", "weekly", "monthly", "yearly", "refunds", "returns", "stock", "suppliers", "taxes",
    "vouchers", "shipping", "customers",
)  # fmt: skip


def code_base() -> dict[str, str]:
    """Returns every file of the shop."""
    reports = {f"shop/reports/{name}.py": _REPORT.replace("NAME", name) for name in REPORTS}
    return {**_FILES, **reports}


_REPORT = '''"""The NAME report."""

from shop.prices import net_price


def NAME_line(label: str, cents: int, discount: int = 0) -> str:
    """Returns one line of the NAME report."""
    return f"{label:20}{net_price(cents, discount):>10}"


def NAME_total(rows: list[tuple[int, int]]) -> int:
    """Returns the sum of the NAME report."""
    return sum(net_price(cents, discount) for cents, discount in rows)
'''
_FILES = {
    "README.md": "# Shop\n\nPrices, a cart and reports. Run the tests with `make test`.\n",
    "Makefile": "test:\n\tpython3 -m unittest discover -s tests\n",
    "shop/__init__.py": "",
    "shop/reports/__init__.py": "",
    "shop/prices.py": '''"""Prices in cents."""


def net_price(cents: int, discount: int = 0) -> int:
    """Returns a price after a discount in percent."""
    return cents - cents * discount // 100


def with_tax(cents: int, rate: int = 19) -> int:
    """Returns a price with tax."""
    return cents + cents * rate // 100
''',
    "shop/cart.py": '''"""The cart of a customer."""

from shop.prices import net_price


class Cart:
    """What a customer wants to buy."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, int]] = []

    def add(self, name: str, cents: int, count: int = 1) -> None:
        """Adds some pieces of an article."""
        self.rows.append((name, cents, count))

    def total(self, discount: int = 0) -> int:
        """Returns what all rows cost."""
        return sum(net_price(cents, discount) for _, cents, count in self.rows)
''',
    "tests/__init__.py": "",
    "tests/test_prices.py": """import unittest

from shop.prices import net_price, with_tax


class PriceTest(unittest.TestCase):
    def test_discount(self) -> None:
        self.assertEqual(net_price(1000, 10), 900)

    def test_tax(self) -> None:
        self.assertEqual(with_tax(100), 119)
""",
    "tests/test_cart.py": """import unittest

from shop.cart import Cart


class CartTest(unittest.TestCase):
    def test_total(self) -> None:
        cart = Cart()
        cart.add("pen", 100)
        cart.add("book", 900)
        self.assertEqual(cart.total(), 1000)
""",
}
