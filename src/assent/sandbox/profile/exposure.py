"""Exposure limits: where credentials are, and what no variable makes visible."""

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

import msgspec

from assent.core.errors import Refused
from assent.core.paths import display_path, is_inside, similarity_key
from assent.core.permission.sensitive_paths import SECRET_FOLDERS
from assent.sandbox.profile.file_system import is_covered

_FEW: Final = 4  # homes, and what was found for them, that are remembered
_MANY_NAMES: Final = 1_000  # in a folder; to list more takes longer than to ask for each path
_MANY_PATHS: Final = 8  # in one folder: to list it takes less time than to ask for each

# Credential paths: where programs keep logins and histories, in a home and elsewhere.


# Below a home folder. A file or a folder; all of a folder counts.
BELOW_HOME: Final = (
    # keys, and what unlocks others
    ".ssh", ".gnupg", ".password-store", ".pki", ".local/share/keyrings", ".local/share/kwalletd",
    ".kde/share/apps/kwallet", ".config/keybase", ".local/share/keybase", ".config/op", ".op",
    ".config/1Password", ".config/Bitwarden", ".config/Bitwarden CLI", ".config/rbw",
    ".local/share/rbw", ".config/keepassxc", ".config/sops", ".config/age", ".age",
    ".config/step", ".step", ".local/share/gnupg", ".putty", ".cert", ".secrets",
    ".local/share/tpm2_pkcs11", ".krb5", ".config/Yubico",
    # clouds and clusters
    ".aws", ".azure", ".config/gcloud", ".gsutil", ".boto", ".kube", ".docker", ".dockercfg",
    ".config/containers", ".local/share/containers", ".minikube", ".helm", ".config/helm",
    ".config/doctl", ".config/hcloud", ".config/linode-cli", ".linode-cli", ".config/scw",
    ".config/scaleway", ".oci", ".bluemix", ".aliyun", ".tccli", ".ovh.conf", ".config/exoscale",
    ".config/openstack", ".config/flyctl", ".fly", ".config/netlify", ".netlify",
    ".config/vercel", ".vercel", ".local/share/com.vercel.cli", ".railway", ".heroku", ".render",
    ".config/heroku", ".wrangler", ".config/.wrangler", ".config/configstore", ".config/firebase",
    ".config/supabase", ".supabase", ".config/turso", ".config/planetscale", ".pulumi",
    ".terraform.d", ".terraformrc", ".vault-token", ".config/vault", ".consul-token",
    ".nomad-token", ".config/cloudflared", ".cloudflared", ".config/ngrok", ".ngrok2",
    ".config/tailscale", ".config/rclone", ".rclone.conf", ".s3cfg", ".mc", ".databrickscfg",
    ".databricks", ".snowsql", ".snowflake", ".config/snowflake", ".dbt", ".kaggle",
    ".config/kaggle", ".huggingface", ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens", ".config/wandb", ".modal.toml", ".runpod", ".config/stripe",
    # code hosts and version control
    ".git-credentials", ".config/git/credentials", ".gitcookies", ".config/gh", ".config/hub",
    ".config/glab-cli", ".config/tea", ".config/jj/repos", ".subversion/auth", ".bazaar",
    ".hgrc", ".config/hg", ".config/lab", ".config/sentry", ".sentryclirc", ".circleci",
    ".config/jira", ".config/.jira", ".jira.d", ".config/acli", ".config/linear",
    # package managers
    ".netrc", ".npmrc", ".npm/_logs", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip", ".pip",
    ".config/pypoetry", ".local/share/uv/credentials", ".config/uv", ".cargo/credentials",
    ".cargo/credentials.toml", ".cargo/config", ".cargo/config.toml", ".gem/credentials",
    ".local/share/gem/credentials", ".bundle/config", ".composer/auth.json",
    ".config/composer/auth.json", ".m2/settings.xml", ".m2/settings-security.xml",
    ".gradle/gradle.properties", ".gradle/init.d", ".ivy2/.credentials", ".sbt/.credentials",
    ".sbt/1.0/credentials.sbt", ".nuget/NuGet", ".config/NuGet", ".dotnet/corefx", ".microsoft",
    ".cabal/config", ".config/cabal", ".hex", ".config/hex", ".condarc", ".conda/.condarc",
    ".continuum", ".config/conda", ".conan", ".conan2", ".vcpkg", ".pub-cache/credentials.json",
    ".config/dart", ".opam/plugins/opam-publish", ".rye/credentials", ".config/nix",
    ".config/mise", ".config/rtx", ".android", ".fastlane", ".expo", ".cocoapods",
    # databases and mail
    ".pgpass", ".pg_service.conf", ".my.cnf", ".mylogin.cnf", ".mongorc.js", ".mongodb",
    ".config/pgcli", ".config/mycli", ".config/litecli", ".dbshell", ".rediscli_auth",
    ".local/share/DBeaverData", ".config/DBeaver", ".authinfo", ".authinfo.gpg", ".msmtprc",
    ".config/msmtp", ".mbsyncrc", ".offlineimaprc", ".fetchmailrc", ".muttrc", ".mutt",
    ".config/neomutt", ".thunderbird", ".config/evolution", ".local/share/evolution", ".mail",
    "Maildir", ".davfs2", ".smbcredentials",
    # agents and editors
    ".claude", ".claude.json", ".config/claude", ".codex", ".gemini", ".qwen", ".grok", ".crush",
    ".local/share/opencode", ".config/opencode", ".local/state/opencode", ".local/share/crush",
    ".config/crush", ".config/github-copilot", ".copilot", ".cursor", ".config/Cursor",
    ".config/goose", ".local/share/goose", ".aider", ".aider.conf.yml", ".aider.chat.history.md",
    ".continue", ".codeium", ".windsurf", ".config/Windsurf", ".kiro", ".kimi", ".vibe", ".amp",
    ".config/amp", ".local/share/amp", ".factory", ".augment", ".tabnine",
    ".config/io.datasette.llm", ".config/openai", ".openai", ".anthropic", ".config/anthropic",
    ".config/mistral", ".ollama", ".config/Code", ".config/VSCodium", ".vscode-server/data",
    ".config/zed", ".local/share/zed", ".config/JetBrains", ".local/share/JetBrains", ".jupyter",
    ".local/share/jupyter/runtime", ".emacs.d/auth-source",
    # browsers, messengers, desktops
    ".mozilla", ".config/mozilla", ".config/google-chrome", ".config/google-chrome-beta",
    ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi",
    ".config/opera", ".librewolf", ".waterfox", ".zen", ".tor-browser", ".local/share/qutebrowser",
    ".config/Slack", ".config/discord", ".config/Signal", ".config/Element", ".config/Mattermost",
    ".config/teams", ".local/share/TelegramDesktop", ".purple", ".weechat", ".config/weechat",
    ".irssi", ".config/hexchat", ".config/autostart", ".ICEauthority", ".Xauthority", ".dbus",
    ".config/pulse/cookie", ".var/app", "snap", ".cache/mozilla", ".cache/google-chrome",
    ".cache/chromium", ".local/share/Trash", ".wallet",
    ".bitcoin", ".ethereum", ".electrum", ".config/solana", ".config/Exodus", ".monero",
    # what was typed
    ".bash_history", ".zsh_history", ".zhistory", ".histfile", ".history", ".sh_history",
    ".ash_history", ".local/share/fish/fish_history", ".config/fish/fish_variables",
    ".local/share/atuin", ".config/nushell/history.txt", ".config/nushell/history.sqlite3",
    ".zsh_sessions", ".bash_sessions", ".python_history", ".node_repl_history", ".irb_history",
    ".pry_history", ".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history",
    ".mongosh", ".ipython", ".lesshst", ".viminfo", ".local/state/nvim", ".local/share/nvim/shada",
    ".local/state/bash", ".local/state/zsh", ".wget-hsts", ".xsession-errors",
    ".pam_environment", ".config/environment.d",
)  # fmt: skip

