"""`assent stage patch`: unified and git diffs become exact operations, all of them or none."""

import base64
import os
import subprocess
import zlib

import pytest
from tests.cli.harness import World

from assent.core.patch.file_patch import misfit_text

OLD = b"".join(b"line %d\n" % n for n in range(1, 21))
PATCH = b"""\
--- a/text
+++ b/text
@@ -9,5 +9,5 @@
 line 9
 line 10
-line 11
+line eleven
 line 12
 line 13
"""
NEW = OLD.replace(b"line 11\n", b"line eleven\n")


def staged(world: World, patch: bytes, *options: str) -> list[tuple[str, str, str | None]]:
    """Stages a patch and returns the operations that it became."""
    rows = world.ok("stage", "patch", "-", *options, stdin=patch)["operations"]
    return [(row["kind"], row["path"], row["to"]) for row in rows]


@pytest.fixture
def drafting(world: World) -> World:
    world.put("text", OLD)
    world.plan()
    return world


def test_a_unified_diff_is_staged_and_built(drafting: World) -> None:
    assert staged(drafting, PATCH) == [("write", "text", None)]
    assert drafting.files()[b"text"] == ("file", 0o644, OLD)
    drafting.build()
    assert drafting.files()[b"text"] == ("file", 0o644, NEW)
    assert drafting.undo().code == 0
    assert drafting.files()[b"text"] == ("file", 0o644, OLD)


def test_a_patch_can_be_a_file_and_text_around_it_does_not_count(drafting: World) -> None:
    mail = b"From: A <a@b.c>\nSubject: [PATCH] x\n\nWords.\n---\n text | 2 +-\n\n"
    drafting.put("../fix.patch", mail + PATCH + b"-- \n2.39.5\n\n")
    rows = drafting.ok("stage", "patch", "../fix.patch")["operations"]
    assert [row["path"] for row in rows] == ["text"]


def test_it_applies_to_the_draft_and_not_to_the_disk_alone(drafting: World) -> None:
    drafting.write("text", b"new head\n" + OLD)
    answer = drafting.ok("stage", "patch", "-", stdin=PATCH)
    assert answer["notes"] == ["text: hunk 1 applies 1 line down from its stated position."]
    drafting.build()
    assert drafting.files()[b"text"] == ("file", 0o644, b"new head\n" + NEW)


def test_a_hunk_that_does_not_fit_refuses_everything(drafting: World) -> None:
    drafting.put("text", OLD.replace(b"line 10\n", b"line ten\n"))
    fresh = b"--- /dev/null\n+++ b/fresh\n@@ -0,0 +1 @@\n+fresh\n"
    refused = drafting.no(1, "stage", "patch", "-", stdin=fresh + PATCH)
    assert refused["error"] == "no_match"
    told = misfit_text(1, "10: expected `line 10`, found `line ten`.")
    assert refused["message"] == f"text: {told} Nothing was staged."
    assert drafting.ok("stage", "list")["operations"] == []


def test_a_hunk_that_fits_in_two_other_places_is_refused(drafting: World) -> None:
    drafting.put("text", b"head\n" + OLD + OLD)
    message = drafting.no(1, "stage", "patch", "-", stdin=PATCH)["message"]
    assert "its lines occur in several other places" in message


def test_what_is_applied_already_is_said(drafting: World) -> None:
    drafting.put("text", NEW)
    answer = drafting.ok("stage", "patch", "-", stdin=PATCH)
    assert answer == {"operations": [], "notes": ["text already matches the patch."]}
    assert b"the files already match" in drafting.run("stage", "patch", "-", stdin=PATCH).out


