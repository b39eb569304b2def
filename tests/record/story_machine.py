"""Chapters about the machine: rules, modes, trust, servers, models, and the sandbox."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from tests.record.program import NOBODY, TRUSTING, NoSandbox, Record
from tests.record.story_talk import turn, write

MODES = (
    '[modes.review]\nbase = "ask"\nlabel = "Review"\ntools = ["read", "edit"]\nedit = ["docs/**"]\n'
)
NARROWER = '[modes.review]\nbase = "ask"\nedit = ["docs/a/**"]\n'
RULES = """
[permission.bash]
"git push *" = "deny"
[[rules]]
permission = "edit"
pattern = "*.lock"
action = "deny"
reason = "Made by tools."
matches = ["uv.lock"]
misses = ["lock.py"]
"""
WRONG = '[[rules]]\npermission = "edit"\npattern = "*.lock"\naction = "deny"\nmatches = ["a.py"]\n'
HOOK = "[[hooks]]\non = 'before_tool'\nrun = ['./check.sh']\n"
SERVER = Path(__file__).parents[1] / "sandbox" / "serving.py"
LOOKS = '{"cmd": "git status"}\n{"cmd": "rm -rf x"}\n{}\n'


class Doorkeeper(BaseHTTPRequestHandler):
    """Lets nobody in."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Tells nobody."""


@contextmanager
def doorkeeper() -> Iterator[str]:
    """Serves on this machine what does not know any key; yields its address."""
    with HTTPServer(("127.0.0.1", 0), Doorkeeper) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def permissions(tell: Record) -> None:
    """What may happen here, and who says so."""
    here = tell.machine
    here.put("a.txt", "a\n")
    here.config.write_text(TRUSTING + MODES + RULES, encoding="utf-8")
    tell("rules-list", "rules", "list")
    tell("rules-list-agent", "rules", "list", "--agent", "explore")
    tell("rules-list-no-agent", "rules", "list", "--agent", "nobody", code=2)
    tell("rules-test", "rules", "test")
    wrong = tell.base / "wrong.toml"
    wrong.write_text(WRONG, encoding="utf-8")
    tell("rules-test-wrong", "rules", "test", str(wrong), code=1)
    tell("rules-explain-edit", "rules", "explain", "edit", "a.txt")
    tell("rules-explain-denied", "rules", "explain", "edit", "uv.lock", "--mode", "yolo")
    tell("rules-explain-asked", "rules", "explain", "edit", "a.txt", "--mode", "ask")
    push = ("rules", "explain", "bash", "git push origin main")
    tell("rules-explain-bash", *push, "--mode", "yolo", "--allow", "bash:git *")
    tell("rules-explain-tool", "rules", "explain", "--tool", "write", "a.txt", "--mode", "review")
    tell("rules-explain-no-tool", "rules", "explain", "--tool", "nobody", "a.txt", code=2)
    tell("rules-revoke-which", "rules", "revoke", code=2)
    tell("rules-revoke-unknown", "rules", "revoke", "nobody", code=1)
    tell("modes-list", "modes", "list")
    tell("modes-show-builtin", "modes", "show", "plan")
    here.put(".opencode/assent.toml", NARROWER)
    tell("modes-show", "modes", "show", "review")
    (here.root / ".opencode/assent.toml").unlink()
    toml = tell("modes-export", "modes", "export", "review")["toml"]
    here.config.write_text(TRUSTING, encoding="utf-8")
    tell("modes-show-unknown", "modes", "show", "review", code=2)
    tell("modes-import-declined", "modes", "import", "-", "--no-input", stdin=toml, code=4)
    tell("modes-import", "modes", "import", "-", "--yes", stdin=toml)
    tell("trust-show-nothing", "trust", "show")
    here.put(".opencode/assent.toml", HOOK)
    [file] = tell("trust-show", "trust", "show")["files"]
    tell("trust-give-declined", "trust", "give", "--no-input", code=4)
    tell("trust-give-other", "trust", "give", file["path"], "--digest", "0" * 64, code=5)
    tell("trust-give", "trust", "give", file["path"], "--digest", file["digest"])
    tell("trust-list", "trust", "list")
    here.put(".opencode/assent.toml", HOOK + "# changed\n")
    tell("trust-show-changed", "trust", "show")
    tell("trust-revoke", "trust", "revoke")
    tell("log", "log")