# Root's payload has uid 0: what only root may read, it could read.
ELSEWHERE: Final = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
    "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/gitconfig",
    "/etc/krb5.keytab", "/etc/security/opasswd", "/etc/wireguard", "/etc/openvpn",
    "/etc/NetworkManager", "/etc/wpa_supplicant", "/etc/netplan", "/etc/letsencrypt",
    "/etc/kubernetes", "/etc/rancher", "/etc/docker", "/etc/environment", "/etc/default",
    "/etc/mysql", "/etc/postgresql", "/etc/cups", "/etc/ppp", "/etc/nix/nix.conf",
    "/etc/apt/auth.conf", "/etc/apt/auth.conf.d", "/etc/pip.conf", "/etc/npmrc",
    "/usr/local/etc",
    "/var/lib/docker", "/var/lib/containers", "/var/lib/kubelet", "/var/lib/sss",
    "/var/lib/NetworkManager", "/var/lib/systemd", "/var/lib/private", "/var/lib/mysql",
    "/var/lib/postgresql", "/var/lib/cloud", "/var/spool/cron", "/var/mail", "/var/spool/mail",
    "/var/log", "/var/backups", "/var/cache/private",
    "/run", "/boot",
)  # fmt: skip


@lru_cache(_FEW)
def credential_paths(home: bytes) -> tuple[bytes, ...]:
    """Lists every credential path of a home folder and of the machine, existing or not."""
    below = [home.rstrip(b"/") + b"/" + os.fsencode(place) for place in BELOW_HOME]
    return (*below, *[os.fsencode(place) for place in ELSEWHERE])


