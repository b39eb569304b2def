"""The table of programs: what each one does, runs and writes, by its words.

Whoever judges a command looks here and nowhere else, so that no two judges know different things.
A program may stand in several rows; what they say of it adds up. A use holds for every word that
it does not name, and one that is not known makes nothing harmless. What a program may be told
without changing anything is the table in `read_only`, option by option.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.permission.command_analysis import CommandEffectKind
from assent.core.session.event import RiskLevel
from assent.permissions.commands.read_only.spec import words_in

ProgramKind: TypeAlias = Literal[
    "shell",
    "foreign_shell",  # reads words in another way than bash
    "interpreter",  # runs code: of its words, of a file, or of its input
    "agent",
    "other_agent",  # its name is that of other programs, too
    "downloads",
    "sends",  # files that it is told go to another machine
    "harmless",  # changes nothing but the shell that runs it
    "opaque",  # runs something that its words do not tell
    "runs_input",  # has commands of its own in what it reads
    "package_runner",  # gets a package, and runs the program in it
    "exact",  # no beginning of its words says what it would do
    "versioned",  # is installed under names with a version at the end
    "no_files",  # no word of it is a file that it reads
    "copies",  # its last word is written, or a folder that is written to
    "scripted",  # its first word is an expression, unless an option names it
    "coded",  # its words are code, or have code in them
]
WriteRule: TypeAlias = Literal["", "all", "last", "in_place", "of"]
ReachRule: TypeAlias = Literal["", "folders", "moved", "searched", "tracked"]
DangerTest: TypeAlias = Literal[
    "always", "deletes_root", "searches_root", "takes_over", "device", "kills_all",
    "stops_machine", "runs_download", "sends_secret", "starts", "is_agent", "runs_assent",
    "runs_agent",
]  # fmt: skip


class Use(msgspec.Struct, frozen=True):
    """One way to use a program: which words tell it, what it does then, and how bad that is."""

    effects: tuple[CommandEffectKind, ...] = ()
    reason: str = ""  # none: the general one of its effects, where no other use tells them
    level: RiskLevel = "high"
    begins: str = ""  # how its words begin, as a regular expression
    then: str = ""  # what some later word is, as a regular expression
    words: frozenset[str] = frozenset()  # one of them stands anywhere
    alone: bool = False  # or there is no word at all

    def fits(self, words: Sequence[str], text: str) -> bool:
        """Tells whether this is how a program is used; `text` has a blank before each word."""
        if self.words or self.alone:
            return not self.words.isdisjoint(words) or (self.alone and not words)
        later = rf"(?:\s.*)?\s(?:{self.then})" if self.then else ""
        first = rf"\s(?:{self.begins})" if self.begins else ""
        return re.match(rf"{first}{later}(?=\s|$)", text, re.DOTALL) is not None


class WrapperSpec(msgspec.Struct, frozen=True):
    """The options before the inner command; an unlisted one makes the command uncertain."""

    values: frozenset[str] = frozenset()  # options with a value
    flags: frozenset[str] = frozenset()  # options without one; `-#` is any number
    optional: frozenset[str] = frozenset()  # options whose value stands after `=`, if at all
    operands: int = 0
    sets: bool = False  # NAME=VALUE may stand before the command
    silent: frozenset[str] = frozenset()  # with these it runs nothing

    def size(self, text: str) -> int:
        """Returns how many words an option takes, with its value; 0 if it is unknown."""
        name, sign, _ = text.partition("=")
        known = self.values | self.optional
        if text in self.values:
            return 2
        if text in self.flags | self.optional or (sign and name.startswith("--") and name in known):
            return 1
        if "-#" in self.flags and re.fullmatch(r"--?\d+", text):
            return 1
        return 0 if text.startswith("--") else self._cluster(text)

    def _cluster(self, text: str) -> int:
        if text[:2] in self.values:
            return 1
        before, last = text[1:-1], text[-1]
        if not all(f"-{letter}" in self.flags for letter in before):
            return 0
        return 1 if f"-{last}" in self.flags else 2 * (f"-{last}" in self.values)


class Danger(msgspec.Struct, frozen=True):
    """What about a program is refused in every mode, and why (F91)."""

    test: DangerTest
    reason: str


class ProgramSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a program; of one that is in no row, nothing is."""

    kinds: frozenset[ProgramKind] = frozenset()
    uses: tuple[Use, ...] = ()
    dangers: tuple[Danger, ...] = ()
    depth: int = 1  # how many words say what is done, with its name
    deep: frozenset[str] = frozenset()  # second words after which a third one says it
    before: frozenset[str] = frozenset()  # options with a value that stand before the second word
    leading: bool = False  # options may stand before the second word
    runs: WrapperSpec | None = None  # the words that follow are a command
    runs_by: Mapping[str, WrapperSpec] = {}  # the same, behind one of these second words
    hidden_by: frozenset[str] = frozenset()  # second words with which it runs what is not told
    exact_by: frozenset[str] = frozenset()  # second words of which the kind `exact` holds
    writes: WriteRule = ""  # which of its words are files that it writes
    output: tuple[str, ...] = ()  # options that name a file that it writes
    into: tuple[str, ...] = ()  # options that name a folder that it writes to
    reaches: ReachRule = ""  # what else it writes if a name is a folder

    @property
    def exact(self) -> bool:
        """Whether only its very words say what it does, so that no prefix can be allowed."""
        code = not self.kinds.isdisjoint(("exact", "opaque", "interpreter", "package_runner"))
        return code or self.runs is not None


