"""Remembered answers and rules: none of them counts in plan mode, whoever relies on it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.adversarial.harness import Stage, events, really_ran
from tests.adversarial.hostile_calls import calls
from tests.adversarial.test_adversarial_plugins import Workshop
from tests.cli.harness import TRUSTING

from assent.core.session.question import PROJECT

Made = tuple[str, dict[str, Any]]

# What a person may have said yes to for good in ask mode. All but the first would write.
THINGS: dict[str, Made] = {
    "a secret": ("read", {"path": ".env"}),
    "an edit": ("write", {"path": "src/app.py", "content": "granted\n"}),
    "a new file": ("write", {"path": "granted.txt", "content": "granted\n"}),
    "a deletion": ("delete", {"path": "src/app.py"}),
    "a command": ("shell", {"command": "touch granted.txt"}),
    "a commit": ("shell", {"command": "git commit --allow-empty -m granted"}),
    "a plugin's tool": ("scribe", {"path": "granted.txt"}),
    "a server's tool": ("stub_poke", {"path": "granted.txt"}),
    "a folder outside": ("read", {"path": "../outside/canary.txt"}),
}
REACHES = ("session", "project")
ASKING = ("--mode", "ask", "--ask-later")


@pytest.fixture
def workshop(victim: Stage) -> Iterator[Workshop]:
    """A victim with a plugin and a server, and a user who can answer without a terminal."""
    found = Workshop(victim)
    found.configure(TRUSTING)
    with found.site.on_path():
        yield found


def turn(*made: Made) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "args": args} for tool, args in made]}


def grant(stage: Stage, made: Made, reach: str) -> str:
    """Has a call asked about in ask mode, and answers yes for as far as that goes."""
    stage.play(turn(made), {"text": "Done."}, options=ASKING)
    [row] = stage.ok("questions", "list")["questions"]
    always = [pattern["pattern"] for pattern in row["questions"][0]["always"]]
    labels = [option["label"] for option in row["questions"][0]["options"]]
    if PROJECT not in labels:  # what only a session remembers
        reach = "session"
    said = reach if always else "yes"
    named = [word for pattern in always for word in ("--pattern", pattern)]
    line = ("questions", "answer", row["question"], said, "--digest", row["digest"])
    given = stage.ok(*line, *named)
    assert bool(given["grant"]) is bool(always)
    return str(row["slug"])


@pytest.mark.parametrize("made", THINGS.values(), ids=THINGS)
def test_f82_a_yes_for_the_project_counts_in_no_plan_mode(workshop: Workshop, made: Made) -> None:
    stage = workshop.stage
    grant(stage, made, "project")
    before = stage.everything()
    [end] = stage.called(made, options=("--mode", "plan"))
    assert not really_ran(end) or end["result"]["failed"]
    assert "hunter2" not in str(end)
    assert (workshop.ran, stage.everything()) == ([], before)


@pytest.mark.parametrize("made", THINGS.values(), ids=THINGS)
@pytest.mark.parametrize("reach", REACHES)
def test_f72_going_back_to_plan_mode_voids_every_yes(
    workshop: Workshop, made: Made, reach: str
) -> None:
    """Even one that was given a moment ago, and that no turn has taken up yet."""
    stage = workshop.stage
    grant(stage, made, reach)
    before = stage.everything()
    assert stage.ok("-c", "-p", "/plan")["mode"] == "plan"
    more = [turn(made), {"text": "Tried."}]
    script = {"turns": [turn(made), {"text": "Done."}, *more, *more]}
    stage.script.write_text(json.dumps(script), encoding="utf-8")
    for said in ("Go on", "And again"):
        answer = stage.go_on(said, "-c")
        assert answer.code in (0, 3, 4), answer
        ends = [event["body"] for event in events(answer) if event["kind"] == "call_ended"]
        assert not any(map(really_ran, ends))
    assert (workshop.ran, stage.everything()) == ([], before)


@pytest.mark.parametrize("made", THINGS.values(), ids=THINGS)
def test_f101_a_yes_to_a_parent_is_none_to_its_child_in_plan_mode(
    workshop: Workshop, made: Made
) -> None:
    stage = workshop.stage
    grant(stage, made, "project")
    before = stage.everything()
    task = ("task", {"prompt": "Do it", "agent": "general"})
    children = {"general": [turn(made), {"text": "I tried."}]}
    options = ("--mode", "plan")
    stage.play(turn(task), {"text": "Done."}, children=children, options=options)
    assert (workshop.ran, stage.everything()) == ([], before)


LOOSE = {
    "allow": 'permission = "allow"\n',
    "full": 'preset = "full"\n',
    "rules": '[[rules]]\npermission = "*"\npattern = "*"\naction = "allow"\n',
}
FLAGS: dict[str, tuple[str, ...]] = {
    "no flag": (),
    "auto": ("--auto",),
    "allow": ("--allow", "edit"),
    "commands": ("--allow", "bash", "--allow", "external_directory", "--allow", "read"),
}


@pytest.mark.parametrize("more", LOOSE.values(), ids=LOOSE)
@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_f93_no_rule_and_no_flag_writes_in_plan_mode(
    workshop: Workshop, more: str, flags: tuple[str, ...]
) -> None:
    stage = workshop.stage
    before_rules, tables = ("", more) if more.startswith("[[") else (more, "")
    workshop.configure(before_rules)
    text = stage.config.read_text("utf-8")
    stage.config.write_text(text + tables, encoding="utf-8")
    before, made = stage.everything(), [*THINGS.values(), *calls(stage)[::6]]
    settled = stage.called(*made, options=("--mode", "plan", *flags))
    assert len(settled) == len(made)
    assert (workshop.ran, stage.everything()) == ([], before)
    assert "grant_given" not in stage.logged()


def test_f82_a_project_s_own_tables_give_nothing(workshop: Workshop) -> None:
    stage = workshop.stage
    stage.put("opencode.json", b'{"permission": "allow"}\n')
    stage.put(".opencode/opencode.json", b'{"permission": {"*": "allow"}}\n')
    stage.put(".opencode/assent.toml", b'permission = "allow"\nmode = "yolo"\n')
    before = stage.everything()
    for mode in ("plan", "ask"):
        settled = stage.called(*THINGS.values(), options=("--mode", mode))
        assert not any(map(really_ran, settled)), mode
    assert (workshop.ran, stage.everything()) == ([], before)