def surroundings(tell: Record) -> None:
    """Models, servers of tools, what a model is told, and lines that are judged by their text."""
    here = tell.machine
    here.script(turn("Hello."), turn("More."))
    tell("models-list-none", "models", "list")
    keys = {"ANTHROPIC_API_KEY": "none", "OPENAI_API_KEY": "none"}
    tell("models-list", "models", "list", env=keys)
    tell("models-ask", "models", "ask", here.model, "Hello?")
    tell("models-ask-nobody", "models", "ask", "nobody/none", "Hello?", code=2)
    here.script()
    tell("models-ask-over", "models", "ask", here.model, "Hello?", code=1)
    here.config.write_text(TRUSTING + "[retry]\ntries = 1\n", encoding="utf-8")
    line = ("models", "ask", "anthropic/claude-sonnet-5-5", "Hello?")
    address = {"ANTHROPIC_BASE_URL": NOBODY}
    tell("models-ask-unavailable", *line, env=keys | address, code=1)
    with doorkeeper() as there:
        address = {"ANTHROPIC_BASE_URL": there}
        tell("models-ask-unauthorized", *line, env=keys | address, code=1)
    tell("mcp-list-none", "mcp", "list")
    notes = here.base / "notes"
    notes.mkdir()
    words = [sys.executable, "-I", "-S", str(SERVER), str(notes), ""]
    reads = '\n[mcp.one.reads]\npeek = "*"\n'
    served = f"[mcp.one]\ncommand = {words}{reads}[mcp.two]\ncommand = ['/nowhere']\n"
    here.config.write_text(TRUSTING + served, encoding="utf-8")
    tell("mcp-list", "mcp", "list")
    here.config.write_text(TRUSTING, encoding="utf-8")
    tell("debug-prompt", "debug", "prompt")
    tell("debug-tools", "debug", "tools")
    tell("debug-tools-ask", "debug", "tools", "--mode", "ask", "--agent", "explore")
    tell("shell-check", "shell", "check", "git log | head -3")
    tell("shell-check-writes", "shell", "check", "rm -rf x")
    tell("shell-check-unconfined", "shell", "check", "--no-sandbox", "git status")
    tell("shell-check-stdin", "shell", "check", "--stdin", stdin=LOOKS)
    tell("shell-check-what", "shell", "check", code=2)
    tell("demo", "demo", code=2)
    tell("version", "--version", form="text")


def settings(tell: Record) -> None:
    """Keys of providers, without a keyring."""
    here = tell.machine
    env = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    key = "a-key-that-nobody-has"
    tell("login", "login", "openai", "--stdin", stdin=key, env=env)
    tell("login-text", "login", "groq", "--stdin", "--file", stdin=key, form="text")
    tell("login-list", "login", "--list")
    tell("login-list-text", "login", "--list", form="text")
    tell("login-unknown", "login", "opnai", "--stdin", stdin=key, code=2)
    tell("logout", "logout", "openai")
    tell("logout-none", "logout", "openai", code=1)
    here.config.with_name("credentials").chmod(0o644)
    tell("login-exposed", "login", "--list", code=1)
    here.config.with_name("credentials").unlink()
    tell("config-list", "config", "list")
    tell("config-list-all", "config", "list", "--all")
    tell("config-set", "config", "set", "mode", "ask")
    tell("config-set-wrong", "config", "set", "mode", "nope", code=2)
    tell("config-set-project", "config", "set", "--project", "budget.dollars", "1", code=7)
    tell("config-get", "config", "get", "mode")
    tell("config-get-unknown", "config", "get", "mood", code=1)
    tell("config-unset", "config", "unset", "mode")
    tell("config-unset-none", "config", "unset", "mode", code=1)
    tell("config-edit", "config", "edit", code=2)
    tell("mcp-add", "mcp", "add", "one", "--", "server")
    tell("mcp-add-again", "mcp", "add", "one", "--", "server", code=2)
    tell("mcp-remove", "mcp", "remove", "one")
    tell("agents-list", "agents", "list")
    tell("agents-show", "agents", "show", "plan")
    tell("agents-show-unknown", "agents", "show", "plam", code=1)
    tell("help", "help")
    tell("help-topic", "help", "errors")
    tell("help-unknown", "help", "erors", code=1)
    tell("completion", "completion", "bash")