UNKNOWN: Final = ProgramSpec()
Row: TypeAlias = tuple[str, ProgramSpec]

_SHELLS: Final = "sh bash zsh dash ksh mksh ash rbash"
_FOREIGN: Final = "fish csh tcsh"
_INTERPRETERS: Final = (
    "python python2 python3 pypy pypy3 node nodejs deno bun ruby perl php lua luajit tclsh "
    "osascript pwsh powershell Rscript julia groovy guile racket elixir"
)
_DOWNLOADS: Final = "curl wget aria2c fetch http https xh lynx w3m ftp"
_SENDS: Final = f"{_DOWNLOADS} nc ncat netcat socat telnet scp sftp rsync ssh mail sendmail"
_AGENTS: Final = (
    "claude claude-code opencode opencode-ai codex gemini gemini-cli aider aider-chat cursor-agent "
    "qwen qwen-code kimi"
)
_OTHER_AGENTS: Final = "goose amp droid crush copilot vibe"


def _is(names: str, *kinds: ProgramKind) -> Row:
    return names, ProgramSpec(kinds=frozenset(kinds))


def _use(
    names: str,
    reason: str,
    *effects: CommandEffectKind,
    begins: str = "",
    then: str = "",
    level: RiskLevel = "high",
) -> Row:
    return names, ProgramSpec(uses=(Use(effects, reason, level, begins, then),))


def _word(names: str, words: str, *effects: CommandEffectKind, alone: bool = False) -> Row:
    """A use that a word tells, wherever it stands; `*` is any, or none."""
    known = frozenset() if words == "*" else words_in(words)
    return names, ProgramSpec(uses=(Use(effects, words=known, alone=alone),))


def _danger(names: str, test: DangerTest, reason: str) -> Row:
    return names, ProgramSpec(dangers=(Danger(test, reason),))


def _depth(names: str, *, options: str | None = None, deep: str = "", depth: int = 2) -> Row:
    leading = options is not None
    return names, ProgramSpec(
        depth=depth, before=words_in(options or ""), leading=leading, deep=words_in(deep)
    )


def _runs(
    names: str, values: str = "", flags: str = "", operands: int = 0, silent: str = ""
) -> Row:
    return names, ProgramSpec(runs=_spec(values, flags, operands, silent))


def _runs_by(names: str, verbs: str, values: str = "", flags: str = "", operands: int = 0) -> Row:
    spec = _spec(values, flags, operands)
    known = words_in(verbs)
    return names, ProgramSpec(runs_by=dict.fromkeys(known, spec), exact_by=known)


