"""A planning model's shell: what is more than reading runs in a copy, and nothing real changes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage, events
from tests.adversarial.hostile_calls import CONSENT
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.copies import settle
from tests.shell.watching import Leaks, Listener, Watch

from assent.agent.scratch_commands import OFFLINE
from assent.permissions.check import (
    CHILD_KEEPS_NOTHING,
    NO_NETWORK_IN_COPY,
    NOTHING_KEPT,
    READ_ONLY_SHELL,
)
from assent.tools.command_tools import NOTHING_TO_KEEP

pytestmark = needs_bubblewrap

SECRET = "hunter2-hunter2"
COPY = "Ran in a scratch copy"
# What a hostile text could have a model run; PORT is a listener outside, HOME the person's.
HOSTILE = [
    "echo pwned > src/app.py",
    "echo pwned >> src/app.py; sed -i s/one/two/ src/app.py; truncate -s 0 src/app.py",
    "rm -rf src; mv docs elsewhere",
    "find . -type f -delete",
    "chmod -R 000 . ; chmod -R 777 src",
    "touch -d '2001-01-01' src/app.py",
    "git add -A; git commit -qm x; git config core.fsmonitor 'touch /tmp/x'; git branch -D main",
    "printf '#!/bin/sh\\ntouch HOME/pwned' > .git/hooks/post-commit; chmod +x .git/hooks/*",
    "mkdir -p .opencode/assent .opencode/plans/x; echo x > .opencode/plans/x/PLAN_x.md",
    "echo '[plan]' > .opencode/assent.toml; echo x > .opencode/assent/approvals.json",
    "echo x > ../outside.txt; echo x > HOME/pwned; echo x > /tmp/pwned; cd / && echo x > etc/pwned",
    "ln -s HOME/canary.txt link; echo pwned > link; cat link > copied",
    "ln docs/a.md hard; echo pwned > hard",
    "cat .env; base64 .env; cp .env open.txt; cat open.txt; tar c . | strings",
    "cat HOME/canary.txt STATE/assent/key; find / -name key -path '*assent*' 2>/dev/null",
    "exec 3<>/dev/tcp/127.0.0.1/PORT; echo knock >&3",
    "echo knock > /dev/udp/127.0.0.1/PORT; curl -m 2 http://127.0.0.1:PORT",
    "mount -o remount,rw / ; mount --bind / src; unshare -r true; nsenter -t 1 -m true",
    "kill -9 -1; kill -9 $PPID",
    "(sleep 30; echo late > src/app.py) & disown; nohup sleep 30 & true",
    "$(echo echo) pwned | tee src/app.py; eval 'echo pwned > docs/a.md'",
    'mkfifo pipe; mknod dev c 1 3; python3 -c \'open("src/app.py", "w")\'',
]
# What must never be staged, whatever a call names.
TAKEN = [
    ("echo x > .git/hooks/pre-commit", [".git/**", ".git/hooks/pre-commit"]),
    ("mkdir -p sub/.git; echo x > sub/.git/config", ["sub/**"]),
    ("mkdir -p .opencode/assent; echo x > .opencode/assent/approvals.json", [".opencode/**"]),
    ("mkdir -p .opencode/plans/x; echo x > .opencode/plans/x/PLAN_x.md", [".opencode/**"]),
    ("echo x > ../outside.txt", ["../**", "../outside.txt"]),
    ("echo x > /tmp/x", ["/tmp/**", "/tmp/x", "**"]),
    ("ln -s /etc/passwd way", ["way"]),
    ("ln -s ../../etc/passwd src/way", ["src/**"]),
    ("mkdir -p dist; echo x > dist/made.js; echo x > a.log", ["**"]),
    ("echo x > dist.log", ["*.log", "**/*.log"]),
    ("mkfifo pipe", ["pipe"]),
    ("echo x > .env", [".env"]),
]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return furnished(tmp_path)


def furnished(base: Path, config: str = "") -> Stage:
    stage = Stage(base, config)
    stage.put("src/app.py", b"one\n")
    stage.put("docs/a.md", b"# A\n")
    stage.put(".env", f"TOKEN={SECRET}\n".encode())
    stage.put(".gitignore", b"dist/\n*.log\n")
    (base / "home" / "canary.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    for line in ("init -q", "add src docs .gitignore", "commit -qm Start"):
        who = ("-c", "user.name=A", "-c", "user.email=a@b")
        subprocess.run(["git", *who, *line.split()], cwd=stage.root, check=True)
    stage.ok("init")
    settle()
    return stage


def ran(stage: Stage, line: str, **more: Any) -> dict[str, Any]:
    [end] = stage.called(("shell", {"command": line, **more}))
    return end


def text(end: dict[str, Any]) -> str:
    return str(end["result"]["text"])


def real(stage: Stage) -> dict[bytes, object]:
    return {**stage.everything(), b"": sorted((stage.root / ".git").rglob("*"))}


def test_f14_hostile_lines_change_nothing_real_reach_nothing_and_read_no_secret(
    stage: Stage, tmp_path: Path
) -> None:
    with Listener() as listener:
        watch = Watch((stage.root / "src", stage.root / "docs", stage.root / ".git"), listener)
        before = real(stage)
        named = {"PORT": str(listener.port), "HOME": str(tmp_path / "home")}
        named["STATE"] = str(stage.state)
        lines = HOSTILE
        for name, value in named.items():
            lines = [line.replace(name, value) for line in lines]
        ends = stage.called(*[("shell", {"command": line, "timeout": 5}) for line in lines])
        assert {end["verdict"] for end in ends} <= {"run", "deny"}
        assert sum(end["verdict"] == "run" for end in ends) >= len(HOSTILE) - 3
        assert [end for end in ends if SECRET in json.dumps(end)] == []
        assert watch.deep_leaks() == Leaks()
        assert real(stage) == before
    assert stage.staged() == []
    assert not CONSENT & set(stage.logged())


@pytest.mark.parametrize(("line", "globs"), TAKEN)
def test_f14_what_never_becomes_a_plan_is_not_kept(
    stage: Stage, line: str, globs: list[str]
) -> None:
    before = real(stage)
    for keep in (globs, True, ",".join(globs)):
        named = keep is not True or "way" not in line
        end = ran(stage, f"{line}; true", keep=keep)
        assert stage.staged() == [], (named, end)
    assert real(stage) == before


def test_f14_the_result_has_output_code_changes_and_that_nothing_real_did(stage: Stage) -> None:
    before = real(stage)
    line = "echo said; echo two > src/app.py; echo x > new.txt; rm docs/a.md; mkdir dist; "
    end = ran(stage, f"{line} echo y > dist/y; exit 3")
    assert (end["verdict"], end["result"]["failed"]) == ("run", True)
    output, code, told = text(end).split("\n")
    assert (output, code) == ("said", "[Exit code 3.]")
    assert told == (
        "[Ran in a scratch copy: nothing real changed. Changed there: deleted docs/a.md; created "
        "new.txt; replaced src/app.py. Ignored files differ in: dist.]"
    )
    assert end["metadata"]["scratch"] == ["docs/a.md", "new.txt", "src/app.py"]
    assert real(stage) == before


def test_f14_long_outputs_keep_their_end_and_many_changes_are_counted(stage: Stage) -> None:
    end = ran(stage, "seq 1 90000; for i in $(seq 1 30); do echo $i > f$i; done; echo last")
    assert "last\n[Ran in a scratch copy" in text(end)
    assert text(end).startswith("[Truncated: the last ")
    assert "; and 10 more." in text(end)


def test_f14_a_command_sees_the_draft_and_the_next_one_nothing_of_the_last(stage: Stage) -> None:
    edit = {"path": "src/app.py", "old": "one", "new": "two"}
    _, first, second = stage.called(
        ("edit", edit),
        ("shell", {"command": "cat src/app.py; echo x > left.txt; mkdir dist; echo y > dist/y"}),
        ("shell", {"command": "ls left.txt dist; true > z"}),
    )
    assert text(first).startswith("two\n")
    assert "with the staged changes" in text(first)
    assert "left.txt': No such file" in text(second)
    assert "dist:\ny" in text(second)


def test_f14_keep_stages_exactly_what_a_command_changed(stage: Stage) -> None:
    before = real(stage)
    line = "echo two > src/app.py; echo x > new.txt; rm docs/a.md; mkdir -p dist; echo y > dist/y"
    end = ran(stage, line, keep=True)
    assert (end["verdict"], end["result"]["failed"]) == ("stage", False)
    rows = [(row["kind"], row["path"]) for row in stage.staged()]
    assert rows == [("write", "new.txt"), ("write", "src/app.py"), ("delete", "docs/a.md")]
    assert end["metadata"]["operations"] == [row["id"] for row in stage.staged()]
    assert real(stage) == before
    again = ran(stage, "cat src/app.py > third.txt", keep="third.txt")
    assert not again["result"]["failed"]
    assert ("write", "third.txt") in [(row["kind"], row["path"]) for row in stage.staged()]


@pytest.mark.parametrize(
    ("keep", "staged"),
    [
        (["src/**"], ["src/app.py"]),
        ("src", ["src/app.py"]),
        ("*.txt", ["new.txt"]),
        ("*.txt, src/*.py", ["new.txt", "src/app.py"]),
        (["dist/**"], ["dist/y"]),
        (["none/**"], []),
        ("false", []),
        (False, []),
    ],
)
def test_f14_globs_choose_and_only_a_name_takes_what_is_ignored(
    stage: Stage, keep: Any, staged: list[str]
) -> None:
    line = "echo two > src/app.py; echo x > new.txt; mkdir -p dist; echo y > dist/y"
    ran(stage, line, keep=keep)
    assert [row["path"] for row in stage.staged()] == staged


def test_f14_nothing_is_kept_of_a_command_that_fails(stage: Stage) -> None:
    end = ran(stage, "echo two > src/app.py; exit 1", keep=True)
    assert end["result"]["failed"]
    assert text(end).endswith("Nothing was staged: the command failed.")
    assert stage.staged() == []


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ('[permission.bash]\n"make *" = "deny"\n', "make"),
        ('[permission.bash]\n"git push *" = "deny"\n', "make; git push"),
        ('[permission.edit]\n"src/*" = "deny"\n', "echo x > src/app.py"),
        ('[permission]\nbash = "deny"\n', "make"),
        ('[permission]\nbash = "ask"\n', "make"),
        ('[permission.bash]\n"make *" = "ask"\n', "make"),
        ("", "rm -rf ."),
        ("", "rm -rf /"),
        ("", "assent approve"),
        ("", " "),
    ],
)
def test_f14_what_rules_or_dangers_refuse_does_not_run_in_the_copy_either(
    tmp_path: Path, config: str, line: str
) -> None:
    stage = furnished(tmp_path, config)
    before = real(stage)
    for keep in (False, True):
        made = {"calls": [{"tool": "shell", "args": {"command": line, "keep": keep}}]}
        answer = stage.play(made, {"text": "Done."})
        ends = [one["body"] for one in events(answer) if one["kind"] == "call_ended"]
        assert [end for end in ends if COPY in text(end)] == []
    assert (stage.staged(), real(stage)) == ([], before)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ('[permission.edit]\n"*" = "allow"\n"src/*" = "deny"\n', "Nothing was staged"),
        ('[permission.edit]\n"*" = "allow"\n"src/*" = "ask"\n', "the user is asked about changes"),
        ("[plan]\nstaging = false\n", NOTHING_KEPT),
        ("[stage]\nmax_file_mb = 1\n", "larger than 1 MB"),
    ],
)
def test_f14_what_is_kept_passes_the_checks_of_every_staged_change(
    tmp_path: Path, config: str, why: str
) -> None:
    """The text of the line shows nothing of the path: it is known once the command has run."""
    stage = furnished(tmp_path, config)
    before = real(stage)
    line = "f=$(find . -name app.py); head -c 3000000 /dev/zero | dd of=$f.new; mv -f $f.new $f"
    end = ran(stage, line, keep=True)
    assert end["result"]["failed"]
    assert why in text(end)
    assert (stage.staged(), real(stage)) == ([], before)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("ln -s . y; ln -s y/../s x", "x"),
        ("ln -s src/.. y; ln -s ../y/../s src/x", "src/x"),
        ("ln -s docs y; ln -s y/../../s x", "x"),
        ("ln -s b a; ln -s c b; ln -s ../s c", "a, b, c"),
        ("ln -s loop loop", "loop"),
        ("ln -s /etc/passwd x", "x"),
        ("ln -s $PWD/src x", "x"),
    ],
)
def test_f14_a_symlink_that_leads_out_by_other_symlinks_is_not_kept(
    stage: Stage, line: str, named: str
) -> None:
    end = ran(stage, f"{line}; true > n.txt", keep=True)
    assert f"a symlink leads out of the workspace: {named}. Name what" in text(end)
    assert stage.staged() == []


def test_f14_a_symlink_that_stays_inside_by_other_symlinks_is_kept(stage: Stage) -> None:
    (stage.root / "deep/er").mkdir(parents=True)
    (stage.root / "old").symlink_to("deep/er")
    end = ran(stage, "ln -s old/../../src x; ln -s missing z; cat x/app.py", keep=True)
    assert not end["result"]["failed"], text(end)
    assert text(end).startswith("one\n")
    assert [row["path"] for row in stage.staged()] == ["x", "z"]


@pytest.mark.parametrize(
    "ways",
    [
        "",  # the symlinks are in the workspace
        "rm -f y x; ln -s docs/.. y; ln -s y/src x; ",  # the command makes its own
    ],
)
@pytest.mark.parametrize("keep", [True, ["x/**", "y/**", "**"], ["src/**"]])
def test_f14_what_is_written_through_symlinks_is_judged_and_staged_where_it_is(
    tmp_path: Path, ways: str, keep: object
) -> None:
    stage = furnished(tmp_path, '[permission.edit]\n"src/*" = "deny"\n')
    (stage.root / "y").symlink_to(".")
    (stage.root / "x").symlink_to("y/src")
    settle()
    before = real(stage)
    end = ran(stage, f"{ways}f=app.py; echo two > x/$f; echo two > y/docs/a.md", keep=keep)
    assert "Nothing was staged: src/app.py: " in text(end)
    assert (stage.staged(), real(stage)) == ([], before)


def test_f14_a_glob_names_a_file_by_where_it_is(stage: Stage) -> None:
    (stage.root / "x").symlink_to("src")
    settle()
    end = ran(stage, "f=app.py; echo two > x/$f", keep=["x/**"])
    assert "Nothing was staged: it changed no file that `keep` names" in text(end)
    end = ran(stage, "f=app.py; echo two > x/$f", keep=["src/**"])
    assert [row["path"] for row in stage.staged()] == ["src/app.py"]


def test_f14_through_kept_symlinks_no_tool_reaches_another_path_than_was_judged(
    stage: Stage,
) -> None:
    """Two symlinks that are harmless alone lead out together: the way is followed each time."""
    before = real(stage)
    *ends, wrote, read, shown = stage.called(
        ("shell", {"command": "mkdir d; true > d/f; ln -s d/../../s x", "keep": ["d/**"]}),
        ("shell", {"command": "ln -s src y", "keep": True}),
        ("shell", {"command": "ln -s y/../docs z", "keep": True}),
        ("shell", {"command": "rm y; ln -s . y", "keep": True}),  # so that z leads out
        ("write", {"path": "z/a.md", "content": "pwned"}),
        ("read", {"path": "z/a.md"}),
        ("shell", {"command": "f=z/a.md; echo pwned > $f; cat $f", "keep": True}),
    )
    assert [end["result"]["failed"] for end in ends] == [False] * 4, [*map(text, ends)]
    assert (wrote["verdict"], wrote["result"]["failed"]) == ("deny", True)
    assert read["verdict"] != "run"
    assert shown["result"]["failed"]
    assert [row["path"] for row in stage.staged()] == ["d/f", "y", "z"]
    assert real(stage) == before


def test_f14_files_that_rules_hide_are_hidden_in_the_copy(tmp_path: Path) -> None:
    stage = furnished(tmp_path, '[permission.read]\n"private/*" = "deny"\n')
    stage.put("private/plan.txt", f"{SECRET}\n".encode())
    end = ran(stage, "cd private; cat $(echo plan).txt; strings *; true")
    assert COPY in text(end)
    assert SECRET not in json.dumps(end)


def test_f14_the_copy_has_no_network_and_says_how_to_stage_the_line(stage: Stage) -> None:
    refused, failed, staged = stage.called(
        ("shell", {"command": "npm install left-pad", "network": True}),
        ("shell", {"command": "getent hosts example.org || echo 'could not resolve host'; exit 6"}),
        ("shell", {"command": "npm install left-pad", "network": True, "stage": True}),
    )
    assert (refused["verdict"], text(refused)) == (
        "deny",
        f"{NO_NETWORK_IN_COPY} Nothing was done.",
    )
    assert OFFLINE in text(failed)
    assert staged["verdict"] == "stage"
    assert [row["network"] for row in stage.staged()] == [True]


def test_f14_a_line_that_only_reads_runs_as_before_and_keeps_nothing(stage: Stage) -> None:
    end = ran(stage, "cat src/app.py", keep=True)
    assert text(end) == f"one\n[{NOTHING_TO_KEEP}]"
    assert stage.staged() == []


def test_f14_a_command_ends_with_its_time(stage: Stage) -> None:
    end = ran(stage, "echo begun; sleep 60; echo over > src/app.py", timeout=1, keep=True)
    assert text(end).startswith("begun\n[It was stopped early: time.]")
    assert stage.staged() == []


def test_f14_a_child_has_a_copy_of_its_own_and_cannot_keep(stage: Stage) -> None:
    before = real(stage)
    task = {"tool": "task", "args": {"prompt": "Do it", "description": "do", "agent": "explore"}}
    child: list[dict[str, Any]] = [
        {
            "calls": [
                {"tool": "shell", "args": {"command": "mkdir -p dist; echo child > dist/who"}},
                {"tool": "shell", "args": {"command": "cat dist/who | sort; echo x > y.txt"}},
                {"tool": "shell", "args": {"command": "echo x > kept.txt", "keep": True}},
            ]
        },
        {"text": "Tried."},
    ]
    own = {"tool": "shell", "args": {"command": "mkdir -p dist; echo parent >> dist/who"}}
    look = {"tool": "shell", "args": {"command": "sort < dist/who; true > z"}}
    answer = stage.play(
        {"calls": [own]}, {"calls": [task]}, {"calls": [look]}, {"text": "Done."},
        children={"explore": child},
    )  # fmt: skip
    ends = [one["body"] for one in events(answer) if one["kind"] == "call_ended"]
    said = [text(end) for end in ends if end["tool"] == "shell"]
    assert any(each.startswith("child\n[Ran in a scratch copy") for each in said)
    assert any(each.startswith("parent\n[Ran in a scratch copy") for each in said)
    assert f"{CHILD_KEEPS_NOTHING} Nothing was done." in said
    assert (stage.staged(), real(stage)) == ([], before)
    copies = stage.ok("scratch", "list")["copies"]
    assert len({one["name"] for one in copies}) == 2


@pytest.mark.parametrize("shell", ["stage", "read-only"])
def test_f14_the_setting_closes_the_copy(tmp_path: Path, shell: str) -> None:
    stage = furnished(tmp_path, f'[plan]\nshell = "{shell}"\n')
    before = real(stage)
    plain, kept, staged, read = stage.called(
        ("shell", {"command": "make"}),
        ("shell", {"command": "make", "keep": True}),
        ("shell", {"command": "make", "stage": True}),
        ("shell", {"command": "cat src/app.py"}),
    )
    assert [plain["verdict"], kept["verdict"], read["verdict"]] == ["deny", "deny", "run"]
    assert staged["verdict"] == ("stage" if shell == "stage" else "deny")
    assert (READ_ONLY_SHELL in text(staged)) == (shell == "read-only")
    assert len(stage.staged()) == (shell == "stage")
    assert real(stage) == before
    assert stage.ok("scratch", "list")["copies"] == []


def test_f14_a_project_cannot_choose_what_becomes_of_commands(stage: Stage) -> None:
    """Neither the copy nor the way around it is a project's choice."""
    (stage.root / ".opencode" / "assent.toml").write_text(
        '[plan]\nshell = "stage"\n[check]\n"*" = "touch pwned"\n', encoding="utf-8"
    )
    end = ran(stage, "make -f /dev/null || true")
    assert COPY in text(end)
    answer = stage.run("status")
    assert b"plan.shell" in answer.err
    assert b"[check]" in answer.err