MACHINE: Final = (b"/proc", b"/sys", b"/dev")

# What nobody means as a whole: others' homes, the machine's state, what programs put aside.
TOO_WIDE: Final = (b"/", b"/etc", b"/home", b"/run", b"/var", b"/boot", b"/tmp", b"/var/tmp")
_SHALLOW: Final = 2  # `/opt` is a folder of folders; a program's own folder lies deeper
_WINDOWS: Final = re.compile(rb"/mnt/[a-z](?:/.*)?", re.DOTALL)  # its programs would run outside


class ExposureLimits(msgspec.Struct, frozen=True):
    """The workspace, the home, what the caller hides, and credential paths; all real paths.

    `places` has a credential path under its name and under the path that it resolves to.
    """

    root: bytes
    home: bytes
    hidden: tuple[bytes, ...]
    places: frozenset[bytes]
    user: int

    def may_expose_chain(self, steps: Sequence[bytes], *, known: bool) -> bool:
        """Tells whether a folder that is reached by these steps, itself the last, may be shown.

        A symlink in the workspace, or of another user, must not choose what is shown.
        """
        *links, folder = steps
        if any(is_covered(step, MACHINE) for step in steps):
            return False
        if any(is_inside(link, self.root) or not self._is_ours(link) for link in links):
            return False
        return self.may_expose(folder, known=known)

    def may_expose(self, folder: bytes, *, known: bool) -> bool:
        """Tells whether a real folder may be shown; the content of a known one is masked."""
        if folder.count(b"/") < _SHALLOW or _WINDOWS.fullmatch(folder):
            return False
        if is_covered(folder, self.hidden) or is_covered(folder, self.places):
            return False
        if any(is_inside(one, folder) for one in (self.root, self.home, *self.hidden)):
            return False
        if not known and _is_below(folder, _in_order(self.places)):
            return False
        return os.path.isdir(folder) and self._is_ours(folder)

    def _is_ours(self, path: bytes) -> bool:
        try:
            return os.lstat(path).st_uid in (0, self.user)
        except OSError:
            return False

    def refusal(self, steps: Sequence[bytes]) -> str:
        """Returns why a path that the user chose is not shown; nothing if it is.

        `steps` are the symlinks in it, then the real path. What it contains is masked as anywhere.
        """
        if not steps:
            return "it does not exist"
        *links, path = steps
        if path in TOO_WIDE or any(is_covered(step, MACHINE) for step in steps):
            return "it is too much of this machine; name what is needed in it"
        if is_inside(self.home, path):
            return "it is your home folder or contains it; name what is needed in it"
        if any(is_inside(path, own) or is_inside(own, path) for own in self.hidden):
            return "Assent's own files are in it"
        if is_inside(path, self.root) or is_inside(self.root, path):
            return "it is the workspace, or a folder in or above it"
        if any(is_inside(link, self.root) or not self._is_ours(link) for link in links):
            return "a symlink that leads to it is in the workspace or belongs to another user"
        if not os.path.isdir(path) and not os.path.isfile(path):
            return "it is neither a file nor a folder"
        return ""