def _spec(values: str, flags: str, operands: int, silent: str = "") -> WrapperSpec:
    return WrapperSpec(
        words_in(values), words_in(flags), operands=operands, silent=words_in(silent)
    )


# What a program is.
_KINDS: Final[tuple[Row, ...]] = (
    _is(f"{_SHELLS} {_FOREIGN}", "shell", "interpreter", "versioned"),
    _is(_FOREIGN, "foreign_shell"),
    _is(_INTERPRETERS, "interpreter", "versioned"),
    _is("pip gcc cc g++ c++ clang clang++", "versioned"),
    _is(_AGENTS, "agent"),
    _is(_OTHER_AGENTS, "other_agent"),
    _is(_DOWNLOADS, "downloads"),
    _is(_SENDS, "sends"),
    _is("npx bunx uvx", "package_runner"),
    _is("cd pwd echo printf true false : test [ [[ set export local declare readonly unset sleep "
        "exit return break continue wait read shift command builtin time env nohup nice timeout",
        "harmless"),
    _is("parallel watch script scriptreplay expect tmux screen byobu zellij hyperfine bwrap proot "
        "firejail nsenter unshare chroot perf strace ltrace rr gdb lldb valgrind entr watchexec "
        "nodemon concurrently run-parts start-stop-daemon systemd-run systemd-inhibit "
        "systemd-nspawn dbus-run-session xvfb-run cpulimit prlimit choom flock dotenv faketime "
        "setpriv runcon catchsegv pwsh powershell nu elvish xonsh oil osh yash posh lksh static-sh "
        "bash-static ld.so vi vim view nvim ex ed emacs emacsclient nano pico at batch ansible "
        "nix-shell numactl capsh daemonize setcpuset sg newgrp socat", "opaque"),
    _is("sqlite3 psql mysql mariadb m4 dc gnuplot octave R ghci irb ipython ipython3 bpython "
        "jshell scala ocaml sbcl clisp erl iex swipl ftp lftp sftp telnet wish gforth pry crontab",
        "runs_input"),
    _is("awk gawk mawk nawk sed gsed jq xargs find fd fdfind pipx ssh scp sftp rsync curl wget nc "
        "ncat docker podman kubectl helm terraform tofu tar bsdtar gtar zip split rm rmdir mv cp "
        "ln dd install shred truncate chmod chown chgrp kill pkill killall tee psql mysql sqlite3 "
        "redis-cli systemctl service crontab gh glab aws gcloud az java rake just task "
        "git-filter-repo openssl gpg man less cc gcc g++ c++ clang clang++ rustc javac dotnet",
        "exact"),
    _is("echo printf export declare typeset local readonly unset alias kill sleep exit return tee "
        "touch mkdir rmdir rm unlink truncate shred", "no_files"),
    _is("cp install ln mv", "copies"),
    _is("sed gsed awk gawk mawk nawk grep egrep fgrep rg ag perl jq yq", "scripted"),
    _is("awk gawk mawk nawk sed gsed psql sqlite3 duckdb", "coded"),
)  # fmt: skip

