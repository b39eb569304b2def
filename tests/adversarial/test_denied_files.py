"""Denied files from end to end: no command of a model reads or changes what a rule keeps."""

import io
import os
import subprocess
import tarfile
from typing import Any

import pytest
from tests.adversarial.harness import Stage
from tests.sandbox.profiles import needs_bubblewrap

READ = '[permission.read]\n"*" = "allow"\n"sec/*" = "{answer}"\n"*.key" = "{answer}"\n'
EDIT = '[permission.edit]\n"*" = "allow"\n"sec/*" = "deny"\n"*.lock" = "deny"\n'
LOOKS = (
    "grep -r topsecret .", "rg topsecret", "rg --no-ignore -uu topsecret", "cat */s.txt",
    "git grep topsecret", "cat sec/s.txt", "cat lnk/s.txt", "find . -name s.txt", "git diff",
    "cat */*/../s.txt", "head lib/a.key", "grep -rh top lib sec", "sort */s.*", "wc */s.txt",
)  # fmt: skip
CHANGES = (
    "echo x > lnk/y4", "mv k.txt sec/", "cp -t sec notes.txt", "find sec -name s.txt -delete",
    "rm -r sec", "tar xf a.tar -C sec", "git checkout -- sec", "echo sec/y5 | xargs touch",
    "rsync notes.txt sec/", "mv sec moved", "echo x >> sec/s.txt", "cd sec && touch y",
    "mkdir sec/deeper", "ln notes.txt sec/hard",
    "rm lnk/s.txt", "mv a b",
    "chmod 777 sec lnk/s.txt",
    "cd a; echo x > uv.lock", "printf 'x\\n' | tee lnk/s.txt", "sed -i s/top/no/ lnk/s.txt",
)  # fmt: skip

# As the content of a file that a shell runs: no text of a line tells what they do.
SCRIPTS = (
    "touch sec/p", "echo x > a/uv.lock", "mv sec/s.txt s.txt", "rm -rf sec a", "mv a b; mv sec c",
    "mkdir -p sec/x/y", "ln -f notes.txt a/uv.lock", "cp notes.txt sec", "tar xf a.tar -C lnk",
)  # fmt: skip


@pytest.fixture
def kept(stage: Stage) -> Stage:
    """A project with a folder that rules can speak of."""
    for path, content in {
        "sec/s.txt": b"topsecret words\n",
        "sec/in/deep.txt": b"topsecret too\n",
        "lib/a.key": b"topsecret key\n",
        "a/uv.lock": b"locked\n",
        "notes.txt": b"nothing\n",
        "k.txt": b"k\n",
    }.items():
        stage.put(path, content)
    os.symlink("sec", stage.root / "lnk")
    with tarfile.open(stage.root / "a.tar", "w") as archive:
        member = tarfile.TarInfo("planted")
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *words], cwd=stage.root, env=stage.env, check=True)
    (stage.root / "sec/s.txt").write_bytes(b"topsecret words, changed\n")
    return stage


def shells(stage: Stage, *lines: str, mode: str) -> list[dict[str, Any]]:
    """Runs command lines one after the other, and returns what the model is told of each."""
    ended = []
    for line in lines:
        call = ("shell", {"command": line, "subject": "x"})  # one that only reads runs at once
        ended += stage.called(call, options=("--mode", mode))
    return [each["result"] for each in ended]


def denied(stage: Stage) -> dict[bytes, object]:
    """What rules keep, and everything beside it that could be planted there."""
    found = stage.files()
    return {path: found[path] for path in found if path.startswith(b"sec") or path == b"a/uv.lock"}


@needs_bubblewrap
@pytest.mark.parametrize("answer", ["deny", "ask"])
@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_f72_no_command_that_reads_shows_what_a_rule_keeps(
    kept: Stage, mode: str, answer: str
) -> None:
    kept.config.write_text(READ.format(answer=answer), encoding="utf-8")
    told = shells(kept, *LOOKS, mode=mode)
    shown = {line: each["text"] for line, each in zip(LOOKS, told, strict=True)}
    assert {line: text for line, text in shown.items() if "secret " in text} == {}
    fine = shells(kept, "grep -r nothing .", mode=mode)
    assert "nothing" in fine[0]["text"]


@needs_bubblewrap
def test_f72_a_program_that_runs_sees_nothing_that_a_rule_denies(kept: Stage) -> None:
    kept.config.write_text(READ.format(answer="deny"), encoding="utf-8")
    kept.put("run.sh", b"cat lnk/s.txt; touch done; cat l*b/a.k?y; cat notes.txt")
    (told,) = shells(kept, "sh run.sh", mode="yolo")
    assert "nothing" in told["text"]
    assert "topsecret" not in told["text"]
    assert (kept.root / "done").exists()


@needs_bubblewrap
def test_f72_a_question_about_files_is_none_for_programs_in_yolo_mode(kept: Stage) -> None:
    kept.config.write_text(READ.format(answer="ask"), encoding="utf-8")
    (told,) = shells(kept, "grep -r topsecret sec", mode="yolo")
    assert "topsecret words" in told["text"]


@needs_bubblewrap
def test_f75_f80_no_command_changes_what_a_rule_denies(kept: Stage) -> None:
    kept.config.write_text(EDIT, encoding="utf-8")
    before = denied(kept)
    for line in CHANGES:
        (told,) = shells(kept, line, mode="yolo")
        assert denied(kept) == before, (line, told)
    for script in SCRIPTS:
        kept.put("run.sh", script.encode())
        (told,) = shells(kept, "sh run.sh", mode="yolo")
        assert denied(kept) == before, (script, told)
    (told,) = shells(kept, "touch beside a/beside", mode="yolo")
    assert (told["failed"], (kept.root / "a/beside").exists()) == (False, True)


@needs_bubblewrap
def test_f75_a_denied_folder_cannot_be_made_either(kept: Stage) -> None:
    kept.config.write_text('[permission.edit]\n"vendor/*" = "deny"\n', encoding="utf-8")
    kept.put("run.sh", b"touch here; mkdir -p vendor; touch vendor/x")
    shells(kept, "sh run.sh", mode="yolo")
    assert (kept.root / "here").exists()
    assert not (kept.root / "vendor").exists()


@needs_bubblewrap
def test_f75_where_all_edits_are_denied_commands_write_nothing(kept: Stage) -> None:
    kept.config.write_text('[permission]\nedit = "deny"\n', encoding="utf-8")
    kept.put("run.sh", b"touch new")
    before = kept.files()
    (told,) = shells(kept, "sh run.sh", mode="yolo")
    assert kept.files() == before
    assert "Read-only for this command: the workspace (a rule denies edits there)." in told["text"]


@needs_bubblewrap
def test_f75_the_model_is_told_what_a_rule_keeps(kept: Stage) -> None:
    kept.config.write_text(EDIT, encoding="utf-8")
    (told,) = shells(kept, "echo x > lnk/y4", mode="yolo")
    words = "a/uv.lock (a rule denies edits there), sec (a rule denies edits there)"
    assert told["failed"]
    assert f"[Read-only for this command: .git, {words}, .claude, " in told["text"]
    assert ", .opencode, " in told["text"]


@needs_bubblewrap
def test_the_model_is_told_that_git_cannot_commit_in_the_sandbox(kept: Stage) -> None:
    (told,) = shells(kept, "git add -A", mode="yolo")
    assert told["failed"]
    assert "[Read-only for this command: .git, .claude, " in told["text"]
    assert "opencode.jsonc. Git's own files" in told["text"]
