"""Images and models that cannot see them, over real HTTP: refused at once, and past ones named."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.cli.harness import Answer, World
from tests.cli.scripts import ALONE, QUICK
from tests.llm.server import Server, Turn, serving, whole
from tests.llm.wire_responses import Reply
from tests.support.clipboards import PNG

from assent.core.session.transcript import NOT_SEEN

SEES, BLIND = "test/sees", "test/blind"
DATA = "data:image/png;base64,"


class Talk:
    """A world with two models on one server, of which one cannot see images."""

    def __init__(self, world: World, server: Server) -> None:
        self.world, self.server = world, server
        world.env |= ALONE
        config = f'{QUICK}\n[providers.test]\nbase_url = "{server.url}/v1"\n'
        config += f'[models."{BLIND}"]\nimages = false\n'
        world.config.write_text(world.config.read_text("utf-8") + config, encoding="utf-8")
        world.put("shot.png", PNG)

    def say(self, model: str, *arguments: str) -> Answer:
        return self.world.run("-p", "--model", model, *arguments, "--json")

    @property
    def requests(self) -> list[str]:
        """The messages of each request of the main session."""
        bodies = [each.json for each in self.server.heard if each.line.startswith("POST")]
        return [msgspec.json.encode(body["messages"]).decode() for body in bodies]


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    with serving(Turn(Reply("I see."))) as server:
        yield Talk(World(tmp_path), server)


def test_a_model_that_cannot_see_is_not_asked_about_an_image(talk: Talk) -> None:
    answer = talk.say(BLIND, "Look at @shot.png")
    assert answer.code == 2
    assert f"{BLIND} cannot see images" in str(answer)
    assert "/model" in str(answer)
    assert talk.requests == []


def test_the_message_goes_to_the_model_that_is_chosen_next(talk: Talk) -> None:
    talk.say(BLIND, "Look at @shot.png")
    answer = talk.say(SEES, "-c", "continue")
    assert answer.code == 0, answer
    assert "Look at @shot.png" in talk.requests[0]
    assert talk.requests[0].count(DATA) == 1


def test_without_the_image_the_same_model_goes_on(talk: Talk) -> None:
    talk.say(BLIND, "Look at @shot.png")
    assert talk.say(BLIND, "-c", "Then describe a cat").code == 0
    assert DATA not in talk.requests[0]
    assert NOT_SEEN.format(media="image/png", model=BLIND) in talk.requests[0]


def test_past_images_are_named_to_a_model_that_cannot_see_them(talk: Talk) -> None:
    assert talk.say(SEES, "Look at @shot.png").code == 0
    assert talk.requests[-1].count(DATA) == 1
    assert talk.say(BLIND, "-c", "What was it?").code == 0
    assert DATA not in talk.requests[-1]
    assert "File shot.png, attached by the user" in talk.requests[-1]
    assert NOT_SEEN.format(media="image/png", model=BLIND) in talk.requests[-1]
    assert talk.say(SEES, "-c", "And now?").code == 0
    assert talk.requests[-1].count(DATA) == 1


def test_an_image_that_the_model_itself_reads_is_named_to_it(tmp_path: Path) -> None:
    look = Reply("", "", (("call_1", "read", '{"path": "shot.png"}'),))
    with serving(Turn(look), Turn(Reply("I cannot see it."))) as server:
        talk = Talk(World(tmp_path), server)
        assert talk.say(BLIND, "Look for pictures").code == 0
        assert DATA not in talk.requests[-1]
        assert NOT_SEEN.format(media="image/png", model=BLIND) in talk.requests[-1]


def test_a_server_that_takes_no_image_is_told_apart(tmp_path: Path) -> None:
    body = b'{"error": {"message": "No endpoints found that support image input", "code": 404}}'
    with serving(Turn(raw=whole(b"404 Not Found", body))) as server:
        talk = Talk(World(tmp_path), server)
        answer = talk.say(SEES, "Look at @shot.png")
        assert answer.code != 0
        assert "rejected an image for sees" in str(answer)
        asked = len(talk.requests)
        talk.world.ok("config", "set", f'models."{SEES}".images', "false")
        assert f"{SEES} cannot see images" in str(talk.say(SEES, "Look at @shot.png"))
        assert len(talk.requests) == asked


def test_the_list_of_models_says_which_cannot_see(talk: Talk) -> None:
    talk.server.models = ["sees", "blind", "gpt-oss-120b"]
    rows = talk.world.ok("models", "list", "test")["models"]
    assert {row["model"]: row["images"] for row in rows} == {
        SEES: None, BLIND: False, "test/gpt-oss-120b": False,
    }  # fmt: skip
    assert b"blind         no images" in talk.world.run("models", "list", "test").out
