"""Secret files: names of files that hold keys and passwords, in any folder.

Protected paths are another table: those are what a plan should not touch unseen (hooks, editor
settings), these what a program must not read; for some of these the content decides, too.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

import msgspec

from assent.core.paths import casefolded


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
        "Settings with passwords in them.",
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
        "Keys of services.",
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
        "What was typed, passwords among it.",
        (".*_history", ".*-history", ".lesshst", ".viminfo", "fish_history"),
        (".bash_history", ".psql_history", "fish_history"),
        ("history.md", "_history", "bash_history"),
    ),
    SecretFilePattern(
        "A private key, if the file says so; certificates and public keys have these names too.",
        ("*.pem", "*.key", "*.p8", "*.pk8", "*.asc", "*.gpg", "*.ovpn", "id_rsa*", "id_dsa*",
         "id_ecdsa*", "id_ed25519*", "*_rsa", "*_ed25519", "*_ecdsa", "private_key", "*.pri",
         "keys.txt", "age.txt"),
        ("server.pem", "tls.KEY", "id_rsa_work", "private_key", "deploy_ed25519"),
        ("pem", "keyboard.py"),
        rb"PRIVATE KEY|AGE-SECRET-KEY-",
    ),
    SecretFilePattern(
        "Package managers' settings, if there is a login in them; mostly they name a registry.",
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
    """Tells of most names that they are no secret, because this is asked for every file."""

    exact: frozenset[bytes]
    starts: tuple[bytes, ...]
    ends: tuple[bytes, ...]
    middles: tuple[bytes, ...]
    folders: frozenset[bytes]

    def may_be(self, low: bytes) -> bool:
        if low in self.exact or low.startswith(self.starts) or low.endswith(self.ends):
            return True
        return any(middle in low for middle in self.middles)


def secret_reason(path: bytes) -> str:
    """Returns what makes a path a secret; a name that is one only by its content counts, too."""
    folder, _, name = path.rstrip(b"/").rpartition(b"/")
    if SECRET_FOLDERS.intersection(casefolded(path).split(b"/")):
        return "It lies among keys."
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
    )


@cache
def _secret_pattern() -> re.Pattern[str]:
    rows = [f"(?P<r{n}>{'|'.join(_regexes(row.globs))})" for n, row in enumerate(SECRET_FILES)]
    return re.compile("|".join(rows), re.DOTALL)


def _regexes(globs: Iterable[str]) -> list[str]:
    whole = [glob if "/" in glob else f"*/{glob}" for glob in globs]
    return [re.escape(glob.lower()).replace(r"\*", "[^/]*") for glob in whole]