# How many words say what is done, and which options may stand before the second.
_DEPTHS: Final[tuple[Row, ...]] = (
    _depth("make just task bun deno pip pip3 pipx uv poetry pdm pipenv rye hatch conda mamba "
           "podman tofu pulumi service apt apt-get dnf yum pacman brew snap gem bundle rails rake "
           "mix composer php artisan dotnet mvn gradle gradlew ./gradlew sbt lein stack cabal opam "
           "dune swift flutter dart glab gcloud az heroku fly vercel netlify firebase hg svn jj "
           "fossil rustup nvm asdf mise direnv tox nox pre-commit alembic django-admin flask meson "
           "cmake ninja bazel buck2 nix ansible vagrant minikube kind redis-cli openssl"),
    _depth("git", options="-C -c --git-dir --work-tree --namespace --super-prefix --config-env "
           "--exec-path --attr-source", deep="remote stash submodule worktree notes bisect config"),
    _depth("docker", options="-H --host -c --context --config -l --log-level",
           deep="compose container image volume network system builder buildx context"),
    _depth("podman", deep="compose container image volume network system"),
    _depth("kubectl", options="-n --namespace --context --cluster --kubeconfig -s",
           deep="get delete create rollout config apply describe"),
    _depth("helm", options="-n --namespace --kube-context --kubeconfig"),
    _depth("npm", options="--prefix -w --workspace", deep="run config"),
    _depth("pnpm", options="-C --dir --filter -F", deep="run"),
    _depth("yarn", options="--cwd", deep="run"),
    _depth("bun uv poetry pdm pipenv rye hatch", deep="run"),
    _depth("cargo", options="--color --config -Z -C", deep="config"),
    _depth("gh", options="-R --repo", deep="pr issue repo release run workflow api secret gist"),
    _depth("glab", deep="mr issue repo release ci"),
    _depth("aws", options="--profile --region --output --endpoint-url"),
    _depth("aws gcloud az", deep="s3 ec2 iam lambda ecs eks rds sts compute storage container "
           "functions vm group"),
    _depth("pip gcloud", deep="config"),
    _depth("uv", deep="pip tool python"),
    _depth("go", options="-C", deep="mod tool work"),
    _depth("systemctl", options="-H -M --host --machine"),
    _depth("terraform", options="", deep="state workspace"),
    _depth("rails", deep="db"), _depth("dotnet", deep="tool"), _depth("nix", deep="flake"),
    _depth("python python3", deep="-m", depth=1),
)  # fmt: skip

# Which of its words are a command that it runs.
_RUN: Final[tuple[Row, ...]] = (
    ("env", ProgramSpec(runs=WrapperSpec(
        words_in("-u --unset"), words_in("- -i --ignore-environment"), sets=True))),
    ("cross-env", ProgramSpec(runs=WrapperSpec(sets=True))),
    ("sudo", ProgramSpec(runs=WrapperSpec(
        words_in("-u -g -C -h -p -D -r -t -T -U --user --group"), sets=True))),
    ("xargs", ProgramSpec(runs=WrapperSpec(
        words_in("-I -n -P -L -d -a -s -E --max-args --max-procs --delimiter --arg-file "
                 "--max-chars"),
        words_in("-0 --null -r --no-run-if-empty -t --verbose -x --exit -i"),
        words_in("--max-lines --replace")))),
    _runs("doas", "-u -C"),
    _runs("nice", "-n --adjustment", "-#"),
    _runs("ionice", "-c -n --class --classdata", "-t --ignore"),
    _runs("chrt", flags="-b -f -i -o -r", operands=1),
    _runs("taskset", flags="-c --cpu-list", operands=1),
    _runs("timeout gtimeout", "-k --kill-after -s --signal",
          "--foreground --preserve-status -v --verbose", operands=1),
    _runs("time unbuffer", flags="-p"),
    _runs("command", flags="-p", silent="-v -V"),
    _runs("nohup builtin exec coproc eatmydata fakeroot unshare valgrind entr busybox toybox "
          "torsocks setpriv dbus-run-session prlimit nsenter linux32 linux64 x86_64 i386 i486 i586 "
          "i686 uname26"),
    _runs("setsid", flags="-c -f -w"),
    _runs("setarch chroot faketime", operands=1),
    _runs("stdbuf", "-i -o -e --input --output --error"),
    _runs("chronic", flags="-v -e"),
    _runs("flock", "-w -E --timeout", operands=1),
    _runs("strace", "-o -e -p -s -u -E -P -O -S"),
    _runs("ltrace", "-o -e -p -s -u -n"),
    _runs("gdb", "-x -p"),
    _runs("watch", "-n --interval"),
    _runs("parallel", "-j --jobs"),
    _runs("dotenv", "-f -e"),
    _runs("caffeinate", "-t -w", "-d -i -m -s -u"),
    _runs("proxychains", flags="-q"),
    _runs("pkexec", "--user"),
    _runs("run0", "-u -g --user"),
    _runs("runuser", "-u -g"),
    _runs("systemd-run", "-p -u -M --unit --property"),
    _runs("xvfb-run", "-n -s -e -f", "-a"),
    _runs("choom", "-n"),
    _runs("ssh", "-p -i -l", "-T -q -v -4 -6 -n -t", operands=1),
    _runs("npx bunx uvx", "-p --package --from --with", "-y --yes -q --quiet"),
    _runs_by("uv poetry pipenv pdm rye hatch conda mamba pipx", "run",
             "-p --python --with --extra --group --package -n --name",
             "--frozen --locked --no-sync --all-extras --isolated -q --quiet"),
    _runs_by("bundle npm pnpm yarn mise asdf rbenv pyenv", "exec", "-w --workspace", "-y --yes"),
    _runs_by("npm mise", "x"),
    _runs_by("pnpm yarn", "dlx"),
    _runs_by("direnv", "exec", operands=1),
    ("stack cabal opam dotnet rustup poetry devbox", ProgramSpec(hidden_by=words_in("exec"))),
    ("nix", ProgramSpec(hidden_by=words_in("develop run shell"))),
    ("pipenv poetry devbox", ProgramSpec(hidden_by=words_in("shell"))),
    ("bazel", ProgramSpec(hidden_by=words_in("run"))),
    ("vagrant", ProgramSpec(hidden_by=words_in("ssh"))),
    ("gh", ProgramSpec(hidden_by=words_in("alias extension"))),
    ("rails", ProgramSpec(hidden_by=words_in("runner"))),
    ("cmake", ProgramSpec(hidden_by=words_in("-E -P"))),
    ("npm pnpm yarn", ProgramSpec(exact_by=words_in("exec dlx x"))),
    ("go cargo", ProgramSpec(exact_by=words_in("run generate install"))),
    ("git", ProgramSpec(exact_by=words_in(
        "push config rebase bisect filter-branch submodule clean reset checkout restore rm clone "
        "remote grep diff log show difftool mergetool hook"))),
)  # fmt: skip

