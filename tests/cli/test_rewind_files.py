"""`assent sessions rewind --files`: the files go back with the conversation, by one undo plan."""

from typing import Any

import pytest
from tests.cli.harness import Answer, Found, World
from tests.cli.killed_rewind import kill_rewind
from tests.cli.scripts import PRESENT, WRITE_PLAN, Talker, turn, write
from tests.cli.terminal import QUESTION, Terminal

Tree = dict[bytes, Found]

REMOVE_B = "*** Begin Patch\n*** Delete File: dir/b.txt\n*** End Patch\n"
MOVE_A = (
    "*** Begin Patch\n*** Update File: a.txt\n*** Move to: moved/here/a.txt\n@@\n-two\n+three\n"
    "*** End Patch\n"
)
COMMAND = "printf new > made.txt; rm kept.txt; mkdir -p deep/er; printf '\\0\\1' > deep/er/f.bin"
STORY = (
    turn("", write("a.txt", "one\n"), write("dir/b.txt", "b\n")),
    turn("One."),
    turn("", ("edit", {"path": "a.txt", "old": "one", "new": "two"}),
         ("patch", {"patch": REMOVE_B})),
    turn("", ("shell", {"command": COMMAND})),
    turn("Two."),
    turn("", ("patch", {"patch": MOVE_A}), write("made.txt", "newer\n")),
    turn("Three."),
    turn("", WRITE_PLAN, write("hello.txt", "hello\n"), write("deep/er/more.txt", "more\n")),
    turn("Here it is.", PRESENT),
    turn("Five."),
)  # fmt: skip
WORDS = ("First", "Second", "Third", "Fourth")


class Story:
    """A session of four turns, and the tree as it was before each of the user's messages."""

    def __init__(self, talker: Talker) -> None:
        self.talker, self.world = talker, talker.world
        talker.script(*STORY)
        self.world.put("kept.txt", b"kept\n", 0o755)
        self.world.put("mine.txt", b"mine\n")
        self.trees: list[Tree] = []
        for number, words in enumerate(WORDS):
            self.trees.append(self.files())
            going_on = ["-c"] if number else []
            mode = "plan" if words == "Fourth" else "yolo"
            code = talker.say(words, "--mode", mode, *going_on).code
            assert code == (3 if mode == "plan" else 0)  # a plan waits for approval
        digest = self.world.ok("review")["digest"]
        assert self.world.run("approve", "--digest", digest).code == 0
        self.world.ok("build")
        self.last = self.files()
        rows = self.world.ok("sessions", "rewind", "--list")["messages"]
        self.messages = [str(row["id"]) for row in rows]

    def files(self) -> Tree:
        """Every file with content and mode; a folder that is left empty is no file of anyone."""
        return {path: found for path, found in self.world.files().items() if found[0] != "folder"}

    def shown(self, number: int) -> dict[str, Any]:
        return self.world.ok("sessions", "rewind", "--to", self.messages[number], "--dry-run")

    def rewind(self, number: int) -> Answer:
        digest = self.shown(number)["undo"]["digest"]
        told = ("--to", self.messages[number], "--files", "--digest", digest, "--json")
        return self.world.run("sessions", "rewind", "first", *told)


@pytest.fixture
def story(talker: Talker) -> Story:
    return Story(talker)


@pytest.mark.parametrize("number", range(len(WORDS)))
def test_f140_rewind_with_files_restores_the_tree_of_that_moment(story: Story, number: int) -> None:
    assert len({repr(tree) for tree in (*story.trees, story.last)}) == len(WORDS) + 1
    answer = story.rewind(number)
    assert answer.code == 0, answer
    assert story.files() == story.trees[number]
    row = answer.json
    assert (row["files"], row["messages"], row["text"]) == ("restored", number, WORDS[number])
    assert (row["undo"]["result"]["outcome"], row["undo"]["conflicts"]) == ("done", [])
    assert len(row["undo"]["operations"]) == len(row["undo"]["result"]["restored"])


def test_f140_rewinding_step_by_step_goes_through_every_tree(story: Story) -> None:
    for number in reversed(range(len(WORDS))):
        assert story.rewind(number).code == 0
        assert story.files() == story.trees[number]


