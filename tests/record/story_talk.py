"""Chapters about models: turns without a person, sessions, questions, builds of prose."""

import json
from typing import Any

from tests.record.program import Record

PLAN_TEXT = "# Greet\n\n- [ ] Write hello.txt\n"
PROSE = """\
---
scope: {files: ["src/*"]}
---
# Greet

- [ ] Write the greeting
- [ ] Say goodbye
"""
DONE = ("Write the greeting", "completed"), ("Say goodbye", "pending")

Call = tuple[str, dict[str, Any]]


def turn(text: str = "", *calls: Call, **more: Any) -> dict[str, Any]:
    """One answer of the model."""
    return {"text": text, "calls": [{"tool": tool, "args": args} for tool, args in calls], **more}


def write(path: str, content: str = "hello\n") -> Call:
    """A call that makes a file."""
    return "write", {"path": path, "content": content}


READ: Call = ("read", {"path": "a.txt"})
PRESENT: Call = ("present_plan", {})
WRITE_PLAN: Call = ("write_plan", {"text": PLAN_TEXT})
REMEMBER: Call = ("remember", {"fact": "Greetings are short."})
WHICH: Call = ("question", {"questions": [{"header": "Name", "question": "What name?"}]})
TASK: Call = ("task", {"prompt": "Look", "agent": "explore", "description": "Look around"})
TODO: Call = ("todo", {"todos": [{"content": words, "status": how} for words, how in DONE]})
PLANS = (
    turn("I look first.", READ, ("list", {}), ("glob", {"pattern": "*"})),
    turn(
        "I plan.",
        WRITE_PLAN,
        write("hello.txt"),
        ("edit", {"path": "a.txt", "old": "a", "new": "b"}),
    ),
    turn(
        "And remember.", REMEMBER, write("../out.txt"), ("read", {"path": "missing"}), ("none", {})
    ),
    turn("Here it is.", PRESENT),
    turn("As I said."),
)


FINDINGS = json.dumps(
    [
        {"on": "plan", "line": 1, "severity": "high", "text": "Why?"},
        {"on": 1, "line": 1, "text": "No test."},
    ]
)


def printing(tell: Record) -> None:
    """`assent -p` in its three forms, with every ending that needs no person."""
    here = tell.machine
    here.put("a.txt", "a\n")
    goal = ("-p", "Greet", "--model", here.model)
    tell("no-model", "-p", "Greet", code=2)
    tell("no-words", "-p", code=2)
    tell("no-such-mode", *goal, "--mode", "nobody", code=2)
    tell("no-such-agent", *goal, "--agent", "nobody", code=2)
    here.script(*PLANS)
    tell("presented-text", *goal, form="text", code=3)
    tell("presented", *goal, code=3)
    tell("presented-stream", *goal, form="stream-json", code=3)
    tell("status-presented", "status")
    tell("waiting", "waiting")
    tell("going-on", "-p", "-c", "Why?")
    here.script(turn("Hm.", WHICH), turn("I need to know."))
    tell("question", *goal, code=4)
    tell("question-stream", *goal, form="stream-json", code=4)
    here.script(turn("I try.", write("b.txt")), turn("I may not."))
    tell("nobody-to-ask", *goal, "--mode", "ask")
    tell("not-offered", *goal, "--mode", "yolo", "--deny", "edit:*")
    tell("denied", *goal, "--mode", "yolo", "--deny", "edit:b.*", form="stream-json")
    tell("allowed", *goal, "--mode", "auto-edit", form="stream-json")
    tell("status-after-an-edit", "status")
    tell("turn-undo-dry-run", "undo", "--dry-run")
    here.script(turn("", WRITE_PLAN, TODO), turn("More tomorrow."))
    tell("draft", *goal)
    here.script(turn("", READ), turn("Summary."))
    tell("limit", *goal, "--max-turns", "1", code=1)
    tell("budget", *goal, "--max-tokens", "1", code=4)
    here.script(*[turn("", READ)] * 20)
    tell("loop-guard", *goal, form="stream-json", code=1)
    here.script()
    tell("script-is-over", *goal, code=1)
    here.script(turn("First.", fault="overloaded"))
    here.config.write_text(here.config.read_text("utf-8") + "[retry]\nfirst_s = 0.001\n", "utf-8")
    tell("tried-again", *goal, form="stream-json")
    here.script(turn("Two look.", TASK), turn("Thanks."), explore=[turn("", READ), turn("Seen.")])
    tell("child", *goal, form="stream-json")
    tell("sessions-list", "sessions", "list")
    tell("memory-list", "memory", "list")
    tell("log", "log")
    tell("log-decisions", "log", "--decisions")
    fact = here.do("memory", "list")["facts"][0]["fact"]
    tell("memory-forget", "memory", "forget", fact)
    tell("memory-forget-unknown", "memory", "forget", "nobody", code=1)


