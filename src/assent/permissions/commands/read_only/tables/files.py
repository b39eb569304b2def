"""Commands about files: names, kinds, sizes and times, comparisons and checksums."""

from assent.core.errors import Refused
from assent.permissions.commands.read_only.plain_arguments import (
    read_bracket,
    read_test,
    read_tree,
    read_xxd,
)
from assent.permissions.commands.read_only.spec import (
    OperandSpec,
    OptionSpec,
    ParsedArguments,
    ReadOnlyCommandSpec,
)

HELP_OPTIONS = OptionSpec.of("--help --version")

LS = ReadOnlyCommandSpec(
    "ls",
    HELP_OPTIONS
    | OptionSpec.of(
        "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1 --all --almost-all --author --escape "
        "--ignore-backups --directory --dired --file-type --full-time --group-directories-first "
        "--no-group --human-readable --si --dereference-command-line "
        "--dereference-command-line-symlink-to-dir --inode --kibibytes --dereference "
        "--numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name "
        "--reverse --recursive --size --context --zero",
        "ITw --block-size --format --hide --indicator-style --ignore --quoting-style --sort --time "
        "--time-style --tabsize --width",
        maybe="--color --classify --hyperlink",
    ),
    runs=("ls", "ls -la", "ls -1 *.py", "ls --color=never -- -x", "ls -I '*.pyc' -w 80 src"),
    refused=("ls --colo", "ls --recursiv", "ls -y", "ls --output=x", "ls -l*"),
    opens=False,
    confined=("-L", "-H", "--dereference", "--dereference-command-line"),
)

TREE = ReadOnlyCommandSpec(
    "tree",
    raw=read_tree,
    runs=(
        "tree",
        "tree -L 2 src",
        "tree -aL 2 -I '.git|node_modules' --dirsfirst",
        "tree -L2",
        "tree -P '*.py' --prune",
        "tree --sort=size -h --du",
        "tree -J src",
    ),
    refused=(
        "tree -o out",
        "tree -oout",
        "tree -ao out",
        "tree -Po '*.c' out",
        "tree -PIo a b out",
        "tree -L 1 -R -H . -o out",
        "tree -R",
        "tree --fromfile list",
        "tree --hintro x",
        "tree -P",
        "tree -P *.py",
    ),
    opens=False,
    confined=("-l",),
)

STAT = ReadOnlyCommandSpec(
    "stat",
    HELP_OPTIONS
    | OptionSpec.of("Lft --dereference --file-system --terse", "c --cached --format --printf"),
    runs=("stat README.md", "stat -c '%s %n' a b", "stat -Lc%a x", "stat --format=%a x"),
    refused=("stat --forma=%s x", "stat -x a", "stat -c"),
    opens=False,
)

FILE = ReadOnlyCommandSpec(
    "file",
    HELP_OPTIONS
    | OptionSpec.of(
        "bikLhnNr0vE --brief --mime --mime-type --mime-encoding --extension --apple --keep-going "
        "--dereference --no-dereference --no-buffer --no-pad --raw --print0",
        "eF --exclude --exclude-quiet --separator",
    ),
    runs=("file a b", "file -b x", "file --mime-type *.bin", "file -bi x", "file -F: x"),
    refused=(
        "file -C -m x",
        "file -bC",
        "file --compile",
        "file -m magic x",
        "file -mmagic x",
        "file --magic-file=m x",
        "file -f list",
        "file -bflist",
        "file --files-from list",
        "file -z a.gz",
        "file -Z a.gz",
        "file --uncompress a.gz",
        "file -p x",
        "file --preserve-date x",
        "file -s /dev/sda",
        "file -P bytes=1 x",
    ),
)

DU = ReadOnlyCommandSpec(
    "du",
    HELP_OPTIONS
    | OptionSpec.of(
        "0abcDHhkLlmPSsx --null --all --apparent-size --bytes --total --dereference-args "
        "--human-readable --inodes --dereference --count-links --no-dereference --separate-dirs "
        "--si --summarize --one-file-system",
        "Bdt --block-size --max-depth --threshold --time-style --exclude",
        "X --exclude-from",
        "--time",
    ),
    runs=("du -sh .", "du -h --max-depth=1 src", "du -ad 2 *", "du -sk --exclude='*.o' src docs"),
    refused=("du --files0-from=list", "du --files0-from list", "du --files0=list", "du --max-d 1"),
    opens=False,
    confined=("-L", "-D", "-H", "--dereference", "--dereference-args"),
)

