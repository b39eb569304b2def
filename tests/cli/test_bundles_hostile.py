"""Bundles that somebody made with care to do harm: changed, crafted, or signed by mistake."""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.cli.harness import TRUSTING
from tests.cli.machines import Machines, forged, key_of, put, signed, signer_of, trust, written

from assent.core.digest import sha256
from assent.core.plan.bundle import Bundle, bundle_bytes, origin_bytes
from assent.core.plan.git_commit import commit_command
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)
from assent.core.plan.plan import Plan, Scope

STATE = FileState(sha256(b"x\n"), 2, 0o644)


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    machines = Machines(tmp_path)
    trust(machines.runner, key_of(machines.person))
    return machines


def refused(machines: Machines, bundle: Bundle) -> dict[str, str]:
    """Builds a bundle that must be refused, and returns the error; nothing may have changed."""
    before = machines.runner.files()
    error: dict[str, str] = machines.runner.no(7, "build", str(put(machines.file, bundle)))
    assert machines.runner.files() == before
    return error


PATHS = [
    b"../out.txt", b"/etc/out.txt", b"a/../../out.txt", b"./x.txt", b"a//x.txt", b"x.txt/", b"",
    b".git/hooks/pre-commit", b"sub/.GIT/config", b".g\xe2\x80\x8cit/config", b"git~1/config",
    b".opencode/assent/workspace.json", b".opencode/plans/tests/PLAN_x.md", b".opencode/.gitignore",
    b".opencode/agents/plan.md", b".opencode", b"a\0b",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=repr)
def test_g14_no_bundle_reaches_what_no_plan_may_touch(machines: Machines, path: bytes) -> None:
    signer = signer_of(machines.person)
    for operation in (
        written(path, b"x\n"),
        DeleteFile(path, STATE, 0),
        MoveFile(b"a.txt", path, STATE, 0),
    ):
        refused(machines, forged(signer, (operation,), b"x\n"))


def test_g14_a_path_behind_a_symlink_is_refused(machines: Machines) -> None:
    machines.runner.put("real/x.txt", b"x\n")
    machines.runner.link("link", "real")
    machines.runner.link("out", "..")
    signer = signer_of(machines.person)
    for path in (b"link/y.txt", b"out/y.txt", b"link/deep/y.txt"):
        error = refused(machines, forged(signer, (written(path, b"y\n"),), b"y\n"))
        assert error["error"] == "refused"


def test_g14_a_repository_in_disguise_is_refused(machines: Machines) -> None:
    names = (b"HEAD", b"objects/x", b"refs/x")
    operations = tuple(written(b"plain/" + name, b"x\n") for name in names)
    error = refused(machines, forged(signer_of(machines.person), operations, b"x\n"))
    assert "is or would become a Git directory" in error["message"]


def test_g14_private_folders_in_the_workspace_are_refused(machines: Machines) -> None:
    inside = machines.runner.root / "home"
    machines.runner.env["XDG_STATE_HOME"] = str(inside / "state")
    error = refused(
        machines,
        forged(signer_of(machines.person), (written(b"home/state/assent/key", b"x"),), b"x"),
    )
    assert "belongs to Assent" in error["message"]


