"""Refusing a command that has no table, with a word on what serves in its place."""

from collections.abc import Mapping

FAMILIES: Mapping[str, str] = {
    "rm rmdir unlink shred": "`assent stage delete PATH` stages a removal",
    "mv rename": "`assent stage move PATH TO` stages a move",
    "cp install rsync": "`assent stage write PATH --from FILE` stages a copy",
    "touch tee truncate dd sponge split csplit shuf patch": (
        "`assent stage write` and `assent stage edit` stage new content"
    ),
    "mkdir mktemp": "folders come with the files in them; stage those with `assent stage write`",
    "ln link symlink": "`assent stage write PATH --link-to TARGET` stages a symlink",
    "chmod": "`assent stage write PATH --mode 755` stages a mode",
    "chown chgrp chattr setfacl setfattr mknod mkfifo": "a plan can write, move and delete files",
    "bash sh zsh fish dash ksh csh tcsh busybox eval exec source . python python2 python3 node "
    "deno bun perl ruby php lua Rscript osascript expect script ts-node tsx": (
        "it runs code; read it with `cat`, and describe in the plan what should be run"
    ),
    "xargs parallel": "name the files, or use a wildcard: `wc -l src/*.py`",
    "env set export declare typeset compgen": "`printenv NAME` shows one variable",
    "less more most bat batcat pg view": "use `cat FILE`, or `sed -n '1,80p' FILE` for a part",
    "man info help": "use `COMMAND --help` of a command that only reads, or read the docs folder",
    "vim vi nvim nano emacs code subl pico ed ex": "`assent stage edit PATH` stages an edit",
    "curl wget ssh scp sftp nc ncat netcat telnet ftp ping dig host nslookup gh aws gcloud az "
    "kubectl helm terraform socat openssl": "there is no network while planning",
    "npm npx pnpm yarn pip pip3 pipx uv poetry cargo go make cmake ninja gradle mvn ant bazel tox "
    "nox pytest jest vitest mocha tsc eslint prettier ruff black mypy pyright rustc gcc g++ clang "
    "cc javac java dotnet swift composer bundle rake mix sbt docker podman docker-compose apt "
    "apt-get brew dnf yum pacman": (
        "it builds, tests or installs; describe in the plan how to check the work with it"
    ),
    "sudo doas su runuser chroot unshare nsenter": "planning needs no other rights",
    "time timeout nice nohup setsid stdbuf watch strace ltrace ionice flock": (
        "write the command that it would start by itself"
    ),
    "command type whence hash whereis": "`which NAME` tells where a program is",
    "kill pkill killall systemctl service crontab at shutdown reboot": (
        "planning starts and stops nothing"
    ),
    "tar zip unzip gzip gunzip bzip2 xz zcat zgrep bzcat xzcat 7z ar cpio": (
        "it packs, unpacks or starts other programs; read files that are not packed"
    ),
    "sleep wait": "nothing has to be waited for; leave it out",
    "alias unalias shopt ulimit umask trap read pushd popd": (
        "there is no shell that it could change; leave it out"
    ),
    "yq xq dasel": "`jq` reads JSON; `cat` and `grep` read the rest",
    "ag ack pt": "`rg` and `grep` search in files",
    "locate mlocate plocate": "`fd` and `find` search for files",
    "sqlite3 psql mysql mongosh redis-cli": "a database is more than files; it may be changed",
    "nawk original-awk bwk": "use `awk`",
    "gsed ssed": "use `sed`",
    "sdiff diff3 colordiff vimdiff delta": "use `diff -u`",
    "exa eza lsd dir vdir": "use `ls`",
    "hd": "use `hexdump -C`",
    "ps top htop lsof pgrep free vmstat uptime who w": "planning looks at files, not at processes",
}
INSTEAD: Mapping[str, str] = {
    name: other for names, other in FAMILIES.items() for name in names.split()
}


def instead(name: str) -> str:
    """Says that a command is not among those that only read, and what serves in its place."""
    if "/" in name:
        return f"`{name}`: only programs with plain names run while planning, not paths to them."
    other = INSTEAD.get(name)
    hint = f": {other}" if other else "; read with `cat`, `rg`, `find`, `jq` or `git` instead"
    return f"`{name}` is not among the commands that only read{hint}."
