"""`assent models`: what can be used here, and one question to a model, as a person types them."""

import signal
import subprocess
from collections.abc import Mapping

import msgspec
import pytest
from tests.cli.harness import PROGRAM, World
from tests.cli.terminal import Terminal
from tests.llm.server import FAULTS, Server, Turn, refusal, serving
from tests.llm.wire_responses import Reply
from tests.support import forked_python

from assent.config.loader import SCRIPTED_MODEL

NOBODY = "http://127.0.0.1:9/v1"
ALONE = dict.fromkeys(("OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL"), NOBODY)
QUICK = "[retry]\nfirst_s = 0.001\n"
ESCAPE = bytes([27]).decode()

NONE = (
    b"No model available: no API key set, no provider configured, no local server running.\n"
    b"Next: assent login, or export ANTHROPIC_API_KEY=..., or start a local server\n"
)


def at(server: Server, provider: str = "openai", **more: str) -> dict[str, str]:
    base = server.url if provider == "anthropic" else f"{server.url}/v1"
    name = provider.upper()
    return {**ALONE, f"{name}_BASE_URL": base, f"{name}_API_KEY": "sk-secret", **more}


@pytest.fixture
def world(world: World) -> World:
    """A world in which nobody waits long."""
    world.config.write_text(QUICK, encoding="utf-8")
    world.env |= ALONE
    return world


def rows(world: World, environment: Mapping[str, str]) -> list[tuple[str, str, bool]]:
    answer = world.process("models", "list", "--json", env=environment)
    assert answer.code == 0
    return [(row["model"], row["why"], row["default"]) for row in answer.json["models"]]


def test_without_anything_there_is_nothing(world: World) -> None:
    assert world.run("models", "list").out == NONE
    assert rows(world, {}) == []


def test_a_key_lists_the_catalogue_and_asks_nobody(world: World) -> None:
    found = rows(world, {"ANTHROPIC_API_KEY": "x", "HTTPS_PROXY": "http://127.0.0.1:9"})
    assert found[0] == ("anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY is set", True)
    assert [default for _, _, default in found[1:]] == [False] * (len(found) - 1)


def test_a_server_elsewhere_is_asked_for_its_list(world: World) -> None:
    with serving() as server:
        why = f"OPENAI_BASE_URL is {server.url}/v1"
        assert rows(world, at(server)) == [
            ("openai/first-model", why, True),
            ("openai/second-model", why, False),
        ]
        assert server.heard[0].headers["authorization"] == "Bearer sk-secret"
        world.env |= at(server)
        lines = world.run("models", "list", "openai").out.decode().splitlines()
    assert lines == [
        f"openai: {why}",
        "* openai/first-model",
        "  openai/second-model",
        "* default model",
    ]


def test_a_local_server_is_found_without_a_key(world: World) -> None:
    with serving() as server:
        environment = {"OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        why = f"server running at {server.url}/v1"
        found = rows(world, environment)
        while not found:  # it has half a second to answer, which a busy machine may take
            found = rows(world, environment)
        assert found[0] == ("ollama/first-model", why, True)
        assert "authorization" not in server.heard[0].headers


def test_a_provider_of_the_configuration(world: World) -> None:
    with serving() as server:
        table = f'[providers.work]\nbase_url = "{server.url}/v1"\nkey_env = "WORK"\n'
        world.config.write_text(table + 'headers = {"X-Team" = "tools"}\n', encoding="utf-8")
        assert rows(world, {}) == []
        assert rows(world, {"WORK": "k"})[0][0] == "work/first-model"
        answer = world.process("models", "ask", "work/any", "Hi", env={"WORK": "k"})
        assert (answer.code, answer.out) == (0, b"Hello there.\n")
        assert server.heard[-1].headers["x-team"] == "tools"


def test_a_project_cannot_say_where_models_are(world: World) -> None:
    with serving() as server:
        table = f'[providers.openai]\nbase_url = "{server.url}/v1"\n[http]\nidle_s = 1\n'
        world.put(".opencode/assent.toml", table.encode())
        answer = world.process("models", "list")
        assert (answer.code, answer.out) == (0, NONE)
        for name in ("providers", "http"):
            told = f"sets [{name}], which is ignored until you trust this file"
            assert told.encode() in answer.err
        assert server.heard == []


def test_a_project_cannot_loosen_the_mode_or_script_the_model(world: World) -> None:
    world.put(".opencode/assent.toml", b"mode = 'yolo'\nmodel = 'scripted:evil.json'\n")
    answer = world.process("models", "list")
    assert b"sets mode yolo, but a project can only make the user's mode stricter" in answer.err
    assert SCRIPTED_MODEL.encode() in answer.err


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_question_is_answered(world: World, provider: str) -> None:
    said = f"Two\n{ESCAPE}[31mlines."
    with serving(Turn(Reply(said, "Hm."))) as server:
        asked = ("models", "ask", f"{provider}/m", "Hi")
        answer = world.process(*asked, stdin=b"more", env=at(server, provider))
        assert answer == (0, f"{said}\n".encode(), b"")
        assert "Hi\\n\\nmore" in server.heard[0].body.decode()


def test_the_answer_in_json(world: World) -> None:
    with serving() as server:
        answer = world.process("models", "ask", "openai/m", "Hi", "--json", env=at(server))
    usage = {"input": 60, "output": 9, "cache_read": 30, "cache_write": 0, "reasoning": 4}
    assert answer.json == {
        "model": "openai/m",
        "text": "Hello there.",
        "stop": "end",
        "usage": usage,
    }


SLOW = ("stall", "drip", "rate_limit_after")


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in SLOW])
def test_a_fault_is_told_and_not_in_the_answer(world: World, fault: str) -> None:
    with serving(Turn(fault=fault), Turn()) as server:
        world.env |= at(server)
        answer = world.run("models", "ask", "openai/m", "Hi")
        assert (answer.code, answer.out) == (0, b"Hello there.\n")
        assert b"Retrying in 0 s (attempt 2)." in answer.err
        assert b"sk-secret" not in answer.err