def critique(tell: Record) -> None:
    """A second model comments on a plan; its comments are kept, dismissed and sent."""
    here = tell.machine
    here.put("a.txt", "a\n")
    critic = "[plan]\ncritic = '{}'\n"
    own = here.config.read_text("utf-8")
    here.config.write_text(own + critic.format(here.model), encoding="utf-8")
    goal = ("-p", "Greet", "--model", here.model)
    here.script(*PLANS, critic=[turn(FINDINGS), turn("Nothing to say.")])
    tell("presented", *goal, code=3)
    tell("comment-list", "comment", "list")
    tell("review", "review")
    tell("reject-nothing", "reject", code=2)
    tell("comment-keep", "comment", "keep", "1")
    tell("comment-keep-again", "comment", "keep", "1", code=1)
    tell("comment-keep-which", "comment", "keep", code=2)
    tell("comment-dismiss", "comment", "dismiss", "--all")
    tell("comment-list-kept", "comment", "list")
    tell("reject", "reject")
    tell("log", "log")
    tell("presented-stream", *goal, form="stream-json", code=3)
    here.config.write_text(own + critic.format("nobody/none"), encoding="utf-8")
    tell("no-critic", *goal, code=3)
    tell("models-list", "models", "list")


def sessions(tell: Record) -> None:
    """What is done with a session after its turns."""
    here = tell.machine
    here.put("a.txt", "a\n")
    tell("list-empty", "sessions", "list")
    tell("show-none", "sessions", "show", code=1)
    here.script(turn("First.", write("b.txt")), turn("Second."), turn("Third."), turn("Fourth."))
    session = here.do("-p", "Do it", "--model", here.model, "--mode", "yolo")
    slug = session["slug"]
    tell("list", "sessions", "list")
    tell("show", "sessions", "show", slug)
    tell("diff", "sessions", "diff", slug)
    tell("diff-turn", "sessions", "diff", slug, "--turn", "1")
    tell("rename", "sessions", "rename", slug, "Another title")
    tell("export", "sessions", "export", slug)
    tell("export-markdown", "sessions", "export", slug, "--format", "markdown")
    tell("export-file", "sessions", "export", slug, "--out", str(tell.base / "session.json"))
    tell("pause", "sessions", "pause", slug, "--reason", "Lunch")
    tell("status-paused", "status")
    tell("resume", "sessions", "resume", slug)
    tell("resume-nothing", "sessions", "resume", slug, code=1)
    tell("cancel", "sessions", "cancel", slug)
    tell("going-on-cancelled", "-p", "-c", "Go on", code=1)
    tell("retry", "sessions", "retry", slug)
    tell("rewind-list", "sessions", "rewind", slug, "--list")
    tell("rewind", "sessions", "rewind", slug)
    tell("fork", "sessions", "fork", slug)
    tell("runs-list", "runs", "list")
    turns = here.do("runs", "list")["runs"]
    tell("runs-show-turn", "runs", "show", turns[0]["run"])
    tell("delete", "sessions", "delete", slug)
    tell("delete-unknown", "sessions", "delete", "nobody", code=1)
    tell("log", "log")
    here.script(turn("word " * 800))
    here.do("-p", "Say much", "--model", here.model)
    tell("compact", "sessions", "compact")
    tell("compact-nothing", "sessions", "compact", code=1)


