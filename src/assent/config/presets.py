"""Rule presets to start from: safe, dev and full; a person's own rules come after them."""

from assent.core.permission.rule import PermissionRule, RuleAction

NETWORK = "It reaches the network."
INSTALLS = "It installs software, which may run anything."
PUBLISHES = "It publishes work where others see it."
RECORDS = "It changes git's own files: that works only with the answer `without the sandbox`."
LOSES_WORK = "It can lose work for good."
PRIVILEGED = "It acts as another user, or on the whole machine."

_DOWNLOADS = ("curl", "wget", "ssh", "scp", "rsync", "nc", "ftp")
_INSTALLERS = (
    "npm install", "npm i", "npm ci", "pnpm add", "pnpm install", "yarn add", "yarn install",
    "pip install", "pip3 install", "python -m pip install", "uv add", "uv pip install", "uv sync",
    "poetry add", "poetry install", "cargo install", "cargo add", "go install", "go get",
    "gem install", "bundle install", "composer require", "composer install", "brew install",
    "apt install", "apt-get install", "dnf install", "apk add", "npx", "uvx", "pipx",
)  # fmt: skip
_TESTERS = (
    "pytest", "python -m pytest", "python -m unittest", "tox", "nox", "npm test", "npm run test",
    "npm run lint", "npm run build", "pnpm test", "yarn test", "cargo test", "cargo check",
    "cargo build", "cargo clippy", "cargo fmt", "go test", "go vet", "go build", "gofmt",
    "make test", "make check", "make lint", "ruff check", "ruff format", "mypy", "pyright",
    "eslint", "tsc", "prettier", "jest", "vitest",
)  # fmt: skip
_PUSHES = ("git push", "gh pr create", "gh release create", "npm publish", "cargo publish",
           "twine upload", "docker push")  # fmt: skip
_KEEPS = ("git status", "git diff", "git log", "git show", "git stash list")
_RECORDS = ("git add", "git commit")
_LOSES = ("git reset --hard", "git clean", "git push --force", "git push -f", "rm -rf", "rm -fr")
_LOOKS = ("read", "list", "glob", "grep", "search")
_POWER = ("sudo", "su", "doas", "dd", "mkfs", "shutdown", "reboot", "systemctl", "chown", "mount")


def _rule(
    preset: str, permission: str, pattern: str, action: RuleAction, reason: str = ""
) -> PermissionRule:
    return PermissionRule(permission, pattern, action, reason, source=f"the preset {preset}")


def _commands(
    preset: str, names: tuple[str, ...], action: RuleAction, reason: str
) -> tuple[PermissionRule, ...]:
    """Returns a rule for each command, with whatever follows it; the examples prove each."""
    return tuple(
        PermissionRule(
            "bash",
            f"{name} *",
            action,
            reason,
            (name, f"{name} x -y"),
            (f"{name}x", f"x {name}"),
            f"the preset {preset}",
        )
        for name in names
    )


SAFE = (
    _rule("safe", "*", "*", "ask", "The preset safe asks before nearly everything."),
    *[_rule("safe", word, "*", "allow", "The workspace may be read.") for word in _LOOKS],
    _rule("safe", "task", "*", "allow", "Children have no more rights than their parent."),
    _rule("safe", "webfetch", "*", "deny", NETWORK),
    *_commands("safe", _DOWNLOADS, "deny", NETWORK),
    *_commands("safe", _INSTALLERS, "deny", INSTALLS),
    *_commands("safe", _PUSHES, "deny", PUBLISHES),
    *_commands("safe", _LOSES, "deny", LOSES_WORK),
    *_commands("safe", _POWER, "deny", PRIVILEGED),
)
DEV = (
    _rule("dev", "edit", "*", "allow", "Files of the workspace may change."),
    *_commands("dev", _TESTERS, "allow", "Usual work: it tests, checks or builds."),
    *_commands("dev", _KEEPS, "allow", "Usual work with git, which loses nothing."),
    *_commands("dev", _RECORDS, "ask", RECORDS),
    *_commands("dev", _DOWNLOADS, "ask", NETWORK),
    *_commands("dev", _INSTALLERS, "ask", INSTALLS),
    *_commands("dev", _PUSHES, "ask", PUBLISHES),
    *_commands("dev", _LOSES, "ask", LOSES_WORK),
    *_commands("dev", _POWER, "deny", PRIVILEGED),
)
FULL = (
    _rule("full", "*", "*", "allow", "The preset full allows everything that is not dangerous."),
    _rule("full", "doom_loop", "*", "ask", "The same thing once more helps seldom."),
    *_commands("full", _PUSHES, "ask", PUBLISHES),
    *_commands("full", _LOSES, "ask", LOSES_WORK),
    *_commands("full", _POWER, "deny", PRIVILEGED),
)

PRESETS: dict[str, tuple[PermissionRule, ...]] = {"safe": SAFE, "dev": DEV, "full": FULL}
