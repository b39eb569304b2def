"""Fixed asks from end to end: nobody but the person opens the outside, or orders for agents."""

import json
import os
import socket
from typing import Any

import msgspec
import pytest
from tests.adversarial.harness import Stage, events
from tests.cli.harness import TRUSTING, files_below
from tests.sandbox.profiles import needs_bubblewrap

from assent.core.shell.process import SandboxState, SandboxStatus
from assent.sandbox.status import FILE, CachedStatus, cache_key, find_bwrap

Made = tuple[str, dict[str, Any]]
MODES = ("ask", "auto-edit", "yolo")
LOOSE = {
    "nothing": "",
    "allow": 'permission = "allow"\n',
    "full": 'preset = "full"\n',
    "stars": '[permission]\nexternal_directory = "allow"\nedit = "allow"\nbash = "allow"\n'
    'read = "allow"\n',
}
ORDERS = (
    ".opencode/assent.toml", ".opencode/agents/build.md", "opencode.json", "AGENTS.md",
    ".claude/settings.json", ".mcp.json", "sub/CLAUDE.md", ".cursor/rules/x.mdc",
)  # fmt: skip


@pytest.fixture
def yard(stage: Stage) -> Stage:
    """A project with a neighbour, links to it, and what configures agents."""
    near = stage.base / "near"
    near.mkdir()
    (near / "a.txt").write_text("hunter2\n", encoding="utf-8")
    stage.put("src/app.py", b"one\n")
    stage.put("AGENTS.md", b"Be kind.\n")
    stage.put(".claude/settings.json", b"{}\n")
    stage.link("link", str(near / "a.txt"))
    stage.link("folder", str(near))
    stage.ok("init")
    return stage


def reads(stage: Stage) -> list[Made]:
    near = stage.base / "near"
    lines = (
        f"cat {near}/a.txt", "cat ../near/a.txt", "cat link", "cat folder/a.txt",
        f"cp {near}/a.txt b.txt", "cp link b.txt", f"ls {near}", "cd ../near && cat a.txt",
        f"sort {near}/a.txt > b.txt", "cp ../near/a.txt b.txt",
    )  # fmt: skip
    paths = (str(near / "a.txt"), "../near/a.txt", "link", "folder/a.txt")
    made: list[Made] = [("read", {"path": path}) for path in paths]
    made += [("list", {"path": str(near)}), ("list", {"path": "folder"})]
    return made + [("shell", {"command": line}) for line in lines]


def writes() -> list[Made]:
    lines = ("echo x >> AGENTS.md", "rm AGENTS.md", "echo x > .claude/settings.json",
             "cp src/app.py opencode.json", "mkdir -p .cursor/rules && touch .cursor/rules/x.mdc",
             "mv src/app.py .mcp.json")  # fmt: skip
    made: list[Made] = [("write", {"path": path, "content": "pwned\n"}) for path in ORDERS]
    made.append(("delete", {"path": "AGENTS.md"}))
    made.append(("move", {"path": "src/app.py", "to": "CLAUDE.md"}))
    return made + [("shell", {"command": line}) for line in lines]


def content(stage: Stage, path: str) -> bytes:
    return (stage.root / path).read_bytes()


def headless(stage: Stage, made: list[Made], *options: str) -> list[dict[str, Any]]:
    """Makes each call in a turn of its own, so that none is refused for those before it."""
    return [end for one in made for end in stage.called(one, options=options)]


@pytest.mark.parametrize("config", LOOSE.values(), ids=LOOSE)
def test_without_a_person_nothing_outside_is_read_and_no_orders_change(
    yard: Stage, config: str
) -> None:
    yard.config.write_text(config, encoding="utf-8")
    before, orders = files_below(yard.base / "near"), yard.files()
    ends = headless(yard, [*reads(yard), *writes()], "--mode", "yolo", "--auto")
    assert {end["result"]["failed"] for end in ends} == {True}
    assert "hunter2" not in str(ends)
    assert files_below(yard.base / "near") == before
    assert yard.files() == orders


@pytest.mark.parametrize("mode", ["ask", "auto-edit"])
def test_neither_does_a_stricter_mode(yard: Stage, mode: str) -> None:
    orders = yard.files()
    ends = headless(yard, [*reads(yard)[::3], *writes()[::3]], "--mode", mode, "--auto")
    assert {end["result"]["failed"] for end in ends} == {True}
    assert "hunter2" not in str(ends)
    assert yard.files() == orders