@lru_cache(_FEW)
def _in_order(paths: frozenset[bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(paths))


def _is_below(folder: bytes, paths: Sequence[bytes]) -> bool:
    """Tells whether one of these paths, which are in order, is below a folder."""
    below = folder + b"/"
    at = bisect_left(paths, below)
    return at < len(paths) and paths[at].startswith(below)


def exposure_limits(root: bytes, home: bytes, hidden: Sequence[bytes]) -> ExposureLimits:
    """Resolves all paths; refuses a workspace that no program should be given."""
    real = os.path.realpath(root)
    own = os.path.realpath(home)
    behind = tuple(os.path.realpath(path) for path in hidden)
    _refuse(real, behind)
    named = credential_paths(own)
    led = [os.path.realpath(place) for place in _there(own) if os.path.lexists(place)]
    return ExposureLimits(real, own, behind, frozenset((*named, *led)), os.getuid())


def _there(home: bytes) -> Iterator[bytes]:
    """Yields the credential paths that may exist: a folder of many is listed once."""
    for folder, paths in _by_folder(home):
        names = _names(folder) if len(paths) >= _MANY_PATHS else None
        yield from (path for path, name in paths if names is None or name in names)


def _names(folder: bytes) -> frozenset[bytes] | None:
    """Returns the `similarity_key` of each name in a folder; None: ask for each path."""
    try:
        with os.scandir(folder) as entries:
            listed = [entry.name for entry in islice(entries, _MANY_NAMES + 1)]
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()
    except OSError:
        return None
    return frozenset(map(similarity_key, listed)) if len(listed) <= _MANY_NAMES else None


@lru_cache(_FEW)
def _by_folder(home: bytes) -> tuple[tuple[bytes, tuple[tuple[bytes, bytes], ...]], ...]:
    """Returns the credential paths, each with its name, by the folders that they are in."""
    found: dict[bytes, list[tuple[bytes, bytes]]] = {}
    for path in credential_paths(home):
        folder, _, name = path.rpartition(b"/")
        found.setdefault(folder or b"/", []).append((path, similarity_key(name)))
    return tuple((folder, tuple(paths)) for folder, paths in found.items())


def _refuse(root: bytes, hidden: Sequence[bytes]) -> None:
    if root == b"/" or any(is_inside(root, folder) for folder in MACHINE):
        raise Refused(
            f"{display_path(root)} is a system folder, not a project; no program is run on it.",
            "assent -C PROJECT status",
        )
    if any(is_inside(root, path) for path in hidden):
        raise Refused(
            f"{display_path(root)} is in Assent's own folders, which programs may not read.",
            "assent -C PROJECT status",
        )
    if any(part.lower() in SECRET_FOLDERS for part in root.split(b"/")):
        raise Refused(
            f"{display_path(root)} is a folder for keys, which programs may not read.",
            "assent -C PROJECT status",
        )
