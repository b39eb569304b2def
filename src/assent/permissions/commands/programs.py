"""The table of programs: what each one does, runs and writes, by its words.

Every check of a command uses this table and no other, so that no two checks know different things.
A program may be in several rows; what they say about it adds up. A use applies to every word that
it does not name, and an unknown word makes nothing harmless. Which arguments a program may get
without changing anything is in the table in `read_only`, option by option.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from assent.core.permission.command_analysis import CommandEffectKind
from assent.core.session.event import RiskLevel
from assent.permissions.commands.program_spec import (
    UNKNOWN,
    Danger,
    DangerTest,
    FileUse,
    ProgramKind,
    ProgramSpec,
    Row,
    Use,
    WrapperSpec,
    WriteRule,
)
from assent.permissions.commands.read_only.spec import words_in

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
    """A use that a word shows, in any position; `*` is any word, or none."""
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


def _writes(
    names: str,
    writes: WriteRule = "",
    *,
    verbs: str = "",
    below: WriteRule = "",
    output: str = "",
    into: str = "",
    values: str = "",
    when: str = "",
    unless: str = "",
) -> Row:
    """What a program writes; of several verbs, which have a comma between, each does."""
    uses = tuple(
        FileUse(
            verb=verb.strip(),
            when=tuple(when.split()),
            unless=tuple(unless.split()),
            writes=writes,
            below=below,
            output=tuple(output.split()),
            into=tuple(into.split()),
            values=words_in(values),
        )
        for verb in verbs.split(",")
    )
    return names, ProgramSpec(files=uses)


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
    _is("gcc cc g++ c++ clang clang++ rustc ld gold lld as go java javac kotlinc scalac ffmpeg "
        "avconv convert magick openssl 7z 7za 7zr 7zz terraform tofu sqlite3 nasm yasm dot protoc "
        "ghc unar keytool genisoimage mksquashfs pdftotext", "one_dash"),
    _is("tar bsdtar gtar gnutar ar jar", "bare_options"),
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
        "remote grep diff log show difftool mergetool hook branch switch tag read-tree update-ref "
        "reflog gc repack checkout-index symbolic-ref"))),
)  # fmt: skip

# Which files it writes. Options are listed that say where, and those whose value could be taken
# for an operand. What a program only reads there is no write, where the table can tell.
_GIT_CLONE: Final = (
    "-b --branch -o --origin -u --upload-pack -c --config -j --jobs --depth --reference "
    "--reference-if-able --template --filter --shallow-since --shallow-exclude --revision "
    "--ref-format --server-option --bundle-uri"
)
_FILES: Final[tuple[Row, ...]] = (
    _writes("tee touch mkdir rmdir rm unlink truncate shred mv sponge", "all"),
    _writes("cp ln install", "last"),
    _writes("cp mv ln install", into="-t --target-directory",
            values="-S --suffix -m --mode -o --owner -g --group"),
    _writes("sed gsed perl", "in_place"),
    _writes("dd", "of"),
    _writes("mkfifo", "operands", values="-m --mode"),
    _writes("mknod", "first", values="-m --mode"),
    _writes("mktemp", "operands", into="-p --tmpdir", values="--suffix"),
    _writes("sort pandoc", output="-o --output"),
    _writes("sort", into="-T --temporary-directory", values="-k -t -S --key --parallel"),
    _writes("pandoc", into="--extract-media", output="--log"),
    _writes("jq", output="-o"),
    _writes("yq", below="later", when="-i --inplace --in-place"),
    _writes("awk gawk", below="operands", when="-i --include", values="-i -v -F -f --include"),
    _writes("gawk", output="-o --pretty-print --profile --dump-variables"),
    _writes("uniq", "second", values="-f -s -w --skip-fields --skip-chars --check-chars"),
    _writes("xxd", "second", values="-c -g -l -o -s -R -n -cols -groupsize -len -seek"),
    _writes("split", "second", values="-a -b -C -l -n -t --suffix-length --additional-suffix "
            "--bytes --line-bytes --lines --number --separator --filter"),
    _writes("csplit", output="-f --prefix", values="-b -n --suffix-format --digits"),
    _writes("iconv enscript a2ps msgfmt msgmerge xgettext bison yacc flex uudecode indent",
            output="-o --output --output-file --outfile"),
    _writes("patch", "first", output="-o --output -r --reject-file", into="-d --directory",
            values="-p -F -D -B -V -Y -z -i -g --strip --input --fuzz --prefix --suffix"),
    _writes("dos2unix unix2dos rename prename mmv strip patchelf mogrify jpegoptim optipng",
            below="operands"),
    _writes("strip objcopy", output="-o"),
    _writes("objcopy", "second", values="-I -O -B -F -j -R -K -N -G -L -W"),
    # Archives and packed files.
    _writes("tar bsdtar gtar gnutar", into="-C --directory --cd --one-top-level",
            output="-g --listed-incremental --index-file --volno-file",
            values="-f -T -X -b -I -F -K -L -N -V -H --file"),
    _writes("tar bsdtar gtar gnutar", output="-f --file",
            when="-c -r -u -A --create --append --update --catenate --concatenate --delete"),
    _writes("cpio", output="-O", into="-D --directory", values="-H -C -R -F -I -E --file"),
    _writes("cpio", "final", below="final", when="-p --pass-through"),
    _writes("cpio", output="-F --file", when="-o --create"),
    _writes("pax", "final", when="-r", values="-b -f -s -x -E -G -o -p -T -U"),
    _writes("pax", output="-f", when="-w", values="-b -s -x -E -G -o -p -T -U"),
    _writes("zip", "first", output="-O --out --output-file --logfile-path", into="-b",
            values="-n -t -tt -P -s -sp -Z -lf --password --suffixes --split-size"),
    _writes("zipsplit", into="-b"),
    _writes("zipnote zipcloak", "first"),
    _writes("unzip", into="-d"),
    _writes("7z 7za 7zr 7zz", into="-o -w"),
    _writes("7z 7za 7zr 7zz", "first", verbs="a, d, u, rn"),
    _writes("rar", "first", verbs="a, d, f, m, mf, u, c, cw, rn, rr, s"),
    _writes("rar unrar", "later", below="later", verbs="e, x"),
    _writes("unar", into="-o -output-directory"),
    _writes("ar gar llvm-ar", "first", when="-r -q -d -m -s", values="-a -b -i -N"),
    _writes("ranlib", "operands"),
    _writes("jar", into="-C --dir", values="-f --file -m -e --manifest --main-class --release"),
    _writes("jar", output="-f --file", when="-c -u -i --create --update --generate-index"),
    _writes("gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma lzip lzop pigz pbzip2 compress "
            "uncompress brotli unbrotli", "operands",
            unless="-c --stdout --to-stdout -l --list -t --test",
            values="-S --suffix -T --threads -p --processes -b -F --format -C --check"),
    _writes("lz4 unlz4", "second"),
    _writes("zstd unzstd zstdmt", "operands",
            unless="-c --stdout -l --list -t --test -o --output-dir-flat --output-dir-mirror",
            values="-D -T -M -B"),
    _writes("zstd unzstd zstdmt brotli lzip lzop", output="-o --output",
            into="--output-dir-flat --output-dir-mirror"),
    _writes("mksquashfs", "second", values="-p -ef -comp -b"),
    _writes("genisoimage mkisofs xorrisofs", output="-o -output"),
    _writes("unsquashfs", into="-d -dest"),
    _writes("dpkg-deb", "final",
            when="-b -x -X -R --build --extract --vextract --raw-extract"),
    # From and to other machines.
    _writes("curl", output="-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii "
            "--stderr --etag-save --libcurl --hsts --alt-svc", into="--output-dir",
            values="-A -b -C -d -e -E -F -H -K -m -P -Q -r -t -T -u -U -w -x -X -y -Y -z"),
    _writes("wget", output="-O --output-document -o --output-file -a --append-output "
            "--save-cookies --warc-file --rejected-log --hsts-file",
            into="-P --directory-prefix --warc-tempdir",
            values="-e -i -B -t -T -w -Q -l -A -R -D -I -X -U --header"),
    _writes("aria2c", output="-o --out -l --log --save-session --save-cookies", into="-d --dir",
            values="-i -j -s -x -k"),
    _writes("http https xh", output="-o --output"),
    _writes("fetch", output="-o"),
    _writes("youtube-dl yt-dlp", output="-o --output", into="-P --paths --cache-dir"),
    _writes("rsync", output="--log-file --write-batch --only-write-batch",
            into="-T --temp-dir --backup-dir --partial-dir", values="-e --rsh -f -B"),
    _writes("gsutil rclone s3cmd", "final",
            verbs="cp, mv, sync, copy, move, copyto, moveto, get"),
    _writes("aws", "final", verbs="s3 cp, s3 mv, s3 sync"),
    _writes("docker podman nerdctl kubectl oc", "final", below="final", verbs="cp, container cp"),
    _writes("docker podman nerdctl", output="-o --output --iidfile --cidfile --metadata-file",
            verbs="save, export, build, buildx build, container export, image save, run"),
    _writes("gh", output="-O --output", into="-D --dir", verbs="release download, run download"),
    _writes("gh", "second", below="second", verbs="repo clone", values="-u --upstream-remote-name"),
    _writes("svn", "second", below="second", verbs="checkout, co, export",
            values="-r --revision --depth"),
    _writes("hg", "second", below="second", verbs="clone",
            values="-r --rev -b --branch -u --updaterev"),
    _writes("hg", "first", verbs="init, archive, bundle"),
    _writes("hg", into="-R --repository --cwd"),
    _writes("jj", "second", below="second", verbs="git clone", values="--remote --depth"),
    _writes("jj", "first", verbs="git init, workspace add"),
    _writes("fossil", "second", verbs="clone"),
    _writes("fossil", "first", verbs="init, new"),
    _writes("ssh-keygen", output="-f", unless="-l -y -B -L -e -i",
            values="-t -b -C -N -P -O -m -Z -I -n -s -V -D -E -F -R"),
    _writes("openssl", output="-out -keyout -writerand -CAserial", into="-outdir"),
    _writes("gpg gpg2", output="-o --output --status-file --logger-file --attribute-file",
            into="--homedir"),
    _writes("age age-keygen rage", output="-o --output"),
    _writes("keytool", output="-keystore -file -destkeystore", unless="-list -printcert"),
    # Git.
    ("git", ProgramSpec(reaches="tracked")),
    _writes("git", into="-C --work-tree --git-dir"),
    _writes("git", "second", below="second", verbs="clone", into="--separate-git-dir",
            values=_GIT_CLONE),
    _writes("git", "second", below="second", verbs="svn clone, p4 clone, lfs clone",
            values="-b -r -c"),
    _writes("git", "first", below="first", verbs="init", into="--separate-git-dir",
            values="-b --initial-branch --template --object-format --ref-format"),
    _writes("git", "first", below="first", verbs="worktree add", values="-b -B --reason"),
    _writes("git", "second", below="second", verbs="worktree move"),
    _writes("git", "first", below="first", verbs="worktree remove, worktree repair"),
    _writes("git", "second", below="second", verbs="submodule add",
            values="-b --branch --name --reference --depth"),
    _writes("git", "first", verbs="bundle create", values="--version"),
    _writes("git", output="-o --output", verbs="archive",
            values="--format --prefix --remote --exec --add-file --add-virtual-file --mtime"),
    _writes("git", output="--output", verbs="diff, log, show, format-patch, whatchanged, "
            "diff-tree, diff-index, diff-files, shortlog, stash show"),
    _writes("git", into="-o --output-directory", verbs="format-patch, bugreport, diagnose"),
    _writes("git", output="-f --file", verbs="config"),
    _writes("git", into="--prefix", verbs="checkout-index"),
    _writes("git", output="--index-output", verbs="read-tree"),
    _writes("git", into="--directory", verbs="apply, am"),
    _writes("git", output="--export-marks", verbs="fast-export, fast-import"),
    _writes("git", "first", verbs="pack-objects"),
    _writes("git-filter-repo", into="--source --target"),
    # Compilers, and what builds.
    _writes("gcc cc g++ c++ clang clang++", output="-o --output -MF -dumpdir",
            values="-I -L -D -U -x -l -MT -MQ -include -isystem -idirafter -iquote -T -Xlinker -u"),
    _writes("rustc", output="-o", into="--out-dir", values="-L -l -C -A -W -D -F --crate-name "
            "--crate-type --edition --emit --extern --cfg --target"),
    _writes("ld gold lld ld.lld as nasm yasm ghc ocamlc ocamlopt gfortran nim zig tcc swiftc dot "
            "neato twopi circo fdp sfdp luac ghdl iverilog valac cython wat2wasm wasm-opt emcc "
            "em++ glslc nvcc dtc protoc thrift",
            output="-o --output -Map --output-file", into="-odir -hidir -outputdir --outdir"),
    _writes("protoc", into="--cpp_out --csharp_out --java_out --js_out --kotlin_out --objc_out "
            "--php_out --python_out --pyi_out --ruby_out --rust_out --go_out --ts_out "
            "--grpc_python_out --go-grpc_out", output="--descriptor_set_out --dependency_out"),
    _writes("flatc", into="-o"),
    _writes("javac kotlinc scalac groovyc javadoc", into="-d -s -h"),
    _writes("go", output="-o -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile "
            "-trace", into="-C -outputdir -pkgdir"),
    _writes("gofmt goimports gofumpt clang-format shfmt", below="operands",
            when="-w -i --in-place --inplace", values="-cpuprofile --style -style"),
    _writes("rustfmt", below="operands", unless="--check", values="--config --edition --emit"),
    _writes("cargo", into="--target-dir --out-dir --artifact-dir -C --manifest-path --root "
            "--lockfile-path"),
    _writes("cargo", "first", below="first", verbs="new, init, vendor",
            values="--name --edition --vcs --color --config --registry"),
    _writes("make gmake bmake ninja samu", into="-C --directory", below="settings"),
    _writes("cmake", into="-B --build --prefix --install-prefix --install"),
    _writes("meson", into="--destdir -C"),
    _writes("meson", below="first", verbs="setup"),
    _writes("bazel bazelisk buck2", into="--output_base --output_user_root --symlink_prefix"),
    _writes("mvn mvnw gradle gradlew ant sbt lein just task rake scons waf",
            into="-f --file -p --project-dir -d --working-directory --working-dir --dir -C "
            "--directory --justfile --taskfile --rakefile"),
    _writes("dotnet msbuild", into="-o --output --artifacts-path"),
    _writes("swift", into="--scratch-path --build-path --package-path"),
    _writes("tsc swc babel esbuild rollup webpack vite parcel tsup sass lessc stylus postcss "
            "tailwindcss terser uglifyjs typedoc jsdoc",
            output="-o --outFile --outfile --out-file --output --output-filename",
            into="--outDir --outdir --out-dir --output-path --dist-dir --declarationDir "
            "--declarationdir --outfile --dir --cache-dir --tsBuildInfoFile"),
    _writes("babel swc rollup parcel jsdoc", into="-d"),
    _writes("sass lessc", "second"),
    _writes("sphinx-build", "second", below="second", values="-b -c -d -D -A -j -t -w"),
    _writes("sphinx-apidoc pdoc mkdocs jekyll hugo zola mdbook",
            into="-o -d --output --site-dir --destination --output-dir --dest-dir"),
    _writes("cookiecutter", into="-o --output-dir"),
    _writes("copier", "second", below="second", verbs="copy"),
    _writes("terraform tofu", output="-out -state -state-out -backup", into="-chdir"),
    _writes("helm", into="-d --destination --output-dir --untardir"),
    # What gets packages, and makes environments of them.
    _writes("pip pip3", into="-t --target --prefix --root --src -d --dest --destination-directory "
            "-w --wheel-dir --cache-dir", output="--log --report"),
    _writes("uv", into="--directory --project --target --prefix --cache-dir --out-dir",
            output="-o --output-file"),
    _writes("uv", "first", below="first", verbs="venv, init", values="-p --python --prompt --name"),
    _writes("virtualenv venv", "operands", below="operands", values="-p --python --prompt"),
    _writes("build", into="-o --outdir"),
    _writes("zipfile tarfile", "first", when="-c --create"),
    _writes("zipfile tarfile", "later", below="later", when="-e --extract"),
    _writes("compileall", below="operands"),
    _writes("poetry pdm rye hatch pipenv", into="-C --directory -P --project -o --output"),
    _writes("poetry pdm rye hatch", "first", below="first", verbs="new, init", values="--name"),
    _writes("conda mamba micromamba", into="-p --prefix --cwd"),
    _writes("npm pnpm yarn bun", into="--prefix -C --dir --cwd --pack-destination --cache "
            "--modules-folder --store-dir --outdir --outfile"),
    _writes("npm pnpm yarn bun", "second", below="second", verbs="create, init"),
    _writes("gem", into="-i --install-dir -n --bindir --build-root"),
    _writes("bundle", into="--path --binstubs --gemfile --target"),
    _writes("composer", into="-d --working-dir"),
    _writes("composer", "second", below="second", verbs="create-project"),
    _writes("luarocks", into="--tree --to"),
    _writes("cpanm", into="-l -L --local-lib --local-lib-contained"),
    _writes("deno", output="-o --output", into="--root --outdir"),
    _writes("nix nix-build nix-store", output="-o --out-link --profile --add-root"),
    _writes("debootstrap pacstrap", "second", below="second"),
    _writes("stow", into="-t --target"),
    # Pictures, sound, documents and databases.
    _writes("convert magick ffmpeg avconv montage composite sox pdfunite pdfseparate wkhtmltopdf "
            "wkhtmltoimage weasyprint", "final"),
    _writes("ffmpeg avconv", below="operands", values="-i"),
    _writes("gs rsvg-convert inkscape mutool mencoder oggenc flac cwebp dwebp typst asciidoctor "
            "asciidoc mmdc plantuml svgo img2pdf pdflatex xelatex lualatex latexmk tectonic",
            output="-o --output --out --out-file -sOutputFile --output-file --export-filename",
            into="-output-directory -outdir --outdir -D --destination-dir"),
    _writes("pdftotext pdftoppm pdftohtml pdfimages tesseract qpdf lame", "second",
            values="-f -l -r -x -y -W -H -enc -opw -upw --psm --oem --pages"),
    _writes("soffice libreoffice", into="--outdir"),
    _writes("sqlite3 duckdb", "first", unless="-readonly --readonly",
            values="-cmd -init -separator -newline -nullvalue -maxsize -mmap -vfs -c -s"),
    _writes("pg_dump pg_dumpall pg_basebackup mongodump mongoexport",
            output="-f --file -o --out", into="-D --pgdata"),
    _writes("mysqldump mariadb-dump", output="-r --result-file --log-error", into="-T --tab"),
    _writes("psql", output="-o --output -L --log-file"),
    _writes("redis-cli", output="--rdb --functions-rdb"),
    # What tests, formats and measures.
    _writes("pytest py.test", into="--basetemp --rootdir --html -o --override-ini",
            output="--junitxml --junit-xml --log-file --report-log"),
    _writes("coverage", output="-o", into="-d --directory --data-file"),
    _writes("jest vitest nyc c8 playwright", output="--outputFile",
            into="--coverageDirectory --cacheDirectory --report-dir --reports-dir --temp-dir "
            "--output --outputDirectory"),
    _writes("mypy ruff", into="--cache-dir --html-report --xml-report --txt-report",
            output="-o --output-file"),
    _writes("ruff", below="operands", verbs="format", unless="--check --diff",
            values="--config --line-length"),
    _writes("ruff", below="operands", when="--fix --fix-only --add-noqa",
            values="--select --ignore --config --output-format"),
    _writes("black isort autopep8 yapf autoflake pyupgrade", below="operands",
            unless="--check --diff --check-only",
            values="-l --line-length -t --target-version --config --include --exclude --profile"),
    _writes("prettier", below="operands", when="-w --write"),
    _writes("eslint stylelint biome rubocop", below="operands", output="-o --output-file",
            when="--fix --write -a -A --autocorrect"),
    _writes("eslint", output="-o --output-file"),
    _writes("strace ltrace perf valgrind script", output="-o --output --log-file --xml-file"),
    _writes("script", "first", values="-c -E -I -m -B -O -T --command"),
    _writes("ctags etags cscope", output="-f -o"),
    _writes("find fd", output="-fprint -fprint0 -fls -fprintf"),
    ("rm rmdir shred chmod chown chgrp touch mkdir", ProgramSpec(reaches="folders")),
    ("cp mv ln install rsync scp", ProgramSpec(reaches="moved")),
    ("find fd", ProgramSpec(reaches="searched")),
)  # fmt: skip
# Options that say where in most programs; they are looked at where no row knows better.
USUAL_OUTPUT: Final = words_in(
    "-o --output --out --outfile --out-file --output-file --outdir --out-dir --output-dir "
    "--output-directory --output-path --outDir --outFile -outdir -out --dest --dest-dir "
    "--destination --target-dir --build-dir --log-file --logfile --report-file --cache-dir"
)
# Variables and settings by which programs are told where to write.
OUTPUT_VARIABLES: Final = words_in(
    "CARGO_TARGET_DIR CARGO_HOME CARGO_INSTALL_ROOT GOBIN GOPATH GOCACHE GOMODCACHE GOTMPDIR "
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_COMMON_DIR GIT_TRACE "
    "PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CACHE_DIR PYTHONUSERBASE PYTHONPYCACHEPREFIX "
    "npm_config_prefix NPM_CONFIG_PREFIX npm_config_cache NPM_CONFIG_CACHE PNPM_HOME GEM_HOME "
    "BUNDLE_PATH COMPOSER_HOME DESTDIR PREFIX prefix INSTALL_ROOT O OUT OUTDIR OUT_DIR OUTPUT "
    "BUILDDIR BUILD_DIR DISTDIR TARGET_DIR COVERAGE_FILE HISTFILE GNUPGHOME HOME XDG_CACHE_HOME "
    "XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME"
)

_ANY: Final = r"(?:\s.*)?\s"
_DISCARDS: Final = "discards changes or branches"
_BRANCH: Final = "[acilmqrtuvdDMCf]"  # the letters of its options
_OTHERS_PROGRAMS: Final = "installs or runs third-party programs"

# What it does, and how bad that is (F90).
_USES: Final[tuple[Row, ...]] = (
    _use("rm", "deletes folders and their contents", "deletes",
         then="-(?:[a-zA-Z]*[rR][a-zA-Z]*|-recursive)"),
    _use("find", "deletes every file it finds", "deletes", then="-delete"),
    _use("rm rmdir unlink", "deletes files", "deletes"),
    _use("mv cp ln install tee touch mkdir patch tar unzip dd", "writes files", level="medium"),
    _use("shred srm truncate", "destroys file contents", "deletes"),
    _use("git", "overwrites or deletes history on the "
                "remote", "network", "publishes", begins="push",
         then=r"-[a-zA-Z]*[fd][a-zA-Z]*|--fo\S*|--m\S*|--de\S*|--pru\S*|\+\S+|:\S+"),
    _use("git", "publishes commits", "network", "publishes", begins="push"),
    _use("git", "rewrites history", "deletes",
         begins=rf"rebase|filter-branch|filter-repo|replace|commit{_ANY}--amend|"
         rf"reflog (?:expire|delete|drop)|update-ref|gc{_ANY}--pru\S*|prune"),
    _use("git", "rewrites history", "deletes", begins="repack", then="-[a-zA-Z]*d[a-zA-Z]*"),
    _use("git", _DISCARDS, "deletes",
         begins="clean|restore|rm|stash (?:drop|clear)|worktree remove|notes (?:remove|prune)"),
    # Git takes an option by any unique beginning, and letters in a bundle.
    _use("git", _DISCARDS, "deletes", begins="reset", then=r"--ha\S*|--me\S*|--k\S*"),
    _use("git", _DISCARDS, "deletes", begins="checkout",
         then=r"--|\.|-[a-zA-Z]*[fBp23][a-zA-Z]*|--fo?r?c?e?|--ou\S*|--th\S*|--pat\S*"),
    # One of two words, a path with an ending, and a pattern are no branch.
    _use("git", _DISCARDS, "deletes",
         begins=r"checkout(?:\s-q|\s--quiet)*\s(?:[^-\s]\S*\s[^-\s]\S*"
         r"|[^-\s]\S*(?:\.[A-Za-z]\w*|/)|\.{0,2}[/:]\S*|[^-\s]*[*?\[]\S*)"),
    _use("git", _DISCARDS, "deletes", begins="switch",
         then=r"-[a-zA-Z]*[fC][a-zA-Z]*|--f\S*|--di\S*"),
    _use("git", _DISCARDS, "deletes", begins="branch",
         then=rf"-{_BRANCH}*[dDMCf]{_BRANCH}*|--d\S*|--forc|--force"),
    _use("git", _DISCARDS, "deletes", begins="tag",
         then=r"-[asluei]*[df]\w*|--d\S*|--forc|--force"),
    _use("git", _DISCARDS, "deletes", begins="read-tree", then=r"-[a-z]*u[a-z]*|--res\S*"),
    _use("git", _DISCARDS, "deletes", begins="checkout-index|submodule deinit|mv",
         then=r"-[a-zA-Z]*f[a-zA-Z]*|--f\S*"),
    _use("git", _DISCARDS, "deletes", begins="symbolic-ref", then=r"-[a-z]*d[a-z]*|--d\S*"),
    _use("git", _DISCARDS, "deletes", begins="merge|am|cherry-pick|revert", then=r"--ab\S*"),
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
    # These change the machine, whatever their arguments are.
    _word("sudo doas su pkexec run0 runuser mount umount systemctl service crontab at useradd "
          "usermod userdel passwd visudo sysctl modprobe insmod iptables nft chroot",
          "*", "writes_outside"),
)  # fmt: skip

_AGENT: Final = "It starts another agent, whose actions Assent cannot check."
_ASSENT: Final = "It runs Assent from inside a session; only a user at a terminal can approve."

# What is refused in every mode (F91). The first reason that applies is reported.
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
        files=(*one.files, *other.files),
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
