"""Protected paths: files that make other programs do things, or hold secrets.

Others are only run, later, by programs that a developer starts anyway: `executed_later`.
"""

import re
from functools import cache
from typing import Final

import msgspec

from assent.core.paths import GIT, base_name, casefolded, parent


class ProtectedPattern(msgspec.Struct, frozen=True):
    """Globs for whole parts of a path, why they are protected, and paths that prove it.

    `because` says it of one file, in the middle of a sentence.
    """

    why: str
    because: str
    globs: tuple[str, ...]
    hits: tuple[str, ...]
    misses: tuple[str, ...] = ()


# Who changes these changes what an agent may do; so a person is asked, whatever the mode.
AGENT_FILES: Final = ProtectedPattern(
    "Agents, and Assent itself, take their orders from these.",
    "it says how agents and Assent work here",
    (
        ".opencode", "opencode.json", "opencode.jsonc", "AGENTS.md", "AGENTS.override.md",
        "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".claude", ".claude.json", ".cursor",
        ".cursorrules", ".cursorignore", ".mcp.json", "mcp.json", ".aider*", ".codex",
        ".gemini", ".windsurf", ".windsurfrules", ".clinerules", ".roo", ".roomodes", ".kiro",
        ".github/copilot-instructions.md", ".github/instructions", ".goosehints",
        ".config/assent", ".config/opencode",
    ),
    (".opencode/assent.toml", "opencode.json", "sub/agents.md", "CLAUDE.md", ".mcp.json",
     ".claude/settings.json", ".cursorrules", ".aider.conf.yml", ".codex/config.toml",
     ".config/assent/config.toml"),
    ("docs/agents/x.md", "opencode.py", "claude.txt"),
)  # fmt: skip

PROTECTED_PATHS: Final = (
    ProtectedPattern(
        "Git runs these by itself.",
        "git runs what it says",
        (
            ".husky", ".githooks", ".git-hooks", "githooks", "git-hooks", ".hooks", "lefthook.y*ml",
            ".lefthook.y*ml", ".pre-commit-config.y*ml", ".pre-commit-hooks.y*ml", ".lintstagedrc*",
            "hooks/applypatch-msg", "hooks/pre-*", "hooks/post-*", "hooks/prepare-commit-msg",
            "hooks/commit-msg", "hooks/update", "hooks/fsmonitor-*", "hooks/push-to-checkout",
        ),
        (".husky/pre-commit", "tools/.githooks/x", ".pre-commit-config.yaml", "a/hooks/pre-push"),
        ("src/hooks/use_thing.ts", "docs/husky.md"),
    ),
    ProtectedPattern(
        "Git changes how it treats files because of these.",
        "git obeys it",
        (".gitmodules", ".gitattributes", ".gitconfig"),
        (".gitmodules", "sub/.gitattributes", ".GitConfig"),
        (".gitignore", "gitmodules"),
    ),
    ProtectedPattern(
        "Continuous integration runs these, often with secrets at hand.",
        "continuous integration runs what it says",
        (
            ".github/workflows", ".github/actions", ".github/codeowners", ".github/dependabot.y*ml",
            ".gitlab-ci.y*ml", ".gitlab/ci", ".circleci", "Jenkinsfile*", "azure-pipelines.y*ml",
            ".azure-pipelines", ".travis.y*ml", ".drone.y*ml",
            "bitbucket-pipelines.y*ml", ".buildkite", ".woodpecker", ".woodpecker.y*ml",
            ".forgejo/workflows", ".gitea/workflows", "appveyor.y*ml", ".appveyor.y*ml",
            ".cirrus.y*ml", ".ci", "cloudbuild.y*ml",
        ),
        (".github/workflows/ci.yml", "x/.GITHUB/Actions/a/action.yml", ".gitlab-ci.yml",
         ".circleci/config.yml", "ci/Jenkinsfile", "Jenkinsfile.release", ".ci/run"),
        ("docs/github/workflows.md", "my.travis.yml", ".github/ISSUE_TEMPLATE/bug.md"),
    ),
    ProtectedPattern(
        "An editor runs tasks and settings from these.",
        "editors run what it says",
        (".vscode", ".idea", "*.code-workspace", ".devcontainer", ".devcontainer.json", ".zed",
         ".fleet", ".nvim.lua", ".nvimrc", ".exrc", ".vimrc", ".lvimrc", ".dir-locals.el"),
        (".vscode/tasks.json", "a/.idea/x.xml", "app.code-workspace", ".devcontainer/Dockerfile"),
        ("vscode/readme.md", "code-workspace"),
    ),
    AGENT_FILES,
    ProtectedPattern(
        "Shells and package managers read settings and secrets from these.",
        "shells and package managers obey it",
        (
            ".env", ".env.*", "*.env", ".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc",
            "pip.conf", ".netrc", "_netrc", ".condarc", ".cargo/config", ".cargo/config.toml",
            ".cargo/credentials*", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
            ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
            ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", "config.fish", ".git-credentials",
            ".docker/config.json", ".dockercfg", ".kube", ".htpasswd", ".pgpass", ".my.cnf",
            ".terraformrc", ".config/gh", ".config/git",
        ),
        (".env", "app/.env.production", ".envrc", ".npmrc", ".pypirc", ".netrc", "home/.bashrc"),
        (".env.example", "app/.env.sample", "env.py", "environment.yml", "bashrc.md"),
    ),
    ProtectedPattern(
        "These are keys.",
        "it may be a key",
        (
            "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx",
            "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".ssh", ".gnupg", ".aws", ".azure",
            ".config/gcloud", "authorized_keys", "known_hosts",
        ),
        ("certs/server.pem", "a/tls.key", "id_rsa", "id_ed25519.pub", ".ssh/config", "x/.aws/y"),
        ("keyboard.py", "pem.txt", "docs/ssh.md"),
    ),
)  # fmt: skip