DF = ReadOnlyCommandSpec(
    "df",
    HELP_OPTIONS
    | OptionSpec.of(
        "ahHiklPTv --all --human-readable --si --inodes --local --no-sync --portability --total "
        "--print-type",
        "Btx --block-size --type --exclude-type",
        maybe="--output",
    ),
    runs=("df -h", "df -h .", "df -hT -x tmpfs", "df --output=source,size ."),
    refused=("df --sync", "df --syn", "df -o x"),
    opens=False,
)

PATH_SPECS = (
    ReadOnlyCommandSpec(
        "basename",
        HELP_OPTIONS | OptionSpec.of("az --multiple --zero", "s --suffix"),
        runs=("basename src/main.py .py", "basename -a *.py", "basename -s .py a.py"),
        refused=("basename --mult a", "basename -x a"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "dirname",
        HELP_OPTIONS | OptionSpec.of("z --zero"),
        runs=("dirname src/main.py", "dirname -z a/b c/d"),
        refused=("dirname -x a", "dirname --ze a"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "realpath",
        HELP_OPTIONS
        | OptionSpec.of(
            "emLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet "
            "--strip --no-symlinks --zero",
            files="--relative-to --relative-base",
        ),
        runs=("realpath src", "realpath -e a b", "realpath --relative-to=docs README.md"),
        refused=("realpath --relative=docs x", "realpath -x a"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "readlink",
        HELP_OPTIONS
        | OptionSpec.of(
            "femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline "
            "--quiet --silent --verbose --zero"
        ),
        runs=("readlink latest", "readlink -f a", "readlink -en a b"),
        refused=("readlink --canon a", "readlink -x a"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "pwd",
        HELP_OPTIONS | OptionSpec.of("LP --logical --physical"),
        OperandSpec(most=0),
        runs=("pwd", "pwd -P"),
        refused=("pwd x", "pwd -x"),
        opens=False,
    ),
)

CONDITIONS = (
    ReadOnlyCommandSpec(
        "test",
        raw=read_test,
        prints=True,
        runs=("test -f Makefile", "test a = b", "test ! -d src -a -s x", "test 3 -gt 2"),
        refused=("test -v PATH", "test -Q x", "test --foo"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "[",
        raw=read_bracket,
        prints=True,
        runs=("[ -f Makefile ]", "[ a = b ]"),
        refused=("[ -f Makefile", "[ -f x]"),
        opens=False,
    ),
)

FILE_COMMANDS = (LS, TREE, STAT, FILE, DU, DF, *PATH_SPECS, *CONDITIONS)


# Commands that compare files, or show and sum up their bytes.


def _check_strings(found: ParsedArguments) -> None:
    """A word with `@` in front is a file of further arguments to the programs of binutils."""
    words = [word.text for word in found.operands] + [value for _, value in found.options]
    if any(word.startswith("@") for word in words):
        raise Refused("`@FILE` reads arguments from a file; write `./@FILE` to name a file.")


DIFF = ReadOnlyCommandSpec(
    "diff",
    HELP_OPTIONS
    | OptionSpec.of(
        "abBcdeEiNnpPqrstTuvwyZ --normal --brief --report-identical-files --ed --rcs "
        "--side-by-side --left-column --suppress-common-lines --show-c-function --expand-tabs "
        "--initial-tab --suppress-blank-empty --recursive --no-dereference --new-file "
        "--unidirectional-new-file --ignore-file-name-case --no-ignore-file-name-case "
        "--ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change "
        "--ignore-all-space --ignore-blank-lines --text --strip-trailing-cr --minimal "
        "--speed-large-files",
        "CUWFLxSID --width --show-function-line --label --tabsize --exclude --starting-file "
        "--ignore-matching-lines --ifdef --old-group-format --new-group-format "
        "--unchanged-group-format --changed-group-format --line-format --old-line-format "
        "--new-line-format --unchanged-line-format --horizon-lines --palette",
        "X --exclude-from --from-file --to-file",
        "--context --unified --color",
    ),
    runs=(
        "diff a b",
        "diff -u a b",
        "diff -rq src tests",
        "diff -U5 a b",
        "diff --unified=1 -w -B a b",
        "diff -y --width=60 --suppress-common-lines a b",
        "diff -x '*.pyc' -r --no-dereference a b",
    ),
    refused=(
        "diff -l a b",
        "diff -ul a b",
        "diff --paginate a b",
        "diff --pag a b",
        "diff --output=x a b",
        "diff -o x a b",
    ),
    confined=("-r", "--recursive"),
    confined_unless=("--no-dereference", "-q", "--brief"),
    always_descends=True,  # two folders are compared file by file, without any option
    follows=True,
)

CMP = ReadOnlyCommandSpec(
    "cmp",
    HELP_OPTIONS
    | OptionSpec.of("blsv --print-bytes --verbose --quiet --silent", "in --ignore-initial --bytes"),
    OperandSpec(most=4),
    runs=("cmp a b", "cmp -s a b", "cmp -n 10 a b", "cmp -bl a b"),
    refused=("cmp -o x a b", "cmp --byte=3 a b"),
)

BYTES = (
    ReadOnlyCommandSpec(
        "od",
        HELP_OPTIONS
        | OptionSpec.of(
            "abcdfilosxvBDeFHhILOX --output-duplicates --traditional",
            "AjNSt --address-radix --endian --skip-bytes --read-bytes --format",
            maybe="w --width --strings",
        ),
        runs=("od -c x", "od -An -tx1 -N 16 x", "od -t x1z -w8 x"),
        refused=("od -r x", "od --output=x y", "od --form=x1 x"),
    ),
    ReadOnlyCommandSpec(
        "hexdump",
        OptionSpec.of(
            "bcCdoxvhV --one-byte-octal --one-byte-char --canonical --two-bytes-decimal "
            "--two-bytes-octal --two-bytes-hex --no-squeezing --help --version",
            "ens --format --length --skip",
            "f --format-file",
        ),
        runs=("hexdump -C x", "hexdump -n 16 -s 4 x", "hexdump -ve '1/1 \"%02x\"' x"),
        refused=("hexdump -r x", "hexdump --out x", "hexdump --canon x"),
    ),
    ReadOnlyCommandSpec(
        "xxd",
        raw=read_xxd,
        runs=("xxd x", "xxd -l 64 x", "xxd -p -c32 x", "xxd -ps x", "xxd -s -16 x", "xxd -g1 -"),
        refused=(
            "xxd x out",
            "xxd x -p",
            "xxd -ps x out",
            "xxd -l 16 x out",
            "xxd -r x",
            "xxd -r -p x out",
            "xxd -revert x",
            "xxd --r x",
            "xxd -pr x",
            "xxd -- x out",
            "xxd -c x out",
            "xxd *.bin",
        ),
    ),
    ReadOnlyCommandSpec(
        "strings",
        OptionSpec.of(
            "adfowhvV --all --data --print-file-name --include-all-whitespace --help --version",
            "ntesTU --bytes --radix --encoding --output-separator --unicode --target",
            number=True,
        ),
        runs=("strings x", "strings -n 8 x", "strings -8 -tx x", "strings --bytes=6 a b"),
        refused=("strings @list", "strings -n @list x", "strings -o@ x", "strings --output=x y"),
        rule=_check_strings,
    ),
    ReadOnlyCommandSpec(
        "base64",
        HELP_OPTIONS | OptionSpec.of("di --decode --ignore-garbage", "w --wrap"),
        OperandSpec(most=1),
        runs=("base64 x", "base64 -d x", "base64 -w0 -"),
        refused=("base64 x out", "base64 -o x", "base64 --dec x"),
    ),
)


def _sums(name: str, more: OptionSpec) -> ReadOnlyCommandSpec:
    return ReadOnlyCommandSpec(
        name,
        HELP_OPTIONS | OptionSpec.of("z --tag --zero") | more,
        runs=(f"{name} x", f"{name} a b -", f"{name} -z *.txt"),
        refused=(f"{name} -c list", f"{name} -zc list", f"{name} --check list", f"{name} --chec l"),
    )


_TEXT = OptionSpec.of("bt --binary --text")
CHECKSUM_SPECS = (
    *(_sums(f"{kind}sum", _TEXT) for kind in ("md5", "sha1", "sha224", "sha256", "sha384")),
    _sums("sha512sum", _TEXT),
    _sums("b2sum", _TEXT | OptionSpec.of(values="l --length")),
    _sums("cksum", OptionSpec.of("--untagged --debug", "al --algorithm --length")),
)

COMPARE_COMMANDS = (DIFF, CMP, *BYTES, *CHECKSUM_SPECS)