COMMANDS = {
    "outside": RunCommand((b"true",), cwd=b".."),
    "absolute": RunCommand((b"true",), cwd=b"/"),
    "git's": RunCommand((b"true",), cwd=b".git"),
    "nothing": RunCommand(()),
    "both": RunCommand((b"true",), b"true"),
    "no time": RunCommand((b"true",), timeout=0),
    "too much time": RunCommand((b"true",), timeout=1_000_000),
    "no program": RunCommand((b" ",)),
    "a variable": RunCommand((b"true",), env=((b"LD_PRELOAD", b"x"),)),
    "a zero byte": RunCommand((b"true", b"a\0b")),
    "as a commit": RunCommand((b"sh", b"-c", b"true"), profile="commit"),
    "almost a commit": msgspec.structs.replace(commit_command("T"), cwd=b"new"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_g14_commands_that_staging_refuses_are_refused(
    machines: Machines, command: RunCommand
) -> None:
    operations = (written(b"x.txt", b"x\n"), command)
    refused(machines, forged(signer_of(machines.person), operations, b"x\n"))


def test_g14_a_command_in_a_folder_that_is_not_there_is_stale(machines: Machines) -> None:
    operations = (RunCommand((b"true",), cwd=b"nowhere"),)
    file = put(machines.file, forged(signer_of(machines.person), operations))
    assert machines.runner.no(5, "build", str(file))["error"] == "drift"


def test_g14_a_plan_that_ends_with_a_commit_travels(machines: Machines) -> None:
    for world in (machines.planner, machines.runner):
        world.git("init", "-q")
        world.git("config", "user.name", "Ada")
        world.git("config", "user.email", "ada@example.org")
        world.git("add", "a.txt")
        world.git("commit", "-qm", "First")
    committing = f"{TRUSTING}[plan]\ncommit = true\n"
    machines.planner.config.write_text(committing, encoding="utf-8")
    machines.planner.plan()
    machines.planner.write("a.txt", b"committed\n")
    digest = machines.pack()
    machines.approve()
    assert machines.runner.ok("build", str(machines.file))["outcome"] == "done"
    assert f"Assent-Plan: {digest}".encode() in machines.runner.git("log", "-1", "--format=%B")


def test_g14_a_command_in_a_bundle_is_reviewed_and_run_like_any(machines: Machines) -> None:
    machines.planner.plan()
    machines.planner.ok("stage", "run", "--script", "echo ran > ran.txt")
    machines.pack()
    text = machines.person.run("review", str(machines.file)).out
    assert b"echo ran > ran.txt" in text
    machines.approve()
    assert machines.runner.ok("build", str(machines.file))["outcome"] == "done"
    assert (machines.runner.root / "ran.txt").read_bytes() == b"ran\n"
    assert machines.runner.undo().code == 0
    assert not (machines.runner.root / "ran.txt").exists()


ODD: dict[str, Callable[[Plan], Plan]] = {
    "bound to a workspace": lambda plan: msgspec.structs.replace(plan, workspace="w"),
    "prose": lambda plan: msgspec.structs.replace(plan, operations=()),
    "an export": lambda plan: msgspec.structs.replace(plan, export=b"x.txt"),
    "an undeclared scope": lambda plan: msgspec.structs.replace(plan, scope=Scope(("*",))),
    "a path twice": lambda plan: msgspec.structs.replace(plan, operations=plan.operations * 2),
    "an endless text": lambda plan: msgspec.structs.replace(plan, text=b"x" * ((1 << 20) + 1)),
}
STATES: dict[str, FileState] = {
    "a mode": FileState(STATE.digest, 2, 0o100644),
    "a size": FileState(STATE.digest, -1, 0o644),
    "another size": FileState(STATE.digest, 3, 0o644),
    "a digest": FileState("../../x", 2, 0o644),
    "a link's mode": FileState(STATE.digest, 2, 0o644, "link"),
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_g14_plans_that_nobody_could_have_frozen_are_refused(
    machines: Machines, change: Callable[[Plan], Plan]
) -> None:
    plan = change(Plan(b"# P\n", (written(b"x.txt", b"x\n"),)))
    contents = {STATE.digest: b"x\n"} if plan.operations else {}
    error = refused(machines, signed(signer_of(machines.person), plan, contents))
    assert error["error"] == "damaged"


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_g14_states_that_no_file_can_have_are_refused(machines: Machines, state: FileState) -> None:
    plan = Plan(b"# P\n", (WriteFile(b"x.txt", None, state),))
    error = refused(machines, signed(signer_of(machines.person), plan, {state.digest: b"x\n"}))
    assert error["error"] == "damaged"


def test_g14_folders_that_do_not_exist_cannot_be_pruned(machines: Machines) -> None:
    gone: Operation = DeleteFile(b"gone.txt", FileState(sha256(b"bye\n"), 4, 0o644), 7)
    error = refused(machines, forged(signer_of(machines.person), (gone,), b"bye\n"))
    assert error["error"] == "damaged"


def test_g14_an_approval_by_nobody_is_refused(machines: Machines) -> None:
    bundle = forged(signer_of(machines.person), (written(b"x.txt", b"x\n"),), b"x\n")
    (yes,) = bundle.approvals
    for change in (
        {"signature": ""},
        {"signature": yes.signature.upper()},
        {"note": "More"},
        {"expires_at": "2999-01-01T00:00:00.000Z"},
        {"key": key_of(machines.planner)},
        {"approver": msgspec.structs.replace(yes.approver, user="root")},
    ):
        other = msgspec.structs.replace(yes, **change)
        refused(machines, msgspec.structs.replace(bundle, approvals=(other,)))


def test_g14_a_request_by_nobody_is_refused(machines: Machines) -> None:
    bundle = forged(signer_of(machines.person), (written(b"x.txt", b"x\n"),), b"x\n")
    for change in (
        {"user": "root"},
        {"key": key_of(machines.planner)},
        {"risks": (("deletes",),)},
        {"name": "../x"},
        {"session": "a/b"},
        {"plan_id": "../../x"},
        {"digest": "0" * 64},
    ):
        origin = msgspec.structs.replace(bundle.origin, **change)
        error = refused(machines, msgspec.structs.replace(bundle, origin=origin))
        assert error["error"] == "damaged"


def test_g14_a_risk_that_nobody_knows_is_refused(machines: Machines) -> None:
    signer = signer_of(machines.person)
    bundle = forged(signer, (written(b"x.txt", b"x\n"),), b"x\n")
    for codes in (("nonsense",), ("",), ("deletes", "\x1b[2J")):
        asked = msgspec.structs.replace(bundle.origin, risks=(codes,))
        signature = signer.sign(origin_bytes(asked))
        origin = msgspec.structs.replace(asked, signature=signature)
        put(machines.file, msgspec.structs.replace(bundle, origin=origin))
        assert machines.runner.no(7, "review", str(machines.file))["error"] == "damaged"


def respelled(bundle: Bundle, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """Changes lines of a file and gives it a new checksum, as whoever changes it would."""
    lines = change(bundle_bytes(bundle).splitlines(keepends=True)[:-1])
    body = b"".join(lines)
    return body + msgspec.json.encode({"line": "end", "sha256": sha256(body)}) + b"\n"


def bomb(line: bytes) -> bytes:
    """Replaces a content by one that is small and becomes large."""
    fields = msgspec.json.decode(line)
    fields["zlib"] = b64encode(zlib.compress(b"\0" * (64 << 20), 9)).decode()
    return msgspec.json.encode(fields) + b"\n"


def longer(line: bytes) -> bytes:
    """Hides something behind the end of a compressed content."""
    fields = msgspec.json.decode(line)
    fields["zlib"] = b64encode(b64decode(fields["zlib"]) + b"more").decode()
    return msgspec.json.encode(fields) + b"\n"


FOREIGN = (
    msgspec.json.encode(
        {
            "line": "content",
            "digest": "0" * 64,
            "size": 0,
            "zlib": b64encode(zlib.compress(b"")).decode(),
        }
    )
    + b"\n"
)
LINES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a content twice": lambda lines: [*lines[:3], lines[2], *lines[3:]],
    "a content missing": lambda lines: [*lines[:2], *lines[3:]],
    "contents swapped": lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
    "an approval twice": lambda lines: [*lines, lines[-1]],
    "an approval before": lambda lines: [*lines[:2], lines[-1], *lines[2:-1]],
    "two heads": lambda lines: [lines[0], *lines],
    "no head": lambda lines: lines[1:],
    "a foreign content": lambda lines: [*lines[:2], FOREIGN, *lines[2:]],
    "a bomb": lambda lines: [*lines[:2], bomb(lines[2]), *lines[3:]],
    "more behind a content": lambda lines: [*lines[:2], longer(lines[2]), *lines[3:]],
    "another key in a line": lambda lines: [lines[0].replace(b"{", b'{"x":1,', 1), *lines[1:]],
    "a key twice": lambda lines: [lines[0][:-2] + b',"line":"bundle.1"}\n', *lines[1:]],
    "a blank": lambda lines: [lines[0].replace(b":", b": ", 1), *lines[1:]],
    "a later version": lambda lines: [lines[0].replace(b"bundle.1", b"bundle.2"), *lines[1:]],
    "an empty line": lambda lines: [*lines, b"\n"],
    "deep nesting": lambda lines: [b"[" * 100_000 + b"\n", *lines[1:]],
    "no UTF-8": lambda lines: [lines[0].replace(b"mallory", b"\xff\xfe"), *lines[1:]],
}


@pytest.mark.parametrize("change", LINES.values(), ids=LINES)
def test_g14_a_file_with_lines_out_of_place_is_refused(
    machines: Machines, change: Callable[[list[bytes]], list[bytes]]
) -> None:
    operations = (written(b"x.txt", b"x\n"), written(b"y.txt", b"y\n"))
    bundle = forged(signer_of(machines.person), operations, b"x\n", b"y\n")
    machines.file.write_bytes(respelled(bundle, lambda lines: lines))
    assert machines.runner.ok("review", str(machines.file))["approved"] is True
    machines.file.write_bytes(respelled(bundle, change))
    before = machines.runner.files()
    assert machines.runner.no(7, "build", str(machines.file))["error"] == "damaged"
    assert machines.runner.files() == before


def test_g14_a_file_that_was_cut_or_rewritten_is_refused(machines: Machines) -> None:
    machines.plan()
    whole = machines.file.read_bytes()
    for content in (
        b"",
        b"\n",
        whole[:-1],
        whole[:-2],
        whole + b"\n",
        whole.replace(b"\n", b"\r\n"),
    ):
        machines.file.write_bytes(content)
        assert machines.person.no(7, "review", str(machines.file))["error"] == "damaged"