def test_parts_of_an_attempt_that_fails_late_are_not_in_the_answer(world: World) -> None:
    with serving(Turn(fault="malformed_event"), Turn()) as server:
        world.env |= at(server, "anthropic")  # whose parts are complete before the answer is
        answer = world.run("models", "ask", "anthropic/m", "Hi")
        assert (answer.code, answer.out) == (0, b"Hello there.\n")
        assert b"(attempt 2)." in answer.err


ERRORS = {
    "a bad key": (refusal(b"401 No", "authentication_error"), "unauthorized", "OPENAI_API_KEY"),
    "no such model": (refusal(b"404 No", "not_found_error"), "model", "assent models list"),
    "too long": (refusal(b"400 No", "context_length_exceeded"), "overflow", ""),
    "down": (refusal(b"503 No", "api_error"), "unavailable", ""),
}


@pytest.mark.parametrize(("raw", "word", "next"), ERRORS.values(), ids=ERRORS)
def test_errors_have_words(world: World, raw: bytes, word: str, next: str) -> None:
    with serving(Turn(raw=raw)) as server:
        world.env |= at(server)
        error = world.no(1, "models", "ask", "openai/m", "Hi")
        assert error["error"] == word
        assert next in error["next"]
        assert "sk-secret" not in str(error)
        assert len(server.heard) == (5 if word == "unavailable" else 1)


@pytest.mark.parametrize(
    ("stop", "told"), [("refusal", "refused to"), ("length", "reached the length limit")]
)
def test_an_answer_that_is_none_exits_with_1(world: World, stop: str, told: str) -> None:
    with serving(Turn(Reply("Half", stop=stop))) as server:
        world.env |= at(server)
        answer = world.run("models", "ask", "openai/m", "Hi")
        assert (answer.code, answer.out) == (1, b"Half\n")
        assert told in answer.err.decode()
        assert world.run("models", "ask", "openai/m", "Hi", "--json").code == 1


def test_a_model_that_cannot_be_chosen_is_a_usage_error(world: World) -> None:
    for name in ("openai/gpt-5", "nonsense", "scripted:missing.json"):
        assert world.no(2, "models", "ask", name, "Hi")["error"] == "usage"


def test_a_scripted_model(world: World) -> None:
    turns = [{"text": "Scripted.", "fault": "overloaded"}]
    world.put("s.json", msgspec.json.encode({"turns": turns}))
    answer = world.run("models", "ask", "scripted:s.json", "Hi")
    assert (answer.code, answer.out) == (0, b"Scripted.\n")
    assert b"is overloaded (529). Retrying in " in answer.err
    world.put("s.json", b'{"turns": []}')
    assert world.no(1, "models", "ask", "scripted:s.json", "Hi")["error"] == "model"


def test_on_a_terminal_the_answer_appears_as_it_comes(world: World) -> None:
    clear = f"{ESCAPE}[2J"
    with serving(Turn(Reply(f"Hello {clear}there, world."), "cut"), Turn()) as server:
        asked = ("models", "ask", "openai/m", "Hi")
        terminal = Terminal(world, *asked, shared=("stdin", "stdout"), env=at(server))
        terminal.wait_for(b"The answer above was cut off and is discarded.")
        terminal.wait_for(b"Hello there.")
        assert terminal.end().code == 0
        assert clear.encode() not in terminal.screen


def test_ctrl_c_ends_the_request(world: World) -> None:
    with serving(Turn(fault="stall")) as server:
        process = forked_python.Popen(
            [*PROGRAM, "models", "ask", "openai/m", "Hi"],
            cwd=world.root,
            env={**world.env, **at(server)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert server.arrived.acquire(timeout=60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (130, b"")
        assert b"Interrupted" in err
        assert len(server.heard) == 1