@pytest.mark.parametrize(
    ("patch", "code", "words"),
    [
        (b"", 2, "The patch is empty"),
        (b"Dear all,\nno patch today.\n", 2, "names no file"),
        (PATCH[:-9], 2, "Line 9 of the patch is invalid: the patch ends inside a hunk"),
        (PATCH + b" line 14\n", 2, "has more lines than its header says"),
        (PATCH.replace(b"+line eleven\n", b""), 2, "the patch ends inside a hunk"),
        (b"@@ -1 +1 @@\n-a\n+b\n", 2, "the hunk has no file names"),
        (b"diff --cc text\nindex 1,2..3\n", 7, "a combined diff"),
        (PATCH.replace(b"b/text", b"b/../text"), 7, "which contains `..`"),
        (PATCH.replace(b"a/text", b"/").replace(b"b/text", b"text"), 2, "has no name left"),
        (PATCH.replace(b"/text", b"/.git/config"), 7, "belongs to Git"),
        (PATCH.replace(b"/text", b"/.opencode/plans/x/PLAN.md"), 7, "is in the plan folder"),
        (PATCH.replace(b"/text", b"/missing"), 1, "missing, which does not exist"),
        (b"Binary files a/x and b/x differ\n", 7, "but does not contain the changes"),
        (
            b"diff --git a/sub b/sub\nindex 1234567..89abcde 160000\n--- a/sub\n+++ b/sub\n"
            b"@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n",
            7,
            "the submodule sub",
        ),
        (PATCH.replace(b"/text", b"/" + b"x" * 300), 2, "is longer than a path can be"),
        (b"Submodule sub 1234567..89abcde:\n  > work\n", 7, "changes a submodule"),
        (b"--- /dev/null\n+++ b/text\n@@ -0,0 +1 @@\n+x\n", 1, "text, which already exists"),
        (b"--- a/text\n+++ b/text\n@@ -0,0 +1 @@\n+x\n", 1, "no context lines"),
        (b"--- a/text\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 1\n", 1, "bytes that the patch"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_and_nothing_is_staged(
    drafting: World, patch: bytes, code: int, words: str
) -> None:
    assert words in drafting.no(code, "stage", "patch", "-", stdin=patch)["message"]
    assert drafting.ok("stage", "list")["operations"] == []


def test_no_way_leads_through_a_symlink(drafting: World) -> None:
    os.mkdir(drafting.base / "elsewhere")
    (drafting.base / "elsewhere" / "text").write_bytes(OLD)
    drafting.link("out", str(drafting.base / "elsewhere"))
    message = drafting.no(7, "stage", "patch", "-", stdin=PATCH.replace(b"/text", b"/out/text"))
    assert "is a symlink" in message["message"]


def test_parts_in_front_of_names(drafting: World) -> None:
    bare = PATCH.replace(b"a/text", b"text").replace(b"b/text", b"text")
    assert "-p 0" in drafting.no(2, "stage", "patch", "-", stdin=bare)["next"]
    assert staged(drafting, bare, "-p", "0") == [("write", "text", None)]
    drafting.ok("stage", "clear")
    deep = PATCH.replace(b"a/text", b"/home/x/text").replace(b"b/text", b"/home/y/text")
    assert staged(drafting, deep, "-p", "3") == [("write", "text", None)]
    drafting.ok("stage", "clear")
    assert staged(drafting, b"diff --git text text\nindex 1234..5678 100644\n" + bare) == [
        ("write", "text", None)
    ]


def test_modes_renames_copies_symlinks_and_odd_names(repo: World) -> None:
    for path in (b"moved", b"copied", b"tool", b"typed", b"edited and moved"):
        repo.put(path, OLD + path + b"\n")
    repo.link("link", "old target")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "before")
    before = repo.files()
    os.mkdir(repo.at(b"d\xff"))
    os.rename(repo.at("moved"), repo.at(b"d\xff/to"))
    repo.put("copy", OLD + b"copied\n")
    os.chmod(repo.at("tool"), 0o755)
    os.unlink(repo.at("typed"))
    repo.link("typed", "now a link")
    os.unlink(repo.at("link"))
    repo.link("link", "new target")
    os.unlink(repo.at("edited and moved"))
    repo.put('with "quotes"\nand\ttabs', NEW + b"edited and moved\n", 0o755)
    repo.git("add", "-A", "-f", ".")
    patch = repo.git("diff", "--cached", "-M", "-C", "--find-copies-harder", "HEAD")
    after = repo.files()
    assert b"rename from" in patch
    assert b"copy from" in patch
    repo.git("reset", "-q", "--hard")
    assert repo.files() == before
    repo.plan()
    rows = repo.ok("stage", "patch", "-", stdin=patch)["operations"]
    assert sorted(row["kind"] for row in rows) == ["delete", "move", *["write"] * 5]
    repo.build()
    assert repo.files() == after


def test_only_whether_it_can_be_run_counts_of_a_mode(drafting: World) -> None:
    os.chmod(drafting.at("text"), 0o640)
    mode = b"diff --git a/text b/text\nold mode 100644\nnew mode 100755\n"
    staged(drafting, mode)
    drafting.build()
    assert drafting.files()[b"text"] == ("file", 0o750, OLD)


@pytest.mark.parametrize(
    ("said", "mode"),
    [(b"100644", 0o644), (b"100755", 0o755), (b"104755", 0o755), (b"101644", 0o644),
     (b"106777", 0o755), (b"100666", 0o644), (b"100600", 0o600), (b"100000", 0o644),
     (b"100100", 0o755)],
)  # fmt: skip
def test_a_new_file_gets_no_more_rights_than_from_git(
    drafting: World, said: bytes, mode: int
) -> None:
    head = b"diff --git a/new b/new\nnew file mode " + said + b"\n"
    staged(drafting, head + b"--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n")
    drafting.build()
    assert drafting.files()[b"new"] == ("file", mode, b"x\n")


def test_a_patch_sets_no_special_bits(drafting: World) -> None:
    staged(drafting, b"diff --git a/text b/text\nold mode 100644\nnew mode 104755\n")
    drafting.build()
    assert drafting.files()[b"text"] == ("file", 0o755, OLD)
    head = b"diff --git a/dir b/dir\nnew file mode 040755\n"
    assert "has an invalid mode" in drafting.no(2, "stage", "patch", "-", stdin=head)["message"]


@pytest.mark.parametrize("said", [b"100000", b"100644", b"100011", b"100200"])
def test_no_patch_makes_a_file_that_nobody_can_read(drafting: World, said: bytes) -> None:
    os.chmod(drafting.at("text"), 0o755)
    staged(drafting, b"diff --git a/text b/text\nold mode 100755\nnew mode " + said + b"\n")
    drafting.build()
    assert drafting.files()[b"text"] == ("file", 0o644, OLD)


KINDS = {
    "file_to_link": b"diff --git a/text b/text\nold mode 100644\nnew mode 120000\n",
    "link_to_file": b"diff --git a/link b/link\nold mode 120000\nnew mode 100644\n",
    "file_to_submodule": b"diff --git a/text b/text\nold mode 100644\nnew mode 160000\n",
    "renamed": b"diff --git a/text b/t\nold mode 100644\nnew mode 120000\n"
    b"rename from text\nrename to t\n",
    "nowhere": b"diff --git a/new b/new\nnew file mode 120000\nindex 0000000..e69de29\n",
}


@pytest.mark.parametrize("patch", KINDS.values(), ids=KINDS)
def test_git_and_we_refuse_a_mode_that_makes_another_kind(repo: World, patch: bytes) -> None:
    repo.put("text", OLD)
    repo.link("link", "text")
    before = repo.files()
    repo.git("add", "-A")
    applied = ["git", "-C", str(repo.root), "apply", "-"]
    assert subprocess.run(applied, input=patch, capture_output=True, check=False).returncode
    repo.plan()
    refused = repo.run("stage", "patch", "-", "--json", stdin=patch)
    assert refused.code != 0
    assert "Nothing was staged." in refused.error["message"]
    assert repo.ok("stage", "list")["operations"] == []
    assert repo.files() == before


def test_special_bits_of_a_write_are_a_risk(drafting: World) -> None:
    drafting.write("text", NEW, "--mode", "4755")
    (row,) = drafting.ok("review")["operations"]
    assert row["risks"][0] == "set_id"
    assert "setuid" in drafting.run("review").out.decode()


def binary(content: bytes, was: bytes, becomes: bytes) -> bytes:
    """A binary patch that brings a content as it stands."""
    packed = zlib.compress(content)
    rows = []
    for at in range(0, len(packed), 52):
        row = packed[at : at + 52]
        length = bytes([len(row) + (64 if len(row) <= 26 else 70)])
        rows.append(length + base64.b85encode(row + b"\0" * (-len(row) % 4)) + b"\n")
    head = b"diff --git a/x b/x\nindex %b..%b 100644\nGIT binary patch\nliteral %d\n"
    return head % (was, becomes, len(content)) + b"".join(rows) + b"\n"


def ids(world: World, *contents: bytes) -> list[bytes]:
    """What git calls some contents."""
    found = []
    for content in contents:
        world.put("../blob", content)
        found.append(world.git("hash-object", "../blob").strip())
    return found


def test_a_binary_patch_fits_only_the_content_it_was_made_for(repo: World) -> None:
    was, becomes = ids(repo, b"old\0\n", b"new\0\n")
    patch = binary(b"new\0\n", was, becomes)
    repo.plan()
    repo.put("x", b"other\0\n")
    message = repo.no(1, "stage", "patch", "-", stdin=patch)["message"]
    assert "the binary patch was made for" in message
    repo.put("x", b"old\0\n")
    short = patch.replace(was, was[:10])
    assert "full IDs of both contents" in repo.no(7, "stage", "patch", "-", stdin=short)["message"]
    damaged = patch.replace(b"literal 5", b"literal 6")
    assert "damaged" in repo.no(7, "stage", "patch", "-", stdin=damaged)["message"]
    other = binary(b"lie\0\n", was, becomes)
    assert (
        "the result does not match its ID"
        in repo.no(7, "stage", "patch", "-", stdin=other)["message"]
    )
    assert staged(repo, patch) == [("write", "x", None)]
    repo.build()
    assert repo.files()[b"x"] == ("file", 0o644, b"new\0\n")
    repo.plan("again")
    assert repo.ok("stage", "patch", "-", stdin=patch)["notes"] == ["x already matches the patch."]


def test_a_series_of_patches_is_applied_one_after_another(repo: World) -> None:
    repo.put("a", OLD)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "base")
    repo.git("mv", "a", "b")
    repo.git("commit", "-qam", "rename")
    repo.put("b", NEW)
    repo.git("commit", "-qam", "edit")
    repo.git("mv", "b", "c")
    repo.git("commit", "-qam", "rename again")
    series = repo.git("format-patch", "--stdout", "HEAD~3")
    after = repo.files()
    repo.git("reset", "-q", "--hard", "HEAD~3")
    repo.plan()
    assert sorted(staged(repo, series)) == [("delete", "a", None), ("write", "c", None)]
    repo.build()
    assert repo.files() == after


def test_deleted_folders_go_as_they_do_with_git(drafting: World) -> None:
    drafting.put("d/e/f", b"f\n")
    gone = b"--- a/d/e/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-f\n"
    assert staged(drafting, gone) == [("delete", "d/e/f", None)]
    drafting.build()
    assert set(drafting.files()) == {b"text"}


def test_what_assent_shows_as_a_diff_can_be_staged_again(drafting: World) -> None:
    drafting.write("text", NEW, "--mode", "600")
    drafting.write("sp ace\ttab", b"no end")
    drafting.ok("stage", "write", "link", "--link-to", "text")
    shown = drafting.ok("diff")["diff"].encode()
    listed = drafting.ok("stage", "list")["operations"]
    drafting.ok("stage", "clear")
    rows = drafting.ok("stage", "patch", "-", stdin=shown)["operations"]
    assert sorted(row["id"] for row in rows) == sorted(row["id"] for row in listed)


@pytest.mark.parametrize(
    ("command", "stdin"),
    [
        (("stage", "patch", "-"), PATCH),
        (("stage", "edit", "text", "--find", "line 9", "--put", "x"), b""),
        (("stage", "edit", "gone", "--find", "x", "--put", "y"), b""),
        (("stage", "write", "text", "--from", "-"), b"x"),
        (("stage", "delete", "gone"), b""),
        (("stage", "move", "gone", "there"), b""),
        (("stage", "remove", "12345678"), b""),
        (("stage", "from", "../nothing-in-it", "gone"), b""),
    ],
    ids=lambda given: given[1] if isinstance(given, tuple) else "",
)
def test_a_finished_plan_says_that_it_is_done(
    drafting: World, command: tuple[str, ...], stdin: bytes
) -> None:
    (drafting.base / "nothing-in-it").mkdir()
    drafting.ok("stage", "delete", "text")
    drafting.build()
    refused = drafting.no(1, *command, stdin=stdin)
    assert refused["message"] == "This plan is done, so it cannot be changed."
    assert refused["next"] == "assent plan new NAME"
