"""Chapters about plans: made, staged, reviewed, commented, approved, refused, carried elsewhere."""

from tests.record.program import TRUSTING, Record

TEXT = """\
---
scope: {files: ["*.txt"]}
relies_on: [relied.txt]
---
# Greet

Write hello.txt.
"""
NUMBERS = "".join(f"line {number}\n" for number in range(1, 31))
DIFF = """\
--- a/old.txt
+++ b/old.txt
@@ -1 +1 @@
-old
+patched
"""
NOWHERE = "0" * 64


def writing(tell: Record) -> None:
    """A plan as a document, and everything that can be staged."""
    here = tell.machine
    tell("status-before-anything", "status")
    tell("init", "init")
    tell("init-again", "init")
    tell("plan-new", "plan", "new", "work", "--session", "story", "--goal", "Greet")
    tell("plan-new-other", "plan", "new", "other", "--session", "other", "--goal", "Wait")
    tell("plan-use", "plan", "use", "work")
    tell("plan-write", "plan", "write", "-", stdin=TEXT.replace("relied.txt", ""))
    tell("plan-show", "plan", "show")
    tell("plan-history", "plan", "history")
    tell("plan-history-diff", "plan", "history", "--diff", "1", "2")
    tell("plan-list", "plan", "list")
    tell("status-drafting", "status")
    here.put("old.txt", "old\n")
    here.put("both/one", "1\n")
    here.put("both/two", "2\n")
    tell("stage-list-empty", "stage", "list")
    tell("stage-write", "stage", "write", "hello.txt", "--from", "-", stdin="hello\n")
    tell("stage-write-unchanged", "stage", "write", "old.txt", "--from", "-", stdin="old\n")
    tell("stage-write-mode", "stage", "write", "old.txt", "--mode", "755")
    tell("stage-write-link", "stage", "write", "current", "--link-to", "hello.txt")
    tell("stage-edit", "stage", "edit", "old.txt", "--find", "old", "--put", "new")
    tell("stage-list", "stage", "list")
    tell("stage-move", "stage", "move", "both", "moved")
    tell("stage-delete", "stage", "delete", "moved/one")
    tell("stage-run", "stage", "run", "--undo", "rm made", "--network", "--", "touch", "made")
    tell("stage-run-unconfined", "stage", "run", "--no-sandbox", "--script", "touch more")
    operations = tell("diff", "diff")["operations"]
    tell("stage-remove", "stage", "remove", operations[0]["id"])
    tell("stage-clear", "stage", "clear")
    tell("stage-patch", "stage", "patch", "-", stdin=DIFF)
    copy = here.base / "copy"
    (copy / ".git").mkdir(parents=True)
    (copy / "both").mkdir()
    (copy / "both" / "one").write_text("one\n", encoding="utf-8")
    tell("stage-from", "stage", "from", str(copy), "--delete")
    tell("diff-live", "diff", "--live")
    tell("plan-delete-which", "plan", "delete", code=2)
    tell("plan-delete", "plan", "delete", "--plan", "other")
    tell("plan-list-all", "plan", "list", "--all")
    tell("log", "log")