def serving(tell: Record) -> None:
    """Who may use the server, and which workspaces it shows; tests/web has it at work."""
    tell("token", "serve", "token")
    tell("token-named", "serve", "token", "--name", "ci", "--role", "author")
    tell("token-taken", "serve", "token", "--name", "ci", code=2)
    tell("token-list", "serve", "token", "--list")
    tell("token-list-text", "serve", "token", "--list", form="text")
    tell("token-revoke", "serve", "token", "--revoke", "ci")
    tell("token-revoke-missing", "serve", "token", "--revoke", "ci", code=1)
    tell("logout", "serve", "logout", "--tokens")
    tell("password", "serve", "password", "--stdin", stdin="a long password")
    tell("password-remove", "serve", "password", "--remove")
    tell("remote", "serve", "--host", "0.0.0.0", code=2)
    tell("add", "serve", "add", ".")
    tell("add-remove", "serve", "add", ".", "--remove")
    tell("code", "serve", "code", code=1)
    tell("stop", "serve", "stop")


def sandboxed(tell: Record) -> None:
    """The shell of a planning model, and commands of plans, in the sandbox."""
    here = tell.machine
    here.git("init", "-q", "-b", "main")
    here.put("a.txt", "a\n")
    here.git("add", ".")
    here.git("commit", "-q", "-m", "first")
    here.do("shell", "run", "pwd")
    shell = here.do("status")["shell"]
    if shell["hold"] != "held":
        raise NoSandbox(shell["reason"])
    tell.hidden = frozenset()
    tell("shell-run", "shell", "run", "cat a.txt | wc -l")
    tell("shell-run-fails", "shell", "run", "cat missing", code=1)
    tell("shell-run-text", "shell", "run", "cat a.txt", form="text")
    tell("shell-run-refused", "shell", "run", "rm a.txt", code=7)
    tell("shell-run-unquoted", "shell", "run", "cat", "a.txt", code=2)
    tell("shell-run-scratch", "shell", "run", "--scratch", "rm a.txt; echo b > b.txt; mkdir .git/x")
    tell("shell-run-scratch-text", "shell", "run", "--scratch", "rm a.txt", form="text")
    tell("scratch-list", "scratch", "list")
    tell("scratch-show", "scratch", "show")
    tell("scratch-show-one", "scratch", "show", "shell")
    tell("scratch-show-missing", "scratch", "show", "missing", code=1)
    tell("scratch-clear", "scratch", "clear", "shell")
    tell("scratch-clear-what", "scratch", "clear", code=2)
    tell("status-tested", "status")
    here.script(
        turn("I look.", ("shell", {"command": "git log"}), ("git", {"command": "status"})),
        turn("And more.", ("grep", {"pattern": "a"}), ("search", {"name": "a"})),
        turn("I stage.", ("shell", {"command": "touch made", "stage": True}), write("b.txt")),
        turn("Here.", ("write_plan", {"text": "# Make\n"}), ("present_plan", {})),
    )
    goal = ("-p", "Make it", "--model", here.model)
    planned = tell("planned", *goal, form="stream-json", code=3)
    tell("review", "review")
    tell("rehearse", "rehearse", "--", "test -f b.txt")
    tell("rehearse-text", "rehearse", "--", "test -f b.txt", form="text")
    tell("rehearse-fails", "rehearse", "--", "test -f missing", code=1)
    tell("review-rehearsed", "review")
    digest = planned[-1]["body"]["digest"]
    tell("build", "approve", "--digest", digest, "--build", form="stream-json")
    tell("runs-list", "runs", "list")
    run = here.do("runs", "list")["runs"][0]["run"]
    tell("runs-show", "runs", "show", run)
    tell("undo-dry-run", "undo", "--dry-run")
    here.script(turn("I make.", ("shell", {"command": "touch more; exit 3"})), turn("I did."))
    tell("at-once", *goal, "--mode", "yolo", form="stream-json")
    tell("runs-list-command", "runs", "list")
    tell("log", "log")
    tell("log-decisions", "log", "--decisions")
    here.do("plan", "new", "result", "--session", "story", "--goal", "Make")
    tell("stage-result", "stage", "result", "--", "echo b > made.txt; rm a.txt; mkdir .git/x")
    tell("stage-result-text", "stage", "result", "--", "echo c > made.txt", form="text")
    tell("stage-result-fails", "stage", "result", "--", "echo d > made.txt; exit 3", code=1)
    tell("stage-result-offline", "stage", "result", "--network", "--", "true", code=4)
    tell("stage-result-what", "stage", "result", code=2)
