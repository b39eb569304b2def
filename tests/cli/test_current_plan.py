"""Which plan a session works on: a change of it is said to the user and to the model."""

import json

import pytest
from tests.cli.story_model import Model

from assent.llm.scripted import ScriptedCall, ScriptedTurn

DONE = ScriptedTurn("Done.")
TEXT = "# Prices\n\nGoal: say it better. Verification: none needed.\n"


def say(
    model: Model, *calls: tuple[str, dict[str, object]], options: tuple[str, ...] = ("-c",)
) -> str:
    """Has the model make calls; returns what the user reads."""
    made = tuple(ScriptedCall(tool, args) for tool, args in calls)
    ends = [] if calls[-1][0] == "present_plan" else [DONE]
    model.server.answers = [ScriptedTurn("I work.", calls=made), *ends]
    answer = model.run("-p", "Change prices", *options, "--model", "openai/m")
    assert answer.code in (0, 3), answer
    return (answer.out + answer.err).decode()


def told(model: Model) -> list[str]:
    """Returns what the model got in user messages, in its last request."""
    messages = json.loads(model.server.bodies[-1])["messages"]
    return [str(each["content"]) for each in messages if each["role"] == "user"]


def plans(model: Model) -> list[str]:
    return sorted(row["name"] for row in model.ok("plan", "list")["plans"])


def write(text: str = TEXT, **more: object) -> tuple[str, dict[str, object]]:
    return ("write_plan", {"text": text, **more})


def test_f30_after_a_build_the_next_plan_is_said_to_be_another_one(model: Model) -> None:
    edit = ("edit", {"path": "README.md", "old": "# Shop", "new": "# The shop"})
    say(model, edit, write(), ("present_plan", {}), options=())
    digest = model.ok("status")["plan"]["digest"]
    assert model.run("approve", "--digest", digest, "--build").code == 0
    back = ("edit", {"path": "README.md", "old": "# The shop", "new": "# Shop"})
    words = "The current plan is now change_prices_2 in "
    end = "The plan change_prices is built and no longer the current one."
    shown = say(model, back)
    assert words in shown
    assert end in " ".join(shown.split())
    assert [each for each in told(model) if words in each and end in each]
    assert words not in say(model, write())  # it is said once
    rows = model.run("-p", "Go", "-c", "--model", "openai/m", "--output-format", "stream-json")
    assert rows.code != 2


def test_f30_a_name_with_spaces_becomes_a_slug_and_starts_another_plan(model: Model) -> None:
    say(model, write(), options=())
    assert plans(model) == ["change_prices"]
    shown = say(model, write("# Cart\n\nGoal: tidy.\n", name="Tidy the Cart: first part"))
    assert "tidy_the_cart_first_part" in plans(model)
    assert "The current plan is now tidy_the_cart_first_part in " in shown
    assert [each for each in told(model) if "tidy_the_cart_first_part" in each]


@pytest.mark.parametrize("name", ["../evil", "a/b c", "/abs", "ü x/..", "a\nb c"])
def test_f69_a_name_that_may_be_a_path_is_refused_as_before(model: Model, name: str) -> None:
    say(model, write(), options=())
    say(model, write("# pwned\n", name=name))
    assert plans(model) == ["change_prices"]


def test_f30_the_name_of_a_plan_is_not_offered(model: Model) -> None:
    say(model, write(), options=())
    tools = {
        each["function"]["name"]: each["function"]
        for each in json.loads(model.server.bodies[0])["tools"]
    }
    assert [*tools["write_plan"]["parameters"]["properties"]] == ["text"]


def test_f30_the_first_plan_of_a_session_is_no_change(model: Model) -> None:
    assert "current plan" not in say(model, write(), options=())
    assert not [each for each in told(model) if "The current plan is now" in each]
