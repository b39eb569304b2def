"""Small commands about texts, numbers, time and the machine, which read no files."""

from assent.core.errors import Refused
from assent.permissions.commands.read_only.languages.plain_arguments import read_echo, read_printf
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
            raise Refused(f"`date {word.text}` would set the clock; a format begins with `+`.")


def _check_printenv(found: ParsedArguments) -> None:
    if not found.operands and not found.has("--help", "--version"):
        raise Refused("`printenv` alone shows every variable; name one, such as `printenv PATH`.")
    for word in found.operands:
        if word.text not in HARMLESS:
            raise Refused(f"`printenv {word.text}` could show a secret; `printenv PATH` does not.")


OUTPUT_SPECS = (
    ReadOnlyCommandSpec(
        "echo",
        raw=read_echo,
        runs=("echo", "echo hello *", "echo -n x", "echo -e 'a\\tb'", "echo ---"),
        refused=("echo -x", "echo -nx a"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "printf",
        raw=read_printf,
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

SYSTEM_COMMANDS = (*OUTPUT_SPECS, DATE, PRINTENV, WHICH, *MACHINE)