# Which files it writes.
_FILES: Final[tuple[Row, ...]] = (
    ("tee touch mkdir rmdir rm unlink truncate shred mv", ProgramSpec(writes="all")),
    ("cp ln install", ProgramSpec(writes="last")),
    ("sed gsed perl", ProgramSpec(writes="in_place")),
    ("dd", ProgramSpec(writes="of")),
    ("curl", ProgramSpec(output=("-o", "--output"), into=("--output-dir",))),
    ("wget", ProgramSpec(output=("-O", "--output-document"), into=("-P", "--directory-prefix"))),
    ("sort pandoc", ProgramSpec(output=("-o", "--output"))),
    ("gcc cc g++ c++ clang clang++ rustc jq", ProgramSpec(output=("-o",))),
    ("tar bsdtar", ProgramSpec(into=("-C", "--directory", "--cd"))),
    ("unzip", ProgramSpec(into=("-d",))),
    ("git", ProgramSpec(into=("-C", "--work-tree"), reaches="tracked")),
    ("make", ProgramSpec(into=("-C", "--directory"))),
    ("patch", ProgramSpec(into=("-d", "--directory"))),
    ("rm rmdir shred chmod chown chgrp touch mkdir", ProgramSpec(reaches="folders")),
    ("cp mv ln install rsync scp", ProgramSpec(reaches="moved")),
    ("find fd", ProgramSpec(reaches="searched")),
)

_ANY: Final = r"(?:\s.*)?\s"
_OTHERS_PROGRAMS: Final = "installs or runs third-party programs"