def questions(tell: Record) -> None:
    """Questions that are left open, and their answers from the command line."""
    here = tell.machine
    goal = ("-p", "Greet", "--model", here.model, "--mode", "ask", "--ask-later")
    tell("list-empty", "questions", "list")
    here.script(turn("May I?", write("a.txt")), turn("I did."), turn("May I?", write("b.txt")))
    tell("asked", *goal, form="stream-json", code=4)
    [asked] = tell("list", "questions", "list")["questions"]
    tell("show", "questions", "show", asked["id"])
    tell("show-unknown", "questions", "show", "nobody", code=1)
    tell("status-asked", "status")
    tell("waiting", "waiting")
    tell("still-open", "-p", "-c", "", code=4)
    tell("answer-declined", "questions", "answer", asked["id"], "yes", "--no-input", code=4)
    answer = ("questions", "answer", asked["id"])
    tell("answer-other-digest", *answer, "yes", "--digest", "0" * 64, code=5)
    tell("answer-nonsense", *answer, "yes", "no", code=2)
    always = [
        word for each in asked["questions"][0]["always"] for word in ("--pattern", each["pattern"])
    ]
    digest = ("--digest", asked["digest"])
    tell("answer-session", *answer, "session", *digest, *always)
    tell("answer-again", *answer, "no", code=5)
    tell("going-on", "-p", "-c", "", form="stream-json")
    tell("rules-list-granted", "rules", "list")
    tell("rules-revoke", "rules", "revoke", "--all")
    here.do("-p", "-c", "Now b", "--ask-later", code=4)
    [other] = here.do("questions", "list")["questions"]
    tell("answer-no", "questions", "answer", other["id"], "--words", "Not now")
    here.script(turn("Hm.", WHICH), turn("I know."))
    here.do(*goal, code=4)
    [model] = here.do("questions", "list")["questions"]
    tell("show-of-a-model", "questions", "show", model["id"])
    tell("answer-a-model", "questions", "answer", model["id"], "Ada")
    tell("list-all", "questions", "list", "--all")
    tell("log", "log")
    tell("log-decisions", "log", "--decisions")


def prose(tell: Record) -> None:
    """A plan of words alone, carried out by a model inside its scope."""
    here = tell.machine
    here.script(
        turn("A plan.", ("write_plan", {"text": PROSE})),
        turn("Here.", PRESENT),
        turn("Writing.", write("src/hello.txt"), write("other.txt")),
        turn("More.", write("src/more.txt"), TODO),
        turn("All done."),
    )
    goal = ("-p", "Greet", "--model", here.model)
    digest = here.do(*goal, code=3)["digest"]
    tell("review", "review")
    tell("approve", "approve", "--digest", digest)
    tell("build", "build")
    tell("status", "status")
    tell("runs-list", "runs", "list")
    digest = here.do(*goal, code=3)["digest"]
    tell(
        "approve-build-stream",
        "approve",
        "--digest",
        digest,
        "--build",
        "--model",
        here.model,
        form="stream-json",
    )
    here.script(
        turn("A plan.", ("write_plan", {"text": PROSE})),
        turn("Here.", PRESENT),
        turn("Writing.", write("src/third.txt")),
    )
    digest = here.do(*goal, code=3)["digest"]
    tell(
        "build-broken-off", "approve", "--digest", digest, "--build", "--model", here.model, code=1
    )
    tell("status-building", "status")
    tell("waiting", "waiting")
    tell("recover", "recover", code=6)
    tell("recover-roll-back-declined", "recover", "--roll-back", "--no-input", code=4)
    tell("recover-accept", "recover", "--accept")
    tell("log", "log")


def options(tell: Record) -> None:
    """A model offers two plans; the user compares them, sends both back, and chooses one."""
    here = tell.machine
    here.put("a.txt", "a\n")

    def draft(label: str, text: str) -> tuple[Call, ...]:
        edit = ("edit", {"path": "a.txt", "old": "a", "new": text, "option": label})
        plan = ("write_plan", {"text": f"# {label}\n\n- [ ] 1.1 Edit a.txt\n", "option": label})
        return plan, edit, write("both.txt")

    present = ("present_plan", {"options": ["Short", "Long"]})
    here.script(
        turn("I draft.", *draft("Short", "b"), *draft("Long", "c\nd"), ("options", {})),
        turn("Choose.", present),
        turn("Again.", ("options", {"option": "Short"}), present),
    )
    goal = ("-p", "Greet", "--model", here.model)
    tell("options", *goal, code=3)
    tell("status", "status")
    tell("plan-list", "plan", "list")
    tell("waiting", "waiting")
    tell("review", "review")
    tell("review-one", "review", "--plan", "greet_long")
    tell("approve-which", "approve", code=2)
    tell("build-which", "build", code=2)
    tell("reject-which", "reject", "--note", "No", code=2)
    tell("comment-add", "comment", "add", "plan:1", "Why?", "--plan", "greet_long")
    tell("reject-all", "reject", "--all", "--note", "Shorter")
    tell("options-again", "-p", "-c", "--model", here.model, code=3)
    digest = here.do("plan", "show", "--plan", "greet_short")["digest"]
    tell("approve-one", "approve", "--plan", "greet_short", "--digest", digest)
    tell("approve-other", "approve", "--plan", "greet_long", "--digest", digest, code=1)
    tell("plan-list-all", "plan", "list", "--all")
    tell("build", "build")
    tell("log", "log")
