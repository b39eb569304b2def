"""Credential paths: where programs keep logins and histories, in a home and elsewhere."""

import os
from typing import Final

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


def credential_paths(home: bytes) -> list[bytes]:
    """Lists every credential place of a home folder and of the machine, there or not."""
    below = [home.rstrip(b"/") + b"/" + os.fsencode(place) for place in BELOW_HOME]
    return below + [os.fsencode(place) for place in ELSEWHERE]