# What it does, and how bad that is (F90).
_USES: Final[tuple[Row, ...]] = (
    _use("rm", "deletes folders and their contents", "deletes",
         then="-(?:[a-zA-Z]*[rR][a-zA-Z]*|-recursive)"),
    _use("find", "deletes every file it finds", "deletes", then="-delete"),
    _use("rm rmdir unlink", "deletes files", "deletes", level="medium"),
    _use("mv cp ln install tee touch mkdir patch tar unzip dd", "writes files", level="medium"),
    _use("shred srm truncate", "destroys file contents", "deletes"),
    _use("git", "overwrites or deletes history on the "
                "remote", "network", "publishes", begins="push",
         then=r"-[a-zA-Z]*f[a-zA-Z]*|--force\S*|--mirror|--delete|-d|\+\S+"),
    _use("git", "publishes commits", "network", "publishes", begins="push"),
    _use("git", "rewrites history", "deletes",
         begins=rf"rebase|filter-branch|filter-repo|replace|commit{_ANY}--amend|"
         rf"reflog (?:expire|delete)|update-ref|gc{_ANY}--prune\S*"),
    _use("git", "discards changes or branches", "deletes",
         begins=rf"reset{_ANY}--(?:hard|merge|keep)|clean|restore|checkout{_ANY}(?:--|\.|-f)|"
         rf"stash (?:drop|clear)|branch{_ANY}-(?:D|d|-delete)|tag{_ANY}-d|worktree remove|"
         r"switch\s.*--discard-changes|rm"),
    _use("git", "connects to another machine", "network",
         begins="pull|fetch|clone|remote|submodule|ls-remote|lfs"),
    _use("git", "changes how git works or what it "
                "runs", "protected", begins="config|hook|bisect run"),
    _use("npm pnpm yarn bun", _OTHERS_PROGRAMS, "installs", "network",
         begins="install|i|ci|add|update|upgrade|remove|uninstall|link|exec|dlx|x|create|init"),
    _use("pip pip3 pipx conda mamba gem snap flatpak cpan choco winget emerge nix-env port",
         "installs or removes programs", "installs", "network", begins=r"\S+"),
    _use("brew apt apt-get dnf yum pacman apk zypper",
         "installs or removes programs", "installs", "network", "writes_outside", begins=r"\S+"),
    _use("uv poetry pdm rye", "installs third-party programs", "installs", "network",
         begins="add|remove|sync|install|update|lock|pip|tool|self"),
    _use("cargo go", "installs third-party programs", "installs", "network",
         begins="install|add|get|update"),
    _use("npx bunx uvx rustup nvm asdf mise curl wget", "downloads from another machine",
         "network"),
    _use("make ninja cmake meson", "installs on this machine", "installs",
         then="install|uninstall|--install"),
    _use("npm pnpm yarn bun cargo poetry uv pdm gem twine flit hatch lerna", "publishes",
         "network", "publishes",
         begins="publish|upload|push|deprecate|unpublish|yank|dist-tag|owner"),
    _use("gh glab", "publishes", "network", "publishes",
         begins=r"(?:pr|mr|issue|release|gist|repo) (?:create|upload|comment|merge)"),
    _use("docker podman buildah skopeo nerdctl helm", "publishes", "network", "publishes",
         begins="push"),
    _use("docker podman buildah skopeo nerdctl docker-compose vagrant virsh qemu* lxc",
         "runs or changes containers or virtual machines", "network"),
    _use("systemctl service launchctl crontab at batch loginctl update-rc.d journalctl",
         "changes services or scheduled jobs on this machine", "writes_outside"),
    _use("kubectl helm terraform tofu pulumi ansible ansible* k9s flux argocd nomad consul vault",
         "changes remote infrastructure", "network"),
    _use("gh glab aws gcloud az heroku fly flyctl vercel netlify firebase wrangler doctl hub "
         "stripe supabase railway", "can change data in an online service", "network"),
    _use("mount umount iptables nft ip ifconfig route useradd usermod userdel passwd groupadd "
         "visudo chsh sysctl modprobe insmod rmmod setcap chattr",
         "changes system settings", "writes_outside"),
    _use("kill pkill killall xkill", "stops processes", "writes_outside"),
    _use("psql mysql mariadb mongo mongos mongosh redis-cli sqlite3 sqlcmd cqlsh",
         "can change a database", "deletes"),
    _use("chmod chown chgrp", "changes permissions or owners of "
                              "whole folders", "protected", then=r"-\w*R"),
    _use("chmod chown chgrp setfacl", "changes permissions or owners of files", level="medium"),
    _use("git", "changes the repository", level="medium",
         begins="commit|add|merge|cherry-pick|revert|am|apply|stash|tag|branch|checkout|switch|mv|"
         "init|notes|worktree"),
    # Words that install.
    _word("pip pip3", "install", "installs", "network"),
    _word("pipx", "install inject upgrade run", "installs", "network"),
    _word("uv", "install add sync", "installs", "network"),
    _word("conda mamba micromamba", "install create update", "installs", "network"),
    _word("poetry pdm", "install add update sync", "installs", "network"),
    _word("npm pnpm", "install i ci add update up exec dlx", "installs", "network"),
    _word("yarn", "install add up upgrade dlx", "installs", "network", alone=True),
    _word("bun", "install i add update x", "installs", "network"),
    _word("npx uvx bunx pnpx cpan cpanm", "*", "installs", "network"),
    _word("deno", "install add", "installs", "network"),
    _word("apt apt-get dnf yum zypper aptitude microdnf",
          "install upgrade full-upgrade dist-upgrade in", "installs", "network", "writes_outside"),
    _word("apk", "add upgrade", "installs", "network", "writes_outside"),
    _word("pacman yay paru", "-S -Sy -Syu -Syyu -U", "installs", "network", "writes_outside"),
    _word("dpkg rpm", "-i -U -ivh -Uvh --install", "installs", "writes_outside"),
    _word("brew", "install upgrade reinstall", "installs", "network", "writes_outside"),
    _word("port snap flatpak choco winget scoop", "install upgrade reinstall",
          "installs", "network"),
    _word("nix nix-env", "install -i -iA --install profile", "installs", "network"),
    _word("cargo", "install add", "installs", "network"),
    _word("go", "install get", "installs", "network"),
    _word("gem luarocks opam cabal stack helm", "install", "installs", "network"),
    _word("make", "install", "installs"),
    _word("bundle", "install add update", "installs", "network", alone=True),
    _word("composer", "install require update", "installs", "network"),
    _word("mix", "deps.get", "installs", "network"),
    _word("dart flutter", "get add", "installs", "network"),
    _word("dotnet nuget", "add install restore", "installs", "network"),
    # Words that use the network.
    _word(f"{_SENDS} ping dig nslookup host traceroute whois gh glab aws gcloud az heroku fly "
          "flyctl vercel netlify firebase wrangler doctl kubectl helm terraform tofu pulumi twine "
          "npx uvx bunx pnpx supabase railway stripe hub argocd flux nomad consul vault",
          "*", "network"),
    _word("git", "push pull fetch clone ls-remote submodule lfs", "network"),
    _word("docker podman buildah skopeo", "pull push run build login", "network"),
    _word("npm pnpm yarn bun cargo poetry uv pdm gem flit hatch", "publish upload push login",
          "network"),
    _word("cargo", "fetch update search", "network"),
    _word("go", "mod", "network"),
    # Words that delete.
    _word("rm rmdir unlink shred srm trash", "*", "deletes"),
    _word("git", "clean rm restore", "deletes"),
    _word("find fd", "-delete", "deletes"),
    _word("cp install", "/dev/null", "deletes"),
    _word("dd", "if=/dev/null", "deletes"),
    _word("rsync", "--delete --delete-after --delete-before --delete-during --delete-excluded",
          "deletes"),
    ("git", ProgramSpec(uses=(
        Use(("deletes",), begins="reset", then="--hard"),
        Use(("deletes",), begins="checkout", then=r"--|\.|-f|--force")))),
    # Whoever uses these changes the machine, whatever the words are.
    _word("sudo doas su pkexec run0 runuser mount umount systemctl service crontab at useradd "
          "usermod userdel passwd visudo sysctl modprobe insmod iptables nft chroot",
          "*", "writes_outside"),
)  # fmt: skip