def test_no_child_and_no_rule_of_a_project_or_agent_does(yard: Stage) -> None:
    near = yard.base / "near"
    rule = {"external_directory": {f"{near}/*": "allow"}, "edit": {"AGENTS.md": "allow"}}
    yard.put("opencode.json", json.dumps({"permission": rule}).encode())
    before = yard.files()
    task = {"calls": [{"tool": "task", "args": {"prompt": "Do it", "agent": "general"}}]}
    made = [("read", {"path": "link"}), ("write", {"path": "AGENTS.md", "content": "x"}),
            ("shell", {"command": "cat link"})]  # fmt: skip
    calls = [{"calls": [{"tool": t, "args": a}]} for t, a in made]
    answer = yard.play(
        task, {"text": "."}, children={"general": [*calls, {"text": "I tried."}]},
        options=("--mode", "yolo", "--auto"),
    )  # fmt: skip
    assert "hunter2" not in answer.out.decode()
    assert yard.files() == before


def test_a_rule_of_the_person_that_names_the_path_lets_it_run(yard: Stage) -> None:
    near = yard.base / "near"
    yard.config.write_text(
        f'[permission.external_directory]\n"{near}/*" = "allow"\n'
        '[permission.edit]\n"AGENTS.md" = "allow"\n',
        encoding="utf-8",
    )
    made: list[Made] = [
        ("read", {"path": "link"}),
        ("write", {"path": "AGENTS.md", "content": "New.\n"}),
    ]
    ends = headless(yard, made, "--mode", "yolo")
    assert [end["result"]["failed"] for end in ends] == [False, False]
    assert "hunter2" in ends[0]["result"]["text"]
    assert content(yard, "AGENTS.md") == b"New.\n"
    [no] = headless(yard, [("write", {"path": "sub/AGENTS.md", "content": "x"})], "--mode", "yolo")
    assert no["result"]["failed"]


def asked(stage: Stage, made: Made, *more: Made, mode: str = "yolo") -> dict[str, Any]:
    """Has a call asked about, and returns the question; more of them follow once it is answered."""
    turns = [{"calls": [{"tool": tool, "args": args}]} for tool, args in (made, *more)]
    stage.play(*turns, {"text": "Done."}, options=("--mode", mode, "--ask-later"))
    [row] = stage.ok("questions", "list")["questions"]
    found: dict[str, Any] = row
    return found


def answered(stage: Stage, row: dict[str, Any], said: str) -> list[dict[str, Any]]:
    """Answers, goes on, and returns what came of the calls."""
    patterns = [each["pattern"] for each in row["questions"][0]["always"]] * (said != "yes")
    named = [word for pattern in patterns for word in ("--pattern", pattern)]
    line = ("questions", "answer", row["question"], said, "--digest", row["digest"])
    stage.ok(*line, *named)
    answer = stage.go_on("Go on", "-c", "--ask-later")
    return [event["body"] for event in events(answer) if event["kind"] == "call_ended"]


@pytest.mark.parametrize("mode", MODES)
def test_the_question_names_the_file_and_the_link(yard: Stage, mode: str) -> None:
    yard.config.write_text(TRUSTING, encoding="utf-8")
    row = asked(yard, ("read", {"path": "link"}), mode=mode)
    words = row["questions"][0]["question"]
    assert f"reading link -> {yard.base}/near/a.txt" in words
    assert f"{yard.base}/near/*" in words
    labels = [option["label"] for option in row["questions"][0]["options"]]
    assert labels == ["Yes", "Yes, for this session", "No"]


def test_a_yes_counts_once_and_one_for_the_session_for_the_folder(yard: Stage) -> None:
    yard.config.write_text(TRUSTING, encoding="utf-8")
    link: Made = ("read", {"path": "link"})
    row = asked(yard, link, link, ("read", {"path": "../near/a.txt"}))
    [first] = answered(yard, row, "yes")  # and the same call once more asks again
    assert "hunter2" in first["result"]["text"]
    [again] = yard.ok("questions", "list")["questions"]
    line = ("questions", "answer", again["question"], "project", "--digest", again["digest"])
    assert "session" in yard.no(2, *line)["message"]
    second, third = answered(yard, again, "session")
    assert "hunter2" in second["result"]["text"]
    assert "hunter2" in third["result"]["text"]
    [other] = yard.called(link, options=("--mode", "yolo"))
    assert other["result"]["failed"]


