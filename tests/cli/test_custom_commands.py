"""`/name words`: a command of one's own is said to the model, filled in, and reads by the rules."""

import pytest
from tests.cli.scripts import Talker, turn

REVIEW = (
    "---\ndescription: Looks at it\n---\nReview $1, see @src/a.py and @nothing:\n!`cat b.txt`\n"
)


@pytest.fixture
def owner(talker: Talker) -> Talker:
    """Somebody who has a command, in a workspace with two files."""
    talker.world.put("src/a.py", b"print('a')\n")
    talker.world.put("b.txt", b"bee\n")
    talker.world.put(".env", b"KEY=hunter2\n")
    own(talker, "review", REVIEW)
    talker.script(turn("Fine."), turn("Fine."))
    return talker


def own(talker: Talker, name: str, text: str) -> None:
    folder = talker.world.config.parent / "commands"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / f"{name}.md").chmod(0o644)


def said(talker: Talker, words: str) -> str:
    """Says something and returns what the model was told."""
    rows = [row["body"] for row in talker.stream(words) if row["kind"] == "message_added"]
    [told] = [row for row in rows if not row.get("synthetic")]
    return "".join(part["text"] for part in told["parts"])


def test_f138_a_command_is_said_filled_in(owner: Talker) -> None:
    told = said(owner, "/review 'the change'")
    assert told == (
        "Review the change, see @src/a.py and @nothing:\nbee\n\nsrc/a.py:\n```\nprint('a')\n```"
    )


REFUSED = {
    "a secret": "See @.env",
    "a file outside": "See @/etc/passwd",
    "a file above": "See @../x",
    "a line that writes": "!`touch pwned`",
    "a line that redirects": "!`cat b.txt > pwned`",
    "a line that reads a secret": "!`cat .env`",
    "a line for the model's hands": "!`assent approve`",
    "typed words do not widen it": "!`cat $1`",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_f138_what_may_not_be_read_or_run_is_refused_and_nothing_is_said(
    owner: Talker, text: str
) -> None:
    own(owner, "evil", text)
    before = owner.world.files()
    answer = owner.say("/evil '.env' x")
    assert answer.code == 7, answer
    assert b"/evil needs " in answer.err or b"outside the workspace" in answer.err
    assert b"hunter2" not in answer.out + answer.err
    assert owner.world.files() == before
    assert owner.world.ok("sessions", "list")["sessions"] == []


def test_f138_an_unknown_command_lists_all(owner: Talker) -> None:
    error = owner.world.no(2, "-p", "/nonsense")
    assert "/mode" in error["message"]
    assert "/review" in error["message"]


def test_f138_help_lists_commands_and_asks_no_model(owner: Talker) -> None:
    row = {"name": "review", "description": "Looks at it", "source": "user"}
    assert owner.world.ok("-p", "/help") == {"commands": [row]}
    assert owner.world.run("-p", "/help").out.endswith(b"/review  Looks at it\n")


def test_f138_a_project_s_command_needs_trust(owner: Talker) -> None:
    owner.world.put(".opencode/commands/deploy.md", b"Deploy $ARGUMENTS\n")
    answer = owner.say("/deploy now")
    assert answer.code == 2
    assert b"`assent trust give`" in answer.err


def test_f138_what_is_typed_is_words_and_nothing_else(owner: Talker) -> None:
    own(owner, "echo", "Say: $ARGUMENTS")
    told = said(owner, "/echo @.env !`touch pwned`")
    assert "Say: @.env !`touch pwned`" in told
    assert "hunter2" not in told