_AGENT: Final = "It starts another agent, whose actions Assent cannot check."
_ASSENT: Final = "It runs Assent from inside a session; only a user at a terminal can approve."

# What is refused in every mode (F91). The first reason that holds is told.
_DANGERS: Final[tuple[Row, ...]] = (
    _danger("rm shred srm trash", "deletes_root",
            "It deletes an entire home folder, system, workspace or repository."),
    _danger("find fd", "searches_root",
            "It deletes everything in a home folder, system, workspace or repository."),
    _danger("chmod chown chgrp setfacl", "takes_over",
            "It changes the permissions or owner of an entire home folder or system."),
    _danger("mkfs mkfs.* wipefs blkdiscard mkswap fdisk sfdisk parted sgdisk cryptsetup", "always",
            "It overwrites a disk."),
    _danger("dd cp mv tee shred cat", "device", "It writes directly to a disk or to memory."),
    _danger("shutdown reboot halt poweroff", "always", "It shuts down or restarts the machine."),
    _danger("systemctl init telinit", "stops_machine", "It shuts down or restarts the machine."),
    _danger("kill", "kills_all", "It kills every process or the init process."),
    _danger("sudo su doas pkexec run0 runuser", "always",
            "It runs as another user, which a model may not do."),
    _danger(f"{_SHELLS} {_FOREIGN} {_INTERPRETERS} eval source . xargs", "runs_download",
            "It runs downloaded code without review."),
    _danger(_SENDS, "sends_secret", "It sends secrets to another machine."),
    _danger("assent", "starts", _ASSENT),
    _danger(f"{_SHELLS} {_FOREIGN} {_INTERPRETERS}", "runs_assent", _ASSENT),
    _danger(_AGENTS, "starts", _AGENT),
    _danger(_OTHER_AGENTS, "is_agent", _AGENT),
    _danger(f"{_SHELLS} {_FOREIGN} {_INTERPRETERS}", "runs_agent", _AGENT),
)  # fmt: skip