@needs_bubblewrap
def test_a_yes_lets_a_command_read_outside_and_change_orders(yard: Stage) -> None:
    yard.config.write_text(TRUSTING, encoding="utf-8")
    [cat] = answered(yard, asked(yard, ("shell", {"command": "cat /etc/hosts"})), "yes")
    assert not cat["result"]["failed"], cat
    assert "localhost" in cat["result"]["text"]
    row = asked(yard, ("shell", {"command": "echo more >> .claude/settings.json"}))
    [done] = answered(yard, row, "yes")
    assert not done["result"]["failed"], done
    assert content(yard, ".claude/settings.json") == b"{}\nmore\n"


TELLING = (
    """python3 -c "open('CLAUDE.md','w').write('x')\"""",
    """python3 -c "open('.cursorrules','w').write('x')\"""",
    """perl -e 'open(F,">CLAUDE.md");print F 1'""",
    """node -e "require('fs').writeFileSync('CLAUDE.md','x')\"""",
    "find src -fprint CLAUDE.md", "git show HEAD:src/app.py --output=CLAUDE.md",
    "echo CLAUDE.md | xargs touch", "python3 -c \"print(open('/etc/passwd').read()[:20])\"",
)  # fmt: skip


@needs_bubblewrap
def test_code_whose_text_tells_it_is_not_run_without_a_person(yard: Stage) -> None:
    before = yard.files()
    made: list[Made] = [("shell", {"command": line}) for line in TELLING]
    ends = headless(yard, made, "--mode", "yolo", "--auto")
    assert [(end["verdict"], end["result"]["failed"]) for end in ends] == [("ask", True)] * len(
        TELLING
    )
    assert "root:" not in str(ends)
    assert yard.files() == before


@needs_bubblewrap
def test_a_yes_lets_a_command_change_the_orders_that_its_text_names(yard: Stage) -> None:
    yard.config.write_text(TRUSTING, encoding="utf-8")
    line = "echo AGENTS.md | xargs cp src/app.py"
    [done] = answered(yard, asked(yard, ("shell", {"command": line})), "yes")
    assert not done["result"]["failed"], done
    assert content(yard, "AGENTS.md") == b"one\n"


HIDDEN = (
    "open('AGENTS.md', 'a').write('x')", "open('.claude/settings.json', 'w').write('x')",
    "open('opencode.json', 'w').write('x')", "open('.mcp.json', 'w').write('x')",
    "__import__('os').makedirs('.cursor/rules')", "__import__('os').rename('.claude', 'c')",
    "__import__('os').remove('AGENTS.md')", "__import__('os').mkdir('.codex')",
)  # fmt: skip


@needs_bubblewrap
@pytest.mark.parametrize("code", HIDDEN)
def test_code_that_no_text_tells_changes_no_orders_either(yard: Stage, code: str) -> None:
    """There or not: what makes agents start programs cannot appear, and nothing is left of it."""
    yard.put("run.py", f"{code}\n".encode())
    before = yard.files()
    [end] = yard.called(("shell", {"command": "python3 run.py"}), options=("--mode", "yolo"))
    assert end["result"]["failed"], end
    assert yard.files() == before
    assert not any((yard.root / name).exists() for name in (".codex", ".cursor", "opencode.json"))


def test_in_plan_mode_orders_are_staged_as_protected_and_the_outside_asks(yard: Stage) -> None:
    made: list[Made] = [("write", {"path": p, "content": "x\n"}) for p in ORDERS]
    ends = yard.called(*made, ("read", {"path": "link"}), options=("--mode", "plan"))
    assert [end["verdict"] for end in ends] == ["stage"] * len(ORDERS) + ["ask"]
    rows = yard.ok("review")["operations"]
    assert {row["path"]: "protected" in row["risks"] for row in rows} == dict.fromkeys(ORDERS, True)


@pytest.mark.parametrize(
    ("word", "resource", "wanted"),
    [
        ("read", "link", "ask"),
        ("bash", "cat ../near/a.txt", "ask"),
        ("bash", "cat link", "ask"),
        ("bash", "cp ../near/a.txt b", "ask"),
        ("edit", "AGENTS.md", "ask"),
        ("bash", "rm AGENTS.md", "ask"),
        ("edit", "src/app.py", "run"),
        ("external_directory", "/usr/*", "ask"),
    ],
)
def test_explaining_tells_the_truth(yard: Stage, word: str, resource: str, wanted: str) -> None:
    yard.config.write_text('preset = "full"\npermission = "allow"\n', encoding="utf-8")
    row = yard.ok("rules", "explain", word, resource, "--mode", "yolo")
    assert row["verdict"] == wanted, row


LINKED = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../x\n"
TYPED = (
    "diff --git a/l b/l\nold mode 100644\nnew mode 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a\n+b\n"
)


