"""The scratch copy: the same behaviour by an overlay and by real copies; nothing real changes."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.sandbox.profiles import gathered, needs_bubblewrap
from tests.scratch.copies import Contents, Place, draft, furnished, kinds, line, settle, tree_seen

from assent.core.errors import Refused
from assent.core.scratch import ScratchChange, ScratchLimits
from assent.core.shell.process import CommandSpec, OutputChunk, ProcessLimits
from assent.sandbox.scratch.scratch import LocalScratchCopy

pytestmark = needs_bubblewrap


def change(copy: LocalScratchCopy, path: bytes) -> ScratchChange:
    return next(one for one in copy.changes().changes if one.path == path)


def test_a_command_sees_the_workspace_at_its_own_path(copy: LocalScratchCopy, place: Place) -> None:
    ended = line(copy, place, "pwd; cat a.txt src/deep/b.txt; ls")
    assert ended.output.decode().splitlines()[:3] == [str(place.root), "a", "b"]
    assert "node_modules" in ended.output.decode()
    assert kinds(copy.changes()) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo new > new.txt", {"new.txt": "created"}),
        ("mkdir -p x/y && echo 1 > x/y/z", {"x/y/z": "created"}),
        ("echo more >> a.txt", {"a.txt": "replaced"}),
        ("printf x > t && mv t a.txt", {"a.txt": "replaced"}),
        ("rm a.txt", {"a.txt": "deleted"}),
        ("chmod +x a.txt", {"a.txt": "mode"}),
        ("ln -s docs/one.md other", {"other": "symlink"}),
        ("ln -sf docs/one.md link", {"link": "symlink"}),
        ("rm link", {"link": "deleted"}),
        ("mv a.txt moved.txt", {"a.txt": "deleted", "moved.txt": "created"}),
        ("rm -r docs", {"docs/one.md": "deleted", "docs/two.md": "deleted"}),
        (
            "rm -r docs && mkdir docs && echo 3 > docs/three.md",
            {"docs/one.md": "deleted", "docs/two.md": "deleted", "docs/three.md": "created"},
        ),
        (
            "mv docs papers",
            {
                **{f"docs/{name}.md": "deleted" for name in ("one", "two")},
                **{f"papers/{name}.md": "created" for name in ("one", "two")},
            },
        ),
        ("rm -r docs && echo file > docs", {"docs": "created", "docs/one.md": "deleted",
                                             "docs/two.md": "deleted"}),
        ("rm a.txt && mkdir a.txt && echo 1 > a.txt/in", {"a.txt": "deleted",
                                                          "a.txt/in": "created"}),
        ("touch a.txt; cat a.txt > /dev/null; chmod 755 run.sh", {}),
        ("cp a.txt t && mv t a.txt", {}),
        ("echo x > n && rm n; mkdir e && rmdir e", {}),
        ("echo 1 > 'a:b,c' && echo 2 > 'new\nline' && echo 3 > 'sp ace'",
         {"a:b,c": "created", "new\nline": "created", "sp ace": "created"}),
        ("echo 1 > A.TXT", {"A.TXT": "created"}),
        ("chmod 000 a.txt", {"a.txt": "mode"}),
    ],
)  # fmt: skip
def test_what_changed_is_read_back(
    copy: LocalScratchCopy, place: Place, text: str, expected: dict[str, str]
) -> None:
    ended = line(copy, place, text)
    assert (ended.code, ended.errors) == (0, b"")
    found = copy.changes()
    assert kinds(found) == expected
    assert (found.conflicts, found.joined, found.known) == ((), False, True)


def test_changes_have_both_states_and_the_content(copy: LocalScratchCopy, place: Place) -> None:
    made = Contents()
    line(copy, place, "echo b >> a.txt; ln -s a.txt l2; rm run.sh")
    found = change(copy, b"a.txt")
    assert found.before == made.file(b"a\n")
    assert found.after == made.file(b"a\nb\n")
    assert found.real is not None
    assert found.real.inode == (place.root / "a.txt").stat().st_ino
    assert b"".join(copy.content(b"a.txt")) == b"a\nb\n"
    assert change(copy, b"l2").after == made.link(b"a.txt")
    assert b"".join(copy.content(b"l2")) == b"a.txt"
    gone = change(copy, b"run.sh")
    assert (gone.before and gone.before.mode, gone.after) == (0o755, None)


def test_the_next_command_finds_the_workspace_again(copy: LocalScratchCopy, place: Place) -> None:
    line(
        copy,
        place,
        "rm -r docs src && mkdir docs && echo x > docs/x && chmod 700 . && rm .git/HEAD",
    )
    ended = line(
        copy, place, "ls docs src src/deep && git status --short docs src && cat docs/one.md"
    )
    assert (ended.code, ended.errors) == (0, b"")
    assert (
        ended.output.split() == b"docs: one.md two.md src: deep main.py src/deep: b.txt one".split()
    )
    assert kinds(copy.changes()) == {}


def test_ignored_files_stay_warm_and_are_named(copy: LocalScratchCopy, place: Place) -> None:
    line(
        copy,
        place,
        "mkdir -p out/deep node_modules/new && echo 1 > out/deep/x && echo 2 > "
        "node_modules/new/y && rm node_modules/left/index.js && echo 3 > src/m.pyc && echo 4 > z",
    )
    found = copy.changes()
    assert kinds(found) == {"z": "created"}
    assert {b"out", b"node_modules", b"src/m.pyc"} <= set(found.ignored)
    ended = line(copy, place, "cat out/deep/x node_modules/new/y src/m.pyc; ls node_modules/left z")
    assert ended.output == b"1\n2\n3\nnode_modules/left:\n"


def test_ignored_files_that_are_included_are_changes(copy: LocalScratchCopy, place: Place) -> None:
    copy.apply(draft({}), Contents().read, include=["node_modules/**/*.js", "*.map"])
    line(
        copy,
        place,
        "echo 1 > node_modules/left/index.js && mkdir -p out/deep node_modules/n && "
        "echo 2 > out/deep/x.map && echo 3 > out/y && echo 4 > node_modules/left/z && rm a.txt",
    )
    found = copy.changes()
    assert kinds(found) == {
        "a.txt": "deleted", "node_modules/left/index.js": "replaced", "out/deep/x.map": "created",
    }  # fmt: skip
    assert set(found.ignored) == {b"node_modules", b"out"}
    assert found.left_out == ()


def test_hidden_files_and_gits_are_never_included(copy: LocalScratchCopy, place: Place) -> None:
    copy.apply(draft({}), Contents().read, include=["**"])
    line(copy, place, "rm -f .env; echo x > .env; echo > .git/x; echo > .opencode/plans/PLAN_x.md")
    assert kinds(copy.changes()) == {}


def test_removed_folders_are_named(copy: LocalScratchCopy, place: Place) -> None:
    line(copy, place, "rm -r src docs/*; mkdir -p x && rmdir x")
    assert copy.changes().gone == (b"src", b"src/deep")
    line(copy, place, "rm -r docs && mkdir docs && echo > docs/new")
    assert copy.changes().gone == ()


def test_an_ignore_file_of_the_command_hides_nothing(copy: LocalScratchCopy, place: Place) -> None:
    line(
        copy,
        place,
        "echo '*' > .gitignore && echo 1 > sneaky && mkdir p && echo '*' > p/.gitignore "
        "&& echo 2 > p/q",
    )
    assert kinds(copy.changes()) == {
        ".gitignore": "replaced", "sneaky": "created", "p/.gitignore": "created", "p/q": "created",
    }  # fmt: skip


def test_git_data_and_own_files_are_told_and_never_taken(
    copy: LocalScratchCopy, place: Place
) -> None:
    line(
        copy,
        place,
        "echo 1 >> a.txt; git -c user.name=x -c user.email=x commit -qm second a.txt; "
        "mkdir -p .opencode/assent && echo x > .opencode/assent/x; echo y >> "
        ".opencode/plans/PLAN_x.md; mkdir -p src/.GIT/hooks && echo x > src/.GIT/hooks/pre-commit",
    )
    found = copy.changes()
    assert kinds(found) == {"a.txt": "replaced"}
    told = {one.path: one.why for one in found.left_out}
    assert told[b".git"] == told[b"src/.GIT"] == "git"
    assert told[b".opencode/assent"] == "assent"
    assert "assent" in {told.get(b".opencode/plans"), told.get(b".opencode/plans/PLAN_x.md")}
    ended = line(copy, place, "git log --oneline | wc -l; ls -A src .opencode")
    assert ended.output.split() == b"1 .opencode: plans src: deep main.py".split()


def test_special_files_and_empty_folders_are_no_changes(
    copy: LocalScratchCopy, place: Place
) -> None:
    ended = line(
        copy,
        place,
        "mkfifo pipe && mkdir -p empty/inner && rm a.txt && mkfifo a.txt && "
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'",
    )
    assert (ended.code, ended.errors) == (0, b"")
    found = copy.changes()
    assert kinds(found) == {"a.txt": "deleted"}
    assert {one.path: one.why for one in found.left_out} == {
        b"pipe": "special", b"a.txt": "special", b"sock": "special", b"empty": "folder",
    }  # fmt: skip


def test_a_sparse_file_is_read_whole(copy: LocalScratchCopy, place: Place) -> None:
    line(copy, place, "truncate -s 64M sparse")
    found = change(copy, b"sparse")
    assert found.after is not None
    assert found.after.size == 64 << 20


def test_masked_files_stay_masked(copy: LocalScratchCopy, place: Place) -> None:
    ended = line(copy, place, "cat .env; rm -f .env; mv .env x; cp .env y; git show HEAD:a.txt")
    assert b"secret-canary" not in ended.output + ended.errors
    assert (place.root / ".env").read_text(encoding="utf-8") == "TOKEN=secret-canary\n"
    assert not [path for path in kinds(copy.changes()) if path not in ("x", "y")]


def test_the_draft_is_on_top(copy: LocalScratchCopy, place: Place) -> None:
    made = Contents()
    files = {
        b"a.txt": made.file(b"drafted\n"),
        b"new/deep/file.sh": made.file(b"#!/bin/sh\necho hi\n", 0o755),
        b"docs/one.md": None, b"docs/two.md": None, b"lnk": made.link(b"docs"), b"run.sh": None,
        b"run.sh/inner": made.file(b"inner\n"), b"missing.txt": None,
    }  # fmt: skip
    copy.apply(draft(files, [b"docs"]), made.read)
    for _ in range(2):
        ended = line(
            copy, place, "cat a.txt run.sh/inner; new/deep/file.sh; readlink lnk; ls -d docs"
        )
        assert ended.output == b"drafted\ninner\nhi\ndocs\n"
        assert kinds(copy.changes()) == {}
        line(copy, place, "echo more >> a.txt; rm -r new run.sh; mkdir docs; echo 1 > docs/one.md")
        assert kinds(copy.changes()) == {
            "a.txt": "replaced", "new/deep/file.sh": "deleted", "run.sh/inner": "deleted",
            "docs/one.md": "created",
        }  # fmt: skip
        assert change(copy, b"a.txt").before == made.file(b"drafted\n")
    copy.apply(draft({b"a.txt": made.file(b"again\n")}), made.read)
    ended = line(copy, place, "cat a.txt run.sh docs/one.md; ls -d new lnk")
    assert ended.output == b"again\n#!/bin/sh\necho run\none\n"


def test_a_folder_of_the_draft_is_no_empty_folder(copy: LocalScratchCopy, place: Place) -> None:
    """It is new, but the draft makes it, with a file in it."""
    made = Contents()
    copy.apply(draft({b"new/deep/file": made.file(b"1\n")}), made.read)
    line(copy, place, "mkdir -p other/inner new/bare")
    found = copy.changes()
    assert {one.path: one.why for one in found.left_out} == {
        b"other": "folder", b"new/bare": "folder"}  # fmt: skip
    line(copy, place, "rm new/deep/file")
    assert kinds(copy.changes()) == {"new/deep/file": "deleted"}
    assert copy.changes().left_out == ()


def test_what_a_command_leaves_in_a_folder_of_the_draft_is_taken_out(
    copy: LocalScratchCopy, place: Place
) -> None:
    """The workspace does not have these folders, so that nothing there is compared with it."""
    made = Contents()
    files = {
        b"new/deep/file": made.file(b"1\n"), b"run.sh": None, b"run.sh/inner": made.file(b"2\n"),
    }  # fmt: skip
    copy.apply(draft(files), made.read)
    junk = "new/junk", "new/deep/junk", "run.sh/junk", "new/x.pyc"
    line(copy, place, f"touch {' '.join(junk)}; mkdir -p new/bare/more; ln -s / new/deep/way")
    ended = line(copy, place, "find new run.sh | sort")
    assert ended.output.decode().split() == [
        "new", "new/deep", "new/deep/file", "new/x.pyc", "run.sh", "run.sh/inner"]  # fmt: skip
    assert kinds(copy.changes()) == {}


def test_a_draft_replaces_whatever_is_there(copy: LocalScratchCopy, place: Place) -> None:
    made = Contents()
    files = {b"a.txt": made.link(b"run.sh"), b"link": made.file(b"text\n"), b"docs/one.md": None}
    copy.apply(draft({**files, b"docs/two.md": None, b"docs": made.file(b"flat\n")}), made.read)
    assert line(copy, place, "readlink a.txt; cat link docs").output == b"run.sh\ntext\nflat\n"
    assert kinds(copy.changes()) == {}
    copy.apply(draft({b"a.txt": made.file(b"file\n"), b"link": made.link(b"a.txt")}), made.read)
    assert line(copy, place, "cat a.txt link; ls docs").output == b"file\nfile\none.md\ntwo.md\n"
    assert kinds(copy.changes()) == {}


def test_an_ignored_file_of_the_draft_is_a_change_once_a_command_wrote_it(
    copy: LocalScratchCopy, place: Place
) -> None:
    made = Contents()
    copy.apply(draft({b"x.pyc": made.file(b"1\n")}), made.read)
    line(copy, place, "true")
    assert kinds(copy.changes()) == {}
    line(copy, place, "echo 2 > x.pyc")
    assert kinds(copy.changes()) == {"x.pyc": "replaced"}


def test_a_draft_in_an_ignored_folder_comes_and_goes(copy: LocalScratchCopy, place: Place) -> None:
    made = Contents()
    copy.apply(draft({b"out/x": made.file(b"1\n"), b"node_modules/left/index.js": None}), made.read)
    ended = line(copy, place, "cat out/x; ls node_modules/left; echo 2 > out/y")
    assert ended.output == b"1\n"
    copy.apply(draft({}), made.read)
    assert line(copy, place, "ls out").output == b"y\n"


def test_a_hidden_file_does_not_show_under_a_drafted_name(
    copy: LocalScratchCopy, place: Place
) -> None:
    made = Contents()
    moved = made.file((place.root / ".env").read_bytes())
    files = draft({b".env": None, b"plain.txt": moved})
    copy.apply(replace(files, moved=((b"plain.txt", b".env"),)), made.read)
    ended = line(copy, place, "ls -A .env; cat plain.txt")
    assert b"secret-canary" not in ended.output
    assert kinds(copy.changes()) == {}


def test_links_that_a_command_leaves_are_never_followed(
    copy: LocalScratchCopy, place: Place
) -> None:
    made = Contents()
    line(
        copy,
        place,
        f"rm -rf docs src && ln -s {place.base}/home docs && ln -s {place.root} src && "
        f"rm -rf out && ln -s {place.base}/home out",
    )
    files = {b"docs/sneak.txt": made.file(b"x"), b"src/sneak.txt": made.file(b"x"),
             b"out/sneak.txt": made.file(b"x")}  # fmt: skip
    copy.apply(draft(files), made.read)
    ended = line(copy, place, "ls docs src out")
    assert ended.output.count(b"sneak.txt") == 3
    assert os.listdir(place.base / "home") == []


def test_a_person_who_edits_meanwhile_makes_a_conflict(tmp_path: Path, place: Place) -> None:
    """The workspace of this test is changed, so it is another one."""
    other = furnished(tmp_path / "other", only=place.only)
    copy = other.open()
    settle()
    parts = copy.run(
        CommandSpec("echo started; sleep 0.4; echo x >> a.txt; echo y >> docs/one.md; "
                    "echo n > new; echo z >> run.sh"),
        os.fsencode(other.root), ProcessLimits(seconds=30),
    )  # fmt: skip
    next(parts)
    (other.root / "a.txt").write_text("by hand\n", encoding="utf-8")
    swap = other.root / "docs/one.swp"
    swap.write_text("by hand\n", encoding="utf-8")
    swap.rename(other.root / "docs/one.md")
    list(parts)
    found = copy.changes()
    conflicts = {one.path for one in found.conflicts}
    assert {b"a.txt", b"docs/one.md"} <= conflicts
    assert b"run.sh" not in conflicts
    settle()
    line(copy, other, "echo x >> a.txt; echo more >> run.sh")
    first = copy.changes()
    assert first.conflicts == ()
    changed = next(one for one in first.changes if one.path == b"run.sh")
    assert copy.conflict(changed) is None
    (other.root / "run.sh").write_text("later\n", encoding="utf-8")
    assert copy.conflict(changed) is not None
    copy.close()


def test_hard_links_are_told(tmp_path: Path, place: Place) -> None:
    other = furnished(tmp_path / "other", only=place.only)
    os.link(other.root / "a.txt", other.root / "b.txt")
    settle()
    copy = other.open()
    line(copy, other, "echo more >> a.txt")
    found = copy.changes()
    assert (kinds(found), found.hard_links) == ({"a.txt": "replaced"}, (b"a.txt",))
    copy.close()


def test_a_draft_in_an_ignored_folder_goes_with_the_process_that_put_it(place: Place) -> None:
    made = Contents()
    first = place.open()
    files = {b"out/x": made.file(b"1\n"), b"node_modules/left/index.js": None, b"z": made.file(b"")}
    first.apply(draft(files), made.read)
    line(first, place, "echo 2 > out/y")
    first.close()
    again = place.open()
    again.apply(draft({b"out/w": made.file(b"3\n")}), made.read)
    ended = line(again, place, "cat out/*; cat node_modules/left/index.js; ls z")
    assert ended.output == b"3\n2\nleft\n"
    assert kinds(again.changes()) == {}
    again.close()


def test_a_file_that_the_draft_removed_from_an_ignored_folder_comes_back(
    copy: LocalScratchCopy, place: Place
) -> None:
    made = Contents()
    for _ in range(2):
        copy.apply(draft({b"node_modules/left/index.js": None, b"out/none": None}), made.read)
        line(copy, place, "mkdir -p out; echo > out/none; echo > node_modules/left/index.js")
        assert line(copy, place, "ls out/none node_modules/left").output == b"node_modules/left:\n"
        copy.apply(draft({}), made.read)
        assert line(copy, place, "cat node_modules/left/index.js").output == b"left\n"


def test_a_read_only_command_sees_the_workspace_itself(
    copy: LocalScratchCopy, place: Place
) -> None:
    made = Contents()
    copy.apply(draft({b"a.txt": made.file(b"drafted\n")}), made.read)
    root, seen = os.fsencode(place.root), tree_seen(place.root)
    busy = copy.run(CommandSpec("cat a.txt; sleep 1000"), root, ProcessLimits(seconds=30))
    assert isinstance(shown := next(busy), OutputChunk)
    assert shown.content == b"drafted\n"
    command = CommandSpec("cat a.txt; echo no > a.txt; echo no > new; cat .env")
    beside = gathered(copy.run_read_only(command, root, ProcessLimits(seconds=30)))
    assert (beside.output, beside.code != 0) == (b"a\n", True)
    assert beside.errors.count(b"Read-only file system") == 2
    busy.close()
    assert tree_seen(place.root) == seen


@pytest.mark.parametrize("mode", [0o666, 0o777, 0o400, 0o000, 0o644])
def test_a_drafted_file_has_its_mode_whatever_the_mask(
    copy: LocalScratchCopy, place: Place, mode: int
) -> None:
    made = Contents()
    copy.apply(draft({b"drafted": made.file(b"x", mode)}), made.read)
    before = os.umask(0o027)
    try:
        assert line(copy, place, "stat -c %a drafted").output == b"%o\n" % mode
    finally:
        os.umask(before)
    assert not copy.changes().changes


def test_ignored_files_of_the_draft_are_no_difference(tmp_path: Path) -> None:
    place = furnished(tmp_path, only="overlay")
    (place.root / "out/kept").mkdir(parents=True)
    (place.root / "out/kept/old").write_bytes(b"old\n")
    copy, contents = place.open(), Contents()
    made = contents.file(b"made\n")
    files = {b"out/made": made, b"out/kept/old": None, b"new.pyc": made}
    copy.apply(draft(files), contents.read)
    assert line(copy, place, "cat out/made new.pyc; ls out/kept").output == b"made\nmade\n"
    assert copy.changes().ignored == ()
    for text, ignored in (
        ("echo x > out/more", (b"out",)),
        ("mkdir -p out/deep/er; touch out/deep/er/file", (b"out",)),
        ("echo x > out/made", (b"out",)),
        ("rm -r out; mkdir out; touch out/x", (b"out",)),
        ("rm out/made", (b"out",)),
        ("echo x > other.pyc", (b"other.pyc",)),
        ("echo x >> new.pyc", (b"new.pyc",)),
    ):
        copy.clear()
        copy = place.open()
        copy.apply(draft(files), contents.read)
        line(copy, place, text)
        assert copy.changes().ignored == ignored, text
    copy.clear()


def test_why_not_all_changes_were_read_is_said(tmp_path: Path) -> None:
    limits = ScratchLimits(max_bytes=4 << 20, reserve_bytes=1 << 20, changes=3)
    for only in ("overlay", "copy"):
        place = furnished(tmp_path / only, only=only, limits=limits)
        copy = place.open()
        for text, unread in (
            ("touch 1 2 3", ""),
            ("touch 1 2 3 4", "count"),
            ("truncate -s 8M huge", "size"),
        ):
            line(copy, place, text)
            found = copy.changes()
            assert (found.unread, found.known) == (unread, not unread), (only, text)
        copy.clear()


def test_the_refusal_of_a_full_copy_names_a_command_that_removes_it(tmp_path: Path) -> None:
    limits = ScratchLimits(max_bytes=4 << 20, reserve_bytes=1 << 20)
    place = furnished(tmp_path, only="overlay", limits=limits)
    copy = place.open("mine")
    line(copy, place, "mkdir -p out; head -c 20000000 /dev/zero > out/big")
    with pytest.raises(Refused) as refused:
        line(copy, place, "true")
    assert refused.value.next == "assent scratch clear mine"
    copy.clear()


def test_the_folders_of_copies_are_private_again(tmp_path: Path) -> None:
    place = furnished(tmp_path)
    place.open().close()
    folders = [place.folder.parent, place.folder, place.folder / "s1"]
    for folder in folders:
        folder.chmod(0o777)
    place.open().close()
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700] * 3
