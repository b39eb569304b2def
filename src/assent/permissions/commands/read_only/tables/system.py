"""Commands that read no files: texts, numbers, time, the machine, and versions of tools."""

import re

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.alternatives import unlisted_command_reason
from assent.permissions.commands.read_only.plain_arguments import read_echo, read_printf
from assent.permissions.commands.read_only.spec import (
    OperandSpec,
    OptionSpec,
    ParsedArguments,
    ReadOnlyCommandSpec,
    words_in,
)
from assent.permissions.commands.read_only.tables.files import HELP_OPTIONS

HARMLESS = words_in(
    "PATH HOME USER LOGNAME SHELL TERM PWD OLDPWD LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE "
    "LC_MESSAGES LC_NUMERIC LC_TIME TZ EDITOR VISUAL PAGER HOSTNAME TMPDIR COLUMNS LINES SHLVL "
    "VIRTUAL_ENV CONDA_DEFAULT_ENV NODE_ENV GOPATH GOROOT JAVA_HOME CARGO_HOME RUSTUP_HOME "
    "PYTHONPATH CI XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME"
)
NO_FILES = OperandSpec(files=False)
NOTHING = OperandSpec(files=False, most=0)


def _check_date(found: ParsedArguments) -> None:
    """An operand without `+` in front sets the clock."""
    for word in found.operands:
        if not word.text.startswith("+"):
            raise Refused(f"`date {word.text}` would set the clock; a format starts with `+`.")


def _check_printenv(found: ParsedArguments) -> None:
    if not found.operands and not found.has("--help", "--version"):
        raise Refused(
            "`printenv` without a name shows every variable; name one, such as `printenv PATH`."
        )
    for word in found.operands:
        if word.text not in HARMLESS:
            raise Refused(
                f"`printenv {word.text}` may show a secret, so it is not allowed; "
                "variables such as PATH are."
            )