@pytest.mark.parametrize("mode", ["plan", "yolo"])
@pytest.mark.parametrize("patch", [LINKED, TYPED, LINKED.replace("120000", "160000")])
def test_a_patch_of_a_symlink_never_makes_a_file(yard: Stage, mode: str, patch: str) -> None:
    if patch == TYPED:
        yard.put("l", b"a\n")
    before = yard.files()
    [end] = yard.called(("patch", {"patch": patch}), options=("--mode", mode))
    assert end["result"]["failed"]
    assert "symlink" in end["result"]["text"]
    assert yard.files() == before


def test_a_person_s_patch_of_a_symlink_stages_a_symlink(yard: Stage) -> None:
    yard.config.write_text(TRUSTING, encoding="utf-8")
    yard.plan()
    yard.ok("stage", "patch", "-", stdin=LINKED.replace("+../x", "+src/app.py").encode()
            + b"\\ No newline at end of file\n")  # fmt: skip
    yard.approve()
    yard.build()
    assert os.readlink(yard.root / "l") == "src/app.py"


@pytest.mark.parametrize("name", ["inner", "chain"])
def test_writing_to_a_symlink_means_its_file_for_person_and_model(yard: Stage, name: str) -> None:
    yard.config.write_text(TRUSTING, encoding="utf-8")
    yard.link("inner", "src/app.py")
    yard.link("chain", "inner")
    yard.called(("write", {"path": name, "content": "by a model\n"}), options=("--mode", "plan"))
    model = [(row["kind"], row["path"]) for row in yard.staged()]
    yard.plan("mine")
    yard.write(name, b"by a person\n")
    listed = yard.ok("stage", "list")["operations"]
    person = [(row["kind"], row["path"]) for row in listed]
    assert (model, person) == ([("write", "src/app.py")],) * 2
    yard.ok("stage", "edit", name, "--find", "person", "--put", "human")
    yard.approve()
    yard.build()
    assert (yard.root / name).is_symlink()
    assert content(yard, "src/app.py") == b"by a human\n"


@pytest.mark.parametrize("name", ["link", "folder"])
def test_writing_through_a_symlink_that_leads_out_is_refused_for_both(
    yard: Stage, name: str
) -> None:
    before = files_below(yard.base / "near")
    [end] = yard.called(("write", {"path": name, "content": "x"}), options=("--mode", "plan"))
    assert end["result"]["failed"]
    yard.plan("mine")
    refused = yard.no(7, "stage", "write", name, "--from", "-", stdin=b"x")
    assert "symlink" in refused["message"]
    assert yard.staged() == []
    assert (yard.root / name).is_symlink()
    assert files_below(yard.base / "near") == before


def devices(stage: Stage) -> dict[str, str]:
    """Names of links to what is no file, by what it is."""
    os.mkfifo(stage.root / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(stage.root / "socket"))
    stage.link("zero", "/dev/zero")
    stage.link("twice", "zero")
    stage.link("to-pipe", "pipe")
    stage.link("to-socket", "socket")
    return {"zero": "a device", "twice": "a device", "to-pipe": "a pipe", "to-socket": "a socket",
            "pipe": "a pipe"}  # fmt: skip


def test_shell_run_refuses_a_link_to_a_device_before_anything_runs(
    yard: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(yard.root)
    for name, what in devices(yard).items():
        for line in (f"cat {name}", f"ls && head -c 5 {name}", f"cd src && cat ../{name}"):
            refused = yard.no(7, "shell", "run", line)
            assert what in refused["message"], line
    answer = yard.run("shell", "run", "cat zer*")
    assert answer.code == 126
    assert b"a device" in answer.err
    assert yard.run("shell", "run", "cat src/app.py").out == b"one\n"


@needs_bubblewrap
def test_without_a_sandbox_the_review_promises_none(yard: Stage) -> None:
    yard.plan()
    yard.ok("stage", "run", "--", "touch", "/etc/made")
    yard.propose()
    tool = find_bwrap()
    assert tool is not None
    for hold in (SandboxState.HELD, SandboxState.NONE, SandboxState.OFF):
        kept = CachedStatus(cache_key(tool), SandboxStatus(hold, "It leaks."))
        file = yard.state / "assent" / FILE
        file.write_bytes(msgspec.json.encode(kept))
        file.chmod(0o600)
        told = yard.run("review").out.decode() + yard.run("diff").out.decode()
        assert ("n the sandbox" in told) is (hold is SandboxState.HELD), told
        assert ("No sandbox on this machine (It leaks)" in told) is (
            hold is not SandboxState.HELD
        ), told
