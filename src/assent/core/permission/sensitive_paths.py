"""Sensitive paths, in two tables: protected ones, which control other programs, and secret ones."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

import msgspec

from assent.core.paths import GIT, base_name, casefolded, parent
from assent.core.text.glob_pattern import PATH_TABLE, glob_expression

# Protected paths: files that make other programs do things, or hold secrets.
#
# Others are only run, later, by programs that a developer starts anyway: `executed_later`.


class ProtectedPattern(msgspec.Struct, frozen=True):
    """Globs for whole parts of a path, why they are protected, and example paths.

    `because` is the reason for one file, as a clause.
    """

    why: str
    because: str
    globs: tuple[str, ...]
    hits: tuple[str, ...]
    misses: tuple[str, ...] = ()


# A change to these changes what an agent may do, so the user is asked in every mode.
AGENT_FILES: Final = ProtectedPattern(
    "Agents and Assent itself read their instructions from these.",
    "it tells agents and Assent how to work here",
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
        "Git runs these automatically.",
        "git runs it",
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
        "These change how Git treats files.",
        "it changes how git treats files",
        (".gitmodules", ".gitattributes", ".gitconfig"),
        (".gitmodules", "sub/.gitattributes", ".GitConfig"),
        (".gitignore", "gitmodules"),
    ),
    ProtectedPattern(
        "CI runs these, often with access to secrets.",
        "CI runs it",
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
        "Editors run tasks and apply settings from these.",
        "editors run tasks from it",
        (".vscode", ".idea", "*.code-workspace", ".devcontainer", ".devcontainer.json", ".zed",
         ".fleet", ".nvim.lua", ".nvimrc", ".exrc", ".vimrc", ".lvimrc", ".dir-locals.el"),
        (".vscode/tasks.json", "a/.idea/x.xml", "app.code-workspace", ".devcontainer/Dockerfile"),
        ("vscode/readme.md", "code-workspace"),
    ),
    AGENT_FILES,
    ProtectedPattern(
        "Shells and package managers read settings and secrets from these.",
        "shells and package managers read it",
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
        "Python runs it automatically",
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
        "JavaScript tools run it",
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
        "build tools run it",
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
_TEMPLATE = r"(?:^|/)\.env\.(?:example|sample|template|dist|defaults?)$"


def protected_reason(path: bytes) -> str | None:
    """Returns why a path is protected, or None; case and hidden characters make no difference."""
    row = protecting_pattern(path)
    return row.why if row is not None else None


def protecting_pattern(path: bytes) -> ProtectedPattern | None:
    """Returns the row of the table that protects a path."""
    text = casefolded(path).decode("utf-8", "surrogateescape")
    if not _may_be_protected(text):
        return None
    match = _pattern().search(text)
    if match is None or re.search(_TEMPLATE, text):
        return None
    return PROTECTED_PATHS[int(str(match.lastgroup)[1:])]


def configures_agents(path: bytes) -> bool:
    """Tells whether agents or Assent read instructions from a path or from what is in it.

    Packages contain such files too; no agent works in the folders where those are.
    """
    text = casefolded(path).decode("utf-8", "surrogateescape")
    match = _orders().search(text)
    return match is not None and _PACKAGES.isdisjoint(text[: match.start() + 1].split("/"))


def executed_later(path: bytes) -> str | None:
    """Returns why other programs will run a file, or None; None for a protected path, too."""
    last = casefolded(base_name(path)).decode("utf-8", "surrogateescape")
    if last not in _EXECUTED and last.rpartition(".")[2] not in _EXECUTED_ENDINGS:
        return None  # as most are, and found out much faster
    match = _executed().fullmatch(last)
    if match is None or protecting_pattern(path) is not None:
        return None
    return EXECUTED_LATER[int(str(match.lastgroup)[1:])].why


def holds_protected(path: bytes) -> bool:
    """Tells whether a folder of that name is one that contains protected names."""
    last = casefolded(base_name(path)).decode("utf-8", "replace")
    return last.startswith(".") and last in _FOLDERS


def is_unsafe_link(path: bytes, target: bytes) -> bool:
    """Tells whether a symlink points outside or to a protected path, or replaces one."""
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
    return glob_expression(glob.lower(), PATH_TABLE)


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


def _may_be_protected(text: str) -> bool:
    """Tells quickly of most paths that they are not; no path that is protected gets a False."""
    parts = text.removesuffix("\n").split("/")  # a line feed may follow the end of a pattern
    if not _NAMES.isdisjoint(parts):
        return True
    for part in parts:  # noqa: SIM110 - any() takes longer
        if part.startswith(_HEADS) or part.endswith(_TAILS):
            return True
    return False


# How the first part of a protected path reads, by its glob: whole, or how it begins or else ends.
_FIRST_PARTS = [
    re.split(r"[*?]", glob.partition("/")[0].lower())
    for row in PROTECTED_PATHS
    for glob in row.globs
]
_NAMES = frozenset([texts[0] for texts in _FIRST_PARTS if len(texts) == 1])
_HEADS = tuple([texts[0] for texts in _FIRST_PARTS if len(texts) > 1 and texts[0]])
_TAILS = tuple([texts[-1] for texts in _FIRST_PARTS if len(texts) > 1 and not texts[0]])
_EXECUTED = {glob.lower() for row in EXECUTED_LATER for glob in row.globs}
_EXECUTED_ENDINGS = {glob.rpartition(".")[2] for glob in _EXECUTED if "*" in glob}
# A symlink under one of these names would bring the protected names below it from elsewhere.
_FOLDERS = {glob.partition("/")[0] for row in PROTECTED_PATHS for glob in row.globs if "/" in glob}


# Secret files: names of files that hold keys and passwords, in any folder.
#
# Protected paths are another table: those are what a plan should not touch unseen (hooks, editor
# settings), these what a program must not read; for some of these the content decides, too.


class SecretFilePattern(msgspec.Struct, frozen=True):
    """Globs for a name, or for a folder's name and a name in it, with names that prove them.

    With `marks`, a pattern, a file is a secret only if that is found in its beginning.
    """

    why: str
    globs: tuple[str, ...]
    hits: tuple[str, ...]
    misses: tuple[str, ...] = ()
    marks: bytes = b""


SECRET_FOLDERS: Final = frozenset({b".ssh", b".gnupg", b".password-store"})

SECRET_FILES: Final = (
    SecretFilePattern(
        "Settings that contain passwords.",
        (".env", ".env.*", ".env-*", ".env_*", ".env~", "..env.sw*", "*.env", "*.env.*", ".envrc",
         ".envrc.*", ".dev.vars", ".dev.vars.*", ".flaskenv", "local.settings.json",
         "wp-config.php", ".streamlit/secrets.toml", "secret*.tfvars", "*.secrets.tfvars"),
        (".env", ".ENV", ".env.production", ".env.example.local", "prod.env", "prod.env.local",
         "Prod.Env.2", ".envrc", ".streamlit/secrets.toml", "secrets.tfvars"),
        (".env.example", ".env.production.sample", "example.env", "app.template.env",
         "prod.env.example", ".env.schema", ".env-example", "env.py", "environment",
         "vite-env.d.ts", "secrets.toml", "main.tfvars"),
    ),
    SecretFilePattern(
        "Logins for other machines.",
        (".netrc", "_netrc", ".netrc.gpg", ".authinfo", ".authinfo.gpg", ".git-credentials",
         ".gitcookies", ".pypirc", ".htpasswd", ".pgpass", "pgpass.conf", ".my.cnf",
         ".mylogin.cnf", ".vault-token", ".vault_pass*", ".vault-pass*", ".s3cfg", ".boto",
         ".dockercfg", ".dockerconfigjson", "kubeconfig", "*.kubeconfig", ".terraformrc",
         "terraform.rc", "credentials.tfrc.json", "rclone.conf", ".rclone.conf", ".msmtprc",
         ".fetchmailrc", ".smbcredentials", ".esmtprc", ".databrickscfg", ".snowsql/config",
         ".aws/credentials", ".aws/config", ".docker/config.json", ".kube/config",
         ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", "gh/hosts.yml",
         ".config/hub", "gcloud/credentials.db", "gcloud/access_tokens.db",
         "application_default_credentials.json", ".composer/auth.json", ".m2/settings.xml",
         ".m2/settings-security.xml", ".passwd-s3fs", ".passwd"),
        (".netrc", "_NETRC", ".aws/credentials", ".kube/config", "prod.kubeconfig", "gh/hosts.yml"),
        ("credentials", "config.json", "aws/credentials", "netrc.md"),
    ),
    SecretFilePattern(
        "Service keys.",
        ("credentials.json", "service-account*.json", "service_account*.json",
         "serviceaccount*.json", "client_secret*.json", "*-firebase-adminsdk-*.json",
         "gcp-key*.json", "terraform.tfstate", "terraform.tfstate.*", "*.tfstate",
         "*.tfstate.backup", "master.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.bks",
         "*.kdbx", "*.kdb", "*.ppk", "*.keytab"),
        ("credentials.json", "service-account-prod.json", "terraform.tfstate.1.backup",
         "config/master.key", "a.p12", "Release.JKS", "x-firebase-adminsdk-1a.json"),
        ("credentials.py", "credentials.json.md", "main.tf", "package.json"),
    ),
    SecretFilePattern(
        "Private keys.",
        ("id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk",
         "identity.key", "ssh_host_*_key"),
        ("id_rsa", "deploy/id_ed25519", "ssh_host_rsa_key"),
        ("id_rsa.pub", "id_ed25519.pub", "id_rsa_parser.py"),
    ),
    SecretFilePattern(
        "Input history, which may contain passwords.",
        (".*_history", ".*-history", ".lesshst", ".viminfo", "fish_history"),
        (".bash_history", ".psql_history", "fish_history"),
        ("history.md", "_history", "bash_history"),
    ),
    SecretFilePattern(
        "A private key, if its content says so; certificates and public keys use these names too.",
        ("*.pem", "*.key", "*.p8", "*.pk8", "*.asc", "*.gpg", "*.ovpn", "id_rsa*", "id_dsa*",
         "id_ecdsa*", "id_ed25519*", "*_rsa", "*_ed25519", "*_ecdsa", "private_key", "*.pri",
         "keys.txt", "age.txt"),
        ("server.pem", "tls.KEY", "id_rsa_work", "private_key", "deploy_ed25519"),
        ("pem", "keyboard.py"),
        rb"PRIVATE KEY|AGE-SECRET-KEY-",
    ),
    SecretFilePattern(
        "Package manager settings, if they contain a login; most only name a registry.",
        (".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml", "auth.json", "nuget.config",
         ".bundle/config", ".condarc", "pip.conf", "pip.ini", ".cargo/config",
         ".cargo/config.toml", "gradle.properties", "uv.toml"),
        (".npmrc", "auth.json", "NuGet.Config", ".cargo/config.toml"),
        ("npmrc.md", "config.toml"),
        rb"(?i)_auth|npmauth|passw|token|secret|http-basic|github-oauth|bearer|/t/[a-z]"
        rb"|://[^/\s:@]+:[^/\s@]+@",
    ),
)  # fmt: skip

# Everybody commits these: they say which settings exist, and hold no real ones.
_BLANK: Final = "example|examples|sample|samples|template|tmpl|tpl|dist|default|defaults|schema"
_SECRET_TEMPLATE: Final = (
    rf"(?:.*\.env|\.(?:envrc|flaskenv|dev\.vars))(?:[._-].+)?[._-](?:{_BLANK})"
    rf"|(?:.*[._-])?(?:{_BLANK})\.env"
)


def secret_file(folder: bytes, name: bytes) -> SecretFilePattern | None:
    """Returns what makes a name in a folder of that name a secret, whatever its case."""
    low, above = casefolded(name), casefolded(folder)
    if above not in _quick().folders and not _quick().may_be(low):
        return None
    text = (above + b"/" + low).decode("utf-8", "surrogateescape")
    match = _secret_pattern().fullmatch(text)
    if match is None or re.fullmatch(_SECRET_TEMPLATE, text.rpartition("/")[2]):
        return None
    return SECRET_FILES[int(str(match.lastgroup)[1:])]


class _SecretFilter(msgspec.Struct, frozen=True):
    """Rules out quickly that most names are secrets, because every file is checked."""

    exact: frozenset[bytes]
    starts: tuple[bytes, ...]
    ends: tuple[bytes, ...]
    middles: tuple[bytes, ...]
    folders: frozenset[bytes]
    parts: tuple[tuple[bytes, ...], ...]  # the plain parts of each glob, between its wildcards

    def may_be(self, low: bytes) -> bool:
        if low in self.exact:
            return True
        if not (low.startswith(self.starts) or low.endswith(self.ends)):
            return any(middle in low for middle in self.middles)
        # To compile the pattern takes long, and `.gitignore` begins as some secrets do.
        return any(
            low.startswith(parts[0]) and low.endswith(parts[-1]) and all(p in low for p in parts)
            for parts in self.parts
        )


def secret_reason(path: bytes) -> str:
    """Returns why a path may be secret, also if only its content could tell."""
    folder, _, name = path.rstrip(b"/").rpartition(b"/")
    if SECRET_FOLDERS.intersection(casefolded(path).split(b"/")):
        return "It is in a folder of keys."
    found = secret_file(folder.rpartition(b"/")[2], name)
    return found.why if found else ""


@cache
def _quick() -> _SecretFilter:
    globs = [glob.lower().encode() for row in SECRET_FILES for glob in row.globs]
    names = [glob for glob in globs if b"/" not in glob]
    return _SecretFilter(
        frozenset(glob for glob in names if b"*" not in glob),
        tuple({glob.partition(b"*")[0] for glob in names if b"*" in glob} - {b""}),
        tuple({glob.rpartition(b"*")[2] for glob in names if glob.startswith(b"*")} - {b""}),
        tuple(glob.strip(b"*") for glob in names if glob[:1] == glob[-1:] == b"*"),
        frozenset(glob.partition(b"/")[0] for glob in globs if b"/" in glob),
        tuple(tuple(glob.split(b"*")) for glob in names if b"*" in glob),
    )


@cache
def _secret_pattern() -> re.Pattern[str]:
    rows = [f"(?P<r{n}>{'|'.join(_regexes(row.globs))})" for n, row in enumerate(SECRET_FILES)]
    return re.compile("|".join(rows), re.DOTALL)


def _regexes(globs: Iterable[str]) -> list[str]:
    whole = [glob if "/" in glob else f"*/{glob}" for glob in globs]
    return [_regex(glob) for glob in whole]