# Of these, folders and files that make agents start programs (hooks, servers) are kept from
# appearing while a model's command runs, too.
RESERVED_PATHS: Final = (
    b".claude", b".codex", b".cursor", b".gemini", b".kiro", b".mcp.json", b".roo", b".windsurf",
    b"opencode.json", b"opencode.jsonc",
)  # fmt: skip
_PACKAGES: Final = frozenset({"node_modules", "site-packages"})
EXECUTED_LATER: Final = (
    ProtectedPattern(
        "Python runs these when it starts, tests, builds or installs.",
        "Python runs it by itself",
        (
            "conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "setup.py",
            "noxfile.py", "tox.ini", "fabfile.py", "dodo.py", "SConstruct", "SConscript",
            "wscript", "hatch_build.py", "pdm_build.py",
        ),
        ("tests/conftest.py", "sitecustomize.py", "venv/x.pth", "Setup.py", "tox.ini"),
        ("setup.cfg", "my_conftest.py", "docs/setup.py.md"),
    ),
    ProtectedPattern(
        "JavaScript tools run these, or scripts in them, when they install, build or test.",
        "JavaScript tools run what it says",
        (
            "package.json", "gulpfile.*js", "gulpfile.*ts", "gruntfile.*js", "*.config.js",
            "*.config.cjs", "*.config.mjs", "*.config.ts", "*.config.mts", "*.config.cts",
            ".eslintrc.js", ".eslintrc.cjs", ".babelrc.js", ".pnpmfile.cjs", ".mocharc.js",
            ".mocharc.cjs", "karma.conf.js", "deno.json", "deno.jsonc",
        ),
        ("package.json", "web/package.json", "gulpfile.js", "Gruntfile.js", "vite.config.ts"),
        ("package-lock.json", "tsconfig.json", "config.js"),
    ),
    ProtectedPattern(
        "Build tools and task runners run these.",
        "build tools run what it says",
        (
            "Makefile", "GNUmakefile", "*.mk", "Makefile.am", "Makefile.in", "justfile",
            ".justfile", "*.just", "CMakeLists.txt", "*.cmake", "configure", "configure.ac",
            "meson.build", "build.rs", "build.gradle", "build.gradle.kts", "settings.gradle",
            "settings.gradle.kts", "init.gradle", "gradlew", "mvnw", "pom.xml", "build.xml",
            "build.sbt", "Rakefile", "*.gemspec", "Gemfile", "extconf.rb", "mix.exs",
            "rebar.config", "build.zig", "magefile.go", "Taskfile.yml", "Taskfile.yaml",
            "BUILD.bazel", "MODULE.bazel", "WORKSPACE.bazel", "*.bzl", "Dockerfile",
            "docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml",
            "Vagrantfile", "Procfile", "flake.nix", "default.nix", "shell.nix", "Package.swift",
            "Podfile", "*.csproj", "*.targets", "*.props", "composer.json", "Tiltfile",
            "Earthfile",
        ),
        (
            "Makefile", "sub/makefile", "GNUmakefile", "crates/x/build.rs", "CMakeLists.txt",
            "justfile", "Dockerfile", "app/build.gradle.kts",
        ),
        ("Makefile.md", "build.py", "docs/cmake.md", "src/build.rs.txt", "builder/x.go"),
    ),
)  # fmt: skip