def deciding(tell: Record) -> None:
    """A plan is proposed, read, commented, rejected, approved in part and as a whole."""
    here = tell.machine
    here.git("init", "-q", "-b", "main")
    here.put("relied.txt", "relied\n")
    here.put("old.txt", "old\n")
    here.put("gone.txt", "gone\n")
    here.git("add", ".")
    here.git("commit", "-q", "-m", "first")
    here.do("plan", "new", "work", "--session", "story", "--goal", "Greet")
    here.do("plan", "write", "-", stdin=TEXT)
    here.do("stage", "write", "hello.txt", "--from", "-", stdin="hello\nworld\n")
    here.do("stage", "write", "blob.txt", "--from", "-", stdin="\0\1")
    here.do("stage", "write", ".env", "--from", "-", stdin="TOKEN=1\n")
    here.do("stage", "delete", "gone.txt")
    here.do("stage", "move", "old.txt", "new.txt")
    here.do("stage", "run", "--no-sandbox", "--script", "touch made")
    tell("propose", "propose")
    tell("status-awaiting", "status")
    tell("waiting", "waiting")
    tell("review", "review")
    tell("review-changes", "review", "--changes")
    tell("review-seen", "review", "--seen")
    tell("review-seen-and-changes", "review", "--seen", "--changes", code=2)
    tell("build-unapproved", "build", code=3)
    tell("comment-add", "comment", "add", "plan:7", "Which greeting?")
    tell("comment-add-to-operation", "comment", "add", "1:1-2", "Why two lines?")
    tell("comment-add-nowhere", "comment", "add", "plan:7:7", "What?", code=2)
    tell("comment-list", "comment", "list")
    tell("comment-lines-plan", "comment", "lines", "plan")
    tell("comment-lines-operation", "comment", "lines", "1")
    tell("comment-change", "comment", "change", "2", "Two lines?")
    tell("comment-remove", "comment", "remove", "2")
    tell("comment-reply", "comment", "reply", "1", "Any greeting?")
    tell("comment-list-thread", "comment", "list")
    tell("reject-with-comments", "reject", "--scope", "Only text", "--priorities", "Hello first")
    tell("reject-a-draft", "reject", "--note", "No", code=1)
    here.do("stage", "write", "hello.txt", "--from", "-", stdin="hello\nthere\n")
    tell("propose-again", "propose")
    tell("review-since", "review")
    tell("review-changes-since", "review", "--changes")
    tell("reject", "reject", "--note", "Keep it")
    digest = tell("propose-a-third-time", "propose")["digest"]
    tell("approve-declined", "approve", "--no-input", code=4)
    tell("approve-other-digest", "approve", "--digest", NOWHERE, code=5)
    small = tell("approve-without-dry-run", "approve", "--without", "2,3", "--dry-run")["digest"]
    tell("approve", "approve", "--digest", digest, "--note", "Checked", "--expires", "2h")
    tell("status-approved", "status")
    tell("plan-show-approved", "plan", "show")
    here.do("reject", "--note", "Less")
    here.do("propose")
    tell("approve-without", "approve", "--without", "2,3", "--digest", small)
    tell("review-approved", "review")
    tell("status-declined", "status")
    tell("approve-which-part", "approve", "--dry-run", code=2)
    tell("log", "log")
    tell("log-decisions", "log", "--decisions")


def refusals(tell: Record) -> None:
    """What is refused, and with which word."""
    here = tell.machine
    tell("no-such-command", "nonsense", code=2)
    tell("no-such-option", "status", "--nonsense", code=2)
    tell("which-command", "plan", code=2)
    tell("no-plan", "build", code=1)
    tell("no-such-plan", "plan", "show", "--plan", "nobody", code=1)
    tell("no-such-run", "runs", "show", "nobody", code=1)
    tell("empty-reference", "undo", "", code=2)
    tell("nothing-to-undo", "undo", code=1)
    here.do("plan", "new", "work", "--session", "story", "--goal", "Greet")
    tell("bad-plan", "propose", code=1)
    here.do("plan", "write", "-", stdin="# Work\n")
    here.put("old.txt", "old\nold\n")
    tell("no-match", "stage", "edit", "old.txt", "--find", "new", "--put", "x", code=1)
    tell("several-matches", "stage", "edit", "old.txt", "--find", "old", "--put", "x", code=1)
    tell("outside", "stage", "write", "../x", "--from", "-", code=7)
    tell("git-s-own", "stage", "write", ".git/config", "--from", "-", code=7)
    here.do("stage", "write", "a", "--from", "-", stdin="a\n")
    tell("impossible", "stage", "write", "a/b", "--from", "-", stdin="b\n", code=1)
    tell("approve-a-draft", "approve", "--digest", NOWHERE, code=1)
    tell("missing-file", "stage", "delete", "missing", code=1)
    here.put(".opencode/assent.toml", '[[rules]]\npermission="edit"\npattern="a"\naction="deny"\n')
    tell("denied-propose", "propose")
    tell("denied-review", "review")
    digest = here.do("propose")["digest"]
    tell("denied-approve", "approve", "--digest", digest)
    tell("denied-build", "build", code=7)
    tell("denied-stage", "stage", "write", "a", "--from", "-", stdin="b\n", code=7)
    (here.root / ".opencode/assent.toml").unlink()
    here.config.write_text(TRUSTING + "independent = true\n", encoding="utf-8")
    here.do("reject", "--note", "Again")
    digest = here.do("propose")["digest"]
    tell("not-independent", "approve", "--digest", digest, code=7)
    here.config.write_text(TRUSTING + "require_rehearsal = true\n", encoding="utf-8")
    tell("not-rehearsed", "approve", "--digest", digest, code=7)
    here.config.write_text(TRUSTING + "expires_s = -1\n", encoding="utf-8")
    tell("approve-too-late", "approve", "--digest", digest)
    tell("expired", "build", code=4)
    here.config.write_text("[approve\n", encoding="utf-8")
    tell("broken-configuration", "plan", "show", code=2)
    here.config.write_text(TRUSTING, encoding="utf-8")
    other = tell.another("elsewhere")
    other.env = here.env
    plan = here.do("plan", "show")["plan_id"]
    tell("other-workspace", "plan", "show", "--plan", plan, on=other, code=5)