def _added(one: ProgramSpec, other: ProgramSpec) -> ProgramSpec:
    """Returns what two rows say of a program together."""
    return ProgramSpec(
        kinds=one.kinds | other.kinds,
        uses=(*one.uses, *other.uses),
        dangers=(*one.dangers, *other.dangers),
        depth=max(one.depth, other.depth),
        deep=one.deep | other.deep,
        before=one.before | other.before,
        leading=one.leading or other.leading,
        runs=one.runs or other.runs,
        runs_by={**one.runs_by, **other.runs_by},
        hidden_by=one.hidden_by | other.hidden_by,
        exact_by=one.exact_by | other.exact_by,
        writes=one.writes or other.writes,
        output=(*one.output, *other.output),
        into=(*one.into, *other.into),
        reaches=one.reaches or other.reaches,
    )


def _table(*tables: tuple[Row, ...]) -> dict[str, ProgramSpec]:
    found: dict[str, ProgramSpec] = {}
    for names, said in (row for table in tables for row in table):
        for name in names.split():
            found[name] = _added(found[name], said) if name in found else said
    return found


PROGRAMS: Final[Mapping[str, ProgramSpec]] = _table(_KINDS, _DEPTHS, _RUN, _FILES, _USES, _DANGERS)
# Rows that hold for every name with such a beginning.
_FAMILIES: Final = tuple(name.removesuffix("*") for name in PROGRAMS if name.endswith("*"))
_MOST_NAMES: Final = 100  # characters of a name that can be a program's


@lru_cache(1024)
def _row_of(name: str) -> ProgramSpec:
    if name in PROGRAMS:
        return PROGRAMS[name]
    plain = PROGRAMS.get(name.rstrip("0123456789.-"), UNKNOWN)
    if "versioned" in plain.kinds:
        return plain
    return next((PROGRAMS[f"{each}*"] for each in _FAMILIES if name.startswith(each)), UNKNOWN)


def known_program(name: str) -> ProgramSpec:
    """Returns what is known of a program, by its name without a folder, whatever its version."""
    return _row_of(name) if len(name) <= _MOST_NAMES else UNKNOWN


def is_kind(name: str, *kinds: ProgramKind) -> bool:
    """Tells whether a program is of one of some kinds."""
    return not known_program(name).kinds.isdisjoint(kinds)
