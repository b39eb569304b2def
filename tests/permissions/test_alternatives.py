"""Commands without a table: the reason names the command and what serves in its place."""

import re
from collections import Counter

import pytest

from assent.cli.stage import stage
from assent.permissions.commands.read_only.alternatives import FAMILIES, unlisted_command_reason
from assent.permissions.commands.read_only.classifier import ReadOnlyVerdict, classify_read_only
from assent.tools.registry import TOOLS


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("rm", "`rm` is not in the list of read-only commands: use the `delete` tool (manually: `"),
        ("mv", "use the `move` tool (manually: `assent stage move PATH TO`)"),
        ("ln", "no tool creates links (manually: `assent stage write PATH --link-to TARGET`)"),
        ("xargs", "name the files, or use a wildcard"),
        ("bash", "it runs code"),
        ("curl", "commands have no network access here"),
        ("less", "use `cat FILE`"),
        ("pytest", "say how to check the work with it"),
        ("/bin/cat", "`/bin/cat` is a path; only plain program names can run here"),
        ("./run.sh", "`./run.sh` is a path; only plain program names"),
        ("frobnicate", "`frobnicate` is not in the list of read-only commands."),
    ],
)
def test_the_reason_helps(name: str, reason: str) -> None:
    said = unlisted_command_reason(name)
    assert reason in said
    assert said.endswith(".")


def test_the_judge_says_so() -> None:
    for name in ("rm", "xargs", "./run.sh", "frobnicate"):
        assert classify_read_only(f"{name} x") == ReadOnlyVerdict(
            read_only=False, reason=unlisted_command_reason(name)
        )


def test_the_words_fit_every_mode_and_whoever_reads_them() -> None:
    said = [
        *FAMILIES.values(),
        unlisted_command_reason("/bin/cat"),
        classify_read_only("ls > x").reason,
    ]
    said.append(classify_read_only("find . -delete").reason)
    assert [
        words for words in said if re.search(r"\bplan|stages? ", words.replace("assent stage", ""))
    ] == []
    commands = [words for words in said if "`assent " in words]
    assert [words for words in commands if not re.search(r"tool.*\(manually: `assent", words)] == []
    tools = {name for words in commands for name in re.findall(r"`(\w+)` (?:or|tool)", words)}
    assert tools <= {tool.name for tool in TOOLS}


def test_no_command_is_in_two_families() -> None:
    names = Counter(name for names in FAMILIES for name in names.split())
    assert [name for name, count in names.items() if count > 1] == []


def test_only_commands_that_exist_are_promised() -> None:
    said = " ".join(FAMILIES.values())
    promised = set(re.findall(r"`assent ([a-z ]+)", said))
    assert {name.strip() for name in promised} <= {f"stage {name}" for name in stage.commands}
    for command, option in re.findall(r"`assent stage (\w+) [A-Z]+ (--[a-z-]+)", said):
        known = [name for param in stage.commands[command].params for name in param.opts]
        assert option in known
