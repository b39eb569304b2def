"""Refusal texts for commands without a table, with what to use instead.

Models and people read them: tools come first, then the command to use manually.
"""

from collections.abc import Mapping

FAMILIES: Mapping[str, str] = {
    "rm rmdir unlink shred": "use the `delete` tool (manually: `assent stage delete PATH`)",
    "mv rename": "use the `move` tool (manually: `assent stage move PATH TO`)",
    "cp install rsync": (
        "`read` the file and use the `write` tool (manually: `assent stage write PATH --from FILE`)"
    ),
    "touch tee truncate dd sponge split csplit shuf patch": (
        "use the `write` or `edit` tool (manually: `assent stage write`, `assent stage edit`)"
    ),
    "mkdir mktemp": (
        "folders are created with the files in them; use the `write` tool (manually: `assent "
        "stage write`)"
    ),
    "ln link symlink": "no tool creates links (manually: `assent stage write PATH --link-to "
    "TARGET`)",
    "chmod": "no tool changes file modes (manually: `assent stage write PATH --mode 755`)",
    "chown chgrp chattr setfacl setfattr mknod mkfifo": (
        "files can only be written, moved and deleted"
    ),
    "bash sh zsh fish dash ksh csh tcsh busybox eval exec source . python python2 python3 node "
    "deno bun perl ruby php lua Rscript osascript expect script ts-node tsx": ("it runs code"),
    "xargs parallel": "name the files, or use a wildcard: `wc -l src/*.py`",
    "env set export declare typeset compgen": "`printenv NAME` shows one variable",
    "less more most bat batcat pg view": "use `cat FILE`, or `sed -n '1,80p' FILE` for a part",
    "man info help": "use `COMMAND --help` of a read-only command, or read the docs folder",
    "vim vi nvim nano emacs code subl pico ed ex": (
        "use the `edit` tool (manually: `assent stage edit PATH`)"
    ),
    "curl wget ssh scp sftp nc ncat netcat telnet ftp ping dig host nslookup gh aws gcloud az "
    "kubectl helm terraform socat openssl": "commands have no network access here",
    "npm npx pnpm yarn pip pip3 pipx uv poetry cargo go make cmake ninja gradle mvn ant bazel tox "
    "nox pytest jest vitest mocha tsc eslint prettier ruff black mypy pyright rustc gcc g++ clang "
    "cc javac java dotnet swift composer bundle rake mix sbt docker podman docker-compose apt "
    "apt-get brew dnf yum pacman": (
        "it builds, tests or installs; say how to check the work with it"
    ),
    "sudo doas su runuser chroot unshare nsenter": "read-only commands need no elevated privileges",
    "time timeout nice nohup setsid stdbuf watch strace ltrace ionice flock": (
        "run the inner command directly"
    ),
    "whence hash whereis": "`which NAME` shows where a program is",
    "kill pkill killall systemctl service crontab at shutdown reboot": (
        "processes cannot be started or stopped here"
    ),
    "tar zip unzip gzip gunzip bzip2 xz zcat zgrep bzcat xzcat 7z ar cpio": (
        "it compresses, extracts or starts other programs; read uncompressed files"
    ),
    "sleep wait": "there is nothing to wait for; leave it out",
    "alias unalias shopt ulimit umask trap read pushd popd": ("no shell runs here; leave it out"),
    "yq xq dasel": "`jq` reads JSON; `cat` and `grep` read the rest",
    "ag ack pt": "`rg` and `grep` search in files",
    "locate mlocate plocate": "`fd` and `find` search for files",
    "sqlite3 psql mysql mongosh redis-cli": "it may change the database",
    "nawk original-awk bwk": "use `awk`",
    "gsed ssed": "use `sed`",
    "sdiff diff3 colordiff vimdiff delta": "use `diff -u`",
    "exa eza lsd dir vdir": "use `ls`",
    "hd": "use `hexdump -C`",
    "ps top htop lsof pgrep free vmstat uptime who w": "only files can be inspected, not processes",
}
ALTERNATIVES: Mapping[str, str] = {
    name: other for names, other in FAMILIES.items() for name in names.split()
}


def unlisted_command_reason(name: str) -> str:
    """Says that a command is not in the list of read-only ones, and what to use instead."""
    if "/" in name:
        return f"`{name}` is a path; only plain program names can run here."
    other = ALTERNATIVES.get(name)
    hint = f": {other}" if other else ""
    return f"`{name}` is not in the list of read-only commands{hint}."