def test_f140_a_dry_run_shows_both_and_changes_nothing(story: Story) -> None:
    row = story.shown(1)
    assert (row["dry_run"], row["text"], row["turns_since"]) == (True, "Second", [2, 3, 4])
    undo = row["undo"]
    assert undo["digest"]
    assert len(undo["runs"]) >= 4
    assert {each["path"] for each in undo["operations"] if "path" in each} >= {"kept.txt"}
    assert [each["diff"] for each in undo["operations"]]
    assert row["next"][0].endswith(f"--files --digest {undo['digest']}")
    assert row["next"][1].endswith("--keep-files")
    text = story.world.run("sessions", "rewind", "--to", story.messages[1], "--dry-run")
    told = text.out.decode()
    assert "Would be removed from the model's context" in told
    assert "Undo of changes since turn 2 of first" in told
    assert undo["digest"] in told
    assert story.files() == story.last
    assert story.world.ok("sessions", "show")["messages"] == 4


def test_f140_redo_brings_the_files_back(story: Story) -> None:
    assert story.rewind(1).code == 0
    digest = story.world.ok("redo", "--dry-run")["digest"]
    redone = story.world.run("redo", "--digest", digest)
    assert redone.code == 0
    assert story.files() == story.last
    assert redone.out.decode().splitlines()[-1].startswith("Next: assent undo ")
    again = redone.out.decode().split()[-1]
    assert story.world.undo(again).code == 0
    assert story.files() == story.trees[1]


def test_f140_a_file_that_changed_since_is_skipped_and_listed(story: Story) -> None:
    story.world.put("made.txt", b"my own\n")
    undo = story.shown(1)["undo"]
    assert [each["path"] for each in undo["conflicts"]] == ["made.txt"]
    answer = story.rewind(1)
    assert (answer.code, answer.json["undo"]["result"]["outcome"]) == (1, "partial")
    wanted = {**story.trees[1], b"made.txt": ("file", 0o644, b"my own\n")}
    assert story.files() == wanted
    assert (answer.json["files"], answer.json["messages"]) == ("restored", 1)


def test_f140_if_no_file_can_go_back_the_session_is_not_rewound(talker: Talker) -> None:
    world = talker.world
    talker.script(turn("", write("a.txt", "a\n")), turn("One."))
    assert talker.say("First", "--mode", "yolo").code == 0
    world.put("a.txt", b"mine\n")
    answer = world.run("sessions", "rewind", "first", "--files", "--json")
    assert answer.code == 5
    row = answer.json
    assert (row["rewound_to"], row["files"], row["messages"]) == (None, "kept", 1)
    [keep] = row["next"]
    assert world.files()[b"a.txt"] == ("file", 0o644, b"mine\n")
    kept = world.ok(*keep.removeprefix("assent ").split())
    assert (kept["files"], kept["messages"]) == ("kept", 0)
    assert world.files()[b"a.txt"] == ("file", 0o644, b"mine\n")


def test_f140_without_an_answer_files_stay_unless_asked_for(story: Story) -> None:
    world = story.world
    error = world.no(4, "sessions", "rewind", "--files", "--no-input")
    assert error["error"] == "declined"
    assert "The session was not rewound. To rewind without files: " in error["message"]
    assert error["message"].endswith("--keep-files.")
    wrong = world.no(5, "sessions", "rewind", "--files", "--digest", "0" * 64)
    assert wrong["error"] == "other_digest"
    assert (story.files(), world.ok("sessions", "show")["messages"]) == (story.last, 4)
    row = world.ok("sessions", "rewind")
    assert (row["files"], row["messages"], "undo" in row) == ("kept", 3, False)
    assert story.files() == story.last


def test_f140_options_that_contradict_each_other_are_refused(story: Story) -> None:
    for options in (("--files", "--keep-files"), ("--keep-files", "--digest", "0"),
                    ("--dry-run", "--digest", "0")):  # fmt: skip
        assert story.world.no(2, "sessions", "rewind", *options)["error"] == "usage"
    assert story.files() == story.last