# Templates without secrets: everybody commits them.
_TEMPLATE = re.compile(r"(?:^|/)\.env\.(?:example|sample|template|dist|defaults?)$")


def protected_reason(path: bytes) -> str | None:
    """Returns why a path is protected, or None, whatever its case and whatever hides in it."""
    row = protecting_pattern(path)
    return row.why if row is not None else None


def protecting_pattern(path: bytes) -> ProtectedPattern | None:
    """Returns the row of the table that protects a path."""
    text = casefolded(path).decode("utf-8", "surrogateescape")
    if _sieve().search("/" + text) is None:
        return None
    match = _pattern().search(text)
    if match is None or _TEMPLATE.search(text):
        return None
    return PROTECTED_PATHS[int(str(match.lastgroup)[1:])]


def configures_agents(path: bytes) -> bool:
    """Tells whether agents, or Assent itself, take orders from a path or from what is in it.

    Packages bring such files of their own; no agent works in the folders where they lie.
    """
    text = casefolded(path).decode("utf-8", "surrogateescape")
    match = _orders().search(text)
    return match is not None and _PACKAGES.isdisjoint(text[: match.start() + 1].split("/"))


def executed_later(path: bytes) -> str | None:
    """Returns why other programs will run a file, or None; a protected path is that alone."""
    last = casefolded(base_name(path)).decode("utf-8", "surrogateescape")
    if last not in _EXECUTED and last.rpartition(".")[2] not in _EXECUTED_ENDINGS:
        return None  # as most are, and found out much faster
    match = _executed().fullmatch(last)
    if match is None or protecting_pattern(path) is not None:
        return None
    return EXECUTED_LATER[int(str(match.lastgroup)[1:])].why


def holds_protected(path: bytes) -> bool:
    """Tells whether a folder of that name is one in which protected names lie."""
    last = casefolded(base_name(path)).decode("utf-8", "replace")
    return last.startswith(".") and last in _FOLDERS


def is_unsafe_link(path: bytes, target: bytes) -> bool:
    """Tells whether a symlink leads outside or to a protected place, or stands in for one."""
    if (
        target.startswith(b"/")
        or casefolded(base_name(path)).decode("utf-8", "replace") in _FOLDERS
    ):
        return True
    parts = parent(path).split(b"/") if parent(path) else []
    for part in target.split(b"/"):
        if part == b".." and not parts:
            return True
        if part == b"..":
            parts.pop()
        elif part not in (b"", b"."):
            parts.append(part)
    resolved = b"/".join(parts)
    return GIT in casefolded(resolved).split(b"/") or protected_reason(resolved) is not None


def _regex(glob: str) -> str:
    return re.escape(glob.lower()).replace(r"\*", "[^/]*")


@cache  # made when first needed, because it takes milliseconds
def _pattern() -> re.Pattern[str]:
    rows = [
        f"(?P<r{n}>{'|'.join(map(_regex, row.globs))})(?:/|$)"
        for n, row in enumerate(PROTECTED_PATHS)
    ]
    return re.compile(f"(?:^|/)(?:{'|'.join(rows)})")


@cache
def _orders() -> re.Pattern[str]:
    return re.compile(f"(?:^|/)(?:{'|'.join(map(_regex, AGENT_FILES.globs))})(?:/|$)")


@cache
def _executed() -> re.Pattern[str]:
    rows = [f"(?P<r{n}>{'|'.join(map(_regex, row.globs))})" for n, row in enumerate(EXECUTED_LATER)]
    return re.compile("|".join(rows))


@cache
def _sieve() -> re.Pattern[str]:
    """Returns a pattern for the same names that does not tell rows apart, and so is faster."""
    rests: dict[str, list[str]] = {}  # of names, by their first character
    for glob in [glob for row in PROTECTED_PATHS for glob in row.globs]:
        rests.setdefault(_regex(glob[0]), []).append(_regex(glob[1:]))
    shared = [f"{first}(?:{'|'.join(found)})" for first, found in rests.items()]
    return re.compile(f"/(?:{'|'.join(shared)})(?:/|$)")


_EXECUTED = {glob.lower() for row in EXECUTED_LATER for glob in row.globs}
_EXECUTED_ENDINGS = {glob.rpartition(".")[2] for glob in _EXECUTED if "*" in glob}
# A symlink under one of these names would bring the protected names below it from elsewhere.
_FOLDERS = {glob.partition("/")[0] for row in PROTECTED_PATHS for glob in row.globs if "/" in glob}