def drifting(tell: Record) -> None:
    """Files and texts that changed since a plan was made."""
    here = tell.machine
    here.put("a.txt", NUMBERS)
    here.put("b.txt", NUMBERS)
    here.do("plan", "new", "work", "--session", "story", "--goal", "Greet")
    for path in ("a.txt", "b.txt"):
        here.do("stage", "edit", path, "--find", "line 10\n", "--put", "ours\n")
    digest = here.do("propose")["digest"]
    tell("rebase-fits", "rebase")
    here.do("approve", "--digest", digest)
    here.put("a.txt", NUMBERS.replace("line 25\n", "theirs\n"))
    tell("drift", "build", code=5)
    tell("status-drifted", "status")
    tell("review-drifted", "review")
    tell("rebase-dry-run", "rebase", "--dry-run")
    tell("rebase", "rebase")
    here.put("a.txt", NUMBERS.replace("line 10\n", "theirs\n"))
    tell("rebase-conflict", "rebase", code=5)
    here.put("a.txt", NUMBERS)
    here.do("rebase")
    here.do("propose")
    text = here.do("plan", "show")["path"]
    here.put(text, "# Other\n")
    tell("diff-live-differs", "diff", "--live")
    tell("status-live-differs", "status")
    tell("live-differs", "approve", "--digest", digest, code=5)
    tell("plan-write-live", "plan", "write")


def travelling(tell: Record) -> None:
    """A plan goes from the machine that made it to a person and to one that applies it."""
    here, person, runner = tell.machine, tell.another("person"), tell.another("runner")
    for machine in (here, runner):
        machine.put("a.txt", "one\ntwo\n")
    file, yes = str(tell.base / "plan.json"), str(tell.base / "yes.json")
    here.do("plan", "new", "work", "--session", "story", "--goal", "Greet")
    here.do("stage", "write", "a.txt", "--from", "-", stdin="one\n2\n")
    here.do("stage", "write", "b.txt", "--from", "-", stdin="b\n")
    tell("propose-portable-where", "propose", "--portable", code=2)
    digest = tell("propose-portable", "propose", "--portable", "--out", file)["digest"]
    tell("review-file", "review", file, on=person)
    tell("approve-file-declined", "approve", file, "--no-input", on=person, code=4)
    tell("build-file-unapproved", "build", file, on=runner, code=3)
    tell("approve-file-apart", "approve", file, "--digest", digest, "--out", yes, on=person)
    tell("approve-file", "approve", file, "--digest", digest, "--expires", "3d", on=person)
    tell("review-file-approved", "review", file, on=runner)
    tell("build-file-untrusted", "build", file, on=runner, code=7)
    tell("build-file-damaged", "build", "-", stdin="{}\n", on=runner, code=7)
    key = tell("keys-show", "keys", "show", on=person)["key"]
    tell("keys-list-own", "keys", "list", on=runner)
    runner.config.write_text("", encoding="utf-8")
    tell("keys-trust-declined", "keys", "trust", key, "--no-input", on=runner, code=4)
    runner.config.write_text(TRUSTING, encoding="utf-8")
    tell("keys-trust", "keys", "trust", key, "--name", "ada", on=runner)
    tell("keys-list", "keys", "list", on=runner)
    tell("build-file-stream", "build", file, "--approval", yes, on=runner, form="stream-json")
    tell("build-file-again", "build", file, on=runner, code=5)
    tell("status-imported", "status", on=runner)
    tell("plan-list-imported", "plan", "list", on=runner)
    evidence = str(tell.base / "run.json")
    tell("export", "export", "--out", evidence, on=runner)
    tell("export-where", "export", on=runner, code=2)
    tell("export-to-stdout", "export", form="text", on=runner)
    tell("verify", "verify", evidence, on=runner)
    tell("verify-untrusted", "verify", evidence, on=person, code=7)
    tell("verify-damaged", "verify", "-", stdin="{}\n", on=runner, code=7)
    tell("keys-revoke", "keys", "revoke", "ada", on=runner)
    tell("keys-revoke-unknown", "keys", "revoke", "nobody", on=runner, code=2)
    tell("log-of-the-runner", "log", on=runner)