def test_f140_an_old_digest_does_not_approve_what_was_done_after_it(story: Story) -> None:
    digest = story.shown(1)["undo"]["digest"]
    assert story.talker.say("Fifth", "-c", "--mode", "yolo").code == 0
    story.world.put("hello.txt", b"mine\n")
    told = ("sessions", "rewind", "--to", story.messages[1], "--digest", digest)
    assert story.world.no(5, *told)["error"] == "other_digest"
    assert story.world.ok("sessions", "show")["messages"] == 5


def test_f140_at_a_terminal_the_undo_is_offered_and_its_digest_says_yes(story: Story) -> None:
    story.world.config.unlink()
    told = ("sessions", "rewind", "first", "--to", story.messages[2], "--json")
    digest = story.shown(2)["undo"]["digest"].encode()
    terminal = Terminal(story.world, *told, env={"NO_COLOR": "1"})
    answer = terminal.answer(digest[:8] + b"\n")
    assert (answer.code, answer.json["files"]) == (0, "restored")
    assert story.files() == story.trees[2]
    shown = terminal.screen.partition(QUESTION)[0]
    for part in (b"undo of changes since turn 3 of first", b"moved/here/a.txt", digest):
        assert part in shown


def test_f140_a_no_at_the_terminal_rewinds_nothing(story: Story) -> None:
    story.world.config.unlink()
    answer = Terminal(story.world, "sessions", "rewind", "first", "--json").answer(b"n\n")
    assert (answer.code, answer.error["error"]) == (4, "declined")
    assert "--keep-files" in answer.error["message"]
    assert story.files() == story.last
    assert story.world.ok("sessions", "show")["messages"] == 4


def test_f140_where_nothing_changed_no_one_is_asked(talker: Talker) -> None:
    talker.script(turn("One."), turn("Two."))
    assert talker.say("First", "--mode", "yolo").code == 0
    row = talker.world.ok("sessions", "rewind", "--files", "--no-input")
    assert (row["files"], row["messages"], row["undo"]["digest"]) == ("unchanged", 0, None)


@pytest.mark.parametrize(
    ("call", "at"), [("write", 0), ("rename", 0), ("rename", 2), ("rename", 5), ("between", 0)]
)
def test_f140_a_killed_rewind_is_completed_by_the_same_command(
    story: Story, call: str, at: int
) -> None:
    world, message = story.world, story.messages[1]
    digest = story.shown(1)["undo"]["digest"]
    kill_rewind(world, "first", message, call, at)
    told = ("sessions", "rewind", "first", "--to", message, "--files", "--digest", digest)
    answer = world.run(*told, "--json")
    assert answer.code == 0, answer
    assert story.files() == story.trees[1]
    assert (answer.json["files"], answer.json["messages"]) == ("restored", 1)
    assert world.ok("sessions", "show")["messages"] == 1
    assert world.ok("runs", "list")["runs"][0]["kind"] == "undo"


def test_f140_a_killed_rewind_that_skipped_a_file_is_completed_too(story: Story) -> None:
    world, message = story.world, story.messages[1]
    world.put("made.txt", b"my own\n")
    kill_rewind(world, "first", message, "between")
    assert world.ok("sessions", "show")["messages"] == 4
    row = world.ok("sessions", "rewind", "first", "--to", message, "--files", "--no-input")
    assert (row["files"], row["messages"]) == ("restored", 1)
    assert story.files() == {**story.trees[1], b"made.txt": ("file", 0o644, b"my own\n")}


def test_f140_the_next_prompt_trims_the_chat_and_tells_the_model_once(story: Story) -> None:
    assert story.rewind(2).code == 0
    assert story.talker.say("Another way", "-c", "--mode", "yolo").code == 0
    events = story.world.ok("sessions", "export", "first")["events"]
    said = [each["body"] for each in events if each["kind"] == "message_added"]
    texts = [part["text"] for each in said for part in each["parts"] if "text" in part]
    told = [text for text in texts if "went back to an earlier message" in text]
    assert len(told) == 1
    assert "moved/here/a.txt" in told[0]
    shown = story.world.ok("sessions", "show")
    assert shown["messages"] == 3


def test_f140_help_has_examples(world: World) -> None:
    told = world.run("sessions", "rewind", "--help").out.decode()
    for option in ("--files", "--keep-files", "--dry-run", "--digest"):
        assert option in told
    assert "assent sessions rewind add-login --to 01k9 --files --digest 3f2a..." in told