OUTPUT_SPECS = (
    ReadOnlyCommandSpec(
        "echo",
        raw=read_echo,
        prints=True,
        runs=("echo", "echo hello *", "echo -n x", "echo -e 'a\\tb'", "echo ---"),
        refused=("echo -x", "echo -nx a"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "printf",
        raw=read_printf,
        prints=True,
        runs=("printf '%s\\n' a b -v", "printf -- '-x'", "printf 'x'"),
        refused=("printf", "printf -v name x", "printf -x"),
        opens=False,
    ),
    *(
        ReadOnlyCommandSpec(
            name, HELP_OPTIONS, NOTHING, (name,), (f"{name} x", f"{name} -x"), opens=False
        )
        for name in ("true", "false")
    ),
    ReadOnlyCommandSpec(
        "seq",
        HELP_OPTIONS | OptionSpec.of("w --equal-width", "fs --format --separator", number=True),
        OperandSpec(files=False, most=3),
        runs=("seq 10", "seq 10 -1 1", "seq -w 1 5", "seq -s, 1 2 9"),
        refused=("seq 1 2 3 4", "seq -x 1", "seq --sep=, 3"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "expr",
        HELP_OPTIONS,
        NO_FILES,
        runs=("expr 1 + 2", "expr abc : 'a\\(.*\\)'", "expr 6 / 2"),
        refused=("expr 2 * 3", "expr -x"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "numfmt",
        HELP_OPTIONS
        | OptionSpec.of(
            "z --debug --grouping --zero-terminated",
            "d --delimiter --field --format --from --from-unit --invalid --padding --round "
            "--suffix --to --to-unit",
            maybe="--header",
        ),
        NO_FILES,
        runs=("numfmt --to=iec 2048", "numfmt --field=2 --from=si"),
        refused=("numfmt -x 1", "numfmt --t=iec 1"),
        opens=False,
    ),
)

DATE = ReadOnlyCommandSpec(
    "date",
    HELP_OPTIONS
    | OptionSpec.of(
        "Ru --rfc-email --utc --universal --debug --resolution",
        "d --date --rfc-3339",
        "fr --file --reference",
        "I --iso-8601",
    ),
    OperandSpec(files=False, most=1),
    runs=(
        "date",
        "date +%F",
        "date -u '+%Y-%m-%d %H:%M'",
        "date -d '3 days ago' +%F",
        "date -Iseconds",
        "date -r x +%s",
    ),
    refused=(
        "date -s 2020-01-01",
        "date -s2020-01-01",
        "date -us 2020-01-01",
        "date --set=2020-01-01",
        "date --set 2020-01-01",
        "date --se=2020-01-01",
        "date 01010000",
        "date -u 01010000",
        "date -- 01010000",
    ),
    rule=_check_date,
)

PRINTENV = ReadOnlyCommandSpec(
    "printenv",
    HELP_OPTIONS | OptionSpec.of("0 --null"),
    NO_FILES,
    runs=("printenv PATH", "printenv -0 HOME LANG"),
    refused=(
        "printenv",
        "printenv -0",
        "printenv GITHUB_TOKEN",
        "printenv PATH AWS_SECRET_ACCESS_KEY",
        "printenv -- SSH_AUTH_SOCK",
    ),
    rule=_check_printenv,
    opens=False,
)

WHICH = ReadOnlyCommandSpec(
    "which",
    OptionSpec.of("as"),
    NO_FILES,
    runs=("which python3", "which -a rg grep"),
    refused=("which -x rg", "which --all rg", "which *"),
    opens=False,
)

# The builtins that tell what a name stands for. They run nothing of that name: each name is plain,
# none is a path, and the scripts take them as words.


_NAME = re.compile(r"[\w.+][\w.+-]*|\[", re.ASCII)
_COMMAND_FORMS = ("-v", "-V")


def _names(builtin: str, words: tuple[ShellWord, ...]) -> ParsedArguments:
    for word in words:
        if word.pattern or not _NAME.fullmatch(word.text):
            raise Refused(f"`{builtin}` takes plain names of programs here, not `{word.text}`.")
    if not words:
        raise Refused(f"`{builtin}` needs the name of a program.")
    return ParsedArguments(operands=words)


def _read_command(words: tuple[ShellWord, ...]) -> ParsedArguments:
    form = words[0].text if words and not words[0].pattern else ""
    if form not in _COMMAND_FORMS:
        raise Refused(
            "`command` runs a program, except with `-v` or `-V` first; write the program itself."
        )
    found = _names(f"command {form}", words[1:])
    return ParsedArguments(((form, ""),), found.operands)


def _read_type(words: tuple[ShellWord, ...]) -> ParsedArguments:
    return _names("type", words)


LOOKUPS = (
    ReadOnlyCommandSpec(
        "command",
        raw=_read_command,
        script='how=$1; shift; r=1; for name; do command "$how" "$name" && r=0; done; exit $r',
        runs=("command -v python3", "command -V rg grep", "command -v ["),
        refused=(
            "command",
            "command ls",
            "command -v",
            "command -p -v ls",
            "command -pv ls",
            "command -v -- ls",
            "command -v ./ls",
            "command -v -x",
            "command -v *",
            "command rm -v x",
        ),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "type",
        raw=_read_type,
        script='r=0; for name; do type "$name" || r=1; done; exit $r',
        runs=("type python3", "type rg grep"),
        refused=("type", "type -a ls", "type -f ls", "type ./ls", "type l*"),
        opens=False,
    ),
)

MACHINE = (
    ReadOnlyCommandSpec(
        "uname",
        HELP_OPTIONS
        | OptionSpec.of(
            "asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine "
            "--processor --hardware-platform --operating-system"
        ),
        NOTHING,
        runs=("uname", "uname -a", "uname -sr"),
        refused=("uname x", "uname -S name"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "id",
        HELP_OPTIONS
        | OptionSpec.of("aZgGnruz --context --group --groups --name --real --user --zero"),
        OperandSpec(files=False, most=1),
        runs=("id", "id -un", "id root"),
        refused=("id -x", "id --us"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "nproc",
        HELP_OPTIONS | OptionSpec.of("--all", "--ignore"),
        NOTHING,
        runs=("nproc", "nproc --all", "nproc --ignore=1"),
        refused=("nproc x", "nproc --al"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "hostname",
        OptionSpec.of("s --short"),
        NOTHING,
        runs=("hostname", "hostname -s"),
        refused=("hostname name", "hostname -F file", "hostname -b name"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "groups",
        HELP_OPTIONS,
        OperandSpec(files=False, most=1),
        runs=("groups", "groups root"),
        refused=("groups -x", "groups *"),
        opens=False,
    ),
    *(
        ReadOnlyCommandSpec(
            name, HELP_OPTIONS, NOTHING, (name,), (f"{name} x", f"{name} -x"), opens=False
        )
        for name in ("whoami", "arch")
    ),
)

SYSTEM_COMMANDS = (*OUTPUT_SPECS, DATE, PRINTENV, WHICH, *LOOKUPS, *MACHINE)


# Tools that may tell their version, in exactly these forms; all else about them is refused.
#
# Shims and wrappers obey files of the repository, so none of them runs without a sandbox.


_LONG = "--version"
_FORMS: tuple[tuple[str, tuple[str, ...]], ...] = (  # names, and what may follow one
    (
        "gcc g++ cc c++ clang clang++ clangd clang-format clang-tidy ld ar as gdb lldb make gmake"
        " ninja meson autoconf automake pkg-config bazel buck2 ccache cmake ctest nvcc swift"
        " zig bash zsh fish sh dash tmux curl wget psql pg_dump mysql mariadb mongosh redis-cli"
        " redis-server docker docker-compose podman buildah skopeo minikube kind packer vagrant"
        " ansible ansible-playbook aws gcloud az gh glab hub svn hg bzr jj protoc sqlfluff"
        " shellcheck shfmt hadolint yamllint actionlint pre-commit R Rscript julia ghc ocaml opam"
        " dune elixir mix stack cabal dart flutter nim crystal rebar3 gfortran valgrind perf",
        (_LONG,),
    ),
    ("python python2 python3 pypy pypy3", (_LONG, "-V", "-VV")),
    (" ".join(f"python3.{minor}" for minor in range(8, 16)), (_LONG, "-V", "-VV")),
    ("pip pip2 pip3 pipx conda mamba micromamba uv uvx", (_LONG, "-V")),
    (
        "poetry pdm hatch flit tox nox pytest coverage ruff mypy black isort flake8 pylint"
        " pyright basedpyright bandit ipython jupyter cython gunicorn uvicorn celery",
        (_LONG, "-V"),
    ),
    ("node nodejs npm npx pnpm yarn bun tsx ts-node", (_LONG, "-v")),
    ("deno", (_LONG, "-V", "-v")),
    (
        "tsc eslint prettier jest vitest vite webpack rollup esbuild biome stylelint mocha"
        " playwright cypress next ng vue nx turbo lerna gulp grunt",
        (_LONG, "-v"),
    ),
    ("cargo rustup rustfmt cargo-clippy wasm-pack cross just", (_LONG, "-V")),
    ("rustc", (_LONG, "-V", "-vV", "--version --verbose")),
    ("go", ("version",)),
    ("gofmt golangci-lint staticcheck", (_LONG, "version")),
    ("java javac jshell", (_LONG, "-version")),
    ("mvn gradle ant sbt", (_LONG, "-version", "-v")),
    ("kotlin kotlinc scala scalac groovy", ("-version", _LONG)),
    ("ruby gem bundle bundler rake rails rspec rubocop jekyll", (_LONG, "-v")),
    ("php composer phpunit phpstan", (_LONG, "-V", "-v")),
    ("perl", (_LONG, "-v")),
    ("lua luajit luarocks", (_LONG, "-v")),
    ("sqlite3", (_LONG, "-version")),
    ("ssh", ("-V",)),
    ("openssl", ("version", "version -a")),
    ("kubectl", ("version --client", "version --client=true")),
    ("helm terraform tofu pulumi", ("version", _LONG)),
    ("dotnet", (_LONG, "--list-sdks", "--list-runtimes")),
    (
        "apt apt-get dpkg dnf yum zypper brew nix pipenv pyenv rbenv mise volta scons swiftc pandoc"
        " pwsh tar gzip xz rsync",
        (_LONG,),
    ),
    ("pacman apk", (_LONG, "-V")),
    ("hugo buf", ("version", _LONG)),
    ("ffmpeg ffprobe", ("-version",)),
    ("vim nvim emacs nano", (_LONG,)),
)


class _FixedForms:
    """Takes the words of a command only if they are one of a few forms."""

    def __init__(self, name: str, forms: tuple[str, ...]) -> None:
        self._name = name
        self._forms = forms
        self._split = [form.split() for form in forms]

    def __call__(self, words: tuple[ShellWord, ...]) -> ParsedArguments:
        given = [word.text for word in words]
        if given not in self._split or any(word.pattern for word in words):
            raise Refused(
                f"{unlisted_command_reason(self._name)} Only `{self._name} {self._forms[0]}` is "
                "allowed."
            )
        return ParsedArguments(operands=words)


def _spec(name: str, forms: tuple[str, ...]) -> ReadOnlyCommandSpec:
    return ReadOnlyCommandSpec(
        name,
        runs=tuple(f"{name} {form}" for form in forms),
        refused=(name, f"{name} x", f"{name} {forms[0]} x", f"{name} x {forms[0]}"),
        raw=_FixedForms(name, forms),
        own=True,
        obeys=True,
        opens=False,
    )


VERSION_COMMANDS = tuple(_spec(name, forms) for names, forms in _FORMS for name in names.split())
