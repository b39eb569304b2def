"""G15: what is expected is said before a model builds a plan, and next to what was spent."""

import pytest
from tests.cli.harness import World
from tests.cli.scripts import Talker, turn
from tests.cli.terminal import QUESTION, Terminal

TEXT = "# Greet\n\n## Tasks\n\n- [ ] Write hello.txt\n- [ ] Write goodbye.txt\n"
PRICED = """
model = "acme/large"
[models."acme/large"]
context = 100000
prices = { input = 2.0, output = 10.0, cache_read = 0.2, cache_write = 2.5 }
"""


@pytest.fixture
def text_plan(world: World) -> World:
    world.plan()
    world.text().write_text(TEXT, encoding="utf-8")
    world.ok("propose")
    return world


def test_g15_a_text_plan_says_what_its_build_is_expected_to_take(text_plan: World) -> None:
    found = text_plan.ok("review")["estimate"]
    assert (found["steps"], found["requests"]) == (2, {"low": 2, "high": 8})
    assert found["cost"] is None
    told = text_plan.run("review").out.decode()
    assert "Expected for the build: 16.9k to 156k tokens, cost unknown." in told


def test_g15_money_is_expected_where_the_price_is_known(text_plan: World) -> None:
    config = text_plan.config.read_text("utf-8")
    text_plan.config.write_text(PRICED + config, encoding="utf-8")
    found = text_plan.ok("review")["estimate"]
    assert found["cost"]["low"] == pytest.approx((16_500 * 2 + 400 * 10) / 1e6)
    assert found["cost"]["high"] == pytest.approx((148_000 * 2 + 8_000 * 10) / 1e6)
    assert "tokens, $0.0370 to $0.38." in text_plan.run("review").out.decode()


def test_g15_the_question_before_a_build_shows_it(text_plan: World) -> None:
    digest = str(text_plan.ok("review")["digest"]).encode()
    text_plan.config.unlink()
    terminal = Terminal(text_plan, "approve", "--json", env={"NO_COLOR": "1"})
    assert terminal.answer(digest[:8] + b"\n").code == 0
    assert b"Expected for the build: 16.9k to 156k tokens" in terminal.screen.partition(QUESTION)[0]


def test_g15_the_model_that_will_build_decides_the_price(text_plan: World) -> None:
    config = text_plan.config.read_text("utf-8")
    small = PRICED.replace('model = "acme/large"', "").replace("acme/large", "acme/small")
    small = small.replace("input = 2.0", "input = 4.0")
    text_plan.config.write_text(PRICED + small + config, encoding="utf-8")
    (text_plan.config.parent / "agents").mkdir()
    own = text_plan.config.parent / "agents" / "mason.md"
    own.write_text("---\nmodel: acme/small\n---\nBuild.\n", encoding="utf-8")
    usual, other = b"$0.0370 to $0.38", b"$0.0700 to $0.67"
    assert usual in text_plan.run("review").out
    for words, told in (
        ((), usual),
        (("--build", "--model", "acme/small"), other),
        (("--build", "--agent", "mason"), other),
        (("--build", "--agent", "mason", "--model", "acme/large"), usual),
    ):
        terminal = Terminal(text_plan, "approve", *words, env={"NO_COLOR": "1"})
        terminal.answer(b"no\n")
        assert told in terminal.screen.partition(QUESTION)[0], words


def test_g15_a_plan_of_operations_needs_no_model_and_has_no_estimate(world: World) -> None:
    world.plan()
    world.write("a.txt", b"a\n")
    world.ok("propose")
    assert "estimate" not in world.ok("review")
    assert "Expected" not in world.run("review").out.decode()


def test_g15_status_and_sessions_have_it_as_data(talker: Talker) -> None:
    items = [{"content": "One", "status": "pending"}, {"content": "Two", "status": "completed"},
             {"content": "Three", "status": "pending"}]  # fmt: skip
    talker.script(turn("", ("todo", {"todos": items})), turn("Done."))
    assert talker.say("First", "--mode", "yolo").code == 0
    world = talker.world
    shown = world.ok("sessions", "show")["estimate"]
    assert (shown["steps"], shown["cost"]) == (2, None)
    assert 0 < shown["tokens"]["low"] <= shown["tokens"]["high"]
    assert world.ok("status")["session"]["estimate"] == shown
    assert " spent, expected next: " in world.run("sessions", "show").out.decode()
